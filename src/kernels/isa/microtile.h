// Register tiles: the inner loop of products of matrices and of convolutions. For files in src/kernels/isa only: everything here has
// internal linkage.
//
// A tile computes c[i, j] = sum over taps, over p < k of a(tap, p, i) * b(tap, p, j) for i < R rows and j < V vectors of columns. Its
// sums stay in registers from the first product to the store. Each of them is one chain of additions over tap and p in order, fused with
// the products where the machine can: an element has the same bits whatever the tile it falls into.
//
// Where the factors come from:
//   a   Rows    rows[tap][i][p]: a table of row pointers, R for each tap, `step` pointers from tap to tap. A row may be used again, by
//               another tap or tile, and may be a row of zeros. A plain product has one tap.
//       Strip   base[p * step + i]: a packed strip (step = R), or a transposed matrix as it lies (step = its row stride). Asks for rows
//               ahead. One tap.
//   b   Strip   base[p * step + j]: a packed panel (step = the panel's width), or a matrix as it lies. The taps follow each other: tap t
//               starts at p = t * k.
//       Copied  as Strip, and what is read is stored as a packed panel, for the tiles that follow. One tap.
//
// Reads: for each p exactly R values of a, but for those that are left out (`LeftOut`), and, if `Whole`, V vectors of b (a panel is padded, with
// anything); otherwise `cols` values of b. Writes exactly R x cols values.
#pragma once

#include <cstdint>

#include "kernels/isa/tile_vectors.h"

namespace weft::inline v0::kernels::WEFT_ISA {
namespace {

// --- sources ---

template <class T, int R>
struct Rows {
  const T* const* table;
  std::int64_t step = R;
  const T* at[R];
  WEFT_INLINE void start(std::int64_t tap, std::int64_t) {
    WEFT_UNROLL for (int i = 0; i < R; ++i) at[i] = table[tap * step + i];
  }
  WEFT_INLINE T value(std::int64_t p, int i) const { return at[i][p]; }
};

template <class T>
struct Strip {
  const T* base;
  std::int64_t step;
  WEFT_INLINE void start(std::int64_t tap, std::int64_t k) {
    if (tap > 0) base += k * step;
  }
  WEFT_INLINE T value(std::int64_t p, int i) const { return base[p * step + i]; }
  WEFT_INLINE const T* row(std::int64_t p) const { return base + p * step; }
  static constexpr int kAhead = 64;
  WEFT_INLINE void ask_ahead(std::int64_t p) const { __builtin_prefetch(base + (p + kAhead) * step); }
};

template <class T>
struct Copied {
  const T* base;
  std::int64_t step;
  T* panel;
  static constexpr int kAhead = 32;  // rows: the hardware does not foresee steps from row to row of a wide matrix
  WEFT_INLINE void start(std::int64_t, std::int64_t) {}
  WEFT_INLINE const T* row(std::int64_t p) const {
    __builtin_prefetch(base + (p + kAhead) * step, 0, 2);
    return base + p * step;
  }
  template <int V>
  WEFT_INLINE void keep(std::int64_t p, const Vector<T> (&values)[V]) const {
    WEFT_UNROLL for (int v = 0; v < V; ++v) store(panel + p * kTileCols<T> + v * kLanes<T>, values[v]);
  }
};

// --- the tile ---

/// What happens to a tile's sums after the last product, in this order: c + sum, + bias, + residual, relu. Each step rounds as an op of
/// its own would.
template <class T>
struct Finish {
  bool add = false;             ///< add to c; otherwise c is not read
  const T* bias = nullptr;      ///< one for each column, at the tile's first
  const T* residual = nullptr;  ///< laid out as c but for the stride of its rows, at the tile's first element
  std::int64_t residual_row = 0;
  bool relu = false;            ///< below 0 becomes 0; NaN stays
};

template <int R, int V, class T>
WEFT_INLINE void finish_tile(Vector<T> (&sums)[R][V], T* c, std::int64_t c_row, int cols, const Finish<T>& finish) {
  const First<T> last{cols - (V - 1) * kLanes<T>};
  const bool whole = last.count == kLanes<T>;
  const auto load_part = [&](const T* from, int v) __attribute__((always_inline)) {
    from += v * kLanes<T>;
    return v < V - 1 || whole ? load(from) : load(from, last);
  };
  if (finish.add) {
    WEFT_UNROLL for (int i = 0; i < R; ++i)
      WEFT_UNROLL for (int v = 0; v < V; ++v) sums[i][v] = load_part(c + i * c_row, v) + sums[i][v];
  }
  if (finish.bias != nullptr) {
    WEFT_UNROLL for (int v = 0; v < V; ++v) {
      const Vector<T> bias = load_part(finish.bias, v);
      WEFT_UNROLL for (int i = 0; i < R; ++i) sums[i][v] += bias;
    }
  }
  if (finish.residual != nullptr) {
    WEFT_UNROLL for (int i = 0; i < R; ++i)
      WEFT_UNROLL for (int v = 0; v < V; ++v) sums[i][v] += load_part(finish.residual + i * finish.residual_row, v);
  }
  if (finish.relu) {
    const Vector<T> zero = {};
    WEFT_UNROLL for (int i = 0; i < R; ++i)
      WEFT_UNROLL for (int v = 0; v < V; ++v) sums[i][v] = sums[i][v] < zero ? zero : sums[i][v];
  }
  WEFT_UNROLL for (int i = 0; i < R; ++i) {
    WEFT_UNROLL for (int v = 0; v < V - 1; ++v) store(c + i * c_row + v * kLanes<T>, sums[i][v]);
    T* to = c + i * c_row + (V - 1) * kLanes<T>;
    if (whole) store(to, sums[i][V - 1]);
    else store(to, sums[i][V - 1], last);
  }
}

/// Adds the products of rows [Begin, End) for p in [begin, end) to the sums of a tile.
template <int Begin, int End, int R, int V, bool Whole, class T, class A, class B>
WEFT_INLINE void add_products(std::int64_t begin, std::int64_t end, const A& a, const B& b, First<T> last, Vector<T> (&sums)[R][V]) {
  const auto add = [&](std::int64_t p) __attribute__((always_inline)) {
    const T* from = b.row(p);
    if constexpr (requires { a.ask_ahead(p); }) a.ask_ahead(p);  // by measurement: of b, which is nearer, no processor wants to be told
    Vector<T> right[V];
    WEFT_UNROLL for (int v = 0; v < V; ++v)
      right[v] = Whole || v < V - 1 ? load(from + v * kLanes<T>) : load(from + v * kLanes<T>, last);
    if constexpr (requires { b.keep(p, right); }) b.keep(p, right);
    WEFT_UNROLL for (int i = Begin; i < End; ++i) {
      const Vector<T> left = spread(a.value(p, i));
      WEFT_UNROLL for (int v = 0; v < V; ++v) sums[i][v] = multiply_add(left, right[v], sums[i][v]);
    }
  };
  if constexpr (End - Begin == R) {
    _Pragma("GCC unroll 4") for (; begin < end; ++begin) add(begin);
  } else {
    for (; begin < end; ++begin) add(begin);
  }
}

/// What is left out: of the first row the first `before` products of each tap, and of the last row the last `behind`; together k at most.
struct LeftOut {
  std::int64_t before, behind;
};
struct Nothing {};

/// One tile. REQUIRES: (V - 1) vectors < cols <= V vectors. `Whole`: the rows of b may be read to the end of V vectors.
template <int R, int V, bool Whole, class T, class A, class B, class Out = Nothing>
WEFT_INLINE void tile(std::int64_t taps, std::int64_t k, A a, B b, T* c, std::int64_t c_row, int cols, const Finish<T>& finish, Out out = {}) {
  const First<T> last{cols - (V - 1) * kLanes<T>};
  Vector<T> sums[R][V];
  WEFT_UNROLL for (int i = 0; i < R; ++i)
    WEFT_UNROLL for (int v = 0; v < V; ++v) sums[i][v] = Vector<T>{};
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    a.start(tap, k);
    b.start(tap, k);
    if constexpr (requires { out.before; }) {
      add_products<1, R, R, V, Whole, T>(0, out.before, a, b, last, sums);
      add_products<0, R, R, V, Whole, T>(out.before, k - out.behind, a, b, last, sums);
      add_products<0, R - 1, R, V, Whole, T>(k - out.behind, k, a, b, last, sums);
    } else {
      add_products<0, R, R, V, Whole, T>(0, k, a, b, last, sums);
    }
  }
  finish_tile<R, V, T>(sums, c, c_row, cols, finish);
}

template <int N>
struct Count {
  static constexpr int value = N;
};

/// Calls run(Count<n>{}) for the n that is `count`. REQUIRES: 1 <= count <= Max.
template <int Max, class Run>
WEFT_INLINE void with_count(int count, const Run& run) {
  if constexpr (Max > 1)
    if (count < Max) return with_count<Max - 1>(count, run);
  run(Count<Max>{});
}

}  // namespace
}  // namespace weft::inline v0::kernels::WEFT_ISA
