// Strides of dense tensors, in elements.
#pragma once

#include <weft/shape.h>

namespace weft::inline v0 {

/// Strides of a dense tensor of shape `from` when read as shape `to`, to which it broadcasts: 0 where it repeats.
inline void broadcast_strides(const Shape& from, const Shape& to, std::int64_t* strides) {
  std::int64_t stride = 1;
  const int shift = to.rank() - from.rank();
  for (int axis = to.rank() - 1; axis >= 0; --axis) {
    const std::int64_t size = axis >= shift ? from.dim(axis - shift) : 1;
    strides[axis] = size == 1 ? 0 : stride;
    stride *= size;
  }
}

inline void dense_strides(std::span<const std::int64_t> sizes, std::int64_t* strides) {
  for (std::size_t axis = sizes.size(); axis-- > 0;) strides[axis] = axis + 1 < sizes.size() ? strides[axis + 1] * sizes[axis + 1] : 1;
}
inline Ints dense_strides(const Shape& shape) {
  Ints strides(static_cast<std::size_t>(shape.rank()));
  dense_strides(shape.sizes(), strides.data());
  return strides;
}

}  // namespace weft::inline v0
