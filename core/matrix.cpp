#include "matrix.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

namespace mm {

namespace {

template <class Body>
void with_type(Number number, const void* p, Body&& body) {
  switch (number) {
    case Number::boolean:
    case Number::u8:
      return body(static_cast<const std::uint8_t*>(p));
    case Number::i8:
      return body(static_cast<const std::int8_t*>(p));
    case Number::i16:
      return body(static_cast<const std::int16_t*>(p));
    case Number::i32:
      return body(static_cast<const std::int32_t*>(p));
    case Number::i64:
      return body(static_cast<const std::int64_t*>(p));
    case Number::u16:
      return body(static_cast<const std::uint16_t*>(p));
    case Number::u32:
      return body(static_cast<const std::uint32_t*>(p));
    case Number::u64:
      return body(static_cast<const std::uint64_t*>(p));
    case Number::f32:
      return body(static_cast<const float*>(p));
    case Number::f64:
      return body(static_cast<const double*>(p));
  }
}

template <class Body>
void with_index_type(Number number, const void* p, Body&& body) {
  if (number == Number::i32) return body(static_cast<const std::int32_t*>(p));
  return body(static_cast<const std::int64_t*>(p));
}

template <class Body>
void each_nonzero(const MatrixView& m, index row, Body&& body) {
  index const begin = m.start(row), end = m.start(row + 1);
  with_type(m.number, m.values, [&](auto* values) {
    with_index_type(m.index_number, m.indices, [&](auto* indices) {
      for (index e = begin; e < end; ++e) body(index(indices[e]), values[e]);
    });
  });
}

}  // namespace

void MatrixView::check_sparse(index stored) const {
  auto fault = [](const std::string& what) { throw std::invalid_argument("The sparse matrix is malformed: " + what); };
  auto text = [](auto number) { return std::to_string(number); };
  if (start(0) != 0) fault("its indptr starts with " + text(start(0)) + ", not with 0.");
  for (index i = 0; i < rows; ++i)
    if (start(i + 1) < start(i)) fault("indptr[" + text(i + 1) + "] is less than indptr[" + text(i) + "].");
  if (start(rows) > stored)
    fault("its indptr ends with " + text(start(rows)) + ", but it stores " + text(stored) + " values.");
  with_index_type(index_number, indices, [&](auto* at) {
    for (index e = 0; e < start(rows); ++e)
      if (at[e] < 0 || index(at[e]) >= columns)
        fault("indices[" + text(e) + "] is " + text(at[e]) + ", but there are " + text(columns) + " of them.");
  });
}

void MatrixView::norms(bool squared, const double* centre, double* out) const {
  std::vector<double> row(static_cast<std::size_t>(sparse && !centre ? 0 : columns));
  auto share = [&](double x) { return squared ? x * x : std::abs(x); };
  for (index i = 0; i < rows; ++i) {
    double sum = 0;
    if (sparse && !centre) {
      each_nonzero(*this, i, [&](index, auto value) { sum += share(double(value)); });
    } else {
      dense_row(i, centre, row.data());
      for (double x : row) sum += share(x);
    }
    out[i] = sum;
  }
}

template <class T>
void MatrixView::dense_row(index row, const double* centre, T* out) const {
  if (sparse) {
    for (index c = 0; c < columns; ++c) out[c] = centre ? T(-centre[c]) : T(0);
    each_nonzero(*this, row, [&](index c, auto value) { out[c] = centre ? T(double(value) - centre[c]) : T(value); });
    return;
  }
  with_type(number, values, [&](auto* p) {
    auto const* x = p + row * row_stride;
    if (centre)
      for (index c = 0; c < columns; ++c) out[c] = T(double(x[c * column_stride]) - centre[c]);
    else
      for (index c = 0; c < columns; ++c) out[c] = T(x[c * column_stride]);
  });
}

template <class T>
void MatrixView::sparse_row(index row, std::vector<std::int32_t>& at, std::vector<T>& value) const {
  auto add = [&](index c, auto v) {
    if (v != 0) {
      at.push_back(std::int32_t(c));
      value.push_back(T(v));
    }
  };
  if (sparse) return each_nonzero(*this, row, add);
  with_type(number, values, [&](auto* p) {
    auto const* x = p + row * row_stride;
    for (index c = 0; c < columns; ++c) add(c, x[c * column_stride]);
  });
}

double MatrixView::entry(index row, index column) const {
  double out = 0;
  with_type(number, values, [&](auto* p) { out = double(p[row * row_stride + column * column_stride]); });
  return out;
}

template <class T>
RowBlock<T> sparse_block(const MatrixView& x, index begin, index count) {
  RowBlock<T> block;
  block.indptr.reserve(std::size_t(count) + 1);
  block.indptr.push_back(0);
  for (index r = 0; r < count; ++r) {
    x.sparse_row(begin + r, block.indices, block.values);
    block.indptr.push_back(index(block.indices.size()));
  }
  return block;
}

template <class T>
RowBlock<T> chosen_rows(const RowBlock<T>& from, const std::vector<T>& norms, const index* ids, index count) {
  RowBlock<T> block;
  block.indptr.push_back(0);
  for (index r = 0; r < count; ++r) {
    auto const begin = from.indptr[std::size_t(ids[r])], end = from.indptr[std::size_t(ids[r]) + 1];
    block.indices.insert(block.indices.end(), from.indices.begin() + begin, from.indices.begin() + end);
    block.values.insert(block.values.end(), from.values.begin() + begin, from.values.begin() + end);
    block.indptr.push_back(index(block.indices.size()));
    block.norms.push_back(norms[std::size_t(ids[r])]);
  }
  return block;
}

template RowBlock<float> sparse_block<float>(const MatrixView&, index, index);
template RowBlock<double> sparse_block<double>(const MatrixView&, index, index);
template RowBlock<float> chosen_rows(const RowBlock<float>&, const std::vector<float>&, const index*, index);
template RowBlock<double> chosen_rows(const RowBlock<double>&, const std::vector<double>&, const index*, index);
template void MatrixView::dense_row<float>(index, const double*, float*) const;
template void MatrixView::dense_row<double>(index, const double*, double*) const;
template void MatrixView::sparse_row<float>(index, std::vector<std::int32_t>&, std::vector<float>&) const;
template void MatrixView::sparse_row<double>(index, std::vector<std::int32_t>&, std::vector<double>&) const;

}  // namespace mm
