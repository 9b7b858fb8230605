// Derived from the op table by ./scripts/generate; do not edit.
#include <weft/ops/create.h>

#include "core/apply.h"
#include "ops/table.h"

namespace weft::inline v0 {

Tensor zeros(Shape shape, ZerosOptions options, Location at) {
  static const Op& row = row_at(6, 0);
  const std::span<Tensor> inputs;
  const Attr attrs[] = {to_attr(shape), to_attr(options.dtype)};
  return apply_one(row, inputs, attrs, at);
}

Tensor ones(Shape shape, OnesOptions options, Location at) {
  static const Op& row = row_at(6, 1);
  const std::span<Tensor> inputs;
  const Attr attrs[] = {to_attr(shape), to_attr(options.dtype)};
  return apply_one(row, inputs, attrs, at);
}

Tensor zeros_like(Tensor x, Location at) {
  static const Op& row = row_at(6, 2);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor ones_like(Tensor x, Location at) {
  static const Op& row = row_at(6, 3);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor cast(Tensor x, DType dtype, Location at) {
  static const Op& row = row_at(6, 4);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(dtype)};
  return apply_one(row, inputs, attrs, at);
}

}  // namespace weft::inline v0
