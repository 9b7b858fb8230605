#include "ops/batch.h"

#include <algorithm>
#include <numeric>

#include "core/apply.h"
#include "core/infer.h"
#include <weft/ops.h>

namespace weft::inline v0::rows::batch {

Ints sizes(const Batch& b, std::span<const std::int64_t> rest) {
  Ints result{b.size};
  for (const std::int64_t size : rest) result.push_back(size);
  return result;
}

Tensor repeat(const Batch& b, const Tensor& x) {
  Ints multiples(static_cast<std::size_t>(x.rank()) + 1, 1);
  multiples[0] = b.size;
  return tile(expand_dims(x, 0), multiples);
}

Tensor reshape_as(const Batch& b, const Tensor& x, const Tensor& like) {
  return like.shape().known() ? reshape(x, Shape(sizes(b, like.shape().sizes()))) : reshape_like(x, repeat(b, like));
}

Tensor whole(const Batch& b, std::size_t i) {
  if (b.batched[i]) return b.inputs[i];
  const Shape& shape = b.inputs[i].shape();
  if (only_shape(b.op, i) && shape.known()) return zeros(Shape(sizes(b, shape.sizes())), {.dtype = bool_});
  return repeat(b, b.inputs[i]);
}

std::vector<Tensor> wholes(const Batch& b) {
  std::vector<Tensor> result;
  for (std::size_t i = 0; i < b.inputs.size(); ++i) result.push_back(whole(b, i));
  return result;
}

Tensor widen(const Batch& b, std::size_t i, int rank) {
  Ints axes;
  for (int axis = 0; axis < rank - b.rank(i); ++axis) axes.push_back(axis + 1);
  return axes.empty() ? b.inputs[i] : expand_dims(b.inputs[i], axes);
}

std::vector<Attr> with(const Batch& b, std::string_view name, Attr value) {
  std::vector<Attr> attrs(b.attrs.begin(), b.attrs.end());
  for (std::size_t i = 0; i < attrs.size(); ++i)
    if (b.op.attrs[i].name == name) attrs[i] = std::move(value);
  return attrs;
}

std::vector<Attr> shifted(const Batch& b) {
  const auto shift = [](std::int64_t axis) { return axis < 0 ? axis : axis + 1; };  // from the end it is the same one
  std::vector<Attr> attrs(b.attrs.begin(), b.attrs.end());
  for (std::size_t i = 0; i < attrs.size(); ++i) {
    const AttrKind kind = b.op.attrs[i].kind;
    if (kind == AttrKind::kAxis) attrs[i] = shift(std::get<std::int64_t>(attrs[i]));
    if (kind != AttrKind::kAxes) continue;
    Ints axes(static_cast<std::size_t>(b.rank(0)));
    std::iota(axes.begin(), axes.end(), 1);  // none means all
    if (const Ints* const given = std::get_if<Ints>(&attrs[i])) {
      axes = *given;
      std::transform(axes.begin(), axes.end(), axes.begin(), shift);
    }
    attrs[i] = std::move(axes);
  }
  return attrs;
}

Tensors prefix(const Batch& b, std::string_view name, const Ints& entries) {
  Ints list = entries;
  for (const std::int64_t entry : b.ints(name)) list.push_back(entry);
  return again(b, wholes(b), with(b, name, std::move(list)));
}

Tensors again(const Batch& b, std::vector<Tensor> inputs, const std::vector<Attr>& attrs) {
  Tensors outputs;
  apply({b.op, inputs, attrs, b.at}, outputs);
  return outputs;
}

Tensor move_axis(const Tensor& x, int from, int to) {
  if (from == to) return x;
  Ints perm;
  for (int axis = 0, other = 0; axis < x.rank(); ++axis) {
    if (other == from) ++other;
    perm.push_back(axis == to ? from : other++);
  }
  return transpose(x, {.perm = perm});
}

Tensor fold(const Tensor& x) { return merge_leading(x, 2); }
Tensor unfold(const Batch& b, const Tensor& x) { return unflatten(x, 0, {b.size, -1}); }

Tensor places(const Batch& b, DType dtype, int behind) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(b.size));
  std::iota(numbers.begin(), numbers.end(), 0);
  Shape shape{b.size};
  for (int axis = 0; axis < behind; ++axis) shape.append(1);
  return cast(Tensor(numbers, shape), dtype);
}

Tensors carry(const Batch& b) { return again(b, wholes(b), shifted(b)); }

Tensors broadcast(const Batch& b) {
  int rank = 0;
  for (std::size_t i = 0; i < b.inputs.size(); ++i) rank = std::max(rank, b.rank(i));
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < b.inputs.size(); ++i) inputs.push_back(b.batched[i] ? widen(b, i, rank) : b.inputs[i]);
  return again(b, std::move(inputs), std::vector<Attr>(b.attrs.begin(), b.attrs.end()));
}

Tensors fold(const Batch& b) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < b.inputs.size(); ++i) inputs.push_back(fold(whole(b, i)));
  Tensors outputs = again(b, std::move(inputs), std::vector<Attr>(b.attrs.begin(), b.attrs.end()));
  for (Tensor& output : outputs) output = unfold(b, output);
  return outputs;
}

Tensors once(const Batch& b) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < b.inputs.size(); ++i)
    inputs.push_back(b.batched[i] ? strided_slice(b.inputs[i], {0}, {1}, {.shrink_axis_mask = 1}) : b.inputs[i]);
  Tensors outputs = again(b, std::move(inputs), std::vector<Attr>(b.attrs.begin(), b.attrs.end()));
  for (Tensor& output : outputs) output = repeat(b, output);
  return outputs;
}

}  // namespace weft::inline v0::rows::batch
