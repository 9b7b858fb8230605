// Reductions and running totals.
#include <algorithm>

#include "core/strides.h"
#include "ops/families.h"
#include "ops/row.h"

namespace weft::inline v0::rows {
namespace {

// Adds every element of `x` into the element of `y` that its index reaches through `strides`.
template <class T>
void sum_into(const T* x, const Shape& shape, const std::int64_t* strides, T* y) {
  Ints index(static_cast<std::size_t>(shape.rank()), 0);
  const std::int64_t total = shape.num_elements();
  std::int64_t to = 0;
  for (std::int64_t i = 0; i < total; ++i) {
    y[to] = lane_add(y[to], x[i]);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const auto a = static_cast<std::size_t>(axis);
      to += strides[a];
      if (++index[a] < shape[axis]) break;
      to -= strides[a] * shape[axis];
      index[a] = 0;
    }
  }
}

void sum_to(KernelCall& call, const Shape& kept) {
  std::int64_t strides[kMaxRank];
  broadcast_strides(kept, call.shape(0), strides);
  with_element(call.dtype(), [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (std::is_arithmetic_v<T> && !std::same_as<T, bool>) {
      T* y = call.out<T>();
      std::fill_n(y, kept.num_elements(), T(0));
      sum_into(call.in<T>(0), call.shape(0), strides, y);
    }
  });
}

}  // namespace

std::vector<Op> reduce() {
  return {
      {.name = "sum",
       .doc = "Sum over axes.",
       .tf = "tf.math.reduce_sum(x, axis, keepdims)",
       .inputs = {"x"},
       .attrs = {attr::axes("axis"), attr::flag("keepdims", false)},
       .dtypes = kNumbers,
       .infer = infer::reduce,
       .kernel = [](KernelCall& call) {
         const Infer in{static_cast<const OpArgs&>(call), {}};
         Shape kept = call.shape(0);
         for (std::int64_t axis : in.axes("axis", kept.rank())) kept.set(static_cast<int>(axis), 1);
         sum_to(call, kept);
       },
       .grad = [](const Backward& b) -> Grads {
         const Infer in{static_cast<const OpArgs&>(b), {}};
         Tensor dy = b.dy();
         if (!b.flag("keepdims")) dy = expand_dims(dy, in.axes("axis", b.x().rank()));
         return {broadcast_like(dy, b.x())};
       },
       .samples = {{{f32({2, 3, 4})}}, {{f32({2, 3, 4})}, {{"axis", Ints{0, -1}}}}, {{f32({2, 3})}, {{"axis", Ints{1}}, {"keepdims", true}}}}},

      {.name = "sum_like",
       .doc = "Sums x down to the shape of like, which broadcasts to x: the transpose of broadcast_like.",
       .inputs = {"x", "like:any"},
       .dtypes = kNumbers,
       .infer = [](const Infer& in) -> Specs {
         const Shape &x = in.shape(0), &like = in.shape(1);
         const int shift = x.rank() - like.rank();
         bool fits = shift >= 0;
         for (int axis = 0; fits && axis < like.rank(); ++axis) fits = like[axis] == 1 || infer::compatible(like[axis], x[axis + shift]);
         if (!fits) in.shape_error(in.named(1) + " does not broadcast to " + in.named(0) + "; its sizes must match from the last axis or be 1.");
         return infer::like_second(in);
       },
       .kernel = [](KernelCall& call) { sum_to(call, call.shape(1)); },
       .grad = [](const Backward& b) -> Grads { return {broadcast_like(b.dy(), b.x())}; },
       .samples = {{{f32({2, 3, 4}), f32({3, 1})}}, {{f32({2, 3}), f32({})}}}},
  };
}

}  // namespace weft::inline v0::rows
