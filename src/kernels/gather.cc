#include "kernels/gather.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace weft::inline v0::kernels {

std::int64_t first_outside(Indices indices, std::int64_t count, std::int64_t size) {
  for (std::int64_t k = 0; k < count; ++k)
    if (indices[k] < 0 || indices[k] >= size) return k;
  return -1;
}

std::int64_t first_tuple_outside(Indices indices, std::int64_t tuples, std::int64_t depth, const std::int64_t* sizes) {
  if (depth == 0) return -1;
  for (std::int64_t t = 0, k = 0; t < tuples; ++t)
    for (std::int64_t d = 0; d < depth; ++d, ++k)
      if (indices[k] < 0 || indices[k] >= sizes[d]) return k;
  return -1;
}

void last_of_equal(const Tuples& tuples, std::int64_t count, bool* last) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return tuples[a] < tuples[b]; });
  for (std::size_t i = 0; i < order.size(); ++i)
    last[order[i]] = i + 1 == order.size() || tuples[order[i]] != tuples[order[i + 1]];
}

std::int64_t count_true(const bool* mask, std::int64_t count) { return std::count(mask, mask + count, true); }

void compress_rows(const char* whole, const bool* mask, std::int64_t outer, std::int64_t count, std::size_t row_bytes, char* kept) {
  if (row_bytes == 0) return;
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t k = 0; k < count; ++k, whole += row_bytes)
      if (mask[k]) {
        std::memcpy(kept, whole, row_bytes);
        kept += row_bytes;
      }
}

void expand_rows(const char* kept, const bool* mask, std::int64_t outer, std::int64_t count, std::size_t row_bytes, char* whole) {
  if (row_bytes == 0) return;
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t k = 0; k < count; ++k, whole += row_bytes)
      if (mask[k]) {
        std::memcpy(whole, kept, row_bytes);
        kept += row_bytes;
      } else {
        std::memset(whole, 0, row_bytes);
      }
}

}  // namespace weft::inline v0::kernels
