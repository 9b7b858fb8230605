#include "kernels/pool.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/pool.h"
#include "kernels/pool_lines.h"

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

// Calls each(image, window, to) for every line of windows along the last axis: the image's offset in x, the windows' positions along the
// other axes, the line's offset in y. Windows write only their own element of y, or add to `sums`, of the size of x, which are not null then
// and are cleared first. Threads share the images and, in the first case, the first axis, too.
template <class T, class Each>
void for_each_line(const PoolShape& s, T* sums, const Each& each) {
  const std::int64_t slabs = sums != nullptr ? 1 : s.axis[0].out, rows = s.axis[0].out / slabs;
  const std::int64_t line = s.axis[2].out * s.channels, slab = s.axis[1].out * line;
  constexpr std::int64_t kWork = 16384;  // elements of y
  parallel_ranges(s.batch * slabs, std::max<std::int64_t>(1, kWork / (slab * rows)), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t to = i * rows * slab;
      if (sums != nullptr) std::fill_n(sums + i * image_size(s), image_size(s), T(0));
      for (std::int64_t o0 = i % slabs * rows; o0 < (i % slabs + 1) * rows; ++o0)
        for (std::int64_t o1 = 0; o1 < s.axis[1].out; ++o1, to += line) {
          Range window[] = {clipped(s.axis[0], o0), clipped(s.axis[1], o1), {}};
          each(i / slabs * image_size(s), window, to);
        }
    }
  });
}

// Calls each(image, window, to, channel, count) for the windows of a line from `first` to `end` and every run of channels: the run's offset
// in y, its first channel and its length.
template <class Each>
void for_each_window_in(const PoolShape& s, std::int64_t image, Range* window, std::int64_t to, std::int64_t first, std::int64_t end,
                        const Each& each) {
  for (std::int64_t o2 = first; o2 < end; ++o2) {
    window[2] = clipped(s.axis[2], o2);
    for (std::int64_t c = 0; c < s.channels; c += kLanes) each(image, window, to + o2 * s.channels + c, c, std::min(kLanes, s.channels - c));
  }
}
template <class T, class Each>
void for_each_window(const PoolShape& s, T* sums, const Each& each) {
  for_each_line(s, sums, [&](std::int64_t image, Range* window, std::int64_t to) {
    for_each_window_in(s, image, window, to, 0, s.axis[2].out, each);
  });
}

// The same for f32, where fast(line, offset in x, offset in y) does those windows of a line that lie inside of x along the last axis.
template <class Each, class Fast>
void for_each_window_or_line(const PoolShape& s, float* sums, const Each& each, const Fast& fast) {
  constexpr std::int64_t most = 64, few_channels = 4;
  const ConvAxis& axis = s.axis[2];
  // Windows and strides can be as large as integers are; what is formed of them here lies inside of x.
  const std::int64_t first = std::min(axis.out, axis.before / axis.stride + (axis.before % axis.stride != 0));
  const std::int64_t room = axis.in - (axis.window - axis.before), end = room < 0 ? first : std::clamp(room / axis.stride + 1, first, axis.out);
  for_each_line(s, sums, [&](std::int64_t image, Range* window, std::int64_t to) {
    const std::int64_t height = (window[0].end - window[0].begin) * (window[1].end - window[1].begin);
    if (height > most || s.channels < few_channels) return for_each_window_in(s, image, window, to, 0, axis.out, each);
    std::int64_t lines[most], count = 0;
    for (std::int64_t p0 = window[0].begin; p0 < window[0].end; ++p0)
      for (std::int64_t p1 = window[1].begin; p1 < window[1].end; ++p1) lines[count++] = (p0 * s.axis[1].in + p1) * axis.in * s.channels;
    for_each_window_in(s, image, window, to, 0, first, each);
    if (first < end)
      fast(PoolLine{lines, height, axis.window, s.channels, end - first, end - first > 1 ? axis.stride * s.channels : 0},
           image + (first * axis.stride - axis.before) * s.channels, to + first * s.channels);
    for_each_window_in(s, image, window, to, end, axis.out, each);
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

// Calls use(at_y, at_x) for every element of y in a window with the offset in x of its maximum.
template <class T, class Use>
auto max_of(const PoolShape& s, const T* x, const Use& use) {
  return [&s, x, use](std::int64_t image, const Range* window, std::int64_t to, std::int64_t channel, std::int64_t count) {
    T best[kLanes];
    std::int64_t where[kLanes];
    find_max(s, x + image, window, channel, count, best, where);
    for (std::int64_t c = 0; c < count; ++c) use(to + c, image + where[c]);
  };
}

std::int64_t positions(const Range* window) {
  return (window[0].end - window[0].begin) * (window[1].end - window[1].begin) * (window[2].end - window[2].begin);
}

}  // namespace

template <class T>
void max_pool(const PoolShape& s, const T* x, T* y, [[maybe_unused]] Isa set) {
  const auto each = [&](std::int64_t image, const Range* window, std::int64_t to, std::int64_t channel, std::int64_t count) {
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
  };
  if constexpr (std::is_same_v<T, float>)
    for_each_window_or_line(s, nullptr, each,
                            [&](const PoolLine& line, std::int64_t from, std::int64_t to) { pool_loops(set).max(line, x + from, y + to); });
  else for_each_window<T>(s, nullptr, each);
}

template <class T>
void max_pool_backward(const PoolShape& s, const T* x, const T* dy, T* dx, [[maybe_unused]] Isa set) {
  const auto each = max_of(s, x, [&](std::int64_t to, std::int64_t from) { dx[from] += dy[to]; });
  if constexpr (std::is_same_v<T, float>)
    for_each_window_or_line(s, dx, each, [&](const PoolLine& line, std::int64_t from, std::int64_t to) {
      pool_loops(set).max_backward(line, x + from, dy + to, dx + from);
    });
  else for_each_window(s, dx, each);
}

template <class T>
void max_pool_take(const PoolShape& s, const T* x, const T* values, T* y) {
  for_each_window<T>(s, nullptr, max_of(s, x, [&](std::int64_t to, std::int64_t from) { y[to] = values[from]; }));
}

template <class T>
void avg_pool(const PoolShape& s, const T* x, T* y) {
  std::fill_n(y, result_size(s), T(0));
  for_each_window<T>(s, nullptr, [&](std::int64_t image, const Range* window, std::int64_t to, std::int64_t channel, std::int64_t count) {
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
  for_each_window(s, dx, [&](std::int64_t image, const Range* window, std::int64_t to, std::int64_t channel, std::int64_t count) {
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

template void max_pool(const PoolShape&, const float*, float*, Isa);
template void max_pool(const PoolShape&, const double*, double*, Isa);
template void max_pool(const PoolShape&, const std::int8_t*, std::int8_t*, Isa);
template void max_pool(const PoolShape&, const std::int16_t*, std::int16_t*, Isa);
template void max_pool(const PoolShape&, const std::int32_t*, std::int32_t*, Isa);
template void max_pool(const PoolShape&, const std::int64_t*, std::int64_t*, Isa);
template void max_pool(const PoolShape&, const std::uint8_t*, std::uint8_t*, Isa);
template void max_pool(const PoolShape&, const std::uint16_t*, std::uint16_t*, Isa);
template void max_pool(const PoolShape&, const std::uint32_t*, std::uint32_t*, Isa);
template void max_pool(const PoolShape&, const std::uint64_t*, std::uint64_t*, Isa);
template void max_pool_backward(const PoolShape&, const float*, const float*, float*, Isa);
template void max_pool_backward(const PoolShape&, const double*, const double*, double*, Isa);
template void max_pool_take(const PoolShape&, const float*, const float*, float*);
template void max_pool_take(const PoolShape&, const double*, const double*, double*);
template void avg_pool(const PoolShape&, const float*, float*);
template void avg_pool(const PoolShape&, const double*, double*);
template void avg_pool_backward(const PoolShape&, const float*, float*);
template void avg_pool_backward(const PoolShape&, const double*, double*);
template void neighbor_sum(std::int64_t, std::int64_t, std::int64_t, const float*, float*);
template void neighbor_sum(std::int64_t, std::int64_t, std::int64_t, const double*, double*);

}  // namespace weft::inline v0::kernels
