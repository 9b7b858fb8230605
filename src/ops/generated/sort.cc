// Derived from the op table by ./scripts/generate; do not edit.
#include <weft/ops/sort.h>

#include "core/apply.h"
#include "ops/table.h"

namespace weft::inline v0 {

Tensor sort(Tensor x, SortOptions options, Location at) {
  static const Op& row = row_at(10, 0);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.direction)};
  return apply_one(row, inputs, attrs, at);
}

Tensor argsort(Tensor x, ArgsortOptions options, Location at) {
  static const Op& row = row_at(10, 1);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.direction), to_attr(options.stable)};
  return apply_one(row, inputs, attrs, at);
}

Tensor take_along_axis(Tensor x, Tensor indices, TakeAlongAxisOptions options, Location at) {
  static const Op& row = row_at(10, 2);
  Tensor inputs[] = {std::move(x), std::move(indices)};
  const Attr attrs[] = {to_attr(options.axis)};
  return apply_one(row, inputs, attrs, at);
}

Tensor scatter_along_axis(Tensor indices, Tensor updates, Tensor like, ScatterAlongAxisOptions options, Location at) {
  static const Op& row = row_at(10, 3);
  Tensor inputs[] = {std::move(indices), std::move(updates), std::move(like)};
  const Attr attrs[] = {to_attr(options.axis)};
  return apply_one(row, inputs, attrs, at);
}

TopKResult top_k(Tensor x, std::int64_t k, Location at) {
  static const Op& row = row_at(10, 4);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(k)};
  Tensors outputs;
  apply({row, inputs, attrs, at}, outputs);
  return {std::move(outputs[0]), std::move(outputs[1])};
}

UniqueResult unique(Tensor x, Location at) {
  static const Op& row = row_at(10, 5);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  Tensors outputs;
  apply({row, inputs, attrs, at}, outputs);
  return {std::move(outputs[0]), std::move(outputs[1])};
}

UniqueWithCountsResult unique_with_counts(Tensor x, Location at) {
  static const Op& row = row_at(10, 6);
  Tensor inputs[] = {std::move(x)};
  const AttrSpan attrs;
  Tensors outputs;
  apply({row, inputs, attrs, at}, outputs);
  return {std::move(outputs[0]), std::move(outputs[1]), std::move(outputs[2])};
}

Tensor searchsorted(Tensor sorted_sequence, Tensor values, SearchsortedOptions options, Location at) {
  static const Op& row = row_at(10, 7);
  Tensor inputs[] = {std::move(sorted_sequence), std::move(values)};
  const Attr attrs[] = {to_attr(options.side)};
  return apply_one(row, inputs, attrs, at);
}

}  // namespace weft::inline v0
