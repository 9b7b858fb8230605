// How rows map over an extra first axis: the rules that many rows share, and what rules are written with.
#pragma once

#include "core/op.h"

namespace weft::inline v0::rows::batch {

// --- rules ---

/// The row carries axes in front of those that it looks at: all inputs get the axis, and axes of attributes count one more.
Tensors carry(const Batch& b);
/// The inputs broadcast: those with the axis get the rank of the others, those without it stay as they are.
Tensors broadcast(const Batch& b);
/// The first axis of every input and output is a batch: the two axes are one meanwhile.
Tensors fold(const Batch& b);
/// The results depend on shapes alone: they are made once and repeated.
Tensors once(const Batch& b);

// --- what rules are written with ---

/// Sizes behind that of the axis.
Ints sizes(const Batch& b, std::span<const std::int64_t> rest);
/// x once for each place of the axis.
Tensor repeat(const Batch& b, const Tensor& x);
/// x, which has the axis, with the shape of `like` behind it.
Tensor reshape_as(const Batch& b, const Tensor& x, const Tensor& like);
/// Input i with the axis. One that is named `like` has the shape that this would have, and no values.
Tensor whole(const Batch& b, std::size_t i);
/// All of them.
std::vector<Tensor> wholes(const Batch& b);
/// Input i, which has the axis, with axes of size 1 behind it, so that the others are `rank`.
Tensor widen(const Batch& b, std::size_t i, int rank);
/// The attributes, of which one has another value.
std::vector<Attr> with(const Batch& b, std::string_view name, Attr value);
std::vector<Attr> shifted(const Batch& b);  // axes count one more
/// All inputs get the axis, and a list attribute with entries for each axis gets these in front: those of an axis that stays as it is.
Tensors prefix(const Batch& b, std::string_view name, const Ints& entries);
/// The same row, on other arguments.
Tensors again(const Batch& b, std::vector<Tensor> inputs, const std::vector<Attr>& attrs);
/// An axis moved to another place; the others keep their order.
Tensor move_axis(const Tensor& x, int from, int to);
/// The first two axes as one, and back.
Tensor fold(const Tensor& x);
Tensor unfold(const Batch& b, const Tensor& x);
/// 0, 1, 2 ... along the axis, with so many axes of size 1 behind it.
Tensor places(const Batch& b, DType dtype, int behind);

}  // namespace weft::inline v0::rows::batch
