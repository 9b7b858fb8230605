// Convolutions on register tiles.
#include "kernels/conv_tiles.h"
#include "kernels/isa/microtile.h"

namespace weft::inline v0::kernels::WEFT_ISA {
namespace {

using Size = std::int64_t;

// Strips of nearly the same height: a low one would leave the multipliers waiting.
struct Strips {
  Size count, height, higher;  // the first `higher` have one row more
  WEFT_INLINE explicit Strips(Size size) : count((size + kTileRows - 1) / kTileRows), height(size / count), higher(size % count) {}
  WEFT_INLINE int rows(Size strip) const { return static_cast<int>(height + (strip < higher ? 1 : 0)); }
};

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

template <class T>
void gather(const ConvRow<T>* rows, Size count, const ConvPanel<T>& panel) {
  for (; count > 0; --count, ++rows) {
    const ConvRow<T>& row = *rows;
    const Strips strips(row.pixels);
    const Panel<T> b{panel.filters, row.place, nullptr};
    for (Size s = 0, i = 0; s < strips.count; i += strips.rows(s++)) {
      with_count<kTileRows>(strips.rows(s), [&](auto number) __attribute__((always_inline)) {
        constexpr int R = decltype(number)::value;
        const Pixels<T, R> a{row.source, panel.source + i * row.source_step, row.source_step, {}};
        T* result = row.result + panel.result + i * row.result_step;
        if (panel.channels > kLanes<T>) tile<R, 2, true>(row.taps, row.k, a, b, result, row.result_step, panel.channels, Finish<T>{});
        else tile<R, 1, true>(row.taps, row.k, a, b, result, row.result_step, panel.channels, Finish<T>{});
      });
    }
  }
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
};

template <class T>
void multiply(const ConvProduct<T>& product) {
  const Strips strips(product.in_channels);
  const Panel<T> b{product.dy, product.dy_place, nullptr};
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

template <class T>
bool pack_panels(const T* from, Size step, Size pixels, Size channels, T* to, Size place, Size room) {
  Vector<T> check = {};  // becomes NaN with the first infinity or NaN
  const Vector<T> zero = {};
  to += place * kTileCols<T>;
  for (; channels > 0; channels -= kTileCols<T>, from += kTileCols<T>, to += room * kTileCols<T>) {
    const T* pixel = from;
    for (Size p = 0; p < pixels; ++p, pixel += step)
      WEFT_UNROLL for (int v = 0; v < kTileVectors; ++v) {
        const Size left = channels - v * kLanes<T>;
        const T* at = pixel + v * kLanes<T>;
        const Vector<T> values = left >= kLanes<T> ? load(at) : left > 0 ? load(at, First<T>{static_cast<int>(left)}) : zero;
        store(to + p * kTileCols<T> + v * kLanes<T>, values);
        check += values * zero;
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
    {kTileRows, kTileCols<float>, gather<float>, multiply<float>, pack_panels<float>, pack_strips<float>},
    {kTileRows, kTileCols<double>, gather<double>, multiply<double>, pack_panels<double>, pack_strips<double>},
};

}  // namespace weft::inline v0::kernels::WEFT_ISA
