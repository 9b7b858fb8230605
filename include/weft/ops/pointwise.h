// Arithmetic and elementary functions.
//
// Derived from the op table by ./scripts/generate; do not edit.
#pragma once

#include <weft/ops/types.h>

namespace weft::inline v0 {

WEFT_API Tensor add(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise sum, broadcasting.
WEFT_API Tensor subtract(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise difference, broadcasting.
WEFT_API Tensor multiply(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise product, broadcasting.
WEFT_API Tensor divide(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise true quotient, broadcasting; integers give f64, those of 8 and 16 bits f32.
WEFT_API Tensor floormod(Tensor a, Tensor b, Location at = Location::here());  ///< Elementwise remainder with the sign of b, as Python's %; broadcasting. An integer zero in b is a ValueError.
WEFT_API Tensor negative(Tensor x, Location at = Location::here());  ///< Elementwise -x; integers wrap.
WEFT_API Tensor exp(Tensor x, Location at = Location::here());  ///< Elementwise e to the power x.

}  // namespace weft::inline v0
