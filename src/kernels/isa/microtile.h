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
//       Strip   base[p * step + i]: a packed strip (step = R), or a transposed matrix as it lies (step = its row stride). One tap.
//       Gather  pointers[p][offset + i]: a row of its own for every p. One tap.
//   b   Strip   base[p * step + j]: a packed panel (step = the panel's width), or a matrix as it lies. The taps follow each other: tap t
//               starts at p = t * k.
//       Gather  pointers[p][offset + j].
//       Copied  as Strip, and what is read is stored as a packed panel, for the tiles that follow. One tap.
// Gather on both sides is the transposed product of a convolution's gradient by its weights: p runs over pixels, i over input channels,
// j over output channels. Pixels that meet the border are left out of the lists, so nothing is multiplied by a zero that is not there.
//
// Reads: exactly R values of a and, if `Whole`, V vectors of b for each p (a panel is padded, with anything); otherwise `cols` values of
// b. Writes exactly R x cols values.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weft::inline v0::kernels::WEFT_ISA {
namespace {

#define WEFT_INLINE [[gnu::always_inline]] inline
// Every loop over a tile must be unrolled completely, or the compiler keeps the tile in memory.
#define WEFT_UNROLL _Pragma("GCC unroll 16")

// --- vectors ---

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64, kTileRows = 12;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32, kTileRows = 6;
#else
constexpr int kVectorBytes = 16, kTileRows = 4;
#endif
constexpr int kTileVectors = 2;

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));
template <class T>
constexpr int kTileCols = kTileVectors * kLanes<T>;  // the width of a packed panel

template <class T>
WEFT_INLINE Vector<T> load(const T* from) {
  Vector<T> v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

template <class T>
WEFT_INLINE void store(T* to, Vector<T> v) {
  __builtin_memcpy(to, &v, sizeof v);
}

#if defined(__AVX512F__)
WEFT_INLINE Vector<float> spread(float x) { return _mm512_set1_ps(x); }
WEFT_INLINE Vector<double> spread(double x) { return _mm512_set1_pd(x); }
WEFT_INLINE Vector<float> multiply_add(Vector<float> a, Vector<float> b, Vector<float> c) { return _mm512_fmadd_ps(a, b, c); }
WEFT_INLINE Vector<double> multiply_add(Vector<double> a, Vector<double> b, Vector<double> c) { return _mm512_fmadd_pd(a, b, c); }

// The first `count` lanes, 0 < count <= kLanes; the others are zero when loaded and left alone when stored.
template <class T>
struct First {
  int count;
  WEFT_INLINE __mmask16 mask() const { return static_cast<__mmask16>((1u << count) - 1); }
};
WEFT_INLINE Vector<float> load(const float* from, First<float> first) { return _mm512_maskz_loadu_ps(first.mask(), from); }
WEFT_INLINE Vector<double> load(const double* from, First<double> first) {
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>(first.mask()), from);
}
WEFT_INLINE void store(float* to, Vector<float> v, First<float> first) { _mm512_mask_storeu_ps(to, first.mask(), v); }
WEFT_INLINE void store(double* to, Vector<double> v, First<double> first) {
  _mm512_mask_storeu_pd(to, static_cast<__mmask8>(first.mask()), v);
}

#elif defined(__AVX2__)
WEFT_INLINE Vector<float> spread(float x) { return _mm256_set1_ps(x); }
WEFT_INLINE Vector<double> spread(double x) { return _mm256_set1_pd(x); }
WEFT_INLINE Vector<float> multiply_add(Vector<float> a, Vector<float> b, Vector<float> c) { return _mm256_fmadd_ps(a, b, c); }
WEFT_INLINE Vector<double> multiply_add(Vector<double> a, Vector<double> b, Vector<double> c) { return _mm256_fmadd_pd(a, b, c); }

template <class T>
struct First {
  int count;
};
WEFT_INLINE Vector<float> load(const float* from, First<float> first) {
  const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(first.count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  return _mm256_maskload_ps(from, mask);
}
WEFT_INLINE Vector<double> load(const double* from, First<double> first) {
  const __m256i mask = _mm256_cmpgt_epi64(_mm256_set1_epi64x(first.count), _mm256_setr_epi64x(0, 1, 2, 3));
  return _mm256_maskload_pd(from, mask);
}
// In parts: a masked store costs AMD's processors some 20 cycles.
WEFT_INLINE void store(float* to, Vector<float> v, First<float> first) {
  if (first.count == 8) return _mm256_storeu_ps(to, v);
  __m128 part = _mm256_castps256_ps128(v);
  if ((first.count & 4) != 0) {
    _mm_storeu_ps(to, part);
    part = _mm256_extractf128_ps(v, 1);
    to += 4;
  }
  if ((first.count & 2) != 0) {
    _mm_storel_pi(reinterpret_cast<__m64*>(to), part);
    part = _mm_movehl_ps(part, part);
    to += 2;
  }
  if ((first.count & 1) != 0) _mm_store_ss(to, part);
}
WEFT_INLINE void store(double* to, Vector<double> v, First<double> first) {
  if (first.count == 4) return _mm256_storeu_pd(to, v);
  __m128d part = _mm256_castpd256_pd128(v);
  if ((first.count & 2) != 0) {
    _mm_storeu_pd(to, part);
    part = _mm256_extractf128_pd(v, 1);
    to += 2;
  }
  if ((first.count & 1) != 0) _mm_store_sd(to, part);
}

#else
WEFT_INLINE Vector<float> spread(float x) { return Vector<float>{x, x, x, x}; }
WEFT_INLINE Vector<double> spread(double x) { return Vector<double>{x, x}; }
template <class V>
WEFT_INLINE V multiply_add(V a, V b, V c) { return a * b + c; }

template <class T>
struct First {
  int count;
};
template <class T>
WEFT_INLINE Vector<T> load(const T* from, First<T> first) {
  T lanes[kLanes<T>] = {};
  for (int i = 0; i < first.count; ++i) lanes[i] = from[i];
  return load(lanes);
}
template <class T>
WEFT_INLINE void store(T* to, Vector<T> v, First<T> first) {
  T lanes[kLanes<T>];
  store(lanes, v);
  for (int i = 0; i < first.count; ++i) to[i] = lanes[i];
}
#endif

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
struct Gather {
  const T* const* pointers;
  std::int64_t offset;
  WEFT_INLINE void start(std::int64_t tap, std::int64_t k) {
    if (tap > 0) pointers += k;
  }
  WEFT_INLINE T value(std::int64_t p, int i) const { return pointers[p][offset + i]; }
  WEFT_INLINE const T* row(std::int64_t p) const { return pointers[p] + offset; }
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

/// One tile. REQUIRES: (V - 1) vectors < cols <= V vectors. `Whole`: the rows of b may be read to the end of V vectors.
template <int R, int V, bool Whole, class T, class A, class B>
WEFT_INLINE void tile(std::int64_t taps, std::int64_t k, A a, B b, T* c, std::int64_t c_row, int cols, const Finish<T>& finish) {
  const First<T> last{cols - (V - 1) * kLanes<T>};
  Vector<T> sums[R][V];
  WEFT_UNROLL for (int i = 0; i < R; ++i)
    WEFT_UNROLL for (int v = 0; v < V; ++v) sums[i][v] = Vector<T>{};
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    a.start(tap, k);
    b.start(tap, k);
    _Pragma("GCC unroll 4") for (std::int64_t p = 0; p < k; ++p) {
      const T* from = b.row(p);
      if constexpr (requires { a.ask_ahead(p); }) a.ask_ahead(p);  // by measurement: of b, which is nearer, no processor wants to be told
      Vector<T> right[V];
      WEFT_UNROLL for (int v = 0; v < V; ++v)
        right[v] = Whole || v < V - 1 ? load(from + v * kLanes<T>) : load(from + v * kLanes<T>, last);
      if constexpr (requires { b.keep(p, right); }) b.keep(p, right);
      WEFT_UNROLL for (int i = 0; i < R; ++i) {
        const Vector<T> left = spread(a.value(p, i));
        WEFT_UNROLL for (int v = 0; v < V; ++v) sums[i][v] = multiply_add(left, right[v], sums[i][v]);
      }
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
