// Creation and conversion.
//
// Derived from the op table by ./scripts/generate; do not edit.
#pragma once

#include <weft/ops/types.h>

namespace weft::inline v0 {

struct ZerosOptions { DType dtype = DType::f32; };
WEFT_API Tensor zeros(Shape shape, ZerosOptions options = {}, Location at = Location::here());  ///< A tensor of zeros.
struct OnesOptions { DType dtype = DType::f32; };
WEFT_API Tensor ones(Shape shape, OnesOptions options = {}, Location at = Location::here());  ///< A tensor of ones.
WEFT_API Tensor zeros_like(Tensor x, Location at = Location::here());  ///< Zeros of the shape and dtype of x.
WEFT_API Tensor ones_like(Tensor x, Location at = Location::here());  ///< Ones of the shape and dtype of x.
WEFT_API Tensor cast(Tensor x, DType dtype, Location at = Location::here());  ///< Converts to another dtype: floats truncate toward zero and saturate, NaN gives 0; integers wrap; bool is x != 0.

}  // namespace weft::inline v0
