// Running totals along the middle axis of dense tensors [outer, n, inner].
#pragma once

#include <cstdint>

#include <weft/dtype.h>

namespace weft::inline v0::kernels {

struct ScanAxis {
  std::int64_t outer, n, inner;
  bool reverse;  // from the end of the axis to its start
};

enum class Scan : std::uint8_t { kSum, kProd, kLogSumExp };  // the last one of f32 and f64 only

/// y[k] folds x[0..k], exclusive: x[0..k-1]. Integers wrap; floats are accumulated in (at least) double. REQUIRES: a number dtype that is
/// not 16-bit floating.
void scan(Scan what, DType dtype, const ScanAxis& axis, bool exclusive, const void* x, void* y);

/// y[k] = a[k] * y[k-1] + b[k], and y[0] = b[0]: the first coefficient is not used. Where a[k] is 0 it starts anew with b[k], even after an
/// infinity or NaN. REQUIRES: f32 or f64.
void linear_recurrence(DType dtype, const ScanAxis& axis, const void* a, const void* b, void* y);

/// y[k] = x[k-1], and y[0] is zero, for elements of any type.
void shift_one(std::size_t element_size, const ScanAxis& axis, const void* x, void* y);

}  // namespace weft::inline v0::kernels
