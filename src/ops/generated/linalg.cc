// Derived from the op table by ./scripts/generate; do not edit.
#include <weft/ops/linalg.h>

#include "core/apply.h"
#include "ops/table.h"

namespace weft::inline v0 {

Tensor diag(Tensor x, Location at) {
  static const Op& row = row_at(12, 0);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor diag_part(Tensor x, Location at) {
  static const Op& row = row_at(12, 1);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor diag_like(Tensor x, Tensor like, Location at) {
  static const Op& row = row_at(12, 2);
  Tensor inputs[] = {std::move(x), std::move(like)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor trace(Tensor x, Location at) {
  static const Op& row = row_at(12, 3);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor band_part(Tensor x, std::int64_t lower, std::int64_t upper, Location at) {
  static const Op& row = row_at(12, 4);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(lower), to_attr(upper)};
  return apply_one(row, inputs, attrs, at);
}

Tensor norm(Tensor x, NormOptions options, Location at) {
  static const Op& row = row_at(12, 5);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.ord), to_attr(options.axis), to_attr(options.keepdims)};
  return apply_one(row, inputs, attrs, at);
}

Tensor l2_normalize(Tensor x, L2NormalizeOptions options, Location at) {
  static const Op& row = row_at(12, 6);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.epsilon)};
  return apply_one(row, inputs, attrs, at);
}

Tensor cholesky(Tensor x, Location at) {
  static const Op& row = row_at(12, 7);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor inv(Tensor x, InvOptions options, Location at) {
  static const Op& row = row_at(12, 8);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.adjoint)};
  return apply_one(row, inputs, attrs, at);
}

Tensor det(Tensor x, Location at) {
  static const Op& row = row_at(12, 9);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

SlogdetResult slogdet(Tensor x, Location at) {
  static const Op& row = row_at(12, 10);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  Tensors outputs;
  apply({row, inputs, attrs, at}, outputs);
  return {std::move(outputs[0]), std::move(outputs[1])};
}

Tensor logdet(Tensor x, Location at) {
  static const Op& row = row_at(12, 11);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor solve(Tensor a, Tensor b, SolveOptions options, Location at) {
  static const Op& row = row_at(12, 12);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const Attr attrs[] = {to_attr(options.adjoint)};
  return apply_one(row, inputs, attrs, at);
}

Tensor triangular_solve(Tensor a, Tensor b, TriangularSolveOptions options, Location at) {
  static const Op& row = row_at(12, 13);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const Attr attrs[] = {to_attr(options.lower), to_attr(options.adjoint)};
  return apply_one(row, inputs, attrs, at);
}

}  // namespace weft::inline v0
