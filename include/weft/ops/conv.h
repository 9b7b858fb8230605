// Convolution.
//
// Derived from the op table by ./scripts/generate; do not edit.
#pragma once

#include <weft/ops/types.h>

namespace weft::inline v0 {

struct Conv1dOptions { IntList strides = {1}; Padding padding = Padding::kValid; Pairs pads = {}; IntList dilations = {1}; };
WEFT_API Tensor conv1d(Tensor x, Tensor filters, Conv1dOptions options = {}, Location at = Location::here());  ///< Convolution of x [batch, length, channels] with filters [length, input channels, output channels]; filters that take a divisor of x's channels divide them into groups.
struct Conv2dOptions { IntList strides = {1}; Padding padding = Padding::kValid; Pairs pads = {}; IntList dilations = {1}; };
WEFT_API Tensor conv2d(Tensor x, Tensor filters, Conv2dOptions options = {}, Location at = Location::here());  ///< Convolution of x [batch, height, width, channels] with filters [height, width, input channels, output channels]; filters that take a divisor of x's channels divide them into groups.
struct Conv3dOptions { IntList strides = {1}; Padding padding = Padding::kValid; Pairs pads = {}; IntList dilations = {1}; };
WEFT_API Tensor conv3d(Tensor x, Tensor filters, Conv3dOptions options = {}, Location at = Location::here());  ///< Convolution of x [batch, depth, height, width, channels] with filters [depth, height, width, input channels, output channels]; filters that take a divisor of x's channels divide them into groups.
struct ConvBackwardInputOptions { IntList strides = {1}; Padding padding = Padding::kValid; Pairs pads = {}; IntList dilations = {1}; };
WEFT_API Tensor conv_backward_input(Tensor dy, Tensor filters, Tensor like, ConvBackwardInputOptions options = {}, Location at = Location::here());  ///< The gradient of a convolution with respect to its x, which has the shape of like: the transposed convolution of dy, over 1 to 3 spatial axes.
struct ConvBackwardFilterOptions { IntList strides = {1}; Padding padding = Padding::kValid; Pairs pads = {}; IntList dilations = {1}; };
WEFT_API Tensor conv_backward_filter(Tensor x, Tensor dy, Tensor like, ConvBackwardFilterOptions options = {}, Location at = Location::here());  ///< The gradient of a convolution of x with respect to its filters, which have the shape of like, over 1 to 3 spatial axes.
struct Conv1dTransposeOptions { IntList strides = {1}; Padding padding = Padding::kValid; Pairs pads = {}; IntList dilations = {1}; };
WEFT_API Tensor conv1d_transpose(Tensor x, Tensor filters, Shape output_shape, Conv1dTransposeOptions options = {}, Location at = Location::here());  ///< The transposed convolution of x with filters [length, output channels, x's channels]: the gradient of conv1d for an input of output_shape, in which the batch may be -1.
struct Conv2dTransposeOptions { IntList strides = {1}; Padding padding = Padding::kValid; Pairs pads = {}; IntList dilations = {1}; };
WEFT_API Tensor conv2d_transpose(Tensor x, Tensor filters, Shape output_shape, Conv2dTransposeOptions options = {}, Location at = Location::here());  ///< The transposed convolution of x with filters [height, width, output channels, x's channels]: the gradient of conv2d for an input of output_shape, in which the batch may be -1.
struct Conv3dTransposeOptions { IntList strides = {1}; Padding padding = Padding::kValid; Pairs pads = {}; IntList dilations = {1}; };
WEFT_API Tensor conv3d_transpose(Tensor x, Tensor filters, Shape output_shape, Conv3dTransposeOptions options = {}, Location at = Location::here());  ///< The transposed convolution of x with filters [depth, height, width, output channels, x's channels]: the gradient of conv3d for an input of output_shape, in which the batch may be -1.
WEFT_API Tensor grouped_filters(Tensor filters, Location at = Location::here());  ///< Depthwise filters [..., channels, multiplier] as those [..., 1, channels * multiplier] of a convolution with one group for each channel.
struct DepthwiseConv2dOptions { IntList strides = {1}; Padding padding = Padding::kValid; Pairs pads = {}; IntList dilations = {1}; };
WEFT_API Tensor depthwise_conv2d(Tensor x, Tensor filters, DepthwiseConv2dOptions options = {}, Location at = Location::here());  ///< Convolution of each channel c of x with its own filters [height, width, c, m]; channel c * multiplier + m of the result is from filter m.
struct SeparableConv2dOptions { IntList strides = {1}; Padding padding = Padding::kValid; Pairs pads = {}; IntList dilations = {1}; };
WEFT_API Tensor separable_conv2d(Tensor x, Tensor depthwise_filters, Tensor pointwise_filters, SeparableConv2dOptions options = {}, Location at = Location::here());  ///< A depthwise convolution, then one with pointwise_filters [1, 1, channels * multiplier, output channels].

}  // namespace weft::inline v0
