// What the convolutions need from each instruction set (isa/conv.cc).
#pragma once

#include <cstdint>

#include "kernels/isa.h"

namespace weft::inline v0::kernels {

/// Pixels at equal distances that meet the same taps. A tap is k values of the tensor that is read, from source[tap] on for the first
/// pixel, and the k rows of a panel of filters from place[tap] on.
template <class T>
struct ConvRow {
  std::int64_t pixels, taps, k;
  const T* const* source;
  std::int64_t source_step;  // from pixel to pixel
  const std::int64_t* place;
  T* result;
  std::int64_t result_step;
};

/// Filters of up to ConvTiles::cols channels that are written, and where those and the channels that they read lie in a pixel.
template <class T>
struct ConvPanel {
  const T* filters;  // rows of ConvTiles::cols values
  int channels;
  std::int64_t source, result;
};

template <class T>
struct ConvTiles {
  std::int64_t rows, cols;  // of a register tile
  /// For every pixel and channel: the sum over the taps, over k, of source * filter, a chain of additions in that order.
  void (*gather)(const ConvRow<T>* rows, std::int64_t count, const ConvPanel<T>& panel);
};

struct ConvKernels {
  ConvTiles<float> f32;
  ConvTiles<double> f64;
};

WEFT_ISA_TABLE(ConvKernels, conv_kernels)

}  // namespace weft::inline v0::kernels
