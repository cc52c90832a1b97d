// The reader and writer of LIBSVM text: number rounding, block and piece boundaries, threads, faults.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "decimal.hpp"
#include "libsvm_text.hpp"

using namespace mm::text;

namespace {

template <class Value>
bool same_bits(Value a, Value b) {
  return std::memcmp(&a, &b, sizeof(Value)) == 0;
}

// strtod and strtof round correctly in glibc, and are not what the parser is built on.
double oracle(const char* s, double) { return std::strtod(s, nullptr); }
float oracle(const char* s, float) { return std::strtof(s, nullptr); }

template <class Value>
void check_number(const std::string& text) {
  const std::string line = text + "\n";
  const Value wanted = oracle(text.c_str(), Value{});
  Value found = -7;
  const char* const end = parse_number(line.data(), line.data() + line.size(), found);
  if (!std::isfinite(wanted)) {
    EXPECT(end == nullptr, text);
  } else {
    EXPECT(end == line.data() + text.size(), text);
    EXPECT(same_bits(found, wanted), text);
  }
}

void check_both(const std::string& text) {
  check_number<double>(text);
  check_number<float>(text);
}

void numbers() {
  for (const char* text : {"0",
                           "-0",
                           "+1",
                           "1.",
                           ".5",
                           "-.5e3",
                           "1e22",
                           "1e23",
                           "9007199254740993",
                           "9007199254740992.5",
                           "1e308",
                           "1.8e308",
                           "1e309",
                           "4.9e-324",
                           "2.4e-324",
                           "2.5e-324",
                           "1e-400",
                           "-1e-400",
                           "0e999999999999999999999",
                           "1e-99999999999999",
                           "1e99999999999999999999",
                           "2.2250738585072011e-308",
                           "2.2250738585072014e-308",
                           "0.1",
                           "123456789012345678901",
                           "0.00000000000000000000000000000000000012345",
                           "18446744073709551615",
                           "1844674407370955161.5",
                           "16777217",
                           "16777217.000000001",
                           "16777216.999999999999",
                           "1.17549435e-38",
                           "1.1754942e-38",
                           "3.4028235e38",
                           "3.4028236e38",
                           "3.5e38",
                           "1.4e-45",
                           "7e-46",
                           "8.5899345920000001e9",
                           "00000000000000000000001.5",
                           "1.00000000000000000000000"}) {
    check_both(text);
  }
  check_both("0." + std::string(400, '0') + "1e401");
  check_both("1" + std::string(400, '0') + "e-400");
  for (const char* text : {"", "-", ".", "e5", "1e", "1e+", "nan", "inf", "--1", "+-1"}) {
    const std::string line = std::string(text) + "\n";
    double found = 0;
    EXPECT(parse_number(line.data(), line.data() + line.size(), found) == nullptr, text);
  }
  std::mt19937_64 random(0);
  char text[64];
  for (int i = 0; i < 60000; ++i) {
    const std::uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    if (std::isfinite(value)) check_both({text, std::to_chars(text, text + sizeof text, value).ptr});
    const double everyday = std::ldexp(static_cast<double>(bits >> 11), static_cast<int>(bits % 60) - 80);
    std::snprintf(text, sizeof text, "%.*g", static_cast<int>(1 + bits % 19), everyday);
    check_both(text);
    std::snprintf(text, sizeof text, "%.*f", static_cast<int>(bits % 20), everyday);
    check_both(text);
  }
  // Halfway between two doubles, and the nearest decimals to either side.
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t half = ((random() | (1ULL << 63)) >> 10) | 1;  // 54 bits, the last one set
    check_both(std::to_string(half));
    check_both(std::to_string(half) + ".0001");
    check_both(std::to_string(half - 1) + ".9999");
    // So little above halfway that only the remainder of the quotient tells.
    check_both(std::to_string((9007199254740993 + random() % 990000000000000) | 1) + ".001");
  }
}

struct Result {
  std::vector<double> labels, values;
  std::vector<std::int64_t> lengths, indices, ids, counts;
  std::string error;
  bool operator==(const Result&) const = default;
};

Result read(const std::string& text, ReadOptions options, std::size_t block) {
  Result result;
  options.name = "t";
  TextReader reader(options);
  try {
    for (std::size_t i = 0; i < text.size(); i += block) reader.feed(std::string_view(text).substr(i, block));
    reader.finish();
  } catch (const TextError& error) {
    result.error = error.what();
    return result;
  }
  const Examples examples = reader.take();
  const auto copy = [](const auto& buffer, auto& out) { out.assign(buffer.data(), buffer.data() + buffer.size()); };
  copy(examples.labels, result.labels);
  copy(examples.label_counts, result.counts);
  copy(examples.query_ids, result.ids);
  copy(examples.row_lengths, result.lengths);
  std::visit([&](const auto& buffer) { copy(buffer, result.indices); }, examples.indices);
  std::visit([&](const auto& buffer) { copy(buffer, result.values); }, examples.values);
  return result;
}

std::string generated(int rows) {
  std::mt19937 random(1);
  std::string text = "# a comment: with, colons\n\n";
  for (int i = 0; i < rows; ++i) {
    if (random() % 50 == 0) text += "   # note: 1:2\n\r\n";
    text += std::to_string(i % 5) + (random() % 3 ? "" : ",7") + " qid:" + std::to_string(i / 4);
    for (int j = static_cast<int>(random() % 4); j < 60; j += 1 + static_cast<int>(random() % 9)) {
      text += " " + std::to_string(j) + ":" + std::to_string(random() % 1000) + "." + std::to_string(random());
    }
    text += random() % 4 ? "\n" : " # q:1\r\n";
  }
  return text + "3 qid:9 5:1";
}

void boundaries() {
  const ReadOptions options{.multilabel = true, .query_id = true};
  const std::string small = generated(12);
  const Result wanted = read(small, options, small.size());
  EXPECT(wanted.lengths.size() == 13 && wanted.values.back() == 1, wanted.error);
  for (std::size_t block = 1; block < small.size(); ++block) {
    EXPECT(read(small, options, block) == wanted, std::to_string(block));
  }
  const std::string large = generated(12000);  // several pieces
  const Result one = read(large, options, large.size());
  EXPECT(one.lengths.size() == 12001, one.error);
  for (const int threads : {2, 3, 8}) {
    ReadOptions parallel = options;
    parallel.threads = threads;
    EXPECT(read(large, parallel, large.size()) == one, std::to_string(threads));
    EXPECT(read(large, parallel, 700001) == one, std::to_string(threads));
  }
}

void wide_indices() {
  std::string text = generated(6000);
  text += "\n1 qid:1 2147483646:1\n";
  for (const int threads : {1, 3}) {
    for (const std::size_t block : {text.size(), std::size_t{300000}}) {
      ReadOptions options{.multilabel = true, .threads = threads};
      const Result narrow = read(text, options, block);
      Result wide = read(text + "1 3:1 999999999999999999:2\n", options, block);
      EXPECT(wide.indices.back() == 999999999999999999, wide.error);
      wide.indices.resize(narrow.indices.size());
      EXPECT(wide.indices == narrow.indices, "the indices before");
    }
  }
}

void faults() {
  const std::string head = generated(9000) + "\n";
  const auto lines = std::count(head.begin(), head.end(), '\n');
  for (const char* bad : {"x", "1 3:", "1 3:1 3:1", "1 -1:2", "1 1:nan", "1 1:1e999", "1:2 3", "1 qid:z", "1 a:1",
                          "1 :1", "1 1234567890123456789:1", "1 1:1\x01\xff", "1, 2:3"}) {
    std::string first;
    for (const int threads : {1, 4}) {
      for (const std::size_t block : {head.size() + 1000, std::size_t{100000}}) {
        const Result found =
            read(head + bad + "\n" + "1 1:x\n" + head, {.multilabel = true, .threads = threads}, block);
        const std::string place = "t, line " + std::to_string(lines + 1) + ", column ";
        EXPECT(found.error.rfind(place, 0) == 0, found.error + " for " + bad);
        if (first.empty()) first = found.error;
        EXPECT(found.error == first, found.error);
      }
    }
  }
}

template <class Value>
void round_trip() {
  std::mt19937_64 random(2);
  std::vector<Value> values;
  std::vector<std::int64_t> indices, row_ends, label_ends, ids;
  std::vector<double> labels;
  while (values.size() < 100000) {
    const std::uint64_t bits = random();
    Value value;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    values.push_back(values.size() % 3 == 0 ? static_cast<Value>(static_cast<std::int64_t>(bits % 2001) - 1000)
                                            : value);
    indices.push_back(static_cast<std::int64_t>(values.size() % 10));
    if (values.size() % 10 != 9) continue;
    row_ends.push_back(static_cast<std::int64_t>(values.size()));
    labels.push_back(static_cast<double>(value));
    label_ends.push_back(static_cast<std::int64_t>(labels.size()));
    ids.push_back(static_cast<std::int64_t>(bits));
  }
  values.resize(static_cast<std::size_t>(row_ends.back()));
  indices.resize(values.size());
  values[1] = -Value{0};
  const std::string text = format_rows(Rows<Value>{labels, label_ends, ids, row_ends, indices, values, 1});
  TextReader reader({.float32 = sizeof(Value) == 4, .query_id = true, .threads = 2});
  reader.feed(text);
  const Examples found = reader.take();
  const auto& back = std::get<Buffer<Value>>(found.values);
  EXPECT(back.size() == values.size(), std::to_string(back.size()));
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT(same_bits(values[i], back[i]), std::to_string(values[i]));
  for (std::size_t i = 0; i < ids.size(); ++i) EXPECT(found.query_ids[i] == ids[i], std::to_string(ids[i]));
  for (std::size_t i = 0; i < ids.size(); ++i) EXPECT(same_bits(found.labels[i], labels[i]), std::to_string(labels[i]));
}

}  // namespace

int main() {
  numbers();
  boundaries();
  wide_indices();
  faults();
  round_trip<double>();
  round_trip<float>();
  return mm::check::status();
}
