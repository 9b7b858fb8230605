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

Tensor floormod(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(0, 4);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor negative(Tensor x, Location at) {
  static const Op& row = row_at(0, 5);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor exp(Tensor x, Location at) {
  static const Op& row = row_at(0, 6);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

}  // namespace weft::inline v0
