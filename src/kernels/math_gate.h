// Activations x P(N < x), where N is a random number with a symmetric distribution, and their derivatives; see math.h.
//
// With t = |x| the activation is max(x, 0) - t P(N > t), and its derivative is P(N > t) - t p(t) on the left, where p is the density, and 1
// less that on the right.
#pragma once

#include <cmath>

#include "kernels/math_exp.h"

namespace weft::inline v0::kernels::lane {

/// `loss` is t P(N > t).
template <class T>
WEFT_LANE T gated(T x, T loss) {
  return choose(x < T(0), T(0), x) - loss;
}
/// `left` is P(N > t) - t p(t).
template <class T>
WEFT_LANE T gated_slope(T x, T left) {
  return choose(x < T(0), left, T(1) - left);
}

// gelu: N is normal. For floats P(N > t) is one polynomial near 0 and the fourth power of another beyond, as in erf; so is the derivative,
// whose second part is that times the distance from its root. Errors are those of numbers near 1: far out on the left all is 0.

WEFT_LANE double gelu(double x) {
  const double t = size_of(x);
  return gated(x, t > 40.0 ? 0.0 : t * (0.5 * std::erfc(t * 0.70710678118654752440)));
}
WEFT_LANE double gelu_slope(double x) {
  const double t = size_of(x), density = 0.39894228040143267794 * lane::exp(-0.5 * t * t);
  const double left = 0.5 * std::erfc(t * 0.70710678118654752440) - t * density;
  return gated_slope(x, t > 40.0 ? 0.0 : left);
}

template <class T>
WEFT_LANE T fourth_power(T x) {
  const T square = x * x;
  return square * square;
}
template <class T>
  requires(sizeof(T) == 4)
WEFT_LANE T gelu(T x) {
  const T t = size_of(x), v = t - 2.25f;
  const T near = poly(x * x, 0.398942262f, -0.0664900392f, 0.00997209549f, -0.00118470017f, 0.000113035538f, -8.25658026e-06f,
                      3.49974442e-07f);
  const T far = poly(v, 0.33251214f, -0.215833858f, 0.0326667614f, 0.00841049664f, -0.00275164354f, -0.000134213318f, 0.000132559187f,
                     -1.39360918e-05f);
  return gated(x, choose(t > 5.7f, T(0), t * choose(t < 1.7f, multiply_add(-t, near, 0.5f), fourth_power(far))));
}
template <class T>
  requires(sizeof(T) == 4)
WEFT_LANE T gelu_slope(T x) {
  const T t = size_of(x), v = t - 2.25f;
  const T near = poly(x * x, 0.797884524f, -0.265960932f, 0.0598385856f, -0.00949279312f, 0.00114774564f, -0.000109034081f,
                      7.67886831e-06f, -3.01234024e-07f);
  const T far = poly(v, 0.445829213f, -0.257431388f, 0.0202987976f, 0.0164813716f, -0.00334795611f, -0.000483618875f, 0.000203917909f,
                     -1.33895473e-05f, -8.73102749e-07f);
  const T left = choose(t < 1.7f, multiply_add(-t, near, 0.5f), fourth_power(far) * (0.75179154f - t));
  return gated_slope(x, choose(t > 6.0f, T(0), left));
}

/// P(N > t) = 1 / (1 + exp(a)), and the density there in units of the slope of a >= 0.
template <class T>
struct Sigmoidal {
  T share, density;
};
template <class T>
WEFT_LANE Sigmoidal<T> sigmoidal(T a) {
  const T power = exp_below_1(-a), inverse = T(1) / (T(1) + power), share = power * inverse;
  return {share, share * inverse};
}

/// The tanh form of gelu is x sigmoid(x (slope + cubic x^2)).
template <class T>
struct TanhForm {
  static constexpr Number<T> limit = sizeof(T) == 4 ? 12 : 24;  // beyond, all is 0
  static constexpr auto slope = static_cast<Number<T>>(1.5957691216057307117);
  static constexpr auto cubic = static_cast<Number<T>>(0.044715 * 1.5957691216057307117);
};
template <class T>
WEFT_LANE T gelu_tanh(T x) {
  using F = TanhForm<T>;
  const T t = size_up_to(x, F::limit);
  return gated(x, t * sigmoidal(t * multiply_add(t * t, F::cubic, F::slope)).share);
}
template <class T>
WEFT_LANE T gelu_tanh_slope(T x) {
  using F = TanhForm<T>;
  const T t = size_up_to(x, F::limit), square = t * t;
  const Sigmoidal<T> a = sigmoidal(t * multiply_add(square, F::cubic, F::slope));
  return gated_slope(x, multiply_add(-t * multiply_add(square, 3 * F::cubic, F::slope), a.density, a.share));
}

/// silu: N is logistic.
template <class T>
WEFT_LANE T silu(T x) {
  const T t = size_up_to(x, -Format<T>::exp_min);
  return gated(x, t * sigmoidal(t).share);
}
template <class T>
WEFT_LANE T silu_slope(T x) {
  const T t = size_up_to(x, -Format<T>::exp_min);
  const Sigmoidal<T> a = sigmoidal(t);
  return gated_slope(x, multiply_add(-t, a.density, a.share));
}

}  // namespace weft::inline v0::kernels::lane
