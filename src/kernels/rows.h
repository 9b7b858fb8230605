// The inner loops of softmax, its losses and standardisation, for each instruction set.
#pragma once

#include <cstdint>

#include "kernels/isa.h"

namespace weft::inline v0::kernels {

/// Rows of n elements, `count` of them one after the other. What a row gives depends on the row alone. softmax.h says what each does.
struct RowRun {
  std::int64_t count, n;
  bool stream;  // results go past the caches: they are much larger
};

/// T is float or double. `scratch` holds 2 n elements.
template <class T>
struct RowLoops {
  void (*softmax)(RowRun rows, const T* x, T* y, T* scratch);
  void (*softmax_backward)(RowRun rows, const T* y, const T* dy, T* dx);
  void (*log_softmax)(RowRun rows, const T* x, T* y, T* scratch);
  void (*log_softmax_backward)(RowRun rows, const T* y, const T* dy, T* dx, T* scratch);
  void (*cross_entropy)(RowRun rows, const T* labels, const T* logits, T* loss, T* scratch);
  void (*cross_entropy_backward)(RowRun rows, const T* labels, const T* logits, const T* dy, T* dx, T* scratch);
  void (*sparse_cross_entropy)(RowRun rows, const std::int64_t* labels, const T* logits, T* loss, T* scratch);
  void (*sparse_cross_entropy_backward)(RowRun rows, const std::int64_t* labels, const T* logits, const T* dy, T* dx, T* scratch);
  /// scale and offset, of n elements each, are null or applied.
  void (*standardize)(RowRun rows, double epsilon, const T* x, const T* scale, const T* offset, T* y);
  /// If scale is not null, the columns of dy * y and of dy are added up in the words of sums (AddUp<T>, pitch n) in dscale and doffset, which are 0 before.
  void (*standardize_backward)(RowRun rows, double epsilon, const T* x, const T* scale, const T* dy, T* dx, double* dscale, double* doffset,
                               T* scratch);
};

struct RowTable {
  RowLoops<float> f32;
  RowLoops<double> f64;
};
WEFT_ISA_TABLE(RowTable, row_table)

}  // namespace weft::inline v0::kernels
