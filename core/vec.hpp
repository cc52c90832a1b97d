// Vectors of the width of the instruction set that a file is compiled for, by the compilers' vector extensions:
// one source for g++ and clang++, for x86-64 and for aarch64. Include from vector_code.cpp only.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#if defined(__AVX512F__)
#define MM_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define MM_VECTOR_BYTES 32
#else
#define MM_VECTOR_BYTES 16
#endif

namespace {

template <class T, int Bytes = MM_VECTOR_BYTES>
struct vector_of {
  typedef T type __attribute__((vector_size(Bytes)));
};
template <class T>
using V = typename vector_of<T>::type;
template <class T>
constexpr int lanes = MM_VECTOR_BYTES / int(sizeof(T));

template <class T>
struct integer_of;
template <>
struct integer_of<float> {
  using type = std::int32_t;
};
template <>
struct integer_of<double> {
  using type = std::int64_t;
};
template <class T>
using VI = V<typename integer_of<T>::type>;

template <class T>
inline V<T> load(const T* p) {
  V<T> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
inline void store(T* p, V<T> v) {
  std::memcpy(p, &v, sizeof v);
}
template <class T>
inline V<T> broadcast(T x) {
  return x - V<T>{};  // x - 0 is x, also for x = -0
}
/// Of NaN and a number, NaN where it is a.
template <class T>
inline V<T> smaller(V<T> a, V<T> b) {
  return b < a ? b : a;
}
template <class T>
inline V<T> larger(V<T> a, V<T> b) {
  return b > a ? b : a;
}

/// lanes<double> consecutive kernel values as doubles.
inline V<double> load_double(const double* p) { return load(p); }
inline V<double> load_double(const float* p) {
  using Half = typename vector_of<float, MM_VECTOR_BYTES / 2>::type;
  Half h;
  std::memcpy(&h, p, sizeof h);
  return __builtin_convertvector(h, V<double>);
}

template <class T>
struct exp_constants;
template <>
struct exp_constants<float> {
  static constexpr float magic = 12582912.0f, log2e = 1.44269504f;
  static constexpr float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
  static constexpr float lowest = -87.0f, highest = 88.0f;
  static constexpr int shift = 23, degree = 7;
};
template <>
struct exp_constants<double> {
  static constexpr double magic = 6755399441055744.0, log2e = 1.4426950408889634;
  static constexpr double ln2_high = 6.93145751953125e-1, ln2_low = 1.42860682030941723212e-6;
  static constexpr double lowest = -708.0, highest = 709.0;
  static constexpr int shift = 52, degree = 13;
};

template <class T, int Degree>
struct Taylor {
  T coefficient[Degree + 1];
};
template <class T, int Degree>
constexpr Taylor<T, Degree> taylor_of_exp() {
  Taylor<T, Degree> t{};
  double factorial = 1;
  for (int i = 0; i <= Degree; ++i) {
    if (i > 0) factorial *= i;
    t.coefficient[i] = T(1 / factorial);
  }
  return t;
}

/// exp(x): x = k ln 2 + r, the Taylor sum of exp(r) on |r| <= ln(2)/2, and k added to the exponent's bits.
/// Exactly 0 below the range of normal numbers; NaN of NaN.
template <class T>
inline V<T> exp_of(V<T> x) {
  using C = exp_constants<T>;
  V<T> const lowest = broadcast<T>(C::lowest), highest = broadcast<T>(C::highest);
  V<T> const y = smaller<T>(larger<T>(x, lowest), highest);
  V<T> const rounded = y * C::log2e + C::magic;
  V<T> const k = rounded - C::magic;
  V<T> const r = (y - k * C::ln2_high) - k * C::ln2_low;
  constexpr auto taylor = taylor_of_exp<T, C::degree>();
  V<T> p = broadcast<T>(taylor.coefficient[C::degree]);
  for (int i = C::degree - 1; i >= 0; --i) p = p * r + taylor.coefficient[i];
  VI<T> bits, exponent;
  std::memcpy(&bits, &p, sizeof bits);
  std::memcpy(&exponent, &rounded, sizeof exponent);
  bits += exponent << C::shift;
  std::memcpy(&p, &bits, sizeof p);
  return x < lowest ? V<T>{} : x == x ? p : x;
}

template <class T>
inline V<T> square_root(V<T> x) {
  for (int i = 0; i < lanes<T>; ++i) {
    if constexpr (sizeof(T) == 4)
      x[i] = __builtin_sqrtf(x[i]);
    else
      x[i] = __builtin_sqrt(x[i]);
  }
  return x;
}

}  // namespace
