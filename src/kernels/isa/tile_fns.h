// Tiles as functions, one for each height, and strips of rows. For files in this folder only.
#pragma once

#include <type_traits>

#include "kernels/isa/microtile.h"

namespace weft::inline v0::kernels::WEFT_ISA {
namespace {

using Size = std::int64_t;

WEFT_INLINE Size least(Size a, Size b) { return a < b ? a : b; }

// Rows in strips of nearly equal height: a low one would leave the multipliers waiting.
struct Strips {
  Size count, height, higher;  // the first `higher` have one row more
  WEFT_INLINE explicit Strips(Size m, Size most = kTileRows) : count((m + most - 1) / most), height(m / count), higher(m % count) {}
  WEFT_INLINE Size start(Size s) const { return s * height + least(s, higher); }
  WEFT_INLINE int rows(Size s) const { return static_cast<int>(height + (s < higher ? 1 : 0)); }
};

// Lower and wider ones, for a matrix b too large for the caches: while a tile is computed memory brings what lies behind it in its rows, for the next.
constexpr int kWideRows = kVectorBytes == 64 ? 8 : 4, kWideVectors = 3, kMostFew = kVectorBytes == 64 ? 24 : 8;
template <class T>
constexpr int kWideCols = kWideVectors * kLanes<T>;
template <class T>
struct Ahead {
  const T* base;
  Size step;
  WEFT_INLINE void start(Size, Size) {}
  WEFT_INLINE const T* row(Size p) const {
    constexpr int kLine = 64 / static_cast<int>(sizeof(T));
    WEFT_UNROLL for (int at = 0; at < kWideCols<T>; at += kLine) __builtin_prefetch(base + p * step + kWideCols<T> + at, 0, 2);
    return base + p * step;
  }
};

// a_step: from row to row (ByRows), otherwise from p to p.
template <class T>
using TileFn = void (*)(Size k, const T* a, Size a_step, const T* b, Size b_step, T* c, Size c_row, int cols, bool add);

template <int R, int V, bool Whole, bool ByRows, class T>
void tile_of(Size k, const T* a, Size a_step, const T* b, Size b_step, T* c, Size c_row, int cols, bool add) {
  using Right = std::conditional_t<V == kWideVectors, Ahead<T>, Strip<T>>;
  Finish<T> finish;
  finish.add = add;
  if (add)  // the lines that are added to
    WEFT_UNROLL for (int i = 0; i < R; ++i)
      WEFT_UNROLL for (int at = 0; at < V * kLanes<T>; at += 64 / static_cast<int>(sizeof(T))) __builtin_prefetch(c + i * c_row + at, 1);
  if constexpr (ByRows) {
    const T* rows[R];
    WEFT_UNROLL for (int i = 0; i < R; ++i) rows[i] = a + i * a_step;
    tile<R, V, Whole, T>(1, k, Rows<T, R>{rows, R, {}}, Right{b, b_step}, c, c_row, cols, finish);
  } else {
    tile<R, V, Whole, T>(1, k, Strip<T>{a, a_step}, Right{b, b_step}, c, c_row, cols, finish);
  }
}

// One tile function for each height.
template <class T>
struct TileFns {
  TileFn<T> at[kTileRows];
};

template <int V, bool Whole, bool ByRows, class T, int R = kTileRows>
constexpr void fill(TileFns<T>& fns) {
  fns.at[R - 1] = tile_of<R, V, Whole, ByRows, T>;
  if constexpr (R > 1) fill<V, Whole, ByRows, T, R - 1>(fns);
}

template <int V, bool Whole, bool ByRows, class T, int Most = kTileRows>
constexpr TileFns<T> tile_fns() {
  TileFns<T> fns{};
  fill<V, Whole, ByRows, T, Most>(fns);
  return fns;
}

// [by rows][narrow, broken off, whole]
template <class T>
constexpr TileFns<T> kTiles[2][3] = {
    {tile_fns<1, false, false, T>(), tile_fns<2, false, false, T>(), tile_fns<2, true, false, T>()},
    {tile_fns<1, false, true, T>(), tile_fns<2, false, true, T>(), tile_fns<2, true, true, T>()}};

template <class T>  // [by rows]
constexpr TileFns<T> kWideTiles[2] = {tile_fns<kWideVectors, true, false, T, kWideRows>(), tile_fns<kWideVectors, true, true, T, kWideRows>()};

}  // namespace
}  // namespace weft::inline v0::kernels::WEFT_ISA
