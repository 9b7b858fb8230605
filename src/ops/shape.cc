// Shapes, joining and splitting.
#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "core/strides.h"
#include "kernels/move.h"
#include "ops/families.h"
#include "ops/row.h"
#include "ops/sizes.h"

namespace weft::inline v0::rows {
namespace {

template <class Bits>
void copy_lanes(const void* const* in, void* out, std::size_t n) {
  std::memcpy(out, in[0], n * sizeof(Bits));
}

kernels::TileFn copy_fn(std::size_t size) {
  return size == 1 ? copy_lanes<std::uint8_t> : size == 2 ? copy_lanes<std::uint16_t> : size == 4 ? copy_lanes<std::uint32_t> : copy_lanes<std::uint64_t>;
}

void broadcast_kernel(KernelCall& call) {
  const Shape& shape = call.out_shape();
  std::int64_t strides[kMaxRank];
  broadcast_strides(call.shape(0), shape, strides);
  const std::size_t size = size_of(call.dtype());
  const kernels::TileInput input{mutable_data(call.inputs[0]), strides, size, kernels::Half::kNo};
  kernels::run_tile(copy_fn(size), &input, 1, {call.out<void>(), size, kernels::Half::kNo}, shape.begin(), shape.rank());
}

void require_broadcastable(const Infer& in, const Shape& to, const std::string& target) {
  const Shape& x = in.shape(0);
  const int shift = to.rank() - x.rank();
  bool fits = shift >= 0;
  for (int axis = 0; fits && axis < x.rank(); ++axis) fits = x.dim(axis) == 1 || infer::compatible(x.dim(axis), to.dim(axis + shift));
  if (!fits) in.shape_error(in.named(0) + " does not broadcast to " + target + "; its sizes must match from the last axis or be 1.");
}

Specs infer_reshape(const Infer& in) {
  const Ints& wanted = in.ints("shape");
  const std::int64_t have = infer::count(in, in.shape(0));
  Ints sizes;
  int open = -1;
  std::int64_t product = 1;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] < -1) in.shape_error("shape has the size " + std::to_string(wanted[i]) + "; sizes are >= 0, or -1 once for the rest.");
    if (wanted[i] == -1 && open >= 0) in.shape_error("shape has -1 twice; only one size can follow from the rest.");
    if (wanted[i] == -1) open = static_cast<int>(i);
    else product = infer::mul(in, product, wanted[i]);
    sizes.push_back(wanted[i]);
  }
  const auto refuse = [&] { in.shape_error(in.named(0) + " does not have the number of elements of shape " +
      attr_text(in.op.attrs[0], wanted) + "."); };
  if (infer::known(have)) {
    if (open < 0 ? product != have : product == 0 ? true : have % product != 0) refuse();
    if (open >= 0) sizes[static_cast<std::size_t>(open)] = have / product;
  }
  return {{in.dtype(0), shape_of(in, sizes)}};
}

// A whole tensor seen as rows along an axis: `outer` times whole[axis] runs of `inner` bytes.
struct Rows {
  std::size_t outer = 1, inner;
  Rows(const Shape& whole, int axis, std::size_t element_size) : inner(element_size) {
    for (int i = axis + 1; i < whole.rank(); ++i) inner *= static_cast<std::size_t>(whole.dim(i));
    for (int i = 0; i < axis; ++i) outer *= static_cast<std::size_t>(whole.dim(i));
  }
};

// Cuts input 0 along an axis into the outputs, which lie side by side in it. The axis may be missing in the outputs (unstack).
void split_kernel(KernelCall& call) {
  const Shape& whole = call.shape(0);
  if (whole.num_elements() == 0) return;  // beside a zero, the other sizes may point beyond all memory
  const int axis = checked(call).axis("axis", whole.rank());
  const Rows rows(whole, axis, size_of(call.dtype()));
  SmallVector<kernels::RowPart<char>, 4> parts;
  for (std::size_t p = 0; p < call.outputs.size(); ++p) {
    const bool kept = call.out_shape(p).rank() == whole.rank();
    parts.push_back({call.out<char>(p), rows.inner * (kept ? static_cast<std::size_t>(call.out_shape(p).dim(axis)) : 1)});
  }
  kernels::cut_rows(call.in<char>(0), rows.outer, parts);
}

Specs infer_concat(const Infer& in) {
  in.require_rank_at_least(0, 1);
  const int axis = in.axis("axis", in.rank(0));
  Shape result = in.shape(0);
  for (std::size_t i = 1; i < in.count(); ++i) {
    bool fits = in.rank(i) == result.rank();
    for (int a = 0; fits && a < result.rank(); ++a) {
      if (a == axis) result.set(a, infer::add(in, result.dim(a), in.shape(i).dim(a)));
      else if ((fits = infer::compatible(result.dim(a), in.shape(i).dim(a)))) result.set(a, infer::merge(result.dim(a), in.shape(i).dim(a)));
    }
    if (!fits) in.shape_error(in.named(i) + " cannot follow " + in.named(0) + " along axis " + std::to_string(axis) +
        "; all other sizes must match.");
  }
  return {{in.dtype(0), shape_of(in, Ints(result.begin(), result.end()))}};
}

Specs infer_stack(const Infer& in) {
  const int axis = in.axis("axis", in.rank(0) + 1);
  Shape part = in.shape(0);
  for (std::size_t i = 1; i < in.count(); ++i) {
    if (!infer::compatible(part, in.shape(i))) in.shape_error(in.named(i) + " cannot be stacked with " + in.named(0) +
        "; all shapes must be the same.");
    for (int a = 0; a < part.rank(); ++a) part.set(a, infer::merge(part.dim(a), in.shape(i).dim(a)));
  }
  Ints sizes;
  for (int a = 0; a <= part.rank(); ++a) {
    if (a == axis) sizes.push_back(static_cast<std::int64_t>(in.count()));
    if (a < part.rank()) sizes.push_back(part.dim(a));
  }
  return {{in.dtype(0), shape_of(in, sizes)}};
}

Specs infer_unstack(const Infer& in) {
  in.require_rank_at_least(0, 1);
  const int axis = in.axis("axis", in.rank(0));
  const std::int64_t size = in.shape(0).dim(axis), num = in.integer("num");
  if (num < 0 && !infer::known(size))
    in.shape_error("axis " + std::to_string(axis) + " of " + in.named(0) + " has an unknown size; give num.");
  if (num >= 0 && !infer::compatible(num, size))
    in.shape_error("num is " + std::to_string(num) + ", but axis " + std::to_string(axis) + " of " + in.named(0) +
        " has another size; they must agree.");
  const std::int64_t parts = num < 0 ? size : num;
  if (parts > kMaxParts) in.shape_error(std::to_string(parts) + " tensors would be returned; at most " + std::to_string(kMaxParts) +
      " are possible.");
  Shape part;
  for (int a = 0; a < in.rank(0); ++a)
    if (a != axis) part.append(in.shape(0).dim(a));
  return Specs(static_cast<std::size_t>(parts), Spec{in.dtype(0), part});
}

// The sizes of the parts that split makes of an axis of `size`.
Ints split_sizes(const Infer& in, std::int64_t size) {
  const Ints& given = in.ints("sizes");
  if (given.empty()) in.value_error("sizes is empty; give a number of equal parts or a list of sizes.");
  if (given.size() > static_cast<std::size_t>(kMaxParts) || (given.size() == 1 && given[0] > kMaxParts))
    in.shape_error("sizes asks for more than " + std::to_string(kMaxParts) + " tensors; ask for fewer.");
  if (given.size() == 1) {
    const std::int64_t parts = given[0];
    if (parts < 1) in.value_error("sizes is " + std::to_string(parts) + "; the number of parts must be 1 or more.");
    if (infer::known(size) && size % parts != 0)
      in.shape_error(in.named(0) + " cannot be cut into " + std::to_string(parts) + " equal parts along axis " +
          std::to_string(in.axis("axis", in.rank(0))) + "; give a list of sizes.");
    return Ints(static_cast<std::size_t>(parts), infer::known(size) ? size / parts : kUnknown);
  }
  std::int64_t total = 0, rest = -1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] < -1) in.shape_error("sizes has " + std::to_string(given[i]) + "; sizes must be 0 or more, or -1 once for the rest.");
    if (given[i] == -1 && rest >= 0) in.shape_error("sizes has -1 twice; only one size can follow from the rest.");
    if (given[i] == -1) rest = static_cast<std::int64_t>(i);
    else total = infer::add(in, total, given[i]);
  }
  if (infer::known(size) && (rest < 0 ? total != size : total > size))
    in.shape_error("sizes add up to " + std::to_string(total) + ", but " + in.named(0) + " has " + std::to_string(size) +
        " rows along axis " + std::to_string(in.axis("axis", in.rank(0))) + "; they must agree.");
  Ints result = given;
  if (rest >= 0) result[static_cast<std::size_t>(rest)] = infer::known(size) ? size - total : kUnknown;
  return result;
}

// perm as axes in [0, rank); reversed if it is none.
Ints permutation(const Infer& in, int rank) {
  Ints result;
  if (!in.has("perm")) {
    for (int axis = rank; axis-- > 0;) result.push_back(axis);
    return result;
  }
  const Ints& perm = in.ints("perm");
  if (perm.size() != static_cast<std::size_t>(rank))
    in.shape_error("perm has " + std::to_string(perm.size()) + " axes, but " + in.named(0) + " has rank " + std::to_string(rank) +
        "; name each axis once.");
  for (std::int64_t given : perm) {
    const int axis = axis_in(in, "perm", given, rank);
    if (std::find(result.begin(), result.end(), axis) != result.end()) in.value_error("perm names axis " + std::to_string(axis) +
        " twice; name each axis once.");
    result.push_back(axis);
  }
  return result;
}

Specs infer_squeeze(const Infer& in) {
  const Shape& x = in.shape(0);
  const bool named = in.has("axis");
  if (!named && !x.known()) in.shape_error(in.named(0) + " has unknown sizes, any of which may be 1; name the axes to squeeze.");
  const Ints axes = in.axes("axis", x.rank());
  Shape result;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const bool chosen = named ? std::find(axes.begin(), axes.end(), axis) != axes.end() : x.dim(axis) == 1;
    if (chosen && !infer::compatible(x.dim(axis), 1))
      in.shape_error("axis " + std::to_string(axis) + " of " + in.named(0) + " has size " + std::to_string(x.dim(axis)) +
          "; only axes of size 1 can be squeezed.");
    if (!chosen) result.append(x.dim(axis));
  }
  return {{in.dtype(0), result}};
}

Specs infer_unflatten(const Infer& in) {
  in.require_rank_at_least(0, 1);
  const int axis = in.axis("axis", in.rank(0));
  const Ints& given = in.ints("sizes");
  const std::int64_t size = in.shape(0).dim(axis);
  std::int64_t product = 1, open = -1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] < -1 || (given[i] == -1 && open >= 0)) in.shape_error("sizes has " + std::to_string(given[i]) +
        "; sizes must be 0 or more, or -1 once for the rest.");
    if (given[i] == -1) open = static_cast<std::int64_t>(i);
    else product = infer::mul(in, product, given[i]);
  }
  if (infer::known(size) && (open < 0 ? product != size : product == 0 || size % product != 0))
    in.shape_error("axis " + std::to_string(axis) + " of " + in.named(0) + " does not have the number of elements of sizes " +
        attr_text(in.op.attrs[1], given) + ".");
  Ints sizes;
  for (int a = 0; a < in.rank(0); ++a) {
    if (a != axis) sizes.push_back(in.shape(0).dim(a));
    else for (std::int64_t part : given) sizes.push_back(part != -1 ? part : infer::known(size) ? size / product : kUnknown);
  }
  return {{in.dtype(0), shape_of(in, sizes)}};
}

Specs infer_tile(const Infer& in) {
  const Ints& multiples = in.ints("multiples");
  if (multiples.size() != static_cast<std::size_t>(in.rank(0)))
    in.shape_error("multiples has " + std::to_string(multiples.size()) + " entries; " + in.named(0) + " needs one for each axis.");
  Ints sizes;
  for (std::size_t a = 0; a < multiples.size(); ++a) {
    if (multiples[a] < 0) in.shape_error("multiples has " + std::to_string(multiples[a]) + "; it must be 0 or more.");
    sizes.push_back(infer::mul(in, in.shape(0).dim(static_cast<int>(a)), multiples[a]));
  }
  return {{in.dtype(0), shape_of(in, sizes)}};
}

void tile_kernel(KernelCall& call) {
  const Shape &x = call.shape(0), &y = call.out_shape();
  if (y.num_elements() == 0) return;
  const Ints from = dense_strides(x), to = dense_strides(y);
  std::int64_t sizes[2 * kMaxRank], from_strides[2 * kMaxRank], to_strides[2 * kMaxRank];
  for (int a = 0; a < x.rank(); ++a) {
    const auto i = static_cast<std::size_t>(a);
    sizes[2 * a] = y.dim(a) / x.dim(a), from_strides[2 * a] = 0, to_strides[2 * a] = to[i] * x.dim(a);
    sizes[2 * a + 1] = x.dim(a), from_strides[2 * a + 1] = from[i], to_strides[2 * a + 1] = to[i];
  }
  kernels::copy_box(call.in<void>(0), from_strides, call.out<void>(), to_strides, sizes, 2 * x.rank(), size_of(call.dtype()));
}

Specs infer_repeat(const Infer& in) {
  in.require_rank_at_least(0, 1);
  const int axis = in.axis("axis", in.rank(0));
  const Ints& repeats = in.ints("repeats");
  const std::int64_t size = in.shape(0).dim(axis);
  if (repeats.empty()) in.value_error("repeats is empty; give one count, or one for each row.");
  if (repeats.size() > 1 && !infer::compatible(size, static_cast<std::int64_t>(repeats.size())))
    in.shape_error("repeats has " + std::to_string(repeats.size()) + " entries, but axis " + std::to_string(axis) + " of " + in.named(0) +
        " has another size; give one count, or one for each row.");
  std::int64_t total = 0;
  for (std::int64_t count : repeats) {
    if (count < 0) in.shape_error("repeats has " + std::to_string(count) + "; it must be 0 or more.");
    total = infer::add(in, total, count);
  }
  Ints sizes(in.shape(0).begin(), in.shape(0).end());
  sizes[static_cast<std::size_t>(axis)] = repeats.size() > 1 ? total : infer::mul(in, size, total);
  return {{in.dtype(0), shape_of(in, sizes)}};
}

void repeat_kernel(KernelCall& call) {
  if (call.out_shape().num_elements() == 0) return;
  const int axis = checked(call).axis("axis", call.shape(0).rank());
  const Ints& repeats = call.ints("repeats");
  const Rows rows(call.shape(0), axis, size_of(call.dtype()));
  const auto size = static_cast<std::size_t>(call.shape(0).dim(axis));
  const char* from = call.in<char>(0);
  char* to = call.out<char>();
  for (std::size_t row = 0; row < rows.outer * size; ++row, from += rows.inner) {
    const auto count = static_cast<std::size_t>(repeats[repeats.size() > 1 ? row % size : 0]);
    kernels::copy_rows(from, 0, to, rows.inner, count, rows.inner);
    to += count * rows.inner;
  }
}

// --- blocks ---

// Between [n, h * b, w * b, c] and [n, h, w, b * b * c], both seen as [n, h, b, w, b, c].
void depth_kernel(KernelCall& call, const Shape& deep, bool to_depth) {
  const std::int64_t b = call.integer("block_size");
  if (deep.num_elements() == 0) return;
  const std::int64_t n = deep.dim(0), h = deep.dim(1), w = deep.dim(2), c = deep.dim(3) / (b * b);
  const std::int64_t sizes[] = {n, h, b, w, b, c};
  const std::int64_t space[] = {h * b * w * b * c, b * w * b * c, w * b * c, b * c, c, 1};
  const std::int64_t depth[] = {h * w * deep.dim(3), w * deep.dim(3), b * c, deep.dim(3), c, 1};
  kernels::copy_box(call.in<void>(0), to_depth ? space : depth, call.out<void>(), to_depth ? depth : space, sizes, 6,
      size_of(call.dtype()));
}

std::int64_t block_area(const Infer& in) { return infer::mul(in, in.integer("block_size"), in.integer("block_size")); }

std::int64_t divided(const Infer& in, int axis, std::int64_t size, std::int64_t by, const char* what) {
  if (!infer::known(size)) return kUnknown;
  if (size % by != 0)
    in.shape_error("axis " + std::to_string(axis) + " of " + in.named(0) + (what[0] != 0 ? std::string(", ") + what + "," : "") +
        " has size " + std::to_string(size) + ", which is no multiple of " + std::to_string(by) + "; pad it or use other blocks.");
  return size / by;
}

// block_shape and the product of its entries.
std::int64_t block_count(const Infer& in) {
  const Ints& block = in.ints("block_shape");
  if (block.empty() || block.size() + 1 > static_cast<std::size_t>(in.rank(0)))
    in.shape_error("block_shape has " + std::to_string(block.size()) + " entries; " + in.named(0) + " allows from 1 to " +
        std::to_string(std::max(in.rank(0) - 1, 0)) + ", for the axes after the first.");
  std::int64_t count = 1;
  for (std::int64_t size : block) {
    if (size < 1) in.value_error("block_shape has " + std::to_string(size) + "; it must be 1 or more.");
    count = infer::mul(in, count, size);
  }
  return count;
}

kernels::BlockGrid block_grid(const OpArgs& call, const Shape& space, const Shape& blocks, const Ints& before) {
  const Ints& block = call.ints("block_shape");
  const int rank = static_cast<int>(block.size());
  std::int64_t inner = 1;
  for (int a = rank + 1; a < space.rank(); ++a) inner *= space.dim(a);
  return {.rank = rank, .space = space.begin() + 1, .blocks = blocks.begin() + 1, .block = block.data(), .before = before.data(),
      .batch = space.dim(0), .inner = inner};
}

Ints every_second(const Ints& pairs) {
  Ints before;
  for (std::size_t i = 0; i < pairs.size(); i += 2) before.push_back(pairs[i]);
  return before;
}

std::int64_t blocks_of(const Batch& b) {  // .infer has seen that it fits
  return std::accumulate(b.ints("block_shape").begin(), b.ints("block_shape").end(), std::int64_t{1}, std::multiplies());
}

}  // namespace

std::vector<Op> shape() {
  return {
      {.name = "reshape",
       .doc = "The same elements in row-major order under another shape; one size may be -1 and follows from the rest.",
       .tf = "tf.reshape(x, shape)",
       .inputs = {"x"},
       .attrs = {attr::shape("shape")},
       .dtypes = kAnything,
       .infer = infer_reshape,
       .grad = [](const Backward& b) -> Grads { return {reshape_like(b.dy(), b.x())}; },
       .batch = [](const Batch& b) -> Tensors { return batch::prefix(b, "shape", {b.size}); },
       .traits = kView,
       .samples = {{{f32({2, 3, 4})}, {{"shape", Ints{4, -1}}}}, {{f32({2, 0})}, {{"shape", Ints{0, 5}}}},
                   {{f32({1})}, {{"shape", Ints{}}}}}},

      {.name = "reshape_like",
       .doc = "The elements of x under the shape of like.",
       .inputs = {"x", "like:any"},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         const std::int64_t a = infer::count(in, in.shape(0)), b = infer::count(in, in.shape(1));
         if (!infer::compatible(a, b)) in.shape_error(in.named(0) + " and " + in.named(1) +
             " have different numbers of elements; they must agree.");
         return infer::like_second(in);
       },
       .grad = [](const Backward& b) -> Grads { return {reshape_like(b.dy(), b.x())}; },
       .batch = [](const Batch& b) -> Tensors { return {batch::reshape_as(b, b.inputs[0], b.inputs[1])}; },
       .traits = kView,
       .samples = {{{f32({2, 3}), i32({3, 2})}}}},

      {.name = "expand_dims",
       .doc = "Inserts axes of size 1 at the given positions of the result.",
       .tf = "tf.expand_dims(x, axis)",
       .inputs = {"x"},
       .attrs = {attr::required_axes("axis")},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         if (!in.has("axis")) in.value_error("axis is none; name the positions of the new axes.");
         if (in.ints("axis").size() > static_cast<std::size_t>(kMaxRank)) in.shape_error("axis has " +
             std::to_string(in.ints("axis").size()) + " entries; at most " + std::to_string(kMaxRank) + " axes are possible.");
         const int rank = in.rank(0) + static_cast<int>(in.ints("axis").size());
         const Ints axes = in.axes("axis", rank);
         Shape result;
         for (int axis = 0, from = 0; axis < rank; ++axis)
           result.append(std::find(axes.begin(), axes.end(), axis) != axes.end() ? 1 : in.shape(0).dim(from++));
         return {{in.dtype(0), shape_of(in, Ints(result.begin(), result.end()))}};
       },
       .grad = [](const Backward& b) -> Grads { return {reshape_like(b.dy(), b.x())}; },
       .batch = batch::carry,
       .traits = kView,
       .samples = {{{f32({2, 3})}, {{"axis", Ints{1}}}}, {{f32({2, 3})}, {{"axis", Ints{0, -1}}}}}},

      {.name = "concat",
       .doc = "Joins tensors along an axis.",
       .tf = "tf.concat(xs, axis)",
       .inputs = {"xs..."},
       .attrs = {attr::axis("axis")},
       .dtypes = kAnything,
       .infer = infer_concat,
       .kernel = [](KernelCall& call) {
         const Shape& whole = call.out_shape();
         const int axis = checked(call).axis("axis", whole.rank());
         const Rows rows(whole, axis, size_of(call.dtype()));
         SmallVector<kernels::RowPart<const char>, 4> parts;
         for (std::size_t p = 0; p < call.inputs.size(); ++p)
           parts.push_back({call.in<char>(p), rows.inner * static_cast<std::size_t>(call.shape(p).dim(axis))});
         kernels::join_rows(parts, rows.outer, call.out<char>());
       },
       .grad = [](const Backward& b) -> Grads {
         Grads result;
         for (Tensor& dx : split_like(b.dy(), {b.inputs.begin(), b.inputs.end()}, b.integer("axis"))) result.push_back(std::move(dx));
         return result;
       },
       .batch = batch::carry,
       .traits = kMoves,
       .samples = {{{f32({1, 3}), f32({2, 3})}, {{"axis", std::int64_t{0}}}}, {{f32({2, 1}), f32({2, 3})}, {{"axis", std::int64_t{-1}}}},
                   {{f32({0, 3}), f32({2, 3})}, {{"axis", std::int64_t{0}}}}}},

      {.name = "split_like",
       .doc = "Cuts x along an axis into parts as long as those of likes: undoes concat.",
       .inputs = {"x", "likes:any..."},
       .attrs = {attr::axis("axis")},
       .outputs = {"ys..."},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         in.require_rank_at_least(0, 1);
         const int axis = in.axis("axis", in.rank(0));
         Specs result;
         std::int64_t total = 0;
         for (std::size_t i = 1; i < in.count(); ++i) {
           in.require_rank(i, in.rank(0));
           Shape part = in.shape(0);
           part.set(axis, in.shape(i).dim(axis));
           total = infer::add(in, total, part.dim(axis));
           result.push_back({in.dtype(0), part});
         }
         if (!infer::compatible(total, in.shape(0).dim(axis)))
           in.shape_error("likes have " + std::to_string(total) + " rows along axis " + std::to_string(axis) + ", but " + in.named(0) +
               " has another number; they must agree.");
         return result;
       },
       .kernel = split_kernel,
       .grad = [](const Backward& b) -> Grads {
         std::vector<Tensor> parts;
         for (std::size_t i = 0; i < b.outputs.size(); ++i) parts.push_back(b.dy(i));
         return {concat(parts, b.integer("axis"))};
       },
       .batch = batch::carry,
       .traits = kMoves,
       .samples = {{{f32({3, 2}), i32({1, 5}), i32({2, 0})}, {{"axis", std::int64_t{0}}}}}},

      {.name = "identity",
       .doc = "The same value as a new tensor.",
       .tf = "tf.identity(x)",
       .inputs = {"x"},
       .dtypes = kAnything,
       .infer = infer::same,
       .grad = [](const Backward& b) -> Grads { return {b.dy()}; },
       .batch = batch::carry,
       .traits = kView,
       .samples = {{{f32({2, 3})}}}},

      {.name = "stop_gradient",
       .doc = "The same value, through which no gradient flows.",
       .tf = "tf.stop_gradient(x)",
       .inputs = {"x"},
       .dtypes = kAnything,
       .infer = infer::same,
       .batch = batch::carry,
       .traits = kView | kNoGradient,
       .samples = {{{f32({2, 3})}}}},

      {.name = "broadcast_to",
       .doc = "Repeats x to the given shape by the rules of broadcasting.",
       .tf = "tf.broadcast_to(x, shape)",
       .inputs = {"x"},
       .attrs = {attr::shape("shape")},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         for (std::int64_t size : in.ints("shape"))
           if (size < 0) in.shape_error("shape has the size " + std::to_string(size) + "; name every size, 0 or more.");
         const Shape to = shape_of(in, in.ints("shape"));
         require_broadcastable(in, to, "shape " + to.str());
         return {{in.dtype(0), to}};
       },
       .kernel = broadcast_kernel,
       .grad = [](const Backward& b) -> Grads { return {sum_like(b.dy(), b.x())}; },
       .batch = [](const Batch& b) -> Tensors {
         const Ints& sizes = b.ints("shape");
         return {broadcast_to(batch::widen(b, 0, static_cast<int>(sizes.size())), Shape(batch::sizes(b, sizes)))};
       },
       .traits = kMoves,
       .samples = {{{f32({3, 1})}, {{"shape", Ints{2, 3, 4}}}}}},

      {.name = "broadcast_like",
       .doc = "Repeats x to the shape of like by the rules of broadcasting.",
       .inputs = {"x", "like:any"},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         require_broadcastable(in, in.shape(1), in.named(1));
         return infer::like_second(in);
       },
       .kernel = broadcast_kernel,
       .grad = [](const Backward& b) -> Grads { return {sum_like(b.dy(), b.x())}; },
       .batch = [](const Batch& b) -> Tensors {
         const Tensor& like = b.inputs[1];
         const Tensor x = batch::widen(b, 0, like.rank());
         return {like.shape().known() ? broadcast_to(x, Shape(batch::sizes(b, like.shape().sizes()))) : broadcast_like(x, batch::whole(b, 1))};
       },
       .traits = kMoves,
       .samples = {{{f32({3, 1}), i32({2, 3, 4})}}}},

      {.name = "squeeze",
       .doc = "Removes axes of size 1: the given ones, or all of them.",
       .tf = "tf.squeeze(x, axis)",
       .inputs = {"x"},
       .attrs = {attr::axes("axis")},
       .dtypes = kAnything,
       .infer = infer_squeeze,
       .grad = [](const Backward& b) -> Grads { return {reshape_like(b.dy(), b.x())}; },
       .batch = [](const Batch& b) -> Tensors {
         if (b.has("axis")) return batch::carry(b);
         Ints ones;
         for (int axis = 1; axis <= b.rank(0); ++axis)
           if (b.inputs[0].shape().dim(axis) == 1) ones.push_back(axis);
         return {squeeze(b.inputs[0], {.axis = ones})};
       },
       .traits = kView,
       .samples = {{{f32({1, 3, 1})}, {{"axis", Ints{0, -1}}}}, {{f32({1, 3, 1})}, {{"axis", Ints{0}}}}}},

      {.name = "unflatten",
       .doc = "Views one axis as several; one of their sizes may be -1 and follows from the rest.",
       .inputs = {"x"},
       .attrs = {attr::axis("axis"), attr::list("sizes")},
       .dtypes = kAnything,
       .infer = infer_unflatten,
       .grad = [](const Backward& b) -> Grads { return {reshape_like(b.dy(), b.x())}; },
       .batch = batch::carry,
       .traits = kView,
       .samples = {{{f32({2, 6})}, {{"axis", std::int64_t{1}}, {"sizes", Ints{3, -1}}}},
                   {{f32({6, 2})}, {{"axis", std::int64_t{-2}}, {"sizes", Ints{1, 2, 3}}}}}},

      {.name = "transpose",
       .doc = "Reorders the axes: axis i of the result is axis perm[i] of x; the reverse order if perm is none.",
       .tf = "tf.transpose(x, perm)",
       .inputs = {"x"},
       .attrs = {attr::axes("perm")},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         Shape result;
         for (std::int64_t axis : permutation(in, in.rank(0))) result.append(in.shape(0).dim(static_cast<int>(axis)));
         return {{in.dtype(0), result}};
       },
       .kernel = [](KernelCall& call) {
         const Ints from = dense_strides(call.shape(0)), to = dense_strides(call.out_shape());
         Ints strides;
         for (std::int64_t axis : permutation(checked(call), call.shape(0).rank())) strides.push_back(from[static_cast<std::size_t>(axis)]);
         kernels::copy_box(call.in<void>(0), strides.data(), call.out<void>(), to.data(), call.out_shape().begin(), call.out_shape().rank(),
             size_of(call.dtype()));
       },
       .grad = [](const Backward& b) -> Grads {
         const Ints perm = permutation(checked(b), b.x().rank());
         Ints back(perm.size(), 0);
         for (std::size_t i = 0; i < perm.size(); ++i) back[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
         return {transpose(b.dy(), {.perm = back})};
       },
       .batch = [](const Batch& b) -> Tensors {
         Ints perm{0};
         for (const std::int64_t axis : permutation(checked(b), b.rank(0))) perm.push_back(axis + 1);
         return {transpose(b.inputs[0], {.perm = perm})};
       },
       .traits = kMoves,
       .samples = {{{f32({2, 3})}}, {{f32({2, 3, 4})}, {{"perm", Ints{1, 0, 2}}}}, {{f32({2, 3, 4})}, {{"perm", Ints{-1, 0, 1}}}},
                   {{f32({})}}}},

      {.name = "stack",
       .doc = "Joins tensors of one shape along a new axis.",
       .tf = "tf.stack(xs, axis)",
       .inputs = {"xs..."},
       .attrs = {attr::axis("axis", 0)},
       .dtypes = kAnything,
       .infer = infer_stack,
       .expand = [](const Expand& e) -> Tensors {
         const std::int64_t axis = checked(e).axis("axis", e[0].rank() + 1);
         std::vector<Tensor> parts;
         for (const Tensor& x : e.inputs) parts.push_back(expand_dims(x, axis, e.at));
         return {concat(parts, axis, e.at)};
       },
       .samples = {{{f32({2, 3}), f32({2, 3})}}, {{f32({2}), f32({2}), f32({2})}, {{"axis", std::int64_t{-1}}}}, {{f32({})}}}},

      {.name = "unstack",
       .doc = "The slices of x along an axis, without that axis. num says how many there are and may be -1 if the size is known.",
       .tf = "tf.unstack(x, num, axis)",
       .inputs = {"x"},
       .attrs = {attr::axis("axis", 0), attr::integer("num", -1).at_least(-1)},
       .outputs = {"ys..."},
       .dtypes = kAnything,
       .infer = infer_unstack,
       .kernel = split_kernel,
       .grad = [](const Backward& b) -> Grads {
         std::vector<Tensor> parts;
         for (std::size_t i = 0; i < b.outputs.size(); ++i) parts.push_back(b.dy(i));
         return {stack(parts, {.axis = b.integer("axis")})};
       },
       .batch = batch::carry,
       .traits = kMoves | kMayFail,  // of no slices nobody needs any, and yet there must be none
       .samples = {{{f32({2, 3})}, {{"num", std::int64_t{2}}}}, {{f32({2, 3})}, {{"axis", std::int64_t{-1}}, {"num", std::int64_t{3}}}}}},

      {.name = "split",
       .doc = "Cuts x along an axis: sizes is one number of equal parts, or a list of at least two sizes of which one may be -1.",
       .tf = "tf.split(x, sizes, axis)",
       .inputs = {"x"},
       .attrs = {attr::list("sizes"), attr::axis("axis", 0)},
       .outputs = {"ys..."},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         in.require_rank_at_least(0, 1);
         const int axis = in.axis("axis", in.rank(0));
         Specs result;
         Shape part = in.shape(0);
         for (std::int64_t size : split_sizes(in, in.shape(0).dim(axis))) {
           part.set(axis, size);
           result.push_back({in.dtype(0), part});
         }
         return result;
       },
       .kernel = split_kernel,
       .grad = [](const Backward& b) -> Grads {
         std::vector<Tensor> parts;
         for (std::size_t i = 0; i < b.outputs.size(); ++i) parts.push_back(b.dy(i));
         return {concat(parts, b.integer("axis"))};
       },
       .batch = batch::carry,
       .traits = kMoves,
       .samples = {{{f32({2, 4})}, {{"sizes", Ints{2}}, {"axis", std::int64_t{1}}}}, {{f32({4, 2})}, {{"sizes", Ints{1, 0, 3}}}},
                   {{f32({4})}, {{"sizes", Ints{1, -1}}}}}},

      {.name = "tile",
       .doc = "Repeats x multiples[i] times along each axis i.",
       .tf = "tf.tile(x, multiples)",
       .inputs = {"x"},
       .attrs = {attr::list("multiples")},
       .dtypes = kAnything,
       .infer = infer_tile,
       .kernel = tile_kernel,
       .grad = [](const Backward& b) -> Grads {
         const Ints& multiples = b.ints("multiples");
         if (std::find(multiples.begin(), multiples.end(), 0) != multiples.end()) return {zeros_like(b.x())};
         Tensor dx = b.dy();
         for (std::size_t a = 0; a < multiples.size(); ++a) {
           const auto axis = static_cast<std::int64_t>(a);
           if (multiples[a] != 1) dx = sum(unflatten(dx, axis, {multiples[a], -1}), {.axis = axis});
         }
         return {dx};
       },
       .batch = [](const Batch& b) -> Tensors { return batch::prefix(b, "multiples", {1}); },
       .traits = kMoves,
       .samples = {{{f32({2, 3})}, {{"multiples", Ints{2, 1}}}}, {{f32({2, 1, 2})}, {{"multiples", Ints{1, 3, 2}}}},
                   {{f32({2})}, {{"multiples", Ints{0}}}}, {{f32({})}, {{"multiples", Ints{}}}}}},

      {.name = "repeat",
       .doc = "Repeats each row along an axis: all of them repeats[0] times if it is one number, row i repeats[i] times otherwise.",
       .tf = "tf.repeat(x, repeats, axis)",
       .inputs = {"x"},
       .attrs = {attr::list("repeats"), attr::axis("axis")},
       .dtypes = kAnything,
       .infer = infer_repeat,
       .kernel = repeat_kernel,
       .grad = [](const Backward& b) -> Grads {
         const Ints& repeats = b.ints("repeats");
         const std::int64_t axis = checked(b).axis("axis", b.x().rank());
         if (std::all_of(repeats.begin(), repeats.end(), [](std::int64_t count) { return count == 0; })) return {zeros_like(b.x())};
         if (repeats.size() == 1) return {sum(unflatten(b.dy(), axis, {-1, repeats[0]}), {.axis = axis + 1})};
         std::vector<Tensor> rows;
         for (const Tensor& part : split(b.dy(), repeats, {.axis = axis})) rows.push_back(sum(part, {.axis = axis, .keepdims = true}));
         return {concat(rows, axis)};
       },
       .batch = batch::carry,
       .traits = kMoves,
       .samples = {{{f32({2, 3})}, {{"repeats", Ints{2}}, {"axis", std::int64_t{1}}}},
                   {{f32({2, 3})}, {{"repeats", Ints{1, 0, 2}}, {"axis", std::int64_t{-1}}}},
                   {{f32({2})}, {{"repeats", Ints{0}}, {"axis", std::int64_t{0}}}}}},

      {.name = "space_to_depth",
       .doc = "Moves blocks of block_size by block_size pixels of an NHWC image into its channels.",
       .tf = "tf.nn.space_to_depth(x, block_size)",
       .inputs = {"x"},
       .attrs = {attr::integer("block_size").at_least(1)},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         in.require_rank(0, 4);
         const Shape& x = in.shape(0);
         const std::int64_t b = in.integer("block_size"), area = block_area(in);
         return {{in.dtype(0), shape_of(in, {x.dim(0), divided(in, 1, x.dim(1), b, ""), divided(in, 2, x.dim(2), b, ""), infer::mul(in, x.dim(3), area)})}};
       },
       .kernel = [](KernelCall& call) { depth_kernel(call, call.out_shape(), true); },
       .grad = [](const Backward& b) -> Grads { return {depth_to_space(b.dy(), b.integer("block_size"))}; },
       .batch = batch::fold,
       .traits = kMoves,
       .samples = {{{f32({1, 4, 2, 3})}, {{"block_size", std::int64_t{2}}}}, {{f32({2, 2, 2, 1})}, {{"block_size", std::int64_t{1}}}}}},

      {.name = "depth_to_space",
       .doc = "Spreads the channels of an NHWC image over blocks of block_size by block_size pixels: undoes space_to_depth.",
       .tf = "tf.nn.depth_to_space(x, block_size)",
       .inputs = {"x"},
       .attrs = {attr::integer("block_size").at_least(1)},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         in.require_rank(0, 4);
         const Shape& x = in.shape(0);
         const std::int64_t b = in.integer("block_size"), area = block_area(in);
         return {{in.dtype(0), shape_of(in, {x.dim(0), infer::mul(in, x.dim(1), b), infer::mul(in, x.dim(2), b), divided(in, 3, x.dim(3), area, "")})}};
       },
       .kernel = [](KernelCall& call) { depth_kernel(call, call.shape(0), false); },
       .grad = [](const Backward& b) -> Grads { return {space_to_depth(b.dy(), b.integer("block_size"))}; },
       .batch = batch::fold,
       .traits = kMoves,
       .samples = {{{f32({1, 2, 1, 8})}, {{"block_size", std::int64_t{2}}}}, {{f32({1, 2, 1, 9})}, {{"block_size", std::int64_t{3}}}}}},

      {.name = "space_to_batch",
       .doc = "Pads the axes after the first with zeros and moves blocks of block_shape from them into the first.",
       .tf = "tf.space_to_batch(x, block_shape, paddings)",
       .inputs = {"x"},
       .attrs = {attr::list("block_shape"), attr::pairs("paddings")},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         const std::int64_t count = block_count(in);
         const Ints& block = in.ints("block_shape");
         const Ints& paddings = amounts(in, "paddings", block.size());
         Ints sizes(in.shape(0).begin(), in.shape(0).end());
         sizes[0] = infer::mul(in, sizes[0], count);
         for (std::size_t a = 0; a < block.size(); ++a) {
           const std::int64_t padded = infer::add(in, infer::add(in, sizes[a + 1], paddings[2 * a]), paddings[2 * a + 1]);
           sizes[a + 1] = divided(in, static_cast<int>(a + 1), padded, block[a], "padded");
         }
         return {{in.dtype(0), shape_of(in, sizes)}};
       },
       .kernel = [](KernelCall& call) {
         const std::int64_t total = call.out_shape().num_elements();
         if (total == 0) return;
         std::memset(call.out<void>(), 0, static_cast<std::size_t>(total) * size_of(call.dtype()));
         if (call.shape(0).num_elements() == 0) return;
         const Ints before = every_second(call.ints("paddings"));
         kernels::space_to_blocks(call.in<void>(0), call.out<void>(), block_grid(call, call.shape(0), call.out_shape(), before),
             size_of(call.dtype()));
       },
       .grad = [](const Backward& b) -> Grads { return {batch_to_space(b.dy(), b.ints("block_shape"), pairs_of(b.ints("paddings")))}; },
       .batch = [](const Batch& b) -> Tensors {  // the blocks come first in the new batch, then the axis
         const Tensor y = batch::again(b, {batch::fold(b.inputs[0])}, {b.attrs.begin(), b.attrs.end()})[0];
         return {batch::unfold(b, merge_leading(batch::move_axis(unflatten(y, 0, {blocks_of(b), b.size, -1}), 1, 0), 3))};
       },
       .traits = kMoves,
       .samples = {{{f32({2, 3, 4, 1})}, {{"block_shape", Ints{1, 2}}, {"paddings", Ints{0, 1, 0, 0}}}},
                   {{f32({1, 3, 2})}, {{"block_shape", Ints{2}}, {"paddings", Ints{3, 0}}}}}},

      {.name = "batch_to_space",
       .doc = "Moves blocks of block_shape from the first axis into those after it and crops them: undoes space_to_batch.",
       .tf = "tf.batch_to_space(x, block_shape, crops)",
       .inputs = {"x"},
       .attrs = {attr::list("block_shape"), attr::pairs("crops")},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         const std::int64_t count = block_count(in);
         const Ints& block = in.ints("block_shape");
         const Ints& crops = amounts(in, "crops", block.size());
         Ints sizes(in.shape(0).begin(), in.shape(0).end());
         sizes[0] = divided(in, 0, sizes[0], count, "");
         for (std::size_t a = 0; a < block.size(); ++a) {
           const std::int64_t whole = infer::mul(in, sizes[a + 1], block[a]), cut = infer::add(in, crops[2 * a], crops[2 * a + 1]);
           if (infer::known(whole) && cut > whole)
             in.shape_error("crops take " + std::to_string(cut) + " from axis " + std::to_string(a + 1) + ", which has only " +
                 std::to_string(whole) + "; crop less.");
           sizes[a + 1] = infer::known(whole) ? whole - cut : kUnknown;
         }
         return {{in.dtype(0), shape_of(in, sizes)}};
       },
       .kernel = [](KernelCall& call) {
         if (call.out_shape().num_elements() == 0) return;
         const Ints before = every_second(call.ints("crops"));
         kernels::blocks_to_space(call.in<void>(0), call.out<void>(), block_grid(call, call.out_shape(), call.shape(0), before),
             size_of(call.dtype()));
       },
       .grad = [](const Backward& b) -> Grads { return {space_to_batch(b.dy(), b.ints("block_shape"), pairs_of(b.ints("crops")))}; },
       .batch = [](const Batch& b) -> Tensors {
         const Tensor x = merge_leading(batch::move_axis(unflatten(b.inputs[0], 1, {blocks_of(b), -1}), 0, 1), 3);
         return {batch::unfold(b, batch::again(b, {x}, {b.attrs.begin(), b.attrs.end()})[0])};
       },
       .traits = kMoves,
       .samples = {{{f32({4, 2, 2, 1})}, {{"block_shape", Ints{1, 2}}, {"crops", Ints{0, 1, 1, 0}}}},
                   {{f32({2, 3, 2})}, {{"block_shape", Ints{2}}, {"crops", Ints{3, 1}}}}}},
  };
}

}  // namespace weft::inline v0::rows
