// Data that are small integers of one unit: found where they are, and their kernel values exact.
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "row_source.hpp"

namespace mm {
namespace {

/// Levels base, base + unit, ..., most of them the lowest one.
struct Levels {
  index n, d;
  std::vector<double> values;

  Levels(index rows, index columns, double base, double unit, int levels, double zeros, unsigned seed)
      : n(rows), d(columns) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> level(0, levels - 1);
    std::uniform_real_distribution<double> chance(0.0, 1.0);
    for (index i = 0; i < n * d; ++i) values.push_back(base + unit * (chance(random) < zeros ? 0 : level(random)));
    values[0] = base, values[1] = base + unit * (levels - 1);
  }
  MatrixView view() const {
    MatrixView v;
    v.rows = n, v.columns = d, v.values = values.data(), v.row_stride = d, v.column_stride = 1;
    return v;
  }
};

constexpr double single = 0x1p-24, twofold = 0x1p-53;

void found_or_not() {
  auto found = [](const Levels& x, double roundoff, bool from_zero) {
    return find_codes(x.view(), roundoff, from_zero, 2) != nullptr;
  };
  EXPECT(found(Levels(300, 9, 0, 1, 256, 0.3, 1), twofold, true));
  EXPECT(found(Levels(300, 9, -3, 0.25, 100, 0.3, 2), twofold, false));
  EXPECT(!found(Levels(300, 9, -3, 0.25, 100, 0.3, 3), twofold, true), "products need base 0");
  EXPECT(found(Levels(300, 9, 2, 1, 100, 0.3, 3), twofold, true), "2 is a level from 0");
  EXPECT(!found(Levels(300, 9, 0, 1, 257, 0.0, 4), twofold, false), "too many levels");
  EXPECT(found(Levels(300, 9, 0, 1.0 / 255, 256, 0.1, 5), twofold, true));
  Levels const fractions(300, 9, 0, 1.0 / 255, 256, 0.1, 6);
  std::vector<float> const rounded(fractions.values.begin(), fractions.values.end());
  MatrixView view = fractions.view();
  view.values = rounded.data(), view.number = Number::f32;
  EXPECT(find_codes(view, single, true, 2) != nullptr);
  EXPECT(find_codes(view, twofold, true, 2) == nullptr, "float64 kernel values are those of the data as they are");
  Levels offset(300, 9, 1.7e9, 900, 200, 0.3, 9);
  EXPECT(found(offset, single, false));
  for (std::size_t i = 5; i < offset.values.size(); i += 7) offset.values[i] += 380;
  EXPECT(!found(offset, single, false), "what float32 loses beside an offset is not to be lost here");
  Levels late(5000, 9, 0, 2, 100, 0.1, 7);
  late.values[late.values.size() - 1] = 7;  // a finer unit, which the first look does not see
  auto const codes = find_codes(late.view(), twofold, true, 2);
  EXPECT(codes && codes->unit == 1 && codes->largest == 198);
  late.values[late.values.size() - 1] = 7.01;
  EXPECT(!found(late, twofold, true));
  late.values[late.values.size() - 1] = std::nan("");
  EXPECT(!found(late, twofold, true));
  Levels same(5, 3, 4, 1, 1, 1, 8);
  EXPECT(found(same, twofold, false));
}

double wanted(const KernelSpec& k, const double* x, const double* z, index d) {
  double product = 0, squared = 0;
  for (index c = 0; c < d; ++c) product += x[c] * z[c], squared += (x[c] - z[c]) * (x[c] - z[c]);
  if (k.shape == Shape::gaussian) return std::exp(-k.gamma * squared);
  if (k.shape == Shape::polynomial) return std::pow(k.gamma * product + k.coef0, k.degree);
  double const s = std::sqrt(3 * k.gamma * squared);
  return (1 + s) * std::exp(-s);
}

template <class T>
void exact_values() {
  unsigned seed = 0;
  for (double zeros : {0.0, 0.9})
    for (int levels : {2, 128, 256})
      for (index d : {1, 2, 3, 4, 37, 130})
        for (index n : {2, 33, 70}) {
          Levels const x(n, std::max<index>(d, 1), 0, 0.5, levels, zeros, ++seed);
          if (x.values.size() < 2) continue;
          auto const codes = find_codes(x.view(), twofold, true, 1);
          EXPECT(codes != nullptr);
          double const gamma = 1.0 / (double(d) * levels * levels);
          for (KernelSpec const& k : {KernelSpec{Pairing::dot, Shape::gaussian, gamma, 0, 1},
                                      KernelSpec{Pairing::dot, Shape::polynomial, gamma, 1, 2},
                                      KernelSpec{Pairing::dot, Shape::matern32, gamma, 0, 1}}) {
            Engine<T> engine(x.view(), k, {}, codes, 2);
            EXPECT(std::string(engine.storage()) == "integers");
            index const wide = padded(n);
            std::vector<index> ids;
            for (index i = 0; i < n; ++i) ids.push_back(n - 1 - i);
            std::vector<T> out(std::size_t(n * wide));
            engine.rows(ids.data(), n, 0, n, out.data(), wide);
            for (index r = 0; r < n; ++r)
              for (index j = 0; j < n; ++j) {
                double const value =
                    wanted(k, &x.values[std::size_t(ids[std::size_t(r)] * x.d)], &x.values[std::size_t(j * x.d)], x.d);
                double const unit = sizeof(T) == 4 ? 4e-7 : 4e-15;
                EXPECT(
                    std::abs(double(out[std::size_t(r * wide + j)]) - value) <= unit * std::max(1.0, std::abs(value)),
                    std::to_string(levels) + " levels, d " + std::to_string(d));
              }
          }
        }
}

}  // namespace
}  // namespace mm

int main() {
  mm::found_or_not();
  mm::exact_values<float>();
  mm::exact_values<double>();
  return mm::check::status();
}
