// Derived from the op table by ./scripts/generate; do not edit.
#include <weft/ops/reduce.h>

#include "core/apply.h"
#include "ops/table.h"

namespace weft::inline v0 {

Tensor sum(Tensor x, SumOptions options, Location at) {
  static const Op& row = row_at(3, 0);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.keepdims)};
  return apply_one(row, inputs, attrs, at);
}

Tensor sum_like(Tensor x, Tensor like, Location at) {
  static const Op& row = row_at(3, 1);
  Tensor inputs[] = {std::move(x), std::move(like)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

}  // namespace weft::inline v0
