// Logarithms, see math.h.
#pragma once

#include "kernels/math_exp.h"

namespace weft::inline v0::kernels::lane {

/// log(1 + f) - f + half, where half = f^2 / 2 and 1 + f is in [sqrt(1/2), sqrt(2)]
WEFT_LANE double log_tail(double f, double half) {
  const double s = f / (2.0 + f), z = s * s;  // log(1 + f) = 2 atanh(s), and 2 s = f - s f
  return s * (half + z * poly(z, 0.66666666666667096, 0.3999999999954198, 0.28571428718706537, 0.22222200696036956, 0.18183465277915342,
                              0.15316368357192819, 0.14774451474465083));
}

/// n ln 2 + log(1 + f + f_error)
template <class T>
WEFT_LANE T log_of_parts(T n, T f, T f_error) {
  using F = Format<T>;
  if constexpr (sizeof(T) == 4) {
    const T cubic =
        poly(f, 0.333333313f, -0.250008225f, 0.200012594f, -0.16623345f, 0.142010733f, -0.131595477f, 0.127656832f, -0.0764109716f);
    return multiply_add(n, F::ln2_hi, f + multiply_add(f * f, multiply_add(f, cubic, -0.5f), multiply_add(n, F::ln2_lo, f_error)));
  } else {
    const T whole = n * F::ln2_hi, sum = whole + f, sum_error = f - (sum - whole);
    const T half = T(0.5) * f * f;
    return sum + (sum_error + ((f_error + n * F::ln2_lo) - (half - log_tail(f, half))));
  }
}

/// The bits of x = 2^n (1 + f) taken apart; e is n + bias, 1 + f is in [sqrt(1/2), sqrt(2)).
template <class T>
struct Parts {
  Bits<T> e;
  T one_plus_f;
};
template <class T>
WEFT_LANE Parts<T> parts_of(T x) {
  using F = Format<T>;
  const Bits<T> lowest = __builtin_bit_cast(Bits<T>, static_cast<Number<T>>(0.70710678118654752440)), one = F::bias << F::mantissa;
  const Bits<T> shifted = bits_of(x) + (one - lowest);
  return {shifted >> F::mantissa, of_bits<T>((shifted & ((Bits<T>(1) << F::mantissa) - 1)) + lowest)};
}

template <class T>
WEFT_LANE T log(T x) {
  using F = Format<T>;
  constexpr auto up = static_cast<Number<T>>(Bits<T>(1) << F::mantissa);
  // Selections by one condition stand together: g++ doubles what lies between them.
  const bool denormal = x < std::numeric_limits<Number<T>>::min();
  const T scale = choose(denormal, T(up), T(1)), bias = choose(denormal, T(F::bias + F::mantissa), T(F::bias));
  const Parts<T> a = parts_of(x * scale);
  T y = log_of_parts(number_of<T>(a.e, bias), a.one_plus_f - T(1), T(0));
  y = choose(x < kInfinity<T>, y, x);
  return choose(x > T(0), y, choose(x == T(0), -kInfinity<T>, kNotANumber<T>));
}

/// log(x) of a normal number above 0, which is where is_extreme_for_log(x) does not have its highest bit.
template <class T>
WEFT_LANE T log_plain(T x) {
  const Parts<T> a = parts_of(x);
  return log_of_parts(number_of<T>(a.e, T(Format<T>::bias)), a.one_plus_f - T(1), T(0));
}
template <class T>
WEFT_LANE Bits<T> is_extreme_for_log(T x) {
  using Limits = std::numeric_limits<Number<T>>;
  return (bits_of(x) - bits_of(T(Limits::min()))) | (bits_of(T(Limits::max())) - bits_of(x));
}

template <class T>
WEFT_LANE T log1p(T x) {
  using F = Format<T>;
  // 2^n is near 1 + x. f = (2^-n - 1) + 2^-n x, whose terms are exact and so is their sum unless the first is the larger.
  const Parts<T> a = parts_of(T(1) + x);
  const T whole = T(0.5) * power_of_two<T>(2 * F::bias + 1 - a.e) - T(1);
  const T part = of_bits<T>(bits_of(x) - ((a.e - F::bias) << F::mantissa));
  const T f = whole + part, f_error = part - (f - whole);
  T y = log_of_parts(number_of<T>(a.e, T(F::bias)), f, f_error - f_error * f);
  y = choose(x < kInfinity<T>, y, x);
  y = choose(x < T(-1), kNotANumber<T>, y);
  y = choose(x == T(-1), -kInfinity<T>, y);
  return choose(x == T(0), x, y);
}

/// log(1 + exp(x)); does not overflow, because only e = exp(-|x|) is taken. 1 + e is 2^n (1 + f) with n = 0 or 1.
template <class T>
WEFT_LANE T softplus(T x) {
  const T e = exp_below_1(-size_up_to(x, -Format<T>::exp_min)), n = choose(e > T(0.4142135623730950488), T(1), T(0)), shift = T(-0.5) * n;
  return choose(x < T(0), T(0), x) + log_of_parts(n, e * (T(1) + shift) + shift, T(0));
}

// The rest for floats only: in double they are plain, because log is good enough and nothing overflows.
WEFT_LANE float asinh(float x) {
  const double size = size_of(static_cast<double>(x)), far = lane::log(size + __builtin_sqrt(size * size + 1.0));
  const float near = size_of(x) - size_of(x) * (x * x) * (1.0f / 6);
  return with_sign_of(size < 0x1p-10 ? near : static_cast<float>(far), x);
}
WEFT_LANE float acosh(float x) {
  const double wide = static_cast<double>(x);
  const double y = lane::log(wide + __builtin_sqrt((wide - 1.0) * (wide + 1.0)));
  return x < 1.0f ? kNotANumber<float> : static_cast<float>(y);
}
WEFT_LANE float atanh(float x) {
  const double size = size_of(static_cast<double>(x)), far = 0.5 * lane::log((1.0 + size) / (1.0 - size));
  const float near = size_of(x) + size_of(x) * (x * x) * (1.0f / 3);
  return with_sign_of(size < 0x1p-10 ? near : static_cast<float>(far), x);
}
WEFT_LANE float pow(float x, float y) {
  constexpr double round = Format<double>::round;
  const double base = static_cast<double>(x), power = static_cast<double>(y), size = size_of(base), half = 0.5 * power;
  double result = lane::exp(power * lane::log(size));
  // The sign of y's last bit, if y is whole. Floats from 2^24 are even.
  const bool large = size_of(power) >= 0x1p24;
  const bool whole = large || (power + round) - round == power, even = large || (half + round) - round == half;
  const double negative = whole ? (even ? result : -result) : size == 0.0 || size == kInfinity<double> ? result : kNotANumber<double>;
  result = with_sign_of(1.0, base) < 0.0 ? negative : result;
  // 1 to any power, even NaN, is 1, and -1 to an infinite one; so is anything to the power 0.
  const bool one = base == 1.0 || power == 0.0 || (base == -1.0 && size_of(power) == kInfinity<double>);
  return static_cast<float>(one ? 1.0 : result);
}

}  // namespace weft::inline v0::kernels::lane
