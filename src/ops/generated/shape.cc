// Derived from the op table by ./scripts/generate; do not edit.
#include <weft/ops/shape.h>

#include "core/apply.h"
#include "ops/table.h"

namespace weft::inline v0 {

Tensor reshape(Tensor x, Shape shape, Location at) {
  static const Op& row = row_at(4, 0);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(shape)};
  return apply_one(row, inputs, attrs, at);
}

Tensor reshape_like(Tensor x, Tensor like, Location at) {
  static const Op& row = row_at(4, 1);
  Tensor inputs[] = {std::move(x), std::move(like)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor expand_dims(Tensor x, Axes axis, Location at) {
  static const Op& row = row_at(4, 2);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(axis)};
  return apply_one(row, inputs, attrs, at);
}

Tensor concat(std::vector<Tensor> xs, std::int64_t axis, Location at) {
  static const Op& row = row_at(4, 3);
  SmallVector<Tensor, 4> inputs;
  for (Tensor& t : xs) inputs.push_back(std::move(t));
  const Attr attrs[] = {to_attr(axis)};
  return apply_one(row, inputs, attrs, at);
}

std::vector<Tensor> split_like(Tensor x, std::vector<Tensor> likes, std::int64_t axis, Location at) {
  static const Op& row = row_at(4, 4);
  SmallVector<Tensor, 4> inputs;
  inputs.push_back(std::move(x));
  for (Tensor& t : likes) inputs.push_back(std::move(t));
  const Attr attrs[] = {to_attr(axis)};
  Tensors outputs;
  apply({row, inputs, attrs, at}, outputs);
  return {outputs.begin(), outputs.end()};
}

Tensor identity(Tensor x, Location at) {
  static const Op& row = row_at(4, 5);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor stop_gradient(Tensor x, Location at) {
  static const Op& row = row_at(4, 6);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor broadcast_to(Tensor x, Shape shape, Location at) {
  static const Op& row = row_at(4, 7);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(shape)};
  return apply_one(row, inputs, attrs, at);
}

Tensor broadcast_like(Tensor x, Tensor like, Location at) {
  static const Op& row = row_at(4, 8);
  Tensor inputs[] = {std::move(x), std::move(like)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

}  // namespace weft::inline v0
