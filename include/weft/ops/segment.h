// Segments, counting and masks.
//
// Derived from the op table by ./scripts/generate; do not edit.
#pragma once

#include <weft/ops/types.h>

namespace weft::inline v0 {

WEFT_API Tensor segment_sum(Tensor x, Tensor segment_ids, Location at = Location::here());  ///< Sums of the rows of x that have the same id; ids do not decrease, and there are as many segments as the last id says. An empty segment gives 0.
WEFT_API Tensor segment_mean(Tensor x, Tensor segment_ids, Location at = Location::here());  ///< Means of the rows of x that have the same id; ids do not decrease. An empty segment gives 0.
WEFT_API Tensor segment_max(Tensor x, Tensor segment_ids, Location at = Location::here());  ///< Elementwise largest of the rows of x that have the same id; ids do not decrease. An empty segment gives 0; NaN wins.
WEFT_API Tensor segment_min(Tensor x, Tensor segment_ids, Location at = Location::here());  ///< Elementwise smallest of the rows of x that have the same id; ids do not decrease. An empty segment gives 0; NaN wins.
WEFT_API Tensor segment_prod(Tensor x, Tensor segment_ids, Location at = Location::here());  ///< Products of the rows of x that have the same id; ids do not decrease. An empty segment gives 1.
WEFT_API Tensor unsorted_segment_sum(Tensor x, Tensor segment_ids, std::int64_t num_segments, Location at = Location::here());  ///< Sums of the slices of x that have the same id, for ids below num_segments in any order; negative ids are dropped. An empty segment gives 0.
WEFT_API Tensor unsorted_segment_sum_like(Tensor x, Tensor segment_ids, Tensor like, Location at = Location::here());  ///< unsorted_segment_sum with as many segments as like has rows: the transpose of gather_or_zero.
WEFT_API Tensor gather_or_zero(Tensor x, Tensor indices, Location at = Location::here());  ///< Rows of x chosen by indices, and rows of zeros for negative ones: y[k..] = x[indices[k..]].
WEFT_API Tensor unsorted_segment_mean(Tensor x, Tensor segment_ids, std::int64_t num_segments, Location at = Location::here());  ///< Means of the slices of x that have the same id, for ids below num_segments in any order; negative ids are dropped. An empty segment gives 0.
WEFT_API Tensor unsorted_segment_max(Tensor x, Tensor segment_ids, std::int64_t num_segments, Location at = Location::here());  ///< Elementwise largest of the slices of x that have the same id, for ids below num_segments in any order; negative ids are dropped. An empty segment gives the lowest number of the dtype; NaN wins.
WEFT_API Tensor unsorted_segment_min(Tensor x, Tensor segment_ids, std::int64_t num_segments, Location at = Location::here());  ///< Elementwise smallest of the slices of x that have the same id, for ids below num_segments in any order; negative ids are dropped. An empty segment gives the highest number of the dtype; NaN wins.
WEFT_API Tensor unsorted_segment_prod(Tensor x, Tensor segment_ids, std::int64_t num_segments, Location at = Location::here());  ///< Products of the slices of x that have the same id, for ids below num_segments in any order; negative ids are dropped. An empty segment gives 1.
struct BincountOptions { std::int64_t minlength = 0; std::int64_t maxlength = 9223372036854775807; };
WEFT_API Tensor bincount(Tensor x, BincountOptions options = {}, Location at = Location::here());  ///< How often each value from 0 to the largest occurs in x; at least minlength counts, and at most maxlength: larger values are left out. A negative value is a ValueError.
WEFT_API Tensor confusion_matrix(Tensor labels, Tensor predictions, std::int64_t num_classes, Location at = Location::here());  ///< How often each label was predicted as each class: y[labels[k], predictions[k]] counts k.
WEFT_API Tensor in_top_k(Tensor targets, Tensor predictions, std::int64_t k, Location at = Location::here());  ///< For each row of predictions: is targets' class among its k largest? Ties at the border count; a row with a number that is not finite says no.

}  // namespace weft::inline v0
