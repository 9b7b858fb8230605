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
struct SqueezeOptions { Axes axis = {}; };
WEFT_API Tensor squeeze(Tensor x, SqueezeOptions options = {}, Location at = Location::here());  ///< Removes axes of size 1: the given ones, or all of them.
WEFT_API Tensor unflatten(Tensor x, std::int64_t axis, IntList sizes, Location at = Location::here());  ///< Views one axis as several; one of their sizes may be -1 and follows from the rest.
struct TransposeOptions { Axes perm = {}; };
WEFT_API Tensor transpose(Tensor x, TransposeOptions options = {}, Location at = Location::here());  ///< Reorders the axes: axis i of the result is axis perm[i] of x; the reverse order if perm is none.
struct StackOptions { std::int64_t axis = 0; };
WEFT_API Tensor stack(std::vector<Tensor> xs, StackOptions options = {}, Location at = Location::here());  ///< Joins tensors of one shape along a new axis.
struct UnstackOptions { std::int64_t axis = 0; std::int64_t num = -1; };
WEFT_API std::vector<Tensor> unstack(Tensor x, UnstackOptions options = {}, Location at = Location::here());  ///< The slices of x along an axis, without that axis. num says how many there are and may be -1 if the size is known.
struct SplitOptions { std::int64_t axis = 0; };
WEFT_API std::vector<Tensor> split(Tensor x, IntList sizes, SplitOptions options = {}, Location at = Location::here());  ///< Cuts x along an axis: sizes is one number of equal parts, or a list of at least two sizes of which one may be -1.
WEFT_API Tensor tile(Tensor x, IntList multiples, Location at = Location::here());  ///< Repeats x multiples[i] times along each axis i.
WEFT_API Tensor repeat(Tensor x, IntList repeats, std::int64_t axis, Location at = Location::here());  ///< Repeats each row along an axis: all of them repeats[0] times if it is one number, row i repeats[i] times otherwise.
WEFT_API Tensor space_to_depth(Tensor x, std::int64_t block_size, Location at = Location::here());  ///< Moves blocks of block_size by block_size pixels of an NHWC image into its channels.
WEFT_API Tensor depth_to_space(Tensor x, std::int64_t block_size, Location at = Location::here());  ///< Spreads the channels of an NHWC image over blocks of block_size by block_size pixels: undoes space_to_depth.
WEFT_API Tensor space_to_batch(Tensor x, IntList block_shape, Pairs paddings, Location at = Location::here());  ///< Pads the axes after the first with zeros and moves blocks of block_shape from them into the first.
WEFT_API Tensor batch_to_space(Tensor x, IntList block_shape, Pairs crops, Location at = Location::here());  ///< Moves blocks of block_shape from the first axis into those after it and crops them: undoes space_to_batch.

}  // namespace weft::inline v0
