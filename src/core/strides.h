// Strides of dense tensors, in elements.
#pragma once

#include <weft/shape.h>

namespace weft::inline v0 {

/// Strides of a dense tensor of shape `from` when read as shape `to`, to which it broadcasts: 0 where it repeats.
inline void broadcast_strides(const Shape& from, const Shape& to, std::int64_t* strides) {
  std::int64_t stride = 1;
  const int shift = to.rank() - from.rank();
  for (int axis = to.rank() - 1; axis >= 0; --axis) {
    const std::int64_t size = axis >= shift ? from[axis - shift] : 1;
    strides[axis] = size == 1 ? 0 : stride;
    stride *= size;
  }
}

inline Ints dense_strides(const Shape& shape) {
  Ints strides(static_cast<std::size_t>(shape.rank()), 1);
  for (int axis = shape.rank() - 2; axis >= 0; --axis)
    strides[static_cast<std::size_t>(axis)] = strides[static_cast<std::size_t>(axis) + 1] * shape[axis + 1];
  return strides;
}

}  // namespace weft::inline v0
