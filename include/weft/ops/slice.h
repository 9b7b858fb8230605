// Slicing, padding and reordering.
//
// Derived from the op table by ./scripts/generate; do not edit.
#pragma once

#include <weft/ops/types.h>

namespace weft::inline v0 {

struct StridedSliceOptions { IntList strides = {}; std::int64_t begin_mask = 0; std::int64_t end_mask = 0; std::int64_t ellipsis_mask = 0; std::int64_t new_axis_mask = 0; std::int64_t shrink_axis_mask = 0; };
WEFT_API Tensor strided_slice(Tensor x, IntList begin, IntList end, StridedSliceOptions options = {}, Location at = Location::here());  ///< The elements begin, begin + stride, ... before end of each axis, as Python's x[begin:end:stride, ...]. Bit i of a mask makes entry i an open begin or end, an ellipsis, a new axis, or a single position whose axis is dropped.
struct StridedSliceGradOptions { IntList strides = {}; std::int64_t begin_mask = 0; std::int64_t end_mask = 0; std::int64_t ellipsis_mask = 0; std::int64_t new_axis_mask = 0; std::int64_t shrink_axis_mask = 0; };
WEFT_API Tensor strided_slice_grad(Tensor dy, Tensor like, IntList begin, IntList end, StridedSliceGradOptions options = {}, Location at = Location::here());  ///< Zeros of like's shape with dy where strided_slice of the same attributes reads: the transpose of strided_slice.
struct StridedSliceUpdateOptions { IntList strides = {}; std::int64_t begin_mask = 0; std::int64_t end_mask = 0; std::int64_t ellipsis_mask = 0; std::int64_t new_axis_mask = 0; std::int64_t shrink_axis_mask = 0; };
WEFT_API Tensor strided_slice_update(Tensor x, Tensor value, IntList begin, IntList end, StridedSliceUpdateOptions options = {}, Location at = Location::here());  ///< x with value where strided_slice of the same attributes reads.
WEFT_API Tensor slice(Tensor x, IntList begin, IntList size, Location at = Location::here());  ///< The box of the given size that starts at begin; a size of -1 reaches to the end of its axis.
struct PadOptions { PadMode mode = PadMode::kConstant; double constant_values = 0.0; };
WEFT_API Tensor pad(Tensor x, Pairs paddings, PadOptions options = {}, Location at = Location::here());  ///< Adds elements before and after each axis: a constant, or x mirrored without (reflect) or with (symmetric) its edge.
struct PadGradOptions { PadMode mode = PadMode::kConstant; };
WEFT_API Tensor pad_grad(Tensor dy, Tensor like, Pairs paddings, PadGradOptions options = {}, Location at = Location::here());  ///< Adds up what pad made of each element of like: the transpose of pad.
WEFT_API Tensor reverse(Tensor x, Axes axis, Location at = Location::here());  ///< Reverses the order along the given axes.
WEFT_API Tensor roll(Tensor x, IntList shift, Axes axis, Location at = Location::here());  ///< Shifts along axes; what leaves at one end enters at the other. The shifts of an axis named twice add up.
struct ReverseSequenceOptions { std::int64_t batch_axis = 0; };
WEFT_API Tensor reverse_sequence(Tensor x, Tensor lengths, std::int64_t seq_axis, ReverseSequenceOptions options = {}, Location at = Location::here());  ///< Reverses the first lengths[b] elements along seq_axis, for each b along batch_axis.

}  // namespace weft::inline v0
