// One piece of LIBSVM text: whole lines that one thread reads into slots set aside for it.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>

#include "decimal.hpp"
#include "libsvm_text.hpp"

namespace mm::text {

inline constexpr std::int64_t kLargestNarrow =
    std::numeric_limits<std::int32_t>::max() - 1;   // so that largest + 1 fits as well
inline constexpr std::ptrdiff_t kIndexDigits = 18;  // every such number fits int64

// The characters that end a number: blanks, the line's end and the start of a comment.
inline constexpr auto kEndsToken = [] {
  std::array<bool, 256> table{};
  for (const char c : {' ', '\t', '\r', '\v', '\f', '\n', '#'}) table[static_cast<unsigned char>(c)] = true;
  return table;
}();

inline bool ends_token(char c) { return kEndsToken[static_cast<unsigned char>(c)]; }

inline const char* skip_blanks(const char* p) {
  while (*p == ' ' || (ends_token(*p) && *p != '\n' && *p != '#')) ++p;
  return p;
}

inline const char* token_end(const char* p) {
  while (!ends_token(*p)) ++p;
  return p;
}

enum class Fault { none, label, query_id, query_id_missing, pair, index_below, index_order, value };

// How many entries of each array belong to a piece, or lie before it.
struct Extent {
  std::size_t rows = 0, labels = 0, pairs = 0;
};

struct Piece {
  std::string_view text;  // whole lines; the last character is '\n'
  std::size_t lines = 0;
  Extent begin;           // where its slots start
  Extent slots;           // how many there are: an upper bound
  Extent written;         // how many the piece needed
  bool too_wide = false;  // for 32-bit indices
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max(), largest = -1;
  Fault fault = Fault::none;
  const char* fault_at = nullptr;
  std::int64_t fault_previous = -1;  // the index before one that does not increase

  void forget() {  // what a pass wrote, for another one
    written = {};
    too_wide = false;
    smallest = std::numeric_limits<std::int64_t>::max();
    largest = -1;
    fault = Fault::none;
  }
};

// What a piece can hold at most.
inline void count(Piece& piece, bool multilabel) {
  std::size_t lines = 0, colons = 0, commas = 0;
  const char* p = piece.text.data();
  for (std::size_t left = piece.text.size(); left > 0;) {
    const std::size_t n = std::min<std::size_t>(left, 240);  // so that bytes can count: fifteen vectors of sixteen
    std::uint8_t line_count = 0, colon_count = 0, comma_count = 0;
    for (std::size_t i = 0; i < n; ++i) {
      line_count = static_cast<std::uint8_t>(line_count + (p[i] == '\n'));
      colon_count = static_cast<std::uint8_t>(colon_count + (p[i] == ':'));
      comma_count = static_cast<std::uint8_t>(comma_count + (p[i] == ','));
    }
    lines += line_count;
    colons += colon_count;
    commas += comma_count;
    p += n;
    left -= n;
  }
  piece.lines = lines;
  piece.slots = {lines, lines + (multilabel ? commas : 0), colons};
}

// Reads one piece into its slots.
template <class Index, class Value>
class PieceParser {
 public:
  PieceParser(Piece& piece, const ReadOptions& options, Examples& out)
      : piece_(piece),
        options_(options),
        p_(piece.text.data()),
        end_(p_ + piece.text.size()),
        labels_(out.labels.data() + piece.begin.labels),
        label_counts_(out.label_counts.data() + piece.begin.rows),
        query_ids_(out.query_ids.data() + piece.begin.rows),
        row_lengths_(out.row_lengths.data() + piece.begin.rows),
        indices_(std::get<Buffer<Index>>(out.indices).data() + piece.begin.pairs),
        values_(std::get<Buffer<Value>>(out.values).data() + piece.begin.pairs) {}

  void run() {
    while (p_ != end_) {
      p_ = skip_blanks(p_);
      if (*p_ != '\n' && *p_ != '#') {
        if (!labels() || !query_id() || !pairs()) return;
        ++piece_.written.rows;
      }
      p_ = static_cast<const char*>(std::memchr(p_, '\n', static_cast<std::size_t>(end_ - p_))) + 1;
    }
  }

 private:
  bool fail(Fault fault, const char* at, std::int64_t previous = -1) {
    piece_.fault = fault;
    piece_.fault_at = at;
    piece_.fault_previous = previous;
    return false;
  }

  bool labels() {
    double* const first = labels_ + piece_.written.labels;
    double* last = first;
    const char* const stop = options_.multilabel ? token_end(p_) : nullptr;
    if (stop == nullptr) {
      const char* const next = parse_number(p_, end_, *last);
      if (next == nullptr || !ends_token(*next)) return fail(Fault::label, p_);
      p_ = next;
      ++last;
    } else if (std::find(p_, stop, ':') == stop) {  // else the line has no label
      for (;; ++p_) {
        const char* const next = parse_number(p_, end_, *last);
        if (next == nullptr || (next != stop && *next != ',')) return fail(Fault::label, p_);
        p_ = next;
        ++last;
        if (next == stop) break;
      }
      std::sort(first, last);
    }
    piece_.written.labels += static_cast<std::size_t>(last - first);
    if (options_.multilabel) label_counts_[piece_.written.rows] = last - first;
    return true;
  }

  bool query_id() {
    p_ = skip_blanks(p_);
    if (*p_ != 'q' || end_ - p_ < 5 || std::memcmp(p_, "qid:", 4) != 0) {
      return !options_.query_id || fail(Fault::query_id_missing, p_);
    }
    std::int64_t id = 0;
    const char* const stop = token_end(p_);
    const auto [next, error] = std::from_chars(p_ + 4, stop, id);
    if (error != std::errc{} || next != stop) return fail(Fault::query_id, p_ + 4);
    if (options_.query_id) query_ids_[piece_.written.rows] = id;
    p_ = stop;
    return true;
  }

  bool pairs() {
    const std::size_t begin = piece_.written.pairs;
    std::size_t n = begin;
    std::int64_t previous = options_.lowest_index - 1;
    const char* p = p_;
    for (;;) {
      p = skip_blanks(p);
      if (*p == '\n' || *p == '#') break;
      const char* const at = p;
      std::int64_t index = 0;
      for (; is_digit(*p) && p - at < kIndexDigits; ++p) index = index * 10 + (*p - '0');
      if (*p != ':' || p == at) return fail(Fault::pair, at);
      if (index <= previous) return fail(n == begin ? Fault::index_below : Fault::index_order, at, previous);
      if constexpr (sizeof(Index) == 4) {
        if (index > kLargestNarrow) {
          piece_.too_wide = true;
          return false;
        }
      }
      const char* const start = ++p;
      if (is_digit(*p) && ends_token(p[1])) {
        values_[n] = static_cast<Value>(*p++ - '0');
      } else {
        p = parse_number(p, end_, values_[n]);
        if (p == nullptr || !ends_token(*p)) return fail(Fault::value, start);
      }
      if (n == begin) piece_.smallest = std::min(piece_.smallest, index);
      indices_[n++] = static_cast<Index>(index);
      previous = index;
    }
    if (n > begin) piece_.largest = std::max(piece_.largest, previous);
    row_lengths_[piece_.written.rows] = static_cast<std::int64_t>(n - begin);
    piece_.written.pairs = n;
    p_ = p;
    return true;
  }

  Piece& piece_;
  const ReadOptions& options_;
  const char* p_;
  const char* const end_;
  double* const labels_;
  std::int64_t *const label_counts_, *const query_ids_, *const row_lengths_;
  Index* const indices_;
  Value* const values_;
};

// What is wrong at the fault of a piece; the sentence's end, without the place.
std::string describe(const Piece& piece, const ReadOptions& options);

}  // namespace mm::text
