// Convolution.
//
// A convolution, its transpose with respect to x (conv_backward_input) and its transpose with respect to the filters
// (conv_backward_filter) are each linear in both of their tensors, so the gradients of each are the other two, at every order.
#include <algorithm>

#include "kernels/conv.h"
#include "ops/families.h"
#include "ops/row.h"
#include "ops/window.h"

namespace weft::inline v0::rows {
namespace {

std::vector<AttrDef> conv_attrs() { return {strides_attr(), padding_attr(), pads_attr(), dilations_attr()}; }

std::string spatial_axis(const std::string& x, int axis) { return "axis " + std::to_string(axis + 1) + " of " + x; }

std::int64_t groups_of(const Shape& x, const Shape& filters) {
  const std::int64_t in = x.dim(x.rank() - 1), depth = filters.dim(filters.rank() - 2);
  return depth == 0 ? 1 : in / depth;
}

// The shape of the result of convolving x with filters, both described for errors by their names.
Shape conv_shape(const Infer& in, const Shape& x, const Shape& filters, const std::string& x_name, const std::string& filters_name) {
  const int rank = x.rank(), axes = rank - 2;
  if (axes < 1 || axes > kernels::kMaxWindowAxes)
    in.shape_error(x_name + " has rank " + std::to_string(rank) + "; it must be batch, 1 to 3 spatial axes, channels.");
  if (filters.rank() != rank)
    in.shape_error(filters_name + " has rank " + std::to_string(filters.rank()) + ", but " + x_name + " has rank " + std::to_string(rank) +
                   "; filters must be " + std::to_string(axes) + " spatial axes, input channels, output channels.");
  const std::int64_t channels = x.dim(rank - 1), depth = filters.dim(rank - 2), width = filters.dim(rank - 1);
  if (infer::known(channels) && infer::known(depth)) {
    const bool fits = depth == 0 ? channels == 0 : channels > 0 && channels % depth == 0;
    if (!fits)
      in.shape_error(filters_name + " takes " + std::to_string(depth) + " input channels, but " + x_name + " has " + std::to_string(channels) +
                     "; they must be equal, or divide them into groups.");
    const std::int64_t groups = groups_of(x, filters);
    if (infer::known(width) && width % groups != 0)
      in.shape_error(filters_name + " has " + std::to_string(width) + " output channels, which " + std::to_string(groups) +
                     " groups of input channels do not divide; make them a multiple.");
  }
  const Ints strides = per_axis(in, "strides", axes), dilations = per_axis(in, "dilations", axes), pads = checked_pads(in, axes);
  Shape result({x.dim(0)});
  for (int a = 0; a < axes; ++a) {
    const auto i = static_cast<std::size_t>(a);
    if (filters.dim(a) == 0) in.shape_error(filters_name + " has no taps along axis " + std::to_string(a) + "; give it a size of 1 or more.");
    result.append(slide(in, spatial_axis(x_name, a), x.dim(a + 1), filters.dim(a), strides[i], dilations[i], pads[2 * i], pads[2 * i + 1]).out);
  }
  result.append(width);
  infer::count(in, result);
  return result;
}

kernels::ConvShape kernel_shape(const OpArgs& in, const Shape& x, const Shape& filters) {
  const int rank = x.rank(), axes = rank - 2, first = kernels::kMaxWindowAxes - axes;
  const Ints strides = per_axis(in, "strides", axes), dilations = per_axis(in, "dilations", axes), pads = checked_pads(in, axes);
  kernels::ConvShape shape{.batch = x.dim(0), .in_channels = x.dim(rank - 1), .out_channels = filters.dim(rank - 1), .groups = groups_of(x, filters), .axis = {}};
  for (int a = 0; a < axes; ++a) {
    const auto i = static_cast<std::size_t>(a);
    const Slide at = slide(in, "", x.dim(a + 1), filters.dim(a), strides[i], dilations[i], pads[2 * i], pads[2 * i + 1]);
    shape.axis[first + a] = {x.dim(a + 1), at.out, filters.dim(a), strides[i], dilations[i], at.before};
  }
  return shape;
}

template <class T>
void fill_zeros(const KernelCall& call, T* y, std::int64_t size) {
  std::fill_n(y, size, T(0));
  kernels::tell_done(call.done, y, size);
}

// Runs `body` for the element type if there is anything to multiply; else the result is zeros or nothing.
template <class Body>
void run_conv(KernelCall& call, const Body& body) {
  const std::int64_t size = call.out_shape().num_elements();
  if (size == 0) return;
  with_element(call.dtype(), [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (std::is_floating_point_v<T>) {
      if (call.shape(0).num_elements() == 0 || call.shape(1).num_elements() == 0) fill_zeros(call, call.out<T>(), size);
      else body(tag);
    }
  });
}

void forward_kernel(KernelCall& call) {
  run_conv(call, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    kernels::conv_forward(kernel_shape(call, call.shape(0), call.shape(1)), call.in<T>(0), call.in<T>(1), call.out<T>(), kernels::isa(), call.done);
  });
}

void backward_input_kernel(KernelCall& call) {
  run_conv(call, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    kernels::conv_backward_input(kernel_shape(call, call.out_shape(), call.shape(1)), call.in<T>(0), call.in<T>(1), call.out<T>());
  });
}

void backward_filter_kernel(KernelCall& call) {
  run_conv(call, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    kernels::conv_backward_filter(kernel_shape(call, call.shape(0), call.out_shape()), call.in<T>(0), call.in<T>(1), call.out<T>());
  });
}

template <int Axes>
Specs infer_conv(const Infer& in) {
  in.require_rank(0, Axes + 2);
  return {{in.dtype(0), conv_shape(in, in.shape(0), in.shape(1), in.named(0), in.named(1))}};
}

// dy must have the shape that the convolution of x with filters gives.
void require_result(const Infer& in, std::size_t dy, const Shape& result) {
  if (!infer::compatible(in.shape(dy), result))
    in.shape_error(in.named(dy) + " must be " + result.str() + ", the shape of the convolution.");
}

// The attributes of a call, handed on to another row of the family.
template <class Options>
Options conv_options(const OpArgs& from) {
  Options to;
  to.strides = from.ints("strides");
  to.padding = static_cast<Padding>(from.choice("padding"));
  to.pads.values = from.ints("pads");
  to.dilations = from.ints("dilations");
  return to;
}

Tensor conv_like(const OpArgs& from, const Tensor& x, const Tensor& filters) {
  switch (x.rank()) {
    case 3: return conv1d(x, filters, conv_options<Conv1dOptions>(from), from.at);
    case 4: return conv2d(x, filters, conv_options<Conv2dOptions>(from), from.at);
    default: return conv3d(x, filters, conv_options<Conv3dOptions>(from), from.at);
  }
}
Tensor input_like(const OpArgs& from, const Tensor& dy, const Tensor& filters, const Tensor& like) {
  return conv_backward_input(dy, filters, like, conv_options<ConvBackwardInputOptions>(from), from.at);
}
Tensor filter_like(const OpArgs& from, const Tensor& x, const Tensor& dy, const Tensor& like) {
  return conv_backward_filter(x, dy, like, conv_options<ConvBackwardFilterOptions>(from), from.at);
}

Grads grad_conv(const Backward& b) {
  return {b.needs(0) ? Grad(input_like(b, b.dy(), b.x(1), b.x(0))) : Grad(), b.needs(1) ? Grad(filter_like(b, b.x(0), b.dy(), b.x(1))) : Grad()};
}

// Of both conv_backward_input(dy, filters, like) and the transposed convolutions (x, filters).
Grads grad_transposed(const Backward& b) {
  return {b.needs(0) ? Grad(conv_like(b, b.dy(), b.x(1))) : Grad(), b.needs(1) ? Grad(filter_like(b, b.dy(), b.x(0), b.x(1))) : Grad()};
}

// The attribute output_shape, in which the batch may be -1 and is then that of x.
template <int Axes>
Specs infer_transposed(const Infer& in) {
  in.require_rank(0, Axes + 2);
  const Ints& given = in.ints("output_shape");
  if (given.size() != Axes + 2)
    in.shape_error("output_shape has " + std::to_string(given.size()) + " sizes; it must be batch, " + std::to_string(Axes) + " spatial sizes, channels.");
  for (std::size_t i = 0; i < given.size(); ++i)
    if (given[i] < (i == 0 ? -1 : 0)) in.shape_error("output_shape has the size " + std::to_string(given[i]) + "; sizes are >= 0, or -1 for the batch of x.");
  Shape result(given);
  if (given[0] == -1) result.set(0, in.shape(0).dim(0));
  infer::count(in, result);
  const Shape expected = conv_shape(in, result, in.shape(1), "output_shape " + result.str(), in.named(1));
  if (!infer::compatible(in.shape(0), expected))
    in.shape_error(in.named(0) + " does not fit output_shape " + result.str() + ", whose convolution with " + in.named(1) + " is " + expected.str() +
                   "; choose the output_shape of which x is the convolution.");
  return {{in.dtype(0), result}};
}

std::vector<AttrDef> transposed_attrs() {
  std::vector<AttrDef> attrs = conv_attrs();
  attrs.insert(attrs.begin(), attr::shape("output_shape"));
  return attrs;
}

void require_depthwise(const Infer& in) {
  in.require_rank(0, 4);
  in.require_rank(1, 4);
  const std::int64_t channels = in.shape(0).dim(3), depth = in.shape(1).dim(2);
  if (!infer::compatible(channels, depth) || depth == 0)
    in.shape_error(in.named(1) + " takes " + std::to_string(depth) + " input channels, but " + in.named(0) + " has " +
                   (infer::known(channels) ? std::to_string(channels) : "an unknown number") + "; they must be equal, and at least one.");
}

Shape grouped_shape(const Infer& in, const Shape& filters) {
  Shape result = filters;
  const int rank = filters.rank();
  result.set(rank - 1, infer::mul(in, filters.dim(rank - 2), filters.dim(rank - 1)));
  result.set(rank - 2, 1);
  return result;
}

Shape depthwise_shape(const Infer& in) {
  require_depthwise(in);
  return conv_shape(in, in.shape(0), grouped_shape(in, in.shape(1)), in.named(0), in.named(1));
}

Ints ints(std::initializer_list<std::int64_t> list) { return Ints(list); }

// --- batches ---

// Where filters differ along the extra axis, its places become channels: those of one channel side by side if x is the same for all (inner), all
// channels of one place after the other if x differs, too (then each place has its own groups).
Tensor to_channels(const Tensor& x, bool inner) {
  const int last = x.rank() - 1;
  const Tensor turned = batch::move_axis(x, 0, inner ? last : last - 1);
  if (!turned.shape().known()) {
    const Tensor front = batch::move_axis(batch::move_axis(turned, last, 0), last, 0);
    return batch::move_axis(merge_leading(front, 2), 0, last - 1);
  }
  Ints sizes(turned.shape().begin(), turned.shape().end());
  sizes[sizes.size() - 2] *= sizes.back();
  sizes.resize(sizes.size() - 1);
  return reshape(turned, Shape(sizes));
}

Tensors from_channels(const Batch& b, const Tensor& y, bool inner) {
  const int last = y.rank();
  return {inner ? batch::move_axis(unflatten(y, -1, {-1, b.size}), last, 0) : batch::move_axis(unflatten(y, -1, {b.size, -1}), last - 1, 0)};
}

Tensors in_channels(const Batch& b, const std::vector<Attr>& attrs) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < b.inputs.size(); ++i) inputs.push_back(to_channels(batch::whole(b, i), false));
  return from_channels(b, batch::again(b, inputs, attrs)[0], false);
}

Tensors batch_forward(const Batch& b) {
  const std::vector<Attr> attrs(b.attrs.begin(), b.attrs.end());
  if (!b.batched[1]) return {batch::unfold(b, batch::again(b, {batch::fold(b.inputs[0]), b.inputs[1]}, attrs)[0])};
  if (!b.batched[0]) return from_channels(b, batch::again(b, {b.inputs[0], to_channels(b.inputs[1], true)}, attrs)[0], true);
  return in_channels(b, attrs);
}

Tensors batch_backward_input(const Batch& b) {
  const std::vector<Attr> attrs(b.attrs.begin(), b.attrs.end());
  if (b.batched[1]) return in_channels(b, attrs);
  return {batch::unfold(b, batch::again(b, {batch::fold(b.inputs[0]), b.inputs[1], batch::fold(batch::whole(b, 2))}, attrs)[0])};
}

Tensors batch_backward_filter(const Batch& b) {
  const std::vector<Attr> attrs(b.attrs.begin(), b.attrs.end());
  if (b.batched[0]) return in_channels(b, attrs);
  return from_channels(b, batch::again(b, {b.inputs[0], to_channels(b.inputs[1], true), to_channels(batch::whole(b, 2), true)}, attrs)[0], true);
}

Tensors batch_transposed(const Batch& b) {
  Ints shape = b.ints("output_shape");
  if (b.batched[1]) {
    shape.back() *= b.size;
    return in_channels(b, batch::with(b, "output_shape", shape));
  }
  if (shape[0] >= 0) shape[0] *= b.size;
  return {batch::unfold(b, batch::again(b, {batch::fold(b.inputs[0]), b.inputs[1]}, batch::with(b, "output_shape", shape))[0])};
}

}  // namespace

std::vector<Op> conv() {
  const Attr same = std::int64_t{kPaddingSame}, explicitly = std::int64_t{kPaddingExplicit};
  return {
      {.name = "conv1d",
       .doc = "Convolution of x [batch, length, channels] with filters [length, input channels, output channels]; filters that take a divisor of x's channels divide them into groups.",
       .tf = "tf.nn.conv1d(x, filters, stride=strides, padding, dilations)",
       .inputs = {"x", "filters"},
       .attrs = conv_attrs(),
       .dtypes = kFloats,
       .infer = infer_conv<1>,
       .kernel = forward_kernel,
       .grad = grad_conv,
       .batch = batch_forward,
       .traits = kTellsBlocks,
       .samples = {{{f32({2, 5, 2}), f32({3, 2, 3})}}, {{f32({1, 7, 4}), f32({2, 2, 6})}, {{"strides", ints({2})}, {"padding", same}, {"dilations", ints({2})}}}}},

      {.name = "conv2d",
       .doc = "Convolution of x [batch, height, width, channels] with filters [height, width, input channels, output channels]; filters that take a divisor of x's channels divide them into groups.",
       .tf = "tf.nn.conv2d(x, filters, strides, padding, dilations)",
       .inputs = {"x", "filters"},
       .attrs = conv_attrs(),
       .dtypes = kFloats,
       .infer = infer_conv<2>,
       .kernel = forward_kernel,
       .grad = grad_conv,
       .batch = batch_forward,
       .traits = kTellsBlocks,
       .samples = {{{f32({1, 3, 4, 2}), f32({2, 3, 2, 3})}},
                   {{f32({1, 4, 3, 4}), f32({3, 2, 2, 2})}, {{"strides", ints({2, 1})}, {"padding", same}}},
                   {{f32({1, 3, 4, 1}), f32({2, 2, 1, 2})}, {{"padding", explicitly}, {"pads", ints({0, 2, 1, 1})}, {"dilations", ints({2})}}}}},

      {.name = "conv3d",
       .doc = "Convolution of x [batch, depth, height, width, channels] with filters [depth, height, width, input channels, output channels]; filters that take a divisor of x's channels divide them into groups.",
       .tf = "tf.nn.conv3d(x, filters, strides, padding, dilations)",
       .inputs = {"x", "filters"},
       .attrs = conv_attrs(),
       .dtypes = kFloats,
       .infer = infer_conv<3>,
       .kernel = forward_kernel,
       .grad = grad_conv,
       .batch = batch_forward,
       .traits = kTellsBlocks,
       .samples = {{{f32({1, 2, 3, 2, 2}), f32({2, 2, 1, 2, 2})}}, {{f32({1, 3, 2, 3, 2}), f32({2, 2, 2, 1, 2})}, {{"strides", ints({2, 1, 2})}, {"padding", same}}}}},

      {.name = "conv_backward_input",
       .doc = "The gradient of a convolution with respect to its x, which has the shape of like: the transposed convolution of dy, over 1 to 3 spatial axes.",
       .inputs = {"dy", "filters", "like:any"},
       .attrs = conv_attrs(),
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         require_result(in, 0, conv_shape(in, in.shape(2), in.shape(1), in.named(2), in.named(1)));
         return {{in.dtype(0), in.shape(2)}};
       },
       .kernel = backward_input_kernel,
       .grad = grad_transposed,
       .batch = batch_backward_input,
       .samples = {{{f32({1, 2, 2, 3}), f32({2, 3, 2, 3}), i32({1, 3, 4, 2})}},
                   {{f32({2, 4, 4}), f32({3, 1, 4}), i32({2, 7, 2})}, {{"strides", ints({2})}, {"padding", same}}}}},

      {.name = "conv_backward_filter",
       .doc = "The gradient of a convolution of x with respect to its filters, which have the shape of like, over 1 to 3 spatial axes.",
       .inputs = {"x", "dy", "like:any"},
       .attrs = conv_attrs(),
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         require_result(in, 1, conv_shape(in, in.shape(0), in.shape(2), in.named(0), in.named(2)));
         return {{in.dtype(0), in.shape(2)}};
       },
       .kernel = backward_filter_kernel,
       .grad = [](const Backward& b) -> Grads {
         return {b.needs(0) ? Grad(input_like(b, b.x(1), b.dy(), b.x(0))) : Grad(), b.needs(1) ? Grad(conv_like(b, b.x(0), b.dy())) : Grad()};
       },
       .batch = batch_backward_filter,
       .samples = {{{f32({1, 3, 4, 2}), f32({1, 2, 2, 3}), i32({2, 3, 2, 3})}},
                   {{f32({2, 7, 2}), f32({2, 4, 4}), i32({3, 1, 4})}, {{"strides", ints({2})}, {"padding", same}}}}},

      {.name = "conv1d_transpose",
       .doc = "The transposed convolution of x with filters [length, output channels, x's channels]: the gradient of conv1d for an input of output_shape, in which the batch may be -1.",
       .tf = "tf.nn.conv1d_transpose(x, filters, output_shape, strides, padding)",
       .inputs = {"x", "filters"},
       .attrs = transposed_attrs(),
       .dtypes = kFloats,
       .infer = infer_transposed<1>,
       .kernel = backward_input_kernel,
       .grad = grad_transposed,
       .batch = batch_transposed,
       .samples = {{{f32({2, 3, 3}), f32({3, 2, 3})}, {{"output_shape", ints({2, 5, 2})}}}}},

      {.name = "conv2d_transpose",
       .doc = "The transposed convolution of x with filters [height, width, output channels, x's channels]: the gradient of conv2d for an input of output_shape, in which the batch may be -1.",
       .tf = "tf.nn.conv2d_transpose(x, filters, output_shape, strides, padding)",
       .inputs = {"x", "filters"},
       .attrs = transposed_attrs(),
       .dtypes = kFloats,
       .infer = infer_transposed<2>,
       .kernel = backward_input_kernel,
       .grad = grad_transposed,
       .batch = batch_transposed,
       .samples = {{{f32({1, 2, 2, 3}), f32({3, 2, 2, 3})}, {{"output_shape", ints({1, 4, 3, 2})}, {"strides", ints({2})}, {"padding", same}}},
                   {{f32({2, 2, 1, 2}), f32({2, 2, 1, 2})}, {{"output_shape", ints({-1, 3, 2, 1})}}}}},

      {.name = "conv3d_transpose",
       .doc = "The transposed convolution of x with filters [depth, height, width, output channels, x's channels]: the gradient of conv3d for an input of output_shape, in which the batch may be -1.",
       .tf = "tf.nn.conv3d_transpose(x, filters, output_shape, strides, padding)",
       .inputs = {"x", "filters"},
       .attrs = transposed_attrs(),
       .dtypes = kFloats,
       .infer = infer_transposed<3>,
       .kernel = backward_input_kernel,
       .grad = grad_transposed,
       .batch = batch_transposed,
       .samples = {{{f32({1, 1, 2, 2, 2}), f32({2, 2, 1, 2, 2})}, {{"output_shape", ints({1, 2, 3, 2, 2})}}}}},

      {.name = "grouped_filters",
       .doc = "Depthwise filters [..., channels, multiplier] as those [..., 1, channels * multiplier] of a convolution with one group for each channel.",
       .inputs = {"filters"},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         in.require_rank_at_least(0, 2);
         return {{in.dtype(0), grouped_shape(in, in.shape(0))}};
       },
       .grad = [](const Backward& b) -> Grads { return {reshape_like(b.dy(), b.x())}; },
       .batch = batch::carry,
       .traits = kView,
       .samples = {{{f32({2, 1, 3, 2})}}}},

      {.name = "depthwise_conv2d",
       .doc = "Convolution of each channel c of x with its own filters [height, width, c, m]; channel c * multiplier + m of the result is from filter m.",
       .tf = "tf.nn.depthwise_conv2d(x, filters, strides, padding, dilations)",
       .inputs = {"x", "filters"},
       .attrs = conv_attrs(),
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs { return {{in.dtype(0), depthwise_shape(in)}}; },
       .expand = [](const Expand& e) -> Tensors { return {conv2d(e[0], grouped_filters(e[1]), conv_options<Conv2dOptions>(e), e.at)}; },
       .samples = {{{f32({1, 3, 3, 2}), f32({2, 2, 2, 2})}, {{"padding", same}}},
                   {{f32({1, 5, 4, 3}), f32({2, 2, 3, 1})}, {{"strides", ints({2})}, {"dilations", ints({2, 1})}}}}},

      {.name = "separable_conv2d",
       .doc = "A depthwise convolution, then one with pointwise_filters [1, 1, channels * multiplier, output channels].",
       .tf = "tf.nn.separable_conv2d(x, depthwise_filter=depthwise_filters, pointwise_filter=pointwise_filters, strides, padding, dilations)",
       .inputs = {"x", "depthwise_filters", "pointwise_filters"},
       .attrs = conv_attrs(),
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         Shape result = depthwise_shape(in);
         in.require_rank(2, 4);
         const Shape& pointwise = in.shape(2);
         if (!infer::compatible(pointwise.dim(0), 1) || !infer::compatible(pointwise.dim(1), 1) || !infer::compatible(pointwise.dim(2), result.dim(3)))
           in.shape_error(in.named(2) + " must be [1,1," + (infer::known(result.dim(3)) ? std::to_string(result.dim(3)) : "?") +
                          ",output channels]: one tap that takes all channels of the depthwise result.");
         result.set(3, pointwise.dim(3));
         infer::count(in, result);
         return {{in.dtype(0), result}};
       },
       .expand = [](const Expand& e) -> Tensors { return {conv2d(depthwise_conv2d(e[0], e[1], conv_options<DepthwiseConv2dOptions>(e), e.at), e[2], {}, e.at)}; },
       .samples = {{{f32({1, 3, 3, 2}), f32({2, 2, 2, 2}), f32({1, 1, 4, 3})}}, {{f32({1, 4, 3, 2}), f32({3, 2, 2, 1}), f32({1, 1, 2, 2})}, {{"strides", ints({2})}, {"padding", same}}}}},
  };
}

}  // namespace weft::inline v0::rows
