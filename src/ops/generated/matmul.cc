// Derived from the op table by ./scripts/generate; do not edit.
#include <weft/ops/matmul.h>

#include "core/apply.h"
#include "ops/table.h"

namespace weft::inline v0 {

Tensor matmul(Tensor a, Tensor b, MatmulOptions options, Location at) {
  static const Op& row = row_at(11, 0);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const Attr attrs[] = {to_attr(options.transpose_a), to_attr(options.transpose_b)};
  return apply_one(row, inputs, attrs, at);
}

Tensor matvec(Tensor a, Tensor b, MatvecOptions options, Location at) {
  static const Op& row = row_at(11, 1);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const Attr attrs[] = {to_attr(options.transpose_a)};
  return apply_one(row, inputs, attrs, at);
}

Tensor einsum(std::string equation, std::vector<Tensor> xs, Location at) {
  static const Op& row = row_at(11, 2);
  SmallVector<Tensor, 4> inputs;
  for (Tensor& t : xs) inputs.push_back(std::move(t));
  const Attr attrs[] = {to_attr(equation)};
  return apply_one(row, inputs, attrs, at);
}

Tensor einsum_like(std::string equation, Tensor like, std::vector<Tensor> xs, Location at) {
  static const Op& row = row_at(11, 3);
  SmallVector<Tensor, 4> inputs;
  inputs.push_back(std::move(like));
  for (Tensor& t : xs) inputs.push_back(std::move(t));
  const Attr attrs[] = {to_attr(equation)};
  return apply_one(row, inputs, attrs, at);
}

Tensor tensordot(Tensor a, Tensor b, IntList axes, Location at) {
  static const Op& row = row_at(11, 4);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const Attr attrs[] = {to_attr(axes)};
  return apply_one(row, inputs, attrs, at);
}

}  // namespace weft::inline v0
