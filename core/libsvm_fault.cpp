// The sentences about malformed LIBSVM text.
#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>

#include "libsvm_piece.hpp"

namespace mm::text {

namespace {

// The text at a fault, in quotes, short and printable.
std::string quoted(const char* p) {
  constexpr std::ptrdiff_t longest = 30;
  const char* const stop = token_end(p);
  std::string out = "\"";
  for (const char* c = p; c != std::min(stop, p + longest); ++c) {
    if (*c > ' ' && *c < 127) {
      out += *c;
    } else {
      constexpr char hex[] = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(*c);
      out += {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
    }
  }
  return out + (stop - p > longest ? "...\"" : "\"");
}

// Why the token at p, which ends before `stop`, is not accepted as a finite number.
std::string not_a_number(const char* p, const char* stop, bool float32) {
  std::string text(p, stop);
  const std::string shown = quoted(p);
  std::transform(text.begin(), text.end(), text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c | 0x20 : c; });
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.erase(0, 1);
  if (text == "nan" || text == "inf" || text == "infinity") return shown + " is not finite";
  double value = 0;
  const auto [next, error] = from_text(text.data(), text.data() + text.size(), value);
  if (text.empty() || !(is_digit(text[0]) || text[0] == '.') || error == std::errc::invalid_argument ||
      next != text.data() + text.size()) {
    return shown + " is not a number";
  }
  return shown + " is beyond the range of " + (float32 ? "float32" : "float64");
}

}  // namespace

std::string describe(const Piece& piece, const ReadOptions& options) {
  const char* const at = piece.fault_at;
  const char* const stop = token_end(at);
  const bool colon = std::find(at, stop, ':') != stop;
  const std::string token = quoted(at), previous = std::to_string(piece.fault_previous);
  switch (piece.fault) {
    case Fault::label:
      if (at == stop) return "the label is missing";
      if (colon) return token + " stands where the label should be";
      if (!options.multilabel && std::find(at, stop, ',') != stop) {
        return token + " holds several labels, which only multilabel=True reads";
      }
      return "the label " + not_a_number(at, std::find(at, stop, ','), false);
    case Fault::query_id:
      return "the query id " + token + " is not an integer of 64 bits";
    case Fault::query_id_missing:
      return "the example has no query id (qid:1 after the label), which query_id=True needs";
    case Fault::pair: {
      const bool negative = *at == '-';
      const char* const digits = at + negative;
      const char* const rest = std::find_if_not(digits, stop, is_digit);
      if (rest == digits || rest == stop || *rest != ':') return token + " is not a pair index:value";
      if (negative) return "the index in " + token + " is negative";
      return "the index in " + token + " has more than " + std::to_string(kIndexDigits) + " digits";
    }
    case Fault::index_below:
      return "the index in " + token + " is 0, and the first index is 1 unless zero_based=True (--zero-based) says 0";
    case Fault::index_order:
      return "the index in " + token + " does not exceed the one before it, " + previous +
             ": indices must increase along a line";
    default:
      if (at == stop) return "the value is missing";
      return "the value " + not_a_number(at, stop, options.float32);
  }
}

}  // namespace mm::text
