// Activation functions.
//
// Derived from the op table by ./scripts/generate; do not edit.
#pragma once

#include <weft/ops/types.h>

namespace weft::inline v0 {

WEFT_API Tensor relu(Tensor x, Location at = Location::here());  ///< Elementwise max(x, 0); NaN stays NaN. Its gradient at 0 is 0.
WEFT_API Tensor relu_backward(Tensor x, Tensor dy, Location at = Location::here());  ///< dy where x is above 0, else 0: the gradient of relu.
WEFT_API Tensor relu6(Tensor x, Location at = Location::here());  ///< Elementwise min(max(x, 0), 6); NaN stays NaN. Its gradient at 0 and 6 is 0.
struct LeakyReluOptions { double alpha = 0.2; };
WEFT_API Tensor leaky_relu(Tensor x, LeakyReluOptions options = {}, Location at = Location::here());  ///< Elementwise x, and alpha x below 0.
struct EluOptions { double alpha = 1.0; };
WEFT_API Tensor elu(Tensor x, EluOptions options = {}, Location at = Location::here());  ///< Elementwise x, and alpha (exp(x) - 1) below 0.
WEFT_API Tensor selu(Tensor x, Location at = Location::here());  ///< Elementwise scaled elu, whose constants keep mean 0 and variance 1 through layers.
struct GeluOptions { bool approximate = false; };
WEFT_API Tensor gelu(Tensor x, GeluOptions options = {}, Location at = Location::here());  ///< Elementwise x times the probability that a standard normal number is below x; approximate uses its tanh form.
WEFT_API Tensor gelu_erf(Tensor x, Location at = Location::here());  ///< Elementwise gelu, exact.
WEFT_API Tensor gelu_erf_backward(Tensor x, Tensor dy, Location at = Location::here());  ///< The gradient of gelu_erf: dy times its derivative at x.
WEFT_API Tensor gelu_tanh(Tensor x, Location at = Location::here());  ///< Elementwise gelu in its tanh form.
WEFT_API Tensor gelu_tanh_backward(Tensor x, Tensor dy, Location at = Location::here());  ///< The gradient of gelu_tanh: dy times its derivative at x.
WEFT_API Tensor silu(Tensor x, Location at = Location::here());  ///< Elementwise x sigmoid(x), also called swish.
WEFT_API Tensor silu_backward(Tensor x, Tensor dy, Location at = Location::here());  ///< The gradient of silu: dy times its derivative at x.
WEFT_API Tensor softsign(Tensor x, Location at = Location::here());  ///< Elementwise x / (1 + |x|).

}  // namespace weft::inline v0
