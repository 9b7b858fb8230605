// Moving elements between strided boxes. Elements are bytes: no dtype is known here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <weft/small_vector.h>

namespace weft::inline v0::kernels {

inline constexpr int kMaxBoxRank = 64;  // tile sees every axis of a tensor as two

/// Copies the box of the given sizes. `from` and `to` are its first element on either side; strides count elements and may be
/// negative, or 0 in `from_strides`. REQUIRES: rank <= kMaxBoxRank, element_size 1, 2, 4 or 8, and the sides do not overlap.
void copy_box(const void* from, const std::int64_t* from_strides, void* to, const std::int64_t* to_strides, const std::int64_t* sizes,
              int rank, std::size_t element_size);

/// Copies `rows` runs of `bytes` bytes that lie `from_stride` and `to_stride` bytes apart.
void copy_rows(const void* from, std::size_t from_stride, void* to, std::size_t to_stride, std::size_t rows, std::size_t bytes);

/// A part of every row of a whole: its rows lie one after the other, each of `bytes` bytes.
template <class Byte>
struct RowPart {
  Byte* data;
  std::size_t bytes;
};
/// Between `rows` rows that lie one after the other and the parts that are side by side in each of them, without overlap. REQUIRES: the whole is in
/// memory, or there are no rows or no bytes in them; then nothing is looked at.
void join_rows(std::span<const RowPart<const char>> parts, std::size_t rows, char* whole);
void cut_rows(const char* whole, std::size_t rows, std::span<const RowPart<char>> parts);

/// Along one axis: to[to_start + k] belongs to from[from_start + k * step], for k < count.
struct Piece {
  std::int64_t to_start, from_start, count, step;
};
using Pieces = SmallVector<Piece, 3>;

/// Calls box(from_offset, to_offset, from_strides, sizes) for every combination of one piece per axis that holds elements, in
/// the order of the pieces, the last axis fastest.
template <class F>
void for_each_box(std::span<const Pieces> axes, const std::int64_t* from_strides, const std::int64_t* to_strides, const F& box) {
  const std::size_t rank = axes.size();
  std::int64_t sizes[kMaxBoxRank], steps[kMaxBoxRank];
  std::size_t chosen[kMaxBoxRank] = {};
  for (const Pieces& pieces : axes)
    if (pieces.empty()) return;
  while (true) {
    std::int64_t from = 0, to = 0;
    bool empty = false;
    for (std::size_t a = 0; a < rank; ++a) {
      const Piece& piece = axes[a][chosen[a]];
      from += piece.from_start * from_strides[a];
      to += piece.to_start * to_strides[a];
      sizes[a] = piece.count;
      steps[a] = piece.count > 1 ? piece.step * from_strides[a] : 0;
      empty = empty || piece.count == 0;
    }
    if (!empty) box(from, to, static_cast<const std::int64_t*>(steps), static_cast<const std::int64_t*>(sizes));
    std::size_t a = rank;
    while (a > 0 && ++chosen[a - 1] == axes[a - 1].size()) chosen[--a] = 0;
    if (a == 0) return;
  }
}

/// to = from rearranged by the pieces. Elements of `to` that no piece names stay as they are.
void copy_pieces(const void* from, const std::int64_t* from_strides, void* to, const std::int64_t* to_strides,
                 std::span<const Pieces> axes, std::size_t element_size);

/// The transpose of copy_pieces: from += to, element by element, in the order of for_each_box.
void add_pieces(float* from, const std::int64_t* from_strides, const float* to, const std::int64_t* to_strides, std::span<const Pieces> axes);
void add_pieces(double* from, const std::int64_t* from_strides, const double* to, const std::int64_t* to_strides, std::span<const Pieces> axes);

/// The two sides of space_to_batch. `space` is [batch, space..., inner], `blocks` is [product of block * batch, size..., inner]:
/// blocks[offset * batch + n, p..., i] = space[n, p * block + offset - before..., i] where that lies inside. One call moves
/// elements in one direction; those of `to` without a partner stay as they are.
struct BlockGrid {
  int rank;                    // number of blocked axes
  const std::int64_t* space;   // their sizes on the side of `space`
  const std::int64_t* blocks;  // and on the side of `blocks`
  const std::int64_t* block;   // >= 1
  const std::int64_t* before;  // padding that `space` does not hold, >= 0
  std::int64_t batch, inner;   // of `space`
};
void space_to_blocks(const void* space, void* blocks, const BlockGrid& grid, std::size_t element_size);
void blocks_to_space(const void* blocks, void* space, const BlockGrid& grid, std::size_t element_size);

}  // namespace weft::inline v0::kernels
