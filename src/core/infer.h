// Shape inference that rows share. Sizes may be kUnknown everywhere; what cannot be decided yet is decided when the sizes are
// known, because the same function runs again then.
#pragma once

#include "core/op.h"

namespace weft::inline v0::infer {

inline bool known(std::int64_t size) { return size != kUnknown; }
/// Could both be the same size?
inline bool compatible(std::int64_t a, std::int64_t b) { return a == b || !known(a) || !known(b); }
/// The more definite of two compatible sizes.
inline std::int64_t merge(std::int64_t a, std::int64_t b) { return known(a) ? a : b; }
bool compatible(const Shape& a, const Shape& b);

/// a * b, a + b for sizes; unknown if either is (0 * unknown is 0). Throws ShapeError in the op's name if it does not fit.
std::int64_t mul(const OpArgs& in, std::int64_t a, std::int64_t b);
std::int64_t add(const OpArgs& in, std::int64_t a, std::int64_t b);
/// The number of elements, or kUnknown.
std::int64_t count(const OpArgs& in, const Shape& shape);

/// The shape that inputs first .. last broadcast to. Throws ShapeError naming both inputs and the axis.
Shape broadcast(const Infer& in, std::size_t first, std::size_t last);
/// What an error calls a shape. Words are put together only if there is an error.
struct Described {
  const char* before = "";             // "the batch axes of "
  std::size_t input = kShapeItself;    // then this input's name and Spec, or the shape itself
  static constexpr std::size_t kShapeItself = static_cast<std::size_t>(-1);
};
/// Broadcasting of two plain shapes.
Shape broadcast(const Infer& in, const Shape& x, const Shape& y, Described a, Described b);

/// Requires that input i has the same shape as input 0 (as far as known).
void require_same_shape(const Infer& in, std::size_t i, std::size_t as = 0);

/// The Spec of input 0.
Specs same(const Infer& in);
/// All inputs broadcast; dtype T, or what the tile's lanes return.
Specs pointwise(const Infer& in);
/// All inputs broadcast; bool.
Specs pointwise_bool(const Infer& in);
/// Attributes `axis` (kAxes) and `keepdims` reduce input 0; its dtype.
Specs reduce(const Infer& in);
Shape reduced_shape(const Infer& in, const Shape& shape, const Ints& axes, bool keepdims);
/// The Spec of input 1 with the dtype of input 0: sum_like, broadcast_like, reshape_like.
Specs like_second(const Infer& in);

}  // namespace weft::inline v0::infer
