// Segments, counting and masks.
#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/segment.h"
#include "ops/families.h"
#include "ops/indices.h"
#include "ops/row.h"

namespace weft::inline v0::rows {
namespace {

// --- the two kinds of segments ---

// Sorted ids: as many segments as the last id says.
Specs infer_sorted(const Infer& in) {
  in.require_rank_at_least(0, 1);
  in.require_rank(1, 1);
  if (!infer::compatible(in.shape(0).dim(0), in.shape(1).dim(0)))
    in.shape_error(in.named(1) + " must have one id for each row of " + in.named(0) + ".");
  Shape result = in.shape(0);
  result.set(0, kUnknown);
  return {{in.dtype(0), result}};
}

void validate_sorted(const KernelCall& call) {
  const kernels::Indices ids = indices_of(call, 1);
  const std::int64_t count = call.shape(1).dim(0);
  for (std::int64_t k = 0; k < count; ++k) {
    if (ids[k] < 0) call.value_error(element_name(call, 1, k) + " is " + std::to_string(ids[k]) + "; segment ids must be 0 or more.");
    if (k > 0 && ids[k] < ids[k - 1])
      call.value_error(element_name(call, 1, k) + " is " + std::to_string(ids[k]) + " after " + std::to_string(ids[k - 1]) +
                       "; segment ids must not decrease, use the unsorted_segment ops for others.");
    if (ids[k] == std::numeric_limits<std::int64_t>::max())
      call.value_error(element_name(call, 1, k) + " is " + std::to_string(ids[k]) + "; there cannot be so many segments.");
  }
}

void allocate_sorted(KernelCall& call) {
  const std::int64_t count = call.shape(1).dim(0);
  Shape result = call.shape(0);
  result.set(0, count == 0 ? 0 : indices_of(call, 1)[count - 1] + 1);
  call.allocate(0, result);
}

// Ids of any order: they have the first sizes of x, and a negative one drops its row.
Shape unsorted_shape(const Infer& in, std::int64_t segments) {
  bool fits = in.rank(1) <= in.rank(0);
  for (int axis = 0; fits && axis < in.rank(1); ++axis) fits = infer::compatible(in.shape(0).dim(axis), in.shape(1).dim(axis));
  if (!fits) in.shape_error(in.named(1) + " must have the first sizes of " + in.named(0) + ".");
  Shape result{segments};
  for (int axis = in.rank(1); axis < in.rank(0); ++axis) result.append(in.shape(0).dim(axis));
  if (result.rank() > kMaxRank) in.shape_error("the result would have rank " + std::to_string(result.rank()) + "; at most " + std::to_string(kMaxRank) + " is possible.");
  infer::count(in, result);
  return result;
}

Specs infer_unsorted(const Infer& in) { return {{in.dtype(0), unsorted_shape(in, in.integer("num_segments"))}}; }

void require_below(const KernelCall& call, std::int64_t segments, const std::string& rule) {
  const kernels::Indices ids = indices_of(call, 1);
  const std::int64_t count = call.shape(1).num_elements();
  for (std::int64_t k = 0; k < count; ++k)
    if (ids[k] >= segments)
      call.index_error(element_name(call, 1, k) + " is " + std::to_string(ids[k]) + "; " + rule + ", so that it must be below that (negative ones are dropped).");
}

void validate_unsorted(const KernelCall& call) {
  require_below(call, call.integer("num_segments"), "num_segments is " + std::to_string(call.integer("num_segments")));
}

// --- kernels ---

// y[s] = each(the rows of x in segment s), and `empty` for a segment without rows.
template <class T, class Each>
void reduce_segments(KernelCall& call, T empty, const Each& each) {
  const Shape &x = call.shape(0), &y = call.out_shape(), &ids = call.shape(1);
  std::fill_n(call.out<T>(), y.num_elements(), empty);
  const std::int64_t width = extent(y, 1, y.rank()), count = ids.num_elements();
  if (x.num_elements() == 0) return;
  const kernels::Indices at = indices_of(call, 1);
  kernels::for_each_segment(at, kernels::order_by_segment(at, count, y.dim(0)), width * static_cast<std::int64_t>(sizeof(T)),
                            [&](std::int64_t id, const std::int64_t* rows, std::int64_t n) { each(call.in<T>(0), rows, n, width, call.out<T>() + id * width); });
}

void sum_segments(KernelCall& call, bool mean) {
  with_number(call.dtype(), [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    reduce_segments(call, T(0), [&](const T* x, const std::int64_t* rows, std::int64_t count, std::int64_t width, T* y) {
      std::vector<T> scratch(static_cast<std::size_t>(kernels::pairwise_depth(count) * width));
      kernels::fold_pairwise(x, rows, count, width, y, scratch.data(), [](T a, T b) { return lane_add(a, b); });
      if constexpr (std::floating_point<T>)
        for (std::int64_t c = 0; mean && c < width; ++c) y[c] /= static_cast<T>(count);
    });
  });
}

void multiply_segments(KernelCall& call) {
  with_number(call.dtype(), [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    reduce_segments(call, T(1), [](const T* x, const std::int64_t* rows, std::int64_t count, std::int64_t width, T* y) {
      kernels::fold_rows(x, rows, count, width, y, [](T a, T b) { return lane_mul(a, b); });
    });
  });
}

template <class T>
T end_of_range(bool highest) {
  if constexpr (std::same_as<T, float16> || std::same_as<T, bfloat16>) {
    T end;
    end.bits = static_cast<std::uint16_t>((std::same_as<T, float16> ? 0x7bff : 0x7f7f) | (highest ? 0 : 0x8000));
    return end;
  } else {
    return highest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest();
  }
}

// NaN wins over every number. The 16-bit floats are compared here, not widened, because an empty segment takes the end of
// their own range.
void extreme_segments(KernelCall& call, bool max, bool sorted) {
  with_element(call.dtype(), [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    using Compared = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
    const auto better = [max](T a, T b) {
      const auto p = static_cast<Compared>(a), q = static_cast<Compared>(b);
      if constexpr (std::floating_point<Compared>)
        if (std::isnan(p)) return a;
      return max ? (p > q ? a : b) : (p < q ? a : b);
    };
    reduce_segments(call, sorted ? T{} : end_of_range<T>(!max), [&](const T* x, const std::int64_t* rows, std::int64_t count, std::int64_t width, T* y) {
      kernels::fold_rows(x, rows, count, width, y, better);
    });
  });
}

template <class Kernel>
void run_sorted(KernelCall& call, const Kernel& kernel) {
  allocate_sorted(call);
  kernel(call);
}

// --- gradients, the same for both kinds ---

// Counting and sharing are done in f32 for the 16-bit floats, which cannot count far: see widened.

// The total of x over the segment of each row, at that row; 1 instead of 0.
Tensor positive_total(const Backward& b, const Tensor& x) {
  const Tensor total = gather_or_zero(unsorted_segment_sum_like(x, b.x(1), b.y()), b.x(1));
  return where(total == 0, ones_like(total), total);
}

Grads grad_of_sum(const Backward& b) { return {gather_or_zero(b.dy(), b.x(1))}; }

Grads grad_of_mean(const Backward& b) {
  const Tensor dy = gather_or_zero(widened(b.dy()), b.x(1));
  return {narrowed(dy / positive_total(b, ones_like(widened(b.x(0)))), b.x(0).dtype())};
}

// The rows that equal the result share its gradient equally.
Grads grad_of_extreme(const Backward& b) {
  const Tensor dy = gather_or_zero(widened(b.dy()), b.x(1));
  const Tensor chosen = b.x(0) == gather_or_zero(b.y(), b.x(1));
  return {narrowed(where(chosen, dy / positive_total(b, cast(chosen, dy.dtype())), zeros_like(dy)), b.x(0).dtype())};
}

// For each row the product of the rows before it in its segment (reverse: after it), where equal ids stand side by side. It is the
// recurrence y[k] = x[k-1] y[k-1] that starts anew with 1 in every segment. A row with a negative id is a segment of its own.
Tensor running_product(const Tensor& x, const Tensor& ids, bool reverse) {
  const auto neighbour = [&](const Tensor& t) { return shift_one(t, {.axis = 0, .reverse = reverse}); };
  const Tensor is_first = neighbour(ones_like(ids)) == 0, goes_on = (ids == neighbour(ids)) & (ids >= 0) & ~is_first;
  Ints columns;
  for (int axis = 1; axis < x.rank(); ++axis) columns.push_back(axis);
  const Tensor mask = expand_dims(goes_on, columns), zeros = zeros_like(x);
  return linear_recurrence(where(mask, neighbour(x), zeros), where(mask, zeros, ones_like(x)), {.axis = 0, .reverse = reverse});
}

// dy times the product of the other rows of the segment, made of those before and those after. As in the gradient of `prod` nothing is
// divided, so that it, and every further gradient of it, is right whichever rows are zero.
Tensor grad_of_adjacent_prod(const Tensor& x, const Tensor& ids, const Tensor& dy) {
  return gather_or_zero(dy, ids) * (running_product(x, ids, false) * running_product(x, ids, true));
}

Grads grad_of_sorted_prod(const Backward& b) {
  return {narrowed(grad_of_adjacent_prod(widened(b.x(0)), b.x(1), widened(b.dy())), b.x(0).dtype())};
}

// The rows are brought in the order of their ids, and their gradients back.
Grads grad_of_unsorted_prod(const Backward& b) {
  const Tensor x = widened(b.x(0)), dy = widened(b.dy()), ids = reshape(b.x(1), {-1}), order = argsort(ids);
  const Tensor rows = reshape_like(x, gather_or_zero(dy, ids));  // the axes of the ids are one
  const Tensor dx = grad_of_adjacent_prod(gather(rows, order), gather(ids, order), dy);
  return {narrowed(reshape_like(gather(dx, argsort(order)), x), b.x(0).dtype())};
}

// --- counting ---

// The largest value, or -1 if there is none. Throws ValueError for a negative one and for one that no size can follow.
std::int64_t largest_value(const KernelCall& call) {
  std::int64_t largest = -1;
  with_number(call.dtype(), [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (std::integral<T>) {
      const T* x = call.in<T>(0);
      for (std::int64_t k = 0; k < call.inputs[0].size(); ++k) {
        if (x[k] < T(0)) call.value_error(element_name(call, 0, k) + " is " + std::to_string(x[k]) + "; only values of 0 or more can be counted.");
        if (std::cmp_greater_equal(x[k], std::numeric_limits<std::int64_t>::max()))
          call.value_error(element_name(call, 0, k) + " is " + std::to_string(x[k]) + "; there cannot be so many counts.");
        largest = std::max(largest, static_cast<std::int64_t>(x[k]));
      }
    }
  });
  return largest;
}

// Wraps: more than 2^32 equal values would be needed to see it.
void count_one(std::int32_t& counter) { counter = lane_add(counter, 1); }

// The axis goes behind those that the ids are for. Ids with the axis go call by call.
Tensors batch_segments(const Batch& b) {
  if (b.batched[1]) return {};
  std::vector<Tensor> inputs(b.inputs.begin(), b.inputs.end());
  inputs[0] = batch::move_axis(inputs[0], 0, b.rank(1));
  return {batch::move_axis(batch::again(b, inputs, {b.attrs.begin(), b.attrs.end()})[0], 1, 0)};
}

}  // namespace

std::vector<Op> segment() {
  return {
      {.name = "segment_sum",
       .doc = "Sums of the rows of x that have the same id; ids do not decrease, and there are as many segments as the last id says. An empty segment gives 0.",
       .tf = "tf.math.segment_sum(x, segment_ids)",
       .inputs = {"x", "segment_ids:index"},
       .dtypes = kNumbers,
       .infer = infer_sorted,
       .validate = validate_sorted,
       .kernel = [](KernelCall& call) { run_sorted(call, [](KernelCall& c) { sum_segments(c, false); }); },
       .grad = grad_of_sum,
       .batch = batch_segments,
       .traits = kValueShape,
       .samples = {{{f32({5, 2}), i32({5}).exactly({0, 0, 1, 3, 3})}}, {{f32({3}), i32({3}).exactly({1, 1, 1})}}}},

      {.name = "segment_mean",
       .doc = "Means of the rows of x that have the same id; ids do not decrease. An empty segment gives 0.",
       .tf = "tf.math.segment_mean(x, segment_ids)",
       .inputs = {"x", "segment_ids:index"},
       .dtypes = kFloats,
       .infer = infer_sorted,
       .validate = validate_sorted,
       .kernel = [](KernelCall& call) { run_sorted(call, [](KernelCall& c) { sum_segments(c, true); }); },
       .grad = grad_of_mean,
       .batch = batch_segments,
       .traits = kValueShape,
       .samples = {{{f32({5, 2}), i32({5}).exactly({0, 0, 1, 3, 3})}}, {{f32({3}), i32({3}).exactly({1, 1, 1})}}}},

      {.name = "segment_max",
       .doc = "Elementwise largest of the rows of x that have the same id; ids do not decrease. An empty segment gives 0; NaN wins.",
       .tf = "tf.math.segment_max(x, segment_ids)",
       .inputs = {"x", "segment_ids:index"},
       .dtypes = kNumbers,
       .infer = infer_sorted,
       .validate = validate_sorted,
       .kernel = [](KernelCall& call) { run_sorted(call, [](KernelCall& c) { extreme_segments(c, true, true); }); },
       .grad = grad_of_extreme,
       .batch = batch_segments,
       .traits = kValueShape | kMoves,
       .samples = {{{f32({5, 2}).distinct(), i32({5}).exactly({0, 0, 1, 3, 3})}}, {{f32({3}).distinct(), i32({3}).exactly({1, 1, 1})}}}},

      {.name = "segment_min",
       .doc = "Elementwise smallest of the rows of x that have the same id; ids do not decrease. An empty segment gives 0; NaN wins.",
       .tf = "tf.math.segment_min(x, segment_ids)",
       .inputs = {"x", "segment_ids:index"},
       .dtypes = kNumbers,
       .infer = infer_sorted,
       .validate = validate_sorted,
       .kernel = [](KernelCall& call) { run_sorted(call, [](KernelCall& c) { extreme_segments(c, false, true); }); },
       .grad = grad_of_extreme,
       .batch = batch_segments,
       .traits = kValueShape | kMoves,
       .samples = {{{f32({5, 2}).distinct(), i32({5}).exactly({0, 0, 1, 3, 3})}}, {{f32({3}).distinct(), i32({3}).exactly({1, 1, 1})}}}},

      {.name = "segment_prod",
       .doc = "Products of the rows of x that have the same id; ids do not decrease. An empty segment gives 1.",
       .tf = "tf.math.segment_prod(x, segment_ids)",
       .inputs = {"x", "segment_ids:index"},
       .dtypes = kNumbers,
       .infer = infer_sorted,
       .validate = validate_sorted,
       .kernel = [](KernelCall& call) { run_sorted(call, multiply_segments); },
       .grad = grad_of_sorted_prod,
       .batch = batch_segments,
       .traits = kValueShape,
       .samples = {{{f32({5, 2}).range(0.5, 2), i32({5}).exactly({0, 0, 1, 3, 3})}}, {{f32({3}).range(-2, -0.5), i32({3}).exactly({1, 1, 1})}},
                   {{f32({6}).exactly({2, 0, 3, 0, 1.5, 0}), i32({6}).exactly({0, 0, 0, 0, 2, 2})}}}},

      {.name = "unsorted_segment_sum",
       .doc = "Sums of the slices of x that have the same id, for ids below num_segments in any order; negative ids are dropped. An empty segment gives 0.",
       .tf = "tf.math.unsorted_segment_sum(x, segment_ids, num_segments)",
       .inputs = {"x", "segment_ids:index"},
       .attrs = {attr::integer("num_segments").at_least(0)},
       .dtypes = kNumbers,
       .infer = infer_unsorted,
       .validate = validate_unsorted,
       .kernel = [](KernelCall& call) { sum_segments(call, false); },
       .grad = grad_of_sum,
       .batch = batch_segments,
       .samples = {{{f32({5}), i32({5}).exactly({2, 0, 2, -1, 0})}, {{"num_segments", std::int64_t{4}}}},
                   {{f32({2, 3, 2}), i32({2, 3}).range(-1, 3)}, {{"num_segments", std::int64_t{4}}}}}},

      {.name = "unsorted_segment_sum_like",
       .doc = "unsorted_segment_sum with as many segments as like has rows: the transpose of gather_or_zero.",
       .inputs = {"x", "segment_ids:index", "like:any"},
       .dtypes = kNumbers,
       .infer = [](const Infer& in) -> Specs {
         in.require_rank_at_least(2, 1);
         return {{in.dtype(0), unsorted_shape(in, in.shape(2).dim(0))}};
       },
       .validate = [](const KernelCall& call) {
         require_below(call, call.shape(2).dim(0), "like has " + std::to_string(call.shape(2).dim(0)) + " rows");
       },
       .kernel = [](KernelCall& call) { sum_segments(call, false); },
       .grad = grad_of_sum,
       .batch = batch_segments,
       .samples = {{{f32({5}), i32({5}).exactly({2, 0, 2, -1, 0}), f32({4})}}, {{f32({2, 3, 2}), i32({2, 3}).range(-1, 3), f32({4})}}}},

      {.name = "gather_or_zero",
       .doc = "Rows of x chosen by indices, and rows of zeros for negative ones: y[k..] = x[indices[k..]].",
       .inputs = {"x", "indices:index"},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         in.require_rank_at_least(0, 1);
         Shape result = in.shape(1);
         for (int axis = 1; axis < in.rank(0); ++axis) result.append(in.shape(0).dim(axis));
         if (result.rank() > kMaxRank) in.shape_error("the result would have rank " + std::to_string(result.rank()) + "; at most " + std::to_string(kMaxRank) + " is possible.");
         infer::count(in, result);
         return {{in.dtype(0), result}};
       },
       .validate = [](const KernelCall& call) { require_below(call, call.shape(0).dim(0), "x has " + std::to_string(call.shape(0).dim(0)) + " rows"); },
       .kernel = [](KernelCall& call) {
         const Shape& x = call.shape(0);
         const std::size_t bytes = static_cast<std::size_t>(extent(x, 1, x.rank())) * size_of(call.dtype());
         const kernels::Indices at = indices_of(call, 1);
         char* y = call.out<char>();
         if (bytes == 0) return;
         for (std::int64_t k = 0; k < call.inputs[1].size(); ++k, y += bytes) {
           if (at[k] < 0) std::memset(y, 0, bytes);
           else std::memcpy(y, call.in<char>(0) + static_cast<std::size_t>(at[k]) * bytes, bytes);
         }
       },
       .grad = [](const Backward& b) -> Grads { return {unsorted_segment_sum_like(b.dy(), b.x(1), b.x(0))}; },
       .batch = [](const Batch& b) -> Tensors {
         if (!b.batched[0]) return {gather_or_zero(b.inputs[0], b.inputs[1])};
         if (b.batched[1]) return {};
         return {batch::move_axis(gather_or_zero(batch::move_axis(b.inputs[0], 0, 1), b.inputs[1]), b.rank(1), 0)};
       },
       .traits = kMoves,
       .samples = {{{f32({4, 2}), i32({5}).range(-1, 3)}}, {{f32({3}), i32({2, 2}).range(-1, 2)}}}},

      {.name = "unsorted_segment_mean",
       .doc = "Means of the slices of x that have the same id, for ids below num_segments in any order; negative ids are dropped. An empty segment gives 0.",
       .tf = "tf.math.unsorted_segment_mean(x, segment_ids, num_segments)",
       .inputs = {"x", "segment_ids:index"},
       .attrs = {attr::integer("num_segments").at_least(0)},
       .dtypes = kFloats,
       .infer = infer_unsorted,
       .validate = validate_unsorted,
       .kernel = [](KernelCall& call) { sum_segments(call, true); },
       .grad = grad_of_mean,
       .batch = batch_segments,
       .samples = {{{f32({5}), i32({5}).exactly({2, 0, 2, -1, 0})}, {{"num_segments", std::int64_t{4}}}},
                   {{f32({2, 3, 2}), i32({2, 3}).range(-1, 3)}, {{"num_segments", std::int64_t{4}}}}}},

      {.name = "unsorted_segment_max",
       .doc = "Elementwise largest of the slices of x that have the same id, for ids below num_segments in any order; negative ids are dropped. "
              "An empty segment gives the lowest number of the dtype; NaN wins.",
       .tf = "tf.math.unsorted_segment_max(x, segment_ids, num_segments)",
       .inputs = {"x", "segment_ids:index"},
       .attrs = {attr::integer("num_segments").at_least(0)},
       .dtypes = kNumbers,
       .infer = infer_unsorted,
       .validate = validate_unsorted,
       .kernel = [](KernelCall& call) { extreme_segments(call, true, false); },
       .grad = grad_of_extreme,
       .batch = batch_segments,
       .traits = kMoves,
       .samples = {{{f32({5}).distinct(), i32({5}).exactly({1, 0, 1, -1, 0})}, {{"num_segments", std::int64_t{2}}}},
                   {{f32({2, 3, 2}).distinct(), i32({2, 3}).exactly({1, 0, 1, -1, 2, 0})}, {{"num_segments", std::int64_t{3}}}}}},

      {.name = "unsorted_segment_min",
       .doc = "Elementwise smallest of the slices of x that have the same id, for ids below num_segments in any order; negative ids are dropped. "
              "An empty segment gives the highest number of the dtype; NaN wins.",
       .tf = "tf.math.unsorted_segment_min(x, segment_ids, num_segments)",
       .inputs = {"x", "segment_ids:index"},
       .attrs = {attr::integer("num_segments").at_least(0)},
       .dtypes = kNumbers,
       .infer = infer_unsorted,
       .validate = validate_unsorted,
       .kernel = [](KernelCall& call) { extreme_segments(call, false, false); },
       .grad = grad_of_extreme,
       .batch = batch_segments,
       .traits = kMoves,
       .samples = {{{f32({5}).distinct(), i32({5}).exactly({1, 0, 1, -1, 0})}, {{"num_segments", std::int64_t{2}}}},
                   {{f32({2, 3, 2}).distinct(), i32({2, 3}).exactly({1, 0, 1, -1, 2, 0})}, {{"num_segments", std::int64_t{3}}}}}},

      {.name = "unsorted_segment_prod",
       .doc = "Products of the slices of x that have the same id, for ids below num_segments in any order; negative ids are dropped. An empty segment gives 1.",
       .tf = "tf.math.unsorted_segment_prod(x, segment_ids, num_segments)",
       .inputs = {"x", "segment_ids:index"},
       .attrs = {attr::integer("num_segments").at_least(0)},
       .dtypes = kNumbers,
       .infer = infer_unsorted,
       .validate = validate_unsorted,
       .kernel = multiply_segments,
       .grad = grad_of_unsorted_prod,
       .batch = batch_segments,
       .samples = {{{f32({5}).range(0.5, 2), i32({5}).exactly({2, 0, 2, -1, 0})}, {{"num_segments", std::int64_t{4}}}},
                   {{f32({2, 3, 2}).range(-2, -0.5), i32({2, 3}).range(-1, 3)}, {{"num_segments", std::int64_t{4}}}},
                   {{f32({2, 3, 2}).exactly({2, 0, 0, 1, 1.5, -1, 0, 3, 0.5, 0, 0, 2}), i32({2, 3}).exactly({1, 0, 1, 1, -1, 0})}, {{"num_segments", std::int64_t{3}}}},
                   {{u32({4}), i32({4}).range(-1, 1)}, {{"num_segments", std::int64_t{2}}}}}},

      {.name = "bincount",
       .doc = "How often each value from 0 to the largest occurs in x; at least minlength counts, and at most maxlength: larger values are left out. "
              "A negative value is a ValueError.",
       .tf = "tf.math.bincount(x, minlength, maxlength)",
       .inputs = {"x:int"},
       .attrs = {attr::integer("minlength", 0).at_least(0), attr::integer("maxlength", std::numeric_limits<std::int64_t>::max()).at_least(0)},
       .infer = [](const Infer&) -> Specs { return {{DType::i32, Shape{kUnknown}}}; },
       .validate = [](const KernelCall& call) { largest_value(call); },
       .kernel = [](KernelCall& call) {
         const std::int64_t size = std::min(std::max(largest_value(call) + 1, call.integer("minlength")), call.integer("maxlength"));
         call.allocate(0, Shape{size});
         std::int32_t* y = call.out<std::int32_t>();
         std::fill_n(y, size, 0);
         with_number(call.dtype(), [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           for (std::int64_t k = 0; k < call.inputs[0].size(); ++k)
             if (const auto value = static_cast<std::int64_t>(call.in<T>(0)[k]); value < size) count_one(y[value]);
         });
       },
       .traits = kValueShape | kNoGradient,
       .samples = {{{i32({8}).range(0, 4)}}, {{i32({2, 3}).range(0, 4)}, {{"minlength", std::int64_t{7}}}}, {{i32({6}).range(0, 4)}, {{"maxlength", std::int64_t{2}}}}}},

      {.name = "confusion_matrix",
       .doc = "How often each label was predicted as each class: y[labels[k], predictions[k]] counts k.",
       .tf = "tf.math.confusion_matrix(labels, predictions, num_classes)",
       .inputs = {"labels:index", "predictions:index"},
       .attrs = {attr::integer("num_classes").at_least(0)},
       .infer = [](const Infer& in) -> Specs {
         in.require_rank(0, 1);
         in.require_rank(1, 1);
         infer::require_same_shape(in, 1, 0);
         const std::int64_t classes = in.integer("num_classes");
         infer::mul(in, classes, classes);
         return {{DType::i32, Shape{classes, classes}}};
       },
       .validate = [](const KernelCall& call) {
         const std::int64_t classes = call.integer("num_classes");
         for (std::size_t i = 0; i < 2; ++i)
           if (const std::int64_t bad = kernels::first_outside(indices_of(call, i), call.shape(i).dim(0), classes); bad >= 0)
             call.index_error(element_name(call, i, bad) + " is " + std::to_string(indices_of(call, i)[bad]) + "; num_classes is " + std::to_string(classes) +
                              ", so that it must be 0 or more and below that.");
       },
       .kernel = [](KernelCall& call) {
         const std::int64_t classes = call.out_shape().dim(0);
         std::int32_t* y = call.out<std::int32_t>();
         std::fill_n(y, classes * classes, 0);
         for (std::int64_t k = 0; k < call.shape(0).dim(0); ++k) count_one(y[indices_of(call, 0)[k] * classes + indices_of(call, 1)[k]]);
       },
       .traits = kNoGradient,
       .samples = {{{i32({6}).range(0, 2), i32({6}).range(0, 2)}, {{"num_classes", std::int64_t{3}}}}}},

      {.name = "in_top_k",
       .doc = "For each row of predictions: is targets' class among its k largest? Ties at the border count; a row with a number that is not finite says no.",
       .tf = "tf.nn.in_top_k(targets, predictions, k)",
       .inputs = {"targets:index", "predictions"},
       .attrs = {attr::integer("k").at_least(0)},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         in.require_rank(0, 1);
         in.require_rank(1, 2);
         if (!infer::compatible(in.shape(0).dim(0), in.shape(1).dim(0))) in.shape_error(in.named(0) + " must have one class for each row of " + in.named(1) + ".");
         return {{bool_, Shape{infer::merge(in.shape(0).dim(0), in.shape(1).dim(0))}}};
       },
       .validate = [](const KernelCall& call) { require_indices(call, 0, 1, 1); },
       .kernel = [](KernelCall& call) {
         with_number(call.dtype(1), [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           if constexpr (std::floating_point<T>)
             kernels::in_top_k(call.in<T>(1), indices_of(call, 0), call.shape(1).dim(0), call.shape(1).dim(1), call.integer("k"), call.out<bool>());
         });
       },
       .batch = batch::fold,
       .traits = kNoGradient,
       .samples = {{{i32({3}).range(0, 3), f32({3, 4}).distinct()}, {{"k", std::int64_t{2}}}}}},
  };
}

}  // namespace weft::inline v0::rows
