// Resizing of images [batch, height, width, channels] with half-pixel centres: pixel i of n covers [i, i + 1) / n of its axis.
//
// Coordinates are exact fractions, so which pixels meet does not depend on rounding.
#pragma once

#include <cstdint>

namespace weft::inline v0::kernels {

/// REQUIRES: no size is 0.
struct ResizeShape {
  std::int64_t batch, in_height, in_width, out_height, out_width, channels;
};

/// T is float or double. The backward functions are the transposes.
template <class T>
void resize_nearest(const ResizeShape& shape, const T* x, T* y);
template <class T>
void resize_nearest_backward(const ResizeShape& shape, const T* dy, T* dx);
template <class T>
void resize_bilinear(const ResizeShape& shape, const T* x, T* y);
template <class T>
void resize_bilinear_backward(const ResizeShape& shape, const T* dy, T* dx);

}  // namespace weft::inline v0::kernels
