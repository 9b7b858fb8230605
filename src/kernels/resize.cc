#include "kernels/resize.h"

#include <algorithm>

namespace weft::inline v0::kernels {
namespace {

__extension__ using Wide = __int128;  // products of two sizes

// The two pixels between which the centre of output pixel i falls, and the weight of the second.
struct Between {
  std::int64_t lower, upper;
  double weight;
};

Between between(std::int64_t i, std::int64_t in, std::int64_t out) {
  // (i + 1/2) * in / out - 1/2 as numerator / (2 out).
  const Wide numerator = (2 * Wide(i) + 1) * in - out, denominator = 2 * Wide(out);
  if (numerator <= 0) return {0, 0, 0};
  const auto lower = static_cast<std::int64_t>(numerator / denominator);
  if (lower >= in - 1) return {in - 1, in - 1, 0};
  const Wide rest = numerator % denominator;
  return {lower, rest == 0 ? lower : lower + 1, static_cast<double>(rest) / static_cast<double>(denominator)};
}

std::int64_t nearest(std::int64_t i, std::int64_t in, std::int64_t out) {
  return static_cast<std::int64_t>((2 * Wide(i) + 1) * in / (2 * Wide(out)));
}

// Calls each(in pixel offset, out pixel offset) for all pixels of the result.
template <class Each>
void for_each_nearest(const ResizeShape& s, const Each& each) {
  for (std::int64_t n = 0, to = 0; n < s.batch; ++n)
    for (std::int64_t i = 0; i < s.out_height; ++i) {
      const std::int64_t row = (n * s.in_height + nearest(i, s.in_height, s.out_height)) * s.in_width;
      for (std::int64_t j = 0; j < s.out_width; ++j, to += s.channels) each((row + nearest(j, s.in_width, s.out_width)) * s.channels, to);
    }
}

// Calls each(upper row's offset, lower row's offset, rows' Between, columns' Between, out pixel offset).
template <class Each>
void for_each_between(const ResizeShape& s, const Each& each) {
  const std::int64_t line = s.in_width * s.channels;
  for (std::int64_t n = 0, to = 0; n < s.batch; ++n)
    for (std::int64_t i = 0; i < s.out_height; ++i) {
      const Between v = between(i, s.in_height, s.out_height);
      for (std::int64_t j = 0; j < s.out_width; ++j, to += s.channels)
        each((n * s.in_height + v.lower) * line, (n * s.in_height + v.upper) * line, v, between(j, s.in_width, s.out_width), to);
    }
}

// A weight of 0 leaves the other side out, so that an infinite neighbour does not matter.
template <class T>
T mix(T a, T b, T weight) {
  return weight == T(0) ? a : a * (T(1) - weight) + b * weight;
}

}  // namespace

template <class T>
void resize_nearest(const ResizeShape& s, const T* x, T* y) {
  for_each_nearest(s, [&](std::int64_t from, std::int64_t to) { std::copy_n(x + from, s.channels, y + to); });
}

template <class T>
void resize_nearest_backward(const ResizeShape& s, const T* dy, T* dx) {
  std::fill_n(dx, s.batch * s.in_height * s.in_width * s.channels, T(0));
  for_each_nearest(s, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t c = 0; c < s.channels; ++c) dx[from + c] += dy[to + c];
  });
}

template <class T>
void resize_bilinear(const ResizeShape& s, const T* x, T* y) {
  for_each_between(s, [&](std::int64_t top, std::int64_t bottom, const Between& v, const Between& h, std::int64_t to) {
    const T down = static_cast<T>(v.weight), right = static_cast<T>(h.weight);
    for (std::int64_t c = 0; c < s.channels; ++c) {
      const std::int64_t left = h.lower * s.channels + c, other = h.upper * s.channels + c;
      y[to + c] = mix(mix(x[top + left], x[top + other], right), mix(x[bottom + left], x[bottom + other], right), down);
    }
  });
}

template <class T>
void resize_bilinear_backward(const ResizeShape& s, const T* dy, T* dx) {
  std::fill_n(dx, s.batch * s.in_height * s.in_width * s.channels, T(0));
  for_each_between(s, [&](std::int64_t top, std::int64_t bottom, const Between& v, const Between& h, std::int64_t to) {
    const T down = static_cast<T>(v.weight), right = static_cast<T>(h.weight);
    const auto spread = [&](std::int64_t row, std::int64_t c, T value) {
      dx[row + h.lower * s.channels + c] += value * (T(1) - right);
      if (right != T(0)) dx[row + h.upper * s.channels + c] += value * right;
    };
    for (std::int64_t c = 0; c < s.channels; ++c) {
      spread(top, c, dy[to + c] * (T(1) - down));
      if (down != T(0)) spread(bottom, c, dy[to + c] * down);
    }
  });
}

template void resize_nearest(const ResizeShape&, const float*, float*);
template void resize_nearest(const ResizeShape&, const double*, double*);
template void resize_nearest_backward(const ResizeShape&, const float*, float*);
template void resize_nearest_backward(const ResizeShape&, const double*, double*);
template void resize_bilinear(const ResizeShape&, const float*, float*);
template void resize_bilinear(const ResizeShape&, const double*, double*);
template void resize_bilinear_backward(const ResizeShape&, const float*, float*);
template void resize_bilinear_backward(const ResizeShape&, const double*, double*);

}  // namespace weft::inline v0::kernels
