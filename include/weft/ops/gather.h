// Gathering and scattering.
//
// Derived from the op table by ./scripts/generate; do not edit.
#pragma once

#include <weft/ops/types.h>

namespace weft::inline v0 {

WEFT_API Tensor scatter_rows(Tensor indices, Tensor values, Tensor like, Location at = Location::here());  ///< Zeros of like's shape to whose rows the rows of values are added: y[indices[k]] += values[k].

}  // namespace weft::inline v0
