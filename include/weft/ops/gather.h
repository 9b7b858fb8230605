// Gathering and scattering.
//
// Derived from the op table by ./scripts/generate; do not edit.
#pragma once

#include <weft/ops/types.h>

namespace weft::inline v0 {

struct GatherOptions { std::int64_t axis = 0; std::int64_t batch_dims = 0; };
WEFT_API Tensor gather(Tensor x, Tensor indices, GatherOptions options = {}, Location at = Location::here());  ///< Slices of x along an axis, chosen by indices: y[.., k.., ..] = x[.., indices[k..], ..]; the first batch_dims axes of both run together. An index out of range is an IndexError.
struct ScatterAxisOptions { std::int64_t axis = 0; std::int64_t batch_dims = 0; };
WEFT_API Tensor scatter_axis(Tensor indices, Tensor updates, Tensor like, ScatterAxisOptions options = {}, Location at = Location::here());  ///< Zeros of like's shape into which updates are added along an axis: the transpose of gather.
WEFT_API Tensor scatter_rows(Tensor indices, Tensor values, Tensor like, Location at = Location::here());  ///< Zeros of like's shape to whose rows the rows of values are added: y[indices[k]] += values[k].
WEFT_API Tensor merge_leading(Tensor x, std::int64_t count, Location at = Location::here());  ///< The same elements with the first `count` axes merged into one; none of them gives a new first axis of size 1.
struct GatherNdOptions { std::int64_t batch_dims = 0; std::int64_t depth = -1; };
WEFT_API Tensor gather_nd(Tensor x, Tensor indices, GatherNdOptions options = {}, Location at = Location::here());  ///< Slices of x chosen by tuples of indices, which lie along the last axis of indices; the first batch_dims axes of both run together. depth is the length of the tuples: it need only be given where that size is unknown (the rank of the result depends on it).
WEFT_API Tensor scatter_nd(Tensor indices, Tensor updates, Shape shape, Location at = Location::here());  ///< Zeros of the given shape to which updates are added at the slices that tuples of indices name; those named twice add up.
struct ScatterNdLikeOptions { std::int64_t batch_dims = 0; };
WEFT_API Tensor scatter_nd_like(Tensor indices, Tensor updates, Tensor like, ScatterNdLikeOptions options = {}, Location at = Location::here());  ///< scatter_nd with the shape of like and batch axes: the transpose of gather_nd.
WEFT_API Tensor tensor_scatter_nd_add(Tensor x, Tensor indices, Tensor updates, Location at = Location::here());  ///< x with updates added at the slices that tuples of indices name; those named twice add up, in order.
WEFT_API Tensor tensor_scatter_nd_sub(Tensor x, Tensor indices, Tensor updates, Location at = Location::here());  ///< x with updates subtracted at the slices that tuples of indices name; those named twice are subtracted twice.
WEFT_API Tensor tensor_scatter_nd_update(Tensor x, Tensor indices, Tensor updates, Location at = Location::here());  ///< x with the slices that tuples of indices name replaced by updates; of those named twice the last one stays.
WEFT_API Tensor scatter_nd_last(Tensor indices, Tensor like, Location at = Location::here());  ///< For each tuple of indices into like, whether no later tuple names the same slice.
WEFT_API Tensor tensor_scatter_nd_max(Tensor x, Tensor indices, Tensor updates, Location at = Location::here());  ///< x with the larger of itself and updates at the slices that tuples of indices name; NaN wins.
WEFT_API Tensor tensor_scatter_nd_min(Tensor x, Tensor indices, Tensor updates, Location at = Location::here());  ///< x with the smaller of itself and updates at the slices that tuples of indices name; NaN wins.
struct BooleanMaskOptions { std::int64_t axis = 0; };
WEFT_API Tensor boolean_mask(Tensor x, Tensor mask, BooleanMaskOptions options = {}, Location at = Location::here());  ///< The slices of x at which mask holds; mask has the sizes of x from axis on, and its axes become one.
struct BooleanUnmaskOptions { std::int64_t axis = 0; };
WEFT_API Tensor boolean_unmask(Tensor x, Tensor mask, BooleanUnmaskOptions options = {}, Location at = Location::here());  ///< Zeros but where mask holds, which take the slices of x along axis in order: the transpose of boolean_mask.
WEFT_API Tensor nonzero(Tensor x, Location at = Location::here());  ///< The indices of the elements that are not zero (or true), in row-major order, one row of rank numbers each.

}  // namespace weft::inline v0
