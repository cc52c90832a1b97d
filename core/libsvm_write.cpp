// Rows of a CSR matrix to LIBSVM text.
#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "libsvm_text.hpp"

namespace mm::text {

namespace {

constexpr std::size_t kLongestNumber = 26;  // of a double, an integer of 64 bits, and what separates them

template <class Integer>
char* put_integer(char* p, Integer value) {
  return std::to_chars(p, p + kLongestNumber, value).ptr;
}

template <class Value>
char* put_number(char* p, Value value) {
  if (std::abs(value) < Value{9007199254740992} && value == std::trunc(value) && !(value == 0 && std::signbit(value))) {
    return put_integer(p, static_cast<std::int64_t>(value));
  }
  return std::to_chars(p, p + kLongestNumber, value).ptr;
}

template <class Value>
std::string format(const Rows<Value>& rows) {
  const std::size_t pairs = rows.values.size(), labels = rows.labels.size(), n = rows.row_ends.size();
  std::string text(kLongestNumber * (2 * pairs + labels + 2 * n), '\0');
  char* p = text.data();
  std::int64_t label = 0, pair = 0;
  for (std::size_t row = 0; row < n; ++row) {
    for (const std::int64_t first = label; label < rows.label_ends[row]; ++label) {
      if (label > first) *p++ = ',';
      p = put_number(p, rows.labels[static_cast<std::size_t>(label)]);
    }
    if (!rows.query_ids.empty()) {
      std::memcpy(p, " qid:", 5);
      p = put_integer(p + 5, rows.query_ids[row]);
    }
    for (; pair < rows.row_ends[row]; ++pair) {
      *p++ = ' ';
      p = put_integer(p, rows.indices[static_cast<std::size_t>(pair)] + rows.first_index);
      *p++ = ':';
      p = put_number(p, rows.values[static_cast<std::size_t>(pair)]);
    }
    *p++ = '\n';
  }
  text.resize(static_cast<std::size_t>(p - text.data()));
  return text;
}

}  // namespace

std::string format_rows(const Rows<float>& rows) { return format(rows); }
std::string format_rows(const Rows<double>& rows) { return format(rows); }

}  // namespace mm::text
