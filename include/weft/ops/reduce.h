// Reductions and running totals.
//
// Derived from the op table by ./scripts/generate; do not edit.
#pragma once

#include <weft/ops/types.h>

namespace weft::inline v0 {

struct SumOptions { Axes axis = {}; bool keepdims = false; };
WEFT_API Tensor sum(Tensor x, SumOptions options = {}, Location at = Location::here());  ///< Sum over axes, 0 over none; floats as accurately as if added in twice the precision, integers wrap.
WEFT_API Tensor sum_like(Tensor x, Tensor like, Location at = Location::here());  ///< Sums x down to the shape of like, which broadcasts to x: the transpose of broadcast_like.
struct MeanOptions { Axes axis = {}; bool keepdims = false; };
WEFT_API Tensor mean(Tensor x, MeanOptions options = {}, Location at = Location::here());  ///< Mean over axes; of no floats it is NaN, of no integers a ValueError; integers truncate toward zero.
struct ProdOptions { Axes axis = {}; bool keepdims = false; };
WEFT_API Tensor prod(Tensor x, ProdOptions options = {}, Location at = Location::here());  ///< Product over axes, 1 over none; integers wrap. Its gradient is right whichever elements are zero.
struct MaxOptions { Axes axis = {}; bool keepdims = false; };
WEFT_API Tensor max(Tensor x, MaxOptions options = {}, Location at = Location::here());  ///< Largest element over axes, NaN if one is NaN; over none -inf, or the dtype's lowest. Ties share the gradient equally.
struct MinOptions { Axes axis = {}; bool keepdims = false; };
WEFT_API Tensor min(Tensor x, MinOptions options = {}, Location at = Location::here());  ///< Smallest element over axes, NaN if one is NaN; over none inf, or the dtype's highest. Ties share the gradient equally.
struct AnyTrueOptions { Axes axis = {}; bool keepdims = false; };
WEFT_API Tensor any_true(Tensor x, AnyTrueOptions options = {}, Location at = Location::here());  ///< Whether any element over axes is true; over none it is false.
struct AllTrueOptions { Axes axis = {}; bool keepdims = false; };
WEFT_API Tensor all_true(Tensor x, AllTrueOptions options = {}, Location at = Location::here());  ///< Whether all elements over axes are true; over none it is true.
struct CountNonzeroOptions { Axes axis = {}; bool keepdims = false; };
WEFT_API Tensor count_nonzero(Tensor x, CountNonzeroOptions options = {}, Location at = Location::here());  ///< How many elements over axes are not zero (or are true), as i64; NaN is not zero.
struct LogsumexpOptions { Axes axis = {}; bool keepdims = false; };
WEFT_API Tensor logsumexp(Tensor x, LogsumexpOptions options = {}, Location at = Location::here());  ///< log(sum(exp(x))) over axes, without overflow; over none, and where all are -inf, it is -inf.
struct CenterOptions { Axes axis = {}; };
WEFT_API Tensor center(Tensor x, CenterOptions options = {}, Location at = Location::here());  ///< x less its mean over axes, rounded once: exact to the last place also where the two nearly cancel.
struct VarianceOptions { Axes axis = {}; bool keepdims = false; };
WEFT_API Tensor variance(Tensor x, VarianceOptions options = {}, Location at = Location::here());  ///< Mean squared distance from the mean over axes (of the population: divided by the number of elements).
struct StddevOptions { Axes axis = {}; bool keepdims = false; };
WEFT_API Tensor stddev(Tensor x, StddevOptions options = {}, Location at = Location::here());  ///< Standard deviation over axes, the root of variance; where it is 0 its gradient is NaN.
struct EuclideanNormOptions { Axes axis = {}; bool keepdims = false; };
WEFT_API Tensor euclidean_norm(Tensor x, EuclideanNormOptions options = {}, Location at = Location::here());  ///< Root of the sum of squares over axes, without overflow; where it is 0 its gradient is NaN.
struct MomentsOptions { Axes axis = {}; bool keepdims = false; };
struct MomentsResult { Tensor mean, variance; };
WEFT_API MomentsResult moments(Tensor x, MomentsOptions options = {}, Location at = Location::here());  ///< Mean and variance over axes.
struct ArgmaxOptions { std::int64_t axis = 0; DType dtype = DType::i64; };
WEFT_API Tensor argmax(Tensor x, ArgmaxOptions options = {}, Location at = Location::here());  ///< Position of the largest element along an axis, the first of equal ones; NaN counts as larger than any number.
struct ArgminOptions { std::int64_t axis = 0; DType dtype = DType::i64; };
WEFT_API Tensor argmin(Tensor x, ArgminOptions options = {}, Location at = Location::here());  ///< Position of the smallest element along an axis, the first of equal ones; NaN counts as smaller than any number.
struct CumsumOptions { std::int64_t axis = 0; bool exclusive = false; bool reverse = false; };
WEFT_API Tensor cumsum(Tensor x, CumsumOptions options = {}, Location at = Location::here());  ///< Running sum along an axis; exclusive leaves each element itself out, reverse runs from the end. Integers wrap.
struct CumprodOptions { std::int64_t axis = 0; bool exclusive = false; bool reverse = false; };
WEFT_API Tensor cumprod(Tensor x, CumprodOptions options = {}, Location at = Location::here());  ///< Running product along an axis; exclusive leaves each element itself out, reverse runs from the end. Integers wrap. Its gradient is right whichever elements are zero.
struct CumulativeLogsumexpOptions { std::int64_t axis = 0; bool exclusive = false; bool reverse = false; };
WEFT_API Tensor cumulative_logsumexp(Tensor x, CumulativeLogsumexpOptions options = {}, Location at = Location::here());  ///< Running logsumexp along an axis; exclusive leaves each element itself out (the first is then -inf), reverse runs from the end.
struct LinearRecurrenceOptions { std::int64_t axis = 0; bool reverse = false; };
WEFT_API Tensor linear_recurrence(Tensor a, Tensor b, LinearRecurrenceOptions options = {}, Location at = Location::here());  ///< y[k] = a[k] * y[k-1] + b[k] along an axis, where y[0] = b[0] (the first coefficient is not used), and y[k] = b[k] where a[k] is 0, whatever came before; reverse runs from the end.
struct ShiftOneOptions { std::int64_t axis = 0; bool reverse = false; };
WEFT_API Tensor shift_one(Tensor x, ShiftOneOptions options = {}, Location at = Location::here());  ///< Moves the elements one place along an axis, away from the start (reverse: towards it), and fills the free place with 0.
struct SizeOptions { Axes axis = {}; DType dtype = DType::i32; };
WEFT_API Tensor size(Tensor x, SizeOptions options = {}, Location at = Location::here());  ///< The number of elements along axes (all of them by default) as a scalar; one that does not fit dtype is a ValueError.
struct ShapeOfOptions { DType dtype = DType::i32; };
WEFT_API Tensor shape_of(Tensor x, ShapeOfOptions options = {}, Location at = Location::here());  ///< The sizes of x as a vector; one that does not fit dtype is a ValueError.
struct RankOfOptions { DType dtype = DType::i32; };
WEFT_API Tensor rank_of(Tensor x, RankOfOptions options = {}, Location at = Location::here());  ///< The number of axes of x as a scalar.

}  // namespace weft::inline v0
