// Derived from the op table by ./scripts/generate; do not edit.
#include <weft/ops/slice.h>

#include "core/apply.h"
#include "ops/table.h"

namespace weft::inline v0 {

Tensor strided_slice(Tensor x, IntList begin, IntList end, StridedSliceOptions options, Location at) {
  static const Op& row = row_at(6, 0);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(begin), to_attr(end), to_attr(options.strides), to_attr(options.begin_mask), to_attr(options.end_mask), to_attr(options.ellipsis_mask), to_attr(options.new_axis_mask), to_attr(options.shrink_axis_mask)};
  return apply_one(row, inputs, attrs, at);
}

Tensor strided_slice_grad(Tensor dy, Tensor like, IntList begin, IntList end, StridedSliceGradOptions options, Location at) {
  static const Op& row = row_at(6, 1);
  Tensor inputs[] = {std::move(dy), std::move(like)};
  const Attr attrs[] = {to_attr(begin), to_attr(end), to_attr(options.strides), to_attr(options.begin_mask), to_attr(options.end_mask), to_attr(options.ellipsis_mask), to_attr(options.new_axis_mask), to_attr(options.shrink_axis_mask)};
  return apply_one(row, inputs, attrs, at);
}

Tensor strided_slice_update(Tensor x, Tensor value, IntList begin, IntList end, StridedSliceUpdateOptions options, Location at) {
  static const Op& row = row_at(6, 2);
  Tensor inputs[] = {std::move(x), std::move(value)};
  const Attr attrs[] = {to_attr(begin), to_attr(end), to_attr(options.strides), to_attr(options.begin_mask), to_attr(options.end_mask), to_attr(options.ellipsis_mask), to_attr(options.new_axis_mask), to_attr(options.shrink_axis_mask)};
  return apply_one(row, inputs, attrs, at);
}

Tensor slice(Tensor x, IntList begin, IntList size, Location at) {
  static const Op& row = row_at(6, 3);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(begin), to_attr(size)};
  return apply_one(row, inputs, attrs, at);
}

Tensor pad(Tensor x, Pairs paddings, PadOptions options, Location at) {
  static const Op& row = row_at(6, 4);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(paddings), to_attr(options.mode), to_attr(options.constant_values)};
  return apply_one(row, inputs, attrs, at);
}

Tensor pad_grad(Tensor dy, Tensor like, Pairs paddings, PadGradOptions options, Location at) {
  static const Op& row = row_at(6, 5);
  Tensor inputs[] = {std::move(dy), std::move(like)};
  const Attr attrs[] = {to_attr(paddings), to_attr(options.mode)};
  return apply_one(row, inputs, attrs, at);
}

Tensor reverse(Tensor x, Axes axis, Location at) {
  static const Op& row = row_at(6, 6);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(axis)};
  return apply_one(row, inputs, attrs, at);
}

Tensor roll(Tensor x, IntList shift, Axes axis, Location at) {
  static const Op& row = row_at(6, 7);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(shift), to_attr(axis)};
  return apply_one(row, inputs, attrs, at);
}

Tensor reverse_sequence(Tensor x, Tensor lengths, std::int64_t seq_axis, ReverseSequenceOptions options, Location at) {
  static const Op& row = row_at(6, 8);
  Tensor inputs[] = {std::move(x), std::move(lengths)};
  const Attr attrs[] = {to_attr(seq_axis), to_attr(options.batch_axis)};
  return apply_one(row, inputs, attrs, at);
}

}  // namespace weft::inline v0
