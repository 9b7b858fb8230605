// Sorting and searching.
#include <cstring>

#include "kernels/sort.h"
#include "ops/families.h"
#include "ops/indices.h"
#include "ops/row.h"

namespace weft::inline v0::rows {
namespace {

AttrDef direction_attr() { return attr::choice("SortDirection", "direction", {"ascending", "descending"}); }

int axis_of(const OpArgs& args, int rank) { return Infer{args, {}}.axis("axis", rank); }

kernels::Lanes lanes_along(const Shape& shape, int axis) { return {extent(shape, 0, axis), shape.dim(axis), extent(shape, axis + 1, shape.rank())}; }

// Positions are i32.
void require_countable(const Infer& in, std::size_t i, int axis) {
  if (in.shape(i).dim(axis) > std::numeric_limits<std::int32_t>::max())
    in.shape_error(in.named(i) + " has more elements along axis " + std::to_string(axis) + " than i32 positions can name; sort a part of it.");
}

// The sizes of x and indices agree but along the axis.
Shape along_shape(const Infer& in, std::size_t x, std::size_t indices) {
  in.require_rank_at_least(x, 1);
  const int axis = in.axis("axis", in.rank(x));
  Shape result = in.shape(indices);
  bool fits = in.rank(x) == in.rank(indices);
  for (int i = 0; fits && i < in.rank(x); ++i) {
    if (i == axis) continue;
    fits = infer::compatible(in.shape(x).dim(i), result.dim(i));
    result.set(i, infer::merge(result.dim(i), in.shape(x).dim(i)));
  }
  if (!fits) in.shape_error(in.named(indices) + " must have the sizes of " + in.named(x) + " but along axis " + std::to_string(axis) + ".");
  return result;
}

// Calls move(from or to in x, k) for each element k of indices, in order.
template <class Move>
void for_each_along(const Shape& x, const Shape& indices, int axis, kernels::Indices at, const Move& move) {
  const std::int64_t outer = extent(indices, 0, axis), count = indices.dim(axis), inner = extent(indices, axis + 1, indices.rank()), size = x.dim(axis);
  std::int64_t k = 0;
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t c = 0; c < count; ++c)
      for (std::int64_t i = 0; i < inner; ++i, ++k) move((o * size + at[k]) * inner + i, k);
}

template <class Bits>
void take_along(KernelCall& call, int axis) {
  for_each_along(call.shape(0), call.shape(1), axis, indices_of(call, 1), [x = call.in<Bits>(0), y = call.out<Bits>()](std::int64_t at, std::int64_t k) { y[k] = x[at]; });
}

Specs infer_unique(const Infer& in) {
  in.require_rank(0, 1);
  require_countable(in, 0, 0);
  Specs result{{in.dtype(0), Shape{kUnknown}}, {DType::i32, in.shape(0)}};
  if (in.op.outputs.size() == 3) result.push_back({DType::i32, Shape{kUnknown}});
  return result;
}

void unique_kernel(KernelCall& call) {
  with_element(call.dtype(), [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (std::is_arithmetic_v<T>) {
      const T* x = call.in<T>(0);
      const std::int64_t count = call.shape(0).dim(0);
      call.allocate(1, Shape{count});
      std::int32_t* numbers = call.out<std::int32_t>(1);
      const std::vector<std::int32_t> firsts = kernels::number_distinct(x, count, numbers);
      call.allocate(0, Shape{firsts.size()});
      for (std::size_t i = 0; i < firsts.size(); ++i) call.out<T>(0)[i] = x[firsts[i]];
      if (call.specs.size() < 3) return;
      call.allocate(2, Shape{firsts.size()});
      std::int32_t* counts = call.out<std::int32_t>(2);
      std::fill_n(counts, firsts.size(), 0);
      for (std::int64_t k = 0; k < count; ++k) ++counts[numbers[k]];
    }
  });
}

// Equal elements share the gradient of their value equally.
Grads grad_of_unique(const Backward& b) {
  const Tensor &x = b.x(), &index = b.y(1);
  return {gather(b.dy(), index) / gather(unsorted_segment_sum_like(ones_like(x), index, b.y()), index)};
}

}  // namespace

std::vector<Op> sort() {
  return {
      {.name = "sort",
       .doc = "The elements in order along an axis. NaN counts as larger than every number.",
       .tf = "tf.sort(x, axis, direction)",
       .inputs = {"x"},
       .attrs = {attr::axis("axis", -1), direction_attr()},
       .dtypes = kNumbers,
       .infer = [](const Infer& in) -> Specs {
         require_countable(in, 0, in.axis("axis", in.rank(0)));
         return infer::same(in);
       },
       .kernel = [](KernelCall& call) {
         if (call.outputs[0].size() == 0) return;
         const kernels::Lanes lanes = lanes_along(call.shape(0), axis_of(call, call.shape(0).rank()));
         with_number(call.dtype(), [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           kernels::sort_lanes(call.in<T>(0), lanes, call.choice("direction") == 1, call.out<T>());
         });
       },
       .grad = [](const Backward& b) -> Grads {
         const std::int64_t axis = b.integer("axis");
         const Tensor order = argsort(b.x(), {.axis = axis, .direction = static_cast<SortDirection>(b.choice("direction"))});
         return {scatter_along_axis(order, b.dy(), b.x(), {.axis = axis})};
       },
       .batch = batch::carry,
       .samples = {{{f32({2, 4}).distinct()}, {{"direction", std::int64_t{1}}}}, {{f32({4, 2}).distinct()}, {{"axis", std::int64_t{0}}}}}},

      {.name = "argsort",
       .doc = "The positions along an axis that bring the elements in order; equal ones keep theirs, whatever stable says. NaN counts as larger than every number.",
       .tf = "tf.argsort(x, axis, direction, stable)",
       .inputs = {"x"},
       .attrs = {attr::axis("axis", -1), direction_attr(), attr::flag("stable", true)},
       .dtypes = kNumbers,
       .infer = [](const Infer& in) -> Specs {
         require_countable(in, 0, in.axis("axis", in.rank(0)));
         return {{DType::i32, in.shape(0)}};
       },
       .kernel = [](KernelCall& call) {
         if (call.outputs[0].size() == 0) return;
         const kernels::Lanes lanes = lanes_along(call.shape(0), axis_of(call, call.shape(0).rank()));
         with_number(call.dtype(), [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           kernels::argsort_lanes(call.in<T>(0), lanes, call.choice("direction") == 1, call.out<std::int32_t>());
         });
       },
       .batch = batch::carry,
       .traits = kNoGradient,
       .samples = {{{f32({2, 4}).distinct()}}, {{f32({4, 2}).distinct()}, {{"axis", std::int64_t{0}}, {"direction", std::int64_t{1}}}}}},

      {.name = "take_along_axis",
       .doc = "y[.., k, ..] = x[.., indices[.., k, ..], ..]: elements chosen along an axis, separately for each place of the others.",
       .inputs = {"x", "indices:index"},
       .attrs = {attr::axis("axis", -1)},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         const Shape shape = along_shape(in, 0, 1);
         infer::count(in, shape);
         return {{in.dtype(0), shape}};
       },
       .validate = [](const KernelCall& call) { require_indices(call, 1, 0, axis_of(call, call.shape(0).rank())); },
       .kernel = [](KernelCall& call) {
         if (call.outputs[0].size() == 0) return;
         const int axis = axis_of(call, call.shape(0).rank());
         switch (size_of(call.dtype())) {
           case 1: return take_along<std::uint8_t>(call, axis);
           case 2: return take_along<std::uint16_t>(call, axis);
           case 4: return take_along<std::uint32_t>(call, axis);
           default: return take_along<std::uint64_t>(call, axis);
         }
       },
       .grad = [](const Backward& b) -> Grads { return {scatter_along_axis(b.x(1), b.dy(), b.x(0), {.axis = b.integer("axis")})}; },
       .batch = batch::carry,
       .traits = kMoves,
       .samples = {{{f32({2, 4}), i32({2, 3}).range(0, 3)}}, {{f32({3, 2}), i32({2, 2}).range(0, 2)}, {{"axis", std::int64_t{0}}}}}},

      {.name = "scatter_along_axis",
       .doc = "Zeros of like's shape to which updates are added: y[.., indices[.., k, ..], ..] += updates[.., k, ..]; the transpose of take_along_axis.",
       .inputs = {"indices:index", "updates", "like:any"},
       .attrs = {attr::axis("axis", -1)},
       .dtypes = kNumbers,
       .infer = [](const Infer& in) -> Specs {
         const Shape expected = along_shape(in, 2, 0);
         if (!infer::compatible(in.shape(1), expected)) in.shape_error(in.named(1) + " must be " + expected.str() + ", one element for each of " + in.named(0) + ".");
         return {{in.dtype(1), in.shape(2)}};
       },
       .validate = [](const KernelCall& call) { require_indices(call, 0, 2, axis_of(call, call.shape(2).rank())); },
       .kernel = [](KernelCall& call) {
         with_number(call.dtype(1), [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           const T* updates = call.in<T>(1);
           T* y = call.out<T>();
           std::fill_n(y, call.outputs[0].size(), T(0));
           if (call.inputs[1].size() == 0) return;
           for_each_along(call.out_shape(), call.shape(0), axis_of(call, call.out_shape().rank()), indices_of(call, 0),
                          [&](std::int64_t at, std::int64_t k) { y[at] = lane_add(y[at], updates[k]); });
         });
       },
       .grad = [](const Backward& b) -> Grads { return {Grad(), take_along_axis(b.dy(), b.x(0), {.axis = b.integer("axis")})}; },
       .batch = batch::carry,
       .samples = {{{i32({2, 3}).range(0, 3), f32({2, 3}), f32({2, 4})}}, {{i32({2, 2}).range(0, 2), f32({2, 2}), f32({3, 2})}, {{"axis", std::int64_t{0}}}}}},

      {.name = "top_k",
       .doc = "The k largest elements along the last axis, largest first, and their positions; of equal ones the first. NaN counts as larger than every number.",
       .tf = "tf.math.top_k(x, k) | tf.nn.top_k(x, k)",
       .inputs = {"x"},
       .attrs = {attr::integer("k").at_least(0)},
       .outputs = {"values", "indices"},
       .dtypes = kNumbers,
       .infer = [](const Infer& in) -> Specs {
         in.require_rank_at_least(0, 1);
         const int last = in.rank(0) - 1;
         require_countable(in, 0, last);
         const std::int64_t k = in.integer("k"), size = in.shape(0).dim(last);
         if (infer::known(size) && k > size)
           in.value_error("k is " + std::to_string(k) + ", but " + in.named(0) + " has only " + std::to_string(size) + " elements along its last axis.");
         Shape result = in.shape(0);
         result.set(last, k);
         return {{in.dtype(0), result}, {DType::i32, result}};
       },
       .kernel = [](KernelCall& call) {
         if (call.outputs[0].size() == 0) return;
         const Shape& x = call.shape(0);
         with_number(call.dtype(), [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           kernels::top_k_rows(call.in<T>(0), extent(x, 0, x.rank() - 1), x.dim(x.rank() - 1), call.integer("k"), call.out<T>(0), call.out<std::int32_t>(1));
         });
       },
       .grad = [](const Backward& b) -> Grads { return {scatter_along_axis(b.y(1), b.dy(), b.x())}; },
       .batch = batch::carry,
       .samples = {{{f32({3, 4}).distinct()}, {{"k", std::int64_t{2}}}}, {{f32({5}).distinct()}, {{"k", std::int64_t{5}}}}}},

      {.name = "unique",
       .doc = "The distinct values of a vector in the order of their first appearance, and for each element the position of its value among them. NaN equals nothing.",
       .tf = "tf.unique(x)",
       .inputs = {"x"},
       .outputs = {"values", "index"},
       .dtypes = kAnything,
       .infer = infer_unique,
       .kernel = unique_kernel,
       .grad = grad_of_unique,
       .traits = kValueShape,
       .samples = {{{f32({5}).distinct()}}}},

      {.name = "unique_with_counts",
       .doc = "unique, and how often each value occurs.",
       .tf = "tf.unique_with_counts(x)",
       .inputs = {"x"},
       .outputs = {"values", "index", "count"},
       .dtypes = kAnything,
       .infer = infer_unique,
       .kernel = unique_kernel,
       .grad = grad_of_unique,
       .traits = kValueShape,
       .samples = {{{f32({5}).distinct()}}}},

      {.name = "searchsorted",
       .doc = "Where values would go into rows that ascend along the last axis: before (left) or after (right) equal elements. The leading sizes of both agree.",
       .tf = "tf.searchsorted(sorted_sequence, values, side)",
       .inputs = {"sorted_sequence", "values"},
       .attrs = {attr::choice("SearchSide", "side", {"left", "right"})},
       .dtypes = kNumbers,
       .infer = [](const Infer& in) -> Specs {
         in.require_rank_at_least(0, 1);
         in.require_rank(1, in.rank(0));
         const int last = in.rank(0) - 1;
         require_countable(in, 0, last);
         Shape result = in.shape(1);
         for (int axis = 0; axis < last; ++axis) {
           if (!infer::compatible(in.shape(0).dim(axis), result.dim(axis)))
             in.shape_error(in.named(0) + " and " + in.named(1) + " differ in axis " + std::to_string(axis) + "; all sizes but the last must agree.");
           result.set(axis, infer::merge(result.dim(axis), in.shape(0).dim(axis)));
         }
         return {{DType::i32, result}};
       },
       .kernel = [](KernelCall& call) {
         if (call.outputs[0].size() == 0) return;
         const Shape &sorted = call.shape(0), &values = call.shape(1);
         const int last = sorted.rank() - 1;
         with_number(call.dtype(), [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           kernels::search_rows(call.in<T>(0), extent(sorted, 0, last), sorted.dim(last), call.in<T>(1), values.dim(last), call.choice("side") == 1, call.out<std::int32_t>());
         });
       },
       .batch = batch::carry,
       .traits = kNoGradient,
       .samples = {{{f32({5}).sorted(), f32({3})}}, {{f32({2, 4}).sorted(), f32({2, 3})}, {{"side", std::int64_t{1}}}}}},
  };
}

}  // namespace weft::inline v0::rows
