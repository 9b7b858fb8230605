// exp and what is made from it, see math.h.
#pragma once

#include "kernels/math_bits.h"

namespace weft::inline v0::kernels::lane {

/// x = n ln 2 + rest + rest_error with |rest| <= ln 2 / 2; n in the low bits of `n`, in two's complement.
template <class T>
struct Reduced {
  T rest, rest_error;
  Bits<T> n;
};
template <class T>
WEFT_LANE Reduced<T> modulo_ln2(T x) {
  using F = Format<T>;
  const T shifted = multiply_add(x, F::inv_ln2, F::round);
  const T n = shifted - F::round;
  const T high = multiply_add(n, -F::ln2_hi, x);  // exact
  const T rest = multiply_add(n, -F::ln2_lo, high);
  return {rest, multiply_add(n, -F::ln2_lo, high - rest), bits_of(shifted) - bits_of(T(F::round))};
}

/// (exp(r) - 1 - r) / r^2 for |r| <= ln 2 / 2
template <class T>
WEFT_LANE T exp_tail(T r) {
  if constexpr (sizeof(T) == 4) {
    return poly(r, 0.49999994f, 0.166665167f, 0.0416681059f, 0.00836913101f, 0.00138364395f);
  } else {
    return poly(r, 0.5, 0.16666666666666688, 0.041666666666666824, 0.0083333333333139199, 0.0013888888888779695, 0.00019841269903226206,
                2.480158755071218e-05, 2.7557228895163141e-06, 2.7557079843983436e-07, 2.5113840001309696e-08, 2.0972532565974194e-09);
  }
}
/// exp(a.rest + a.rest_error) - 1
template <class T>
WEFT_LANE T exp_part(const Reduced<T>& a) {
  return a.rest + multiply_add(a.rest * a.rest, exp_tail(a.rest), a.rest_error);
}
/// The same where its last bit does not decide. Where products are not rounded, the error is too small to count.
template <class T>
WEFT_LANE T exp_part_nearly(const Reduced<T>& a) {
  if constexpr (kFuses<T>) return multiply_add(a.rest * a.rest, exp_tail(a.rest), a.rest);
  return exp_part(a);
}

/// x 2^n, rounded once. REQUIRES: 1/2 <= x <= 2, |n| < 2 bias (or x is NaN).
template <class T>
WEFT_LANE T scaled(T x, Bits<T> n) {
  const Bits<T> both = n + 2 * Format<T>::bias, half = both >> 1;  // 2^n itself may be out of range
  return x * power_of_two<T>(half) * power_of_two<T>(both - half);
}

/// exp(x) for x <= 0 that is not far below exp_min.
template <class T>
WEFT_LANE T exp_below_1(T x) {
  const Reduced<T> a = modulo_ln2(x);
  return scaled(T(1) + exp_part_nearly(a), a.n);
}

/// exp(x) 2^shift
template <class T>
WEFT_LANE T exp_shifted(T x, int shift) {
  using F = Format<T>;
  const Reduced<T> a = modulo_ln2(x);
  T y = scaled(T(1) + exp_part(a), a.n + static_cast<Bits<T>>(shift));
  y = choose(x > F::exp_max + 1, kInfinity<T>, y);
  return choose(x < F::exp_min, T(0), y);
}
template <class T>
WEFT_LANE T exp(T x) {
  return exp_shifted(x, 0);
}
/// exp(x) where 2^n is in range, which is where is_extreme_for_exp(x) does not have its highest bit.
template <class T>
WEFT_LANE T exp_plain(T x) {
  const Reduced<T> a = modulo_ln2(x);
  return (T(1) + exp_part(a)) * power_of_two<T>(a.n + Format<T>::bias);
}
template <class T>
WEFT_LANE Bits<T> is_extreme_for_exp(T x) {
  return bits_of(T(Format<T>::exp_plain)) - bits_of(size_of(x));
}

/// 2^n (1 + r + r^2 tail) - 1 with the sum of the two large terms kept to twice the digits. Half of it is summed, because 2^n can be
/// out of range where the result is not.
template <class T>
WEFT_LANE T expm1(T x) {
  using F = Format<T>;
  const Reduced<T> a = modulo_ln2(x);
  const T scale = power_of_two<T>(a.n + (F::bias - 1)), whole = scale - T(0.5), part = scale * a.rest;
  const T sum = whole + part, sum_error = part - (sum - whole);
  T y = T(2) * (sum + multiply_add(scale, multiply_add(a.rest * a.rest, exp_tail(a.rest), a.rest_error), sum_error));
  y = choose(x > F::exp_max, kInfinity<T>, y);
  y = choose(x < T(-0.7) * T(F::mantissa + 2), T(-1), y);
  return choose(size_of(x) < std::numeric_limits<Number<T>>::epsilon() / 2, x, y);
}

/// 1 / (1 + exp(-x)) = 2^n / ((1 + 2^n) + part) where exp(-x) = 2^-n (1 + part): the sum is rounded only once.
template <class T>
WEFT_LANE T sigmoid(T x) {
  using F = Format<T>;
  const Reduced<T> a = modulo_ln2(-x);
  const T part = exp_part_nearly(a);
  const Bits<T> both = 2 * F::bias - a.n, half = both >> 1;
  const T scale = power_of_two<T>(half), scale2 = power_of_two<T>(both - half), power = scale * scale2;
  const T large = choose(power > T(1), power, T(1)), small = choose(power > T(1), T(1), power);
  const T sum = large + small, sum_error = small - (sum - large);
  T y = T(1) / (sum + (sum_error + part)) * scale * scale2;
  y = choose(x > T(F::mantissa), T(1), y);
  return choose(x < F::exp_min, T(0), y);
}

/// With t = (exp(2 |x|) - 1) / 2: t / (1 + t), for small t as t - t^2 / (1 + t), where the rounding of 1 + t counts less. Where products
/// are rounded, a polynomial is better still.
template <class T>
  requires(sizeof(T) == 4)
WEFT_LANE T tanh(T x) {
  using F = Format<T>;
  // 2 |x| = n ln 2 + 2 rest, and exp(2 |x|) = 2 half (1 + part). The biased exponent of `half` is in the low bits of `shifted`.
  constexpr float round = F::round + F::bias - 1;
  const T size = size_up_to(x, 10.0f), shifted = multiply_add(size, 2 * F::inv_ln2, round), n = shifted - round;
  T rest;
  if constexpr (kFuses<T>) rest = multiply_add(n, -0.5f * (F::ln2_hi + F::ln2_lo), size);  // n < 30: what is left of ln 2 does not count
  else rest = multiply_add(n, -0.5f * F::ln2_lo, multiply_add(n, -0.5f * F::ln2_hi, size));
  const T part = multiply_add(rest * rest, poly(rest, 1.99999976f, 1.33332133f, 0.666689694f, 0.267812192f, 0.0885532126f), rest + rest);
  const T half = power_of_two<T>(bits_of(shifted)), t = multiply_add(half, part, half - T(0.5f)), q = t / (T(1) + t), z = size * size;
  T near;
  if constexpr (kFuses<T>) near = multiply_add(-t, q, t);
  else near = size + size * z * poly(z, -0.333332987f, 0.133312141f, -0.0535619313f, 0.0187440421f);
  return with_sign_of(choose(size < 0.4f, near, q), x);
}
/// With t = exp(2 |x|) - 1: t / (t + 2), or 1 - 2 / (t + 2) once that is the more precise. What t + 2 loses by rounding is put right: 1 /
/// (t + 2) is (1 - y) / 2.
WEFT_LANE double tanh(double x) {
  const double size = size_of(x), t = lane::expm1(2.0 * size), sum = 2.0 + t, sum_error = t - (sum - 2.0);
  const bool far = size >= 1.0;
  const double q = (far ? 2.0 : t) / sum;
  return with_sign_of(far ? 1.0 - q : q - q * sum_error * (0.5 - 0.5 * q), x);
}

/// (sinh(x) / x - 1) / z for z = x^2 <= 1
WEFT_LANE float sinh_tail(float z) { return poly(z, 0.166666672f, 0.00833330676f, 0.000198438473f, 2.77634354e-06f); }
WEFT_LANE double sinh_tail(double z) {
  return poly(z, 0.16666666666666669, 0.0083333333333329151, 0.00019841269841589247, 2.7557319108484747e-06, 2.5052130675349341e-08,
              1.6056687160157664e-10, 7.7756879479816395e-13);
}
template <class T>
WEFT_LANE T sinh(T x) {
  const T size = size_of(x), z = x * x, half = exp_shifted(size, -1);  // exp(x) may be out of range
  return with_sign_of(size > T(1) ? half - T(0.25) / half : size + size * (z * sinh_tail(z)), x);
}
template <class T>
WEFT_LANE T cosh(T x) {
  const T half = exp_shifted(size_of(x), -1);
  return half + T(0.25) / half;
}

}  // namespace weft::inline v0::kernels::lane
