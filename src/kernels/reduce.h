// Reductions of dense tensors over any set of axes, and positions of extremes along one.
//
// The order of every fold depends on the shape only. Sums of f32 run in double, sums of f64 carry their rounding errors
// along, so that a result is within a few units in the last place of the sum of the magnitudes whatever the length.
#pragma once

#include <cstdint>

#include "kernels/blocks.h"
#include <weft/dtype.h>

namespace weft::inline v0::kernels {

inline constexpr int kMaxFoldAxes = 32;

struct FoldAxes {
  int rank = 0;
  std::int64_t sizes[kMaxFoldAxes], strides[kMaxFoldAxes];  // strides in elements
};

/// How a dense tensor falls into results. Neighbouring axes of one kind are merged, so that the innermost axis is as long as
/// it can be.
struct FoldPlan {
  FoldAxes kept, folded;       // without the innermost axis; outermost first
  std::int64_t inner = 1;      // length of the innermost axis, which is contiguous
  bool inner_folded = true;
  std::int64_t results = 1;    // how many
  std::int64_t count = 1;      // elements folded into each
  const MakeElements* make = nullptr;  // where the elements come from, if they lie nowhere
};

/// REQUIRES: rank <= kMaxFoldAxes, sizes >= 0; the number of results and of elements fits 63 bits.
FoldPlan plan_fold(const std::int64_t* sizes, int rank, const bool* folded);

enum class Fold : std::uint8_t {
  kSum, kMean, kProd, kMax, kMin,                   // of any number; integers wrap, their mean truncates
  kAny, kAll,                                       // of bool
  kCountNonzero,                                    // of anything but 16-bit floats, into i64
  kLogSumExp, kVariance, kStandardDeviation, kEuclideanNorm,  // of f32 and f64
};

/// Writes plan.results elements to y, in row-major order of the kept axes. REQUIRES: the fold takes `dtype`; an integer mean
/// has plan.count > 0.
void fold(Fold what, DType dtype, const FoldPlan& plan, const void* x, void* y);

/// y, as large as x, is x less the mean of the elements of its result, rounded once. REQUIRES: f32 or f64.
void center(DType dtype, const FoldPlan& plan, const void* x, void* y);

/// Along the middle axis of x [outer, n, inner]: the first position of the largest (else smallest) element. NaN counts as
/// more extreme than any number. REQUIRES: a number dtype that is not 16-bit floating; n > 0 and it fits `out`, i32 or i64.
void arg_extreme(DType dtype, bool largest, std::int64_t outer, std::int64_t n, std::int64_t inner, const void* x, DType out, void* y);

}  // namespace weft::inline v0::kernels
