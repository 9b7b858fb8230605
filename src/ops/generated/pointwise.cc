// Derived from the op table by ./scripts/generate; do not edit.
#include <weft/ops/pointwise.h>

#include "core/apply.h"
#include "ops/table.h"

namespace weft::inline v0 {

Tensor add(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(0, 0);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor subtract(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(0, 1);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor multiply(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(0, 2);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor divide(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(0, 3);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor floordiv(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(0, 4);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor floormod(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(0, 5);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor truncatediv(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(0, 6);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor truncatemod(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(0, 7);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor divide_no_nan(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(0, 8);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor multiply_no_nan(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(0, 9);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor pow(Tensor x, Tensor y, Location at) {
  static const Op& row = row_at(0, 10);
  Tensor inputs[] = {std::move(x), std::move(y)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor maximum(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(0, 11);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor minimum(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(0, 12);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor clip_by_value(Tensor x, Tensor low, Tensor high, Location at) {
  static const Op& row = row_at(0, 13);
  Tensor inputs[] = {std::move(x), std::move(low), std::move(high)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor squared_difference(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(0, 14);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor add_n(std::vector<Tensor> xs, Location at) {
  static const Op& row = row_at(0, 15);
  SmallVector<Tensor, 4> inputs;
  for (Tensor& t : xs) inputs.push_back(std::move(t));
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor polyval(std::vector<Tensor> coeffs, Tensor x, Location at) {
  static const Op& row = row_at(0, 16);
  SmallVector<Tensor, 4> inputs;
  inputs.push_back(std::move(x));
  for (Tensor& t : coeffs) inputs.push_back(std::move(t));
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor abs(Tensor x, Location at) {
  static const Op& row = row_at(0, 17);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor sign(Tensor x, Location at) {
  static const Op& row = row_at(0, 18);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor negative(Tensor x, Location at) {
  static const Op& row = row_at(0, 19);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor square(Tensor x, Location at) {
  static const Op& row = row_at(0, 20);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor reciprocal(Tensor x, Location at) {
  static const Op& row = row_at(0, 21);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor sqrt(Tensor x, Location at) {
  static const Op& row = row_at(0, 22);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor rsqrt(Tensor x, Location at) {
  static const Op& row = row_at(0, 23);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor floor(Tensor x, Location at) {
  static const Op& row = row_at(0, 24);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor ceil(Tensor x, Location at) {
  static const Op& row = row_at(0, 25);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor round(Tensor x, Location at) {
  static const Op& row = row_at(0, 26);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

}  // namespace weft::inline v0
