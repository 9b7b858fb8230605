// Gradients against central differences.
#pragma once

#include <string>

#include "tests/samples.h"

namespace weft::test {

/// What a gradient check found: nothing, or a sentence for each disagreement.
struct GradientReport {
  std::size_t comparisons = 0;
  std::string failure;  // the first one
};

/// Whether the call has a floating output and a floating input, so that a gradient could exist.
bool could_have_gradient(const Arguments& arguments, const Tensors& outputs);

/// Compares the tape with central differences in f64 (eps 1e-6, atol 1e-5, rtol 1e-3): the full Jacobian if it is small, else random
/// directions. `symmetric[i]` says that input i is a symmetric matrix and may move only as one.
/// REQUIRES: floating inputs of T are f64.
GradientReport check_first_order(const Op& op, const Arguments& arguments, const std::vector<bool>& symmetric, std::uint64_t seed);
/// The same for the gradient as a function of the inputs and of the incoming gradient, in random directions.
GradientReport check_second_order(const Op& op, const Arguments& arguments, const std::vector<bool>& symmetric, std::uint64_t seed);

/// Compares tangents with the tape, in f64: what weighs the outputs' tangents weighs the inputs' tangents by its gradient. All inputs move, then
/// each alone. Both come from the row's gradient, so the error allowed is that of rounding.
GradientReport check_forward(const Op& op, const Arguments& arguments, std::uint64_t seed);

std::vector<bool> symmetric_inputs(const Sample& sample);

/// Incoming gradients for the floating outputs, then the gradients of the floating inputs in order, zeros where nothing flows.
std::vector<Tensor> seeds_for(const Tensors& outputs, std::uint64_t seed);
std::vector<Tensor> gradients_of(const Op& op, const Arguments& arguments, const std::vector<Tensor>& seeds);

}  // namespace weft::test
