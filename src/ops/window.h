// Sliding windows: the attributes and the arithmetic that convolutions and pools share.
#pragma once

#include "core/op.h"

namespace weft::inline v0::rows {

/// Of attribute `padding`; the order is that of its choices.
inline constexpr std::int64_t kPaddingValid = 0, kPaddingSame = 1, kPaddingExplicit = 2;

inline AttrDef strides_attr() { return attr::list("strides", Ints{1}).at_least(1); }
inline AttrDef dilations_attr() { return attr::list("dilations", Ints{1}).at_least(1); }
inline AttrDef padding_attr() { return attr::choice("Padding", "padding", {"valid", "same", "explicit"}); }
inline AttrDef pads_attr() { return attr::pairs_or_none("pads"); }

/// A list attribute as one number for each of the spatial axes: given are as many, or one for all. Throws ValueError.
Ints per_axis(const OpArgs& in, const char* name, int axes);

/// The attribute `pads`, checked against `padding`: before, after for each spatial axis, zeros unless explicit. Throws ValueError.
Ints checked_pads(const OpArgs& in, int axes);

/// One spatial axis: the number of windows, and the padding in front of the first.
struct Slide {
  std::int64_t out = kUnknown, before = 0;
};

/// How windows of `window` taps, `dilation` apart, slide along an axis of `size`, `stride` at a time. `which` names the axis in errors.
/// REQUIRES: stride, dilation >= 1, pads >= 0. Throws ShapeError.
Slide slide(const OpArgs& in, const std::string& which, std::int64_t size, std::int64_t window, std::int64_t stride, std::int64_t dilation,
            std::int64_t before, std::int64_t after);

}  // namespace weft::inline v0::rows
