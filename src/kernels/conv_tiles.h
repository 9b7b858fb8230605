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
  // So many values, the first of the first pixel and the last of the last, are not read: they would be padding. REQUIRES: both are 0, or panels of
  // more than half of ConvTiles::cols channels.
  std::int64_t before, behind;
};

/// Filters of up to ConvTiles::cols channels that are written, and where those and the channels that they read lie in a pixel.
template <class T>
struct ConvPanel {
  const T* filters;  // rows of ConvTiles::cols values
  int channels;
  std::int64_t source, result;
};

/// Rows of pixels over which two tensors are multiplied:
/// dw[c][o] += sum over rows, over p < pixels of x(row, p * stride)[c] * dy(row, p)[o].
template <class T>
struct ConvProduct {
  std::int64_t rows, pixels, stride;
  const std::int64_t *x_place, *dy_place;  // where a row begins, in pixels
  const T* x;
  std::int64_t x_first;  // pixels from there to the first
  std::int64_t x_unit;   // from pixel to pixel; 0 if x is packed in strips, each with room for x_room pixels
  std::int64_t x_room;
  const T* dy;
  std::int64_t dy_unit;  // from pixel to pixel; but for multiply_channels whole vectors of each are read, as many as out_channels fall into
  T* dw;
  std::int64_t dw_step;  // from c to c
  std::int64_t in_channels;
  int out_channels;  // of the panel
};

template <class T>
struct ConvTiles {
  std::int64_t rows, cols;  // of a register tile
  /// For every pixel and channel: the sum over the taps, over k, of source * filter, in that order; if `blocked`, of sums over a fixed
  /// number of rows of the panel, so that those stay in the first cache for all the pixels.
  void (*gather)(const ConvRow<T>* rows, std::int64_t count, const ConvPanel<T>& panel, bool blocked);
  void (*multiply)(const ConvProduct<T>& product);
  /// The same where each channel has its own filter: [tap][channels], at place[tap] * channels. k is not used.
  void (*gather_channels)(const ConvRow<T>* rows, std::int64_t count, const T* filters, std::int64_t channels);
  /// dw[c] += sum over rows, over p of x(row, p * stride)[c] * dy(row, p)[c] for c < in_channels.
  void (*multiply_channels)(const ConvProduct<T>& product);
  /// to[panel][place + i][c] = from[i * row + (panel * cols + c) * col] for i < count; a panel has `room` rows, and zeros where there are
  /// no more columns. Tells whether all values are finite.
  bool (*pack_panels)(const T* from, std::int64_t row, std::int64_t col, std::int64_t count, std::int64_t columns, T* to,
                      std::int64_t place, std::int64_t room);
  /// Pixels to strips for `multiply`, to the places from `place` on.
  void (*pack_strips)(const T* from, std::int64_t step, std::int64_t pixels, std::int64_t channels, T* to, std::int64_t place,
                      std::int64_t room);
};

struct ConvKernels {
  ConvTiles<float> f32;
  ConvTiles<double> f64;
};

WEFT_ISA_TABLE(ConvKernels, conv_kernels)

}  // namespace weft::inline v0::kernels
