// Shapes, joining and splitting.
#include <algorithm>
#include <cstring>

#include "core/strides.h"
#include "ops/families.h"
#include "ops/row.h"

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
  for (int axis = 0; fits && axis < x.rank(); ++axis) fits = x[axis] == 1 || infer::compatible(x[axis], to[axis + shift]);
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
  const auto refuse = [&] { in.shape_error(in.named(0) + " does not have the number of elements of shape " + attr_text(in.op.attrs[0], wanted) + "."); };
  if (infer::known(have)) {
    if (open < 0 ? product != have : product == 0 ? true : have % product != 0) refuse();
    if (open >= 0) sizes[static_cast<std::size_t>(open)] = have / product;
  }
  return {{in.dtype(0), Shape(sizes)}};
}

// Copies between xs laid side by side along an axis and the one tensor they make: rows of `inner` bytes each.
template <class Each>
void for_each_part(const Shape& whole, int axis, std::size_t element_size, std::size_t parts, const Each& part) {
  std::size_t inner = element_size, outer = 1;
  for (int i = axis + 1; i < whole.rank(); ++i) inner *= static_cast<std::size_t>(whole[i]);
  for (int i = 0; i < axis; ++i) outer *= static_cast<std::size_t>(whole[i]);
  const std::size_t stride = inner * static_cast<std::size_t>(whole[axis]);
  std::size_t offset = 0;
  for (std::size_t p = 0; p < parts; ++p) offset += part(p, outer, inner, stride, offset);
}

Specs infer_concat(const Infer& in) {
  in.require_rank_at_least(0, 1);
  const int axis = in.axis("axis", in.rank(0));
  Shape result = in.shape(0);
  for (std::size_t i = 1; i < in.count(); ++i) {
    bool fits = in.rank(i) == result.rank();
    for (int a = 0; fits && a < result.rank(); ++a) {
      if (a == axis) result.set(a, infer::add(in, result[a], in.shape(i)[a]));
      else if ((fits = infer::compatible(result[a], in.shape(i)[a]))) result.set(a, infer::merge(result[a], in.shape(i)[a]));
    }
    if (!fits) in.shape_error(in.named(i) + " cannot follow " + in.named(0) + " along axis " + std::to_string(axis) + "; all other sizes must match.");
  }
  return {{in.dtype(0), result}};
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
       .traits = kView,
       .samples = {{{f32({2, 3, 4})}, {{"shape", Ints{4, -1}}}}, {{f32({2, 0})}, {{"shape", Ints{0, 5}}}}, {{f32({1})}, {{"shape", Ints{}}}}}},

      {.name = "reshape_like",
       .doc = "The elements of x under the shape of like.",
       .inputs = {"x", "like:any"},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         const std::int64_t a = infer::count(in, in.shape(0)), b = infer::count(in, in.shape(1));
         if (!infer::compatible(a, b)) in.shape_error(in.named(0) + " and " + in.named(1) + " have different numbers of elements; they must agree.");
         return infer::like_second(in);
       },
       .grad = [](const Backward& b) -> Grads { return {reshape_like(b.dy(), b.x())}; },
       .traits = kView,
       .samples = {{{f32({2, 3}), i32({3, 2})}}}},

      {.name = "expand_dims",
       .doc = "Inserts axes of size 1 at the given positions of the result.",
       .tf = "tf.expand_dims(x, axis)",
       .inputs = {"x"},
       .attrs = {attr::required_axes("axis")},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         const int rank = in.rank(0) + static_cast<int>(in.ints("axis").size());
         const Ints axes = in.axes("axis", rank);
         Shape result;
         for (int axis = 0, from = 0; axis < rank; ++axis)
           result.append(std::find(axes.begin(), axes.end(), axis) != axes.end() ? 1 : in.shape(0)[from++]);
         return {{in.dtype(0), Shape(result.sizes())}};
       },
       .grad = [](const Backward& b) -> Grads { return {reshape_like(b.dy(), b.x())}; },
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
         const int axis = Infer{static_cast<const OpArgs&>(call), {}}.axis("axis", whole.rank());
         char* to = call.out<char>();
         for_each_part(whole, axis, size_of(call.dtype()), call.inputs.size(), [&](std::size_t p, std::size_t outer, std::size_t inner, std::size_t stride, std::size_t offset) {
           const std::size_t bytes = inner * static_cast<std::size_t>(call.shape(p)[axis]);
           for (std::size_t o = 0; bytes > 0 && o < outer; ++o) std::memcpy(to + o * stride + offset, call.in<char>(p) + o * bytes, bytes);
           return bytes;
         });
       },
       .grad = [](const Backward& b) -> Grads {
         Grads result;
         for (Tensor& dx : split_like(b.dy(), {b.inputs.begin(), b.inputs.end()}, b.integer("axis"))) result.push_back(std::move(dx));
         return result;
       },
       .traits = kMoves,
       .samples = {{{f32({1, 3}), f32({2, 3})}, {{"axis", std::int64_t{0}}}}, {{f32({2, 1}), f32({2, 3})}, {{"axis", std::int64_t{-1}}}}, {{f32({0, 3}), f32({2, 3})}, {{"axis", std::int64_t{0}}}}}},

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
           part.set(axis, in.shape(i)[axis]);
           total = infer::add(in, total, part[axis]);
           result.push_back({in.dtype(0), part});
         }
         if (!infer::compatible(total, in.shape(0)[axis]))
           in.shape_error("likes have " + std::to_string(total) + " rows along axis " + std::to_string(axis) + ", but " + in.named(0) + " has another number; they must agree.");
         return result;
       },
       .kernel = [](KernelCall& call) {
         const Shape& whole = call.shape(0);
         const int axis = Infer{static_cast<const OpArgs&>(call), {}}.axis("axis", whole.rank());
         const char* from = call.in<char>(0);
         for_each_part(whole, axis, size_of(call.dtype()), call.outputs.size(), [&](std::size_t p, std::size_t outer, std::size_t inner, std::size_t stride, std::size_t offset) {
           const std::size_t bytes = inner * static_cast<std::size_t>(call.out_shape(p)[axis]);
           for (std::size_t o = 0; bytes > 0 && o < outer; ++o) std::memcpy(call.out<char>(p) + o * bytes, from + o * stride + offset, bytes);
           return bytes;
         });
       },
       .grad = [](const Backward& b) -> Grads {
         std::vector<Tensor> parts;
         for (std::size_t i = 0; i < b.outputs.size(); ++i) parts.push_back(b.dy(i));
         return {concat(parts, b.integer("axis"))};
       },
       .traits = kMoves,
       .samples = {{{f32({3, 2}), i32({1, 5}), i32({2, 0})}, {{"axis", std::int64_t{0}}}}}},

      {.name = "identity",
       .doc = "The same value as a new tensor.",
       .tf = "tf.identity(x)",
       .inputs = {"x"},
       .dtypes = kAnything,
       .infer = infer::same,
       .grad = [](const Backward& b) -> Grads { return {b.dy()}; },
       .traits = kView,
       .samples = {{{f32({2, 3})}}}},

      {.name = "stop_gradient",
       .doc = "The same value, through which no gradient flows.",
       .tf = "tf.stop_gradient(x)",
       .inputs = {"x"},
       .dtypes = kAnything,
       .infer = infer::same,
       .traits = kView | kNoGradient,
       .samples = {{{f32({2, 3})}}}},

      {.name = "broadcast_to",
       .doc = "Repeats x to the given shape by the rules of broadcasting.",
       .tf = "tf.broadcast_to(x, shape)",
       .inputs = {"x"},
       .attrs = {attr::shape("shape")},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         const Shape to(in.ints("shape"));
         if (!to.known()) in.shape_error("shape " + to.str() + " has an unknown size; name every size.");
         infer::count(in, to);
         require_broadcastable(in, to, "shape " + to.str());
         return {{in.dtype(0), to}};
       },
       .kernel = broadcast_kernel,
       .grad = [](const Backward& b) -> Grads { return {sum_like(b.dy(), b.x())}; },
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
       .traits = kMoves,
       .samples = {{{f32({3, 1}), i32({2, 3, 4})}}}},
  };
}

}  // namespace weft::inline v0::rows
