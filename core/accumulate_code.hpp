// The product of stored rows with coefficients, summed in double. Include from vector_code.cpp only.
#pragma once

#include "vec.hpp"
#include "vector_table.hpp"

namespace {

/// Rows of them at a time: each is read as one stream, the sums stay in the cache.
template <class T, int Rows>
inline void accumulate_some(const T* const* rows, const double* coefficient, mm::index columns, double* sums) {
  constexpr int width = lanes<double>;
  V<double> factor[Rows];
  for (int r = 0; r < Rows; ++r) factor[r] = broadcast<double>(coefficient[r]);
  mm::index j = 0;
  for (; j + 2 * width <= columns; j += 2 * width) {
    V<double> a = load(sums + j), b = load(sums + j + width);
    for (int r = 0; r < Rows; ++r) {
      a += factor[r] * load_double(rows[r] + j);
      b += factor[r] * load_double(rows[r] + j + width);
    }
    store<double>(sums + j, a);
    store<double>(sums + j + width, b);
  }
  for (; j < columns; ++j) {
    double sum = sums[j];
    for (int r = 0; r < Rows; ++r) sum += coefficient[r] * double(rows[r][j]);
    sums[j] = sum;
  }
}

template <class T>
void accumulate(const T* const* rows, const double* coefficient, mm::index count, mm::index columns, double* sums) {
  mm::index r = 0;
  for (; r + 8 <= count; r += 8) accumulate_some<T, 8>(rows + r, coefficient + r, columns, sums);
  for (; r < count; ++r) accumulate_some<T, 1>(rows + r, coefficient + r, columns, sums);
}

}  // namespace
