// Data that are integers of one unit: x = base + unit q with 0 <= q <= 255, as pixels, counts and indicators are.
// Inner products of the codes q are exact in 32 bits, and so are the distances.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "matrix.hpp"

namespace mm {

struct Codes {
  double unit = 1, base = 0;
  index rows = 0, width = 0;  // bytes of a row: the columns, padded with zeros to a multiple of 4
  int largest = 0;
  std::vector<std::uint8_t> values;
  std::vector<std::int32_t> sums, squares;  // of each row

  const std::uint8_t* row(index i) const { return values.data() + i * width; }
};

/// The codes of the data, or null where they are no integers of one unit with at most 256 levels: every value must be
/// restored but for four roundoffs. With `from_zero`, base must be 0, so that the codes' products are
/// the data's.
std::shared_ptr<const Codes> find_codes(const MatrixView& x, double roundoff, bool from_zero, int threads);

}  // namespace mm
