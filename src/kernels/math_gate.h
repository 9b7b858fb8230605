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

// gelu: N is normal. For floats P(N > t) is half the fourth power of a polynomial that is exactly 1 at 0, where its errors count most; so
// is the derivative, times the distance from its root. Errors are those of numbers near 1: far out on the left all is 0.

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
  const T t = size_of(x);
  const T root = multiply_add(t, poly(t, -0.199470577f, -0.0596900256f, 0.00549547356f, 0.0045994076f, -0.000153505091f, -0.000282788802f,
                                      3.3376021e-05f, 5.06379145e-06f, -1.22595366e-06f, 6.78575426e-08f), T(1));
  return gated(x, choose(t > 5.7f, T(0), T(0.5f) * t * fourth_power(root)));
}
template <class T>
  requires(sizeof(T) == 4)
WEFT_LANE T gelu_slope(T x) {
  const T t = size_of(x);
  const T root = multiply_add(t, poly(t, -0.0664025687f, -0.0949495572f, -0.0030961611f, 0.00766910261f, -3.2378193e-05f, -0.00034289878f,
                                      1.08570567e-05f, 1.27265356e-05f, -2.03389914e-06f, 9.74176934e-08f), T(1));
  return gated_slope(x, choose(t > 6.1f, T(0), fourth_power(root) * multiply_add(t, -0.665077996f, 0.5f)));
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
