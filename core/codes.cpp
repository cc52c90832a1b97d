#include "codes.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>

#include "parallel.hpp"

namespace mm {

namespace {

constexpr int most_levels = 256;
constexpr index sampled_rows = 64;
constexpr int most_attempts = 8;
/// Codes are worth their bytes up to this many, or to this share of what the data take themselves.
constexpr double bytes_always = 64e6, share_of_data = 1.0;
constexpr std::int32_t most_square = 1 << 29, most_sum = 1 << 23;  // so that 32 bits hold every distance

double bytes_of(Number number) {
  switch (number) {
    case Number::boolean:
    case Number::i8:
    case Number::u8:
      return 1;
    case Number::i16:
    case Number::u16:
      return 2;
    case Number::i32:
    case Number::u32:
    case Number::f32:
      return 4;
    default:
      return 8;
  }
}

/// The greatest unit of which both are multiples, to within the rounding.
double common_unit(double a, double b, double within) {
  while (b > within) {
    double const rest = std::abs(a - std::round(a / b) * b);
    a = b;
    b = rest;
  }
  return a;
}

/// Levels base, base + unit, ... top; no unit: the values are no such levels.
struct Guess {
  double base = 0, top = 0, unit = 0;
  double roundoff = 0;
  double within = 0;  // of a level: four roundoffs of values of this size

  bool holds() const { return unit > 0; }

  /// One more value that is to be a level.
  void include(double value) {
    double const range = top - base;
    base = std::min(base, value), top = std::max(top, value);
    within = 4 * (roundoff * (top - base) + 0x1p-53 * std::max(std::abs(base), std::abs(top)));
    double const distance = std::max(top - value, value - base);  // to the further end
    if (top == base) return;
    unit = range > 0 ? common_unit(distance, unit, 2 * within) : distance;
    double const levels = std::round((top - base) / unit);
    // The ends are a whole number of units apart: that says the unit to the last digit.
    unit = unit > 2 * within && levels < most_levels ? (top - base) / levels : 0.0;
  }
};

Guess guess(const MatrixView& x, double roundoff) {
  std::vector<double> levels, row(static_cast<std::size_t>(x.columns));
  index const step = std::max<index>(1, x.rows / sampled_rows);
  for (index i = 0; i < x.rows; i += step) {
    x.dense_row(i, nullptr, row.data());
    levels.insert(levels.end(), row.begin(), row.end());
    std::sort(levels.begin(), levels.end());
    levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    if (levels.size() > most_levels) return {};
  }
  if (!std::isfinite(levels.front()) || !std::isfinite(levels.back())) return {};
  Guess g;
  g.base = g.top = levels.front();
  g.roundoff = roundoff;
  g.unit = 1;  // of data that are all the same
  for (std::size_t i = 1; i < levels.size() && g.holds(); ++i) g.include(levels[i]);
  return g;
}

/// Writes the codes of one row, as offsets from the base; false at a value that is no multiple of the unit or out of
/// range, which it leaves in `misfit`.
bool encode(const double* row, index columns, const Guess& g, std::uint8_t* out, double& misfit) {
  double const inverse = 1 / g.unit;
  int bad = 0;
  for (index c = 0; c < columns; ++c) {
    double const level = (row[c] - g.base) * inverse;
    // Cast before use: what is out of range, or NaN, becomes 0 and then differs.
    double const inside = level > -0.5 && level < most_levels - 0.5 ? level : 0.0;
    int const q = int(inside + 0.5);
    bad += !(std::abs(row[c] - (g.base + q * g.unit)) <= g.within);
    out[c] = std::uint8_t(q);
  }
  if (bad == 0) return true;
  for (index c = 0; c < columns; ++c)
    if (!(std::abs(row[c] - (g.base + out[c] * g.unit)) <= g.within)) misfit = row[c];
  return false;
}

/// The codes by a guess; null and a misfit where it fails.
std::shared_ptr<Codes> attempt(const MatrixView& x, const Guess& g, int threads, double& misfit) {
  auto codes = std::make_shared<Codes>();
  codes->unit = g.unit, codes->base = g.base, codes->rows = x.rows;
  codes->width = (x.columns + 3) / 4 * 4;
  codes->values.resize(std::size_t(x.rows * codes->width));
  codes->sums.resize(std::size_t(x.rows));
  codes->squares.resize(std::size_t(x.rows));
  std::atomic<bool> failed{false};
  std::atomic<int> largest{0};
  std::mutex guard;
  parallel(threads, x.rows, 64, [&](index begin, index end) {
    std::vector<double> row(static_cast<std::size_t>(x.columns));
    int most = 0;
    for (index i = begin; i < end && !failed.load(std::memory_order_relaxed); ++i) {
      x.dense_row(i, nullptr, row.data());
      std::uint8_t* const out = codes->values.data() + i * codes->width;
      double stranger = 0;
      if (!encode(row.data(), x.columns, g, out, stranger)) {
        std::lock_guard<std::mutex> lock(guard);
        misfit = stranger;
        failed = true;
        return;
      }
      std::int64_t sum = 0, square = 0;
      for (index c = 0; c < x.columns; ++c) {
        std::int32_t const q = out[c];
        sum += q, square += q * q, most = std::max(most, int(q));
      }
      codes->sums[std::size_t(i)] = std::int32_t(std::min<std::int64_t>(sum, most_sum));
      codes->squares[std::size_t(i)] = std::int32_t(std::min<std::int64_t>(square, most_square));
    }
    int before = largest.load();
    while (before < most && !largest.compare_exchange_weak(before, most)) {
    }
  });
  if (failed) return nullptr;
  codes->largest = largest;
  return codes;
}

}  // namespace

std::shared_ptr<const Codes> find_codes(const MatrixView& x, double roundoff, bool from_zero, int threads) {
  double const bytes = double(x.rows) * double(x.columns);
  double const data = double(x.nonzeros()) * (bytes_of(x.number) + (x.sparse ? bytes_of(x.index_number) : 0));
  if (x.rows == 0 || x.columns == 0 || bytes > std::max(bytes_always, share_of_data * data)) return nullptr;
  Guess g = guess(x, x.number == Number::f32 ? roundoff : 0x1p-53);
  if (from_zero && g.holds()) g.include(0.0);
  if (from_zero && g.base < 0) return nullptr;
  for (int tries = 0; g.holds() && tries < most_attempts; ++tries) {
    double misfit = 0;
    if (auto codes = attempt(x, g, threads, misfit)) {
      bool const fits = *std::max_element(codes->squares.begin(), codes->squares.end()) < most_square &&
                        *std::max_element(codes->sums.begin(), codes->sums.end()) < most_sum;
      return fits ? codes : nullptr;
    }
    if (!std::isfinite(misfit)) return nullptr;
    g.include(misfit);  // a level that the first look did not see
    if (from_zero && g.base < 0) return nullptr;
  }
  return nullptr;
}

}  // namespace mm
