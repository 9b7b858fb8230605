// Creation and conversion.
#include <algorithm>
#include <limits>
#include <utility>

#include "base/convert.h"
#include "base/pool.h"
#include "core/strides.h"
#include "kernels/scratch.h"
#include "ops/families.h"
#include "ops/row.h"

namespace weft::inline v0::rows {
namespace {

template <class T>
T number(int value) {
  if constexpr (std::is_arithmetic_v<T>) return static_cast<T>(value);
  else return T(static_cast<float>(value));
}

void fill_with(KernelCall& call, int value) {
  with_element(call.out_dtype(), [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    std::fill_n(call.out<T>(), call.out_shape().num_elements(), number<T>(value));
  });
}

// The first input, integers of any dtype, in 64 bits; what does not fit becomes the largest that does.
void copy_integers(const KernelCall& call, std::int64_t* to) {
  with_element(call.dtype(), [&](auto* tag) {
    using I = std::remove_pointer_t<decltype(tag)>;
    if constexpr (std::integral<I> && !std::same_as<I, bool>) {
      const I* from = call.in<I>(0);
      for (std::int64_t i = 0, count = call.shape(0).num_elements(); i < count; ++i)
        to[i] = std::in_range<std::int64_t>(from[i]) ? static_cast<std::int64_t>(from[i]) : std::numeric_limits<std::int64_t>::max();
    }
  });
}

// Every size named, and their product small enough to count.
Shape sized(const Infer& in, Shape shape, const char* argument) {
  if (!shape.known()) in.shape_error(argument + (" " + shape.str()) + " has an unknown size; name every size.");
  infer::count(in, shape);
  return shape;
}

Specs infer_shape_attr(const Infer& in) { return {{in.dtype_attr("dtype"), sized(in, Shape(in.ints("shape")), "shape")}}; }

void require_scalar(const Infer& in, std::size_t i) {
  if (in.rank(i) != 0) in.shape_error(in.named(i) + " must be a scalar; reshape it to [].");
}

// A real attribute that becomes an element: an integer dtype takes whole numbers in its range only.
void require_exact(const Infer& in, const char* argument) {
  const DType dtype = in.dtype_attr("dtype");
  const double value = in.real(argument);
  if (is_floating(dtype)) return;
  const bool exact = with_element(dtype, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (std::integral<T>) return static_cast<double>(convert<T>(value)) == value;
    else return true;
  });
  if (!exact) in.value_error(std::string(argument) + " is " + attr_text({.name = argument, .kind = AttrKind::kReal}, value) + ", which is no " + std::string(name_of(dtype)) + "; give such a number or ask for another dtype.");
}

// The number of elements of start, start + delta, ... before limit; how the values are made follows from T alone.
template <std::floating_point T>
std::int64_t arange_count(const KernelCall& call, T start, T limit, T delta) {
  const T count = std::ceil(std::abs((limit - start) / delta));
  if (!(count < T(0x1p62))) call.shape_error("start, limit and delta make more elements than 62 bits count; choose a larger delta.");
  return static_cast<std::int64_t>(count);
}
template <std::integral T>
std::int64_t arange_count(const KernelCall& call, T start, T limit, T delta) {
  // Differences of T fit the unsigned type even where they do not fit T.
  const auto low = static_cast<std::uint64_t>(start), high = static_cast<std::uint64_t>(limit), step = static_cast<std::uint64_t>(delta);
  const std::uint64_t span = delta > 0 ? high - low : low - high, stride = delta > 0 ? step : std::uint64_t{0} - step;
  const std::uint64_t count = span / stride + (span % stride != 0 ? 1 : 0);
  if (count >> 62 != 0) call.shape_error("start, limit and delta make more elements than 62 bits count; choose a larger delta.");
  return static_cast<std::int64_t>(count);
}

template <class T>
void arange_of(KernelCall& call) {
  const T start = *call.in<T>(0), limit = *call.in<T>(1), delta = *call.in<T>(2);
  if constexpr (std::floating_point<T>)
    for (std::size_t i = 0; i < 3; ++i)
      if (!std::isfinite(*call.in<T>(i))) call.value_error(call.name(i) + " is not a finite number; a range needs three of them.");
  if (delta == T(0)) call.value_error("delta is 0; a range needs a step.");
  if (delta > T(0) ? start > limit : start < limit)
    call.value_error(std::string("start is ") + (delta > T(0) ? "above limit and delta positive" : "below limit and delta negative") + ", which never gets there; change the sign of delta.");
  const std::int64_t count = arange_count(call, start, limit, delta);
  call.allocate(0, Shape{count});
  T* y = call.out<T>();
  for (std::int64_t i = 0; i < count; ++i) y[i] = lane_add(start, lane_mul(static_cast<T>(i), delta));
}

template <class T>
void linspace_of(KernelCall& call) {
  const std::int64_t num = call.integer("num"), width = call.shape(0).num_elements();
  const T *start = call.in<T>(0), *stop = call.in<T>(1);
  T* y = call.out<T>();
  for (std::int64_t k = 0; k < num; ++k)
    for (std::int64_t i = 0; i < width; ++i, ++y) {
      const double part = num == 1 ? 0 : static_cast<double>(k) / static_cast<double>(num - 1);
      if (k == 0) *y = start[i];
      else if (k == num - 1) *y = stop[i];
      else *y = static_cast<T>(static_cast<double>(start[i]) * (1 - part) + static_cast<double>(stop[i]) * part);
    }
}

// Writes x, read through `strides`, to y from axis `axis` of `shape` inward; returns the end of what it wrote.
char* repeat(const char* x, const std::int64_t* strides, const Shape& shape, int axis, std::size_t element_size, char* y) {
  if (axis == shape.rank()) return std::copy_n(x, element_size, y);
  if (axis + 1 == shape.rank() && strides[axis] == 1) return std::copy_n(x, static_cast<std::size_t>(shape.dim(axis)) * element_size, y);
  char* const start = y;
  y = repeat(x, strides, shape, axis + 1, element_size, y);
  const std::ptrdiff_t block = y - start, step = strides[axis] * static_cast<std::int64_t>(element_size);
  for (std::int64_t i = 1; i < shape.dim(axis); ++i) {
    if (step == 0) y = std::copy_n(start, block, y);
    else y = repeat(x + i * step, strides, shape, axis + 1, element_size, y);
  }
  return y;
}

// [1, ..., size of x, ..., 1]: x along one of `rank` axes.
Tensor along(const Tensor& x, int axis, int rank) {
  Ints sizes(static_cast<std::size_t>(rank), 1);
  sizes[static_cast<std::size_t>(axis)] = -1;
  return reshape(x, Shape(sizes));
}

// Which axis of the grid input i runs along: in "xy" the first two change places.
int grid_axis(const OpArgs& args, std::size_t i, std::size_t count) {
  const bool swapped = args.choice("indexing") == 0 && count >= 2 && i < 2;
  return static_cast<int>(swapped ? 1 - i : i);
}

}  // namespace

std::vector<Op> create() {
  return {
      {.name = "zeros",
       .doc = "A tensor of zeros.",
       .tf = "tf.zeros(shape, dtype)",
       .attrs = {attr::shape("shape"), attr::dtype("dtype", DType::f32)},
       .infer = infer_shape_attr,
       .kernel = [](KernelCall& call) { fill_with(call, 0); },
       .traits = kMoves | kNoGradient,
       .samples = {{{}, {{"shape", Ints{2, 3}}}}, {{}, {{"shape", Ints{}}, {"dtype", DType::i64}}}}},

      {.name = "ones",
       .doc = "A tensor of ones.",
       .tf = "tf.ones(shape, dtype)",
       .attrs = {attr::shape("shape"), attr::dtype("dtype", DType::f32)},
       .infer = infer_shape_attr,
       .kernel = [](KernelCall& call) { fill_with(call, 1); },
       .traits = kMoves | kNoGradient,
       .samples = {{{}, {{"shape", Ints{2, 3}}}}}},

      {.name = "zeros_like",
       .doc = "Zeros of the shape and dtype of x.",
       .tf = "tf.zeros_like(x)",
       .inputs = {"x"},
       .dtypes = kAnything,
       .infer = infer::same,
       .kernel = [](KernelCall& call) { fill_with(call, 0); },
       .batch = batch::carry,
       .traits = kMoves | kNoGradient | kOfSpecs,
       .samples = {{{f32({2, 3})}}}},

      {.name = "ones_like",
       .doc = "Ones of the shape and dtype of x.",
       .tf = "tf.ones_like(x)",
       .inputs = {"x"},
       .dtypes = kAnything,
       .infer = infer::same,
       .kernel = [](KernelCall& call) { fill_with(call, 1); },
       .batch = batch::carry,
       .traits = kMoves | kNoGradient | kOfSpecs,
       .samples = {{{f32({2, 3})}}}},

      {.name = "fill",
       .doc = "A tensor of the given shape whose elements all are value, a scalar.",
       .tf = "tf.fill(dims=shape, value)",
       .inputs = {"value"},
       .attrs = {attr::shape("shape")},
       .order = "shape value",
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         require_scalar(in, 0);
         return {{in.dtype(0), sized(in, Shape(in.ints("shape")), "shape")}};
       },
       .expand = [](const Expand& in) -> Tensors { return {broadcast_to(in[0], Shape(in.ints("shape")))}; },
       .samples = {{{f32({})}, {{"shape", Ints{2, 3}}}}, {{f32({})}, {{"shape", Ints{0, 3}}}}}},

      {.name = "eye",
       .doc = "Ones on the main diagonal of a rows x columns matrix (columns = -1: square) and zeros elsewhere, for each of batch_shape.",
       .tf = "tf.eye(num_rows=rows, num_columns=columns, batch_shape, dtype)",
       .attrs = {attr::integer("rows").at_least(0), attr::integer("columns", -1).at_least(-1), attr::list("batch_shape", Ints{}), attr::dtype("dtype", DType::f32)},
       .infer = [](const Infer& in) -> Specs {
         Ints sizes = in.ints("batch_shape");
         sizes.push_back(in.integer("rows"));
         sizes.push_back(in.integer("columns") == -1 ? in.integer("rows") : in.integer("columns"));
         return {{in.dtype_attr("dtype"), sized(in, Shape(sizes), "the shape")}};
       },
       .kernel = [](KernelCall& call) {
         fill_with(call, 0);
         const Shape& shape = call.out_shape();
         const std::int64_t count = shape.num_elements();
         if (count == 0) return;
         const std::int64_t rows = shape.dim(shape.rank() - 2), columns = shape.dim(shape.rank() - 1);
         with_element(call.out_dtype(), [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           for (T *y = call.out<T>(), *end = y + count; y != end; y += rows * columns)
             for (std::int64_t i = 0; i < std::min(rows, columns); ++i) y[i * columns + i] = number<T>(1);
         });
       },
       .traits = kMoves | kNoGradient,
       .samples = {{{}, {{"rows", std::int64_t{3}}}}, {{}, {{"rows", std::int64_t{2}}, {"columns", std::int64_t{3}}, {"batch_shape", Ints{2}}, {"dtype", DType::i32}}}}},

      {.name = "linspace",
       .doc = "num evenly spaced values from start to stop, both included, along a new first axis; start and stop have one shape.",
       .tf = "tf.linspace(start, stop, num)",
       .inputs = {"start", "stop"},
       .attrs = {attr::integer("num").at_least(1)},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         infer::require_same_shape(in, 1);
         Ints sizes{in.integer("num")};
         for (int i = 0; i < in.rank(0); ++i) sizes.push_back(infer::merge(in.shape(0).dim(i), in.shape(1).dim(i)));
         const Shape shape(sizes);
         infer::count(in, shape);
         return {{in.dtype(0), shape}};
       },
       .kernel = [](KernelCall& call) { call.dtype() == DType::f64 ? linspace_of<double>(call) : linspace_of<float>(call); },
       .grad = [](const Backward& b) -> Grads {
         const Tensor part = along(linspace(Tensor(0.0, b.x().dtype()), Tensor(1.0, b.x().dtype()), b.integer("num")), 0, b.dy().rank());
         return {sum(b.dy() * (1 - part), {.axis = 0}), sum(b.dy() * part, {.axis = 0})};
       },
       .batch = [](const Batch& b) -> Tensors { return {batch::move_axis(batch::carry(b)[0], 1, 0)}; },
       .samples = {{{f32({}), f32({})}, {{"num", std::int64_t{5}}}}, {{f32({2, 3}), f32({2, 3})}, {{"num", std::int64_t{4}}}}, {{f32({}), f32({})}, {{"num", std::int64_t{1}}}}}},

      {.name = "arange",
       .doc = "start, start + delta, start + 2 delta, ... before limit, all scalars; a delta that is 0 or leads away from limit is a ValueError.",
       .tf = "tf.range(start, limit, delta)",
       .inputs = {"start", "limit", "delta"},
       .dtypes = kNumbers,
       .infer = [](const Infer& in) -> Specs {
         for (std::size_t i = 0; i < 3; ++i) require_scalar(in, i);
         return {{in.dtype(0), {kUnknown}}};
       },
       .kernel = [](KernelCall& call) {
         with_element(call.dtype(), [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           if constexpr (std::is_arithmetic_v<T> && !std::same_as<T, bool>) arange_of<T>(call);
         });
       },
       .traits = kMayFail | kValueShape | kNoGradient,
       .samples = {{{i32({}).exactly({2}), i32({}).exactly({11}), i32({}).exactly({3})}}, {{f32({}).exactly({5}), f32({}).exactly({1}), f32({}).exactly({-1.5})}}}},

      {.name = "one_hot",
       .doc = "on_value where the position along the new axis of length depth is the index, off_value elsewhere; an index outside gives off_value only.",
       .tf = "tf.one_hot(indices, depth, on_value, off_value, axis, dtype)",
       .inputs = {"indices:int"},
       .attrs = {attr::integer("depth").at_least(0), attr::real("on_value", 1), attr::real("off_value", 0), attr::axis("axis", -1), attr::dtype("dtype", DType::f32)},
       .infer = [](const Infer& in) -> Specs {
         const int axis = in.axis("axis", in.rank(0) + 1);
         require_exact(in, "on_value");
         require_exact(in, "off_value");
         Ints sizes;
         for (int i = 0; i <= in.rank(0); ++i) sizes.push_back(i == axis ? in.integer("depth") : in.shape(0).dim(i < axis ? i : i - 1));
         const Shape shape(sizes);
         infer::count(in, shape);
         return {{in.dtype_attr("dtype"), shape}};
       },
       .kernel = [](KernelCall& call) {
         const Shape& shape = call.shape(0);
         const std::int64_t depth = call.integer("depth");
         if (call.out_shape().num_elements() == 0) return;
         const int axis = Infer{static_cast<const OpArgs&>(call), {}}.axis("axis", shape.rank() + 1);
         std::int64_t outer = 1, inner = 1;
         for (int i = 0; i < shape.rank(); ++i) (i < axis ? outer : inner) *= shape.dim(i);
         const kernels::ScratchOf<std::int64_t> indices(outer * inner);
         copy_integers(call, indices.get());
         with_element(call.out_dtype(), [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           T* y = call.out<T>();
           const T on = convert<T>(call.real("on_value"));
           std::fill_n(y, outer * depth * inner, convert<T>(call.real("off_value")));
           const std::int64_t* index = indices.get();
           for (std::int64_t o = 0; o < outer; ++o)
             for (std::int64_t i = 0; i < inner; ++i, ++index)
               if (0 <= *index && *index < depth) y[(o * depth + *index) * inner + i] = on;
         });
       },
       .batch = batch::carry,
       .traits = kMoves | kNoGradient,
       .samples = {{{i32({4}).range(-1, 4)}, {{"depth", std::int64_t{3}}}},
                   {{i64({2, 3}).range(0, 3)}, {{"depth", std::int64_t{4}}, {"on_value", 2.0}, {"off_value", -1.0}, {"axis", std::int64_t{1}}, {"dtype", DType::i32}}}}},

      {.name = "sequence_mask",
       .doc = "For each length, maxlen flags along a new last axis of which the first length are set.",
       .tf = "tf.sequence_mask(lengths, maxlen, dtype)",
       .inputs = {"lengths:int"},
       .attrs = {attr::integer("maxlen").at_least(0), attr::dtype("dtype", DType::bool_)},
       .infer = [](const Infer& in) -> Specs {
         Ints sizes(in.shape(0).begin(), in.shape(0).end());
         sizes.push_back(in.integer("maxlen"));
         const Shape shape(sizes);
         infer::count(in, shape);
         return {{in.dtype_attr("dtype"), shape}};
       },
       .kernel = [](KernelCall& call) {
         const std::int64_t count = call.shape(0).num_elements(), maxlen = call.integer("maxlen");
         const kernels::ScratchOf<std::int64_t> lengths(count);
         copy_integers(call, lengths.get());
         with_element(call.out_dtype(), [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           T* y = call.out<T>();
           for (std::int64_t i = 0; i < count; ++i, y += maxlen) {
             const std::int64_t set = std::clamp<std::int64_t>(lengths.get()[i], 0, maxlen);
             std::fill_n(y, set, number<T>(1));
             std::fill_n(y + set, maxlen - set, number<T>(0));
           }
         });
       },
       .batch = batch::carry,
       .traits = kMoves | kNoGradient,
       .samples = {{{i32({3}).range(0, 5)}, {{"maxlen", std::int64_t{5}}}}, {{i64({2, 3}).range(-1, 5)}, {{"maxlen", std::int64_t{4}}, {"dtype", DType::f32}}}}},

      {.name = "broadcast_together",
       .doc = "Repeats each of xs to the shape that they all broadcast to.",
       .inputs = {"xs..."},
       .outputs = {"ys..."},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         const Shape shape = infer::broadcast(in, 0, in.count() - 1);
         infer::count(in, shape);
         Specs result;
         for (std::size_t i = 0; i < in.count(); ++i) result.push_back({in.dtype(i), shape});
         return result;
       },
       .kernel = [](KernelCall& call) {
         const Shape& shape = call.out_shape();
         if (shape.num_elements() == 0) return;
         for (std::size_t i = 0; i < call.inputs.size(); ++i) {
           std::int64_t strides[kMaxRank];
           broadcast_strides(call.shape(i), shape, strides);
           repeat(call.in<char>(i), strides, shape, 0, size_of(call.dtype(i)), call.out<char>(i));
         }
       },
       .grad = [](const Backward& b) -> Grads {
         Grads result;
         for (std::size_t i = 0; i < b.inputs.size(); ++i) result.push_back(b.needs(i) && b.has_dy(i) ? Grad(sum_like(b.dy(i), b.x(i))) : Grad());
         return result;
       },
       .batch = batch::broadcast,
       .traits = kMoves,
       .samples = {{{f32({2, 1}), f32({3})}}, {{f32({3}), f32({}), f32({2, 1, 3})}}}},

      {.name = "meshgrid",
       .doc = "The coordinates of a grid: y[i] repeats the vector (or scalar) x[i] along the axes of all others; with indexing xy the first two axes change places.",
       .tf = "tf.meshgrid(xs, indexing)",
       .inputs = {"xs..."},
       .attrs = {attr::choice("Indexing", "indexing", {"xy", "ij"})},
       .outputs = {"ys..."},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         Ints sizes(in.count(), 1);
         for (std::size_t i = 0; i < in.count(); ++i) {
           if (in.rank(i) > 1) in.shape_error(in.named(i) + " has rank " + std::to_string(in.rank(i)) + "; a grid is made from vectors or scalars.");
           if (in.rank(i) == 1) sizes[static_cast<std::size_t>(grid_axis(in, i, in.count()))] = in.shape(i).dim(0);
         }
         const Shape shape(sizes);
         infer::count(in, shape);
         Specs result;
         for (std::size_t i = 0; i < in.count(); ++i) result.push_back({in.dtype(i), shape});
         return result;
       },
       .expand = [](const Expand& in) -> Tensors {
         const std::size_t count = in.inputs.size();
         std::vector<Tensor> spread;
         for (std::size_t i = 0; i < count; ++i) spread.push_back(along(in[i], grid_axis(in, i, count), static_cast<int>(count)));
         Tensors result;
         for (Tensor& y : broadcast_together(spread)) result.push_back(std::move(y));
         return result;
       },
       .samples = {{{f32({2}), f32({3})}}, {{f32({2}), f32({3}), f32({})}, {{"indexing", std::int64_t{1}}}}, {{f32({4})}}}},

      {.name = "cast",
       .doc = "Converts to another dtype: floats truncate toward zero and saturate, NaN gives 0; integers wrap; bool is x != 0.",
       .tf = "tf.cast(x, dtype)",
       .inputs = {"x"},
       .attrs = {attr::dtype("dtype")},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs { return {{in.dtype_attr("dtype"), in.shape(0)}}; },
       .kernel = [](KernelCall& call) {
         const std::int64_t count = call.out_shape().num_elements();
         with_element(call.dtype(), [&](auto* from_tag) {
           with_element(call.out_dtype(), [&](auto* to_tag) {
             using From = std::remove_pointer_t<decltype(from_tag)>;
             using To = std::remove_pointer_t<decltype(to_tag)>;
             const From* x = call.in<From>(0);
             To* y = call.out<To>();
             parallel_ranges(count, 16384, [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = begin; i < end; ++i) y[i] = convert<To>(x[i]);
             });
           });
         });
       },
       .grad = [](const Backward& b) -> Grads { return {cast(b.dy(), b.x().dtype())}; },
       .batch = batch::carry,
       .traits = kMoves,
       .samples = {{{f32({2, 3})}, {{"dtype", DType::f64}}}, {{f32({2, 3})}, {{"dtype", DType::i32}}}, {{i32({4})}, {{"dtype", DType::bool_}}}}},
  };
}

}  // namespace weft::inline v0::rows
