// Derived from the op table by ./scripts/generate; do not edit.
#include <weft/ops/compare.h>

#include "core/apply.h"
#include "ops/table.h"

namespace weft::inline v0 {

Tensor equal(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(2, 0);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor not_equal(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(2, 1);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor less(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(2, 2);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor less_equal(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(2, 3);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor greater(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(2, 4);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor greater_equal(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(2, 5);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor logical_and(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(2, 6);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor logical_or(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(2, 7);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor logical_xor(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(2, 8);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor logical_not(Tensor x, Location at) {
  static const Op& row = row_at(2, 9);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor check(Tensor holds, std::string message, Location at) {
  static const Op& row = row_at(2, 10);
  Tensor inputs[] = {std::move(holds)};
  const Attr attrs[] = {to_attr(message)};
  return apply_one(row, inputs, attrs, at);
}

Tensor check_numerics(Tensor x, std::string message, Location at) {
  static const Op& row = row_at(2, 11);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(message)};
  return apply_one(row, inputs, attrs, at);
}

Tensor ensure_shape(Tensor x, Shape shape, Location at) {
  static const Op& row = row_at(2, 12);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(shape)};
  return apply_one(row, inputs, attrs, at);
}

Tensor bitwise_and(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(2, 13);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor bitwise_or(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(2, 14);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor bitwise_xor(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(2, 15);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor left_shift(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(2, 16);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor right_shift(Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(2, 17);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor invert(Tensor x, Location at) {
  static const Op& row = row_at(2, 18);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor is_nan(Tensor x, Location at) {
  static const Op& row = row_at(2, 19);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor is_inf(Tensor x, Location at) {
  static const Op& row = row_at(2, 20);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor is_finite(Tensor x, Location at) {
  static const Op& row = row_at(2, 21);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor where(Tensor condition, Tensor a, Tensor b, Location at) {
  static const Op& row = row_at(2, 22);
  Tensor inputs[] = {std::move(condition), std::move(a), std::move(b)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

}  // namespace weft::inline v0
