// Derived from the op table by ./scripts/generate; do not edit.
#include <weft/ops/nn.h>

#include "core/apply.h"
#include "ops/table.h"

namespace weft::inline v0 {

Tensor softmax(Tensor x, SoftmaxOptions options, Location at) {
  static const Op& row = row_at(15, 0);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis)};
  return apply_one(row, inputs, attrs, at);
}

Tensor softmax_backward(Tensor y, Tensor dy, SoftmaxBackwardOptions options, Location at) {
  static const Op& row = row_at(15, 1);
  Tensor inputs[] = {std::move(y), std::move(dy)};
  const Attr attrs[] = {to_attr(options.axis)};
  return apply_one(row, inputs, attrs, at);
}

Tensor log_softmax(Tensor x, LogSoftmaxOptions options, Location at) {
  static const Op& row = row_at(15, 2);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.axis)};
  return apply_one(row, inputs, attrs, at);
}

Tensor log_softmax_backward(Tensor y, Tensor dy, LogSoftmaxBackwardOptions options, Location at) {
  static const Op& row = row_at(15, 3);
  Tensor inputs[] = {std::move(y), std::move(dy)};
  const Attr attrs[] = {to_attr(options.axis)};
  return apply_one(row, inputs, attrs, at);
}

Tensor softmax_cross_entropy(Tensor labels, Tensor logits, SoftmaxCrossEntropyOptions options, Location at) {
  static const Op& row = row_at(15, 4);
  Tensor inputs[] = {std::move(labels), std::move(logits)};
  const Attr attrs[] = {to_attr(options.axis)};
  return apply_one(row, inputs, attrs, at);
}

Tensor softmax_cross_entropy_backward(Tensor labels, Tensor logits, Tensor dy, SoftmaxCrossEntropyBackwardOptions options, Location at) {
  static const Op& row = row_at(15, 5);
  Tensor inputs[] = {std::move(labels), std::move(logits), std::move(dy)};
  const Attr attrs[] = {to_attr(options.axis)};
  return apply_one(row, inputs, attrs, at);
}

Tensor sparse_softmax_cross_entropy(Tensor labels, Tensor logits, Location at) {
  static const Op& row = row_at(15, 6);
  Tensor inputs[] = {std::move(labels), std::move(logits)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor sparse_softmax_cross_entropy_backward(Tensor labels, Tensor logits, Tensor dy, Location at) {
  static const Op& row = row_at(15, 7);
  Tensor inputs[] = {std::move(labels), std::move(logits), std::move(dy)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor sigmoid_cross_entropy(Tensor labels, Tensor logits, Location at) {
  static const Op& row = row_at(15, 8);
  Tensor inputs[] = {std::move(labels), std::move(logits)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor bias_add(Tensor x, Tensor bias, Location at) {
  static const Op& row = row_at(15, 9);
  Tensor inputs[] = {std::move(x), std::move(bias)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor batch_normalization(Tensor x, Tensor mean, Tensor variance, Tensor offset, Tensor scale, double variance_epsilon, Location at) {
  static const Op& row = row_at(15, 10);
  Tensor inputs[] = {std::move(x), std::move(mean), std::move(variance), std::move(offset), std::move(scale)};
  const Attr attrs[] = {to_attr(variance_epsilon)};
  return apply_one(row, inputs, attrs, at);
}

Tensor standardize(Tensor x, StandardizeOptions options, Location at) {
  static const Op& row = row_at(15, 11);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(options.epsilon)};
  return apply_one(row, inputs, attrs, at);
}

Tensor standardize_backward(Tensor x, Tensor dy, StandardizeBackwardOptions options, Location at) {
  static const Op& row = row_at(15, 12);
  Tensor inputs[] = {std::move(x), std::move(dy)};
  const Attr attrs[] = {to_attr(options.epsilon)};
  return apply_one(row, inputs, attrs, at);
}

Tensor layer_norm(Tensor x, Tensor scale, Tensor offset, LayerNormOptions options, Location at) {
  static const Op& row = row_at(15, 13);
  Tensor inputs[] = {std::move(x), std::move(scale), std::move(offset)};
  const Attr attrs[] = {to_attr(options.epsilon)};
  return apply_one(row, inputs, attrs, at);
}

LayerNormBackwardResult layer_norm_backward(Tensor x, Tensor scale, Tensor dy, LayerNormBackwardOptions options, Location at) {
  static const Op& row = row_at(15, 14);
  Tensor inputs[] = {std::move(x), std::move(scale), std::move(dy)};
  const Attr attrs[] = {to_attr(options.epsilon)};
  Tensors outputs;
  apply({row, inputs, attrs, at}, outputs);
  return {std::move(outputs[0]), std::move(outputs[1]), std::move(outputs[2])};
}

Tensor global_norm(std::vector<Tensor> xs, Location at) {
  static const Op& row = row_at(15, 15);
  SmallVector<Tensor, 4> inputs;
  for (Tensor& t : xs) inputs.push_back(std::move(t));
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

Tensor clip_by_norm(Tensor x, double clip_norm, ClipByNormOptions options, Location at) {
  static const Op& row = row_at(15, 16);
  Tensor inputs[] = {std::move(x)};
  const Attr attrs[] = {to_attr(clip_norm), to_attr(options.axes)};
  return apply_one(row, inputs, attrs, at);
}

std::vector<Tensor> clip_by_global_norm(std::vector<Tensor> xs, double clip_norm, Location at) {
  static const Op& row = row_at(15, 17);
  SmallVector<Tensor, 4> inputs;
  for (Tensor& t : xs) inputs.push_back(std::move(t));
  const Attr attrs[] = {to_attr(clip_norm)};
  Tensors outputs;
  apply({row, inputs, attrs, at}, outputs);
  return {outputs.begin(), outputs.end()};
}

}  // namespace weft::inline v0
