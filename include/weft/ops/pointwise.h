// Arithmetic and rounding.
//
// Derived from the op table by ./scripts/generate; do not edit.
#pragma once

#include <weft/ops/types.h>

namespace weft::inline v0 {

WEFT_API Tensor add(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise sum, broadcasting; integers wrap.
WEFT_API Tensor subtract(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise difference, broadcasting; integers wrap.
WEFT_API Tensor multiply(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise product, broadcasting; integers wrap.
WEFT_API Tensor divide(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise true quotient, broadcasting; integers give f64, those of 8 and 16 bits f32.
WEFT_API Tensor floordiv(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise quotient rounded toward minus infinity, broadcasting. An integer zero in b is a ValueError; the least integer by -1 wraps.
WEFT_API Tensor floormod(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise remainder of floordiv, which has the sign of b as Python's %; broadcasting. An integer zero in b is a ValueError.
WEFT_API Tensor truncatediv(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise quotient rounded toward zero, as C's /; broadcasting. An integer zero in b is a ValueError; the least integer by -1 wraps.
WEFT_API Tensor truncatemod(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise remainder of truncatediv, which has the sign of a as C's %; broadcasting. An integer zero in b is a ValueError.
WEFT_API Tensor divide_no_nan(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise quotient, and 0 wherever b is 0; broadcasting.
WEFT_API Tensor multiply_no_nan(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise product, and 0 wherever b is 0 even if a is infinite or NaN; broadcasting.
WEFT_API Tensor pow(Tensor x, Tensor y, Location at = Location::here());  ///< Elementwise x to the power y, broadcasting; integers wrap, and a negative integer in y is a ValueError. Where x <= 0 no gradient flows to y.
WEFT_API Tensor maximum(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise larger one of a and b, broadcasting; NaN if either is. Of equal ones a gets the gradient.
WEFT_API Tensor minimum(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise smaller one of a and b, broadcasting; NaN if either is. Of equal ones a gets the gradient.
WEFT_API Tensor clip_by_value(Tensor x, Tensor low, Tensor high, Location at = Location::here());  ///< Elementwise x, but at least low and at most high; broadcasting. NaN stays NaN. Where low is above high the result is low.
WEFT_API Tensor squared_difference(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise (a - b) squared, broadcasting; integers wrap.
WEFT_API Tensor add_n(std::vector<Tensor> xs, Location at = Location::here());  ///< Elementwise sum of tensors of one shape, in the order of the list; integers wrap.
WEFT_API Tensor polyval(std::vector<Tensor> coeffs, Tensor x, Location at = Location::here());  ///< Elementwise polynomial coeffs[0] x^(n-1) + ... + coeffs[n-1] by Horner's rule; x and the coefficients broadcast.
WEFT_API Tensor abs(Tensor x, Location at = Location::here());  ///< Elementwise magnitude; the least integer wraps to itself. Its gradient at 0 is 0.
WEFT_API Tensor sign(Tensor x, Location at = Location::here());  ///< Elementwise -1, 0 or 1 by the sign of x; NaN stays NaN. Its gradient is 0 everywhere.
WEFT_API Tensor negative(Tensor x, Location at = Location::here());  ///< Elementwise -x; integers wrap.
WEFT_API Tensor square(Tensor x, Location at = Location::here());  ///< Elementwise x squared; integers wrap.
WEFT_API Tensor reciprocal(Tensor x, Location at = Location::here());  ///< Elementwise 1 / x.
WEFT_API Tensor sqrt(Tensor x, Location at = Location::here());  ///< Elementwise square root; NaN below 0.
WEFT_API Tensor rsqrt(Tensor x, Location at = Location::here());  ///< Elementwise 1 / sqrt(x); NaN below 0.
WEFT_API Tensor floor(Tensor x, Location at = Location::here());  ///< Elementwise largest whole number that is at most x.
WEFT_API Tensor ceil(Tensor x, Location at = Location::here());  ///< Elementwise smallest whole number that is at least x.
WEFT_API Tensor round(Tensor x, Location at = Location::here());  ///< Elementwise nearest whole number; halves go to the even one, integers stay.

}  // namespace weft::inline v0
