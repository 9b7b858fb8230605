// Arithmetic on single lanes, for tile bodies. In a row file `exp(x)` means these functions when x is a number (a tile body)
// and the op when x is a Tensor (a gradient; found by argument-dependent lookup).
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/chain.h"
#include "kernels/math.h"
#include "kernels/special.h"

namespace weft::inline v0::rows {

template <class T>
concept Lane = std::is_arithmetic_v<T>;
template <class T>
concept FloatLane = std::floating_point<T>;
template <class T>
concept IntLane = std::integral<T> && !std::same_as<T, bool>;

// Integer arithmetic wraps, at every width: it is done in an unsigned type wide enough not to be promoted to int.
template <class T>
using Wrapping = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<std::conditional_t<std::same_as<T, bool>, int, T>>>;

template <Lane T>
T lane_add(T a, T b) {
  if constexpr (std::floating_point<T>) return a + b;
  else return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
}
template <Lane T>
T lane_sub(T a, T b) {
  if constexpr (std::floating_point<T>) return a - b;
  else return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
}
template <Lane T>
T lane_mul(T a, T b) {
  if constexpr (std::floating_point<T>) return a * b;
  else return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
}
template <Lane T>
T lane_negative(T x) {
  if constexpr (std::floating_point<T>) return -x;
  else return lane_sub(T(0), x);
}

// Functions that do so little that memory sets their pace: in a Function they are links of a chain, and large results go past the caches.
struct Sum {
  static constexpr kernels::Link kLink = kernels::Link::kAdd;
  template <Lane T>
  T operator()(T a, T b) const { return lane_add(a, b); }
};
struct Difference {
  static constexpr kernels::Link kLink = kernels::Link::kSubtract;
  template <Lane T>
  T operator()(T a, T b) const { return lane_sub(a, b); }
};
struct Product {
  static constexpr kernels::Link kLink = kernels::Link::kMultiply;
  template <Lane T>
  T operator()(T a, T b) const { return lane_mul(a, b); }
};
struct Quotient {
  static constexpr kernels::Link kLink = kernels::Link::kDivide;
  template <Lane T>
  auto operator()(T a, T b) const {
    using R = std::conditional_t<std::floating_point<T>, T, std::conditional_t<(sizeof(T) < 4), float, double>>;
    return static_cast<R>(a) / static_cast<R>(b);
  }
};
struct Negated {
  static constexpr kernels::Link kLink = kernels::Link::kNegative;
  template <Lane T>
  T operator()(T x) const { return lane_negative(x); }
};
struct Squared {
  static constexpr kernels::Link kLink = kernels::Link::kSquare;
  template <Lane T>
  T operator()(T x) const { return lane_mul(x, x); }
};
struct Rectified {
  static constexpr kernels::Link kLink = kernels::Link::kRelu;
  template <Lane T>
  T operator()(T x) const { return x < T(0) ? T(0) : x; }
};

// A NaN on either side is the result.
template <Lane T>
T lane_max(T a, T b) {
  return a >= b || a != a ? a : b;
}
template <Lane T>
T lane_min(T a, T b) {
  return a <= b || a != a ? a : b;
}

// Division of integers toward zero and its remainder: min / -1 wraps. Rows refuse zero divisors before the lanes run; that b = 0
// gives 0 here only keeps the processor from trapping.
template <IntLane T>
T lane_truncatediv(T a, T b) {
  if (b == T(0)) return T(0);
  if constexpr (std::signed_integral<T>)
    if (b == T(-1)) return lane_negative(a);
  return static_cast<T>(a / b);
}
template <IntLane T>
T lane_truncatemod(T a, T b) {
  if (b == T(0)) return T(0);
  if constexpr (std::signed_integral<T>)
    if (b == T(-1)) return T(0);
  return static_cast<T>(a % b);
}
template <FloatLane T>
T lane_truncatediv(T a, T b) {
  return std::trunc(a / b);
}
template <FloatLane T>
T lane_truncatemod(T a, T b) {
  return std::fmod(a, b);
}

// Division toward minus infinity; the remainder has the sign of b.
template <Lane T>
T lane_floormod(T a, T b) {
  const T rest = lane_truncatemod(a, b);
  return rest != T(0) && (rest < T(0)) != (b < T(0)) ? lane_add(rest, b) : rest;
}
template <Lane T>
T lane_floordiv(T a, T b) {
  if constexpr (std::floating_point<T>) {
    return std::floor(a / b);
  } else {
    const T quotient = lane_truncatediv(a, b), rest = lane_truncatemod(a, b);
    return rest != T(0) && (rest < T(0)) != (b < T(0)) ? lane_sub(quotient, T(1)) : quotient;
  }
}

template <FloatLane T>
WEFT_LANE T lane_pow(T x, T y) {
  return kernels::lane::pow(x, y);
}
// REQUIRES: y >= 0, which rows check.
template <IntLane T>
T lane_pow(T x, T y) {
  T result = 1;
  for (; y > T(0); y = static_cast<T>(y / 2)) {
    if (y % 2 != 0) result = lane_mul(result, x);
    x = lane_mul(x, x);
  }
  return result;
}

// Inlined always: what is called lane by lane is not vector code.
template <FloatLane T> WEFT_LANE T exp(T x) { return kernels::lane::exp(x); }
template <FloatLane T> WEFT_LANE T expm1(T x) { return kernels::lane::expm1(x); }
template <FloatLane T> WEFT_LANE T log(T x) { return kernels::lane::log(x); }
template <FloatLane T> WEFT_LANE T log1p(T x) { return kernels::lane::log1p(x); }
template <FloatLane T> WEFT_LANE T sin(T x) { return kernels::lane::sin(x); }
template <FloatLane T> WEFT_LANE T cos(T x) { return kernels::lane::cos(x); }
template <FloatLane T> WEFT_LANE T tan(T x) { return kernels::lane::tan(x); }
template <FloatLane T> WEFT_LANE T asin(T x) { return kernels::lane::asin(x); }
template <FloatLane T> WEFT_LANE T acos(T x) { return kernels::lane::acos(x); }
template <FloatLane T> WEFT_LANE T atan(T x) { return kernels::lane::atan(x); }
template <FloatLane T> WEFT_LANE T atan2(T y, T x) { return kernels::lane::atan2(y, x); }
template <FloatLane T> WEFT_LANE T sinh(T x) { return kernels::lane::sinh(x); }
template <FloatLane T> WEFT_LANE T cosh(T x) { return kernels::lane::cosh(x); }
template <FloatLane T> WEFT_LANE T tanh(T x) { return kernels::lane::tanh(x); }
template <FloatLane T> WEFT_LANE T asinh(T x) { return kernels::lane::asinh(x); }
template <FloatLane T> WEFT_LANE T acosh(T x) { return kernels::lane::acosh(x); }
template <FloatLane T> WEFT_LANE T atanh(T x) { return kernels::lane::atanh(x); }
template <FloatLane T> WEFT_LANE T erf(T x) { return kernels::lane::erf(x); }
template <FloatLane T> WEFT_LANE T erfc(T x) { return kernels::lane::erfc(x); }
template <FloatLane T> WEFT_LANE T sigmoid(T x) { return kernels::lane::sigmoid(x); }
template <FloatLane T> WEFT_LANE T softplus(T x) { return kernels::lane::softplus(x); }
template <FloatLane T> T sqrt(T x) { return std::sqrt(x); }
template <FloatLane T> T erfinv(T x) { return static_cast<T>(kernels::inverse_erf(static_cast<double>(x))); }
template <FloatLane T> T lgamma(T x) { return static_cast<T>(kernels::log_gamma(static_cast<double>(x))); }
template <FloatLane T> T digamma(T x) { return static_cast<T>(kernels::digamma(static_cast<double>(x))); }
template <FloatLane T> T floor(T x) { return std::floor(x); }
template <FloatLane T> T ceil(T x) { return std::ceil(x); }

}  // namespace weft::inline v0::rows
