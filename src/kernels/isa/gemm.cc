// Packing, and products of blocks of matrices on register tiles.
#include "kernels/gemm_tiles.h"
#include "kernels/isa/few_rows.h"
#include "kernels/isa/tile_fns.h"

namespace weft::inline v0::kernels::WEFT_ISA {
namespace {

// --- 16-bit floats ---

struct Half16 {
  std::uint16_t bits;
};
struct Brain16 {
  std::uint16_t bits;
};

template <class To, class From>
WEFT_INLINE To as_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

WEFT_INLINE float widen(float x) { return x; }
WEFT_INLINE double widen(double x) { return x; }
WEFT_INLINE float widen(Brain16 x) { return as_bits<float>(static_cast<std::uint32_t>(x.bits) << 16); }
WEFT_INLINE float widen(Half16 x) {
  const std::uint32_t sign = (x.bits & 0x8000u) << 16, size = x.bits & 0x7fffu;
  if (size >= 0x7c00) return as_bits<float>(sign | 0x7f800000u | (size & 0x3ffu) << 13 | ((size & 0x3ffu) != 0 ? 0x400000u : 0u));
  // Shifted into place the exponent is too small by 112, of a subnormal too: one exact product mends both.
  return as_bits<float>(sign | as_bits<std::uint32_t>(as_bits<float>(size << 13) * as_bits<float>(0x77800000u)));
}

// --- packing ---

template <class T>
struct QuadOf {
  typedef T type __attribute__((vector_size(16)));
};
template <class T>
using Quad = typename QuadOf<T>::type;  // what is transposed at once: a square of these
template <class T>
constexpr int kQuad = 16 / static_cast<int>(sizeof(T));

WEFT_INLINE Quad<float> load_quad(const float* from) {
  Quad<float> q;
  __builtin_memcpy(&q, from, sizeof q);
  return q;
}
WEFT_INLINE Quad<double> load_quad(const double* from) {
  Quad<double> q;
  __builtin_memcpy(&q, from, sizeof q);
  return q;
}
template <class S>
WEFT_INLINE Quad<float> widen_quad(const S* from) {
  return Quad<float>{widen(from[0]), widen(from[1]), widen(from[2]), widen(from[3])};
}
WEFT_INLINE Quad<float> load_quad(const Brain16* from) { return widen_quad(from); }
#if defined(__F16C__)
WEFT_INLINE Quad<float> load_quad(const Half16* from) { return _mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))); }
#else
// Long, and rarely needed: such machines are old.
[[gnu::noinline]] Quad<float> load_quad(const Half16* from) { return widen_quad(from); }
#endif

WEFT_INLINE void transpose(Quad<float> (&q)[4]) {
  const Quad<float> ac = __builtin_shufflevector(q[0], q[2], 0, 4, 1, 5), bd = __builtin_shufflevector(q[1], q[3], 0, 4, 1, 5);
  const Quad<float> eg = __builtin_shufflevector(q[0], q[2], 2, 6, 3, 7), fh = __builtin_shufflevector(q[1], q[3], 2, 6, 3, 7);
  q[0] = __builtin_shufflevector(ac, bd, 0, 4, 1, 5);
  q[1] = __builtin_shufflevector(ac, bd, 2, 6, 3, 7);
  q[2] = __builtin_shufflevector(eg, fh, 0, 4, 1, 5);
  q[3] = __builtin_shufflevector(eg, fh, 2, 6, 3, 7);
}
WEFT_INLINE void transpose(Quad<double> (&q)[2]) {
  const Quad<double> first = __builtin_shufflevector(q[0], q[1], 0, 2);
  q[1] = __builtin_shufflevector(q[0], q[1], 1, 3);
  q[0] = first;
}

// G packings side by side, `apart` from each other in `to`, of lines that lie side by side: to[p * W + w] = from[p * along + w].
template <int W, int G, class T, class S>
WEFT_INLINE void pack_columns(const S* from, Size along, Size k, T* to, Size apart) {
  constexpr int Q = kQuad<T>, kWhole = W / Q * Q, kAhead = 8;
  for (Size p = 0; p < k; ++p, from += along, to += W) {
    // The hardware does not foresee a step from row to row.
    const S* ahead = p + kAhead < k ? from + kAhead * along : from;
    WEFT_UNROLL for (int at = 0; at < G * W; at += 64 / static_cast<int>(sizeof(S))) __builtin_prefetch(ahead + at);
    WEFT_UNROLL for (int g = 0; g < G; ++g) {
      WEFT_UNROLL for (int w = 0; w < kWhole; w += Q) {
        const Quad<T> q = load_quad(from + g * W + w);
        __builtin_memcpy(to + g * apart + w, &q, sizeof q);
      }
      WEFT_UNROLL for (int w = kWhole; w < W; ++w) to[g * apart + w] = widen(from[g * W + w]);
    }
  }
}

// to[p * step + w] = from[w * line + p * along] for w < width, and 0 from there to `step`. With a Width, which is then the width, everything
// about a line of the result is written out.
template <int Width, class T, class S>
WEFT_INLINE void pack_lines(const S* from, Size line, Size along, int width, int step, Size k, T* to) {
  constexpr int Q = kQuad<T>, kRun = 64 / static_cast<int>(sizeof(T));
  if constexpr (Width > 0) width = Width;
  const int squares = width / Q * Q;
  Size p = 0;
  if (width < step)
    for (Size at = 0; at < k; ++at)
      for (int w = width; w < step; ++w) to[at * step + w] = 0;
  const auto pack_square = [&](int w, int r) __attribute__((always_inline)) {
    Quad<T> q[Q];
    WEFT_UNROLL for (int i = 0; i < Q; ++i) q[i] = load_quad(from + (w + i) * line + p + r);
    transpose(q);
    WEFT_UNROLL for (int i = 0; i < Q; ++i) __builtin_memcpy(to + (p + r + i) * step + w, &q[i], sizeof q[i]);
  };
  const auto pack_line = [&](int w, int r) __attribute__((always_inline)) {
    const Quad<T> q = load_quad(from + w * line + p + r);
    WEFT_UNROLL for (int i = 0; i < Q; ++i) to[(p + r + i) * step + w] = q[i];
  };
  if (along == 1) {
    // A cache line of a few lines at a time: where they lie a power of two apart, more would not fit the cache together.
    for (; p + kRun <= k; p += kRun) {
      if constexpr (Width > 0) {
        WEFT_UNROLL for (int w = 0; w < squares; w += Q)
          WEFT_UNROLL for (int r = 0; r < kRun; r += Q) pack_square(w, r);
        WEFT_UNROLL for (int w = squares; w < width; ++w)
          WEFT_UNROLL for (int r = 0; r < kRun; r += Q) pack_line(w, r);
      } else {
        for (int w = 0; w < squares; w += Q)
          for (int r = 0; r < kRun; r += Q) pack_square(w, r);
        for (int w = squares; w < width; ++w)
          for (int r = 0; r < kRun; r += Q) pack_line(w, r);
      }
    }
  }
  for (; p < k; ++p)
    for (int w = 0; w < width; ++w) to[p * step + w] = widen(from[w * line + p * along]);
}

template <class T, class S>
void pack_left_from(const S* from, Size line, Size along, Size count, Size k, T* to) {
  constexpr int W = kTileRows;
  const Strips strips(count);
  for (Size s = 0; s < strips.count; ++s) {
    const int rows = strips.rows(s);
    if (rows == W && line == 1 && s + 4 <= strips.count && strips.rows(s + 3) == W) {
      pack_columns<W, 4>(from, along, k, to, W * k);
      s += 3, from += 4 * W, to += 4 * W * k;
      continue;
    }
    if (rows == W) pack_lines<W>(from, line, along, W, W, k, to);
    else pack_lines<0>(from, line, along, rows, rows, k, to);
    from += rows * line, to += rows * k;
  }
}

template <class T, class S>
void pack_right_from(const S* from, Size line, Size along, Size count, Size k, T* to) {
  constexpr int W = kTileCols<T>;
  while (count >= W) {
    const int panels = line != 1 || count < 4 * W ? 1 : 4;
    if (panels == 4) pack_columns<W, 4>(from, along, k, to, W * k);
    else if (line == 1) pack_columns<W, 1>(from, along, k, to, W * k);
    else pack_lines<W>(from, line, along, W, W, k, to);
    count -= panels * W, from += panels * W * line, to += panels * W * k;
  }
  if (count > 0) pack_lines<0>(from, line, along, static_cast<int>(count), W, k, to);
}

template <class T>
void pack_left(Stored stored, const void* from, Size line, Size along, Size count, Size k, T* to) {
  if constexpr (sizeof(T) == sizeof(float)) {
    if (stored == Stored::kF16) return pack_left_from(static_cast<const Half16*>(from), line, along, count, k, to);
    if (stored == Stored::kBF16) return pack_left_from(static_cast<const Brain16*>(from), line, along, count, k, to);
  }
  pack_left_from(static_cast<const T*>(from), line, along, count, k, to);
}

template <class T>
void pack_right(Stored stored, const void* from, Size line, Size along, Size count, Size k, T* to) {
  if constexpr (sizeof(T) == sizeof(float)) {
    if (stored == Stored::kF16) return pack_right_from(static_cast<const Half16*>(from), line, along, count, k, to);
    if (stored == Stored::kBF16) return pack_right_from(static_cast<const Brain16*>(from), line, along, count, k, to);
  }
  pack_right_from(static_cast<const T*>(from), line, along, count, k, to);
}

// --- blocks ---

// The same for a whole panel as it lies, which goes to `panel`.
template <class T>
using CopyFn = void (*)(Size k, const T* a, Size a_step, const T* b, Size b_step, T* panel, T* c, Size c_row, bool add);

template <int R, bool ByRows, class T>
void copy_tile_of(Size k, const T* a, Size a_step, const T* b, Size b_step, T* panel, T* c, Size c_row, bool add) {
  Finish<T> finish;
  finish.add = add;
  if constexpr (ByRows) {
    const T* rows[R];
    WEFT_UNROLL for (int i = 0; i < R; ++i) rows[i] = a + i * a_step;
    tile<R, 2, true, T>(1, k, Rows<T, R>{rows, R, {}}, Copied<T>{b, b_step, panel}, c, c_row, kTileCols<T>, finish);
  } else {
    tile<R, 2, true, T>(1, k, Strip<T>{a, a_step}, Copied<T>{b, b_step, panel}, c, c_row, kTileCols<T>, finish);
  }
}

// Of several strips the first has more than half of the most rows.
constexpr int kLeastCopying = kTileRows / 2 + 1;
template <class T>
struct CopyFns {
  CopyFn<T> at[2][kTileRows - kLeastCopying + 1];  // [by rows][rows - kLeastCopying]
};
template <class T, int R = kTileRows>
constexpr void fill_copying(CopyFns<T>& fns) {
  fns.at[0][R - kLeastCopying] = copy_tile_of<R, false, T>;
  fns.at[1][R - kLeastCopying] = copy_tile_of<R, true, T>;
  if constexpr (R > kLeastCopying) fill_copying<T, R - 1>(fns);
}
template <class T>
constexpr CopyFns<T> copy_fns() {
  CopyFns<T> fns{};
  fill_copying<T>(fns);
  return fns;
}
template <class T>
constexpr CopyFns<T> kCopyingTiles = copy_fns<T>();

template <class T>
void multiply(Size m, Size n, Size k, LeftBlock<T> a, RightBlock<T> b, T* c, Size c_row, bool add) {
  constexpr Size W = kTileCols<T>;
  const Strips strips(m);
  const bool by_rows = a.form == LeftBlock<T>::kRows, packed = a.form == LeftBlock<T>::kPacked;
  const Size row_step = by_rows ? a.stride : packed ? k : 1;  // from one row of a to the next, as far as strips go
  for (Size j = 0; j < n; j += W, b.data += b.panel) {
    const int cols = static_cast<int>(least(W, n - j));
    const int width = cols <= kLanes<T> ? 0 : b.padded || cols == W ? 2 : 1;
    const TileFns<T>& tiles = kTiles<T>[by_rows][width];
    const T* panel = b.data;
    Size i = 0, s = 0, stride = b.stride;
    if (b.copy != nullptr && cols == W && strips.count > 1) {
      const Size rows = strips.rows(0);
      kCopyingTiles<T>.at[by_rows][rows - kLeastCopying](k, a.data, packed ? rows : a.stride, b.data, b.stride, b.copy, c + j, c_row, add);
      panel = b.copy, stride = W, i = rows, s = 1;
    }
    for (; s < strips.count; ++s) {
      const Size rows = strips.rows(s);
      tiles.at[rows - 1](k, a.data + i * row_step, packed ? rows : a.stride, panel, stride, c + i * c_row + j, c_row, cols, add);
      i += rows;
    }
  }
}

constexpr Size kMostDepth = kVectorBytes == 64 ? 512 : 384, kGroupBytes = kVectorBytes == 64 ? 512 << 10 : 256 << 10;
template <class T>
constexpr GemmTiles<T> kTable = {.rows = kTileRows,
                                 .cols = kTileCols<T>,
                                 .depth = kMostDepth,
                                 .group = kGroupBytes / static_cast<Size>(sizeof(T)),
                                 .together = kTogether,
                                 .few = kMostFew,
                                 .multiply = multiply<T>,
                                 .pack_left = pack_left<T>,
                                 .pack_right = pack_right<T>,
                                 .rows_by_matrix = rows_by_matrix<T>,
                                 .matrix_by_column = matrix_by_column<T>};

}  // namespace

const GemmKernels gemm_kernels = {kTable<float>, kTable<double>};

}  // namespace weft::inline v0::kernels::WEFT_ISA
