// What gemm.cc needs from each instruction set: packing, and products of packed or unpacked blocks (isa/gemm.cc).
#pragma once

#include <cstdint>

#include "kernels/isa.h"

namespace weft::inline v0::kernels {

/// How the elements of a factor are stored; 16-bit floats are widened while they are packed.
enum class Stored : unsigned char { kAsComputed, kF16, kBF16 };

/// m x k, in one of three forms. Packed: strips of rows that differ in height by one at most, none higher than GemmTiles::rows, each
/// stored [k][height] right after the one before.
template <class T>
struct LeftBlock {
  enum Form : unsigned char { kRows, kColumns, kPacked } form;
  const T* data;
  std::int64_t stride;  // kRows: from row to row, k contiguous; kColumns: from k to k, rows contiguous
};

/// k x n. Panels of GemmTiles::cols columns; j-th panel at data + j * panel, p-th row of it p * stride further.
template <class T>
struct RightBlock {
  const T* data;
  std::int64_t stride, panel;
  bool padded;  // the last panel may be read to its full width
  T* copy = nullptr;  // of a matrix as it lies: room for a panel, k * GemmTiles::cols; the first strip of rows puts it there for the others
};

template <class T>
struct GemmTiles {
  std::int64_t rows, cols;  // of a tile
  std::int64_t depth;  // by measurement: most products fall into equal blocks along k of at most this many
  std::int64_t group;  // elements of b that stay in the second-level cache beside what passes by
  std::int64_t together, few;  // rows that rows_by_matrix takes side by side, and at most
  /// c = a * b, or c += a * b; c has contiguous columns.
  void (*multiply)(std::int64_t m, std::int64_t n, std::int64_t k, LeftBlock<T> a, RightBlock<T> b, T* c, std::int64_t c_row, bool add);
  /// `count` lines of k elements, `line` and `along` their strides: to strips of rows, or to panels of columns padded with zeros.
  void (*pack_left)(Stored stored, const void* from, std::int64_t line, std::int64_t along, std::int64_t count, std::int64_t k, T* to);
  void (*pack_right)(Stored stored, const void* from, std::int64_t line, std::int64_t along, std::int64_t count, std::int64_t k, T* to);
  /// y[i * y_row + j] = sum over p of x[i * x_row + p * x_step] * b[p * b_row + j], a chain of additions over p; of more than `together` rows,
  /// or of fewer columns than a vector has where x_row or x_step is 1, over blocks of p. REQUIRES: 1 <= m <= few, and one of those is 1 where
  /// m > together. Rows of b are read whole, so those of y should fit the
  /// first-level cache where m <= together.
  void (*rows_by_matrix)(std::int64_t m, std::int64_t n, std::int64_t k, const T* x, std::int64_t x_row, std::int64_t x_step, const T* b,
                         std::int64_t b_row, T* y, std::int64_t y_row);
  /// y[i * y_step] = sum over p of a[i * a_row + p] * x[p]; the order of additions depends on k.
  void (*matrix_by_column)(std::int64_t m, std::int64_t k, const T* a, std::int64_t a_row, const T* x, T* y, std::int64_t y_step);
};

struct GemmKernels {
  GemmTiles<float> f32;
  GemmTiles<double> f64;
};

WEFT_ISA_TABLE(GemmKernels, gemm_kernels)

}  // namespace weft::inline v0::kernels
