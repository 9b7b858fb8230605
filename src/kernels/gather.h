// Moving rows by index: gather, scatter, masks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/pool.h"

namespace weft::inline v0::kernels {

/// A list of i32 or i64 indices, read as 64-bit numbers.
struct Indices {
  const void* data;
  bool wide;
  std::int64_t operator[](std::int64_t k) const {
    return wide ? static_cast<const std::int64_t*>(data)[k] : static_cast<const std::int32_t*>(data)[k];
  }
};

/// The first k < count with an index outside [0, size), or -1.
std::int64_t first_outside(Indices indices, std::int64_t count, std::int64_t size);
/// The same for tuples of `depth` indices, the d-th of which must be below sizes[d].
std::int64_t first_tuple_outside(Indices indices, std::int64_t tuples, std::int64_t depth, const std::int64_t* sizes);

/// Tuples of indices as positions of slices in row-major order. REQUIRES: every index is in range.
struct Tuples {
  Indices indices;
  std::int64_t depth;
  const std::int64_t* sizes;         // of the indexed axes
  std::int64_t tuples_of_batch;      // the k-th tuple belongs to batch k / tuples_of_batch,
  std::int64_t slices_of_batch;      // whose slices come after those of the batches before it
  std::int64_t operator[](std::int64_t k) const {
    std::int64_t flat = 0;
    for (std::int64_t d = 0; d < depth; ++d) flat = flat * sizes[d] + indices[k * depth + d];
    return flat + k / tuples_of_batch * slices_of_batch;
  }
};

/// last[k] says whether no later tuple names the same slice as tuple k.
void last_of_equal(const Tuples& tuples, std::int64_t count, bool* last);

/// How rows lie in the two tensors: many [batch, outer, count, row], few [batch, outer, size, row], indices [batch, count].
struct Rows {
  std::int64_t batch = 1, outer = 1, count, size;
};

/// What a chunk of row work should move to be worth a thread's while.
inline constexpr std::int64_t kRowWorkBytes = std::int64_t{64} << 10;

template <std::size_t Bytes, class At>
void gather_rows_of(const char* x, const At& at, Rows rows, std::size_t row_bytes, char* y) {
  if constexpr (Bytes != 0) row_bytes = Bytes;
  const std::int64_t grain = std::max<std::int64_t>(1, kRowWorkBytes / static_cast<std::int64_t>(row_bytes));
  parallel_ranges(rows.batch * rows.outer * rows.count, grain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t k = begin % rows.count, plane = begin / rows.count;
    char* to = y + static_cast<std::size_t>(begin) * row_bytes;
    for (std::int64_t left = end - begin; left > 0; k = 0, ++plane) {
      const char* from = x + static_cast<std::size_t>(plane * rows.size) * row_bytes;
      const std::int64_t first = plane / rows.outer * rows.count;
      for (; k < rows.count && left > 0; ++k, --left, to += row_bytes) std::memcpy(to, from + static_cast<std::size_t>(at[first + k]) * row_bytes, row_bytes);
    }
  });
}

/// y[b][o][k] = x[b][o][at[b * count + k]], rows of row_bytes each.
template <class At>
void gather_rows(const char* x, const At& at, Rows rows, std::size_t row_bytes, char* y) {
  if (row_bytes == 4) gather_rows_of<4>(x, at, rows, row_bytes, y);
  else if (row_bytes == 8) gather_rows_of<8>(x, at, rows, row_bytes, y);
  else if (row_bytes != 0) gather_rows_of<0>(x, at, rows, row_bytes, y);
}

/// y[b][o][at[b * count + k]] = combine(itself, x[b][o][k]), rows of `width` elements, in the order of k. Planes (b, o) and columns may be
/// combined in any order, so threads share those; the rows of one plane that meet in one place stay in order.
template <class T, class At, class Combine>
void scatter_rows(const T* x, const At& at, Rows rows, std::int64_t width, T* y, const Combine& combine) {
  constexpr std::int64_t kColumns = 64 / static_cast<std::int64_t>(sizeof(T)) * 4;  // whole cache lines
  const std::int64_t planes = rows.batch * rows.outer, parts = (width + kColumns - 1) / kColumns;
  const std::int64_t item_bytes = std::max<std::int64_t>(1, rows.count * std::min(width, kColumns) * static_cast<std::int64_t>(sizeof(T)));
  parallel_ranges(planes * parts, std::max<std::int64_t>(1, kRowWorkBytes / item_bytes), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t plane = item / parts, column = item % parts * kColumns, columns = std::min(kColumns, width - column);
      const T* from = x + plane * rows.count * width + column;
      T* plane_of_y = y + plane * rows.size * width + column;
      const std::int64_t first = plane / rows.outer * rows.count;
      for (std::int64_t k = 0; k < rows.count; ++k, from += width) {
        T* to = plane_of_y + at[first + k] * width;
        for (std::int64_t c = 0; c < columns; ++c) to[c] = combine(to[c], from[c]);
      }
    }
  });
}

std::int64_t count_true(const bool* mask, std::int64_t count);
/// Between whole [outer, count, row] and the rows [outer, trues, row] at which the mask holds.
void compress_rows(const char* whole, const bool* mask, std::int64_t outer, std::int64_t count, std::size_t row_bytes, char* kept);
/// The rows at which the mask does not hold become zero bytes.
void expand_rows(const char* kept, const bool* mask, std::int64_t outer, std::int64_t count, std::size_t row_bytes, char* whole);

}  // namespace weft::inline v0::kernels
