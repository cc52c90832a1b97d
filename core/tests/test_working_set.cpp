// What large working sets are made of: blocks of chosen columns, products of many rows, the store of rows, the matrix
// of the members; from every storage of the columns.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "row_store.hpp"
#include "working_matrix.hpp"

namespace mm {
namespace {

/// Examples of small integers, so that every storage holds them.
struct Data {
  index n, d, columns;
  std::vector<double> dense, values;
  std::vector<std::int32_t> indices, indptr{0};

  Data(index rows, index dimension, index spread, unsigned seed) : n(rows), d(dimension), columns(d * spread) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> level(-6, 5);
    for (index i = 0; i < n; ++i) {
      for (index c = 0; c < d; ++c) {
        double const x = std::max(0, level(random));
        dense.push_back(x);
        if (x != 0) indices.push_back(std::int32_t(c * spread)), values.push_back(x);
      }
      indptr.push_back(std::int32_t(values.size()));
    }
  }
  MatrixView dense_view() const {
    MatrixView v;
    v.rows = n, v.columns = d, v.values = dense.data(), v.row_stride = d, v.column_stride = 1;
    return v;
  }
  MatrixView sparse_view() const {
    MatrixView v;
    v.rows = n, v.columns = columns, v.values = values.data(), v.sparse = true;
    v.indices = indices.data(), v.indptr = indptr.data();
    return v;
  }
};

template <class T>
std::vector<std::shared_ptr<RowSource<T>>> sources(const Data& x, const Data& wide) {
  KernelSpec const k{Pairing::dot, Shape::gaussian, 0.01, 0, 1};
  auto const codes = find_codes(x.dense_view(), 0x1p-53, true, 1);
  std::vector<std::shared_ptr<RowSource<T>>> all{
      std::make_shared<Engine<T>>(x.dense_view(), k, std::vector<double>{}, nullptr, 2),
      std::make_shared<Engine<T>>(x.sparse_view(), k, std::vector<double>{}, nullptr, 2),
      std::make_shared<Engine<T>>(wide.sparse_view(), k, std::vector<double>{}, nullptr, 2),
      std::make_shared<Engine<T>>(x.dense_view(), k, std::vector<double>{}, codes, 2)};
  std::vector<std::shared_ptr<RowSource<T>>> parts{all[0], all[3]};
  all.push_back(std::make_shared<Combined<T>>(parts, std::vector<double>{1.0, 1.0}, true));
  return all;
}

/// The whole matrix, row by row.
template <class T>
std::vector<double> whole(RowSource<T>& source) {
  index const n = source.size(), wide = padded(n);
  std::vector<T> row(static_cast<std::size_t>(wide));
  std::vector<double> K(std::size_t(n * n));
  for (index i = 0; i < n; ++i) {
    source.rows(&i, 1, 0, n, row.data(), wide);
    for (index j = 0; j < n; ++j) K[std::size_t(i * n + source.order()[std::size_t(j)])] = double(row[std::size_t(j)]);
  }
  return K;
}

std::vector<index> some(index n, index count, std::mt19937& random) {
  std::vector<index> ids(static_cast<std::size_t>(n));
  std::iota(ids.begin(), ids.end(), index(0));
  std::shuffle(ids.begin(), ids.end(), random);
  ids.resize(std::size_t(count));
  return ids;
}

template <class T>
void blocks(RowSource<T>& source, std::mt19937& random) {
  index const n = source.size();
  auto const K = whole(source);
  for (index count : {index(1), index(5), n / 2}) {
    auto const rows = some(n, count, random), columns = some(n, n / 3 + 1, random);
    index const width = index(columns.size()), wide = padded(width);
    std::vector<T> out(std::size_t(count * wide));
    source.cross(rows.data(), count, columns.data(), width, out.data(), wide);
    for (index r = 0; r < count; ++r)
      for (index c = 0; c < width; ++c)
        EXPECT(double(out[std::size_t(r * wide + c)]) ==
               K[std::size_t(rows[std::size_t(r)] * n + columns[std::size_t(c)])]);
  }
}

template <class T>
void products(const std::shared_ptr<RowSource<T>>& source, double budget_rows, std::mt19937& random) {
  index const n = source->size();
  auto const K = whole(*source);
  RowStore<T> store(source, budget_rows * double(padded(n)) * sizeof(T), 2);
  std::vector<double> sums(std::size_t(n), 0.0), right(std::size_t(n), 0.0);
  std::normal_distribution<double> normal;
  for (int round = 0; round < 6; ++round) {
    auto const ids = some(n, round == 0 ? n : n / 4 + 1, random);
    std::vector<double> coefficient;
    std::vector<std::uint8_t> worth;
    for (std::size_t i = 0; i < ids.size(); ++i) coefficient.push_back(normal(random)), worth.push_back(i % 3 == 0);
    store.keep(ids.data(), index(ids.size()) / 5);
    for (index done = 0; done < index(ids.size());)
      done += store.accumulate(ids.data() + done, coefficient.data() + done, worth.data() + done,
                               index(ids.size()) - done, round % 2 == 0 ? 1.0 : 0.0, sums.data());
    for (std::size_t i = 0; i < ids.size(); ++i)
      for (index j = 0; j < n; ++j) right[std::size_t(j)] += coefficient[i] * K[std::size_t(ids[i] * n + j)];
    for (index j = 0; j < n; ++j) EXPECT(std::abs(sums[std::size_t(j)] - right[std::size_t(j)]) < 1e-10);
    EXPECT(store.bytes() <= budget_rows * double(padded(n)) * sizeof(T));
  }
  EXPECT(budget_rows < 2 || store.hits() > 0);
}

template <class T>
void members(const std::shared_ptr<RowSource<T>>& source, std::mt19937& random) {
  index const n = source->size();
  auto const K = whole(*source);
  WorkingMatrix<T> matrix(source, n);
  for (int round = 0; round < 5; ++round) {
    std::vector<index> leaving, joining;
    for (index at = 0; at < matrix.size(); ++at)
      if (random() % 3 == 0) leaving.push_back(at);
    for (index id : some(n, round % 2 == 0 ? n / 4 : n / 40, random))
      if (std::find(matrix.members().begin(), matrix.members().end(), id) == matrix.members().end())
        joining.push_back(id);
    matrix.exchange(leaving, joining);
    index stride = 0;
    const T* const values = matrix.resident(stride);
    for (index r = 0; r < matrix.size(); ++r)
      for (index c = 0; c < matrix.size(); ++c)
        EXPECT(double(values[r * stride + c]) ==
               K[std::size_t(matrix.members()[std::size_t(r)] * n + matrix.members()[std::size_t(c)])]);
    std::vector<double> diagonal(static_cast<std::size_t>(matrix.size()));
    matrix.diagonal(diagonal.data());
    for (double value : diagonal) EXPECT(value == 1.0);
  }
}

template <class T>
void all() {
  std::mt19937 random(7);
  Data const x(210, 7, 1, 1), wide(210, 7, 60'000, 1);
  for (auto const& source : sources<T>(x, wide)) {
    blocks(*source, random);
    for (double budget : {0.0, 1.0, 20.0, 1000.0}) products(source, budget, random);
    members(source, random);
  }
}

}  // namespace
}  // namespace mm

int main() {
  mm::all<float>();
  mm::all<double>();
  return mm::check::status();
}
