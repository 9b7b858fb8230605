// What the lane functions of math.h are made of: the bits of numbers, and polynomials.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#define WEFT_LANE [[gnu::always_inline]] static inline

namespace weft::inline v0::kernels::lane {

/// A float whose multiply_add is rounded once. For loops that are compiled where this is one instruction; elsewhere it is a call of the C
/// library. Functions that are templates take it in place of float: what they write as multiply_add is rounded once or twice, all else is
/// alike.
struct Fused {
  float number;

  Fused() = default;
  constexpr Fused(float x) : number(x) {}
  template <class N>
    requires(std::is_arithmetic_v<N> && !std::is_same_v<N, float>)
  constexpr explicit Fused(N x) : number(static_cast<float>(x)) {}
};
#define WEFT_FUSED_OPERATOR(Result, op) \
  WEFT_LANE Result operator op(Fused a, Fused b) { return a.number op b.number; }
WEFT_FUSED_OPERATOR(Fused, +)
WEFT_FUSED_OPERATOR(Fused, -)
WEFT_FUSED_OPERATOR(Fused, *)
WEFT_FUSED_OPERATOR(Fused, /)
WEFT_FUSED_OPERATOR(bool, <)
WEFT_FUSED_OPERATOR(bool, >)
WEFT_FUSED_OPERATOR(bool, <=)
WEFT_FUSED_OPERATOR(bool, >=)
WEFT_FUSED_OPERATOR(bool, ==)
#undef WEFT_FUSED_OPERATOR
WEFT_LANE Fused operator-(Fused a) { return -a.number; }

template <class T>
inline constexpr bool kFuses = std::is_same_v<T, Fused>;
/// The type whose format and digits T has.
template <class T>
using Number = std::conditional_t<kFuses<T>, float, T>;
/// An argument of this type takes a constant of any type that converts, and T is deduced from the others.
template <class T>
using Constant = std::type_identity_t<T>;

/// a * b + c
template <class T>
WEFT_LANE T multiply_add(T a, Constant<T> b, Constant<T> c) {
  if constexpr (kFuses<T>) return __builtin_fmaf(a.number, b.number, c.number);
  else return a * b + c;
}
/// yes ? a : b, by value: g++ would choose between the places of two Fused, which is no vector code.
template <class T>
WEFT_LANE T choose(bool yes, T a, Constant<T> b) {
  if constexpr (kFuses<T>) return yes ? a.number : b.number;
  else return yes ? a : b;
}

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
struct Format;
template <>
struct Format<float> {
  static constexpr int mantissa = 23;
  static constexpr std::uint32_t bias = 127, sign = 0x80000000u;
  static constexpr float round = 0x1.8p23f;  // added and subtracted, it leaves the nearest whole number
  static constexpr float exp_min = -104, exp_max = 89;  // beyond, exp is 0 or inf
  static constexpr float exp_plain = 87;                // up to this size of x, exp is normal
  static constexpr float inv_ln2 = 0x1.715476p+0f, ln2_hi = 0x1.63p-1f, ln2_lo = -0x1.bd0106p-13f;
};
template <>
struct Format<double> {
  static constexpr int mantissa = 52;
  static constexpr std::uint64_t bias = 1023, sign = 0x8000000000000000u;
  static constexpr double round = 0x1.8p52;
  static constexpr double exp_min = -746, exp_max = 710, exp_plain = 708;
  static constexpr double inv_ln2 = 0x1.71547652b82fep+0, ln2_hi = 0x1.62e42fefap-1, ln2_lo = 0x1.cf79abc9e3b3ap-40;
};

template <>
struct Format<Fused> : Format<float> {};

template <class T>
inline constexpr T kInfinity = std::numeric_limits<Number<T>>::infinity();
template <class T>
inline constexpr T kNotANumber = std::numeric_limits<Number<T>>::quiet_NaN();

template <class T>
WEFT_LANE Bits<T> bits_of(T x) {
  return __builtin_bit_cast(Bits<T>, x);
}
template <class T>
WEFT_LANE T of_bits(Bits<T> b) {
  return __builtin_bit_cast(T, b);
}
template <class T>
WEFT_LANE T size_of(T x) {
  return of_bits<T>(bits_of(x) & ~Format<T>::sign);
}
/// |x|, or the limit if that is less; NaN stays. (Of a selection g++ would make two copies of what follows, one for the limit.)
template <class T>
WEFT_LANE T size_up_to(T x, Constant<T> limit) {
  const T size = size_of(x);
  const Bits<T> beyond = Bits<T>(0) - Bits<T>(size > limit);
  return of_bits<T>((bits_of(size) & ~beyond) | (bits_of(limit) & beyond));
}
/// x with the sign of s. REQUIRES: x >= 0.
template <class T>
WEFT_LANE T with_sign_of(T x, T s) {
  return of_bits<T>(bits_of(x) | (bits_of(s) & Format<T>::sign));
}
/// 2 to the power e - bias. REQUIRES: e is a valid biased exponent, else the result is some number.
template <class T>
WEFT_LANE T power_of_two(Bits<T> e) {
  return of_bits<T>(e << Format<T>::mantissa);
}
/// e - less. REQUIRES: e < 2^20, less is whole and below 2^20.
template <class T>
WEFT_LANE T number_of(Bits<T> e, T less) {
  return of_bits<T>(bits_of(Format<T>::round) + e) - (Format<T>::round + less);
}

/// c0 + c1 x + c2 x^2 + ..., in pairs of pairs: the chain of dependent steps is what limits a loop over lanes.
template <class T>
WEFT_LANE T poly(T, Constant<T> c0) {
  return c0;
}
template <class T>
WEFT_LANE T poly(T x, Constant<T> c0, Constant<T> c1) {
  return multiply_add<T>(c1, x, c0);
}
template <class T>
WEFT_LANE T poly(T x, Constant<T> c0, Constant<T> c1, Constant<T> c2) {
  return multiply_add(x, multiply_add<T>(c2, x, c1), c0);
}
template <class T>
WEFT_LANE T poly(T x, Constant<T> c0, Constant<T> c1, Constant<T> c2, Constant<T> c3) {
  return multiply_add(x * x, multiply_add<T>(c3, x, c2), multiply_add<T>(c1, x, c0));
}
template <class T>
WEFT_LANE T poly(T x, Constant<T> c0, Constant<T> c1, Constant<T> c2, Constant<T> c3, Constant<T> c4) {
  const T square = x * x;
  return multiply_add(square, multiply_add<T>(square, c4, multiply_add<T>(c3, x, c2)), multiply_add<T>(c1, x, c0));
}
template <class T, class... More>
  requires(sizeof...(More) > 0)
WEFT_LANE T poly(T x, Constant<T> c0, Constant<T> c1, Constant<T> c2, Constant<T> c3, Constant<T> c4, More... more) {
  const T square = x * x;
  return multiply_add(square * square, poly(x, c4, more...), multiply_add(square, multiply_add<T>(c3, x, c2), multiply_add<T>(c1, x, c0)));
}

/// The same with the fewest steps, for what need not be ready early.
template <class T>
WEFT_LANE T horner(T, Constant<T> c0) {
  return c0;
}
template <class T, class... More>
WEFT_LANE T horner(T x, Constant<T> c0, Constant<T> c1, More... more) {
  return multiply_add<T>(x, horner(x, c1, more...), c0);
}

}  // namespace weft::inline v0::kernels::lane
