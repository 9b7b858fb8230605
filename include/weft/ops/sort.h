// Sorting and searching.
//
// Derived from the op table by ./scripts/generate; do not edit.
#pragma once

#include <weft/ops/types.h>

namespace weft::inline v0 {

struct SortOptions { std::int64_t axis = -1; SortDirection direction = SortDirection::kAscending; };
WEFT_API Tensor sort(Tensor x, SortOptions options = {}, Location at = Location::here());  ///< The elements in order along an axis. NaN counts as larger than every number.
struct ArgsortOptions { std::int64_t axis = -1; SortDirection direction = SortDirection::kAscending; bool stable = true; };
WEFT_API Tensor argsort(Tensor x, ArgsortOptions options = {}, Location at = Location::here());  ///< The positions along an axis that bring the elements in order; equal ones keep theirs, whatever stable says. NaN counts as larger than every number.
struct TakeAlongAxisOptions { std::int64_t axis = -1; };
WEFT_API Tensor take_along_axis(Tensor x, Tensor indices, TakeAlongAxisOptions options = {}, Location at = Location::here());  ///< y[.., k, ..] = x[.., indices[.., k, ..], ..]: elements chosen along an axis, separately for each place of the others.
struct ScatterAlongAxisOptions { std::int64_t axis = -1; };
WEFT_API Tensor scatter_along_axis(Tensor indices, Tensor updates, Tensor like, ScatterAlongAxisOptions options = {}, Location at = Location::here());  ///< Zeros of like's shape to which updates are added: y[.., indices[.., k, ..], ..] += updates[.., k, ..]; the transpose of take_along_axis.
struct TopKResult { Tensor values, indices; };
WEFT_API TopKResult top_k(Tensor x, std::int64_t k, Location at = Location::here());  ///< The k largest elements along the last axis, largest first, and their positions; of equal ones the first. NaN counts as larger than every number.
struct UniqueResult { Tensor values, index; };
WEFT_API UniqueResult unique(Tensor x, Location at = Location::here());  ///< The distinct values of a vector in the order of their first appearance, and for each element the position of its value among them. NaN equals nothing.
struct UniqueWithCountsResult { Tensor values, index, count; };
WEFT_API UniqueWithCountsResult unique_with_counts(Tensor x, Location at = Location::here());  ///< unique, and how often each value occurs.
struct SearchsortedOptions { SearchSide side = SearchSide::kLeft; };
WEFT_API Tensor searchsorted(Tensor sorted_sequence, Tensor values, SearchsortedOptions options = {}, Location at = Location::here());  ///< Where values would go into rows that ascend along the last axis: before (left) or after (right) equal elements. The leading sizes of both agree.

}  // namespace weft::inline v0
