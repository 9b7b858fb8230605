#include "kernels/pool.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/pool.h"

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
// positions, the run's offset in y, its first channel and its length. Threads share the images; where windows write only their own element of y
// they share the first axis, too.
template <class Each>
void for_each_window(const PoolShape& s, bool images_only, const Each& each) {
  const std::int64_t line = s.axis[1].out * s.axis[2].out * s.channels, slabs = images_only ? 1 : s.axis[0].out, rows = s.axis[0].out / slabs;
  constexpr std::int64_t kWork = 16384;  // elements of y
  parallel_ranges(s.batch * slabs, std::max<std::int64_t>(1, kWork / (line * rows)), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t slab = begin; slab < end; ++slab) {
      const std::int64_t n = slab / slabs;
      std::int64_t to = slab * rows * line;
      for (std::int64_t o0 = slab % slabs * rows; o0 < (slab % slabs + 1) * rows; ++o0)
        for (std::int64_t o1 = 0; o1 < s.axis[1].out; ++o1)
          for (std::int64_t o2 = 0; o2 < s.axis[2].out; ++o2, to += s.channels) {
            const Range window[] = {clipped(s.axis[0], o0), clipped(s.axis[1], o1), clipped(s.axis[2], o2)};
            for (std::int64_t c = 0; c < s.channels; c += kLanes) each(n * image_size(s), window, to + c, c, std::min(kLanes, s.channels - c));
          }
    }
  });
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
  if constexpr (std::is_floating_point_v<T>) return (challenger > best) | ((challenger != challenger) & (best == best));
  else return challenger > best;
}

// For a run of channels the maximum in a window of x (one image) and its offset in the image, less the channel. The offset is as wide as the
// element, so that the loop over channels is one of vectors.
template <class T>
using Where = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;

template <class T>
void find_max(const PoolShape& s, const T* x, const Range* window, std::int64_t channel, std::int64_t count, T* best, std::int64_t* where) {
  Where<T> nth[kLanes] = {}, now = 0;
  std::int64_t first = -1;
  for_each_position(
      s, window,
      [&](std::int64_t at) {
        const T* values = x + at + channel;
        if (first < 0) {
          std::copy_n(values, count, best);
          first = at;
        }
        for (std::int64_t c = 0; c < count; ++c) {
          const bool better = beats(values[c], best[c]);
          best[c] = better ? values[c] : best[c];
          nth[c] = better ? now : nth[c];
        }
        ++now;
      },
      [] {});
  const std::int64_t width = window[2].end - window[2].begin, height = window[1].end - window[1].begin;
  for (std::int64_t c = 0; c < count; ++c) {
    const std::int64_t n = nth[c], p0 = n / width / height, p1 = n / width % height, p2 = n % width;
    where[c] = first + ((p0 * s.axis[1].in + p1) * s.axis[2].in + p2) * s.channels + channel + c;
  }
}

// Calls use(at_y, at_x) for every element of y with the offset in x of its window's maximum.
template <class T, class Use>
void for_each_max(const PoolShape& s, const T* x, bool images_only, const Use& use) {
  for_each_window(s, images_only, [&](std::int64_t image, const Range* window, std::int64_t to, std::int64_t channel, std::int64_t count) {
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
  for_each_window(s, false, [&](std::int64_t image, const Range* window, std::int64_t to, std::int64_t channel, std::int64_t count) {
    bool first = true;
    for_each_position(
        s, window,
        [&](std::int64_t at) {
          const T* values = x + image + at + channel;
          if (first) std::copy_n(values, count, y + to);
          first = false;
          for (std::int64_t c = 0; c < count; ++c) y[to + c] = beats(values[c], y[to + c]) ? values[c] : y[to + c];
        },
        [] {});
  });
}

template <class T>
void max_pool_backward(const PoolShape& s, const T* x, const T* dy, T* dx) {
  std::fill_n(dx, s.batch * image_size(s), T(0));
  for_each_max(s, x, true, [&](std::int64_t to, std::int64_t from) { dx[from] += dy[to]; });
}

template <class T>
void max_pool_take(const PoolShape& s, const T* x, const T* values, T* y) {
  for_each_max(s, x, false, [&](std::int64_t to, std::int64_t from) { y[to] = values[from]; });
}

template <class T>
void avg_pool(const PoolShape& s, const T* x, T* y) {
  std::fill_n(y, result_size(s), T(0));
  for_each_window(s, false, [&](std::int64_t image, const Range* window, std::int64_t to, std::int64_t channel, std::int64_t count) {
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
  for_each_window(s, true, [&](std::int64_t image, const Range* window, std::int64_t to, std::int64_t channel, std::int64_t count) {
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
