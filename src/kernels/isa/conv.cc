// Convolutions on register tiles.
#include "kernels/conv_tiles.h"
#include "kernels/isa/microtile.h"

namespace weft::inline v0::kernels::WEFT_ISA {
namespace {

using Size = std::int64_t;

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
    // Strips of nearly the same height: a low one would leave the multipliers waiting.
    const Size strips = (row.pixels + kTileRows - 1) / kTileRows, height = row.pixels / strips, higher = row.pixels % strips;
    const Panel<T> b{panel.filters, row.place, nullptr};
    for (Size s = 0, i = 0; s < strips; ++s) {
      const int size = static_cast<int>(height + (s < higher ? 1 : 0));
      with_count<kTileRows>(size, [&](auto number) __attribute__((always_inline)) {
        constexpr int R = decltype(number)::value;
        const Pixels<T, R> a{row.source, panel.source + i * row.source_step, row.source_step, {}};
        T* result = row.result + panel.result + i * row.result_step;
        if (panel.channels > kLanes<T>) tile<R, 2, true>(row.taps, row.k, a, b, result, row.result_step, panel.channels, Finish<T>{});
        else tile<R, 1, true>(row.taps, row.k, a, b, result, row.result_step, panel.channels, Finish<T>{});
      });
      i += size;
    }
  }
}

}  // namespace

extern const ConvKernels conv_kernels;
const ConvKernels conv_kernels = {
    {kTileRows, kTileCols<float>, gather<float>},
    {kTileRows, kTileCols<double>, gather<double>},
};

}  // namespace weft::inline v0::kernels::WEFT_ISA
