// Derived from the op table by ./scripts/generate; do not edit.
#include <weft/ops/segment.h>

#include "core/apply.h"
#include "ops/table.h"

namespace weft::inline v0 {

Tensor segment_sum(Tensor x, Tensor segment_ids, Location at) {
  static const Op& row = row_at(9, 0);
  Tensor inputs[] = {std::move(x), std::move(segment_ids)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor segment_mean(Tensor x, Tensor segment_ids, Location at) {
  static const Op& row = row_at(9, 1);
  Tensor inputs[] = {std::move(x), std::move(segment_ids)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor segment_max(Tensor x, Tensor segment_ids, Location at) {
  static const Op& row = row_at(9, 2);
  Tensor inputs[] = {std::move(x), std::move(segment_ids)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor segment_min(Tensor x, Tensor segment_ids, Location at) {
  static const Op& row = row_at(9, 3);
  Tensor inputs[] = {std::move(x), std::move(segment_ids)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor segment_prod(Tensor x, Tensor segment_ids, Location at) {
  static const Op& row = row_at(9, 4);
  Tensor inputs[] = {std::move(x), std::move(segment_ids)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor unsorted_segment_sum(Tensor x, Tensor segment_ids, std::int64_t num_segments, Location at) {
  static const Op& row = row_at(9, 5);
  Tensor inputs[] = {std::move(x), std::move(segment_ids)};
  const Attr attrs[] = {to_attr(num_segments)};
  return apply_one(row, inputs, attrs, at);
}

Tensor unsorted_segment_sum_like(Tensor x, Tensor segment_ids, Tensor like, Location at) {
  static const Op& row = row_at(9, 6);
  Tensor inputs[] = {std::move(x), std::move(segment_ids), std::move(like)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor gather_or_zero(Tensor x, Tensor indices, Location at) {
  static const Op& row = row_at(9, 7);
  Tensor inputs[] = {std::move(x), std::move(indices)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor unsorted_segment_mean(Tensor x, Tensor segment_ids, std::int64_t num_segments, Location at) {
  static const Op& row = row_at(9, 8);
  Tensor inputs[] = {std::move(x), std::move(segment_ids)};
  const Attr attrs[] = {to_attr(num_segments)};
  return apply_one(row, inputs, attrs, at);
}

Tensor unsorted_segment_max(Tensor x, Tensor segment_ids, std::int64_t num_segments, Location at) {
  static const Op& row = row_at(9, 9);
  Tensor inputs[] = {std::move(x), std::move(segment_ids)};
  const Attr attrs[] = {to_attr(num_segments)};
  return apply_one(row, inputs, attrs, at);
}

Tensor unsorted_segment_min(Tensor x, Tensor segment_ids, std::int64_t num_segments, Location at) {
  static const Op& row = row_at(9, 10);
  Tensor inputs[] = {std::move(x), std::move(segment_ids)};
  const Attr attrs[] = {to_attr(num_segments)};
  return apply_one(row, inputs, attrs, at);
}

Tensor unsorted_segment_prod(Tensor x, Tensor segment_ids, std::int64_t num_segments, Location at) {
  static const Op& row = row_at(9, 11);
  Tensor inputs[] = {std::move(x), std::move(segment_ids)};
  const Attr attrs[] = {to_attr(num_segments)};
  return apply_one(row, inputs, attrs, at);
}

Tensor bincount(Tensor x, BincountOptions options, Location at) {
  static const Op& row = row_at(9, 12);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.minlength), to_attr(options.maxlength)};
  return apply_one(row, inputs, attrs, at);
}

Tensor confusion_matrix(Tensor labels, Tensor predictions, std::int64_t num_classes, Location at) {
  static const Op& row = row_at(9, 13);
  Tensor inputs[] = {std::move(labels), std::move(predictions)};
  const Attr attrs[] = {to_attr(num_classes)};
  return apply_one(row, inputs, attrs, at);
}

Tensor in_top_k(Tensor targets, Tensor predictions, std::int64_t k, Location at) {
  static const Op& row = row_at(9, 14);
  Tensor inputs[] = {std::move(targets), std::move(predictions)};
  const Attr attrs[] = {to_attr(k)};
  return apply_one(row, inputs, attrs, at);
}

}  // namespace weft::inline v0
