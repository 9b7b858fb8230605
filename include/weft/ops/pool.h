// Pooling and resizing.
//
// Derived from the op table by ./scripts/generate; do not edit.
#pragma once

#include <weft/ops/types.h>

namespace weft::inline v0 {

struct MaxPool1dOptions { IntList strides = {}; Padding padding = Padding::kValid; Pairs pads = {}; };
WEFT_API Tensor max_pool1d(Tensor x, IntList ksize, MaxPool1dOptions options = {}, Location at = Location::here());  ///< Maximum in windows of ksize, strides apart (ksize if left out), over x [batch, length, channels]. Gradients go to the first maximum.
struct MaxPool2dOptions { IntList strides = {}; Padding padding = Padding::kValid; Pairs pads = {}; };
WEFT_API Tensor max_pool2d(Tensor x, IntList ksize, MaxPool2dOptions options = {}, Location at = Location::here());  ///< Maximum in windows of ksize, strides apart (ksize if left out), over x [batch, height, width, channels]. Gradients go to the first maximum.
struct MaxPool3dOptions { IntList strides = {}; Padding padding = Padding::kValid; Pairs pads = {}; };
WEFT_API Tensor max_pool3d(Tensor x, IntList ksize, MaxPool3dOptions options = {}, Location at = Location::here());  ///< Maximum in windows of ksize, strides apart (ksize if left out), over x [batch, depth, height, width, channels]. Gradients go to the first maximum.
struct MaxPoolBackwardOptions { IntList strides = {}; Padding padding = Padding::kValid; Pairs pads = {}; };
WEFT_API Tensor max_pool_backward(Tensor x, Tensor dy, IntList ksize, MaxPoolBackwardOptions options = {}, Location at = Location::here());  ///< The gradient of max pooling x: zeros but for the sum, at the first maximum of each window, of its dy.
struct MaxPoolTakeOptions { IntList strides = {}; Padding padding = Padding::kValid; Pairs pads = {}; };
WEFT_API Tensor max_pool_take(Tensor x, Tensor values, IntList ksize, MaxPoolTakeOptions options = {}, Location at = Location::here());  ///< What values, of the shape of x, has where each window of x has its first maximum.
struct AvgPool1dOptions { IntList strides = {}; Padding padding = Padding::kValid; Pairs pads = {}; };
WEFT_API Tensor avg_pool1d(Tensor x, IntList ksize, AvgPool1dOptions options = {}, Location at = Location::here());  ///< Mean in windows of ksize, strides apart (ksize if left out), over x [batch, length, channels]; padding does not count.
struct AvgPool2dOptions { IntList strides = {}; Padding padding = Padding::kValid; Pairs pads = {}; };
WEFT_API Tensor avg_pool2d(Tensor x, IntList ksize, AvgPool2dOptions options = {}, Location at = Location::here());  ///< Mean in windows of ksize, strides apart (ksize if left out), over x [batch, height, width, channels]; padding does not count.
struct AvgPool3dOptions { IntList strides = {}; Padding padding = Padding::kValid; Pairs pads = {}; };
WEFT_API Tensor avg_pool3d(Tensor x, IntList ksize, AvgPool3dOptions options = {}, Location at = Location::here());  ///< Mean in windows of ksize, strides apart (ksize if left out), over x [batch, depth, height, width, channels]; padding does not count.
struct AvgPoolBackwardOptions { IntList strides = {}; Padding padding = Padding::kValid; Pairs pads = {}; };
WEFT_API Tensor avg_pool_backward(Tensor dy, Tensor like, IntList ksize, AvgPoolBackwardOptions options = {}, Location at = Location::here());  ///< The gradient of average pooling for an x of the shape of like: each window's dy, shared out evenly.
struct ResizeOptions { ResizeMethod method = ResizeMethod::kBilinear; };
WEFT_API Tensor resize(Tensor x, IntList size, ResizeOptions options = {}, Location at = Location::here());  ///< Images [..., height, width, channels] resized to size (height, width), with half-pixel centres and without antialiasing.
struct ResizeBackwardOptions { ResizeMethod method = ResizeMethod::kBilinear; };
WEFT_API Tensor resize_backward(Tensor dy, Tensor like, IntList size, ResizeBackwardOptions options = {}, Location at = Location::here());  ///< The gradient of resize for an x of the shape of like: its transpose.
struct NeighborSumOptions { std::int64_t depth_radius = 5; };
WEFT_API Tensor neighbor_sum(Tensor x, NeighborSumOptions options = {}, Location at = Location::here());  ///< Sum over the channels (the last axis) that are at most depth_radius away.
struct LrnOptions { std::int64_t depth_radius = 5; double bias = 1.0; double alpha = 1.0; double beta = 0.5; };
WEFT_API Tensor lrn(Tensor x, LrnOptions options = {}, Location at = Location::here());  ///< Local response normalisation over the last axis: x / (bias + alpha * sum of squares within depth_radius channels) ** beta.

}  // namespace weft::inline v0
