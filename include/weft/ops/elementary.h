// Elementary and special functions.
//
// Derived from the op table by ./scripts/generate; do not edit.
#pragma once

#include <weft/ops/types.h>

namespace weft::inline v0 {

WEFT_API Tensor exp(Tensor x, Location at = Location::here());  ///< Elementwise e to the power x.
WEFT_API Tensor expm1(Tensor x, Location at = Location::here());  ///< Elementwise exp(x) - 1, accurate near 0.
WEFT_API Tensor log(Tensor x, Location at = Location::here());  ///< Elementwise natural logarithm; -inf at 0, NaN below.
WEFT_API Tensor log1p(Tensor x, Location at = Location::here());  ///< Elementwise log(1 + x), accurate near 0; -inf at -1, NaN below.
WEFT_API Tensor xlogy(Tensor x, Tensor y, Location at = Location::here());  ///< Elementwise x log(y), and 0 wherever x is 0; broadcasting.
WEFT_API Tensor xlog1py(Tensor x, Tensor y, Location at = Location::here());  ///< Elementwise x log(1 + y), and 0 wherever x is 0; broadcasting.
WEFT_API Tensor xdivy(Tensor x, Tensor y, Location at = Location::here());  ///< Elementwise x / y, and 0 wherever x is 0; broadcasting.
WEFT_API Tensor sin(Tensor x, Location at = Location::here());  ///< Elementwise sine.
WEFT_API Tensor cos(Tensor x, Location at = Location::here());  ///< Elementwise cosine.
WEFT_API Tensor tan(Tensor x, Location at = Location::here());  ///< Elementwise tangent.
WEFT_API Tensor asin(Tensor x, Location at = Location::here());  ///< Elementwise inverse sine; NaN outside [-1, 1].
WEFT_API Tensor acos(Tensor x, Location at = Location::here());  ///< Elementwise inverse cosine; NaN outside [-1, 1].
WEFT_API Tensor atan(Tensor x, Location at = Location::here());  ///< Elementwise inverse tangent.
WEFT_API Tensor atan2(Tensor y, Tensor x, Location at = Location::here());  ///< Elementwise angle of the point (x, y) in [-pi, pi], broadcasting.
WEFT_API Tensor sinh(Tensor x, Location at = Location::here());  ///< Elementwise hyperbolic sine.
WEFT_API Tensor cosh(Tensor x, Location at = Location::here());  ///< Elementwise hyperbolic cosine.
WEFT_API Tensor tanh(Tensor x, Location at = Location::here());  ///< Elementwise hyperbolic tangent.
WEFT_API Tensor tanh_backward(Tensor y, Tensor dy, Location at = Location::here());  ///< The gradient of tanh from its result y: dy * (1 - y^2).
WEFT_API Tensor asinh(Tensor x, Location at = Location::here());  ///< Elementwise inverse hyperbolic sine.
WEFT_API Tensor acosh(Tensor x, Location at = Location::here());  ///< Elementwise inverse hyperbolic cosine; NaN below 1.
WEFT_API Tensor atanh(Tensor x, Location at = Location::here());  ///< Elementwise inverse hyperbolic tangent; +-inf at +-1, NaN beyond.
WEFT_API Tensor erf(Tensor x, Location at = Location::here());  ///< Elementwise error function.
WEFT_API Tensor erfc(Tensor x, Location at = Location::here());  ///< Elementwise 1 - erf(x), accurate for large x.
WEFT_API Tensor erfinv(Tensor x, Location at = Location::here());  ///< Elementwise inverse of erf; +-inf at +-1, NaN beyond.
WEFT_API Tensor lgamma(Tensor x, Location at = Location::here());  ///< Elementwise logarithm of the magnitude of the gamma function; +inf at 0 and the negative integers.
WEFT_API Tensor digamma(Tensor x, Location at = Location::here());  ///< Elementwise derivative of lgamma; NaN at the negative integers.
WEFT_API Tensor polygamma(Tensor x, std::int64_t order, Location at = Location::here());  ///< Elementwise derivative of digamma of the given order; 0 is digamma itself.
WEFT_API Tensor sigmoid(Tensor x, Location at = Location::here());  ///< Elementwise 1 / (1 + exp(-x)), without overflow.
WEFT_API Tensor sigmoid_backward(Tensor y, Tensor dy, Location at = Location::here());  ///< The gradient of sigmoid from its result y: dy * y * (1 - y).
WEFT_API Tensor log_sigmoid(Tensor x, Location at = Location::here());  ///< Elementwise log(sigmoid(x)), without overflow.
WEFT_API Tensor softplus(Tensor x, Location at = Location::here());  ///< Elementwise log(1 + exp(x)), without overflow.

}  // namespace weft::inline v0
