// Derived from the op table by ./scripts/generate; do not edit.
#include <weft/ops/reduce.h>

#include "core/apply.h"
#include "ops/table.h"

namespace weft::inline v0 {

Tensor sum(Tensor x, SumOptions options, Location at) {
  static const Op& row = row_at(4, 0);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.keepdims)};
  return apply_one(row, inputs, attrs, at);
}

Tensor sum_like(Tensor x, Tensor like, Location at) {
  static const Op& row = row_at(4, 1);
  Tensor inputs[] = {std::move(x), std::move(like)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor mean(Tensor x, MeanOptions options, Location at) {
  static const Op& row = row_at(4, 2);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.keepdims)};
  return apply_one(row, inputs, attrs, at);
}

Tensor prod(Tensor x, ProdOptions options, Location at) {
  static const Op& row = row_at(4, 3);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.keepdims)};
  return apply_one(row, inputs, attrs, at);
}

Tensor max(Tensor x, MaxOptions options, Location at) {
  static const Op& row = row_at(4, 4);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.keepdims)};
  return apply_one(row, inputs, attrs, at);
}

Tensor min(Tensor x, MinOptions options, Location at) {
  static const Op& row = row_at(4, 5);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.keepdims)};
  return apply_one(row, inputs, attrs, at);
}

Tensor any_true(Tensor x, AnyTrueOptions options, Location at) {
  static const Op& row = row_at(4, 6);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.keepdims)};
  return apply_one(row, inputs, attrs, at);
}

Tensor all_true(Tensor x, AllTrueOptions options, Location at) {
  static const Op& row = row_at(4, 7);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.keepdims)};
  return apply_one(row, inputs, attrs, at);
}

Tensor count_nonzero(Tensor x, CountNonzeroOptions options, Location at) {
  static const Op& row = row_at(4, 8);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.keepdims)};
  return apply_one(row, inputs, attrs, at);
}

Tensor logsumexp(Tensor x, LogsumexpOptions options, Location at) {
  static const Op& row = row_at(4, 9);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.keepdims)};
  return apply_one(row, inputs, attrs, at);
}

Tensor center(Tensor x, CenterOptions options, Location at) {
  static const Op& row = row_at(4, 10);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis)};
  return apply_one(row, inputs, attrs, at);
}

Tensor variance(Tensor x, VarianceOptions options, Location at) {
  static const Op& row = row_at(4, 11);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.keepdims)};
  return apply_one(row, inputs, attrs, at);
}

Tensor stddev(Tensor x, StddevOptions options, Location at) {
  static const Op& row = row_at(4, 12);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.keepdims)};
  return apply_one(row, inputs, attrs, at);
}

Tensor euclidean_norm(Tensor x, EuclideanNormOptions options, Location at) {
  static const Op& row = row_at(4, 13);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.keepdims)};
  return apply_one(row, inputs, attrs, at);
}

MomentsResult moments(Tensor x, MomentsOptions options, Location at) {
  static const Op& row = row_at(4, 14);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.keepdims)};
  Tensors outputs;
  apply({row, inputs, attrs, at}, outputs);
  return {std::move(outputs[0]), std::move(outputs[1])};
}

Tensor argmax(Tensor x, ArgmaxOptions options, Location at) {
  static const Op& row = row_at(4, 15);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.dtype)};
  return apply_one(row, inputs, attrs, at);
}

Tensor argmin(Tensor x, ArgminOptions options, Location at) {
  static const Op& row = row_at(4, 16);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.dtype)};
  return apply_one(row, inputs, attrs, at);
}

Tensor cumsum(Tensor x, CumsumOptions options, Location at) {
  static const Op& row = row_at(4, 17);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.exclusive), to_attr(options.reverse)};
  return apply_one(row, inputs, attrs, at);
}

Tensor cumprod(Tensor x, CumprodOptions options, Location at) {
  static const Op& row = row_at(4, 18);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.exclusive), to_attr(options.reverse)};
  return apply_one(row, inputs, attrs, at);
}

Tensor cumulative_logsumexp(Tensor x, CumulativeLogsumexpOptions options, Location at) {
  static const Op& row = row_at(4, 19);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.exclusive), to_attr(options.reverse)};
  return apply_one(row, inputs, attrs, at);
}

Tensor linear_recurrence(Tensor a, Tensor b, LinearRecurrenceOptions options, Location at) {
  static const Op& row = row_at(4, 20);
  Tensor inputs[] = {std::move(a), std::move(b)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.reverse)};
  return apply_one(row, inputs, attrs, at);
}

Tensor shift_one(Tensor x, ShiftOneOptions options, Location at) {
  static const Op& row = row_at(4, 21);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.reverse)};
  return apply_one(row, inputs, attrs, at);
}

Tensor size(Tensor x, SizeOptions options, Location at) {
  static const Op& row = row_at(4, 22);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis), to_attr(options.dtype)};
  return apply_one(row, inputs, attrs, at);
}

Tensor shape_of(Tensor x, ShapeOfOptions options, Location at) {
  static const Op& row = row_at(4, 23);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.dtype)};
  return apply_one(row, inputs, attrs, at);
}

Tensor rank_of(Tensor x, RankOfOptions options, Location at) {
  static const Op& row = row_at(4, 24);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.dtype)};
  return apply_one(row, inputs, attrs, at);
}

}  // namespace weft::inline v0
