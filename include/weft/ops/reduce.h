// Reductions and running totals.
//
// Derived from the op table by ./scripts/generate; do not edit.
#pragma once

#include <weft/ops/types.h>

namespace weft::inline v0 {

struct SumOptions { Axes axis = {}; bool keepdims = false; };
WEFT_API Tensor sum(Tensor x, SumOptions options = {}, Location at = Location::here());  ///< Sum over axes.
WEFT_API Tensor sum_like(Tensor x, Tensor like, Location at = Location::here());  ///< Sums x down to the shape of like, which broadcasts to x: the transpose of broadcast_like.

}  // namespace weft::inline v0
