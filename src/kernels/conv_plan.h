// What the fast convolutions have in common: simpler shapes, and which pixels of an axis meet which taps.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/conv.h"
#include "kernels/conv_tiles.h"
#include "kernels/scratch.h"

namespace weft::inline v0::kernels {

template <class T>
const ConvTiles<T>& conv_tiles(Isa set) {
  if constexpr (sizeof(T) == sizeof(float)) return conv_kernels(set).f32;
  else return conv_kernels(set).f64;
}

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// What is not finite may not be multiplied by the zeros of padding.
template <class T>
bool all_finite(const T* from, std::int64_t count) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const Bits infinity = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  Bits found = 0;
  for (std::int64_t i = 0; i < count; ++i) found |= (std::bit_cast<Bits>(from[i]) & infinity) == infinity;
  return found == 0;
}

/// The same convolution with long rows: an axis of size 1 goes to the front, axes that a window of one tap leaves alone become one.
inline ConvShape simplified(ConvShape s) {
  for (ConvAxis& a : s.axis)
    if (a.out == 1) a.stride = 1;
  const auto plain = [](const ConvAxis& a) { return a.window == 1 && a.stride == 1 && a.before == 0 && a.in == a.out; };
  for (int pass = 0; pass < 2; ++pass)
    for (int a = kMaxWindowAxes - 1; a > 0; --a) {
      ConvAxis &outer = s.axis[a - 1], &inner = s.axis[a];
      if (!plain(inner) || (inner.in > 1 && !plain(outer))) continue;
      outer.in *= inner.in, outer.out *= inner.out;
      inner = outer;
      outer = {};
    }
  if (plain(s.axis[2]) && plain(s.axis[1]) && plain(s.axis[0]) && s.axis[0].in == 1 && s.axis[1].in == 1) {
    s.axis[2].in *= s.batch, s.axis[2].out *= s.batch;
    s.batch = 1;
  }
  return s;
}

/// The positions first + i * step, i < count, of the tensor that is written meet the same taps: position i * scale + shift + t * spacing of
/// the tensor that is read under tap first_tap + t * tap_step, t < taps. Taps are in the order of what they read.
struct Phase {
  std::int64_t first, step, count;
  std::int64_t scale, shift, spacing;
  std::int64_t taps, first_tap, tap_step;

  std::int64_t source(std::int64_t i, std::int64_t t) const { return i * scale + shift + t * spacing; }
  std::int64_t tap(std::int64_t t) const { return first_tap + t * tap_step; }
};

/// Position r of the result belongs to phase r % the number of phases.
using Phases = std::vector<Phase>;

inline Phases forward_phases(const ConvAxis& a) { return {{0, 1, a.out, a.stride, -a.before, a.dilation, a.window, 0, 1}}; }
/// For the transposed convolution: there are as many phases as the stride, or as positions if those are fewer.
Phases backward_phases(const ConvAxis& axis);

/// y or dx: result[r] = sum over taps, over channels of source * filter, as the phases of each axis tell.
template <class T>
struct ConvGather {
  ConvGather(const ConvTiles<T>& with, const ConvShape& s, const T* from, const T* w, T* to)
      : tiles(with), batch(s.batch), groups(s.groups), source(from), filters(w), result(to), filter_group(s.out_channels / s.groups),
        filter_tap(s.in_channels / s.groups * s.out_channels), one_channel_groups(s.groups == s.in_channels) {}

  const ConvTiles<T>& tiles;
  std::int64_t batch, groups;
  std::int64_t read = 0, written = 0;  // channels
  std::int64_t limit[kMaxWindowAxes], size[kMaxWindowAxes], window[kMaxWindowAxes];  // of positions read, of positions written, of taps
  Phases phases[kMaxWindowAxes];
  const T *source, *filters;
  T* result;
  std::int64_t filter_row = 0, filter_col = 0;  // strides: from a channel read to the next, from a channel written to the next
  std::int64_t filter_group, filter_tap;
  const BlockDone* done = nullptr;
  bool one_channel_groups;  // each channel of x has its own filters

  /// False, with nothing done, if the reference must do it: filters that are not finite meet padding, or almost all is padding.
  bool run() const;

 private:
  /// If few channels are written: from the pixels that are read (conv_spread.cc). False, with nothing done, if that would not be faster.
  bool spread() const;
};

/// dw.
template <class T>
void conv_sum_filter(const ConvTiles<T>& tiles, const ConvShape& shape, const T* x, const T* dy, T* dw);

}  // namespace weft::inline v0::kernels
