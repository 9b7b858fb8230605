// Derived from the op table by ./scripts/generate; do not edit.
#include <weft/ops/gather.h>

#include "core/apply.h"
#include "ops/table.h"

namespace weft::inline v0 {

Tensor scatter_rows(Tensor indices, Tensor values, Tensor like, Location at) {
  static const Op& row = row_at(7, 0);
  Tensor inputs[] = {std::move(indices), std::move(values), std::move(like)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

}  // namespace weft::inline v0
