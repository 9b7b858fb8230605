// Softmax, losses, normalisation and clipping.
//
// Derived from the op table by ./scripts/generate; do not edit.
#pragma once

#include <weft/ops/types.h>

namespace weft::inline v0 {

struct SoftmaxOptions { std::int64_t axis = -1; };
WEFT_API Tensor softmax(Tensor x, SoftmaxOptions options = {}, Location at = Location::here());  ///< exp(x) over its sum along an axis, stable for large x.
struct SoftmaxBackwardOptions { std::int64_t axis = -1; };
WEFT_API Tensor softmax_backward(Tensor y, Tensor dy, SoftmaxBackwardOptions options = {}, Location at = Location::here());  ///< The gradient of softmax from its result y: y * (dy - sum(dy * y)).
struct LogSoftmaxOptions { std::int64_t axis = -1; };
WEFT_API Tensor log_softmax(Tensor x, LogSoftmaxOptions options = {}, Location at = Location::here());  ///< x - log(sum(exp(x))) along an axis, stable for large x.
struct LogSoftmaxBackwardOptions { std::int64_t axis = -1; };
WEFT_API Tensor log_softmax_backward(Tensor y, Tensor dy, LogSoftmaxBackwardOptions options = {}, Location at = Location::here());  ///< The gradient of log_softmax from its result y: dy - exp(y) * sum(dy).
struct SoftmaxCrossEntropyOptions { std::int64_t axis = -1; };
WEFT_API Tensor softmax_cross_entropy(Tensor labels, Tensor logits, SoftmaxCrossEntropyOptions options = {}, Location at = Location::here());  ///< Cross entropy -sum(labels * log_softmax(logits)) along an axis, for labels that are probabilities of the classes.
struct SoftmaxCrossEntropyBackwardOptions { std::int64_t axis = -1; };
WEFT_API Tensor softmax_cross_entropy_backward(Tensor labels, Tensor logits, Tensor dy, SoftmaxCrossEntropyBackwardOptions options = {}, Location at = Location::here());  ///< The gradient of softmax_cross_entropy with respect to its logits: dy * (softmax(logits) * sum(labels) - labels).
WEFT_API Tensor sparse_softmax_cross_entropy(Tensor labels, Tensor logits, Location at = Location::here());  ///< Cross entropy -log_softmax(logits)[label] along the last axis, for labels that name the right class.
WEFT_API Tensor sparse_softmax_cross_entropy_backward(Tensor labels, Tensor logits, Tensor dy, Location at = Location::here());  ///< The gradient of sparse_softmax_cross_entropy with respect to its logits: dy * (softmax(logits), less 1 at the label).
WEFT_API Tensor sigmoid_cross_entropy(Tensor labels, Tensor logits, Location at = Location::here());  ///< Elementwise -labels * log(sigmoid(logits)) - (1 - labels) * log(1 - sigmoid(logits)), stable for large logits.
WEFT_API Tensor bias_add(Tensor x, Tensor bias, Location at = Location::here());  ///< x plus a bias for each channel, the last axis.
WEFT_API Tensor batch_normalization(Tensor x, Tensor mean, Tensor variance, Tensor offset, Tensor scale, double variance_epsilon, Location at = Location::here());  ///< (x - mean) / sqrt(variance + variance_epsilon) * scale + offset; all five broadcast.
struct StandardizeOptions { double epsilon = 0.001; };
WEFT_API Tensor standardize(Tensor x, StandardizeOptions options = {}, Location at = Location::here());  ///< x less its mean, over its standard deviation, along the last axis: (x - mean) / sqrt(variance + epsilon).
struct StandardizeBackwardOptions { double epsilon = 0.001; };
WEFT_API Tensor standardize_backward(Tensor x, Tensor dy, StandardizeBackwardOptions options = {}, Location at = Location::here());  ///< The gradient of standardize: (dy - mean(dy) - y * mean(dy * y)) / sqrt(variance + epsilon), where y = standardize(x).
struct LayerNormOptions { double epsilon = 0.001; };
WEFT_API Tensor layer_norm(Tensor x, Tensor scale, Tensor offset, LayerNormOptions options = {}, Location at = Location::here());  ///< Layer normalisation: x standardised along the last axis, times scale, plus offset.
struct LayerNormBackwardOptions { double epsilon = 0.001; };
struct LayerNormBackwardResult { Tensor dx, dscale, doffset; };
WEFT_API LayerNormBackwardResult layer_norm_backward(Tensor x, Tensor scale, Tensor dy, LayerNormBackwardOptions options = {}, Location at = Location::here());  ///< The gradients of layer_norm with respect to x, scale and offset: standardize_backward(x, dy * scale), and the sums over rows of dy * standardize(x) and of dy.
WEFT_API Tensor global_norm(std::vector<Tensor> xs, Location at = Location::here());  ///< The square root of the sum of the squares of all elements of all tensors.
struct ClipByNormOptions { Axes axes = {}; };
WEFT_API Tensor clip_by_norm(Tensor x, double clip_norm, ClipByNormOptions options = {}, Location at = Location::here());  ///< x scaled down along axes (all if left out) where its L2 norm exceeds clip_norm, to have that norm.
WEFT_API std::vector<Tensor> clip_by_global_norm(std::vector<Tensor> xs, double clip_norm, Location at = Location::here());  ///< All tensors scaled down together if their global_norm exceeds clip_norm, to have that norm; the last result is the norm before. An infinite norm gives NaN.

}  // namespace weft::inline v0
