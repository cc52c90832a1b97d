// The sweeps of the pair solver over the active variables, by vectors. Ties go to the lowest position, whatever the
// width of the vectors. Include from vector_code.cpp only.
#pragma once

#include "vec.hpp"
#include "vector_table.hpp"

namespace {

using mm::Extreme;
using mm::Extremes;
using mm::FixedMember;
using mm::PairArrays;

constexpr int L = lanes<double>;
using D = V<double>;
using M = VI<double>;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double smallest_curvature = 1e-12;  // tau of ALG5

inline D positions(index j) {
  D v;
  for (int l = 0; l < L; ++l) v[l] = double(j + l);
  return v;
}

/// The largest value seen in each lane, and where it was first seen.
struct Best {
  D value = broadcast<double>(-infinity);
  D where = broadcast<double>(-1);

  void see(D candidate, D position) {
    M const better = candidate > value;
    value = better ? candidate : value;
    where = better ? position : where;
  }

  Extreme extreme() const {
    Extreme e{-infinity, -1};
    for (int l = 0; l < L; ++l) {
      index const at = index(where[l]);
      if (at < 0) continue;
      if (value[l] > e.value || (value[l] == e.value && at < e.where)) e = {value[l], at};
    }
    return e;
  }
};

/// Loads of up to L values; lanes beyond the end read `otherwise`.
struct Tail {
  index left;
  D operator()(const double* p, double otherwise) const {
    D v = broadcast<double>(otherwise);
    for (index l = 0; l < left; ++l) v[l] = p[l];
    return v;
  }
  D operator()(const float* p, double otherwise) const {
    D v = broadcast<double>(otherwise);
    for (index l = 0; l < left; ++l) v[l] = double(p[l]);
    return v;
  }
  void write(double* p, D v) const {
    for (index l = 0; l < left; ++l) p[l] = v[l];
  }
};
struct Whole {
  D operator()(const double* p, double) const { return load(p); }
  D operator()(const float* p, double) const { return load_double(p); }
  void write(double* p, D v) const { store<double>(p, v); }
};

/// body(j, reader) for every vector of the active variables.
template <class Body>
inline void sweep(index count, Body&& body) {
  index j = 0;
  for (; j + L <= count; j += L) body(j, Whole{});
  if (j < count) body(j, Tail{count - j});
}

/// Directional derivatives of the variables at j; those of other groups cannot move.
template <class Reader>
inline void directions(const PairArrays& a, index j, const Reader& read, D grad, D& up, D& down) {
  up = grad + read(a.up + j, infinity);
  down = grad + read(a.down + j, -infinity);
  if (a.group) {
    M const other = read(a.group + j, -1.0) != a.wanted_group;
    up = other ? broadcast<double>(infinity) : up;
    down = other ? broadcast<double>(-infinity) : down;
  }
}

template <class T, bool Extreme_>
Extremes update_of(PairArrays& a, double step_i, const T* row_i, double step_j, const T* row_j) {
  Best highest_down, lowest_up;  // lowest_up holds -up
  D position = positions(0);
  sweep(a.count, [&](index j, auto read) {
    D grad = read(a.grad + j, 0.0);
    if (row_i) grad += step_i * read(row_i + j, 0.0);
    if (row_j) grad += step_j * read(row_j + j, 0.0);
    if (row_i || row_j) read.write(a.grad + j, grad);
    if constexpr (Extreme_) {
      D up, down;
      directions(a, j, read, grad, up, down);
      lowest_up.see(-up, position);
      highest_down.see(down, position);
      position += double(L);
    }
  });
  Extremes e{lowest_up.extreme(), highest_down.extreme()};
  e.lowest_up.value = -e.lowest_up.value;
  return e;
}

template <class T>
void update(PairArrays& a, double step_i, const T* row_i, double step_j, const T* row_j) {
  update_of<T, false>(a, step_i, row_i, step_j, row_j);
}
template <class T>
Extremes update_extremes(PairArrays& a, double step_i, const T* row_i, double step_j, const T* row_j) {
  return update_of<T, true>(a, step_i, row_i, step_j, row_j);
}

template <class T>
Extreme second_order(const PairArrays& a, const FixedMember& i, const T* row) {
  Best best;
  D position = positions(0);
  sweep(a.count, [&](index j, auto read) {
    D up, down;
    directions(a, j, read, read(a.grad + j, 0.0), up, down);
    D const slope = down - i.grad_up;
    D const kernel = read(row + j, 0.0);
    D const curvature = larger<double>(i.curvature + read(a.curvature + j, 1.0) - (kernel + kernel),
                                       broadcast<double>(smallest_curvature));
    D const gain = slope * slope / curvature;
    best.see(slope > 0.0 ? gain : broadcast<double>(-infinity), position);
    position += double(L);
  });
  return best.extreme();
}

/// The gain of the best feasible step t along a pair with slope c, curvature a and kinks at s1, s2 (none: +inf).
inline D exact_gain(D c, D a, D room, D s1, D jump1, D s2, D jump2) {
  D const first = smaller<double>(s1, s2), last = larger<double>(s1, s2);
  D const jump_first = s1 <= s2 ? jump1 : jump2;
  D t = c / a;
  t = t > first ? larger<double>(first, (c - jump_first) / a) : t;
  t = t > last ? larger<double>(last, (c - jump1 - jump2) / a) : t;
  t = smaller<double>(t, room);
  D gain = t * (c - 0.5 * a * t);
  gain -= t > s1 ? jump1 * (t - s1) : D{};
  gain -= t > s2 ? jump2 * (t - s2) : D{};
  return gain;
}

template <class T>
Extreme maximum_gain(const PairArrays& a, const FixedMember& i, const T* row) {
  Best best;
  D position = positions(0);
  D const none = broadcast<double>(infinity);
  D const rise_kink = broadcast<double>(i.beta < 0 ? -i.beta : infinity);
  D const fall_kink = broadcast<double>(i.beta > 0 ? i.beta : infinity);
  D const jump_i = broadcast<double>(2 * i.kink);
  sweep(a.count, [&](index j, auto read) {
    D up, down;
    directions(a, j, read, read(a.grad + j, 0.0), up, down);
    D const kernel = read(row + j, 0.0);
    D const curvature = larger<double>(i.curvature + read(a.curvature + j, 1.0) - (kernel + kernel),
                                       broadcast<double>(smallest_curvature));
    // At most one of the two directions descends: up_i >= down_i and up_j >= down_j.
    D const rise = down - i.grad_up, fall = i.grad_down - up;
    M const rises = rise > 0.0;
    D const slope = rises ? rise : fall;
    D const room = rises ? smaller<double>(read(a.room_down + j, 0.0), broadcast<double>(i.room_up))
                         : smaller<double>(read(a.room_up + j, 0.0), broadcast<double>(i.room_down));
    D gain;
    if (a.kink) {
      D const beta = read(a.beta + j, 0.0), kink = read(a.kink + j, 0.0);
      D const to_zero = rises ? (beta > 0.0 ? beta : none) : (beta < 0.0 ? -beta : none);
      gain = exact_gain(slope, curvature, room, rises ? rise_kink : fall_kink, jump_i, to_zero, kink + kink);
    } else {
      D const t = smaller<double>(slope / curvature, room);
      gain = t * (slope - 0.5 * curvature * t);
    }
    best.see(slope > 0.0 && position != double(i.where) ? gain : broadcast<double>(-infinity), position);
    position += double(L);
  });
  return best.extreme();
}

/// Without sums: how steeply each variable descends, in the better direction; not positive: at its optimum.
inline D box_slope(D up, D down) { return larger<double>(down, -up); }

Extremes box_single(const PairArrays& a, bool by_gain) {
  Best best, violation;
  D position = positions(0);
  sweep(a.count, [&](index j, auto read) {
    D up, down;
    directions(a, j, read, read(a.grad + j, 0.0), up, down);
    D const slope = box_slope(up, down);
    D const curvature = larger<double>(read(a.curvature + j, 1.0), broadcast<double>(smallest_curvature));
    violation.see(slope, position);
    D const gain = by_gain ? slope * slope / curvature : slope;
    best.see(slope > 0.0 ? gain : broadcast<double>(-infinity), position);
    position += double(L);
  });
  return {best.extreme(), violation.extreme()};
}

template <class T>
Extreme box_pair(const PairArrays& a, const FixedMember& i, const T* row) {
  Best best;
  D position = positions(0);
  double const slope_i = i.grad_down > 0 ? i.grad_down : (i.grad_up < 0 ? i.grad_up : 0.0);  // signed
  sweep(a.count, [&](index j, auto read) {
    D up, down;
    directions(a, j, read, read(a.grad + j, 0.0), up, down);
    D const slope = down > 0.0 ? down : (up < 0.0 ? up : D{});
    D const kernel = read(row + j, 0.0), a_j = read(a.curvature + j, 1.0);
    D const product = i.curvature * a_j;
    D const determinant = larger<double>(product - kernel * kernel, mm::least_determinant * product);
    D const twice_gain =
        (slope_i * slope_i * a_j - 2.0 * slope_i * slope * kernel + slope * slope * i.curvature) / determinant;
    M const useful = (slope != 0.0) & (product > 0.0) & (position != double(i.where));
    best.see(useful ? 0.5 * twice_gain : broadcast<double>(-infinity), position);
    position += double(L);
  });
  return best.extreme();
}

template <class T>
constexpr mm::PairTable<T> pair_functions() {
  return {update<T>, update_extremes<T>, second_order<T>, maximum_gain<T>, box_single, box_pair<T>};
}

}  // namespace
