// Products of few rows, of one above all, and of a matrix and a column. For files in this folder only.
#pragma once

#include "kernels/isa/tile_fns.h"

namespace weft::inline v0::kernels::WEFT_ISA {
namespace {

// Rows of b that are read side by side, and rows of y that take what is read together: their factors stay in registers.
constexpr int kSide = 4, kTogether = kVectorBytes == 64 ? 4 : 2;

// y += x * b, or y = x * b, for R rows of y and `side` rows of b.
template <int R, bool AllSides, class T>
WEFT_INLINE void add_rows(Size n, int side, const T* x, Size x_row, Size x_step, const T* b, Size b_row, T* y, Size y_row, bool add) {
  constexpr int L = kLanes<T>, V = R == 1 ? 2 : 1;
  Vector<T> factors[R][kSide];
  for (int d = 0; d < side; ++d)
    WEFT_UNROLL for (int i = 0; i < R; ++i) factors[i][d] = spread(x[i * x_row + d * x_step]);
  Size j = 0;
  if constexpr (AllSides) {
    for (; j + V * L <= n; j += V * L) {
      Vector<T> sums[R][V] = {};
      if (add)
        WEFT_UNROLL for (int i = 0; i < R; ++i)
          WEFT_UNROLL for (int v = 0; v < V; ++v) sums[i][v] = load(y + i * y_row + j + v * L);
      WEFT_UNROLL for (int d = 0; d < kSide; ++d)
        WEFT_UNROLL for (int v = 0; v < V; ++v) {
          const Vector<T> right = load(b + d * b_row + j + v * L);
          WEFT_UNROLL for (int i = 0; i < R; ++i) sums[i][v] = multiply_add(factors[i][d], right, sums[i][v]);
        }
      WEFT_UNROLL for (int i = 0; i < R; ++i)
        WEFT_UNROLL for (int v = 0; v < V; ++v) store(y + i * y_row + j + v * L, sums[i][v]);
    }
  }
  for (; j < n; j += L) {
    const First<T> first{static_cast<int>(least(L, n - j))};
    WEFT_UNROLL for (int i = 0; i < R; ++i) {
      Vector<T> sum = add ? load(y + i * y_row + j, first) : Vector<T>{};
      for (int d = 0; d < side; ++d) sum = multiply_add(factors[i][d], load(b + d * b_row + j, first), sum);
      store(y + i * y_row + j, sum, first);
    }
  }
}

// Tiles of a few rows, wide ones while there are columns for them. Of b a block of rows is passed over at a time: by measurement as many as leave the
// sums that are loaded and stored in between without weight, and no more than memory can bring side by side.
template <class T>
void strips_by_matrix(Size m, Size n, Size k, const T* x, Size x_row, Size x_step, const T* b, Size b_row, T* y, Size y_row) {
  constexpr Size kDepth = 64;
  const bool by_rows = x_step == 1;
  const Strips strips(m, kWideRows);
  for (Size p = 0; p < k; p += kDepth)
    for (Size j = 0, cols; j < n; j += cols) {
      const bool wide = n - j >= kWideCols<T>;
      cols = wide ? kWideCols<T> : least(n - j, kTileCols<T>);
      const TileFns<T>& tiles = wide ? kWideTiles<T>[by_rows] : kTiles<T>[by_rows][cols <= kLanes<T> ? 0 : cols < kTileCols<T> ? 1 : 2];
      for (Size s = 0; s < strips.count; ++s) {
        const Size i = strips.start(s);
        tiles.at[strips.rows(s) - 1](least(kDepth, k - p), x + i * x_row + p * x_step, by_rows ? x_row : x_step, b + p * b_row + j, b_row, y + i * y_row + j,
                                     y_row, static_cast<int>(cols), p > 0);
      }
    }
}

template <class T>
void rows_by_matrix(Size m, Size n, Size k, const T* x, Size x_row, Size x_step, const T* b, Size b_row, T* y, Size y_row) {
  const bool narrow = n < kLanes<T> && (x_row == 1 || x_step == 1);  // to load and store sums for every few rows of b would take longer than to add to them
  if (m > kTogether || narrow) return strips_by_matrix(m, n, k, x, x_row, x_step, b, b_row, y, y_row);
  with_count<kTogether>(static_cast<int>(m), [&](auto rows) __attribute__((always_inline)) {
    constexpr int R = decltype(rows)::value;
    Size p = 0;
    for (; p + kSide <= k; p += kSide) add_rows<R, true>(n, kSide, x + p * x_step, x_row, x_step, b + p * b_row, b_row, y, y_row, p > 0);
    if (p < k) add_rows<R, false>(n, static_cast<int>(k - p), x + p * x_step, x_row, x_step, b + p * b_row, b_row, y, y_row, p > 0);
  });
}

template <class T>
WEFT_INLINE T sum_of(Vector<T> v) {
  T lanes[kLanes<T>];
  store(lanes, v);
  WEFT_UNROLL for (int half = kLanes<T> / 2; half > 0; half /= 2)
    WEFT_UNROLL for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

template <int R, class T>
WEFT_INLINE void dots(Size k, const T* a, Size a_row, const T* x, T* y, Size y_step) {
  constexpr int L = kLanes<T>, kChains = 2;
  Vector<T> sums[R][kChains];
  WEFT_UNROLL for (int i = 0; i < R; ++i)
    WEFT_UNROLL for (int u = 0; u < kChains; ++u) sums[i][u] = Vector<T>{};
  Size p = 0;
  for (; p + kChains * L <= k; p += kChains * L)
    WEFT_UNROLL for (int u = 0; u < kChains; ++u) {
      const Vector<T> right = load(x + p + u * L);
      WEFT_UNROLL for (int i = 0; i < R; ++i) sums[i][u] = multiply_add(load(a + i * a_row + p + u * L), right, sums[i][u]);
    }
  for (; p < k; p += L) {
    const First<T> first{static_cast<int>(least(L, k - p))};
    const Vector<T> right = load(x + p, first);
    WEFT_UNROLL for (int i = 0; i < R; ++i) sums[i][0] = multiply_add(load(a + i * a_row + p, first), right, sums[i][0]);
  }
  WEFT_UNROLL for (int i = 0; i < R; ++i) y[i * y_step] = sum_of<T>(sums[i][0] + sums[i][1]);
}

template <class T>
void matrix_by_column(Size m, Size k, const T* a, Size a_row, const T* x, T* y, Size y_step) {
  Size i = 0;
  for (; i + 4 <= m; i += 4) dots<4, T>(k, a + i * a_row, a_row, x, y + i * y_step, y_step);
  for (; i < m; ++i) dots<1, T>(k, a + i * a_row, a_row, x, y + i * y_step, y_step);
}

}  // namespace
}  // namespace weft::inline v0::kernels::WEFT_ISA
