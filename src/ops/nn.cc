// Softmax, losses, normalisation and clipping.
#include <algorithm>
#include <cmath>

#include "core/strides.h"
#include "kernels/softmax.h"
#include "ops/families.h"
#include "ops/row.h"

namespace weft::inline v0::rows {
namespace {

// Runs `body` for the element type unless the result is empty.
template <class Body>
void run_floats(KernelCall& call, const Body& body) {
  if (call.out_shape().num_elements() == 0) return;
  with_element(call.out_dtype(), [&](auto* tag) {
    if constexpr (std::is_floating_point_v<std::remove_pointer_t<decltype(tag)>>) body(tag);
  });
}

// REQUIRES: the shape without the axis has elements.
kernels::RowShape row_shape(const KernelCall& call, const Shape& shape) {
  const int axis = Infer{static_cast<const OpArgs&>(call), {}}.axis("axis", shape.rank());
  kernels::RowShape rows{1, shape.dim(axis), 1};
  for (int i = 0; i < axis; ++i) rows.outer *= shape.dim(i);
  for (int i = axis + 1; i < shape.rank(); ++i) rows.inner *= shape.dim(i);
  return rows;
}

Specs infer_softmax(const Infer& in) {
  in.require_rank_at_least(0, 1);
  in.axis("axis", in.rank(0));
  for (std::size_t i = 1; i < in.count(); ++i) infer::require_same_shape(in, i);
  return {in.spec(0)};
}

// The shape of one number for each row of `shape`.
Shape without_axis(const Infer& in, const Shape& shape) {
  return infer::reduced_shape(in, shape, Ints{in.axis("axis", shape.rank())}, false);
}

// The shape of labels [...] for logits [..., classes].
void require_sparse_labels(const Infer& in) {
  in.require_rank_at_least(1, 1);
  Shape expected;
  for (int i = 0; i + 1 < in.rank(1); ++i) expected.append(in.shape(1).dim(i));
  if (!infer::compatible(in.shape(0), expected)) in.shape_error(in.named(0) + " must be " + expected.str() + ": one label for each row of " + in.named(1) + ".");
}

std::int64_t classes_of(const KernelCall& call) { return call.shape(1).dim(call.shape(1).rank() - 1); }

void check_labels(const KernelCall& call) {
  const std::int64_t classes = classes_of(call), count = call.shape(0).num_elements();
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t label = call.dtype(0) == DType::i32 ? call.in<std::int32_t>(0)[k] : call.in<std::int64_t>(0)[k];
    if (label >= 0 && label < classes) continue;
    call.index_error("labels has " + std::to_string(label) + " at position " + std::to_string(k) + ", but logits has " +
                     (classes == 0 ? "no classes." : std::to_string(classes) + " classes; it must be from 0 to " + std::to_string(classes - 1) + "."));
  }
}

template <class Body>
void with_labels(const KernelCall& call, const Body& body) {
  if (call.dtype(0) == DType::i32) body(call.in<std::int32_t>(0));
  else body(call.in<std::int64_t>(0));
}

Tensor row_sum(const Tensor& x, std::int64_t axis) { return sum(x, {.axis = axis, .keepdims = true}); }
Tensor row_mean(const Tensor& x) { return row_sum(x, -1) / row_sum(ones_like(x), -1); }

// The gradients of dx = standardize_backward(x, dy) with respect to x and dy, from that of dx. With r = 1 / sqrt(variance + epsilon): the
// Jacobian J = r (I - 11'/n - yy'/n) is symmetric, dr/dx = -r r y / n and dy/dx = J.
Grads standardize_backward_grads(const OpArgs& b, const Tensor& x, const Tensor& dy, const Tensor& dx, const Tensor& g, bool needs_x) {
  const double epsilon = b.real("epsilon");
  const auto pull = [&](const Tensor& v) { return standardize_backward(x, v, {.epsilon = epsilon}, b.at); };
  if (!needs_x) return {Grad(), pull(g)};
  const Tensor centred = x - row_mean(x), r = rsqrt(row_mean(centred * centred) + epsilon), y = centred * r;
  return {-r * (y * row_mean(g * dx) + pull(g * row_mean(dy * y) + dy * row_mean(g * y))), pull(g)};
}

// The spec of x, whose last axis is as long as the vectors `first` to `last` of inputs.
Spec with_vectors(const Infer& in, std::size_t first, std::size_t last) {
  in.require_rank_at_least(0, 1);
  Shape result = in.shape(0);
  const int axis = result.rank() - 1;
  for (std::size_t i = first; i <= last; ++i) {
    in.require_rank(i, 1);
    if (!infer::compatible(result.dim(axis), in.shape(i).dim(0))) in.shape_error(in.named(i) + " must have one element for each of the last axis of " + in.named(0) + ".");
    result.set(axis, infer::merge(result.dim(axis), in.shape(i).dim(0)));
  }
  return {in.dtype(0), result};
}

// What a tensor of this norm is multiplied by so that the norm becomes clip_norm at most. NaN stays NaN. Both branches are finite where they
// are not taken, so no gradient turns into NaN there.
Tensor clip_scale(const Tensor& norm, double clip_norm) {
  const Tensor fits = norm <= clip_norm, one = ones_like(norm);
  return where(fits, one, clip_norm / where(fits, one, norm));
}

// Calls each(i, r) for every element i of a tensor, with its place r in a dense tensor of shape `rows`, which broadcasts to it.
template <class Each>
void for_each_in_rows(const Shape& shape, const Shape& rows, const Each& each) {
  std::int64_t strides[kMaxRank];
  broadcast_strides(rows, shape, strides);
  Ints index(static_cast<std::size_t>(shape.rank()), 0);
  const std::int64_t total = shape.num_elements();
  for (std::int64_t i = 0, r = 0; i < total; ++i) {
    each(i, r);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const auto a = static_cast<std::size_t>(axis);
      r += strides[a];
      if (++index[a] < shape.dim(axis)) break;
      r -= strides[a] * shape.dim(axis);
      index[a] = 0;
    }
  }
}

// REQUIRES: there are elements.
template <class T>
void clip_rows(const KernelCall& call, const T* x, T* y) {
  const Shape& shape = call.shape(0);
  Shape rows = shape;
  for (std::int64_t axis : Infer{static_cast<const OpArgs&>(call), {}}.axes("axes", shape.rank())) rows.set(static_cast<int>(axis), 1);
  const Tensor scratch = make_tensor({DType::f64, rows});
  double* scale = static_cast<double*>(mutable_data(scratch));
  const std::int64_t count = rows.num_elements();
  const double clip_norm = call.real("clip_norm");
  std::fill_n(scale, count, 0.0);
  for_each_in_rows(shape, rows, [&](std::int64_t i, std::int64_t r) { scale[r] += static_cast<double>(x[i]) * static_cast<double>(x[i]); });
  for (std::int64_t r = 0; r < count; ++r) scale[r] = std::sqrt(scale[r]) <= clip_norm ? 1 : clip_norm / std::sqrt(scale[r]);
  for_each_in_rows(shape, rows, [&](std::int64_t i, std::int64_t r) { y[i] = static_cast<T>(static_cast<double>(x[i]) * scale[r]); });
}

AttrDef last_axis() { return attr::axis("axis", -1); }

// --- batches ---

// Both are linear in dy: if nothing else differs along the axis, the rest is computed once.
Tensors batch_loss_backward(const Batch& b) {
  if (b.batched[0] || b.batched[1]) return batch::carry(b);
  const Tensor& dy = b.inputs[2];
  const Tensor one = ones_like(strided_slice(dy, {0}, {1}, {.shrink_axis_mask = 1}));
  const std::int64_t axis = b.attrs.empty() ? -1 : b.integer("axis");
  const Tensor slope = batch::again(b, {b.inputs[0], b.inputs[1], one}, {b.attrs.begin(), b.attrs.end()})[0];
  return {slope * expand_dims(dy, axis < 0 ? axis : axis + 1)};
}

}  // namespace

std::vector<Op> nn() {
  const auto first_axis = [] { return std::pair<const char*, Attr>{"axis", std::int64_t{0}}; };
  return {
      {.name = "softmax",
       .doc = "exp(x) over its sum along an axis, stable for large x.",
       .tf = "tf.nn.softmax(x, axis)",
       .inputs = {"x"},
       .attrs = {last_axis()},
       .dtypes = kFloats,
       .infer = infer_softmax,
       .kernel = [](KernelCall& call) {
         run_floats(call, [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           kernels::softmax(row_shape(call, call.shape(0)), call.in<T>(0), call.out<T>());
         });
       },
       .grad = [](const Backward& b) -> Grads { return {softmax_backward(b.y(), b.dy(), {.axis = b.integer("axis")}, b.at)}; },
       .batch = batch::carry,
       .samples = {{{f32({2, 4})}}, {{f32({3, 2, 2})}, {first_axis()}}, {{f32({5}).range(-1e4, 1e4)}}}},

      {.name = "softmax_backward",
       .doc = "The gradient of softmax from its result y: y * (dy - sum(dy * y)).",
       .inputs = {"y", "dy"},
       .attrs = {last_axis()},
       .dtypes = kFloats,
       .infer = infer_softmax,
       .kernel = [](KernelCall& call) {
         run_floats(call, [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           kernels::softmax_backward(row_shape(call, call.shape(0)), call.in<T>(0), call.in<T>(1), call.out<T>());
         });
       },
       .grad = [](const Backward& b) -> Grads {
         const std::int64_t axis = b.integer("axis");
         const Tensor &y = b.x(0), &dy = b.x(1), g = b.dy();
         return {b.needs(0) ? Grad(g * (dy - row_sum(dy * y, axis)) - dy * row_sum(g * y, axis)) : Grad(), softmax_backward(y, g, {.axis = axis}, b.at)};
       },
       .batch = batch::carry,
       .samples = {{{f32({2, 4}).range(0, 1), f32({2, 4})}}, {{f32({3, 2}).range(0, 1), f32({3, 2})}, {first_axis()}}}},

      {.name = "log_softmax",
       .doc = "x - log(sum(exp(x))) along an axis, stable for large x.",
       .tf = "tf.nn.log_softmax(x, axis)",
       .inputs = {"x"},
       .attrs = {last_axis()},
       .dtypes = kFloats,
       .infer = infer_softmax,
       .kernel = [](KernelCall& call) {
         run_floats(call, [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           kernels::log_softmax(row_shape(call, call.shape(0)), call.in<T>(0), call.out<T>());
         });
       },
       .grad = [](const Backward& b) -> Grads { return {log_softmax_backward(b.y(), b.dy(), {.axis = b.integer("axis")}, b.at)}; },
       .batch = batch::carry,
       .samples = {{{f32({2, 4})}}, {{f32({3, 2, 2})}, {first_axis()}}}},

      {.name = "log_softmax_backward",
       .doc = "The gradient of log_softmax from its result y: dy - exp(y) * sum(dy).",
       .inputs = {"y", "dy"},
       .attrs = {last_axis()},
       .dtypes = kFloats,
       .infer = infer_softmax,
       .kernel = [](KernelCall& call) {
         run_floats(call, [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           kernels::log_softmax_backward(row_shape(call, call.shape(0)), call.in<T>(0), call.in<T>(1), call.out<T>());
         });
       },
       .grad = [](const Backward& b) -> Grads {
         const std::int64_t axis = b.integer("axis");
         const Tensor p = exp(b.x(0)), g = b.dy();
         return {b.needs(0) ? Grad(-g * p * row_sum(b.x(1), axis)) : Grad(), g - row_sum(g * p, axis)};
       },
       .batch = batch::carry,
       .samples = {{{f32({2, 4}).range(-2, 0), f32({2, 4})}}, {{f32({3, 2}).range(-2, 0), f32({3, 2})}, {first_axis()}}}},

      {.name = "softmax_cross_entropy",
       .doc = "Cross entropy -sum(labels * log_softmax(logits)) along an axis, for labels that are probabilities of the classes.",
       .tf = "tf.nn.softmax_cross_entropy_with_logits(labels, logits, axis)",
       .inputs = {"labels", "logits"},
       .attrs = {last_axis()},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         in.require_rank_at_least(1, 1);
         infer::require_same_shape(in, 0, 1);
         return {{in.dtype(1), without_axis(in, in.shape(1))}};
       },
       .kernel = [](KernelCall& call) {
         run_floats(call, [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           kernels::cross_entropy(row_shape(call, call.shape(1)), call.in<T>(0), call.in<T>(1), call.out<T>());
         });
       },
       .grad = [](const Backward& b) -> Grads {
         const std::int64_t axis = b.integer("axis");
         return {b.needs(0) ? Grad(-expand_dims(b.dy(), axis) * log_softmax(b.x(1), {.axis = axis})) : Grad(),
                 b.needs(1) ? Grad(softmax_cross_entropy_backward(b.x(0), b.x(1), b.dy(), {.axis = axis}, b.at)) : Grad()};
       },
       .batch = batch::carry,
       .samples = {{{f32({3, 4}).range(0, 1), f32({3, 4})}}, {{f32({4, 2}).range(0, 1), f32({4, 2})}, {first_axis()}}}},

      {.name = "softmax_cross_entropy_backward",
       .doc = "The gradient of softmax_cross_entropy with respect to its logits: dy * (softmax(logits) * sum(labels) - labels).",
       .inputs = {"labels", "logits", "dy"},
       .attrs = {last_axis()},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         in.require_rank_at_least(1, 1);
         infer::require_same_shape(in, 0, 1);
         const Shape rows = without_axis(in, in.shape(1));
         if (!infer::compatible(in.shape(2), rows)) in.shape_error(in.named(2) + " must be " + rows.str() + ": one number for each row of " + in.named(1) + ".");
         return {in.spec(1)};
       },
       .kernel = [](KernelCall& call) {
         run_floats(call, [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           kernels::cross_entropy_backward(row_shape(call, call.shape(1)), call.in<T>(0), call.in<T>(1), call.in<T>(2), call.out<T>());
         });
       },
       .grad = [](const Backward& b) -> Grads {
         const std::int64_t axis = b.integer("axis");
         const Tensor p = softmax(b.x(1), {.axis = axis}), total = row_sum(b.x(0), axis), dy = expand_dims(b.x(2), axis), g = b.dy();
         return {b.needs(0) ? Grad(dy * (row_sum(g * p, axis) - g)) : Grad(),
                 b.needs(1) ? Grad(softmax_backward(p, g * dy * total, {.axis = axis})) : Grad(),
                 b.needs(2) ? Grad(sum(g * (p * total - b.x(0)), {.axis = axis})) : Grad()};
       },
       .batch = batch_loss_backward,
       .samples = {{{f32({3, 4}).range(0, 1), f32({3, 4}), f32({3})}}, {{f32({4, 2}).range(0, 1), f32({4, 2}), f32({2})}, {first_axis()}}}},

      {.name = "sparse_softmax_cross_entropy",
       .doc = "Cross entropy -log_softmax(logits)[label] along the last axis, for labels that name the right class.",
       .tf = "tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)",
       .inputs = {"labels:index", "logits"},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         require_sparse_labels(in);
         Shape result = in.shape(0);
         for (int i = 0; i < result.rank(); ++i) result.set(i, infer::merge(result.dim(i), in.shape(1).dim(i)));
         return {{in.dtype(1), result}};
       },
       .validate = check_labels,
       .kernel = [](KernelCall& call) {
         run_floats(call, [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           with_labels(call, [&](auto* labels) {
             kernels::sparse_cross_entropy(call.out_shape().num_elements(), classes_of(call), labels, call.in<T>(1), call.out<T>());
           });
         });
       },
       .grad = [](const Backward& b) -> Grads { return {Grad(), sparse_softmax_cross_entropy_backward(b.x(0), b.x(1), b.dy(), b.at)}; },
       .batch = batch::carry,
       .traits = kMayFail,
       .samples = {{{i32({3}).range(0, 3), f32({3, 4})}}, {{i64({2, 2}).range(0, 2), f32({2, 2, 3})}}}},

      {.name = "sparse_softmax_cross_entropy_backward",
       .doc = "The gradient of sparse_softmax_cross_entropy with respect to its logits: dy * (softmax(logits), less 1 at the label).",
       .inputs = {"labels:index", "logits", "dy"},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         require_sparse_labels(in);
         infer::require_same_shape(in, 2, 0);
         return {in.spec(1)};
       },
       .validate = check_labels,
       .kernel = [](KernelCall& call) {
         run_floats(call, [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           with_labels(call, [&](auto* labels) {
             kernels::sparse_cross_entropy_backward(call.shape(0).num_elements(), classes_of(call), labels, call.in<T>(1), call.in<T>(2), call.out<T>());
           });
         });
       },
       .grad = [](const Backward& b) -> Grads {
         const Tensor g = b.dy();
         return {Grad(), b.needs(1) ? Grad(softmax_backward(softmax(b.x(1)), g * expand_dims(b.x(2), -1))) : Grad(),
                 b.needs(2) ? Grad(sum(g * sparse_softmax_cross_entropy_backward(b.x(0), b.x(1), ones_like(b.x(2))), {.axis = -1})) : Grad()};
       },
       .batch = batch_loss_backward,
       .traits = kMayFail,
       .samples = {{{i32({3}).range(0, 3), f32({3, 4}), f32({3})}}, {{i64({2, 2}).range(0, 2), f32({2, 2, 3}), f32({2, 2})}}}},

      {.name = "sigmoid_cross_entropy",
       .doc = "Elementwise -labels * log(sigmoid(logits)) - (1 - labels) * log(1 - sigmoid(logits)), stable for large logits.",
       .tf = "tf.nn.sigmoid_cross_entropy_with_logits(labels, logits)",
       .inputs = {"labels", "logits"},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         infer::require_same_shape(in, 0, 1);
         Shape shape = in.shape(1);
         for (int i = 0; i < shape.rank(); ++i) shape.set(i, infer::merge(shape.dim(i), in.shape(0).dim(i)));
         return {{in.dtype(1), shape}};
       },
       .kernel = [](KernelCall& call) {
         run_floats(call, [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           kernels::sigmoid_cross_entropy(call.out_shape().num_elements(), call.in<T>(0), call.in<T>(1), call.out<T>());
         });
       },
       .grad = [](const Backward& b) -> Grads { return {-b.dy() * b.x(1), b.dy() * (sigmoid(b.x(1)) - b.x(0))}; },
       .batch = batch::carry,
       .samples = {{{f32({2, 3}).range(0, 1), f32({2, 3})}}, {{f32({4}).range(0, 1), f32({4}).range(-1e4, 1e4)}}}},

      {.name = "bias_add",
       .doc = "x plus a bias for each channel, the last axis.",
       .tf = "tf.nn.bias_add(x, bias)",
       .inputs = {"x", "bias"},
       .dtypes = kNumbers,
       .infer = [](const Infer& in) -> Specs {
         in.require_rank_at_least(0, 2);
         in.require_rank(1, 1);
         Shape result = in.shape(0);
         const int last = result.rank() - 1;
         if (!infer::compatible(result.dim(last), in.shape(1).dim(0))) in.shape_error(in.named(1) + " must have one element for each channel of " + in.named(0) + ", the last axis.");
         result.set(last, infer::merge(result.dim(last), in.shape(1).dim(0)));
         return {{in.dtype(0), result}};
       },
       .expand = [](const Expand& e) -> Tensors { return {e[0] + e[1]}; },
       .samples = {{{f32({2, 3, 4}), f32({4})}}, {{f32({3, 1}), f32({1})}}}},

      {.name = "batch_normalization",
       .doc = "(x - mean) / sqrt(variance + variance_epsilon) * scale + offset; all five broadcast.",
       .tf = "tf.nn.batch_normalization(x, mean, variance, offset, scale, variance_epsilon)",
       .inputs = {"x", "mean", "variance", "offset", "scale"},
       .attrs = {attr::real("variance_epsilon").at_least(0)},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs { return {{in.dtype(0), infer::broadcast(in, 0, 4)}}; },
       .expand = [](const Expand& e) -> Tensors {
         const Tensor slope = rsqrt(widened(e[2]) + e.real("variance_epsilon")) * widened(e[4]);
         return {narrowed(widened(e[0]) * slope + (widened(e[3]) - widened(e[1]) * slope), e[0].dtype())};
       },
       .samples = {{{f32({4, 3}), f32({3}), f32({3}).range(0.5, 2), f32({3}), f32({3})}, {{"variance_epsilon", 1e-3}}}}},

      {.name = "standardize",
       .doc = "x less its mean, over its standard deviation, along the last axis: (x - mean) / sqrt(variance + epsilon).",
       .inputs = {"x"},
       .attrs = {attr::real("epsilon", 1e-3).at_least(0)},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         in.require_rank_at_least(0, 1);
         return {in.spec(0)};
       },
       .kernel = [](KernelCall& call) {
         run_floats(call, [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           const std::int64_t n = call.shape(0).dim(call.shape(0).rank() - 1);
           kernels::standardize<T>(call.shape(0).num_elements() / n, n, call.real("epsilon"), call.in<T>(0), nullptr, nullptr, call.out<T>());
         });
       },
       .grad = [](const Backward& b) -> Grads { return {standardize_backward(b.x(), b.dy(), {.epsilon = b.real("epsilon")}, b.at)}; },
       .batch = batch::carry,
       .samples = {{{f32({2, 5})}}, {{f32({3, 2, 4})}, {{"epsilon", 0.1}}}}},

      {.name = "standardize_backward",
       .doc = "The gradient of standardize: (dy - mean(dy) - y * mean(dy * y)) / sqrt(variance + epsilon), where y = standardize(x).",
       .inputs = {"x", "dy"},
       .attrs = {attr::real("epsilon", 1e-3).at_least(0)},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         in.require_rank_at_least(0, 1);
         infer::require_same_shape(in, 1);
         return {in.spec(0)};
       },
       .kernel = [](KernelCall& call) {
         run_floats(call, [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           const std::int64_t n = call.shape(0).dim(call.shape(0).rank() - 1);
           kernels::standardize_backward<T>(call.shape(0).num_elements() / n, n, call.real("epsilon"), call.in<T>(0), nullptr, call.in<T>(1), call.out<T>(), nullptr, nullptr);
         });
       },
       .grad = [](const Backward& b) -> Grads { return standardize_backward_grads(b, b.x(0), b.x(1), b.y(), b.dy(), b.needs(0)); },
       .batch = batch::carry,
       .samples = {{{f32({2, 5}), f32({2, 5})}}}},

      {.name = "layer_norm",
       .doc = "Layer normalisation: x standardised along the last axis, times scale, plus offset.",
       .inputs = {"x", "scale", "offset"},
       .attrs = {attr::real("epsilon", 1e-3).at_least(0)},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs { return {with_vectors(in, 1, 2)}; },
       .kernel = [](KernelCall& call) {
         run_floats(call, [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           const std::int64_t n = call.shape(1).dim(0);
           kernels::standardize(call.shape(0).num_elements() / n, n, call.real("epsilon"), call.in<T>(0), call.in<T>(1), call.in<T>(2), call.out<T>());
         });
       },
       .grad = [](const Backward& b) -> Grads {
         const LayerNormBackwardResult d = layer_norm_backward(b.x(0), b.x(1), b.dy(), {.epsilon = b.real("epsilon")}, b.at);
         return {d.dx, d.dscale, d.doffset};
       },
       .batch = [](const Batch& b) -> Tensors {
         if (!b.batched[1] && !b.batched[2]) return batch::again(b, {b.inputs.begin(), b.inputs.end()}, {b.attrs.begin(), b.attrs.end()});
         const auto vector = [&](std::size_t i) { return b.batched[i] ? batch::widen(b, i, b.rank(0)) : b.inputs[i]; };
         return {standardize(b.inputs[0], {.epsilon = b.real("epsilon")}) * vector(1) + vector(2)};
       },
       .samples = {{{f32({2, 5}), f32({5}), f32({5})}}, {{f32({2, 3, 4}), f32({4}), f32({4})}, {{"epsilon", 1e-5}}}}},

      {.name = "layer_norm_backward",
       .doc = "The gradients of layer_norm with respect to x, scale and offset: standardize_backward(x, dy * scale), and the sums over rows of dy * standardize(x) and of dy.",
       .inputs = {"x", "scale", "dy"},
       .attrs = {attr::real("epsilon", 1e-3).at_least(0)},
       .outputs = {"dx", "dscale", "doffset"},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         const Spec x = with_vectors(in, 1, 1);
         infer::require_same_shape(in, 2);
         const Spec vector{x.dtype, {x.shape.dim(x.shape.rank() - 1)}};
         return {x, vector, vector};
       },
       .kernel = [](KernelCall& call) {
         const std::int64_t n = call.shape(1).dim(0);
         if (n == 0) return;
         with_element(call.out_dtype(), [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           if constexpr (std::is_floating_point_v<T>)
             kernels::standardize_backward(call.shape(0).num_elements() / n, n, call.real("epsilon"), call.in<T>(0), call.in<T>(1), call.in<T>(2), call.out<T>(0),
                                           call.out<T>(1), call.out<T>(2));
         });
       },
       .grad = [](const Backward& b) -> Grads {
         const Tensor &x = b.x(0), &scale = b.x(1), &dy = b.x(2), gx = b.dy(0), gs = b.dy(1), go = b.dy(2);
         const double epsilon = b.real("epsilon");
         const Grads inner = standardize_backward_grads(b, x, dy * scale, b.y(0), gx, b.needs(0));
         const Tensor through = inner[1].dense();
         return {b.needs(0) ? Grad(inner[0].dense() + standardize_backward(x, dy * gs, {.epsilon = epsilon}, b.at)) : Grad(),
                 b.needs(1) ? Grad(sum_like(through * dy, scale)) : Grad(),
                 b.needs(2) ? Grad(through * scale + gs * standardize(x, {.epsilon = epsilon}, b.at) + go) : Grad()};
       },
       .batch = [](const Batch& b) -> Tensors {
         const Tensor x = batch::whole(b, 0), dy = batch::whole(b, 2), scale = b.batched[1] ? batch::widen(b, 1, b.rank(0)) : b.inputs[1];
         Ints rows;
         for (int axis = 1; axis < b.rank(0); ++axis) rows.push_back(axis);
         const double epsilon = b.real("epsilon");
         return {standardize_backward(x, dy * scale, {.epsilon = epsilon}), sum(dy * standardize(x, {.epsilon = epsilon}), {.axis = rows}),
                 sum(dy, {.axis = rows})};
       },
       .samples = {{{f32({2, 5}), f32({5}), f32({2, 5})}}, {{f32({2, 3, 4}), f32({4}), f32({2, 3, 4})}, {{"epsilon", 1e-2}}}}},

      {.name = "global_norm",
       .doc = "The square root of the sum of the squares of all elements of all tensors.",
       .tf = "tf.linalg.global_norm(t_list=xs)",
       .inputs = {"xs..."},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs { return {{in.dtype(0), Shape()}}; },
       .kernel = [](KernelCall& call) {
         run_floats(call, [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           double total = 0;
           for (std::size_t i = 0; i < call.inputs.size(); ++i) total += kernels::sum_of_squares(call.shape(i).num_elements(), call.in<T>(i));
           *call.out<T>() = static_cast<T>(std::sqrt(total));
         });
       },
       .grad = [](const Backward& b) -> Grads {
         // At 0 the gradient is taken to be 0.
         const Tensor one = ones_like(b.y()), positive = b.y() > 0;
         const Tensor slope = where(positive, b.dy() / where(positive, b.y(), one), zeros_like(one));
         Grads result;
         for (const Tensor& x : b.inputs) result.push_back(x * slope);
         return result;
       },
       .batch = [](const Batch& b) -> Tensors {
         std::vector<Tensor> rows;
         for (const Tensor& x : batch::wholes(b)) rows.push_back(reshape(x, {b.size, -1}));
         return {euclidean_norm(concat(rows, 1), {.axis = 1})};
       },
       .samples = {{{f32({3}), f32({2, 2})}}, {{f32({})}}}},

      {.name = "clip_by_norm",
       .doc = "x scaled down along axes (all if left out) where its L2 norm exceeds clip_norm, to have that norm.",
       .tf = "tf.clip_by_norm(x, clip_norm, axes)",
       .inputs = {"x"},
       .attrs = {attr::real("clip_norm").at_least(0), attr::axes("axes")},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         in.axes("axes", in.rank(0));
         return {in.spec(0)};
       },
       .kernel = [](KernelCall& call) {
         run_floats(call, [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           clip_rows(call, call.in<T>(0), call.out<T>());
         });
       },
       .grad = [](const Backward& b) -> Grads {
         const SumOptions along{.axis = Infer{static_cast<const OpArgs&>(b), {}}.axes("axes", b.x().rank()), .keepdims = true};
         const EuclideanNormOptions norms{.axis = along.axis, .keepdims = true};  // never squares in f32
         const Tensor x = widened(b.x()), g = widened(b.dy()), fits = euclidean_norm(x, norms) <= b.real("clip_norm");
         // What is not clipped, zeros among it, is replaced by ones, whose norm has a slope that is thrown away.
         const Tensor clipped = where(fits, ones_like(x), x), norm = euclidean_norm(clipped, norms), unit = clipped / norm;
         return {narrowed(where(fits, g, (g - unit * sum(g * unit, along)) * (b.real("clip_norm") / norm)), b.x().dtype())};
       },
       .batch = batch::carry,
       .samples = {{{f32({3, 2})}, {{"clip_norm", 1.0}}}, {{f32({3, 2}).range(1, 2)}, {{"clip_norm", 1.0}, {"axes", Ints{1}}}}, {{f32({4})}, {{"clip_norm", 100.0}}}}},

      {.name = "clip_by_global_norm",
       .doc = "All tensors scaled down together if their global_norm exceeds clip_norm, to have that norm; the last result is the norm before. An infinite norm gives NaN.",
       .tf = "tf.clip_by_global_norm(t_list=xs, clip_norm)",
       .inputs = {"xs..."},
       .attrs = {attr::real("clip_norm").at_least(0)},
       .outputs = {"ys..."},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         Specs result;
         for (std::size_t i = 0; i < in.count(); ++i) result.push_back(in.spec(i));
         result.push_back({in.dtype(0), Shape()});
         return result;
       },
       .expand = [](const Expand& e) -> Tensors {
         const Tensor norm = global_norm({e.inputs.begin(), e.inputs.end()}, e.at);
         const Tensor scale = clip_scale(norm, e.real("clip_norm")) + (norm - norm);
         Tensors result;
         for (const Tensor& x : e.inputs) result.push_back(x * scale);
         result.push_back(norm);
         return result;
       },
       .samples = {{{f32({3}), f32({2, 2})}, {{"clip_norm", 1.0}}}, {{f32({3})}, {{"clip_norm", 100.0}}}}},
  };
}

}  // namespace weft::inline v0::rows
