// What the rows that take indices share: reading them, and refusing those out of range.
#pragma once

#include "core/op.h"
#include "kernels/gather.h"

namespace weft::inline v0::rows {

inline kernels::Indices indices_of(const KernelCall& call, std::size_t i) {
  return {mutable_data(call.inputs[i]), call.dtype(i) == DType::i64};
}

/// "indices[1,0]": the element of input i at a flat position.
inline std::string element_name(const KernelCall& call, std::size_t i, std::int64_t flat) {
  const Shape& shape = call.shape(i);
  std::string text;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    text = std::to_string(flat % shape.dim(axis)) + (text.empty() ? "" : ",") + text;
    flat /= shape.dim(axis);
  }
  return call.name(i) + (text.empty() ? "" : "[" + text + "]");
}

/// Refuses the index at a flat position of input i, which names a place along an axis of input `of`.
[[noreturn]] inline void refuse_index(const KernelCall& call, std::size_t i, std::int64_t flat, std::size_t of, int axis) {
  const std::int64_t size = call.shape(of).dim(axis);
  call.index_error(element_name(call, i, flat) + " is " + std::to_string(indices_of(call, i)[flat]) + "; axis " + std::to_string(axis) + " of " +
                   call.name(of) + " " + call.inputs[of].spec().str() +
                   (size == 0 ? " is empty, so that no index is in range." : " takes indices from 0 to " + std::to_string(size - 1) + "."));
}

/// Every index in input i is a place along an axis of input `of`.
inline void require_indices(const KernelCall& call, std::size_t i, std::size_t of, int axis) {
  const std::int64_t bad = kernels::first_outside(indices_of(call, i), call.shape(i).num_elements(), call.shape(of).dim(axis));
  if (bad >= 0) refuse_index(call, i, bad, of, axis);
}

/// The product of the sizes of axes first .. last - 1. Fits, because no concrete tensor has sizes whose product does not.
inline std::int64_t extent(const Shape& shape, int first, int last) {
  std::int64_t product = 1;
  for (int axis = first; axis < last; ++axis) product *= shape.dim(axis);
  return product;
}

/// with_element for the dtypes that kernels compute in: neither bool nor the 16-bit floats, which the executor widens.
template <class F>
void with_number(DType dtype, const F& f) {
  with_element(dtype, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) f(tag);
    else throw InternalError("a kernel of numbers was asked for another dtype");
  });
}

}  // namespace weft::inline v0::rows
