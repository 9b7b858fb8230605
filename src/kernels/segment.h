// Reducing rows by segment.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/gather.h"

namespace weft::inline v0::kernels {

/// The rows with an id >= 0, ordered by id and among equal ids by position. REQUIRES: ids < segments.
std::vector<std::int64_t> order_by_segment(Indices ids, std::int64_t count, std::int64_t segments);

/// Calls each(id, rows, count) for every segment that has rows, from several threads; `row_bytes` tells how much work a row is.
template <class Each>
void for_each_segment(Indices ids, const std::vector<std::int64_t>& order, std::int64_t row_bytes, const Each& each) {
  std::vector<std::size_t> starts;
  for (std::size_t k = 0; k < order.size(); ++k)
    if (k == 0 || ids[order[k]] != ids[order[k - 1]]) starts.push_back(k);
  const auto segments = static_cast<std::int64_t>(starts.size());
  if (segments == 0) return;
  const std::int64_t segment_bytes = std::max<std::int64_t>(1, static_cast<std::int64_t>(order.size()) * row_bytes / segments);
  starts.push_back(order.size());
  parallel_ranges(segments, std::max<std::int64_t>(1, kRowWorkBytes / segment_bytes), [&](std::int64_t begin, std::int64_t end) {
    for (auto s = static_cast<std::size_t>(begin); s < static_cast<std::size_t>(end); ++s)
      each(ids[order[starts[s]]], order.data() + starts[s], static_cast<std::int64_t>(starts[s + 1] - starts[s]));
  });
}

/// y = f(f(x[rows[0]], x[rows[1]]), ...), rows of `width` elements.
template <class T, class F>
void fold_rows(const T* x, const std::int64_t* rows, std::int64_t count, std::int64_t width, T* y, const F& f) {
  std::copy_n(x + rows[0] * width, width, y);
  for (std::int64_t k = 1; k < count; ++k) {
    const T* row = x + rows[k] * width;
    for (std::int64_t c = 0; c < width; ++c) y[c] = f(y[c], row[c]);
  }
}

/// The longest chain of additions; longer sums are made of halves, so that rounding grows with the logarithm of the count.
inline constexpr std::int64_t kChain = 16;

/// How many rows of scratch fold_pairwise needs.
inline std::int64_t pairwise_depth(std::int64_t count) {
  std::int64_t depth = 0;
  for (; count > kChain; count = (count + 1) / 2) ++depth;
  return depth;
}

/// fold_rows by halves. REQUIRES: scratch has pairwise_depth(count) rows.
template <class T, class F>
void fold_pairwise(const T* x, const std::int64_t* rows, std::int64_t count, std::int64_t width, T* y, T* scratch, const F& f) {
  if (count <= kChain) return fold_rows(x, rows, count, width, y, f);
  const std::int64_t half = (count + 1) / 2;
  fold_pairwise(x, rows, half, width, y, scratch, f);
  fold_pairwise(x, rows + half, count - half, width, scratch, scratch + width, f);
  for (std::int64_t c = 0; c < width; ++c) y[c] = f(y[c], scratch[c]);
}

/// Is targets[b] among the k largest of row b? Ties at the border count; a row with a number that is not finite says no.
template <class T>
void in_top_k(const T* predictions, Indices targets, std::int64_t batch, std::int64_t classes, std::int64_t k, bool* y);
extern template void in_top_k(const float*, Indices, std::int64_t, std::int64_t, std::int64_t, bool*);
extern template void in_top_k(const double*, Indices, std::int64_t, std::int64_t, std::int64_t, bool*);

}  // namespace weft::inline v0::kernels
