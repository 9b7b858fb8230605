// Derived from the op table by ./scripts/generate; do not edit.
#include <weft/ops/elementary.h>

#include "core/apply.h"
#include "ops/table.h"

namespace weft::inline v0 {

Tensor exp(Tensor x, Location at) {
  static const Op& row = row_at(1, 0);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor expm1(Tensor x, Location at) {
  static const Op& row = row_at(1, 1);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor log(Tensor x, Location at) {
  static const Op& row = row_at(1, 2);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor log1p(Tensor x, Location at) {
  static const Op& row = row_at(1, 3);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor xlogy(Tensor x, Tensor y, Location at) {
  static const Op& row = row_at(1, 4);
  Tensor inputs[] = {std::move(x), std::move(y)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor xlog1py(Tensor x, Tensor y, Location at) {
  static const Op& row = row_at(1, 5);
  Tensor inputs[] = {std::move(x), std::move(y)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor xdivy(Tensor x, Tensor y, Location at) {
  static const Op& row = row_at(1, 6);
  Tensor inputs[] = {std::move(x), std::move(y)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor sin(Tensor x, Location at) {
  static const Op& row = row_at(1, 7);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor cos(Tensor x, Location at) {
  static const Op& row = row_at(1, 8);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor tan(Tensor x, Location at) {
  static const Op& row = row_at(1, 9);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor asin(Tensor x, Location at) {
  static const Op& row = row_at(1, 10);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor acos(Tensor x, Location at) {
  static const Op& row = row_at(1, 11);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor atan(Tensor x, Location at) {
  static const Op& row = row_at(1, 12);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor atan2(Tensor y, Tensor x, Location at) {
  static const Op& row = row_at(1, 13);
  Tensor inputs[] = {std::move(y), std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor sinh(Tensor x, Location at) {
  static const Op& row = row_at(1, 14);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor cosh(Tensor x, Location at) {
  static const Op& row = row_at(1, 15);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor tanh(Tensor x, Location at) {
  static const Op& row = row_at(1, 16);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor tanh_backward(Tensor y, Tensor dy, Location at) {
  static const Op& row = row_at(1, 17);
  Tensor inputs[] = {std::move(y), std::move(dy)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor asinh(Tensor x, Location at) {
  static const Op& row = row_at(1, 18);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor acosh(Tensor x, Location at) {
  static const Op& row = row_at(1, 19);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor atanh(Tensor x, Location at) {
  static const Op& row = row_at(1, 20);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor erf(Tensor x, Location at) {
  static const Op& row = row_at(1, 21);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor erfc(Tensor x, Location at) {
  static const Op& row = row_at(1, 22);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor erfinv(Tensor x, Location at) {
  static const Op& row = row_at(1, 23);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor lgamma(Tensor x, Location at) {
  static const Op& row = row_at(1, 24);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor digamma(Tensor x, Location at) {
  static const Op& row = row_at(1, 25);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor polygamma(Tensor x, std::int64_t order, Location at) {
  static const Op& row = row_at(1, 26);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(order)};
  return apply_one(row, inputs, attrs, at);
}

Tensor sigmoid(Tensor x, Location at) {
  static const Op& row = row_at(1, 27);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor sigmoid_backward(Tensor y, Tensor dy, Location at) {
  static const Op& row = row_at(1, 28);
  Tensor inputs[] = {std::move(y), std::move(dy)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor log_sigmoid(Tensor x, Location at) {
  static const Op& row = row_at(1, 29);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor softplus(Tensor x, Location at) {
  static const Op& row = row_at(1, 30);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

}  // namespace weft::inline v0
