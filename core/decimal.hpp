// Decimal text to the nearest double or float: bit for bit what std::from_chars and Python's float() give.
//
// Nearly every number in a data file has at most 19 significant digits w and a small exponent k, so w * 10^k is settled
// by one exact step: a product or quotient of two exact doubles (Clinger 1990) while w <= 2^53 and |k| <= 22, else an
// integer quotient of 63 bits whose remainder is kept as a sticky bit. Everything else goes to std::from_chars.
#pragma once

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#if !defined(__cpp_lib_to_chars)
#include <locale.h>
#endif
#include <string>
#include <system_error>
#include <type_traits>

namespace mm::text {

inline constexpr double kExactTens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

inline constexpr std::uint64_t kIntegerTens[] = {1ULL,
                                                 10ULL,
                                                 100ULL,
                                                 1000ULL,
                                                 10000ULL,
                                                 100000ULL,
                                                 1000000ULL,
                                                 10000000ULL,
                                                 100000000ULL,
                                                 1000000000ULL,
                                                 10000000000ULL,
                                                 100000000000ULL,
                                                 1000000000000ULL,
                                                 10000000000000ULL,
                                                 100000000000000ULL,
                                                 1000000000000000ULL,
                                                 10000000000000000ULL,
                                                 100000000000000000ULL,
                                                 1000000000000000000ULL,
                                                 10000000000000000000ULL};

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') <= 9; }

// Appends the digits at p to w (modulo 2^64) and returns the first character that is none. Stops by itself at the
// line's end; `end` only keeps the loads of eight bytes inside the text.
inline const char* append_digits(const char* p, const char* end, std::uint64_t& w) {
  if constexpr (std::endian::native == std::endian::little) {
    while (end - p >= 8) {
      std::uint64_t eight;
      std::memcpy(&eight, p, 8);
      const std::uint64_t high_nibbles = (eight & 0xF0F0F0F0F0F0F0F0ULL) ^ 0x3030303030303030ULL;
      const std::uint64_t above_nine =
          ((eight & 0x0F0F0F0F0F0F0F0FULL) + 0x0606060606060606ULL) & 0xF0F0F0F0F0F0F0F0ULL;
      if ((high_nibbles | above_nine) != 0) break;
      eight -= 0x3030303030303030ULL;
      eight = eight * 10 + (eight >> 8);  // pairs of digits, then fours, then all eight
      eight = ((eight & 0x000000FF000000FFULL) * 0x000F424000000064ULL +
               ((eight >> 16) & 0x000000FF000000FFULL) * 0x0000271000000001ULL) >>
              32;
      w = w * 100000000ULL + eight;
      p += 8;
    }
  }
  for (; is_digit(*p); ++p) w = w * 10 + static_cast<std::uint64_t>(*p - '0');
  return p;
}

// w / 10^k for w > 0 and k <= 19, rounded once.
inline double quotient_of_ten(std::uint64_t w, int k) {
  __extension__ using Wide = unsigned __int128;
  const int w_shift = std::countl_zero(w);
  const int ten_shift = std::countl_zero(kIntegerTens[k]);
  const std::uint64_t divisor = kIntegerTens[k] << ten_shift;
  const Wide dividend = static_cast<Wide>(w << w_shift) << 63;
  const auto quotient = static_cast<std::uint64_t>(dividend / divisor);  // in [2^62, 2^64)
  const auto remainder = static_cast<std::uint64_t>(dividend - static_cast<Wide>(quotient) * divisor);
  const auto power = static_cast<std::uint64_t>(1023 - 63 - w_shift + ten_shift) << 52;
  return static_cast<double>(quotient | (remainder != 0)) * std::bit_cast<double>(power);
}

// Reads "+12", "-3", "07" after an e; nullptr where no digit follows. Saturates far beyond every meaningful exponent.
inline const char* parse_exponent(const char* p, std::int64_t& exponent) {
  const bool negative = *p == '-';
  if (negative || *p == '+') ++p;
  if (!is_digit(*p)) return nullptr;
  std::int64_t value = 0;
  for (; is_digit(*p); ++p) {
    if (value < 1'000'000'000'000'000) value = value * 10 + (*p - '0');
  }
  exponent = negative ? -value : value;
  return p;
}

// Whether a number outside the range of doubles is a large one (and not one that rounds to zero).
inline bool is_large(const char* first, const char* last, std::int64_t exponent) {
  std::int64_t magnitude = 0;  // of the first digit that is not zero, in digits before (> 0) or after the point
  bool after_point = false, found = false;
  for (const char* p = first; p != last && (*p == '.' || is_digit(*p)); ++p) {
    if (*p == '.') {
      after_point = true;
    } else {
      found = found || *p != '0';
      if (found && !after_point) ++magnitude;
      if (!found && after_point) --magnitude;
      if (found && after_point) break;
    }
  }
  return magnitude + exponent > 0;
}

// std::from_chars, or the C library's function in the "C" locale where the standard library lacks it for floating
// point.
template <class Value>
std::from_chars_result from_text(const char* first, const char* last, Value& value) {
#if defined(__cpp_lib_to_chars)
  return std::from_chars(first, last, value, std::chars_format::general);
#else
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  // Cut where a decimal number must end: the C library also reads hexadecimal numbers, infinity and NaN.
  const std::string text(first, std::find_if_not(first, last, [](char c) {
                           return is_digit(c) || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-';
                         }));
  char* stop = nullptr;
  errno = 0;
  if constexpr (sizeof(Value) == sizeof(float))
    value = strtof_l(text.c_str(), &stop, plain);
  else
    value = strtod_l(text.c_str(), &stop, plain);
  const auto read = stop - text.c_str();
  const bool beyond = errno == ERANGE && (value == 0 || std::isinf(value));
  return {first + read, read == 0 ? std::errc::invalid_argument
                        : beyond  ? std::errc::result_out_of_range
                                  : std::errc{}};
#endif
}

// The general case: [first, last) is an unsigned decimal number in full.
template <class Value>
bool parse_slowly(const char* first, const char* last, std::int64_t exponent, Value& magnitude) {
  const auto [end, error] = from_text(first, last, magnitude);
  if (error == std::errc::result_out_of_range) {
    if (is_large(first, last, exponent)) return false;
    magnitude = 0;
    return true;
  }
  return error == std::errc{} && end == last;
}

// A float comes from its double except where the double is a tie between two floats (the text may lie on either side of
// it) or below the normal floats, whose ties lie elsewhere.
inline bool rounds_safely_to_float(double v) {
  constexpr std::uint64_t dropped = (1ULL << 29) - 1, tie = 1ULL << 28;
  return (std::bit_cast<std::uint64_t>(v) & dropped) != tie && (v == 0 || v >= std::numeric_limits<float>::min());
}

// Reads one finite number at p and returns where it ends, or nullptr where the text is no number or is beyond the range
// of Value. The text must be followed by a character that no number contains (a line's end) before `end`.
template <class Value>
const char* parse_number(const char* p, const char* end, Value& out) {
  const bool negative = *p == '-';
  if (negative || *p == '+') ++p;
  const char* const first = p;
  std::uint64_t w = 0;
  p = append_digits(p, end, w);
  std::ptrdiff_t count = p - first;
  std::int64_t exponent = 0, written = 0;
  if (*p == '.') {
    const char* const fraction = p + 1;
    p = append_digits(fraction, end, w);
    exponent = fraction - p;
    count += p - fraction;
  }
  if (count == 0) return nullptr;
  if ((*p | 0x20) == 'e') {
    p = parse_exponent(p + 1, written);
    if (p == nullptr) return nullptr;
    exponent += written;
  }
  Value magnitude = 0;
  double v = -1;  // not yet known
  if (count <= 19) {
    if (w == 0) {
      v = 0;
    } else if (w <= (1ULL << 53) && exponent >= -22 && exponent <= 22) {
      v = exponent < 0 ? static_cast<double>(w) / kExactTens[-exponent] : static_cast<double>(w) * kExactTens[exponent];
    } else if (exponent < 0 && exponent >= -19) {
      v = quotient_of_ten(w, static_cast<int>(-exponent));
    }
  }
  if (v >= 0 && (std::is_same_v<Value, double> || rounds_safely_to_float(v))) {
    magnitude = static_cast<Value>(v);
  } else if (!parse_slowly(first, p, written, magnitude)) {
    return nullptr;
  }
  if (!std::isfinite(magnitude)) return nullptr;
  out = negative ? -magnitude : magnitude;
  return p;
}

}  // namespace mm::text
