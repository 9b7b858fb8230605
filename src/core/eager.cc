#include "base/convert.h"
#include "core/apply.h"
#include "core/strides.h"
#include "core/update.h"

namespace weft::inline v0 {
namespace {

// Whether the call holds the only handle to this value and memory, so that the result may take its place. Literals do not count: they remember
// the number they were written as.
bool is_dying(const Tensor& x) {
  const Node& node = *x.node();
  return node.count.load(std::memory_order_acquire) == 1 && !node.literal && (!node.buffer || node.buffer->writable());
}

// Room for a pointwise result: that of an input which nobody will see again, if one has the right Spec, else new.
Tensor room_for_result(std::span<Tensor> inputs, const Spec& spec) {
  for (Tensor& input : inputs)
    if (is_dying(input) && input.node()->spec.dtype == spec.dtype && input.node()->spec.shape == spec.shape) return input;
  return make_tensor(spec);
}

void run_pointwise(const Call& call, const Specs& specs, Tensors& outputs) {
  const Tile& tile = call.op.tile;
  const DType dtype = call.inputs[0].dtype();
  const Tensor result = room_for_result(call.inputs, specs[0]);
  const Shape& shape = specs[0].shape;
  const DType out = specs[0].dtype;
  std::int64_t strides[kernels::kMaxTileInputs][kMaxRank];
  kernels::TileInput inputs[kernels::kMaxTileInputs];
  const DType lanes_dtype = is_half(dtype) ? f32 : dtype;
  alignas(8) unsigned char params[kernels::kMaxTileInputs][8];  // real attributes in the lanes' own type
  int count = 0;
  for (const Tensor& input : call.inputs) {
    broadcast_strides(input.shape(), shape, strides[count]);
    inputs[count] = {mutable_data(input), strides[count], size_of(dtype), half_of(dtype)};
    ++count;
  }
  for (const Attr& attr : call.attrs) {
    const double* value = std::get_if<double>(&attr);
    if (value == nullptr) continue;
    for (int axis = 0; axis < shape.rank(); ++axis) strides[count][axis] = 0;
    with_element(lanes_dtype, [&](auto* tag) {
      const auto number = convert<std::remove_pointer_t<decltype(tag)>>(*value);
      std::memcpy(params[count], &number, sizeof number);
    });
    inputs[count] = {params[count], strides[count], size_of(lanes_dtype), kernels::Half::kNo};
    ++count;
  }
  const kernels::TileOutput output{.data = mutable_data(result), .element_size = size_of(out), .half = half_of(out), .cached = tile.fused};
  kernels::run_tile(tile.for_dtype(dtype), inputs, count, output, shape.begin(), shape.rank(), tile.past_for(dtype), tile.work());
  outputs.push_back(result);
}

Tensor rounded(const Tensor& from, DType to) {
  static const Tile copy = lanes<1, Types<float>>([](auto x) { return x; });
  const Tensor result = make_tensor({to, from.shape()});
  const std::int64_t size = from.size(), stride = 1;
  const kernels::TileInput input{mutable_data(from), &stride, size_of(from.dtype()), half_of(from.dtype())};
  kernels::run_tile(copy.for_dtype(f32), &input, 1, {mutable_data(result), size_of(to), half_of(to)}, &size, 1);
  return result;
}

void run_kernel(const Call& call, const Specs& specs, Tensors& outputs) {
  const OpArgs args{call.op, call.attrs, call.at};
  bool halves = false;
  if (!call.op.is(kMoves))
    for (const Tensor& input : call.inputs) halves = halves || is_half(input.dtype());
  if (!halves) {
    if (!call.op.is(kValueShape))
      for (const Spec& spec : specs) outputs.push_back(call.op.is(kChanges) && is_dying(call.inputs[0]) ? call.inputs[0] : make_tensor(spec));
    KernelCall kernel{args, call.inputs, outputs, specs};
    return call.op.kernel(kernel);
  }
  // 16-bit floats compute in f32 and round once, after the op.
  Tensors wide_inputs, wide_outputs;
  Specs wide_specs = specs;
  for (const Tensor& input : call.inputs) wide_inputs.push_back(is_half(input.dtype()) ? rounded(input, f32) : input);
  for (Spec& spec : wide_specs)
    if (is_half(spec.dtype)) spec.dtype = f32;
  if (!call.op.is(kValueShape))
    for (const Spec& spec : wide_specs) wide_outputs.push_back(make_tensor(spec));
  KernelCall kernel{args, wide_inputs, wide_outputs, wide_specs};
  call.op.kernel(kernel);
  for (std::size_t i = 0; i < specs.size(); ++i)
    outputs.push_back(is_half(specs[i].dtype) ? rounded(wide_outputs[i], specs[i].dtype) : wide_outputs[i]);
}

void run_update(const Call& call, const Specs& specs, Tensors& outputs) {
  PreparedUpdate update(call, specs);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const Tensor& old = update.changed(call)[i];
    outputs.push_back(is_dying(old) ? old : make_tensor(specs[i]));
  }
  for (std::size_t i = 0; i < specs.size(); ++i) update.place(i, mutable_data(update.changed(call)[i]), mutable_data(outputs[i]));
  update.run();
}

}  // namespace

Tensor apply_dense_pointwise(const Op& op, std::span<Tensor> inputs) {
  const Node& first = *inputs[0].node();
  const DType dtype = first.spec.dtype;
  const kernels::TileFn fn = op.tile.for_dtype(dtype);
  if (fn == nullptr || is_half(dtype) || first.symbolic) return {};
  const void* lanes[kernels::kMaxTileInputs];
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Node& node = *inputs[i].node();
    if (node.spec.dtype != dtype || node.symbolic || node.spec.shape != first.spec.shape) return {};
    lanes[i] = node.data;
  }
  const std::int64_t size = first.spec.shape.num_elements();
  const DType out = op.tile.result(dtype);
  Tensor result;
  for (Tensor& input : inputs)
    if (out == dtype && is_dying(input)) {
      result = std::move(input);
      break;
    }
  if (!result.defined()) result = make_tensor({out, first.spec.shape});
  if (kernels::is_serial(static_cast<std::size_t>(size), op.tile.work())) {
    fn(lanes, result.node()->data, static_cast<std::size_t>(size));
    return result;
  }
  const std::int64_t stride = 1;
  kernels::TileInput operands[kernels::kMaxTileInputs];
  for (std::size_t i = 0; i < inputs.size(); ++i) operands[i] = {lanes[i], &stride, size_of(dtype), kernels::Half::kNo};
  const kernels::TileOutput output{
      .data = result.node()->data, .element_size = size_of(out), .half = kernels::Half::kNo, .cached = op.tile.fused};
  kernels::run_tile(fn, operands, static_cast<int>(inputs.size()), output, &size, 1, op.tile.past_for(dtype), op.tile.work());
  return result;
}

void validate(const Call& call, const Specs& specs) {
  if (call.op.validate == nullptr) return;
  for (const Tensor& input : call.inputs)
    if (input.node()->symbolic) return;
  Tensors outputs;
  call.op.validate(KernelCall{{call.op, call.attrs, call.at}, call.inputs, outputs, specs});
}

void apply_eagerly(const Call& call, Tensors& outputs) {
  if (call.op.dense_pointwise)
    if (Tensor result = apply_dense_pointwise(call.op, call.inputs); result.defined()) {
      outputs.push_back(std::move(result));
      return;
    }
  const Specs specs = check(call);
  for (const Tensor& input : call.inputs)
    if (input.node()->symbolic)
      throw TraceError(call.op.name,
                       "an input " + input.spec().str() + " was made while tracing and has no value outside; return it from the traced function.",
                       input.node()->made_at());
  validate(call, specs);
  if (call.op.tile) run_pointwise(call, specs, outputs);
  else if (call.op.is(kView)) outputs.push_back(make_view(call.inputs[0], specs[0].shape));
  else if (call.op.kernel != nullptr) run_kernel(call, specs, outputs);
  else if (call.op.update != nullptr) run_update(call, specs, outputs);
  else apply_parts(call, outputs);
}

}  // namespace weft::inline v0
