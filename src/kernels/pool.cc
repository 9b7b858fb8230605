#include "kernels/pool.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace weft::inline v0::kernels {
namespace {

constexpr std::int64_t kLanes = 64;  // channels handled together

struct Range {
  std::int64_t begin, end;
};

Range clipped(const ConvAxis& axis, std::int64_t o) {
  const std::int64_t start = o * axis.stride - axis.before;
  return {std::max<std::int64_t>(start, 0), start < axis.in - axis.window ? start + axis.window : axis.in};
}

std::int64_t image_size(const PoolShape& s) { return s.axis[0].in * s.axis[1].in * s.axis[2].in * s.channels; }
std::int64_t result_size(const PoolShape& s) { return s.batch * s.axis[0].out * s.axis[1].out * s.axis[2].out * s.channels; }

// Calls each(image, window, to, channel, count) for every window and every run of channels: the image's offset in x, the window's
// positions, the run's offset in y, its first channel and its length.
template <class Each>
void for_each_window(const PoolShape& s, const Each& each) {
  std::int64_t to = 0;
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t o0 = 0; o0 < s.axis[0].out; ++o0)
      for (std::int64_t o1 = 0; o1 < s.axis[1].out; ++o1)
        for (std::int64_t o2 = 0; o2 < s.axis[2].out; ++o2, to += s.channels) {
          const Range window[] = {clipped(s.axis[0], o0), clipped(s.axis[1], o1), clipped(s.axis[2], o2)};
          for (std::int64_t c = 0; c < s.channels; c += kLanes) each(n * image_size(s), window, to + c, c, std::min(kLanes, s.channels - c));
        }
}

// Calls each(at) with the offset in the image of every position of a window, line by line; after each line line_done().
template <class Each, class Done>
void for_each_position(const PoolShape& s, const Range* window, const Each& each, const Done& line_done) {
  for (std::int64_t p0 = window[0].begin; p0 < window[0].end; ++p0)
    for (std::int64_t p1 = window[1].begin; p1 < window[1].end; ++p1) {
      for (std::int64_t p2 = window[2].begin; p2 < window[2].end; ++p2) each(((p0 * s.axis[1].in + p1) * s.axis[2].in + p2) * s.channels);
      line_done();
    }
}

template <class T>
bool beats(T challenger, T best) {
  if constexpr (std::is_floating_point_v<T>) return challenger > best || (std::isnan(challenger) && !std::isnan(best));
  else return challenger > best;
}

// For a run of channels the maximum in a window of x (one image) and its offset in the image.
template <class T>
void find_max(const PoolShape& s, const T* x, const Range* window, std::int64_t channel, std::int64_t count, T* best, std::int64_t* where) {
  bool first = true;
  for_each_position(
      s, window,
      [&](std::int64_t at) {
        const T* values = x + at + channel;
        for (std::int64_t c = 0; c < count; ++c)
          if (first || beats(values[c], best[c])) best[c] = values[c], where[c] = at + channel + c;
        first = false;
      },
      [] {});
}

// Calls use(at_y, at_x) for every element of y with the offset in x of its window's maximum.
template <class T, class Use>
void for_each_max(const PoolShape& s, const T* x, const Use& use) {
  for_each_window(s, [&](std::int64_t image, const Range* window, std::int64_t to, std::int64_t channel, std::int64_t count) {
    T best[kLanes];
    std::int64_t where[kLanes];
    find_max(s, x + image, window, channel, count, best, where);
    for (std::int64_t c = 0; c < count; ++c) use(to + c, image + where[c]);
  });
}

std::int64_t positions(const Range* window) {
  return (window[0].end - window[0].begin) * (window[1].end - window[1].begin) * (window[2].end - window[2].begin);
}

}  // namespace

template <class T>
void max_pool(const PoolShape& s, const T* x, T* y) {
  for_each_max(s, x, [&](std::int64_t to, std::int64_t from) { y[to] = x[from]; });
}

template <class T>
void max_pool_backward(const PoolShape& s, const T* x, const T* dy, T* dx) {
  std::fill_n(dx, s.batch * image_size(s), T(0));
  for_each_max(s, x, [&](std::int64_t to, std::int64_t from) { dx[from] += dy[to]; });
}

template <class T>
void max_pool_take(const PoolShape& s, const T* x, const T* values, T* y) {
  for_each_max(s, x, [&](std::int64_t to, std::int64_t from) { y[to] = values[from]; });
}

template <class T>
void avg_pool(const PoolShape& s, const T* x, T* y) {
  std::fill_n(y, result_size(s), T(0));
  for_each_window(s, [&](std::int64_t image, const Range* window, std::int64_t to, std::int64_t channel, std::int64_t count) {
    T line[kLanes] = {};  // lines are summed apart: shorter chains of roundings
    for_each_position(
        s, window,
        [&](std::int64_t at) {
          const T* values = x + image + at + channel;
          for (std::int64_t c = 0; c < count; ++c) line[c] += values[c];
        },
        [&] {
          for (std::int64_t c = 0; c < count; ++c) y[to + c] += line[c], line[c] = T(0);
        });
    const T size = static_cast<T>(positions(window));
    for (std::int64_t c = 0; c < count; ++c) y[to + c] /= size;
  });
}

template <class T>
void avg_pool_backward(const PoolShape& s, const T* dy, T* dx) {
  std::fill_n(dx, s.batch * image_size(s), T(0));
  for_each_window(s, [&](std::int64_t image, const Range* window, std::int64_t to, std::int64_t channel, std::int64_t count) {
    const T size = static_cast<T>(positions(window));
    T share[kLanes];
    for (std::int64_t c = 0; c < count; ++c) share[c] = dy[to + c] / size;
    for_each_position(
        s, window,
        [&](std::int64_t at) {
          T* values = dx + image + at + channel;
          for (std::int64_t c = 0; c < count; ++c) values[c] += share[c];
        },
        [] {});
  });
}

template <class T>
void neighbor_sum(std::int64_t rows, std::int64_t channels, std::int64_t radius, const T* x, T* y) {
  radius = std::min(radius, channels);
  for (std::int64_t row = 0; row < rows; ++row, x += channels, y += channels)
    for (std::int64_t c = 0; c < channels; ++c) {
      T sum = 0;
      for (std::int64_t d = std::max<std::int64_t>(c - radius, 0); d < std::min(c + radius + 1, channels); ++d) sum += x[d];
      y[c] = sum;
    }
}

template void max_pool(const PoolShape&, const float*, float*);
template void max_pool(const PoolShape&, const double*, double*);
template void max_pool(const PoolShape&, const std::int8_t*, std::int8_t*);
template void max_pool(const PoolShape&, const std::int16_t*, std::int16_t*);
template void max_pool(const PoolShape&, const std::int32_t*, std::int32_t*);
template void max_pool(const PoolShape&, const std::int64_t*, std::int64_t*);
template void max_pool(const PoolShape&, const std::uint8_t*, std::uint8_t*);
template void max_pool(const PoolShape&, const std::uint16_t*, std::uint16_t*);
template void max_pool(const PoolShape&, const std::uint32_t*, std::uint32_t*);
template void max_pool(const PoolShape&, const std::uint64_t*, std::uint64_t*);
template void max_pool_backward(const PoolShape&, const float*, const float*, float*);
template void max_pool_backward(const PoolShape&, const double*, const double*, double*);
template void max_pool_take(const PoolShape&, const float*, const float*, float*);
template void max_pool_take(const PoolShape&, const double*, const double*, double*);
template void avg_pool(const PoolShape&, const float*, float*);
template void avg_pool(const PoolShape&, const double*, double*);
template void avg_pool_backward(const PoolShape&, const float*, float*);
template void avg_pool_backward(const PoolShape&, const double*, double*);
template void neighbor_sum(std::int64_t, std::int64_t, std::int64_t, const float*, float*);
template void neighbor_sum(std::int64_t, std::int64_t, std::int64_t, const double*, double*);

}  // namespace weft::inline v0::kernels
