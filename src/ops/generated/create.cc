// Derived from the op table by ./scripts/generate; do not edit.
#include <weft/ops/create.h>

#include "core/apply.h"
#include "ops/table.h"

namespace weft::inline v0 {

Tensor zeros(Shape shape, ZerosOptions options, Location at) {
  static const Op& row = row_at(7, 0);
  const std::span<Tensor> inputs;
  const Attr attrs[] = {to_attr(shape), to_attr(options.dtype)};
  return apply_one(row, inputs, attrs, at);
}

Tensor ones(Shape shape, OnesOptions options, Location at) {
  static const Op& row = row_at(7, 1);
  const std::span<Tensor> inputs;
  const Attr attrs[] = {to_attr(shape), to_attr(options.dtype)};
  return apply_one(row, inputs, attrs, at);
}

Tensor zeros_like(Tensor x, Location at) {
  static const Op& row = row_at(7, 2);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor ones_like(Tensor x, Location at) {
  static const Op& row = row_at(7, 3);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor fill(Shape shape, Tensor value, Location at) {
  static const Op& row = row_at(7, 4);
  Tensor inputs[] = {std::move(value)};
  const Attr attrs[] = {to_attr(shape)};
  return apply_one(row, inputs, attrs, at);
}

Tensor eye(std::int64_t rows, EyeOptions options, Location at) {
  static const Op& row = row_at(7, 5);
  const std::span<Tensor> inputs;
  const Attr attrs[] = {to_attr(rows), to_attr(options.columns), to_attr(options.batch_shape), to_attr(options.dtype)};
  return apply_one(row, inputs, attrs, at);
}

Tensor linspace(Tensor start, Tensor stop, std::int64_t num, Location at) {
  static const Op& row = row_at(7, 6);
  Tensor inputs[] = {std::move(start), std::move(stop)};
  const Attr attrs[] = {to_attr(num)};
  return apply_one(row, inputs, attrs, at);
}

Tensor arange(Tensor start, Tensor limit, Tensor delta, Location at) {
  static const Op& row = row_at(7, 7);
  Tensor inputs[] = {std::move(start), std::move(limit), std::move(delta)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor one_hot(Tensor indices, std::int64_t depth, OneHotOptions options, Location at) {
  static const Op& row = row_at(7, 8);
  Tensor inputs[] = {std::move(indices)};
  const Attr attrs[] = {to_attr(depth), to_attr(options.on_value), to_attr(options.off_value), to_attr(options.axis), to_attr(options.dtype)};
  return apply_one(row, inputs, attrs, at);
}

Tensor sequence_mask(Tensor lengths, std::int64_t maxlen, SequenceMaskOptions options, Location at) {
  static const Op& row = row_at(7, 9);
  Tensor inputs[] = {std::move(lengths)};
  const Attr attrs[] = {to_attr(maxlen), to_attr(options.dtype)};
  return apply_one(row, inputs, attrs, at);
}

std::vector<Tensor> broadcast_together(std::vector<Tensor> xs, Location at) {
  static const Op& row = row_at(7, 10);
  SmallVector<Tensor, 4> inputs;
  for (Tensor& t : xs) inputs.push_back(std::move(t));
  const AttrSpan attrs;
  Tensors outputs;
  apply({row, inputs, attrs, at}, outputs);
  return {outputs.begin(), outputs.end()};
}

std::vector<Tensor> meshgrid(std::vector<Tensor> xs, MeshgridOptions options, Location at) {
  static const Op& row = row_at(7, 11);
  SmallVector<Tensor, 4> inputs;
  for (Tensor& t : xs) inputs.push_back(std::move(t));
  const Attr attrs[] = {to_attr(options.indexing)};
  Tensors outputs;
  apply({row, inputs, attrs, at}, outputs);
  return {outputs.begin(), outputs.end()};
}

Tensor cast(Tensor x, DType dtype, Location at) {
  static const Op& row = row_at(7, 12);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(dtype)};
  return apply_one(row, inputs, attrs, at);
}

}  // namespace weft::inline v0
