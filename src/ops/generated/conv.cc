// Derived from the op table by ./scripts/generate; do not edit.
#include <weft/ops/conv.h>

#include "core/apply.h"
#include "ops/table.h"

namespace weft::inline v0 {

Tensor conv1d(Tensor x, Tensor filters, Conv1dOptions options, Location at) {
  static const Op& row = row_at(13, 0);
  Tensor inputs[] = {std::move(x), std::move(filters)};
  const Attr attrs[] = {to_attr(options.strides), to_attr(options.padding), to_attr(options.pads), to_attr(options.dilations)};
  return apply_one(row, inputs, attrs, at);
}

Tensor conv2d(Tensor x, Tensor filters, Conv2dOptions options, Location at) {
  static const Op& row = row_at(13, 1);
  Tensor inputs[] = {std::move(x), std::move(filters)};
  const Attr attrs[] = {to_attr(options.strides), to_attr(options.padding), to_attr(options.pads), to_attr(options.dilations)};
  return apply_one(row, inputs, attrs, at);
}

Tensor conv3d(Tensor x, Tensor filters, Conv3dOptions options, Location at) {
  static const Op& row = row_at(13, 2);
  Tensor inputs[] = {std::move(x), std::move(filters)};
  const Attr attrs[] = {to_attr(options.strides), to_attr(options.padding), to_attr(options.pads), to_attr(options.dilations)};
  return apply_one(row, inputs, attrs, at);
}

Tensor conv_backward_input(Tensor dy, Tensor filters, Tensor like, ConvBackwardInputOptions options, Location at) {
  static const Op& row = row_at(13, 3);
  Tensor inputs[] = {std::move(dy), std::move(filters), std::move(like)};
  const Attr attrs[] = {to_attr(options.strides), to_attr(options.padding), to_attr(options.pads), to_attr(options.dilations)};
  return apply_one(row, inputs, attrs, at);
}

Tensor conv_backward_filter(Tensor x, Tensor dy, Tensor like, ConvBackwardFilterOptions options, Location at) {
  static const Op& row = row_at(13, 4);
  Tensor inputs[] = {std::move(x), std::move(dy), std::move(like)};
  const Attr attrs[] = {to_attr(options.strides), to_attr(options.padding), to_attr(options.pads), to_attr(options.dilations)};
  return apply_one(row, inputs, attrs, at);
}

Tensor conv1d_transpose(Tensor x, Tensor filters, Shape output_shape, Conv1dTransposeOptions options, Location at) {
  static const Op& row = row_at(13, 5);
  Tensor inputs[] = {std::move(x), std::move(filters)};
  const Attr attrs[] = {to_attr(output_shape), to_attr(options.strides), to_attr(options.padding), to_attr(options.pads), to_attr(options.dilations)};
  return apply_one(row, inputs, attrs, at);
}

Tensor conv2d_transpose(Tensor x, Tensor filters, Shape output_shape, Conv2dTransposeOptions options, Location at) {
  static const Op& row = row_at(13, 6);
  Tensor inputs[] = {std::move(x), std::move(filters)};
  const Attr attrs[] = {to_attr(output_shape), to_attr(options.strides), to_attr(options.padding), to_attr(options.pads), to_attr(options.dilations)};
  return apply_one(row, inputs, attrs, at);
}

Tensor conv3d_transpose(Tensor x, Tensor filters, Shape output_shape, Conv3dTransposeOptions options, Location at) {
  static const Op& row = row_at(13, 7);
  Tensor inputs[] = {std::move(x), std::move(filters)};
  const Attr attrs[] = {to_attr(output_shape), to_attr(options.strides), to_attr(options.padding), to_attr(options.pads), to_attr(options.dilations)};
  return apply_one(row, inputs, attrs, at);
}

Tensor grouped_filters(Tensor filters, Location at) {
  static const Op& row = row_at(13, 8);
  Tensor inputs[] = {std::move(filters)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor depthwise_conv2d(Tensor x, Tensor filters, DepthwiseConv2dOptions options, Location at) {
  static const Op& row = row_at(13, 9);
  Tensor inputs[] = {std::move(x), std::move(filters)};
  const Attr attrs[] = {to_attr(options.strides), to_attr(options.padding), to_attr(options.pads), to_attr(options.dilations)};
  return apply_one(row, inputs, attrs, at);
}

Tensor separable_conv2d(Tensor x, Tensor depthwise_filters, Tensor pointwise_filters, SeparableConv2dOptions options, Location at) {
  static const Op& row = row_at(13, 10);
  Tensor inputs[] = {std::move(x), std::move(depthwise_filters), std::move(pointwise_filters)};
  const Attr attrs[] = {to_attr(options.strides), to_attr(options.padding), to_attr(options.pads), to_attr(options.dilations)};
  return apply_one(row, inputs, attrs, at);
}

}  // namespace weft::inline v0
