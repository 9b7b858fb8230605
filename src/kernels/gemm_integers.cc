// Products of matrices of integers, which wrap.
#include "kernels/gemm_parts.h"

#include <algorithm>
#include <memory>

namespace weft::inline v0::kernels {
namespace {

using Size = std::int64_t;

constexpr Size kRows = 4, kCols = 8;     // the tile that stays in registers
constexpr Size kColBlock = 256, kGemmBlock = 256;  // columns and rows of b packed at a time: they fit the second-level cache
constexpr Size kTiny = 512;              // products below which packing costs more than it saves

// out[panel][p][0..W): `count` lines of k elements in panels of W lines; the last panel is filled up with zeros.
template <Size W, class T>
void pack(const T* from, Size line, Size along, Size count, Size k, Sum<T>* out) {
  for (Size first = 0; first < count; first += W, out += W * k) {
    const Size width = std::min(W, count - first);
    const T* panel = from + first * line;
    if (width < W) std::fill_n(out, W * k, Sum<T>(0));
    if (line == 1) {
      for (Size p = 0; p < k; ++p)
        for (Size w = 0; w < width; ++w) out[p * W + w] = panel[p * along + w];
    } else {
      for (Size w = 0; w < width; ++w)
        for (Size p = 0; p < k; ++p) out[p * W + w] = panel[w * line + p * along];
    }
  }
}

// A tile of R rows: a is packed [k][R], b is packed [k][kCols].
template <Size R, class T>
void tile(Size k, const Sum<T>* a, const Sum<T>* b, Matrix<T> c, Size cols, bool first_block) {
  Sum<T> sums[R][kCols] = {};
  for (Size p = 0; p < k; ++p)
    for (Size r = 0; r < R; ++r)
      for (Size j = 0; j < kCols; ++j) sums[r][j] += a[p * R + r] * b[p * kCols + j];
  for (Size r = 0; r < R; ++r)
    for (Size j = 0; j < cols; ++j) {
      T& to = c.data[r * c.row + j * c.col];
      to = static_cast<T>(first_block ? sums[r][j] : to + sums[r][j]);
    }
}

template <Size R, class T>
void row_of_tiles(Size n, Size k, Matrix<const T> a, const Sum<T>* packed_b, Matrix<T> c, bool first_block) {
  Sum<T> packed_a[R * kGemmBlock];
  pack<R>(a.data, a.row, a.col, R, k, packed_a);
  for (Size j = 0; j < n; j += kCols)
    tile<R>(k, packed_a, packed_b + j * k, Matrix<T>{c.data + j * c.col, c.row, c.col}, std::min(kCols, n - j), first_block);
}

}  // namespace

template <class T>
void integer_gemm(Size m, Size n, Size k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
  if (k == 0 || (m == 1 && n == 1) || m * n <= kTiny / k) return gemm_reference(m, n, k, a, b, c);
  if (n < kCols && n < m)  // a tile is wider than high: the transposed product wastes less of it
    return integer_gemm<T>(n, m, k, {b.data, b.col, b.row}, {a.data, a.col, a.row}, {c.data, c.col, c.row});
  const Size room = std::min(k, kGemmBlock) * round_up(std::min(n, kColBlock), kCols);
  const auto packed_b = std::make_unique_for_overwrite<Sum<T>[]>(static_cast<std::size_t>(room));
  for (Size j = 0; j < n; j += kColBlock) {
    const Size cols = std::min(kColBlock, n - j);
    for (Size p = 0; p < k; p += kGemmBlock) {
      const Size depth = std::min(kGemmBlock, k - p);
      pack<kCols>(b.data + p * b.row + j * b.col, b.col, b.row, cols, depth, packed_b.get());
      const auto part = [&](Size i) { return Matrix<const T>{a.data + i * a.row + p * a.col, a.row, a.col}; };
      const auto result = [&](Size i) { return Matrix<T>{c.data + i * c.row + j * c.col, c.row, c.col}; };
      Size i = 0;
      for (; i + kRows <= m; i += kRows) row_of_tiles<kRows>(cols, depth, part(i), packed_b.get(), result(i), p == 0);
      for (; i < m; ++i) row_of_tiles<1>(cols, depth, part(i), packed_b.get(), result(i), p == 0);
    }
  }
}

template void integer_gemm(Size, Size, Size, Matrix<const std::uint8_t>, Matrix<const std::uint8_t>, Matrix<std::uint8_t>);
template void integer_gemm(Size, Size, Size, Matrix<const std::uint16_t>, Matrix<const std::uint16_t>, Matrix<std::uint16_t>);
template void integer_gemm(Size, Size, Size, Matrix<const std::uint32_t>, Matrix<const std::uint32_t>, Matrix<std::uint32_t>);
template void integer_gemm(Size, Size, Size, Matrix<const std::uint64_t>, Matrix<const std::uint64_t>, Matrix<std::uint64_t>);

}  // namespace weft::inline v0::kernels
