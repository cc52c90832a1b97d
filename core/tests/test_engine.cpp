// The kernel engine against plain loops: storage, odd sizes, single rows and blocks, reordering, threads, gathering.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "row_source.hpp"

namespace mm {
namespace {

/// Examples, dense and as CSR; about half of the values are zero, none is negative.
struct Rows {
  index n, d;
  std::vector<double> dense, values;
  std::vector<std::int32_t> indices, indptr{0};

  Rows(index rows, index columns, unsigned seed) : n(rows), d(columns), dense(std::size_t(rows * columns)) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    for (index i = 0; i < n; ++i) {
      for (index c = 0; c < d; ++c) {
        double const x = std::max(0.0, uniform(random));
        dense[std::size_t(i * d + c)] = x;
        if (x != 0) indices.push_back(std::int32_t(c)), values.push_back(x);
      }
      indptr.push_back(std::int32_t(values.size()));
    }
  }

  MatrixView dense_view() const {
    MatrixView v;
    v.rows = n, v.columns = d, v.values = dense.data(), v.row_stride = d, v.column_stride = 1;
    return v;
  }
  /// The coordinates spread over `columns` of them.
  MatrixView sparse_view(index columns) const {
    MatrixView v;
    v.rows = n, v.columns = columns, v.values = values.data(), v.sparse = true;
    v.indices = indices.data(), v.indptr = indptr.data();
    return v;
  }
  const double* row(index i) const { return dense.data() + i * d; }
};

double wanted(const KernelSpec& k, const double* x, const double* z, index d) {
  double sum = 0, squared = 0;
  for (index c = 0; c < d; ++c) {
    double const total = x[c] + z[c], difference = x[c] - z[c];
    squared += difference * difference;
    sum += k.pairing == Pairing::dot        ? x[c] * z[c]
           : k.pairing == Pairing::absolute ? std::abs(difference)
           : k.pairing == Pairing::minimum  ? std::min(x[c], z[c])
           : total > 0                      ? difference * difference / total
                                            : 0.0;
  }
  double const s = std::sqrt((k.shape == Shape::matern32 ? 3 : 5) * k.gamma * squared);
  switch (k.shape) {
    case Shape::identity:
      return sum;
    case Shape::polynomial:
      return std::pow(k.gamma * sum + k.coef0, k.degree);
    case Shape::tanh:
      return std::tanh(k.gamma * sum + k.coef0);
    case Shape::exponential:
      return std::exp(-k.gamma * sum);
    case Shape::gaussian:
      return std::exp(-k.gamma * squared);
    case Shape::matern32:
      return (1 + s) * std::exp(-s);
    case Shape::matern52:
      return (1 + s + s * s / 3) * std::exp(-s);
  }
  return 0;
}

const std::vector<KernelSpec> kernels = {
    {Pairing::dot, Shape::identity, 1, 0, 1},           {Pairing::dot, Shape::polynomial, 0.5, 1, 3},
    {Pairing::dot, Shape::gaussian, 0.3, 0, 1},         {Pairing::dot, Shape::tanh, 0.2, -0.5, 1},
    {Pairing::dot, Shape::matern32, 0.3, 0, 1},         {Pairing::dot, Shape::matern52, 0.3, 0, 1},
    {Pairing::absolute, Shape::exponential, 0.3, 0, 1}, {Pairing::chi_squared, Shape::exponential, 0.3, 0, 1},
    {Pairing::minimum, Shape::identity, 1, 0, 1},
};

std::string described(const KernelSpec& k, index n, index d) {
  return "pairing " + std::to_string(int(k.pairing)) + " shape " + std::to_string(int(k.shape)) + " n " +
         std::to_string(n) + " d " + std::to_string(d);
}

template <class T>
double tolerance(const KernelSpec& k, index d) {
  double const unit = sizeof(T) == 4 ? 1e-6 : 1e-13;
  bool const root = k.shape == Shape::matern32 || k.shape == Shape::matern52;
  return unit * (root ? 1e3 : 10.0) * double(d + 1);
}

/// Runs of positions of some rows, out of exactly as much memory as the contract asks for.
template <class T>
void check_rows(Engine<T>& engine, const KernelSpec& k, const Rows& x, std::vector<index> ids, index first,
                index last) {
  index const wide = padded(last - first);
  std::vector<T> out(ids.size() * std::size_t(wide));
  engine.rows(ids.data(), index(ids.size()), first, last, out.data(), wide);
  for (std::size_t r = 0; r < ids.size(); ++r)
    for (index j = first; j < last; ++j) {
      double const value = wanted(k, x.row(ids[r]), x.row(engine.order()[std::size_t(j)]), x.d);
      double const error = std::abs(double(out[r * std::size_t(wide) + std::size_t(j - first)]) - value);
      EXPECT(error <= tolerance<T>(k, x.d) * std::max(1.0, std::abs(value)), described(k, x.n, x.d));
    }
}

template <class T>
void check_engine(const MatrixView& view, const KernelSpec& k, const Rows& x, std::vector<double> centre, int threads) {
  Engine<T> engine(view, k, std::move(centre), nullptr, threads);
  std::vector<index> all(static_cast<std::size_t>(x.n));
  std::iota(all.begin(), all.end(), index(0));
  check_rows(engine, k, x, all, 0, x.n);
  check_rows(engine, k, x, {x.n - 1}, 0, x.n);
  check_rows(engine, k, x, {0, x.n / 2}, 0, (x.n + 1) / 2);
  std::vector<index> order = all;
  std::reverse(order.begin(), order.begin() + (x.n + 1) / 2);
  engine.reorder(order, (x.n + 1) / 2);
  check_rows(engine, k, x, {x.n / 2}, 0, x.n);
  if (x.n > column_grain) check_rows(engine, k, x, all, column_grain, x.n);
  std::reverse(order.begin(), order.end());
  engine.reorder(order, x.n);
  check_rows(engine, k, x, all, 0, x.n);
  std::vector<double> diagonal(static_cast<std::size_t>(x.n));
  engine.diagonal(diagonal.data());
  for (index i = 0; i < x.n; ++i) {
    double const value = wanted(k, x.row(i), x.row(i), x.d);
    EXPECT(std::abs(diagonal[std::size_t(i)] - value) <= tolerance<T>(k, x.d) * std::max(1.0, value),
           described(k, x.n, x.d));
  }
  std::vector<T> block(std::size_t(x.n * padded(x.n)));
  engine.block(view, 0, x.n, block.data(), padded(x.n));
  for (index i = 0; i < x.n; ++i)
    for (index j = 0; j < x.n; ++j) {
      double const value = wanted(k, x.row(i), x.row(engine.order()[std::size_t(j)]), x.d);
      EXPECT(std::abs(double(block[std::size_t(i * padded(x.n) + j)]) - value) <=
                 tolerance<T>(k, x.d) * std::max(1.0, std::abs(value)),
             described(k, x.n, x.d));
    }
}

template <class T>
void sizes() {
  for (auto [n, d] : std::vector<std::pair<index, index>>{{1, 0}, {1, 1}, {2, 3}, {5, 0}, {31, 7}, {33, 16}, {70, 5}}) {
    Rows const x(n, d, unsigned(n + d));
    for (KernelSpec const& k : kernels) {
      check_engine<T>(x.dense_view(), k, x, {}, 1);
      check_engine<T>(x.sparse_view(d), k, x, {}, 2);
      if (k.shape == Shape::gaussian || k.pairing == Pairing::absolute)
        check_engine<T>(x.dense_view(), k, x, std::vector<double>(std::size_t(d), 0.25), 1);
    }
  }
}

/// Enough work for several threads, by rows and by columns.
template <class T>
void threads() {
  Rows const x(300, 4000, 3);
  KernelSpec const gaussian{Pairing::dot, Shape::gaussian, 1e-3, 0, 1};
  std::vector<index> const ids{0, 299, 17, 18, 19, 20, 21, 22, 23, 24};
  for (bool sparse : {false, true}) {
    MatrixView const view = sparse ? x.sparse_view(x.d) : x.dense_view();
    Engine<T> one(view, gaussian, {}, nullptr, 1), four(view, gaussian, {}, nullptr, 4);
    for (index count : {index(1), index(ids.size())}) {
      index const wide = padded(x.n);
      std::vector<T> a(std::size_t(count * wide)), b(a.size());
      one.rows(ids.data(), count, 0, x.n, a.data(), wide);
      four.rows(ids.data(), count, 0, x.n, b.data(), wide);
      for (index r = 0; r < count; ++r)
        for (index j = 0; j < x.n; ++j)
          EXPECT(a[std::size_t(r * wide + j)] == b[std::size_t(r * wide + j)], std::to_string(r));
    }
    check_rows(four, gaussian, x, {5}, 0, x.n);
  }
}

/// So many columns that panels would be too large.
template <class T>
void gathering() {
  index const columns = 400'000;
  for (index n : {200, 201}) {
    Rows x(n, 12, unsigned(n));
    for (auto& c : x.indices) c = std::int32_t(c * 33'000 + 17);
    for (KernelSpec const& k : kernels) {
      Engine<T> engine(x.sparse_view(columns), k, {}, nullptr, 2);
      bool const lists = k.pairing == Pairing::dot || k.pairing == Pairing::minimum;
      EXPECT(std::string(engine.storage()) == (lists ? "inverted" : "gathered"));
      std::vector<index> order(static_cast<std::size_t>(n));
      std::iota(order.begin(), order.end(), index(0));
      std::rotate(order.begin(), order.begin() + 7, order.begin() + 150);
      engine.reorder(order, 150);
      check_rows(engine, k, x, {0, 11, n - 1}, 0, n);
      check_rows(engine, k, x, {n - 1}, 64, n);
    }
  }
}

int run() {
  sizes<float>();
  sizes<double>();
  threads<float>();
  threads<double>();
  gathering<float>();
  gathering<double>();
  return mm::check::status();
}

}  // namespace
}  // namespace mm

int main() { return mm::run(); }
