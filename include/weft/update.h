// update_together: a transaction on Variables that are known beforehand.
//
//   update_together({a, b}, [](std::span<Tensor> values) { std::swap(values[0], values[1]); });
//
// It waits until nobody else is changing them, then cannot conflict: the body runs once. What the body leaves in `values` is published at
// one moment, or nothing if it throws. Inside `atomically` it is part of the block.
//
// Outside of a block the body has the Variables to itself as long as it runs, so it must not wait for a thread that waits for them. A Function that it
// calls for the first time is traced if no other thread traces at that moment, and refused with a StateError otherwise: call it, or `trace`, once
// before. What such a body does in init_scope is refused in the same way if it would wait for another update that may wait for this one. The same holds
// for what runs in a step of an optimizer: rules, schedules.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include <weft/variable.h>

namespace weft::inline v0 {

struct UpdateTogetherOptions {
  const char* by = "update_together";  ///< for Variable::history; must live as long as the program
  /// Update rows (adam_update, ...), and scatters and writes of slices (tensor_scatter_nd_update, strided_slice_update, ...) that the body calls
  /// on the values as they came run at the end, in the place of values that nobody else holds: no copy, no second buffer. Until then such a
  /// result must be left alone where the value was, except that another such call may go on with it; ValueError, if it is replaced.
  bool in_place = false;
};

/// Thread safety: any thread. Errors: those of the body; ShapeError and DtypeError for values that do not fit; ValueError for a Variable
/// that is named twice.
WEFT_API void update_together(std::span<const Variable> variables, const std::function<void(std::span<Tensor>)>& body,
                              UpdateTogetherOptions options = {}, Location at = Location::here());

}  // namespace weft::inline v0
