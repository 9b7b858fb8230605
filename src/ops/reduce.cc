// Reductions and running totals.
#include "kernels/reduce.h"

#include <algorithm>
#include <limits>

#include "base/convert.h"
#include "kernels/scan.h"
#include "ops/families.h"
#include "ops/row.h"

namespace weft::inline v0::rows {
namespace {

// --- shared by kernels ---

Ints axes_of(const OpArgs& args, int rank) { return Infer{args, {}}.axes("axis", rank); }

kernels::FoldPlan plan_of(const KernelCall& call) {
  const Shape& shape = call.shape(0);
  bool folded[kMaxRank] = {};
  for (std::int64_t axis : axes_of(call, shape.rank())) folded[axis] = true;
  return kernels::plan_fold(shape.begin(), shape.rank(), folded);
}

template <kernels::Fold what>
void fold(KernelCall& call) {
  kernels::FoldPlan plan = plan_of(call);
  plan.make = call.make;
  kernels::fold(what, call.dtype(), plan, call.make != nullptr ? nullptr : call.in<void>(0), call.out<void>());
}

kernels::ScanAxis scan_axis(const KernelCall& call) {
  const Shape& shape = call.shape(0);
  const int axis = Infer{static_cast<const OpArgs&>(call), {}}.axis("axis", shape.rank());
  kernels::ScanAxis result{1, shape.dim(axis), 1, call.flag("reverse")};
  if (shape.num_elements() == 0) return {0, 0, 0, false};  // the other sizes need not multiply to anything that fits
  for (int i = 0; i < axis; ++i) result.outer *= shape.dim(i);
  for (int i = axis + 1; i < shape.rank(); ++i) result.inner *= shape.dim(i);
  return result;
}

template <kernels::Scan what>
void scan(KernelCall& call) {
  kernels::scan(what, call.dtype(), scan_axis(call), call.flag("exclusive"), call.in<void>(0), call.out<void>());
}

template <bool largest>
void arg_extreme(KernelCall& call) {
  const Shape& shape = call.shape(0);
  if (call.out_shape().num_elements() == 0) return;
  const int axis = Infer{static_cast<const OpArgs&>(call), {}}.axis("axis", shape.rank());
  std::int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; ++i) outer *= shape.dim(i);
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape.dim(i);
  kernels::arg_extreme(call.dtype(), largest, outer, shape.dim(axis), inner, call.in<void>(0), call.out_dtype(), call.out<void>());
}

// --- shared inference ---

Specs infer_mean(const Infer& in) {
  Specs result = infer::reduce(in);
  if (is_integer(in.dtype(0)))
    for (std::int64_t axis : in.axes("axis", in.rank(0)))
      if (in.shape(0).dim(static_cast<int>(axis)) == 0)
        in.value_error("axis " + std::to_string(axis) + " of " + in.named(0) + " is empty, and integers have no value for the mean of nothing; cast x to a float.");
  return result;
}

Specs infer_count_nonzero(const Infer& in) {
  Specs result = infer::reduce(in);
  result[0].dtype = DType::i64;
  return result;
}

Specs infer_scan(const Infer& in) {
  in.axis("axis", in.rank(0));
  return infer::same(in);
}

Specs infer_arg_extreme(const Infer& in) {
  const int axis = in.axis("axis", in.rank(0));
  const std::int64_t length = in.shape(0).dim(axis);
  const DType dtype = in.dtype_attr("dtype");
  if (dtype != DType::i32 && dtype != DType::i64) in.dtype_error("dtype is " + std::string(name_of(dtype)) + "; positions are i32 or i64.");
  if (length == 0) in.shape_error("axis " + std::to_string(axis) + " of " + in.named(0) + " is empty and has no extreme; give at least one element.");
  if (dtype == DType::i32 && length > std::numeric_limits<std::int32_t>::max())
    in.value_error("axis " + std::to_string(axis) + " of " + in.named(0) + " has positions beyond i32; ask for dtype i64.");
  return {{dtype, infer::reduced_shape(in, in.shape(0), {axis}, false)}};
}

// A size as a number of the wanted dtype: exact for integers, rounded but finite for floats.
void require_fits(const Infer& in, std::int64_t number, const std::string& what) {
  const DType dtype = in.dtype_attr("dtype");
  if (dtype == bool_) in.dtype_error("dtype is bool; sizes are numbers.");
  if (number == kUnknown) return;
  const bool fits = with_element(dtype, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (std::integral<T>) return static_cast<std::uint64_t>(number) <= static_cast<std::uint64_t>(std::numeric_limits<T>::max());
    else return std::isfinite(static_cast<double>(convert<T>(number)));
  });
  if (!fits) in.value_error(what + " is " + std::to_string(number) + ", which does not fit " + std::string(name_of(dtype)) + "; ask for another dtype.");
}

void write_size(const KernelCall& call, std::int64_t at, std::int64_t number) {
  with_element(call.out_dtype(), [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    call.out<T>()[at] = convert<T>(number);
  });
}

std::int64_t folded_count(const OpArgs& args, const Shape& shape) {
  std::int64_t count = 1;
  for (std::int64_t axis : axes_of(args, shape.rank())) count = infer::mul(args, count, shape.dim(static_cast<int>(axis)));
  return count;
}

// --- shared by gradients ---

// A result (or its gradient) with the reduced axes as axes of size 1, so that it broadcasts against x.
Tensor keep(const Backward& b, const Tensor& result) {
  return b.flag("keepdims") ? result : expand_dims(result, axes_of(b, b.x().rank()));
}

Tensor as(const Tensor& x, DType dtype) { return x.dtype() == dtype ? x : cast(x, dtype); }
// The dtype in which counts are exact enough and cannot overflow.
DType wide(DType dtype) { return is_half(dtype) ? DType::f32 : dtype; }

// dy for each element, divided by the number of elements that share it.
Tensor mean_share(const Backward& b) {
  const DType dtype = b.x().dtype();
  const Tensor count = size(b.x(), {.axis = axes_of(b, b.x().rank()), .dtype = wide(dtype)});
  return as(as(keep(b, b.dy()), wide(dtype)) / count, dtype);
}

Tensor deviation(const Backward& b) { return center(b.x(), {.axis = axes_of(b, b.x().rank())}); }

// Elements equal to the extreme share its gradient. None is equal to NaN: 0 / 0 makes the whole gradient NaN, too.
Grads extreme_grad(const Backward& b) {
  const DType dtype = b.x().dtype();
  const Tensor hit = cast(b.x() == keep(b, b.y()), wide(dtype));
  const Tensor hits = sum(hit, {.axis = axes_of(b, b.x().rank()), .keepdims = true});
  return {as(hit / hits, dtype) * keep(b, b.dy())};
}

// One axis after the other: along each, the product of the others is the product of those before and of those after, which
// needs no division and is therefore right whatever is zero.
Grads prod_grad(const Backward& b) {
  const Ints axes = axes_of(b, b.x().rank());
  std::vector<Tensor> partial{b.x()};
  for (std::int64_t axis : axes) partial.push_back(prod(partial.back(), {.axis = axis, .keepdims = true}));
  Tensor dx = keep(b, b.dy());
  for (std::size_t i = axes.size(); i-- > 0;) {
    const Tensor before = cumprod(partial[i], {.axis = axes[i], .exclusive = true});
    const Tensor after = cumprod(partial[i], {.axis = axes[i], .exclusive = true, .reverse = true});
    dx = dx * (before * after);
  }
  return {dx};
}

// With y[k] the product up to k, dx[j] is (the product before j) * r[j], r[j] = dy[j] + x[j+1] * r[j+1]: no division either.
Grads cumprod_grad(const Backward& b) {
  const std::int64_t axis = b.integer("axis");
  const bool reverse = b.flag("reverse");
  const Tensor before = cumprod(b.x(), {.axis = axis, .exclusive = true, .reverse = reverse});
  if (b.flag("exclusive")) return {before * shift_one(linear_recurrence(b.x(), b.dy(), {.axis = axis, .reverse = !reverse}), {.axis = axis, .reverse = !reverse})};
  return {before * linear_recurrence(shift_one(b.x(), {.axis = axis, .reverse = !reverse}), b.dy(), {.axis = axis, .reverse = !reverse})};
}

// With z the inclusive result, dx[j] = exp(x[j] - z[j]) * h[j], h[j] = dy[j] + exp(z[j] - z[j+1]) * h[j+1], where z never falls, so
// that no exp exceeds 1. The differences of z are taken first and shifted then, so that no made-up neighbour enters an exp.
Grads cumulative_logsumexp_grad(const Backward& b) {
  const std::int64_t axis = b.integer("axis");
  const bool reverse = b.flag("reverse"), exclusive = b.flag("exclusive");
  const Tensor z = exclusive ? cumulative_logsumexp(b.x(), {.axis = axis, .reverse = reverse}) : b.y();
  const Tensor dz = exclusive ? shift_one(b.dy(), {.axis = axis, .reverse = !reverse}) : b.dy();
  const Tensor rise = z - shift_one(z, {.axis = axis, .reverse = reverse});
  const Tensor decay = exp(-shift_one(rise, {.axis = axis, .reverse = !reverse}));
  return {exp(b.x() - z) * linear_recurrence(decay, dz, {.axis = axis, .reverse = !reverse})};
}

// y[k] = a[k] y[k-1] + b[k] backward: g[k] = dy[k] + a[k+1] g[k+1] is the gradient of b, and g[k] y[k-1] that of a.
Grads linear_recurrence_grad(const Backward& b) {
  const std::int64_t axis = b.integer("axis");
  const bool reverse = b.flag("reverse");
  const Tensor g = linear_recurrence(shift_one(b.x(0), {.axis = axis, .reverse = !reverse}), b.dy(), {.axis = axis, .reverse = !reverse});
  return {b.needs(0) ? Grad(g * shift_one(b.y(), {.axis = axis, .reverse = reverse})) : Grad(), g};
}

std::vector<AttrDef> reduce_attrs() { return {attr::axes("axis"), attr::flag("keepdims", false)}; }
std::vector<AttrDef> scan_attrs() { return {attr::axis("axis", 0), attr::flag("exclusive", false), attr::flag("reverse", false)}; }

std::vector<Sample> reduce_samples(const SampleInput& x) {
  return {{{x}}, {{x}, {{"axis", Ints{0, -1}}}}, {{x}, {{"axis", Ints{1}}, {"keepdims", true}}}, {{x}, {{"axis", Ints{}}}}};
}

std::vector<Sample> scan_samples(const SampleInput& x) {
  return {{{x}},
          {{x}, {{"axis", std::int64_t{1}}, {"exclusive", true}}},
          {{x}, {{"axis", std::int64_t{-1}}, {"reverse", true}}},
          {{x}, {{"axis", std::int64_t{1}}, {"exclusive", true}, {"reverse", true}}}};
}

// --- batches ---

Tensors batch_sum_like(const Batch& b) {
  const Shape& like = b.inputs[1].shape();
  const int missing = b.rank(0) - like.rank();
  Ints gone, folded;  // axes that like does not have; those, and the ones along which it has one element
  for (int axis = 0; axis < missing; ++axis) gone.push_back(axis + 1);
  if (!like.known()) return {squeeze(sum_like(b.inputs[0], expand_dims(batch::repeat(b, b.inputs[1]), gone)), {.axis = gone})};
  folded = gone;
  for (int axis = 0; axis < like.rank(); ++axis)
    if (like.dim(axis) == 1) folded.push_back(axis + missing + 1);
  return {batch::reshape_as(b, folded.empty() ? b.inputs[0] : sum(b.inputs[0], {.axis = folded}), b.inputs[1])};
}

}  // namespace

std::vector<Op> reduce() {
  return {
      {.name = "sum",
       .doc = "Sum over axes, 0 over none; floats as accurately as if added in twice the precision, integers wrap.",
       .tf = "tf.math.reduce_sum(x, axis, keepdims)",
       .inputs = {"x"},
       .attrs = reduce_attrs(),
       .dtypes = kNumbers,
       .infer = infer::reduce,
       .kernel = fold<kernels::Fold::kSum>,
       .grad = [](const Backward& b) -> Grads { return {broadcast_like(keep(b, b.dy()), b.x())}; },
       .batch = batch::carry,
       .traits = kMakesInput,
       .samples = reduce_samples(f32({2, 3, 4}))},

      {.name = "sum_like",
       .doc = "Sums x down to the shape of like, which broadcasts to x: the transpose of broadcast_like.",
       .inputs = {"x", "like:any"},
       .dtypes = kNumbers,
       .infer = [](const Infer& in) -> Specs {
         const Shape &x = in.shape(0), &like = in.shape(1);
         const int shift = x.rank() - like.rank();
         bool fits = shift >= 0;
         for (int axis = 0; fits && axis < like.rank(); ++axis) fits = like.dim(axis) == 1 || infer::compatible(like.dim(axis), x.dim(axis + shift));
         if (!fits) in.shape_error(in.named(1) + " does not broadcast to " + in.named(0) + "; its sizes must match from the last axis or be 1.");
         return infer::like_second(in);
       },
       .kernel = [](KernelCall& call) {
         const Shape &shape = call.shape(0), &like = call.shape(1);
         const int shift = shape.rank() - like.rank();
         const std::int64_t count = shape.num_elements();
         if (count > 0 && count == like.num_elements()) {  // nothing to add: a sum that begins with 0 would lose the sign of -0
           std::memcpy(call.out<void>(), call.in<void>(0), static_cast<std::size_t>(count) * size_of(call.dtype()));
           return;
         }
         bool folded[kMaxRank];
         for (int axis = 0; axis < shape.rank(); ++axis) folded[axis] = axis < shift || like.dim(axis - shift) == 1;
         kernels::fold(kernels::Fold::kSum, call.dtype(), kernels::plan_fold(shape.begin(), shape.rank(), folded), call.in<void>(0), call.out<void>());
       },
       .grad = [](const Backward& b) -> Grads { return {broadcast_like(b.dy(), b.x())}; },
       .batch = batch_sum_like,
       .samples = {{{f32({2, 3, 4}), f32({3, 1})}}, {{f32({2, 3}), f32({})}}}},

      {.name = "mean",
       .doc = "Mean over axes; of no floats it is NaN, of no integers a ValueError; integers truncate toward zero.",
       .tf = "tf.math.reduce_mean(x, axis, keepdims)",
       .inputs = {"x"},
       .attrs = reduce_attrs(),
       .dtypes = kNumbers,
       .infer = infer_mean,
       .kernel = fold<kernels::Fold::kMean>,
       .grad = [](const Backward& b) -> Grads { return {broadcast_like(mean_share(b), b.x())}; },
       .batch = batch::carry,
       .traits = kMakesInput,
       .samples = reduce_samples(f32({2, 3, 4}))},

      {.name = "prod",
       .doc = "Product over axes, 1 over none; integers wrap. Its gradient is right whichever elements are zero.",
       .tf = "tf.math.reduce_prod(x, axis, keepdims)",
       .inputs = {"x"},
       .attrs = reduce_attrs(),
       .dtypes = kNumbers,
       .infer = infer::reduce,
       .kernel = fold<kernels::Fold::kProd>,
       .grad = prod_grad,
       .batch = batch::carry,
       .traits = kMakesInput,
       .samples = {{{f32({2, 2, 3}).range(0.5, 1.5)}},
                   {{f32({2, 2, 3})}, {{"axis", Ints{0, -1}}}},
                   {{f32({2, 4}).exactly({2, 0, 3, -1, 0, 2, 0, 1.5})}, {{"axis", Ints{1}}, {"keepdims", true}}}}},

      {.name = "max",
       .doc = "Largest element over axes, NaN if one is NaN; over none -inf, or the dtype's lowest. Ties share the gradient equally.",
       .tf = "tf.math.reduce_max(x, axis, keepdims)",
       .inputs = {"x"},
       .attrs = reduce_attrs(),
       .dtypes = kNumbers,
       .infer = infer::reduce,
       .kernel = fold<kernels::Fold::kMax>,
       .grad = extreme_grad,
       .batch = batch::carry,
       .traits = kMakesInput,
       .samples = reduce_samples(f32({2, 3, 4}).distinct())},

      {.name = "min",
       .doc = "Smallest element over axes, NaN if one is NaN; over none inf, or the dtype's highest. Ties share the gradient equally.",
       .tf = "tf.math.reduce_min(x, axis, keepdims)",
       .inputs = {"x"},
       .attrs = reduce_attrs(),
       .dtypes = kNumbers,
       .infer = infer::reduce,
       .kernel = fold<kernels::Fold::kMin>,
       .grad = extreme_grad,
       .batch = batch::carry,
       .traits = kMakesInput,
       .samples = reduce_samples(f32({2, 3, 4}).distinct())},

      {.name = "any_true",
       .doc = "Whether any element over axes is true; over none it is false.",
       .tf = "tf.math.reduce_any(x, axis, keepdims)",
       .inputs = {"x"},
       .attrs = reduce_attrs(),
       .dtypes = bit(DType::bool_),
       .infer = infer::reduce,
       .kernel = fold<kernels::Fold::kAny>,
       .batch = batch::carry,
       .traits = kNoGradient,
       .samples = reduce_samples(boolean({2, 3, 4}))},

      {.name = "all_true",
       .doc = "Whether all elements over axes are true; over none it is true.",
       .tf = "tf.math.reduce_all(x, axis, keepdims)",
       .inputs = {"x"},
       .attrs = reduce_attrs(),
       .dtypes = bit(DType::bool_),
       .infer = infer::reduce,
       .kernel = fold<kernels::Fold::kAll>,
       .batch = batch::carry,
       .traits = kNoGradient,
       .samples = reduce_samples(boolean({2, 3, 4}))},

      {.name = "count_nonzero",
       .doc = "How many elements over axes are not zero (or are true), as i64; NaN is not zero.",
       .tf = "tf.math.count_nonzero(x, axis, keepdims)",
       .inputs = {"x"},
       .attrs = reduce_attrs(),
       .dtypes = kAnything,
       .infer = infer_count_nonzero,
       .kernel = fold<kernels::Fold::kCountNonzero>,
       .batch = batch::carry,
       .traits = kNoGradient,
       .samples = reduce_samples(i32({2, 3, 4}).range(-1, 1))},

      {.name = "logsumexp",
       .doc = "log(sum(exp(x))) over axes, without overflow; over none, and where all are -inf, it is -inf.",
       .tf = "tf.math.reduce_logsumexp(x, axis, keepdims)",
       .inputs = {"x"},
       .attrs = reduce_attrs(),
       .dtypes = kFloats,
       .infer = infer::reduce,
       .kernel = fold<kernels::Fold::kLogSumExp>,
       .grad = [](const Backward& b) -> Grads { return {exp(b.x() - keep(b, b.y())) * keep(b, b.dy())}; },
       .batch = batch::carry,
       .samples = reduce_samples(f32({2, 3, 4}))},

      {.name = "center",
       .doc = "x less its mean over axes, rounded once: exact to the last place also where the two nearly cancel.",
       .inputs = {"x"},
       .attrs = {attr::axes("axis")},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         in.axes("axis", in.rank(0));
         return infer::same(in);
       },
       .kernel = [](KernelCall& call) { kernels::center(call.dtype(), plan_of(call), call.in<void>(0), call.out<void>()); },
       .grad = [](const Backward& b) -> Grads { return {center(b.dy(), {.axis = axes_of(b, b.x().rank())})}; },
       .batch = batch::carry,
       .samples = {{{f32({2, 3, 4})}}, {{f32({2, 3, 4})}, {{"axis", Ints{0, -1}}}}, {{f32({2, 3})}, {{"axis", Ints{0}}}}}},

      {.name = "variance",
       .doc = "Mean squared distance from the mean over axes (of the population: divided by the number of elements).",
       .tf = "tf.math.reduce_variance(x, axis, keepdims)",
       .inputs = {"x"},
       .attrs = reduce_attrs(),
       .dtypes = kFloats,
       .infer = infer::reduce,
       .kernel = fold<kernels::Fold::kVariance>,
       .grad = [](const Backward& b) -> Grads { return {deviation(b) * (2 * mean_share(b))}; },
       .batch = batch::carry,
       .samples = reduce_samples(f32({2, 3, 4}))},

      {.name = "stddev",
       .doc = "Standard deviation over axes, the root of variance; where it is 0 its gradient is NaN.",
       .tf = "tf.math.reduce_std(x, axis, keepdims)",
       .inputs = {"x"},
       .attrs = reduce_attrs(),
       .dtypes = kFloats,
       .infer = infer::reduce,
       .kernel = fold<kernels::Fold::kStandardDeviation>,
       .grad = [](const Backward& b) -> Grads { return {deviation(b) * (mean_share(b) / keep(b, b.y()))}; },
       .batch = batch::carry,
       .samples = {{{f32({2, 3, 4})}}, {{f32({2, 3, 4}).distinct()}, {{"axis", Ints{0, -1}}}}, {{f32({2, 3, 2}).distinct()}, {{"axis", Ints{1}}, {"keepdims", true}}}}},

      {.name = "euclidean_norm",
       .doc = "Root of the sum of squares over axes, without overflow; where it is 0 its gradient is NaN.",
       .tf = "tf.math.reduce_euclidean_norm(x, axis, keepdims)",
       .inputs = {"x"},
       .attrs = reduce_attrs(),
       .dtypes = kFloats,
       .infer = infer::reduce,
       .kernel = fold<kernels::Fold::kEuclideanNorm>,
       .grad = [](const Backward& b) -> Grads { return {b.x() * (keep(b, b.dy()) / keep(b, b.y()))}; },
       .batch = batch::carry,
       .samples = {{{f32({2, 3, 4})}}, {{f32({2, 3, 4})}, {{"axis", Ints{0, -1}}}}, {{f32({2, 3}).range(0.5, 2)}, {{"axis", Ints{1}}, {"keepdims", true}}}}},

      {.name = "moments",
       .doc = "Mean and variance over axes.",
       .tf = "tf.nn.moments(x, axes=axis, keepdims)",
       .inputs = {"x"},
       .attrs = reduce_attrs(),
       .outputs = {"mean", "variance"},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         const Spec one = infer::reduce(in)[0];
         return {one, one};
       },
       .expand = [](const Expand& in) -> Tensors {
         const Ints axes = axes_of(in, in[0].rank());
         const bool keepdims = in.flag("keepdims");
         return {mean(in[0], {.axis = axes, .keepdims = keepdims}), variance(in[0], {.axis = axes, .keepdims = keepdims})};
       },
       .samples = {{{f32({4, 3})}, {{"axis", Ints{0}}}}, {{f32({2, 3, 4})}, {{"axis", Ints{0, -1}}, {"keepdims", true}}}}},

      {.name = "argmax",
       .doc = "Position of the largest element along an axis, the first of equal ones; NaN counts as larger than any number.",
       .tf = "tf.math.argmax(x, axis, output_type=dtype)",
       .inputs = {"x"},
       .attrs = {attr::axis("axis", 0), attr::dtype("dtype", DType::i64)},
       .dtypes = kNumbers,
       .infer = infer_arg_extreme,
       .kernel = arg_extreme<true>,
       .batch = batch::carry,
       .traits = kNoGradient,
       .samples = {{{f32({3, 4})}}, {{f32({2, 3, 4})}, {{"axis", std::int64_t{1}}, {"dtype", DType::i32}}}, {{i32({3, 4})}, {{"axis", std::int64_t{-1}}}}}},

      {.name = "argmin",
       .doc = "Position of the smallest element along an axis, the first of equal ones; NaN counts as smaller than any number.",
       .tf = "tf.math.argmin(x, axis, output_type=dtype)",
       .inputs = {"x"},
       .attrs = {attr::axis("axis", 0), attr::dtype("dtype", DType::i64)},
       .dtypes = kNumbers,
       .infer = infer_arg_extreme,
       .kernel = arg_extreme<false>,
       .batch = batch::carry,
       .traits = kNoGradient,
       .samples = {{{f32({3, 4})}}, {{f32({2, 3, 4})}, {{"axis", std::int64_t{1}}, {"dtype", DType::i32}}}, {{i32({3, 4})}, {{"axis", std::int64_t{-1}}}}}},

      {.name = "cumsum",
       .doc = "Running sum along an axis; exclusive leaves each element itself out, reverse runs from the end. Integers wrap.",
       .tf = "tf.math.cumsum(x, axis, exclusive, reverse) | tf.cumsum(x, axis, exclusive, reverse)",
       .inputs = {"x"},
       .attrs = scan_attrs(),
       .dtypes = kNumbers,
       .infer = infer_scan,
       .kernel = scan<kernels::Scan::kSum>,
       .grad = [](const Backward& b) -> Grads {
         return {cumsum(b.dy(), {.axis = b.integer("axis"), .exclusive = b.flag("exclusive"), .reverse = !b.flag("reverse")})};
       },
       .batch = batch::carry,
       .samples = scan_samples(f32({2, 4, 3}))},

      {.name = "cumprod",
       .doc = "Running product along an axis; exclusive leaves each element itself out, reverse runs from the end. Integers wrap. Its gradient is right whichever elements are zero.",
       .tf = "tf.math.cumprod(x, axis, exclusive, reverse)",
       .inputs = {"x"},
       .attrs = scan_attrs(),
       .dtypes = kNumbers,
       .infer = infer_scan,
       .kernel = scan<kernels::Scan::kProd>,
       .grad = cumprod_grad,
       .batch = batch::carry,
       .samples = scan_samples(f32({2, 4, 2}))},

      {.name = "cumulative_logsumexp",
       .doc = "Running logsumexp along an axis; exclusive leaves each element itself out (the first is then -inf), reverse runs from the end.",
       .tf = "tf.math.cumulative_logsumexp(x, axis, exclusive, reverse)",
       .inputs = {"x"},
       .attrs = scan_attrs(),
       .dtypes = kFloats,
       .infer = infer_scan,
       .kernel = scan<kernels::Scan::kLogSumExp>,
       .grad = cumulative_logsumexp_grad,
       .batch = batch::carry,
       .samples = {{{f32({3, 2})}}, {{f32({2, 4, 3})}, {{"axis", std::int64_t{1}}, {"reverse", true}}}}},

      {.name = "linear_recurrence",
       .doc = "y[k] = a[k] * y[k-1] + b[k] along an axis, where y[0] = b[0] (the first coefficient is not used), and y[k] = b[k] where a[k] is 0, whatever came before; reverse runs from the end.",
       .inputs = {"a", "b"},
       .attrs = {attr::axis("axis", 0), attr::flag("reverse", false)},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         infer::require_same_shape(in, 1);
         in.axis("axis", in.rank(0));
         Shape shape = in.shape(0);
         for (int i = 0; i < shape.rank(); ++i) shape.set(i, infer::merge(shape.dim(i), in.shape(1).dim(i)));
         return {{in.dtype(0), shape}};
       },
       .kernel = [](KernelCall& call) {
         kernels::linear_recurrence(call.dtype(), scan_axis(call), call.in<void>(0), call.in<void>(1), call.out<void>());
       },
       .grad = linear_recurrence_grad,
       .batch = batch::carry,
       .samples = {{{f32({4, 3}), f32({4, 3})}}, {{f32({2, 4}), f32({2, 4})}, {{"axis", std::int64_t{-1}}, {"reverse", true}}}}},

      {.name = "shift_one",
       .doc = "Moves the elements one place along an axis, away from the start (reverse: towards it), and fills the free place with 0.",
       .inputs = {"x"},
       .attrs = {attr::axis("axis", 0), attr::flag("reverse", false)},
       .dtypes = kAnything,
       .infer = infer_scan,
       .kernel = [](KernelCall& call) { kernels::shift_one(size_of(call.dtype()), scan_axis(call), call.in<void>(0), call.out<void>()); },
       .grad = [](const Backward& b) -> Grads { return {shift_one(b.dy(), {.axis = b.integer("axis"), .reverse = !b.flag("reverse")})}; },
       .batch = batch::carry,
       .traits = kMoves,
       .samples = {{{f32({4, 3})}}, {{f32({2, 4, 3})}, {{"axis", std::int64_t{1}}, {"reverse", true}}}}},

      {.name = "size",
       .doc = "The number of elements along axes (all of them by default) as a scalar; one that does not fit dtype is a ValueError.",
       .tf = "tf.size(x, out_type=dtype)",
       .inputs = {"x"},
       .attrs = {attr::axes("axis"), attr::dtype("dtype", DType::i32)},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         require_fits(in, folded_count(in, in.shape(0)), "the size of " + in.named(0));
         return {{in.dtype_attr("dtype"), {}}};
       },
       .kernel = [](KernelCall& call) { write_size(call, 0, folded_count(call, call.shape(0))); },
       .batch = batch::once,
       .traits = kMoves | kNoGradient | kOfSpecs,
       .samples = {{{f32({2, 3, 4})}}, {{f32({2, 3, 4})}, {{"axis", Ints{0, -1}}, {"dtype", DType::f32}}}}},

      {.name = "shape_of",
       .doc = "The sizes of x as a vector; one that does not fit dtype is a ValueError.",
       .tf = "tf.shape(x, out_type=dtype)",
       .inputs = {"x"},
       .attrs = {attr::dtype("dtype", DType::i32)},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         require_fits(in, kUnknown, "");
         for (int axis = 0; axis < in.rank(0); ++axis) require_fits(in, in.shape(0).dim(axis), "axis " + std::to_string(axis) + " of " + in.named(0));
         return {{in.dtype_attr("dtype"), {in.rank(0)}}};
       },
       .kernel = [](KernelCall& call) {
         for (int axis = 0; axis < call.shape(0).rank(); ++axis) write_size(call, axis, call.shape(0).dim(axis));
       },
       .batch = batch::once,
       .traits = kMoves | kNoGradient | kOfSpecs,
       .samples = {{{f32({2, 3, 4})}}, {{f32({})}, {{"dtype", DType::i64}}}}},

      {.name = "rank_of",
       .doc = "The number of axes of x as a scalar.",
       .tf = "tf.rank(x)",
       .inputs = {"x"},
       .attrs = {attr::dtype("dtype", DType::i32)},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         require_fits(in, in.rank(0), "the rank of " + in.named(0));
         return {{in.dtype_attr("dtype"), {}}};
       },
       .kernel = [](KernelCall& call) { write_size(call, 0, call.shape(0).rank()); },
       .batch = batch::once,
       .traits = kMoves | kNoGradient,
       .samples = {{{f32({2, 3, 4})}}, {{f32({})}}}},
  };
}

}  // namespace weft::inline v0::rows
