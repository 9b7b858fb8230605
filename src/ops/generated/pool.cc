// Derived from the op table by ./scripts/generate; do not edit.
#include <weft/ops/pool.h>

#include "core/apply.h"
#include "ops/table.h"

namespace weft::inline v0 {

Tensor max_pool1d(Tensor x, IntList ksize, MaxPool1dOptions options, Location at) {
  static const Op& row = row_at(14, 0);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(ksize), to_attr(options.strides), to_attr(options.padding), to_attr(options.pads)};
  return apply_one(row, inputs, attrs, at);
}

Tensor max_pool2d(Tensor x, IntList ksize, MaxPool2dOptions options, Location at) {
  static const Op& row = row_at(14, 1);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(ksize), to_attr(options.strides), to_attr(options.padding), to_attr(options.pads)};
  return apply_one(row, inputs, attrs, at);
}

Tensor max_pool3d(Tensor x, IntList ksize, MaxPool3dOptions options, Location at) {
  static const Op& row = row_at(14, 2);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(ksize), to_attr(options.strides), to_attr(options.padding), to_attr(options.pads)};
  return apply_one(row, inputs, attrs, at);
}

Tensor max_pool_backward(Tensor x, Tensor dy, IntList ksize, MaxPoolBackwardOptions options, Location at) {
  static const Op& row = row_at(14, 3);
  Tensor inputs[] = {std::move(x), std::move(dy)};
  const Attr attrs[] = {to_attr(ksize), to_attr(options.strides), to_attr(options.padding), to_attr(options.pads)};
  return apply_one(row, inputs, attrs, at);
}

Tensor max_pool_take(Tensor x, Tensor values, IntList ksize, MaxPoolTakeOptions options, Location at) {
  static const Op& row = row_at(14, 4);
  Tensor inputs[] = {std::move(x), std::move(values)};
  const Attr attrs[] = {to_attr(ksize), to_attr(options.strides), to_attr(options.padding), to_attr(options.pads)};
  return apply_one(row, inputs, attrs, at);
}

Tensor avg_pool1d(Tensor x, IntList ksize, AvgPool1dOptions options, Location at) {
  static const Op& row = row_at(14, 5);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(ksize), to_attr(options.strides), to_attr(options.padding), to_attr(options.pads)};
  return apply_one(row, inputs, attrs, at);
}

Tensor avg_pool2d(Tensor x, IntList ksize, AvgPool2dOptions options, Location at) {
  static const Op& row = row_at(14, 6);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(ksize), to_attr(options.strides), to_attr(options.padding), to_attr(options.pads)};
  return apply_one(row, inputs, attrs, at);
}

Tensor avg_pool3d(Tensor x, IntList ksize, AvgPool3dOptions options, Location at) {
  static const Op& row = row_at(14, 7);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(ksize), to_attr(options.strides), to_attr(options.padding), to_attr(options.pads)};
  return apply_one(row, inputs, attrs, at);
}

Tensor avg_pool_backward(Tensor dy, Tensor like, IntList ksize, AvgPoolBackwardOptions options, Location at) {
  static const Op& row = row_at(14, 8);
  Tensor inputs[] = {std::move(dy), std::move(like)};
  const Attr attrs[] = {to_attr(ksize), to_attr(options.strides), to_attr(options.padding), to_attr(options.pads)};
  return apply_one(row, inputs, attrs, at);
}

Tensor resize(Tensor x, IntList size, ResizeOptions options, Location at) {
  static const Op& row = row_at(14, 9);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(size), to_attr(options.method)};
  return apply_one(row, inputs, attrs, at);
}

Tensor resize_backward(Tensor dy, Tensor like, IntList size, ResizeBackwardOptions options, Location at) {
  static const Op& row = row_at(14, 10);
  Tensor inputs[] = {std::move(dy), std::move(like)};
  const Attr attrs[] = {to_attr(size), to_attr(options.method)};
  return apply_one(row, inputs, attrs, at);
}

Tensor neighbor_sum(Tensor x, NeighborSumOptions options, Location at) {
  static const Op& row = row_at(14, 11);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.depth_radius)};
  return apply_one(row, inputs, attrs, at);
}

Tensor lrn(Tensor x, LrnOptions options, Location at) {
  static const Op& row = row_at(14, 12);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.depth_radius), to_attr(options.bias), to_attr(options.alpha), to_attr(options.beta)};
  return apply_one(row, inputs, attrs, at);
}

}  // namespace weft::inline v0
