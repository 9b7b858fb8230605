// Derived from the op table by ./scripts/generate; do not edit.
#include <weft/ops/gather.h>

#include "core/apply.h"
#include "ops/table.h"

namespace weft::inline v0 {

Tensor gather(Tensor x, Tensor indices, GatherOptions options, Location at) {
  static const Op& row = row_at(8, 0);
  Tensor inputs[] = {std::move(x), std::move(indices)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.batch_dims)};
  return apply_one(row, inputs, attrs, at);
}

Tensor scatter_axis(Tensor indices, Tensor updates, Tensor like, ScatterAxisOptions options, Location at) {
  static const Op& row = row_at(8, 1);
  Tensor inputs[] = {std::move(indices), std::move(updates), std::move(like)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.batch_dims)};
  return apply_one(row, inputs, attrs, at);
}

Tensor scatter_rows(Tensor indices, Tensor values, Tensor like, Location at) {
  static const Op& row = row_at(8, 2);
  Tensor inputs[] = {std::move(indices), std::move(values), std::move(like)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor merge_leading(Tensor x, std::int64_t count, Location at) {
  static const Op& row = row_at(8, 3);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(count)};
  return apply_one(row, inputs, attrs, at);
}

Tensor gather_nd(Tensor x, Tensor indices, GatherNdOptions options, Location at) {
  static const Op& row = row_at(8, 4);
  Tensor inputs[] = {std::move(x), std::move(indices)};
  const Attr attrs[] = {to_attr(options.batch_dims), to_attr(options.depth)};
  return apply_one(row, inputs, attrs, at);
}

Tensor scatter_nd(Tensor indices, Tensor updates, Shape shape, Location at) {
  static const Op& row = row_at(8, 5);
  Tensor inputs[] = {std::move(indices), std::move(updates)};
  const Attr attrs[] = {to_attr(shape)};
  return apply_one(row, inputs, attrs, at);
}

Tensor scatter_nd_like(Tensor indices, Tensor updates, Tensor like, ScatterNdLikeOptions options, Location at) {
  static const Op& row = row_at(8, 6);
  Tensor inputs[] = {std::move(indices), std::move(updates), std::move(like)};
  const Attr attrs[] = {to_attr(options.batch_dims)};
  return apply_one(row, inputs, attrs, at);
}

Tensor tensor_scatter_nd_add(Tensor x, Tensor indices, Tensor updates, Location at) {
  static const Op& row = row_at(8, 7);
  Tensor inputs[] = {std::move(x), std::move(indices), std::move(updates)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor tensor_scatter_nd_sub(Tensor x, Tensor indices, Tensor updates, Location at) {
  static const Op& row = row_at(8, 8);
  Tensor inputs[] = {std::move(x), std::move(indices), std::move(updates)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor tensor_scatter_nd_update(Tensor x, Tensor indices, Tensor updates, Location at) {
  static const Op& row = row_at(8, 9);
  Tensor inputs[] = {std::move(x), std::move(indices), std::move(updates)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor scatter_nd_last(Tensor indices, Tensor like, Location at) {
  static const Op& row = row_at(8, 10);
  Tensor inputs[] = {std::move(indices), std::move(like)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor tensor_scatter_nd_max(Tensor x, Tensor indices, Tensor updates, Location at) {
  static const Op& row = row_at(8, 11);
  Tensor inputs[] = {std::move(x), std::move(indices), std::move(updates)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor tensor_scatter_nd_min(Tensor x, Tensor indices, Tensor updates, Location at) {
  static const Op& row = row_at(8, 12);
  Tensor inputs[] = {std::move(x), std::move(indices), std::move(updates)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor boolean_mask(Tensor x, Tensor mask, BooleanMaskOptions options, Location at) {
  static const Op& row = row_at(8, 13);
  Tensor inputs[] = {std::move(x), std::move(mask)};
  const Attr attrs[] = {to_attr(options.axis)};
  return apply_one(row, inputs, attrs, at);
}

Tensor boolean_unmask(Tensor x, Tensor mask, BooleanUnmaskOptions options, Location at) {
  static const Op& row = row_at(8, 14);
  Tensor inputs[] = {std::move(x), std::move(mask)};
  const Attr attrs[] = {to_attr(options.axis)};
  return apply_one(row, inputs, attrs, at);
}

Tensor nonzero(Tensor x, Location at) {
  static const Op& row = row_at(8, 15);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

}  // namespace weft::inline v0
