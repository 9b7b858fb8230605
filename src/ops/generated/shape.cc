// Derived from the op table by ./scripts/generate; do not edit.
#include <weft/ops/shape.h>

#include "core/apply.h"
#include "ops/table.h"

namespace weft::inline v0 {

Tensor reshape(Tensor x, Shape shape, Location at) {
  static const Op& row = row_at(5, 0);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(shape)};
  return apply_one(row, inputs, attrs, at);
}

Tensor reshape_like(Tensor x, Tensor like, Location at) {
  static const Op& row = row_at(5, 1);
  Tensor inputs[] = {std::move(x), std::move(like)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor expand_dims(Tensor x, Axes axis, Location at) {
  static const Op& row = row_at(5, 2);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(axis)};
  return apply_one(row, inputs, attrs, at);
}

Tensor concat(std::vector<Tensor> xs, std::int64_t axis, Location at) {
  static const Op& row = row_at(5, 3);
  SmallVector<Tensor, 4> inputs;
  for (Tensor& t : xs) inputs.push_back(std::move(t));
  const Attr attrs[] = {to_attr(axis)};
  return apply_one(row, inputs, attrs, at);
}

std::vector<Tensor> split_like(Tensor x, std::vector<Tensor> likes, std::int64_t axis, Location at) {
  static const Op& row = row_at(5, 4);
  SmallVector<Tensor, 4> inputs;
  inputs.push_back(std::move(x));
  for (Tensor& t : likes) inputs.push_back(std::move(t));
  const Attr attrs[] = {to_attr(axis)};
  Tensors outputs;
  apply({row, inputs, attrs, at}, outputs);
  return {outputs.begin(), outputs.end()};
}

Tensor identity(Tensor x, Location at) {
  static const Op& row = row_at(5, 5);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor stop_gradient(Tensor x, Location at) {
  static const Op& row = row_at(5, 6);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor broadcast_to(Tensor x, Shape shape, Location at) {
  static const Op& row = row_at(5, 7);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(shape)};
  return apply_one(row, inputs, attrs, at);
}

Tensor broadcast_like(Tensor x, Tensor like, Location at) {
  static const Op& row = row_at(5, 8);
  Tensor inputs[] = {std::move(x), std::move(like)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor squeeze(Tensor x, SqueezeOptions options, Location at) {
  static const Op& row = row_at(5, 9);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis)};
  return apply_one(row, inputs, attrs, at);
}

Tensor unflatten(Tensor x, std::int64_t axis, IntList sizes, Location at) {
  static const Op& row = row_at(5, 10);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(axis), to_attr(sizes)};
  return apply_one(row, inputs, attrs, at);
}

Tensor transpose(Tensor x, TransposeOptions options, Location at) {
  static const Op& row = row_at(5, 11);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.perm)};
  return apply_one(row, inputs, attrs, at);
}

Tensor stack(std::vector<Tensor> xs, StackOptions options, Location at) {
  static const Op& row = row_at(5, 12);
  SmallVector<Tensor, 4> inputs;
  for (Tensor& t : xs) inputs.push_back(std::move(t));
  const Attr attrs[] = {to_attr(options.axis)};
  return apply_one(row, inputs, attrs, at);
}

std::vector<Tensor> unstack(Tensor x, UnstackOptions options, Location at) {
  static const Op& row = row_at(5, 13);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.num)};
  Tensors outputs;
  apply({row, inputs, attrs, at}, outputs);
  return {outputs.begin(), outputs.end()};
}

std::vector<Tensor> split(Tensor x, IntList sizes, SplitOptions options, Location at) {
  static const Op& row = row_at(5, 14);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(sizes), to_attr(options.axis)};
  Tensors outputs;
  apply({row, inputs, attrs, at}, outputs);
  return {outputs.begin(), outputs.end()};
}

Tensor tile(Tensor x, IntList multiples, Location at) {
  static const Op& row = row_at(5, 15);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(multiples)};
  return apply_one(row, inputs, attrs, at);
}

Tensor repeat(Tensor x, IntList repeats, std::int64_t axis, Location at) {
  static const Op& row = row_at(5, 16);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(repeats), to_attr(axis)};
  return apply_one(row, inputs, attrs, at);
}

Tensor space_to_depth(Tensor x, std::int64_t block_size, Location at) {
  static const Op& row = row_at(5, 17);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(block_size)};
  return apply_one(row, inputs, attrs, at);
}

Tensor depth_to_space(Tensor x, std::int64_t block_size, Location at) {
  static const Op& row = row_at(5, 18);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(block_size)};
  return apply_one(row, inputs, attrs, at);
}

Tensor space_to_batch(Tensor x, IntList block_shape, Pairs paddings, Location at) {
  static const Op& row = row_at(5, 19);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(block_shape), to_attr(paddings)};
  return apply_one(row, inputs, attrs, at);
}

Tensor batch_to_space(Tensor x, IntList block_shape, Pairs crops, Location at) {
  static const Op& row = row_at(5, 20);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(block_shape), to_attr(crops)};
  return apply_one(row, inputs, attrs, at);
}

}  // namespace weft::inline v0
