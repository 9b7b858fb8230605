// Pooling of channels-last activations over one to three spatial axes: x [batch, in..., channels], y [batch, out..., channels].
//
// A window sees only what lies inside x: padding neither wins a maximum nor counts in an average. The first maximum of a window in row-major
// order stands for it; a NaN is greater than any number.
#pragma once

#include "kernels/conv.h"

namespace weft::inline v0::kernels {

/// REQUIRES: no size is 0; every window meets x; dilations are 1.
struct PoolShape {
  std::int64_t batch = 1, channels = 1;
  ConvAxis axis[kMaxWindowAxes];
};

/// T is any arithmetic element type but bool. `set` is for tests.
template <class T>
void max_pool(const PoolShape& shape, const T* x, T* y, Isa set = isa());

// The others for float and double.

/// dx is zero but for the sum, at each window's maximum of x, of its dy.
template <class T>
void max_pool_backward(const PoolShape& shape, const T* x, const T* dy, T* dx, Isa set = isa());
/// y is what `values`, of the shape of x, has at each window's maximum of x.
template <class T>
void max_pool_take(const PoolShape& shape, const T* x, const T* values, T* y);
template <class T>
void avg_pool(const PoolShape& shape, const T* x, T* y);
template <class T>
void avg_pool_backward(const PoolShape& shape, const T* dy, T* dx);

/// y[c] = sum of x[d] for |c - d| <= radius, in each of `rows` rows of `channels`. REQUIRES: radius >= 0.
template <class T>
void neighbor_sum(std::int64_t rows, std::int64_t channels, std::int64_t radius, const T* x, T* y);

}  // namespace weft::inline v0::kernels
