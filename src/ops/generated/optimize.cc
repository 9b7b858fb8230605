// Derived from the op table by ./scripts/generate; do not edit.
#include <weft/ops/optimize.h>

#include "core/apply.h"
#include "ops/table.h"

namespace weft::inline v0 {

std::vector<Tensor> sgd_update(Tensor learning_rate, std::vector<Tensor> tensors, SgdUpdateOptions options, Location at) {
  static const Op& row = row_at(17, 0);
  SmallVector<Tensor, 4> inputs;
  inputs.push_back(std::move(learning_rate));
  for (Tensor& t : tensors) inputs.push_back(std::move(t));
  const Attr attrs[] = {to_attr(options.momentum), to_attr(options.nesterov), to_attr(options.weight_decay), to_attr(options.sizes_given)};
  Tensors outputs;
  apply({row, inputs, attrs, at}, outputs);
  return {outputs.begin(), outputs.end()};
}

std::vector<Tensor> adam_update(Tensor learning_rate, Tensor iterations, std::vector<Tensor> tensors, AdamUpdateOptions options, Location at) {
  static const Op& row = row_at(17, 1);
  SmallVector<Tensor, 4> inputs;
  inputs.push_back(std::move(learning_rate));
  inputs.push_back(std::move(iterations));
  for (Tensor& t : tensors) inputs.push_back(std::move(t));
  const Attr attrs[] = {to_attr(options.beta_1), to_attr(options.beta_2), to_attr(options.epsilon), to_attr(options.amsgrad), to_attr(options.weight_decay), to_attr(options.sizes_given)};
  Tensors outputs;
  apply({row, inputs, attrs, at}, outputs);
  return {outputs.begin(), outputs.end()};
}

std::vector<Tensor> adamax_update(Tensor learning_rate, Tensor iterations, std::vector<Tensor> tensors, AdamaxUpdateOptions options, Location at) {
  static const Op& row = row_at(17, 2);
  SmallVector<Tensor, 4> inputs;
  inputs.push_back(std::move(learning_rate));
  inputs.push_back(std::move(iterations));
  for (Tensor& t : tensors) inputs.push_back(std::move(t));
  const Attr attrs[] = {to_attr(options.beta_1), to_attr(options.beta_2), to_attr(options.epsilon), to_attr(options.weight_decay), to_attr(options.sizes_given)};
  Tensors outputs;
  apply({row, inputs, attrs, at}, outputs);
  return {outputs.begin(), outputs.end()};
}

std::vector<Tensor> nadam_update(Tensor learning_rate, Tensor iterations, std::vector<Tensor> tensors, NadamUpdateOptions options, Location at) {
  static const Op& row = row_at(17, 3);
  SmallVector<Tensor, 4> inputs;
  inputs.push_back(std::move(learning_rate));
  inputs.push_back(std::move(iterations));
  for (Tensor& t : tensors) inputs.push_back(std::move(t));
  const Attr attrs[] = {to_attr(options.beta_1), to_attr(options.beta_2), to_attr(options.epsilon), to_attr(options.weight_decay), to_attr(options.sizes_given)};
  Tensors outputs;
  apply({row, inputs, attrs, at}, outputs);
  return {outputs.begin(), outputs.end()};
}

std::vector<Tensor> adagrad_update(Tensor learning_rate, std::vector<Tensor> tensors, AdagradUpdateOptions options, Location at) {
  static const Op& row = row_at(17, 4);
  SmallVector<Tensor, 4> inputs;
  inputs.push_back(std::move(learning_rate));
  for (Tensor& t : tensors) inputs.push_back(std::move(t));
  const Attr attrs[] = {to_attr(options.epsilon), to_attr(options.weight_decay), to_attr(options.sizes_given)};
  Tensors outputs;
  apply({row, inputs, attrs, at}, outputs);
  return {outputs.begin(), outputs.end()};
}

std::vector<Tensor> adadelta_update(Tensor learning_rate, std::vector<Tensor> tensors, AdadeltaUpdateOptions options, Location at) {
  static const Op& row = row_at(17, 5);
  SmallVector<Tensor, 4> inputs;
  inputs.push_back(std::move(learning_rate));
  for (Tensor& t : tensors) inputs.push_back(std::move(t));
  const Attr attrs[] = {to_attr(options.rho), to_attr(options.epsilon), to_attr(options.weight_decay), to_attr(options.sizes_given)};
  Tensors outputs;
  apply({row, inputs, attrs, at}, outputs);
  return {outputs.begin(), outputs.end()};
}

std::vector<Tensor> rmsprop_update(Tensor learning_rate, std::vector<Tensor> tensors, RmspropUpdateOptions options, Location at) {
  static const Op& row = row_at(17, 6);
  SmallVector<Tensor, 4> inputs;
  inputs.push_back(std::move(learning_rate));
  for (Tensor& t : tensors) inputs.push_back(std::move(t));
  const Attr attrs[] = {to_attr(options.rho), to_attr(options.momentum), to_attr(options.epsilon), to_attr(options.centered), to_attr(options.weight_decay), to_attr(options.sizes_given)};
  Tensors outputs;
  apply({row, inputs, attrs, at}, outputs);
  return {outputs.begin(), outputs.end()};
}

std::vector<Tensor> ftrl_update(Tensor learning_rate, std::vector<Tensor> tensors, FtrlUpdateOptions options, Location at) {
  static const Op& row = row_at(17, 7);
  SmallVector<Tensor, 4> inputs;
  inputs.push_back(std::move(learning_rate));
  for (Tensor& t : tensors) inputs.push_back(std::move(t));
  const Attr attrs[] = {to_attr(options.learning_rate_power), to_attr(options.l1_regularization_strength), to_attr(options.l2_regularization_strength), to_attr(options.l2_shrinkage_regularization_strength), to_attr(options.beta), to_attr(options.weight_decay), to_attr(options.sizes_given)};
  Tensors outputs;
  apply({row, inputs, attrs, at}, outputs);
  return {outputs.begin(), outputs.end()};
}

std::vector<Tensor> lion_update(Tensor learning_rate, std::vector<Tensor> tensors, LionUpdateOptions options, Location at) {
  static const Op& row = row_at(17, 8);
  SmallVector<Tensor, 4> inputs;
  inputs.push_back(std::move(learning_rate));
  for (Tensor& t : tensors) inputs.push_back(std::move(t));
  const Attr attrs[] = {to_attr(options.beta_1), to_attr(options.beta_2), to_attr(options.weight_decay), to_attr(options.sizes_given)};
  Tensors outputs;
  apply({row, inputs, attrs, at}, outputs);
  return {outputs.begin(), outputs.end()};
}

}  // namespace weft::inline v0
