// Gathering and scattering.
#include <algorithm>
#include <cstring>

#include "base/convert.h"
#include "ops/families.h"
#include "ops/indices.h"
#include "ops/row.h"

namespace weft::inline v0::rows {
namespace {

Infer without_specs(const OpArgs& args) { return {args, {}}; }

// --- along one axis ---

// The number of leading axes that x and indices share.
int batch_dims(const OpArgs& args, int indices_rank) {
  const std::int64_t given = args.integer("batch_dims");
  if (given < -indices_rank || given > indices_rank)
    args.value_error("batch_dims is " + std::to_string(given) + "; it must be from " + std::to_string(-indices_rank) + " to " +
                     std::to_string(indices_rank) + ", the rank of indices.");
  return static_cast<int>(given < 0 ? given + indices_rank : given);
}

void require_same_batch(const Infer& in, std::size_t x, std::size_t indices, int batch) {
  for (int axis = 0; axis < batch; ++axis)
    if (!infer::compatible(in.shape(x).dim(axis), in.shape(indices).dim(axis)))
      in.shape_error(in.named(x) + " and " + in.named(indices) + " differ in batch axis " + std::to_string(axis) + "; the first batch_dims sizes must agree.");
}

Shape checked(const Infer& in, const Shape& shape) {
  if (shape.rank() > kMaxRank) in.shape_error("the result would have rank " + std::to_string(shape.rank()) + "; at most " + std::to_string(kMaxRank) + " is possible.");
  infer::count(in, shape);
  return shape;
}

// What gather makes of inputs x and indices.
Shape gathered_shape(const Infer& in, std::size_t x, std::size_t indices) {
  in.require_rank_at_least(x, 1);
  const int axis = in.axis("axis", in.rank(x)), batch = batch_dims(in, in.rank(indices));
  if (batch > axis)
    in.value_error("axis is " + std::to_string(axis) + " and batch_dims " + std::to_string(batch) + "; axis must come after the batch axes.");
  require_same_batch(in, x, indices, batch);
  Shape result;
  for (int i = 0; i < axis; ++i) result.append(i < batch ? infer::merge(in.shape(x).dim(i), in.shape(indices).dim(i)) : in.shape(x).dim(i));
  for (int i = batch; i < in.rank(indices); ++i) result.append(in.shape(indices).dim(i));
  for (int i = axis + 1; i < in.rank(x); ++i) result.append(in.shape(x).dim(i));
  return checked(in, result);
}

struct AxisRows {
  int axis;
  kernels::Rows rows;
  std::int64_t width;
};

AxisRows axis_rows(const KernelCall& call, const Shape& few, const Shape& indices) {
  const int axis = without_specs(call).axis("axis", few.rank()), batch = batch_dims(call, indices.rank());
  return {axis,
          {.batch = extent(indices, 0, batch), .outer = extent(few, batch, axis), .count = extent(indices, batch, indices.rank()), .size = few.dim(axis)},
          extent(few, axis + 1, few.rank())};
}

// --- by tuples ---

// Tuples of indices [batch.., n.., depth] name slices of target [batch.., sizes of depth axes.., slice..]; updates are
// [batch.., n.., slice..]. The ranks alone tell the depth.
void require_updates(const Infer& in, std::size_t indices, std::size_t updates, const Shape& target, const std::string& target_name, int batch) {
  in.require_rank_at_least(indices, batch + 1);
  const Shape &tuples = in.shape(indices), &given = in.shape(updates);
  const int outer = tuples.rank() - 1;
  const std::int64_t depth = outer + target.rank() - batch - given.rank();
  bool fits = depth >= 0 && depth <= target.rank() - batch && infer::compatible(tuples.dim(outer), depth);
  for (int axis = 0; fits && axis < outer; ++axis) fits = infer::compatible(given.dim(axis), tuples.dim(axis));
  for (int axis = outer; fits && axis < given.rank(); ++axis) fits = infer::compatible(given.dim(axis), target.dim(axis - outer + batch + static_cast<int>(depth)));
  if (!fits)
    in.shape_error(in.named(updates) + " does not fit " + in.named(indices) + " and " + target_name +
                   "; updates has the sizes of indices without the last, then those of " + target_name + " that the indices leave.");
}

// The depth of the tuples as gradients may know it: from ranks.
std::int64_t depth_by_rank(const Tensor& indices, const Tensor& target, const Tensor& updates, int batch) {
  return indices.rank() - 1 + target.rank() - batch - updates.rank();
}

void require_tuples(const KernelCall& call, std::size_t indices, std::size_t target, int batch) {
  const Shape& shape = call.shape(indices);
  const std::int64_t depth = shape.dim(shape.rank() - 1);
  const std::int64_t bad = kernels::first_tuple_outside(indices_of(call, indices), depth == 0 ? 0 : shape.num_elements() / depth, depth, call.shape(target).begin() + batch);
  if (bad >= 0) refuse_index(call, indices, bad, target, batch + static_cast<int>(bad % depth));
}

struct TupleRows {
  kernels::Tuples tuples;
  kernels::Rows rows;
  std::int64_t width;
};

TupleRows tuple_rows(const KernelCall& call, std::size_t indices, const Shape& target, int batch) {
  const Shape& shape = call.shape(indices);
  const int outer = shape.rank() - 1, depth = static_cast<int>(shape.dim(outer));
  const std::int64_t slices = extent(target, batch, batch + depth);
  return {{indices_of(call, indices), depth, target.begin() + batch, extent(shape, batch, outer), slices},
          {.count = extent(shape, 0, outer), .size = 0},
          extent(target, batch + depth, target.rank())};
}

template <class Combine>
void scatter_tuples(KernelCall& call, std::size_t indices, std::size_t updates, int batch, const Combine& combine) {
  if (call.inputs[updates].size() == 0) return;
  const TupleRows plan = tuple_rows(call, indices, call.out_shape(), batch);
  with_number(call.dtype(updates), [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    kernels::scatter_rows(call.in<T>(updates), plan.tuples, plan.rows, plan.width, call.out<T>(), [&](T a, T b) { return combine(a, b); });
  });
}

void clear_output(KernelCall& call) {
  std::memset(call.out<char>(), 0, static_cast<std::size_t>(call.outputs[0].size()) * size_of(call.out_dtype()));
}

// tensor_scatter_nd_*: x with the updates, in their order.
template <class Combine>
void scatter_into_x(KernelCall& call, const Combine& combine) {
  start_from_first(call);
  scatter_tuples(call, 1, 2, 0, combine);
}

Specs infer_scatter_into_x(const Infer& in) {
  require_updates(in, 1, 2, in.shape(0), in.named(0), 0);
  return infer::same(in);
}

void validate_scatter_into_x(const KernelCall& call) { require_tuples(call, 1, 0, 0); }

constexpr auto kAdd = [](auto a, auto b) { return lane_add(a, b); };
constexpr auto kTakeLast = [](auto, auto b) { return b; };
// NaN wins over every number.
constexpr auto kLarger = [](auto a, auto b) {
  if constexpr (std::floating_point<decltype(a)>) return std::isnan(a) || a > b ? a : b;
  else return a > b ? a : b;
};
constexpr auto kSmaller = [](auto a, auto b) {
  if constexpr (std::floating_point<decltype(a)>) return std::isnan(a) || a < b ? a : b;
  else return a < b ? a : b;
};

Tensor dy_of_updates(const Backward& b) {
  return gather_nd(b.dy(), b.x(1), {.depth = depth_by_rank(b.x(1), b.x(0), b.x(2), 0)});
}

// Whoever equals the result shares its gradient equally, be it x or any number of updates.
Grads grad_of_extreme(const Backward& b) {
  const Tensor &x = b.x(0), &indices = b.x(1), &updates = b.x(2);
  const GatherNdOptions by_depth{.depth = depth_by_rank(indices, x, updates, 0)};
  const Tensor x_is = cast(x == b.y(), x.dtype());
  const Tensor update_is = cast(updates == gather_nd(b.y(), indices, by_depth), x.dtype());
  const Tensor share = b.dy() / tensor_scatter_nd_add(x_is, indices, update_is);
  return {share * x_is, Grad(), gather_nd(share, indices, by_depth) * update_is};
}

// --- batches ---

// Without batch_dims the axis can stay in one of the two; otherwise it is one more batch axis of both.
Tensors batch_gather(const Batch& b) {
  const std::int64_t axis = without_specs(b).axis("axis", b.rank(0)), batch = batch_dims(b, b.rank(1));
  const Tensor &x = b.inputs[0], &indices = b.inputs[1];
  if (batch == 0 && !b.batched[1]) return {weft::gather(x, indices, {.axis = axis + 1})};
  if (batch == 0 && !b.batched[0]) return {batch::move_axis(weft::gather(x, indices, {.axis = axis}), static_cast<int>(axis), 0)};
  return {weft::gather(batch::whole(b, 0), batch::whole(b, 1), {.axis = axis + 1, .batch_dims = batch + 1})};
}

// Of scatter_axis, and of scatter_rows: that is axis 0.
Tensors batch_scatter_axis(const Batch& b) {
  const bool rows = b.attrs.empty();
  const std::int64_t axis = rows ? 0 : without_specs(b).axis("axis", b.rank(2)), batch = rows ? 0 : batch_dims(b, b.rank(0));
  const Tensor updates = batch::whole(b, 1), like = batch::whole(b, 2);
  if (batch == 0 && !b.batched[0]) return {scatter_axis(b.inputs[0], updates, like, {.axis = axis + 1})};
  return {scatter_axis(batch::whole(b, 0), updates, like, {.axis = axis + 1, .batch_dims = batch + 1})};
}

// The place along the axis becomes one more index, the first of each tuple. `at` is the input that has the tuples.
Tensors batch_tuples(const Batch& b, std::size_t at) {
  std::vector<Tensor> inputs = batch::wholes(b);
  const Tensor& tuples = inputs[at];
  const Tensor one = sum(tuples, {.axis = -1, .keepdims = true});  // of the shape of one index
  inputs[at] = concat({broadcast_like(batch::places(b, tuples.dtype(), tuples.rank() - 1), one), tuples}, -1);
  return batch::again(b, inputs, {b.attrs.begin(), b.attrs.end()});
}

}  // namespace

std::vector<Op> gather() {
  return {
      {.name = "gather",
       .doc = "Slices of x along an axis, chosen by indices: y[.., k.., ..] = x[.., indices[k..], ..]; the first batch_dims axes of both run together. "
              "An index out of range is an IndexError.",
       .tf = "tf.gather(x, indices, axis, batch_dims) | tf.nn.embedding_lookup(x, indices)",
       .inputs = {"x", "indices:index"},
       .attrs = {attr::axis("axis", 0), attr::integer("batch_dims", 0)},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs { return {{in.dtype(0), gathered_shape(in, 0, 1)}}; },
       .validate = [](const KernelCall& call) { require_indices(call, 1, 0, without_specs(call).axis("axis", call.shape(0).rank())); },
       .kernel = [](KernelCall& call) {
         if (call.outputs[0].size() == 0) return;
         const AxisRows plan = axis_rows(call, call.shape(0), call.shape(1));
         kernels::gather_rows(call.in<char>(0), indices_of(call, 1), plan.rows, static_cast<std::size_t>(plan.width) * size_of(call.dtype()), call.out<char>());
       },
       .grad = [](const Backward& b) -> Grads {
         const Tensor &x = b.x(0), &indices = b.x(1);
         const int axis = without_specs(b).axis("axis", x.rank()), batch = batch_dims(b, indices.rank());
         if (axis > 0 || batch > 0) return {scatter_axis(indices, b.dy(), x, {.axis = axis, .batch_dims = batch})};
         if (indices.rank() == 1) return {IndexedSlices{b.dy(), indices, x}};
         return {IndexedSlices{merge_leading(b.dy(), indices.rank()), reshape(indices, {-1}), x}};
       },
       .batch = batch_gather,
       .traits = kMoves,
       .samples = {{{f32({4, 3}), i32({2, 2}).range(0, 3)}},
                   {{f32({4, 3}), i32({}).range(0, 3)}},
                   {{f32({2, 4, 2}), i32({3}).range(0, 3)}, {{"axis", std::int64_t{-2}}}},
                   {{f32({2, 4, 2}), i32({2, 3}).range(0, 3)}, {{"axis", std::int64_t{1}}, {"batch_dims", std::int64_t{1}}}}}},

      {.name = "scatter_axis",
       .doc = "Zeros of like's shape into which updates are added along an axis: the transpose of gather.",
       .inputs = {"indices:index", "updates", "like:any"},
       .attrs = {attr::axis("axis", 0), attr::integer("batch_dims", 0)},
       .dtypes = kNumbers,
       .infer = [](const Infer& in) -> Specs {
         const Shape expected = gathered_shape(in, 2, 0);
         if (!infer::compatible(in.shape(1), expected))
           in.shape_error(in.named(1) + " must be " + expected.str() + ": what " + in.named(0) + " gathers of " + in.named(2) + ".");
         return {{in.dtype(1), in.shape(2)}};
       },
       .validate = [](const KernelCall& call) { require_indices(call, 0, 2, without_specs(call).axis("axis", call.shape(2).rank())); },
       .kernel = [](KernelCall& call) {
         clear_output(call);
         if (call.inputs[1].size() == 0) return;
         const AxisRows plan = axis_rows(call, call.out_shape(), call.shape(0));
         with_number(call.dtype(1), [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           kernels::scatter_rows(call.in<T>(1), indices_of(call, 0), plan.rows, plan.width, call.out<T>(), kAdd);
         });
       },
       .grad = [](const Backward& b) -> Grads {
         return {Grad(), gather(b.dy(), b.x(0), {.axis = b.integer("axis"), .batch_dims = b.integer("batch_dims")})};
       },
       .batch = batch_scatter_axis,
       .samples = {{{i32({3}).range(0, 3), f32({2, 3, 2}), f32({2, 4, 2})}, {{"axis", std::int64_t{1}}}},
                   {{i32({2, 3}).range(0, 3), f32({2, 3}), f32({2, 4})}, {{"axis", std::int64_t{-1}}, {"batch_dims", std::int64_t{-1}}}}}},

      {.name = "scatter_rows",
       .doc = "Zeros of like's shape to whose rows the rows of values are added: y[indices[k]] += values[k].",
       .inputs = {"indices:index", "values", "like:any"},
       .dtypes = kNumbers,
       .infer = [](const Infer& in) -> Specs {
         in.require_rank(0, 1);
         in.require_rank_at_least(2, 1);
         Shape expected = in.shape(2);
         expected.set(0, in.shape(0).dim(0));
         if (!infer::compatible(in.shape(1), expected))
           in.shape_error(in.named(1) + " must be " + expected.str() + ": one row of " + in.named(2) + " for each of " + in.named(0) + ".");
         return {{in.dtype(1), in.shape(2)}};
       },
       .validate = [](const KernelCall& call) { require_indices(call, 0, 2, 0); },
       .kernel = [](KernelCall& call) {
         clear_output(call);
         const Shape& shape = call.out_shape();
         const kernels::Rows rows{.count = call.shape(0).dim(0), .size = shape.dim(0)};
         with_number(call.dtype(1), [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           kernels::scatter_rows(call.in<T>(1), indices_of(call, 0), rows, extent(shape, 1, shape.rank()), call.out<T>(), kAdd);
         });
       },
       .grad = [](const Backward& b) -> Grads { return {Grad(), gather(b.dy(), b.x(0))}; },
       .batch = batch_scatter_axis,
       .samples = {{{i32({3}).range(0, 3), f32({3, 2}), f32({4, 2})}}, {{i32({5}).range(0, 1), f32({5}), f32({2})}}}},

      {.name = "merge_leading",
       .doc = "The same elements with the first `count` axes merged into one; none of them gives a new first axis of size 1.",
       .inputs = {"x"},
       .attrs = {attr::integer("count").between(0, kMaxRank)},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         const int count = static_cast<int>(in.integer("count"));
         in.require_rank_at_least(0, count);
         Shape result;
         std::int64_t merged = 1;
         for (int axis = 0; axis < count; ++axis) merged = infer::mul(in, merged, in.shape(0).dim(axis));
         result.append(merged);
         for (int axis = count; axis < in.rank(0); ++axis) result.append(in.shape(0).dim(axis));
         return {{in.dtype(0), checked(in, result)}};
       },
       .grad = [](const Backward& b) -> Grads { return {reshape_like(b.dy(), b.x())}; },
       .batch = [](const Batch& b) -> Tensors {
         const std::int64_t count = b.integer("count");
         if (count == 0) return {expand_dims(b.inputs[0], 1)};
         return {batch::unfold(b, merge_leading(b.inputs[0], count + 1))};
       },
       .traits = kView,
       .samples = {{{f32({2, 3, 4})}, {{"count", std::int64_t{2}}}}, {{f32({2, 3})}, {{"count", std::int64_t{0}}}}, {{f32({2, 3})}, {{"count", std::int64_t{2}}}}}},

      {.name = "gather_nd",
       .doc = "Slices of x chosen by tuples of indices, which lie along the last axis of indices; the first batch_dims axes of both run together. "
              "depth is the length of the tuples: it need only be given where that size is unknown (the rank of the result depends on it).",
       .tf = "tf.gather_nd(x, indices, batch_dims)",
       .inputs = {"x", "indices:index"},
       .attrs = {attr::integer("batch_dims", 0).between(0, kMaxRank), attr::integer("depth", -1).at_least(-1)},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         const int batch = static_cast<int>(in.integer("batch_dims"));
         in.require_rank_at_least(0, batch);
         in.require_rank_at_least(1, batch + 1);
         require_same_batch(in, 0, 1, batch);
         const int outer = in.rank(1) - 1;
         const std::int64_t wanted = in.integer("depth"), last = in.shape(1).dim(outer), depth = wanted < 0 ? last : wanted;
         if (!infer::known(depth)) in.shape_error(in.named(1) + " has tuples of unknown length; give it as depth.");
         if (!infer::compatible(depth, last)) in.shape_error("depth is " + std::to_string(wanted) + ", but the last size of " + in.named(1) + " differs; they must agree.");
         if (depth > in.rank(0) - batch)
           in.shape_error(in.named(1) + " has tuples of " + std::to_string(depth) + " indices, but " + in.named(0) + " has only " +
                          std::to_string(in.rank(0) - batch) + " axes to index.");
         Shape result;
         for (int axis = 0; axis < outer; ++axis) result.append(axis < batch ? infer::merge(in.shape(0).dim(axis), in.shape(1).dim(axis)) : in.shape(1).dim(axis));
         for (int axis = batch + static_cast<int>(depth); axis < in.rank(0); ++axis) result.append(in.shape(0).dim(axis));
         return {{in.dtype(0), checked(in, result)}};
       },
       .validate = [](const KernelCall& call) { require_tuples(call, 1, 0, static_cast<int>(call.integer("batch_dims"))); },
       .kernel = [](KernelCall& call) {
         if (call.outputs[0].size() == 0) return;
         const TupleRows plan = tuple_rows(call, 1, call.shape(0), static_cast<int>(call.integer("batch_dims")));
         kernels::gather_rows(call.in<char>(0), plan.tuples, plan.rows, static_cast<std::size_t>(plan.width) * size_of(call.dtype()), call.out<char>());
       },
       .grad = [](const Backward& b) -> Grads {
         const Tensor &x = b.x(0), &indices = b.x(1);
         const int batch = static_cast<int>(b.integer("batch_dims"));
         if (batch == 0 && depth_by_rank(indices, x, b.y(), 0) == 1)
           return {IndexedSlices{merge_leading(b.dy(), indices.rank() - 1), reshape(indices, {-1}), x}};
         return {scatter_nd_like(indices, b.dy(), x, {.batch_dims = batch})};
       },
       .batch = [](const Batch& b) -> Tensors {
         return batch::again(b, batch::wholes(b), batch::with(b, "batch_dims", b.integer("batch_dims") + 1));
       },
       .traits = kMoves,
       .samples = {{{f32({3, 4}), i32({5, 2}).range(0, 2)}, {{"depth", std::int64_t{2}}}},
                   {{f32({3, 4}), i32({2, 2, 1}).range(0, 2)}, {{"depth", std::int64_t{1}}}},
                   {{f32({2, 4, 3}), i32({2, 1, 1}).range(0, 3)}, {{"batch_dims", std::int64_t{1}}, {"depth", std::int64_t{1}}}},
                   {{f32({2, 3}), i32({3, 0})}, {{"depth", std::int64_t{0}}}}}},

      {.name = "scatter_nd",
       .doc = "Zeros of the given shape to which updates are added at the slices that tuples of indices name; those named twice add up.",
       .tf = "tf.scatter_nd(indices, updates, shape)",
       .inputs = {"indices:index", "updates"},
       .attrs = {attr::shape("shape")},
       .dtypes = kNumbers,
       .infer = [](const Infer& in) -> Specs {
         const Shape shape(in.ints("shape"));
         if (!shape.known()) in.shape_error("shape " + shape.str() + " has an unknown size; name every size.");
         infer::count(in, shape);
         require_updates(in, 0, 1, shape, "shape " + shape.str(), 0);
         return {{in.dtype(1), shape}};
       },
       .validate = [](const KernelCall& call) {
         const Shape &shape = call.shape(0), target(call.ints("shape"));
         const std::int64_t depth = shape.dim(shape.rank() - 1);
         const kernels::Indices indices = indices_of(call, 0);
         const std::int64_t bad = kernels::first_tuple_outside(indices, depth == 0 ? 0 : shape.num_elements() / depth, depth, target.begin());
         if (bad < 0) return;
         const int axis = static_cast<int>(bad % depth);
         call.index_error(element_name(call, 0, bad) + " is " + std::to_string(indices[bad]) + "; axis " + std::to_string(axis) + " of shape " + target.str() +
                          (target.dim(axis) == 0 ? " is empty, so that no index is in range." : " takes indices from 0 to " + std::to_string(target.dim(axis) - 1) + "."));
       },
       .kernel = [](KernelCall& call) {
         clear_output(call);
         scatter_tuples(call, 0, 1, 0, kAdd);
       },
       .grad = [](const Backward& b) -> Grads {
         return {Grad(), gather_nd(b.dy(), b.x(0), {.depth = depth_by_rank(b.x(0), b.y(), b.x(1), 0)})};
       },
       .batch = [](const Batch& b) -> Tensors {
         const Tensor like = zeros(Shape(batch::sizes(b, b.ints("shape"))), {.dtype = bool_});
         return {scatter_nd_like(batch::whole(b, 0), batch::whole(b, 1), like, {.batch_dims = 1})};
       },
       .samples = {{{i32({3, 1}).range(0, 4), f32({3, 2})}, {{"shape", Ints{5, 2}}}}, {{i32({2, 3, 2}).range(0, 1), f32({2, 3})}, {{"shape", Ints{2, 2}}}}}},

      {.name = "scatter_nd_like",
       .doc = "scatter_nd with the shape of like and batch axes: the transpose of gather_nd.",
       .inputs = {"indices:index", "updates", "like:any"},
       .attrs = {attr::integer("batch_dims", 0).between(0, kMaxRank)},
       .dtypes = kNumbers,
       .infer = [](const Infer& in) -> Specs {
         const int batch = static_cast<int>(in.integer("batch_dims"));
         in.require_rank_at_least(2, batch);
         in.require_rank_at_least(0, batch + 1);
         require_same_batch(in, 2, 0, batch);
         require_updates(in, 0, 1, in.shape(2), in.named(2), batch);
         return {{in.dtype(1), in.shape(2)}};
       },
       .validate = [](const KernelCall& call) { require_tuples(call, 0, 2, static_cast<int>(call.integer("batch_dims"))); },
       .kernel = [](KernelCall& call) {
         clear_output(call);
         scatter_tuples(call, 0, 1, static_cast<int>(call.integer("batch_dims")), kAdd);
       },
       .grad = [](const Backward& b) -> Grads {
         const int batch = static_cast<int>(b.integer("batch_dims"));
         return {Grad(), gather_nd(b.dy(), b.x(0), {.batch_dims = batch, .depth = depth_by_rank(b.x(0), b.x(2), b.x(1), batch)})};
       },
       .batch = [](const Batch& b) -> Tensors {
         return batch::again(b, batch::wholes(b), batch::with(b, "batch_dims", b.integer("batch_dims") + 1));
       },
       .samples = {{{i32({3, 2}).range(0, 2), f32({3}), f32({3, 4})}},
                   {{i32({2, 3, 1}).range(0, 3), f32({2, 3, 2}), f32({2, 4, 2})}, {{"batch_dims", std::int64_t{1}}}}}},

      {.name = "tensor_scatter_nd_add",
       .doc = "x with updates added at the slices that tuples of indices name; those named twice add up, in order.",
       .tf = "tf.tensor_scatter_nd_add(x, indices, updates)",
       .inputs = {"x", "indices:index", "updates"},
       .dtypes = kNumbers,
       .infer = infer_scatter_into_x,
       .validate = validate_scatter_into_x,
       .kernel = [](KernelCall& call) { scatter_into_x(call, kAdd); },
       .grad = [](const Backward& b) -> Grads { return {b.dy(), Grad(), dy_of_updates(b)}; },
       .batch = [](const Batch& b) -> Tensors { return batch_tuples(b, 1); },
       .traits = kChanges,
       .samples = {{{f32({5, 2}), i32({3, 1}).range(0, 4), f32({3, 2})}}, {{f32({2, 3}), i32({4, 2}).range(0, 1), f32({4})}}}},

      {.name = "tensor_scatter_nd_sub",
       .doc = "x with updates subtracted at the slices that tuples of indices name; those named twice are subtracted twice.",
       .tf = "tf.tensor_scatter_nd_sub(x, indices, updates)",
       .inputs = {"x", "indices:index", "updates"},
       .dtypes = kNumbers,
       .infer = infer_scatter_into_x,
       .validate = validate_scatter_into_x,
       .kernel = [](KernelCall& call) { scatter_into_x(call, [](auto a, auto b) { return lane_sub(a, b); }); },
       .grad = [](const Backward& b) -> Grads { return {b.dy(), Grad(), -dy_of_updates(b)}; },
       .batch = [](const Batch& b) -> Tensors { return batch_tuples(b, 1); },
       .traits = kChanges,
       .samples = {{{f32({5, 2}), i32({3, 1}).range(0, 4), f32({3, 2})}}, {{f32({2, 3}), i32({4, 2}).range(0, 1), f32({4})}}}},

      {.name = "tensor_scatter_nd_update",
       .doc = "x with the slices that tuples of indices name replaced by updates; of those named twice the last one stays.",
       .tf = "tf.tensor_scatter_nd_update(x, indices, updates)",
       .inputs = {"x", "indices:index", "updates"},
       .dtypes = kAnything,
       .infer = infer_scatter_into_x,
       .validate = validate_scatter_into_x,
       .kernel = [](KernelCall& call) {
         start_from_first(call);
         if (call.inputs[2].size() == 0) return;
         const TupleRows plan = tuple_rows(call, 1, call.shape(0), 0);
         kernels::scatter_rows(call.in<char>(2), plan.tuples, plan.rows, plan.width * static_cast<std::int64_t>(size_of(call.dtype(0))), call.out<char>(), kTakeLast);
       },
       .grad = [](const Backward& b) -> Grads {
         const Tensor &indices = b.x(1), &updates = b.x(2);
         Ints slice_axes;
         for (int axis = indices.rank() - 1; axis < updates.rank(); ++axis) slice_axes.push_back(axis);
         const Tensor stays = expand_dims(scatter_nd_last(indices, b.x(0)), slice_axes), zero = zeros_like(updates);
         return {tensor_scatter_nd_update(b.dy(), indices, zero), Grad(), where(stays, dy_of_updates(b), zero)};
       },
       .batch = [](const Batch& b) -> Tensors { return batch_tuples(b, 1); },
       .traits = kMoves | kChanges,
       .samples = {{{f32({5, 2}), i32({4, 1}).exactly({1, 4, 1, 0}), f32({4, 2})}}, {{f32({2, 3}), i32({3, 2}).range(0, 1), f32({3})}}}},

      {.name = "scatter_nd_last",
       .doc = "For each tuple of indices into like, whether no later tuple names the same slice.",
       .inputs = {"indices:index", "like:any"},
       .infer = [](const Infer& in) -> Specs {
         in.require_rank_at_least(0, 1);
         const int outer = in.rank(0) - 1;
         if (in.shape(0).dim(outer) > in.rank(1))
           in.shape_error(in.named(0) + " has tuples of " + std::to_string(in.shape(0).dim(outer)) + " indices, but " + in.named(1) + " has only " + std::to_string(in.rank(1)) + " axes.");
         return {{bool_, Shape(in.shape(0).sizes().first(static_cast<std::size_t>(outer)))}};
       },
       .validate = [](const KernelCall& call) { require_tuples(call, 0, 1, 0); },
       .kernel = [](KernelCall& call) {
         if (call.outputs[0].size() == 0) return;
         kernels::last_of_equal(tuple_rows(call, 0, call.shape(1), 0).tuples, call.outputs[0].size(), call.out<bool>());
       },
       .batch = [](const Batch& b) -> Tensors { return batch_tuples(b, 0); },
       .traits = kNoGradient,
       .samples = {{{i32({4, 1}).exactly({1, 4, 1, 0}), f32({5, 2})}}, {{i32({3, 2}).range(0, 1), f32({2, 2})}}}},

      {.name = "tensor_scatter_nd_max",
       .doc = "x with the larger of itself and updates at the slices that tuples of indices name; NaN wins.",
       .tf = "tf.tensor_scatter_nd_max(x, indices, updates)",
       .inputs = {"x", "indices:index", "updates"},
       .dtypes = kNumbers,
       .infer = infer_scatter_into_x,
       .validate = validate_scatter_into_x,
       .kernel = [](KernelCall& call) { scatter_into_x(call, kLarger); },
       .grad = grad_of_extreme,
       .batch = [](const Batch& b) -> Tensors { return batch_tuples(b, 1); },
       .traits = kChanges,
       .samples = {{{f32({5, 2}).distinct(), i32({4, 1}).exactly({1, 4, 1, 0}), f32({4, 2}).distinct()}}, {{f32({2, 3}).distinct(), i32({3, 2}).range(0, 1), f32({3}).distinct()}}}},

      {.name = "tensor_scatter_nd_min",
       .doc = "x with the smaller of itself and updates at the slices that tuples of indices name; NaN wins.",
       .tf = "tf.tensor_scatter_nd_min(x, indices, updates)",
       .inputs = {"x", "indices:index", "updates"},
       .dtypes = kNumbers,
       .infer = infer_scatter_into_x,
       .validate = validate_scatter_into_x,
       .kernel = [](KernelCall& call) { scatter_into_x(call, kSmaller); },
       .grad = grad_of_extreme,
       .batch = [](const Batch& b) -> Tensors { return batch_tuples(b, 1); },
       .traits = kChanges,
       .samples = {{{f32({5, 2}).distinct(), i32({4, 1}).exactly({1, 4, 1, 0}), f32({4, 2}).distinct()}}, {{f32({2, 3}).distinct(), i32({3, 2}).range(0, 1), f32({3}).distinct()}}}},

      {.name = "boolean_mask",
       .doc = "The slices of x at which mask holds; mask has the sizes of x from axis on, and its axes become one.",
       .tf = "tf.boolean_mask(x, mask, axis)",
       .inputs = {"x", "mask:bool"},
       .attrs = {attr::axis("axis", 0)},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         in.require_rank_at_least(0, 1);
         in.require_rank_at_least(1, 1);
         const int axis = in.axis("axis", in.rank(0)), end = axis + in.rank(1);
         bool fits = end <= in.rank(0);
         for (int i = axis; fits && i < end; ++i) fits = infer::compatible(in.shape(0).dim(i), in.shape(1).dim(i - axis));
         if (!fits) in.shape_error(in.named(1) + " must have the sizes of " + in.named(0) + " from axis " + std::to_string(axis) + " on.");
         Shape result;
         for (int i = 0; i < axis; ++i) result.append(in.shape(0).dim(i));
         result.append(kUnknown);
         for (int i = end; i < in.rank(0); ++i) result.append(in.shape(0).dim(i));
         return {{in.dtype(0), result}};
       },
       .kernel = [](KernelCall& call) {
         const Shape &x = call.shape(0), &mask = call.shape(1);
         const int axis = without_specs(call).axis("axis", x.rank());
         Shape result = call.specs[0].shape;
         result.set(axis, kernels::count_true(call.in<bool>(1), mask.num_elements()));
         call.allocate(0, result);
         if (call.outputs[0].size() == 0) return;  // the axes before the mask may be huge
         kernels::compress_rows(call.in<char>(0), call.in<bool>(1), extent(x, 0, axis), mask.num_elements(),
                                static_cast<std::size_t>(extent(x, axis + mask.rank(), x.rank())) * size_of(call.dtype()), call.out<char>());
       },
       .grad = [](const Backward& b) -> Grads {
         return {boolean_unmask(b.dy(), b.x(1), {.axis = without_specs(b).axis("axis", b.x(0).rank())})};
       },
       .batch = [](const Batch& b) -> Tensors {
         return b.batched[1] ? Tensors() : batch::again(b, {b.inputs[0], b.inputs[1]}, batch::shifted(b));
       },
       .traits = kValueShape | kMoves,
       .samples = {{{f32({4, 2}), boolean({4}).exactly({1, 0, 1, 1})}}, {{f32({2, 3}), boolean({2, 3})}}, {{f32({2, 3, 2}), boolean({3, 2})}, {{"axis", std::int64_t{1}}}}}},

      {.name = "boolean_unmask",
       .doc = "Zeros but where mask holds, which take the slices of x along axis in order: the transpose of boolean_mask.",
       .inputs = {"x", "mask:bool"},
       .attrs = {attr::axis("axis", 0)},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         in.require_rank_at_least(0, 1);
         in.require_rank_at_least(1, 1);
         const int axis = in.axis("axis", in.rank(0));
         Shape result;
         for (int i = 0; i < axis; ++i) result.append(in.shape(0).dim(i));
         for (std::int64_t size : in.shape(1)) result.append(size);
         for (int i = axis + 1; i < in.rank(0); ++i) result.append(in.shape(0).dim(i));
         return {{in.dtype(0), checked(in, result)}};
       },
       .validate = [](const KernelCall& call) {
         const std::int64_t size = call.shape(0).dim(without_specs(call).axis("axis", call.shape(0).rank()));
         const std::int64_t trues = kernels::count_true(call.in<bool>(1), call.shape(1).num_elements());
         if (size != trues)
           call.shape_error("x has " + std::to_string(size) + " slices along axis, but mask holds at " + std::to_string(trues) + " places; give one slice for each.");
       },
       .kernel = [](KernelCall& call) {
         if (call.outputs[0].size() == 0) return;
         const Shape& x = call.shape(0);
         const int axis = without_specs(call).axis("axis", x.rank());
         kernels::expand_rows(call.in<char>(0), call.in<bool>(1), extent(x, 0, axis), call.shape(1).num_elements(),
                              static_cast<std::size_t>(extent(x, axis + 1, x.rank())) * size_of(call.dtype()), call.out<char>());
       },
       .grad = [](const Backward& b) -> Grads {
         return {boolean_mask(b.dy(), b.x(1), {.axis = without_specs(b).axis("axis", b.x(0).rank())})};
       },
       .batch = [](const Batch& b) -> Tensors {
         return b.batched[1] ? Tensors() : batch::again(b, {b.inputs[0], b.inputs[1]}, batch::shifted(b));
       },
       .traits = kMoves,
       .samples = {{{f32({3, 2}), boolean({4}).exactly({1, 0, 1, 1})}}, {{f32({2, 3}), boolean({2, 2}).exactly({1, 1, 0, 1})}, {{"axis", std::int64_t{-1}}}}}},

      {.name = "nonzero",
       .doc = "The indices of the elements that are not zero (or true), in row-major order, one row of rank numbers each.",
       .tf = "tf.where(x)",
       .inputs = {"x"},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs { return {{DType::i64, Shape{kUnknown, in.rank(0)}}}; },
       .kernel = [](KernelCall& call) {
         with_element(call.dtype(), [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           const Shape& shape = call.shape(0);
           const T* x = call.in<T>(0);
           const std::int64_t total = shape.num_elements();
           std::int64_t found = 0;
           for (std::int64_t i = 0; i < total; ++i) found += convert<bool>(x[i]);
           call.allocate(0, Shape{found, shape.rank()});
           std::int64_t* y = call.out<std::int64_t>();
           for (std::int64_t i = 0; i < total; ++i) {
             if (!convert<bool>(x[i])) continue;
             std::int64_t rest = i;
             for (int axis = shape.rank() - 1; axis >= 0; --axis) {
               y[axis] = rest % shape.dim(axis);
               rest /= shape.dim(axis);
             }
             y += shape.rank();
           }
         });
       },
       .traits = kValueShape | kMoves | kNoGradient,
       .samples = {{{f32({2, 3}).exactly({0, 1, 0, 1, 1, 0})}}, {{f32({}).exactly({1})}}}},
  };
}

}  // namespace weft::inline v0::rows
