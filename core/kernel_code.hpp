// Kernel values by vectors: tiles of rows against packed panels, sparse rows against panels, rows gathered against
// sparse columns, each with the kernel function applied while the sums are in registers. Every entry is summed in the
// order of its coordinates, so single rows and blocks, and for inner products dense and sparse storage, give the same
// bits.
// Include from vector_code.cpp only.
#pragma once

#include "vec.hpp"
#include "vector_table.hpp"

namespace {

using mm::index;
using mm::KernelSpec;
using mm::Pairing;
using mm::Shape;

constexpr int vectors_a_panel = 2;
template <class T>
constexpr index panel_width = vectors_a_panel * lanes<T>;
constexpr int tile_rows = MM_VECTOR_BYTES == 64 ? 12 : 6;  // accumulators fill the registers

/// One coordinate's share, g(x, z).
template <Pairing P, class X>
inline X share(X sum, X x, X z) {
  if constexpr (P == Pairing::dot) {
    return sum + x * z;
  } else if constexpr (P == Pairing::absolute) {
    return sum + (x > z ? x - z : z - x);
  } else if constexpr (P == Pairing::minimum) {
    return sum + (x < z ? x : z);
  } else {
    X const total = x + z, difference = x - z;
    X const quotient = difference * difference / (total > X{} ? total : X{} + 1);
    return sum + quotient;
  }
}

/// g(x, z) - g(0, z): what a nonzero x changes in a sum that started from all of z.
template <Pairing P, class X>
inline X correction(X sum, X x, X z) {
  if constexpr (P == Pairing::dot || P == Pairing::minimum) {
    return share<P>(sum, x, z);
  } else if constexpr (P == Pairing::absolute) {
    return share<P>(sum, x, z) - (z > X{} ? z : -z);
  } else {
    return share<P>(sum, x, z) - z;
  }
}
template <Pairing P>
constexpr bool starts_from_norm = P == Pairing::absolute || P == Pairing::chi_squared;

template <class T>
inline V<T> tanh_of(V<T> x) {
  V<T> const e = exp_of<T>(x + x);
  return T(1) - T(2) / (e + T(1));
}

template <class T>
inline V<T> power(V<T> base, int exponent) {
  V<T> result = broadcast<T>(1);
  for (; exponent > 0; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}

/// The kernel function of the sums in one vector, or of the squared distances where it is one of these.
template <class T, class Distance>
inline V<T> shaped_of(const KernelSpec& k, V<T> sum, Distance squared_distance) {
  T const gamma = T(k.gamma), coef0 = T(k.coef0);
  switch (k.shape) {
    case Shape::identity:
      return sum;
    case Shape::polynomial:
      return power<T>(sum * gamma + coef0, k.degree);
    case Shape::tanh:
      return tanh_of<T>(sum * gamma + coef0);
    case Shape::exponential:
      return exp_of<T>(-gamma * larger<T>(sum, V<T>{}));
    case Shape::gaussian:
      return exp_of<T>(-gamma * squared_distance());
    case Shape::matern32: {
      V<T> const s = square_root<T>(T(3) * gamma * squared_distance());
      return (T(1) + s) * exp_of<T>(-s);
    }
    case Shape::matern52: {
      V<T> const s = square_root<T>(T(5) * gamma * squared_distance());
      return (T(1) + s + s * s / T(3)) * exp_of<T>(-s);
    }
  }
  return sum;
}

/// The same; x_norm and z_norm are used by the distance forms.
template <class T>
inline V<T> shaped(const KernelSpec& k, V<T> sum, T x_norm, V<T> z_norm) {
  return shaped_of<T>(k, sum, [&] { return larger<T>(x_norm + z_norm - (sum + sum), V<T>{}); });
}

template <class T>
inline void finish(const KernelSpec& k, V<T> sum, const T* x_norm, const T* z_norm, T* out) {
  V<T> z = z_norm ? load(z_norm) : V<T>{};
  store<T>(out, shaped<T>(k, sum, x_norm ? *x_norm : T(0), z));
}

/// Rows x (Rows of them, d apart) against Panels panels in a row.
template <class T, Pairing P, int Rows, int Panels>
inline void tile(const KernelSpec& k, const T* x, const T* x_norms, const T* panel, const T* z_norms, index d, T* out,
                 index stride) {
  constexpr int W = vectors_a_panel * Panels;
  V<T> sum[Rows][W] = {};
  for (index c = 0; c < d; ++c) {
    V<T> z[W];
    for (int w = 0; w < W; ++w)
      z[w] = load(panel + (w / vectors_a_panel) * d * panel_width<T> + c * panel_width<T> +
                  (w % vectors_a_panel) * lanes<T>);
    for (int r = 0; r < Rows; ++r) {
      V<T> const value = broadcast<T>(x[r * d + c]);
      for (int w = 0; w < W; ++w) sum[r][w] = share<P>(sum[r][w], value, z[w]);
    }
  }
  for (int r = 0; r < Rows; ++r)
    for (int w = 0; w < W; ++w)
      finish<T>(k, sum[r][w], x_norms ? x_norms + r : nullptr, z_norms ? z_norms + w * lanes<T> : nullptr,
                out + r * stride + w * lanes<T>);
}

/// One sparse row against Panels panels in a row.
template <class T, Pairing P, int Panels>
inline void sparse_tile(const KernelSpec& k, const std::int32_t* indices, const T* values, index nonzeros,
                        const T* x_norm, const T* panel, const T* z_norms, index d, T* out) {
  constexpr int W = vectors_a_panel * Panels;
  V<T> sum[W];
  for (int w = 0; w < W; ++w) sum[w] = starts_from_norm<P> ? load(z_norms + w * lanes<T>) : V<T>{};
  for (index e = 0; e < nonzeros; ++e) {
    V<T> const value = broadcast<T>(values[e]);
    const T* row = panel + index(indices[e]) * panel_width<T>;
    for (int w = 0; w < W; ++w) {
      // The few lines of a panel that a sparse row touches are far apart: ask for the next panels' while these are
      // summed.
      __builtin_prefetch(row + (w / vectors_a_panel + Panels) * d * panel_width<T> + (w % vectors_a_panel) * lanes<T>);
      V<T> const z = load(row + (w / vectors_a_panel) * d * panel_width<T> + (w % vectors_a_panel) * lanes<T>);
      sum[w] = correction<P>(sum[w], value, z);
    }
  }
  for (int w = 0; w < W; ++w)
    finish<T>(k, sum[w], x_norm, z_norms ? z_norms + w * lanes<T> : nullptr, out + w * lanes<T>);
}

template <class T, Pairing P>
void panel_rows_of(const KernelSpec& k, const mm::RowOperand<T>& x, const mm::PanelOperand<T>& z, T* out,
                   index stride) {
  index const d = z.dimension, width = panel_width<T>;
  auto norm = [&](index r) { return x.norms ? x.norms + r : nullptr; };
  constexpr index run = 4;  // panels that a single row visits together: enough chains to hide the latency
  for (index p = z.first; p < z.last;) {
    index const together = z.last - p >= run ? run : 1;
    for (index r = 0; r < x.count;) {
      const T* x_row = x.values + r * d;
      auto at = [&](index q) {
        struct {
          const T *panel, *norms;
          T* out;
        } place{z.panels + q * d * width, z.norms ? z.norms + q * width : nullptr,
                out + r * stride + (q - z.first) * width};
        return place;
      };
      index rows = 1;
      if (x.indptr) {
        index const begin = x.indptr[r], nonzeros = x.indptr[r + 1] - begin;
        auto const place = at(p);
        if (together == run)
          sparse_tile<T, P, run>(k, x.indices + begin, x.values + begin, nonzeros, norm(r), place.panel, place.norms, d,
                                 place.out);
        else
          sparse_tile<T, P, 1>(k, x.indices + begin, x.values + begin, nonzeros, norm(r), place.panel, place.norms, d,
                               place.out);
      } else if (x.count - r >= tile_rows) {
        rows = tile_rows;
        for (index q = p; q < p + together; ++q) {
          auto const place = at(q);
          tile<T, P, tile_rows, 1>(k, x_row, norm(r), place.panel, place.norms, d, place.out, stride);
        }
      } else if (x.count - r >= 3) {
        rows = 3;
        for (index q = p; q < p + together; ++q) {
          auto const place = at(q);
          tile<T, P, 3, 1>(k, x_row, norm(r), place.panel, place.norms, d, place.out, stride);
        }
      } else {
        auto const place = at(p);
        if (together == run)
          tile<T, P, 1, (MM_VECTOR_BYTES == 64 ? 4 : 2)>(k, x_row, norm(r), place.panel, place.norms, d, place.out,
                                                         stride);
        else
          tile<T, P, 1, 1>(k, x_row, norm(r), place.panel, place.norms, d, place.out, stride);
        if (together == run && MM_VECTOR_BYTES != 64) {
          auto const rest = at(p + 2);
          tile<T, P, 1, 2>(k, x_row, norm(r), rest.panel, rest.norms, d, rest.out, stride);
        }
      }
      r += rows;
    }
    p += together;
  }
}

template <class T>
void panel_rows(const KernelSpec& k, const mm::RowOperand<T>& x, const mm::PanelOperand<T>& z, T* out, index stride) {
  switch (k.pairing) {
    case Pairing::dot:
      return panel_rows_of<T, Pairing::dot>(k, x, z, out, stride);
    case Pairing::absolute:
      return panel_rows_of<T, Pairing::absolute>(k, x, z, out, stride);
    case Pairing::chi_squared:
      return panel_rows_of<T, Pairing::chi_squared>(k, x, z, out, stride);
    case Pairing::minimum:
      return panel_rows_of<T, Pairing::minimum>(k, x, z, out, stride);
  }
}

/// x y + sum as the vectors round it: a compiler may split a scalar loop where it fuses the tiles.
template <class T>
inline T rounded_once(T x, T y, T sum) {
#if defined(__FMA__) || defined(__aarch64__)
  if constexpr (sizeof(T) == 4)
    return __builtin_fmaf(x, y, sum);
  else
    return __builtin_fma(x, y, sum);
#else
  return sum + x * y;
#endif
}

/// One row, spread over the scratch, against one sparse column after another.
template <class T, Pairing P>
void gather_row_of(const KernelSpec& k, const mm::RowOperand<T>& x, index r, const mm::GatherOperand<T>& z, T* scratch,
                   T* out) {
  constexpr int L = lanes<T>;
  index const begin = x.indptr ? x.indptr[r] : 0, end = x.indptr ? x.indptr[r + 1] : z.dimension;
  auto spread = [&](bool clear) {
    for (index e = begin; e < end; ++e)
      scratch[x.indptr ? index(x.indices[e]) : e] = clear ? T(0) : x.values[x.indptr ? e : r * z.dimension + e];
  };
  spread(false);
  T const x_norm = x.norms ? x.norms[r] : T(0);
  for (index j = z.first; j < z.last; j += L) {
    int const columns = int(z.last - j < L ? z.last - j : L);
    T sums[L] = {}, norms[L] = {}, values[L];
    for (int l = 0; l < columns; ++l) {
      index const column = z.order[j + l];
      T sum = starts_from_norm<P> ? x_norm : T(0);
      for (index e = z.indptr[column]; e < z.indptr[column + 1]; ++e) {
        T const value = scratch[z.indices[e]];
        if constexpr (P == Pairing::dot)
          sum = rounded_once(z.values[e], value, sum);
        else
          sum = correction<P>(sum, z.values[e], value);
      }
      sums[l] = sum;
      if (z.norms) norms[l] = z.norms[j + l];
    }
    store<T>(values, shaped<T>(k, load(sums), x_norm, load(norms)));
    for (int l = 0; l < columns; ++l) out[j + l - z.first] = values[l];
  }
  spread(true);
}

/// lanes<T> rows at once, spread over the scratch coordinate by coordinate, against one sparse column after another.
template <class T, Pairing P>
void gather_rows_of(const KernelSpec& k, const mm::RowOperand<T>& x, const mm::GatherOperand<T>& z, T* scratch, T* out,
                    index stride) {
  constexpr int L = lanes<T>;
  if (x.count == 1) return gather_row_of<T, P>(k, x, 0, z, scratch, out);
  for (index r0 = 0; r0 < x.count; r0 += L) {
    int const rows = int(x.count - r0 < L ? x.count - r0 : L);
    auto spread = [&](bool clear) {
      for (int r = 0; r < rows; ++r) {
        if (x.indptr)
          for (index e = x.indptr[r0 + r]; e < x.indptr[r0 + r + 1]; ++e)
            scratch[index(x.indices[e]) * L + r] = clear ? T(0) : x.values[e];
        else
          for (index c = 0; c < z.dimension; ++c)
            scratch[c * L + r] = clear ? T(0) : x.values[(r0 + r) * z.dimension + c];
      }
    };
    spread(false);
    T norms[L] = {};
    if (x.norms)
      for (int r = 0; r < rows; ++r) norms[r] = x.norms[r0 + r];
    V<T> const x_norm = load(norms);
    for (index j = z.first; j < z.last; ++j) {
      index const column = z.order[j];
      V<T> sum = starts_from_norm<P> ? x_norm : V<T>{};
      for (index e = z.indptr[column]; e < z.indptr[column + 1]; ++e)
        sum = correction<P>(sum, broadcast<T>(z.values[e]), load(scratch + index(z.indices[e]) * L));
      T values[L];
      store<T>(values, shaped<T>(k, sum, z.norms ? z.norms[j] : T(0), x_norm));
      for (int r = 0; r < rows; ++r) out[(r0 + r) * stride + j - z.first] = values[r];
    }
    spread(true);
  }
}

template <class T>
void gather_rows(const KernelSpec& k, const mm::RowOperand<T>& x, const mm::GatherOperand<T>& z, T* scratch, T* out,
                 index stride) {
  switch (k.pairing) {
    case Pairing::dot:
      return gather_rows_of<T, Pairing::dot>(k, x, z, scratch, out, stride);
    case Pairing::absolute:
      return gather_rows_of<T, Pairing::absolute>(k, x, z, scratch, out, stride);
    case Pairing::chi_squared:
      return gather_rows_of<T, Pairing::chi_squared>(k, x, z, scratch, out, stride);
    case Pairing::minimum:
      return gather_rows_of<T, Pairing::minimum>(k, x, z, scratch, out, stride);
  }
}

template <class T>
void finish_rows(const KernelSpec& k, index count, const T* row_norms, const T* column_norms, index columns, T* out,
                 index stride) {
  for (index r = 0; r < count; ++r)
    for (index j = 0; j < columns; j += lanes<T>)
      finish<T>(k, load(out + r * stride + j), row_norms + r, column_norms + j, out + r * stride + j);
}

/// Sums of squares, or of absolute values; one loop for each, so that compilers fuse it as they fuse the tiles.
template <class T, Pairing P>
void panel_norms_of(const T* panels, index d, index n_panels, T* norms) {
  for (index v = 0; v < n_panels * vectors_a_panel; ++v) {
    const T* z = panels + (v / vectors_a_panel) * d * panel_width<T> + (v % vectors_a_panel) * lanes<T>;
    V<T> sum = {};
    for (index c = 0; c < d; ++c) {
      V<T> const value = load(z + c * panel_width<T>);
      sum = share<P>(sum, value, P == Pairing::dot ? value : V<T>{});
    }
    store<T>(norms + v * lanes<T>, sum);
  }
}

template <class T>
void panel_norms(bool squared, const T* panels, index d, index n_panels, T* norms) {
  return squared ? panel_norms_of<T, Pairing::dot>(panels, d, n_panels, norms)
                 : panel_norms_of<T, Pairing::absolute>(panels, d, n_panels, norms);
}

template <class T>
void row_norms(bool squared, const mm::RowOperand<T>& x, index d, T* norms) {
  for (index r = 0; r < x.count; ++r) {
    index const begin = x.indptr ? x.indptr[r] : r * d, end = x.indptr ? x.indptr[r + 1] : (r + 1) * d;
    T sum = 0;
    for (index e = begin; e < end; ++e) {
      T const value = x.values[e];
      sum = squared ? rounded_once(value, value, sum) : share<Pairing::absolute>(sum, value, T(0));
    }
    norms[r] = sum;
  }
}

template <class T>
void diagonal(const KernelSpec& k, const T* norms, index count, T* out) {
  // The sum of x with itself: its squared norm, its 1-norm (minimum), or no distance at all.
  bool const at_zero = k.pairing == Pairing::absolute || k.pairing == Pairing::chi_squared;
  for (index i = 0; i < count; ++i) {
    T const sum = at_zero ? T(0) : norms[i];
    out[i] = shaped<T>(k, broadcast<T>(sum), norms[i], broadcast<T>(norms[i]))[0];
  }
}

}  // namespace
