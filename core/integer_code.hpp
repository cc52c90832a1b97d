// Kernel values of data that are small integers: inner products in 32 bits are exact. Two numbers of 16 bits, or four
// bytes where the processor multiplies these (VNNI), lie in a group of 32 bits; a vector holds one group of each of its
// columns. Include from vector_code.cpp only.
#pragma once

#include "kernel_code.hpp"
#include "vec.hpp"
#include "vector_table.hpp"
#if defined(__x86_64__) && !defined(MM_PORTABLE)
#include <immintrin.h>
#endif

namespace {

using Int = V<std::int32_t>;
constexpr int int_lanes = lanes<std::int32_t>;
constexpr mm::index code_panel = 2 * int_lanes;

/// sum + the inner products of x's numbers with those of each lane of z. With bytes, x holds unsigned and z signed
/// ones.
#if defined(__AVX512VNNI__) && defined(__AVX512F__) && !defined(MM_PORTABLE)
constexpr int code_group = 4;
inline Int multiply_add(Int sum, Int x, Int z) {
  return Int(_mm512_dpbusd_epi32(__m512i(sum), __m512i(x), __m512i(z)));
}
#else
constexpr int code_group = 2;
inline Int multiply_add(Int sum, Int x, Int z) {
#if defined(MM_PORTABLE)  // also where a processor has none of these, and to test that
  return sum + ((x << 16) >> 16) * ((z << 16) >> 16) + (x >> 16) * (z >> 16);
#elif defined(__AVX512BW__)
  return sum + Int(_mm512_madd_epi16(__m512i(x), __m512i(z)));
#elif defined(__AVX2__)
  return sum + Int(_mm256_madd_epi16(__m256i(x), __m256i(z)));
#elif defined(__SSE2__)
  return sum + Int(_mm_madd_epi16(__m128i(x), __m128i(z)));
#else
  return sum + ((x << 16) >> 16) * ((z << 16) >> 16) + (x >> 16) * (z >> 16);
#endif
}
#endif

/// Part w of a vector of integers as numbers.
template <class T>
inline V<T> numbers(Int v, int w) {
  typedef std::int32_t Part __attribute__((vector_size(MM_VECTOR_BYTES * 4 / sizeof(T))));
  Part part;
  std::memcpy(&part, reinterpret_cast<const char*>(&v) + std::size_t(w) * sizeof part, sizeof part);
  return __builtin_convertvector(part, V<T>);
}

/// The kernel function of exact inner products: of the distance |x|^2 + |z|^2 - 2 <x, z>, or of the product itself.
template <class T>
inline void finish_codes(const mm::KernelSpec& k, double unit_squared, Int products, std::int32_t x_square,
                         Int z_square, T* out) {
  Int const distances = x_square + z_square - 2 * products;
  for (int w = 0; w < int(sizeof(T)) / 4; ++w) {
    V<T> const product = T(unit_squared) * numbers<T>(products, w);
    V<T> const distance = T(unit_squared) * numbers<T>(distances, w);
    store<T>(out + w * lanes<T>, shaped_of<T>(k, product, [&] { return distance; }));
  }
}

/// Rows of them, dense, against one panel.
template <class T, int Rows>
inline void code_tile(const mm::KernelSpec& k, const mm::CodeRows& x, index r, const mm::CodePanels& z, index p, T* out,
                      index stride) {
  const std::int32_t* panel = z.panels + p * x.groups * code_panel;
  const std::int32_t* values = x.values + r * x.groups;
  Int sum[Rows][2] = {};
  for (index g = 0; g < x.groups; ++g, panel += code_panel) {
    Int const z0 = load(panel), z1 = load(panel + int_lanes);
    for (int i = 0; i < Rows; ++i) {
      Int const value = broadcast<std::int32_t>(values[i * x.groups + g]);
      sum[i][0] = multiply_add(sum[i][0], value, z0);
      sum[i][1] = multiply_add(sum[i][1], value, z1);
    }
  }
  for (int i = 0; i < Rows; ++i)
    for (int w = 0; w < 2; ++w)
      finish_codes<T>(k, z.unit_squared, sum[i][w] + x.shifts[r + i], x.squares[r + i],
                      load(z.squares + p * code_panel + w * int_lanes), out + i * stride + w * int_lanes);
}

/// One row of few groups that are not zero, against one panel; two sums a vector, to hide the latency.
template <class T>
inline void sparse_code_tile(const mm::KernelSpec& k, const mm::CodeRows& x, index r, const mm::CodePanels& z, index p,
                             T* out) {
  const std::int32_t* panel = z.panels + p * x.groups * code_panel;
  Int sum[2][2] = {};
  auto add = [&](index e, int chain) {
    const std::int32_t* column = panel + index(x.indices[e]) * code_panel;
    Int const value = broadcast<std::int32_t>(x.values[e]);
    sum[chain][0] = multiply_add(sum[chain][0], value, load(column));
    sum[chain][1] = multiply_add(sum[chain][1], value, load(column + int_lanes));
  };
  index e = x.indptr[r];
  index const end = x.indptr[r + 1];
  for (; e + 2 <= end; e += 2) add(e, 0), add(e + 1, 1);
  if (e < end) add(e, 0);
  for (int w = 0; w < 2; ++w)
    finish_codes<T>(k, z.unit_squared, sum[0][w] + sum[1][w] + x.shifts[r], x.squares[r],
                    load(z.squares + p * code_panel + w * int_lanes), out + w * int_lanes);
}

template <class T>
void code_rows(const mm::KernelSpec& k, const mm::CodeRows& x, const mm::CodePanels& z, T* out, index stride) {
  for (index p = z.first; p < z.last; ++p) {
    T* const to = out + (p - z.first) * code_panel;
    for (index r = 0; r < x.count;) {
      if (x.indptr) {
        sparse_code_tile<T>(k, x, r, z, p, to + r * stride);
        r += 1;
      } else if (x.count - r >= tile_rows) {
        code_tile<T, tile_rows>(k, x, r, z, p, to + r * stride, stride);
        r += tile_rows;
      } else if (x.count - r >= 3) {
        code_tile<T, 3>(k, x, r, z, p, to + r * stride, stride);
        r += 3;
      } else {
        code_tile<T, 1>(k, x, r, z, p, to + r * stride, stride);
        r += 1;
      }
    }
  }
}

}  // namespace
