// Convolution of channels-last activations, over one to three spatial axes.
//
//   x  [batch, in..., in_channels]      dy, y [batch, out..., out_channels]
//   w  [window..., in_channels / groups, out_channels]
//
// The order in which products are added depends on the shapes only. What a tap finds outside x contributes nothing (not even 0 times an
// infinite weight).
#pragma once

#include <cstdint>

#include "kernels/blocks.h"
#include "kernels/isa.h"

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

/// T is float or double. Every element of the result is written. Results depend on the shapes, the values and the instruction set, not on
/// the number of threads. Throws OutOfMemoryError. `set` is for tests; `done` may be told of the parts of y.
template <class T>
void conv_forward(const ConvShape& shape, const T* x, const T* w, T* y, Isa set = isa(), const BlockDone* done = nullptr);
template <class T>
void conv_backward_input(const ConvShape& shape, const T* dy, const T* w, T* dx, Isa set = isa());
template <class T>
void conv_backward_filter(const ConvShape& shape, const T* x, const T* dy, T* dw, Isa set = isa());

/// The same by plain loops, up to rounding.
template <class T>
void conv_forward_reference(const ConvShape& shape, const T* x, const T* w, T* y);
template <class T>
void conv_backward_input_reference(const ConvShape& shape, const T* dy, const T* w, T* dx);
template <class T>
void conv_backward_filter_reference(const ConvShape& shape, const T* x, const T* dy, T* dw);

}  // namespace weft::inline v0::kernels
