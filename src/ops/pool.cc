// Pooling and resizing.
#include <algorithm>

#include "kernels/pool.h"
#include "kernels/resize.h"
#include "ops/families.h"
#include "ops/row.h"
#include "ops/window.h"

namespace weft::inline v0::rows {
namespace {

std::vector<AttrDef> pool_attrs() {
  return {attr::list("ksize").at_least(1), attr::list("strides", Ints{}).at_least(1), padding_attr(), pads_attr()};
}

Ints pool_strides(const OpArgs& in, int axes) { return per_axis(in, in.ints("strides").empty() ? "ksize" : "strides", axes); }

// The shape of the pooled x, which is described for errors by its name.
Shape pool_shape(const Infer& in, const Shape& x, const std::string& x_name) {
  const int axes = x.rank() - 2;
  if (axes < 1 || axes > kernels::kMaxWindowAxes)
    in.shape_error(x_name + " has rank " + std::to_string(x.rank()) + "; it must be batch, 1 to 3 spatial axes, channels.");
  const Ints windows = per_axis(in, "ksize", axes), strides = pool_strides(in, axes), pads = checked_pads(in, axes);
  Shape result({x.dim(0)});
  for (int a = 0; a < axes; ++a) {
    const auto i = static_cast<std::size_t>(a);
    const std::string which = "axis " + std::to_string(a + 1) + " of " + x_name;
    if (std::max(pads[2 * i], pads[2 * i + 1]) >= windows[i])
      in.value_error("pads has " + std::to_string(std::max(pads[2 * i], pads[2 * i + 1])) + " for " + which + "; it must be less than the window, which is " +
                     std::to_string(windows[i]) + ".");
    const Slide at = slide(in, which, x.dim(a + 1), windows[i], strides[i], 1, pads[2 * i], pads[2 * i + 1]);
    if (x.dim(a + 1) == 0 && at.out > 0) in.shape_error(which + " has no elements, so its windows hold nothing but padding; pool a tensor with elements.");
    result.append(at.out);
  }
  result.append(x.dim(x.rank() - 1));
  infer::count(in, result);
  return result;
}

kernels::PoolShape kernel_shape(const OpArgs& in, const Shape& x) {
  const int axes = x.rank() - 2, first = kernels::kMaxWindowAxes - axes;
  const Ints windows = per_axis(in, "ksize", axes), strides = pool_strides(in, axes), pads = checked_pads(in, axes);
  kernels::PoolShape shape{.batch = x.dim(0), .channels = x.dim(x.rank() - 1), .axis = {}};
  for (int a = 0; a < axes; ++a) {
    const auto i = static_cast<std::size_t>(a);
    const Slide at = slide(in, "", x.dim(a + 1), windows[i], strides[i], 1, pads[2 * i], pads[2 * i + 1]);
    shape.axis[first + a] = {x.dim(a + 1), at.out, windows[i], strides[i], 1, at.before};
  }
  return shape;
}

// Runs `body` for the element type. No windows: a result of x's shape is zeros, and another is empty.
template <class Body>
void run_floats(KernelCall& call, const Body& body) {
  with_element(call.out_dtype(), [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (std::is_floating_point_v<T>) {
      const std::int64_t size = call.out_shape().num_elements();
      if (size == 0) return;
      if (call.shape(0).num_elements() == 0 || (call.inputs.size() > 1 && call.shape(1).num_elements() == 0)) std::fill_n(call.out<T>(), size, T(0));
      else body(tag);
    }
  });
}

template <int Axes>
Specs infer_pool(const Infer& in) {
  in.require_rank(0, Axes + 2);
  return {{in.dtype(0), pool_shape(in, in.shape(0), in.named(0))}};
}

void max_pool_kernel(KernelCall& call) {
  if (call.out_shape().num_elements() == 0) return;
  with_element(call.dtype(), [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (std::is_arithmetic_v<T> && !std::same_as<T, bool>) kernels::max_pool(kernel_shape(call, call.shape(0)), call.in<T>(0), call.out<T>());
  });
}

void avg_pool_kernel(KernelCall& call) {
  run_floats(call, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    kernels::avg_pool(kernel_shape(call, call.shape(0)), call.in<T>(0), call.out<T>());
  });
}

template <class Options>
Options pool_options(const OpArgs& from) {
  Options to;
  to.strides = from.ints("strides");
  to.padding = static_cast<Padding>(from.choice("padding"));
  to.pads.values = from.ints("pads");
  return to;
}

Grads grad_max_pool(const Backward& b) {
  return {max_pool_backward(b.x(), b.dy(), b.ints("ksize"), pool_options<MaxPoolBackwardOptions>(b), b.at)};
}
Grads grad_avg_pool(const Backward& b) {
  return {avg_pool_backward(b.dy(), b.x(), b.ints("ksize"), pool_options<AvgPoolBackwardOptions>(b), b.at)};
}

Tensor avg_pool_like(const OpArgs& from, const Tensor& x) {
  switch (x.rank()) {
    case 3: return avg_pool1d(x, from.ints("ksize"), pool_options<AvgPool1dOptions>(from), from.at);
    case 4: return avg_pool2d(x, from.ints("ksize"), pool_options<AvgPool2dOptions>(from), from.at);
    default: return avg_pool3d(x, from.ints("ksize"), pool_options<AvgPool3dOptions>(from), from.at);
  }
}

constexpr std::int64_t kNearest = 1;

std::vector<AttrDef> resize_attrs() {
  return {attr::list("size").at_least(1), attr::choice("ResizeMethod", "method", {"bilinear", "nearest"})};
}

// The shape of the resized x [height, width, channels], with or without a batch.
Shape resize_shape(const Infer& in, const Shape& x, const std::string& x_name) {
  if (x.rank() != 3 && x.rank() != 4)
    in.shape_error(x_name + " has rank " + std::to_string(x.rank()) + "; it must be height, width, channels, with or without a batch before them.");
  const Ints& size = in.ints("size");
  if (size.size() != 2) in.value_error("size has " + std::to_string(size.size()) + " numbers; give the new height and width.");
  Shape result = x;
  for (int a = 0; a < 2; ++a) {
    const int axis = x.rank() - 3 + a;
    if (x.dim(axis) == 0) in.shape_error("axis " + std::to_string(axis) + " of " + x_name + " has no pixels; resize an image that has some.");
    result.set(axis, size[static_cast<std::size_t>(a)]);
  }
  infer::count(in, result);
  return result;
}

kernels::ResizeShape resize_kernel_shape(const Shape& x, const Shape& y) {
  const int h = x.rank() - 3;
  return {h == 0 ? 1 : x.dim(0), x.dim(h), x.dim(h + 1), y.dim(h), y.dim(h + 1), x.dim(h + 2)};
}

Ints ints(std::initializer_list<std::int64_t> list) { return Ints(list); }

}  // namespace

std::vector<Op> pool() {
  const Attr same = std::int64_t{kPaddingSame}, explicitly = std::int64_t{kPaddingExplicit}, nearest = std::int64_t{kNearest};
  return {
      {.name = "max_pool1d",
       .doc = "Maximum in windows of ksize, strides apart (ksize if left out), over x [batch, length, channels]. Gradients go to the first maximum.",
       .tf = "tf.nn.max_pool1d(x, ksize, strides, padding)",
       .inputs = {"x"},
       .attrs = pool_attrs(),
       .dtypes = kNumbers,
       .infer = infer_pool<1>,
       .kernel = max_pool_kernel,
       .grad = grad_max_pool,
       .batch = batch::fold,
       .samples = {{{f32({2, 6, 2}).distinct()}, {{"ksize", ints({2})}}}, {{f32({1, 7, 3}).distinct()}, {{"ksize", ints({3})}, {"strides", ints({2})}, {"padding", same}}}}},

      {.name = "max_pool2d",
       .doc = "Maximum in windows of ksize, strides apart (ksize if left out), over x [batch, height, width, channels]. Gradients go to the first maximum.",
       .tf = "tf.nn.max_pool2d(x, ksize, strides, padding)",
       .inputs = {"x"},
       .attrs = pool_attrs(),
       .dtypes = kNumbers,
       .infer = infer_pool<2>,
       .kernel = max_pool_kernel,
       .grad = grad_max_pool,
       .batch = batch::fold,
       .samples = {{{f32({1, 4, 5, 2}).distinct()}, {{"ksize", ints({2})}}},
                   {{f32({1, 3, 4, 1}).distinct()}, {{"ksize", ints({3, 2})}, {"strides", ints({1})}, {"padding", same}}},
                   {{f32({1, 3, 4, 1}).distinct()}, {{"ksize", ints({2})}, {"padding", explicitly}, {"pads", ints({1, 0, 1, 1})}}}}},

      {.name = "max_pool3d",
       .doc = "Maximum in windows of ksize, strides apart (ksize if left out), over x [batch, depth, height, width, channels]. Gradients go to the first maximum.",
       .tf = "tf.nn.max_pool3d(x, ksize, strides, padding)",
       .inputs = {"x"},
       .attrs = pool_attrs(),
       .dtypes = kNumbers,
       .infer = infer_pool<3>,
       .kernel = max_pool_kernel,
       .grad = grad_max_pool,
       .batch = batch::fold,
       .samples = {{{f32({1, 2, 4, 3, 2}).distinct()}, {{"ksize", ints({2})}, {"padding", same}}}}},

      {.name = "max_pool_backward",
       .doc = "The gradient of max pooling x: zeros but for the sum, at the first maximum of each window, of its dy.",
       .inputs = {"x", "dy"},
       .attrs = pool_attrs(),
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         const Shape pooled = pool_shape(in, in.shape(0), in.named(0));
         if (!infer::compatible(in.shape(1), pooled)) in.shape_error(in.named(1) + " must be " + pooled.str() + ", the shape of the pooled x.");
         return {in.spec(0)};
       },
       .kernel = [](KernelCall& call) {
         run_floats(call, [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           kernels::max_pool_backward(kernel_shape(call, call.shape(0)), call.in<T>(0), call.in<T>(1), call.out<T>());
         });
       },
       .grad = [](const Backward& b) -> Grads { return {Grad(), max_pool_take(b.x(), b.dy(), b.ints("ksize"), pool_options<MaxPoolTakeOptions>(b), b.at)}; },
       .batch = batch::fold,
       .samples = {{{f32({1, 4, 5, 2}).distinct(), f32({1, 2, 3, 2})}, {{"ksize", ints({3})}, {"strides", ints({2})}, {"padding", same}}}}},

      {.name = "max_pool_take",
       .doc = "What values, of the shape of x, has where each window of x has its first maximum.",
       .inputs = {"x", "values"},
       .attrs = pool_attrs(),
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         infer::require_same_shape(in, 1);
         return {{in.dtype(0), pool_shape(in, in.shape(0), in.named(0))}};
       },
       .kernel = [](KernelCall& call) {
         run_floats(call, [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           kernels::max_pool_take(kernel_shape(call, call.shape(0)), call.in<T>(0), call.in<T>(1), call.out<T>());
         });
       },
       .grad = [](const Backward& b) -> Grads { return {Grad(), max_pool_backward(b.x(), b.dy(), b.ints("ksize"), pool_options<MaxPoolBackwardOptions>(b), b.at)}; },
       .batch = batch::fold,
       .samples = {{{f32({1, 4, 5, 2}).distinct(), f32({1, 4, 5, 2})}, {{"ksize", ints({3})}, {"strides", ints({2})}, {"padding", same}}}}},

      {.name = "avg_pool1d",
       .doc = "Mean in windows of ksize, strides apart (ksize if left out), over x [batch, length, channels]; padding does not count.",
       .tf = "tf.nn.avg_pool1d(x, ksize, strides, padding)",
       .inputs = {"x"},
       .attrs = pool_attrs(),
       .dtypes = kFloats,
       .infer = infer_pool<1>,
       .kernel = avg_pool_kernel,
       .grad = grad_avg_pool,
       .batch = batch::fold,
       .samples = {{{f32({2, 6, 2})}, {{"ksize", ints({2})}}}, {{f32({1, 7, 3})}, {{"ksize", ints({3})}, {"strides", ints({2})}, {"padding", same}}}}},

      {.name = "avg_pool2d",
       .doc = "Mean in windows of ksize, strides apart (ksize if left out), over x [batch, height, width, channels]; padding does not count.",
       .tf = "tf.nn.avg_pool2d(x, ksize, strides, padding)",
       .inputs = {"x"},
       .attrs = pool_attrs(),
       .dtypes = kFloats,
       .infer = infer_pool<2>,
       .kernel = avg_pool_kernel,
       .grad = grad_avg_pool,
       .batch = batch::fold,
       .samples = {{{f32({1, 4, 5, 2})}, {{"ksize", ints({2})}}},
                   {{f32({1, 3, 4, 1})}, {{"ksize", ints({3, 2})}, {"strides", ints({1})}, {"padding", same}}},
                   {{f32({1, 3, 4, 1})}, {{"ksize", ints({2})}, {"padding", explicitly}, {"pads", ints({1, 0, 1, 1})}}}}},

      {.name = "avg_pool3d",
       .doc = "Mean in windows of ksize, strides apart (ksize if left out), over x [batch, depth, height, width, channels]; padding does not count.",
       .tf = "tf.nn.avg_pool3d(x, ksize, strides, padding)",
       .inputs = {"x"},
       .attrs = pool_attrs(),
       .dtypes = kFloats,
       .infer = infer_pool<3>,
       .kernel = avg_pool_kernel,
       .grad = grad_avg_pool,
       .batch = batch::fold,
       .samples = {{{f32({1, 2, 4, 3, 2})}, {{"ksize", ints({2})}, {"padding", same}}}}},

      {.name = "avg_pool_backward",
       .doc = "The gradient of average pooling for an x of the shape of like: each window's dy, shared out evenly.",
       .inputs = {"dy", "like:any"},
       .attrs = pool_attrs(),
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         const Shape pooled = pool_shape(in, in.shape(1), in.named(1));
         if (!infer::compatible(in.shape(0), pooled)) in.shape_error(in.named(0) + " must be " + pooled.str() + ", the shape of the pooled like.");
         return infer::like_second(in);
       },
       .kernel = [](KernelCall& call) {
         run_floats(call, [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           kernels::avg_pool_backward(kernel_shape(call, call.out_shape()), call.in<T>(0), call.out<T>());
         });
       },
       .grad = [](const Backward& b) -> Grads { return {avg_pool_like(b, b.dy())}; },
       .batch = batch::fold,
       .samples = {{{f32({1, 2, 3, 2}), i32({1, 4, 5, 2})}, {{"ksize", ints({3})}, {"strides", ints({2})}, {"padding", same}}}}},

      {.name = "resize",
       .doc = "Images [..., height, width, channels] resized to size (height, width), with half-pixel centres and without antialiasing.",
       .tf = "tf.image.resize(x, size, method)",
       .inputs = {"x"},
       .attrs = resize_attrs(),
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs { return {{in.dtype(0), resize_shape(in, in.shape(0), in.named(0))}}; },
       .kernel = [](KernelCall& call) {
         run_floats(call, [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           const auto resize_images = call.choice("method") == kNearest ? kernels::resize_nearest<T> : kernels::resize_bilinear<T>;
           resize_images(resize_kernel_shape(call.shape(0), call.out_shape()), call.in<T>(0), call.out<T>());
         });
       },
       .grad = [](const Backward& b) -> Grads {
         return {resize_backward(b.dy(), b.x(), b.ints("size"), {.method = static_cast<ResizeMethod>(b.choice("method"))}, b.at)};
       },
       .batch = [](const Batch& b) -> Tensors { return b.rank(0) == 3 ? batch::carry(b) : batch::fold(b); },
       .samples = {{{f32({1, 2, 3, 2})}, {{"size", ints({4, 5})}}}, {{f32({5, 3, 1})}, {{"size", ints({2, 7})}}}, {{f32({1, 2, 3, 1})}, {{"size", ints({3, 2})}, {"method", nearest}}}}},

      {.name = "resize_backward",
       .doc = "The gradient of resize for an x of the shape of like: its transpose.",
       .inputs = {"dy", "like:any"},
       .attrs = resize_attrs(),
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         const Shape resized = resize_shape(in, in.shape(1), in.named(1));
         if (!infer::compatible(in.shape(0), resized)) in.shape_error(in.named(0) + " must be " + resized.str() + ", the shape of the resized like.");
         return infer::like_second(in);
       },
       .kernel = [](KernelCall& call) {
         run_floats(call, [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           const auto spread = call.choice("method") == kNearest ? kernels::resize_nearest_backward<T> : kernels::resize_bilinear_backward<T>;
           spread(resize_kernel_shape(call.out_shape(), call.shape(0)), call.in<T>(0), call.out<T>());
         });
       },
       .grad = [](const Backward& b) -> Grads { return {resize(b.dy(), b.ints("size"), {.method = static_cast<ResizeMethod>(b.choice("method"))}, b.at)}; },
       .batch = [](const Batch& b) -> Tensors { return b.rank(0) == 3 ? batch::carry(b) : batch::fold(b); },
       .samples = {{{f32({1, 4, 5, 2}), i32({1, 2, 3, 2})}, {{"size", ints({4, 5})}}}, {{f32({3, 2, 1}), i32({2, 3, 1})}, {{"size", ints({3, 2})}, {"method", nearest}}}}},

      {.name = "neighbor_sum",
       .doc = "Sum over the channels (the last axis) that are at most depth_radius away.",
       .inputs = {"x"},
       .attrs = {attr::integer("depth_radius", 5).at_least(0)},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         in.require_rank_at_least(0, 1);
         return {in.spec(0)};
       },
       .kernel = [](KernelCall& call) {
         run_floats(call, [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           const Shape& shape = call.shape(0);
           const std::int64_t channels = shape.dim(shape.rank() - 1);
           kernels::neighbor_sum(shape.num_elements() / channels, channels, call.integer("depth_radius"), call.in<T>(0), call.out<T>());
         });
       },
       .grad = [](const Backward& b) -> Grads { return {neighbor_sum(b.dy(), {.depth_radius = b.integer("depth_radius")}, b.at)}; },
       .batch = batch::carry,
       .samples = {{{f32({2, 3, 4})}, {{"depth_radius", std::int64_t{1}}}}, {{f32({3})}}}},

      {.name = "lrn",
       .doc = "Local response normalisation over the last axis: x / (bias + alpha * sum of squares within depth_radius channels) ** beta.",
       .tf = "tf.nn.lrn(x, depth_radius, bias, alpha, beta)",
       .inputs = {"x"},
       .attrs = {attr::integer("depth_radius", 5).at_least(0), attr::real("bias", 1), attr::real("alpha", 1), attr::real("beta", 0.5)},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         in.require_rank_at_least(0, 1);
         return {in.spec(0)};
       },
       .expand = [](const Expand& e) -> Tensors {
         const Tensor x = widened(e[0]);
         const Tensor energy = e.real("bias") + e.real("alpha") * neighbor_sum(x * x, {.depth_radius = e.integer("depth_radius")}, e.at);
         const Tensor y = x * exp(log(energy) * -e.real("beta"));
         return {is_half(e[0].dtype()) ? cast(y, e[0].dtype()) : y};
       },
       .samples = {{{f32({1, 2, 2, 4})}, {{"depth_radius", std::int64_t{1}}}}, {{f32({2, 7})}, {{"depth_radius", std::int64_t{2}}, {"bias", 2.0}, {"alpha", 0.5}, {"beta", 0.75}}}}},
  };
}

}  // namespace weft::inline v0::rows
