// Derived from the op table by ./scripts/generate; do not edit.
#include <weft/ops/activation.h>

#include "core/apply.h"
#include "ops/table.h"

namespace weft::inline v0 {

Tensor relu(Tensor x, Location at) {
  static const Op& row = row_at(3, 0);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor relu_backward(Tensor x, Tensor dy, Location at) {
  static const Op& row = row_at(3, 1);
  Tensor inputs[] = {std::move(x), std::move(dy)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor relu6(Tensor x, Location at) {
  static const Op& row = row_at(3, 2);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor leaky_relu(Tensor x, LeakyReluOptions options, Location at) {
  static const Op& row = row_at(3, 3);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.alpha)};
  return apply_one(row, inputs, attrs, at);
}

Tensor elu(Tensor x, EluOptions options, Location at) {
  static const Op& row = row_at(3, 4);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.alpha)};
  return apply_one(row, inputs, attrs, at);
}

Tensor selu(Tensor x, Location at) {
  static const Op& row = row_at(3, 5);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor gelu(Tensor x, GeluOptions options, Location at) {
  static const Op& row = row_at(3, 6);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.approximate)};
  return apply_one(row, inputs, attrs, at);
}

Tensor gelu_erf(Tensor x, Location at) {
  static const Op& row = row_at(3, 7);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor gelu_erf_backward(Tensor x, Tensor dy, Location at) {
  static const Op& row = row_at(3, 8);
  Tensor inputs[] = {std::move(x), std::move(dy)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor gelu_tanh(Tensor x, Location at) {
  static const Op& row = row_at(3, 9);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor gelu_tanh_backward(Tensor x, Tensor dy, Location at) {
  static const Op& row = row_at(3, 10);
  Tensor inputs[] = {std::move(x), std::move(dy)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor silu(Tensor x, Location at) {
  static const Op& row = row_at(3, 11);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor silu_backward(Tensor x, Tensor dy, Location at) {
  static const Op& row = row_at(3, 12);
  Tensor inputs[] = {std::move(x), std::move(dy)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor softsign(Tensor x, Location at) {
  static const Op& row = row_at(3, 13);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

}  // namespace weft::inline v0
