// Convolution of channels-last activations, over one to three spatial axes.
//
//   x  [batch, in..., in_channels]      dy, y [batch, out..., out_channels]
//   w  [window..., in_channels / groups, out_channels]
//
// Sums run over the taps in row-major order, then over the channels: the order depends on the shapes only. What a tap finds outside
// x contributes nothing (not even 0 times an infinite weight).
#pragma once

#include <cstdint>

namespace weft::inline v0::kernels {

inline constexpr int kMaxWindowAxes = 3;

/// One spatial axis. Position o of the result sees in x: o * stride - before + k * dilation for the taps k < window.
struct ConvAxis {
  std::int64_t in = 1, out = 1, window = 1, stride = 1, dilation = 1, before = 0;
};

/// REQUIRES: no size is 0; groups divides both numbers of channels; coordinates as above fit 63 bits. With fewer than three axes the
/// first ones are as initialised.
struct ConvShape {
  std::int64_t batch = 1, in_channels = 1, out_channels = 1, groups = 1;
  ConvAxis axis[kMaxWindowAxes];

  std::int64_t taps() const { return axis[0].window * axis[1].window * axis[2].window; }
  std::int64_t filter_size() const { return taps() * (in_channels / groups) * out_channels; }
};

/// T is float or double. Every element of the result is written.
template <class T>
void conv_forward(const ConvShape& shape, const T* x, const T* w, T* y);
/// `scratch` has room for shape.filter_size() elements.
template <class T>
void conv_backward_input(const ConvShape& shape, const T* dy, const T* w, T* dx, T* scratch);
template <class T>
void conv_backward_filter(const ConvShape& shape, const T* x, const T* dy, T* dw);

}  // namespace weft::inline v0::kernels
