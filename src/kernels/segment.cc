#include "kernels/segment.h"

#include <cmath>

namespace weft::inline v0::kernels {

std::vector<std::int64_t> order_by_segment(Indices ids, std::int64_t count, std::int64_t segments) {
  std::vector<std::int64_t> kept;
  kept.reserve(static_cast<std::size_t>(count));
  bool sorted = true;
  for (std::int64_t k = 0; k < count; ++k) {
    if (ids[k] < 0) continue;
    sorted = sorted && (kept.empty() || ids[kept.back()] <= ids[k]);
    kept.push_back(k);
  }
  if (sorted) return kept;
  // Counting needs memory for every segment: it serves only where they are not many more than rows.
  if (segments / 2 > count) {
    std::stable_sort(kept.begin(), kept.end(), [&](std::int64_t a, std::int64_t b) { return ids[a] < ids[b]; });
    return kept;
  }
  std::vector<std::int64_t> next(static_cast<std::size_t>(segments) + 1, 0), order(kept.size());
  for (const std::int64_t k : kept) ++next[static_cast<std::size_t>(ids[k]) + 1];
  for (std::size_t s = 1; s < next.size(); ++s) next[s] += next[s - 1];
  for (const std::int64_t k : kept) order[static_cast<std::size_t>(next[static_cast<std::size_t>(ids[k])]++)] = k;
  return order;
}

template <class T>
void in_top_k(const T* predictions, Indices targets, std::int64_t batch, std::int64_t classes, std::int64_t k, bool* y) {
  for (std::int64_t b = 0; b < batch; ++b, predictions += classes) {
    const T own = predictions[targets[b]];
    std::int64_t larger = 0;
    bool finite = true;
    for (std::int64_t c = 0; c < classes; ++c) {
      finite = finite && std::isfinite(predictions[c]);
      larger += predictions[c] > own;
    }
    y[b] = finite && larger < k;
  }
}

template void in_top_k(const float*, Indices, std::int64_t, std::int64_t, std::int64_t, bool*);
template void in_top_k(const double*, Indices, std::int64_t, std::int64_t, std::int64_t, bool*);

}  // namespace weft::inline v0::kernels
