#include "ops/window.h"

#include <algorithm>

#include "core/infer.h"

namespace weft::inline v0::rows {

Ints per_axis(const OpArgs& in, const char* name, int axes) {
  const Ints& given = in.ints(name);
  const auto count = static_cast<std::size_t>(axes);
  if (given.size() == count) return given;
  if (given.size() == 1) return Ints(count, given[0]);
  in.value_error(std::string(name) + " has " + std::to_string(given.size()) + " numbers; give one, or one for each of the " +
                 std::to_string(axes) + " spatial axes.");
}

Ints checked_pads(const OpArgs& in, int axes) {
  const Ints& given = in.ints("pads");
  const auto count = 2 * static_cast<std::size_t>(axes);
  if (in.choice("padding") != kPaddingExplicit) {
    if (!given.empty()) in.value_error("pads are given, but padding is not explicit; set padding to Padding::kExplicit or leave pads out.");
    return Ints(count, 0);
  }
  if (given.size() != count)
    in.value_error("pads has " + std::to_string(given.size() / 2) + " pairs; give one for each of the " + std::to_string(axes) + " spatial axes.");
  for (std::int64_t pad : given)
    if (pad < 0) in.value_error("pads has " + std::to_string(pad) + "; it must be 0 or more.");
  return given;
}

Slide slide(const OpArgs& in, const std::string& which, std::int64_t size, std::int64_t window, std::int64_t stride, std::int64_t dilation,
            std::int64_t before, std::int64_t after) {
  const bool same = in.choice("padding") == kPaddingSame;
  std::int64_t reach = kUnknown;  // from the first tap to the last
  if (infer::known(window)) reach = infer::add(in, infer::mul(in, window - 1, dilation), 1);
  if (same && infer::known(size)) {
    const std::int64_t out = size / stride + (size % stride != 0 ? 1 : 0);
    if (out == 0 || !infer::known(reach)) return {out, 0};
    const std::int64_t covered = infer::add(in, (out - 1) * stride, reach);
    return {out, std::max<std::int64_t>(covered - size, 0) / 2};
  }
  if (!infer::known(size) || !infer::known(reach)) return {kUnknown, before};
  const std::int64_t padded = infer::add(in, infer::add(in, size, before), after);
  if (padded >= reach) return {(padded - reach) / stride + 1, before};
  // As in TensorFlow a window that is too long by less than a stride gives an empty result.
  if ((padded - reach + stride) / stride < 0)
    in.shape_error("a window over " + std::to_string(reach) + " elements is longer than " + which + ", which has " + std::to_string(padded) +
                   (padded == size ? "" : " with its pads") + "; use a smaller window or pad more.");
  return {0, before};
}

}  // namespace weft::inline v0::rows
