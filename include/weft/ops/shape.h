// Shapes, joining and splitting.
//
// Derived from the op table by ./scripts/generate; do not edit.
#pragma once

#include <weft/ops/types.h>

namespace weft::inline v0 {

WEFT_API Tensor reshape(Tensor x, Shape shape, Location at = Location::here());  ///< The same elements in row-major order under another shape; one size may be -1 and follows from the rest.
WEFT_API Tensor reshape_like(Tensor x, Tensor like, Location at = Location::here());  ///< The elements of x under the shape of like.
WEFT_API Tensor expand_dims(Tensor x, Axes axis, Location at = Location::here());  ///< Inserts axes of size 1 at the given positions of the result.
WEFT_API Tensor concat(std::vector<Tensor> xs, std::int64_t axis, Location at = Location::here());  ///< Joins tensors along an axis.
WEFT_API std::vector<Tensor> split_like(Tensor x, std::vector<Tensor> likes, std::int64_t axis, Location at = Location::here());  ///< Cuts x along an axis into parts as long as those of likes: undoes concat.
WEFT_API Tensor identity(Tensor x, Location at = Location::here());  ///< The same value as a new tensor.
WEFT_API Tensor stop_gradient(Tensor x, Location at = Location::here());  ///< The same value, through which no gradient flows.
WEFT_API Tensor broadcast_to(Tensor x, Shape shape, Location at = Location::here());  ///< Repeats x to the given shape by the rules of broadcasting.
WEFT_API Tensor broadcast_like(Tensor x, Tensor like, Location at = Location::here());  ///< Repeats x to the shape of like by the rules of broadcasting.

}  // namespace weft::inline v0
