// Comparisons, logic and bits.
//
// Derived from the op table by ./scripts/generate; do not edit.
#pragma once

#include <weft/ops/types.h>

namespace weft::inline v0 {

WEFT_API Tensor equal(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise a == b, broadcasting; NaN equals nothing.
WEFT_API Tensor not_equal(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise a != b, broadcasting.
WEFT_API Tensor less(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise a < b, broadcasting.
WEFT_API Tensor less_equal(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise a <= b, broadcasting.
WEFT_API Tensor greater(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise a > b, broadcasting.
WEFT_API Tensor greater_equal(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise a >= b, broadcasting.
WEFT_API Tensor logical_and(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise a and b, broadcasting.
WEFT_API Tensor logical_or(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise a or b, broadcasting.
WEFT_API Tensor logical_xor(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise: exactly one of a and b, broadcasting.
WEFT_API Tensor logical_not(Tensor x, Location at = Location::here());  ///< Elementwise not x.
WEFT_API Tensor check(Tensor holds, std::string message, Location at = Location::here());  ///< `holds`, if all of its elements are true; otherwise a CheckError with the message.
WEFT_API Tensor check_numerics(Tensor x, std::string message, Location at = Location::here());  ///< x, if all of its elements are finite; otherwise a NumericError with the message, which says how many are NaN or infinite and where the first one is.
WEFT_API Tensor ensure_shape(Tensor x, Shape shape, Location at = Location::here());  ///< x, if it has this shape; sizes that are -1 may be any. Sizes of x that are not known while tracing are these from here on, and a call with others fails.
WEFT_API Tensor bitwise_and(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise and of the bits, broadcasting.
WEFT_API Tensor bitwise_or(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise or of the bits, broadcasting.
WEFT_API Tensor bitwise_xor(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise exclusive or of the bits, broadcasting.
WEFT_API Tensor left_shift(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise a shifted left by b bits, broadcasting; b below 0 counts as 0, beyond the width as the width less one.
WEFT_API Tensor right_shift(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise a shifted right by b bits, keeping the sign; b below 0 counts as 0, beyond the width as the width less one.
WEFT_API Tensor invert(Tensor x, Location at = Location::here());  ///< Elementwise complement of the bits.
WEFT_API Tensor is_nan(Tensor x, Location at = Location::here());  ///< Elementwise: x is not a number.
WEFT_API Tensor is_inf(Tensor x, Location at = Location::here());  ///< Elementwise: x is plus or minus infinity.
WEFT_API Tensor is_finite(Tensor x, Location at = Location::here());  ///< Elementwise: x is neither infinite nor NaN.
WEFT_API Tensor where(Tensor condition, Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise a where condition holds, else b; all three broadcast.

}  // namespace weft::inline v0
