// Gradients as values: dense, sparse or absent.
#pragma once

#include <memory>

#include <weft/tensor.h>

namespace weft::inline v0 {

/// A sparse gradient: row `indices[k]` of the dense tensor receives `values[k]`; rows named twice add up.
struct IndexedSlices {
  Tensor values;   ///< [n, rest of like's shape]
  Tensor indices;  ///< [n], i32 or i64
  Tensor like;     ///< gives the dense shape; its values are not used
};

/// One gradient: absent, dense or sparse. A value type, cheap to copy; thread-safe like Tensor.
class WEFT_API Grad {
 public:
  Grad() = default;
  Grad(Tensor dense) : dense_(std::move(dense)) {}
  Grad(IndexedSlices slices) : slices_(std::make_shared<const IndexedSlices>(std::move(slices))) {}
  bool present() const { return dense_.defined() || slices_ != nullptr; }
  bool sparse() const { return slices_ != nullptr; }
  const IndexedSlices& slices() const;                      ///< Throws StateError unless sparse().
  Tensor dense() const;                                     ///< REQUIRES: present(). A sparse one is added up into zeros.

 private:
  Tensor dense_;
  std::shared_ptr<const IndexedSlices> slices_;
};

}  // namespace weft::inline v0
