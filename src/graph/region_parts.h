// What inference and kernels of regions share.
#pragma once

#include "graph/region.h"

namespace weft::inline v0 {

inline const Region& region_of(const OpArgs& args) { return *args.region("region"); }

inline std::vector<Spec> specs_of(std::span<const Spec* const> specs) {
  std::vector<Spec> result;
  for (const Spec* spec : specs) result.push_back(*spec);
  return result;
}

inline std::vector<Spec> specs_of(std::span<const Tensor> tensors) {
  std::vector<Spec> result;
  for (const Tensor& tensor : tensors) result.push_back(tensor.spec());
  return result;
}

/// REQUIRES: a scalar, i32 or i64.
inline std::int64_t integer_in(const Tensor& x) { return x.dtype() == i32 ? *elements<std::int32_t>(x) : *elements<std::int64_t>(x); }

/// What is wrong with a number that names no branch.
inline std::string branch_range(std::int64_t index, std::size_t branches) {
  return "index is " + std::to_string(index) + " and there are " + std::to_string(branches) + " branches; it must be from 0 to " +
         std::to_string(branches - 1) + ".";
}

inline std::string unequal_rows(std::int64_t a, std::int64_t b) {
  return "the elements have " + std::to_string(a) + " and " + std::to_string(b) + " rows; they must have the same number.";
}

inline std::string unequal_turns(const Spec& a, const Spec& b) {
  return "two turns make " + a.str() + " and " + b.str() + "; values of all turns are put together here, which they can only be if their shapes agree.";
}

/// REQUIRES: rank 1 or more.
inline Spec row_of(const Spec& whole) { return {whole.dtype, Shape(whole.shape.sizes().subspan(1))}; }

inline Spec rows_of(const Spec& row, std::int64_t count) {
  Shape shape{count};
  for (const std::int64_t size : row.shape) shape.append(size);
  return {row.dtype, std::move(shape)};
}

inline void copy_into(void* to, const Tensor& from) {
  if (const std::int64_t size = bytes_of(from.spec()); size > 0) std::memcpy(to, from.node()->data, static_cast<std::size_t>(size));
}

/// Memory of a plan is used again: what may live longer gets memory of its own.
inline Tensor with_own_memory(const Tensor& x) {
  if (x.node()->buffer || x.node()->data == x.node()->inline_data) return x;
  Tensor copy = make_tensor(x.spec());
  copy_into(mutable_data(copy), x);
  return copy;
}

}  // namespace weft::inline v0
