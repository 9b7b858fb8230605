// Convolutions on register tiles.
#include "kernels/conv_tiles.h"
#include "kernels/isa/tile_fns.h"

namespace weft::inline v0::kernels::WEFT_ISA {
namespace {

// --- gathering: y and dx ---

// Pixels at equal distances, for each tap. One pointer serves three of them, with the distance and twice the distance as index: a tile of
// 12 rows needs 5 registers for its addresses, not 12.
template <class T, int R>
struct Pixels {
  const T* const* source;
  Size first, step;
  const T* at[(R + 2) / 3];
  WEFT_INLINE void start(Size tap, Size) {
    WEFT_UNROLL for (int j = 0; j < (R + 2) / 3; ++j) at[j] = source[tap] + first + 3 * j * step;
  }
  WEFT_INLINE T value(Size p, int i) const { return at[i / 3][i % 3 * step + p]; }
};

template <class T>
struct Panel {
  const T* filters;
  const Size* place;
  const T* base;
  WEFT_INLINE void start(Size tap, Size) { base = filters + place[tap] * kTileCols<T>; }
  WEFT_INLINE const T* row(Size p) const { return base + p * kTileCols<T>; }
};

// Taps [tap, tap + taps) of a row, of each k values from `first` on. Narrow panels have higher strips, for as many sums in registers.
template <int V, class T>
WEFT_INLINE void gather_row(const ConvRow<T>& row, const ConvPanel<T>& panel, Size tap, Size taps, Size first, Size k, bool add) {
  constexpr int kMost = V == 1 ? 2 * kTileRows : kTileRows;
  const Strips strips(row.pixels, kMost);
  const Panel<T> b{panel.filters + first * kTileCols<T>, row.place + tap, nullptr};
  Finish<T> finish;
  finish.add = add;
  const Size before = least(row.before > first ? row.before - first : 0, k), kept = row.k - row.behind - first, behind = kept < k ? k - (kept > 0 ? kept : 0) : 0;
  for (Size s = 0, i = 0; s < strips.count; i += strips.rows(s++)) {
    const LeftOut out{s == 0 ? before : 0, s + 1 == strips.count ? behind : 0};
    with_count<kMost>(strips.rows(s), [&](auto number) __attribute__((always_inline)) {
      constexpr int R = decltype(number)::value;
      const Pixels<T, R> a{row.source + tap, panel.source + first + i * row.source_step, row.source_step, {}};
      T* const result = row.result + panel.result + i * row.result_step;
      if constexpr (V > 1)
        if (out.before + out.behind > 0) return tile<R, V, true>(taps, k, a, b, result, row.result_step, panel.channels, finish, out);
      tile<R, V, true>(taps, k, a, b, result, row.result_step, panel.channels, finish);
    });
  }
}

constexpr Size kBlockRows = 16384 / (kTileVectors * kVectorBytes);  // of a panel: half of a first cache

template <int V, class T>
void gather_blocks(const ConvRow<T>* rows, Size count, const ConvPanel<T>& panel, bool blocked) {
  bool more = true;
  for (Size block = 0; more; ++block) {
    more = false;
    for (Size r = 0; r < count; ++r) {
      const ConvRow<T>& row = rows[r];
      if (!blocked || row.taps * row.k <= kBlockRows) {
        if (block == 0) gather_row<V>(row, panel, 0, row.taps, 0, row.k, false);
        continue;
      }
      // Some taps at a time, or parts of one.
      const Size parts = (row.k + kBlockRows - 1) / kBlockRows, k = (row.k + parts - 1) / parts;
      const Size together = parts > 1 ? 1 : kBlockRows / row.k, tap = block / parts * together, first = block % parts * k;
      if (tap >= row.taps) continue;
      more = true;
      gather_row<V>(row, panel, tap, least(together, row.taps - tap), first, least(k, row.k - first), block > 0);
    }
  }
}

template <class T>
void gather(const ConvRow<T>* rows, Size count, const ConvPanel<T>& panel, bool blocked) {
  if (panel.channels > kLanes<T>) gather_blocks<2>(rows, count, panel, blocked);
  else gather_blocks<1>(rows, count, panel, blocked);
}

// --- products over pixels: dw ---

template <class T>
struct Channels {
  const T* base;
  const Size* place;
  Size unit, step;
  const T* at;
  WEFT_INLINE void start(Size row, Size) { at = base + place[row] * unit; }
  WEFT_INLINE T value(Size p, int i) const { return at[p * step + i]; }
  WEFT_INLINE const T* row(Size p) const { return at + p * step; }
};

template <class T>
void multiply(const ConvProduct<T>& product) {
  const Strips strips(product.in_channels);
  const Channels<T> b{product.dy, product.dy_place, product.dy_unit, product.dy_unit, nullptr};
  Finish<T> finish;
  finish.add = true;
  for (Size s = 0, i = 0; s < strips.count; i += strips.rows(s++)) {
    with_count<kTileRows>(strips.rows(s), [&](auto number) __attribute__((always_inline)) {
      constexpr int R = decltype(number)::value;
      const bool packed = product.x_unit == 0;
      const Size unit = packed ? R : product.x_unit;
      const T* x = product.x + (packed ? i * product.x_room : i) + product.x_first * unit;
      const Channels<T> a{x, product.x_place, unit, unit * product.stride, nullptr};
      T* dw = product.dw + i * product.dw_step;
      if (product.out_channels > kLanes<T>)
        tile<R, 2, true>(product.rows, product.pixels, a, b, dw, product.dw_step, product.out_channels, finish);
      else tile<R, 1, true>(product.rows, product.pixels, a, b, dw, product.dw_step, product.out_channels, finish);
    });
  }
}

// --- a filter for each channel ---

// R pixels by V vectors of channels; if not `Whole`, the last vector has but `last` channels.
template <int R, int V, bool Whole, class T>
WEFT_INLINE void channels_tile(const ConvRow<T>& row, Size first, const T* filters, Size channels, T* result, First<T> last) {
  Vector<T> sums[R][V];
  WEFT_UNROLL for (int i = 0; i < R; ++i)
    WEFT_UNROLL for (int v = 0; v < V; ++v) sums[i][v] = Vector<T>{};
  for (Size tap = 0; tap < row.taps; ++tap) {
    const T *source = row.source[tap] + first, *filter = filters + row.place[tap] * channels;
    WEFT_UNROLL for (int v = 0; v < V; ++v) {
      const Vector<T> right = Whole || v < V - 1 ? load(filter + v * kLanes<T>) : load(filter + v * kLanes<T>, last);
      WEFT_UNROLL for (int i = 0; i < R; ++i) {
        const T* at = source + i * row.source_step + v * kLanes<T>;
        sums[i][v] = multiply_add(Whole || v < V - 1 ? load(at) : load(at, last), right, sums[i][v]);
      }
    }
  }
  WEFT_UNROLL for (int i = 0; i < R; ++i)
    WEFT_UNROLL for (int v = 0; v < V; ++v) {
      T* to = result + i * row.result_step + v * kLanes<T>;
      if (Whole || v < V - 1) store(to, sums[i][v]);
      else store(to, sums[i][v], last);
    }
}

// All channels of R pixels from pixel i on.
template <int R, class T>
WEFT_INLINE void gather_pixels(const ConvRow<T>& row, Size i, const T* filters, Size channels) {
  const Size source = i * row.source_step;
  T* result = row.result + i * row.result_step;
  Size c = 0;
  for (; c + 2 * kLanes<T> <= channels; c += 2 * kLanes<T>)
    channels_tile<R, 2, true>(row, source + c, filters + c, channels, result + c, First<T>{0});
  if (c + kLanes<T> <= channels) {
    channels_tile<R, 1, true>(row, source + c, filters + c, channels, result + c, First<T>{0});
    c += kLanes<T>;
  }
  if (c < channels)
    channels_tile<R, 1, false>(row, source + c, filters + c, channels, result + c, First<T>{static_cast<int>(channels - c)});
}

template <class T>
void gather_channels(const ConvRow<T>* rows, Size count, const T* filters, Size channels) {
  constexpr int kPixels = 4;
  for (; count > 0; --count, ++rows) {
    Size i = 0;
    for (; i + kPixels <= rows->pixels; i += kPixels) gather_pixels<kPixels>(*rows, i, filters, channels);
    for (; i < rows->pixels; ++i) gather_pixels<1>(*rows, i, filters, channels);
  }
}

template <class T>
void multiply_channels(const ConvProduct<T>& product) {
  Size c = 0;
  const auto block = [&](auto vectors, auto whole, First<T> last) __attribute__((always_inline)) {
    constexpr int V = decltype(vectors)::value;
    const auto load_part = [&](const T* from, int v) __attribute__((always_inline)) {
      return decltype(whole)::value != 0 || v < V - 1 ? load(from + v * kLanes<T>) : load(from + v * kLanes<T>, last);
    };
    Vector<T> sums[2][V];  // of pixels with even and with odd numbers, so that an addition need not wait for the one before
    WEFT_UNROLL for (int v = 0; v < V; ++v) sums[0][v] = sums[1][v] = Vector<T>{};
    const Size step = product.x_unit * product.stride;
    for (Size row = 0; row < product.rows; ++row) {
      const T* x = product.x + (product.x_place[row] + product.x_first) * product.x_unit + c;
      const T* dy = product.dy + product.dy_place[row] * product.dy_unit + c;
      Size p = 0;
      for (; p + 2 <= product.pixels; p += 2, x += 2 * step, dy += 2 * product.dy_unit)
        WEFT_UNROLL for (int v = 0; v < V; ++v) {
          sums[0][v] = multiply_add(load_part(x, v), load_part(dy, v), sums[0][v]);
          sums[1][v] = multiply_add(load_part(x + step, v), load_part(dy + product.dy_unit, v), sums[1][v]);
        }
      if (p < product.pixels)
        WEFT_UNROLL for (int v = 0; v < V; ++v) sums[0][v] = multiply_add(load_part(x, v), load_part(dy, v), sums[0][v]);
    }
    WEFT_UNROLL for (int v = 0; v < V; ++v) {
      T* to = product.dw + c + v * kLanes<T>;
      const Vector<T> sum = load_part(product.dw + c, v) + (sums[0][v] + sums[1][v]);
      if (decltype(whole)::value != 0 || v < V - 1) store(to, sum);
      else store(to, sum, last);
    }
    c += V * kLanes<T>;
  };
  while (c + 4 * kLanes<T> <= product.in_channels) block(Count<4>{}, Count<1>{}, First<T>{0});
  while (c + kLanes<T> <= product.in_channels) block(Count<1>{}, Count<1>{}, First<T>{0});
  if (c < product.in_channels) block(Count<1>{}, Count<0>{}, First<T>{static_cast<int>(product.in_channels - c)});
}

// --- packing ---

template <class T>
bool pack_panels(const T* from, Size row, Size col, Size count, Size columns, T* to, Size place, Size room) {
  constexpr Size W = kTileCols<T>;
  Vector<T> check = {};  // becomes NaN with the first infinity or NaN
  const Vector<T> zero = {};
  const auto put = [&](T* at, Vector<T> values) __attribute__((always_inline)) {
    store(at, values);
    check += values * zero;
  };
  for (Size i = 0; i < count; ++i, from += row) {
    T* panel = to + (place + i) * W;
    Size c = 0;
    if (col == 1) {
      for (; c + W <= columns; c += W, panel += room * W)
        WEFT_UNROLL for (int v = 0; v < kTileVectors; ++v) put(panel + v * kLanes<T>, load(from + c + v * kLanes<T>));
    } else {
      for (; c + W <= columns; c += W, panel += room * W)
        WEFT_UNROLL for (int v = 0; v < kTileVectors; ++v) {
          Vector<T> values;
          WEFT_UNROLL for (int lane = 0; lane < kLanes<T>; ++lane) values[lane] = from[(c + v * kLanes<T> + lane) * col];
          put(panel + v * kLanes<T>, values);
        }
    }
    if (c == columns) continue;
    for (int v = 0; v < kTileVectors; ++v) {
      Vector<T> values = zero;
      for (int lane = 0; lane < kLanes<T> && c < columns; ++lane, ++c) values[lane] = from[c * col];
      put(panel + v * kLanes<T>, values);
    }
  }
  T sum = 0;
  for (int i = 0; i < kLanes<T>; ++i) sum += check[i];
  return sum == T(0);
}

template <class T>
void pack_strips(const T* from, Size step, Size pixels, Size channels, T* to, Size place, Size room) {
  const Strips strips(channels);
  for (Size s = 0, i = 0; s < strips.count; i += strips.rows(s++)) {
    with_count<kTileRows>(strips.rows(s), [&](auto number) __attribute__((always_inline)) {
      constexpr int R = decltype(number)::value;
      for (Size p = 0; p < pixels; ++p) __builtin_memcpy(to + i * room + (place + p) * R, from + p * step + i, R * sizeof(T));
    });
  }
}

}  // namespace

extern const ConvKernels conv_kernels;
const ConvKernels conv_kernels = {
    {kTileRows, kTileCols<float>, gather<float>, multiply<float>, gather_channels<float>, multiply_channels<float>, pack_panels<float>,
     pack_strips<float>},
    {kTileRows, kTileCols<double>, gather<double>, multiply<double>, gather_channels<double>, multiply_channels<double>,
     pack_panels<double>, pack_strips<double>},
};

}  // namespace weft::inline v0::kernels::WEFT_ISA
