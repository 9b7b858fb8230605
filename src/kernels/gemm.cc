#include "kernels/gemm.h"

#include <algorithm>
#include <concepts>
#include <memory>
#include <type_traits>

#include <weft/dtype.h>
#include <weft/error.h>

#include "base/memory.h"
#include "base/pool.h"
#include "kernels/gemm_tiles.h"

namespace weft::inline v0::kernels {
namespace {

using Size = std::int64_t;

// Narrow integers would be promoted to int, whose overflow is undefined: they add up in 32 bits and are cut once.
template <class T>
using Sum = std::conditional_t<(sizeof(T) < 4), std::uint32_t, T>;

Size parts_of(Size size, Size step) { return (size + step - 1) / step; }
Size round_up(Size size, Size step) { return parts_of(size, step) * step; }

template <class T>
Matrix<T> transposed(Matrix<T> x) {
  return {x.data, x.col, x.row};
}

// Memory for packed factors. The allocator keeps it for the next product.
template <class T>
class Scratch {
 public:
  explicit Scratch(Size elements) : block_(allocate_block(std::max<std::size_t>(1, static_cast<std::size_t>(elements) * sizeof(T)))) {
    if (block_.start == nullptr)
      throw OutOfMemoryError("", "there is no memory left to lay out the factors of a product; use smaller shapes.", {});
  }
  ~Scratch() { free_block(block_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* get() const { return static_cast<T*>(block_.start); }

 private:
  Block block_;
};

// --- floats ---

// Along k a product falls into equal blocks of at most this many: a panel of b, 64 bytes wide with AVX2, takes half of the first-level
// cache.
constexpr Size kDepth = 256;
// Products (of numbers) below which one thread is faster than two.
constexpr Size kSerial = 64 * 64 * 64;
// Elements of a factor that are packed at a time.
constexpr Size kPacked = 4 << 20;

// `total` lines in `count` pieces of nearly equal size, each but the last a multiple of `unit`.
struct Pieces {
  Size total, unit, count;
  Size start(Size i) const { return std::min(total, parts_of(total, unit) * i / count * unit); }
  Size size(Size i) const { return start(i + 1) - start(i); }
};

template <class Body>
void run(bool serial, Size chunks, const Body& body) {
  if (!serial) return parallel_for(chunks, body);
  for (Size i = 0; i < chunks; ++i) body(i);
}

template <class T>
const GemmTiles<T>& tiles_of(const GemmKernels& kernels) {
  if constexpr (std::same_as<T, float>) return kernels.f32;
  else return kernels.f64;
}

template <class T, class S>
constexpr Stored stored_as() {
  return std::same_as<T, S> ? Stored::kAsComputed : std::same_as<S, float16> ? Stored::kF16 : Stored::kBF16;
}

// How rows and columns fall into tasks: pieces that suit the second-level cache, then smaller ones until there are enough of them.
void split(Pieces& rows, Pieces& cols, Size products) {
  rows.count = parts_of(rows.total, 16 * rows.unit);
  cols.count = parts_of(cols.total, 16 * cols.unit);
  const Size wanted = std::min<Size>(64, products >> 20);
  while (rows.count * cols.count < wanted) {
    Pieces& larger = rows.total / rows.count > cols.total / cols.count ? rows : cols;
    if (larger.total / larger.count < 4 * larger.unit) return;
    larger.count *= 2;
  }
}

// Packs both factors, then multiplies them. Tasks are pieces of c; each adds up all of k, block by block.
template <class T, class S>
void packed_product(const GemmTiles<T>& tiles, Size m, Size n, Size k, Matrix<const S> a, Matrix<const S> b, T* c, Size c_row) {
  constexpr Stored stored = stored_as<T, S>();
  const bool serial = m * n * k < kSerial;
  const Pieces depths{k, 1, parts_of(k, kDepth)};
  Pieces rows{m, tiles.rows, 1}, cols{n, tiles.cols, 1};
  split(rows, cols, m * n * k);
  const Size width = round_up(n, tiles.cols);
  const Scratch<T> left(m * k), right(width * k);
  const auto left_at = [&](Size d, Size i) { return left.get() + depths.start(d) * m + i * depths.size(d); };
  const auto right_at = [&](Size d, Size j) { return right.get() + depths.start(d) * width + j * depths.size(d); };

  run(serial, depths.count * (rows.count + cols.count), [&](Size task) {
    const Size d = task / (rows.count + cols.count), piece = task % (rows.count + cols.count) - rows.count, p = depths.start(d);
    if (piece < 0) {
      const Size i = rows.start(piece + rows.count);
      tiles.pack_left(stored, a.data + i * a.row + p * a.col, a.row, a.col, rows.size(piece + rows.count), depths.size(d), left_at(d, i));
    } else {
      const Size j = cols.start(piece);
      tiles.pack_right(stored, b.data + p * b.row + j * b.col, b.col, b.row, cols.size(piece), depths.size(d), right_at(d, j));
    }
  });
  run(serial, rows.count * cols.count, [&](Size task) {
    const Size r = task % rows.count, q = task / rows.count, i = rows.start(r), j = cols.start(q);
    for (Size d = 0; d < depths.count; ++d)
      tiles.multiply(rows.size(r), cols.size(q), depths.size(d), {LeftBlock<T>::kPacked, left_at(d, i), 0},
                     {right_at(d, j), tiles.cols, tiles.cols * depths.size(d), true}, c + i * c_row + j, c_row, d > 0);
  });
}

// Factors as they lie, where the tiles can read them so; b is packed if it lies by columns.
template <class T>
void direct_product(const GemmTiles<T>& tiles, Size m, Size n, Size k, Matrix<const T> a, Matrix<const T> b, T* c, Size c_row) {
  const Pieces depths{k, 1, parts_of(k, kDepth)};
  for (Size d = 0; d < depths.count; ++d) {
    const Size p = depths.start(d);
    const LeftBlock<T> left = a.col == 1 ? LeftBlock<T>{LeftBlock<T>::kRows, a.data + p, a.row}
                                         : LeftBlock<T>{LeftBlock<T>::kColumns, a.data + p * a.col, a.col};
    tiles.multiply(m, n, depths.size(d), left, {b.data + p * b.row, b.row, tiles.cols, false}, c, c_row, d > 0);
  }
}

template <class T>
void scatter(Size m, Size n, const T* from, Matrix<T> to) {
  for (Size i = 0; i < m; ++i)
    for (Size j = 0; j < n; ++j) to.data[i * to.row + j * to.col] = from[i * n + j];
}

constexpr Size kVectorTask = 1 << 16;  // products of a vector and a matrix: elements of the matrix in one task

// y[j] = sum over p of x[p * x_step] * b[p, j]; y[j] at y + j * y_step.
template <class T>
void vector_product(const GemmTiles<T>& tiles, Size n, Size k, const T* x, Size x_step, Matrix<const T> b, T* y, Size y_step) {
  const bool serial = n * k < 4 * kVectorTask;
  if (b.row == 1) {
    std::unique_ptr<Scratch<T>> dense;
    if (x_step != 1) {
      dense = std::make_unique<Scratch<T>>(k);
      for (Size p = 0; p < k; ++p) dense->get()[p] = x[p * x_step];
      x = dense->get();
    }
    const Pieces lines{n, 4, std::clamp<Size>(n * k / kVectorTask, 1, parts_of(n, 4))};
    return run(serial, lines.count, [&](Size task) {
      const Size j = lines.start(task);
      tiles.matrix_by_column(lines.size(task), k, b.data + j * b.col, b.col, x, y + j * y_step, y_step);
    });
  }
  const Pieces lines{n, 64, std::clamp<Size>(n * k / kVectorTask, parts_of(n, 2048), parts_of(n, 256))};
  run(serial, lines.count, [&](Size task) {
    const Size j = lines.start(task);
    tiles.row_by_matrix(lines.size(task), k, x, x_step, b.data + j, b.row, y + j);
  });
}

// Work of a block in products of numbers below which the factors are taken as they lie.
constexpr Size kDirect = 48 * 48 * 48;

template <class T>
void float_gemm(const GemmTiles<T>& tiles, Size m, Size n, Size k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
  if (n == 1) c.col = 1;
  if (m == 1) c.row = n;
  if (c.col != 1 && c.row == 1) return float_gemm<T>(tiles, n, m, k, transposed(b), transposed(a), transposed(c));
  if (c.col != 1) {
    const Scratch<T> dense(m * n);
    float_gemm<T>(tiles, m, n, k, a, b, {dense.get(), n, 1});
    return scatter(m, n, dense.get(), c);
  }
  if (m == 1 && (b.col == 1 || b.row == 1)) return vector_product(tiles, n, k, a.data, a.col, b, c.data, 1);
  if (n == 1 && (a.col == 1 || (a.row == 1 && c.row == 1))) return vector_product(tiles, m, k, b.data, b.row, transposed(a), c.data, c.row);
  const bool as_it_lies = b.col == 1 && (a.col == 1 || a.row == 1);
  if (as_it_lies && (m * n * k <= kDirect || m <= 2 * tiles.rows)) return direct_product(tiles, m, n, k, a, b, c.data, c.row);
  const Size most = std::max<Size>(256, kPacked / k), most_rows = round_up(most, tiles.rows), most_cols = round_up(most, tiles.cols);
  for (Size i = 0; i < m; i += most_rows)
    for (Size j = 0; j < n; j += most_cols)
      packed_product<T, T>(tiles, std::min(most_rows, m - i), std::min(most_cols, n - j), k, {a.data + i * a.row, a.row, a.col},
                           {b.data + j * b.col, b.row, b.col}, c.data + i * c.row + j, c.row);
}

// --- integers ---

constexpr Size kRows = 4, kCols = 8;     // the tile that stays in registers
constexpr Size kColBlock = 256;          // columns of b packed at a time: with kGemmBlock rows they fit the second-level cache
constexpr Size kSmall = 512;             // products below which packing costs more than it saves
constexpr Size kGemmBlock = 256;

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

template <class T>
void integer_gemm(Size m, Size n, Size k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
  if (k == 0 || (m == 1 && n == 1) || m * n <= kSmall / k) return gemm_reference(m, n, k, a, b, c);
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

}  // namespace

template <class T>
void gemm_reference(Size m, Size n, Size k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
  for (Size i = 0; i < m; ++i)
    for (Size j = 0; j < n; ++j) {
      Sum<T> sum = 0;
      for (Size p = 0; p < k; ++p) sum += static_cast<Sum<T>>(a.data[i * a.row + p * a.col]) * b.data[p * b.row + j * b.col];
      c.data[i * c.row + j * c.col] = static_cast<T>(sum);
    }
}

template <class T>
void gemm(Isa isa, Size m, Size n, Size k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
  if (m == 0 || n == 0) return;
  if constexpr (!std::floating_point<T>) return integer_gemm<T>(m, n, k, a, b, c);
  else if (k == 0) return gemm_reference<T>(m, n, k, a, b, c);
  else float_gemm<T>(tiles_of<T>(gemm_kernels(isa)), m, n, k, a, b, c);
}

template void gemm(Isa, Size, Size, Size, Matrix<const float>, Matrix<const float>, Matrix<float>);
template void gemm_reference(Size, Size, Size, Matrix<const float>, Matrix<const float>, Matrix<float>);
template void gemm(Isa, Size, Size, Size, Matrix<const double>, Matrix<const double>, Matrix<double>);
template void gemm_reference(Size, Size, Size, Matrix<const double>, Matrix<const double>, Matrix<double>);
template void gemm(Isa, Size, Size, Size, Matrix<const std::uint8_t>, Matrix<const std::uint8_t>, Matrix<std::uint8_t>);
template void gemm_reference(Size, Size, Size, Matrix<const std::uint8_t>, Matrix<const std::uint8_t>, Matrix<std::uint8_t>);
template void gemm(Isa, Size, Size, Size, Matrix<const std::uint16_t>, Matrix<const std::uint16_t>, Matrix<std::uint16_t>);
template void gemm_reference(Size, Size, Size, Matrix<const std::uint16_t>, Matrix<const std::uint16_t>, Matrix<std::uint16_t>);
template void gemm(Isa, Size, Size, Size, Matrix<const std::uint32_t>, Matrix<const std::uint32_t>, Matrix<std::uint32_t>);
template void gemm_reference(Size, Size, Size, Matrix<const std::uint32_t>, Matrix<const std::uint32_t>, Matrix<std::uint32_t>);
template void gemm(Isa, Size, Size, Size, Matrix<const std::uint64_t>, Matrix<const std::uint64_t>, Matrix<std::uint64_t>);
template void gemm_reference(Size, Size, Size, Matrix<const std::uint64_t>, Matrix<const std::uint64_t>, Matrix<std::uint64_t>);

}  // namespace weft::inline v0::kernels
