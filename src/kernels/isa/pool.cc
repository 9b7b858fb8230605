#include "kernels/pool_lines.h"

#include "kernels/isa/lanes.h"

namespace weft::inline v0::kernels::WEFT_ISA {
namespace {

using Floats = Vec<float>;
using Places = Vec<std::int32_t>;

/// Where x takes the place of the maximum so far: a NaN always does, and then stays.
WEFT_INLINE Places replaces_max(Floats x, Floats best) { return (x > best) | ((x != x) & (best == best)); }

/// Calls each(get, put, offset in a window, offset in y) for every run of channels of every window, as many as a vector has or the last ones.
template <class Each>
WEFT_INLINE void for_each_run(const PoolLine& line, const Each& each) {
  constexpr int width = kWidth<float>;
  for (std::int64_t w = 0; w < line.count; ++w) {
    const std::int64_t from = w * line.step, to = w * line.channels;
    std::int64_t c = 0;
    for (; c + width <= line.channels; c += width)
      each([](const float* x) { return load<float>(x); }, [](float* y, Floats v) { store(y, v); }, from + c, to + c);
    const std::int64_t rest = line.channels - c;
    if (rest > 0)
      each([rest](const float* x) { return load_some(x, rest, 0.0f); }, [rest](float* y, Floats v) { store_some(y, rest, v); }, from + c, to + c);
  }
}

/// Sizes that are known when this is compiled, or 0.
template <int known_height, int known_width, class Tap>
WEFT_INLINE void for_each_tap(const PoolLine& line, const Tap& tap) {
  const std::int64_t height = known_height > 0 ? known_height : line.height, width = known_width > 0 ? known_width : line.width;
  std::int32_t nth = 0;
#pragma GCC unroll 3
  for (std::int64_t h = 0; h < height; ++h)
#pragma GCC unroll 3
    for (std::int64_t w = 0; w < width; ++w) tap(line.lines[h] + w * line.channels, nth++);
}

template <int height, int width>
void max_line(const PoolLine& line, const float* x, float* y) {
  for_each_run(line, [&](auto get, auto put, std::int64_t from, std::int64_t to) __attribute__((always_inline)) {
    Floats best = get(x + line.lines[0] + from);
    for_each_tap<height, width>(line, [&](std::int64_t at, std::int32_t) __attribute__((always_inline)) {
      const Floats v = get(x + at + from);
      best = replaces_max(v, best) ? v : best;
    });
    put(y + to, best);
  });
}

template <int height, int width>
void max_line_backward(const PoolLine& line, const float* x, const float* dy, float* dx) {
  for_each_run(line, [&](auto get, auto put, std::int64_t from, std::int64_t to) __attribute__((always_inline)) {
    Floats best = get(x + line.lines[0] + from);
    Places where = {};
    for_each_tap<height, width>(line, [&](std::int64_t at, std::int32_t nth) __attribute__((always_inline)) {
      const Floats v = get(x + at + from);
      const Places better = replaces_max(v, best);
      best = better ? v : best;
      where = better ? all_lanes(nth) : where;
    });
    const Floats slope = get(dy + to);
    for_each_tap<height, width>(line, [&](std::int64_t at, std::int32_t nth) __attribute__((always_inline)) {
      float* place = dx + at + from;
      put(place, get(place) + (where == nth ? slope : Floats{}));
    });
  });
}

/// The windows that nearly all networks have are known when this is compiled.
void max(const PoolLine& line, const float* x, float* y) {
  if (line.height == 2 && line.width == 2) return max_line<2, 2>(line, x, y);
  max_line<0, 0>(line, x, y);
}
void max_backward(const PoolLine& line, const float* x, const float* dy, float* dx) {
  if (line.height == 2 && line.width == 2) return max_line_backward<2, 2>(line, x, dy, dx);
  max_line_backward<0, 0>(line, x, dy, dx);
}

}  // namespace

extern const PoolLoops pool_loops = {max, max_backward};

}  // namespace weft::inline v0::kernels::WEFT_ISA
