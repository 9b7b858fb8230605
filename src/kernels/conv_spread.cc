// Convolutions of stride 1 that write a few channels, and their transposes: too few for a register of sums each.
//
// A pixel that is read has one product with all filters: what it adds to the pixels around it, tap by tap. Those products fill registers. A task
// makes them for the lines that its part of the result meets, and adds up what each pixel was given.
#include <algorithm>

#include "base/pool.h"
#include "kernels/conv_plan.h"

namespace weft::inline v0::kernels {
namespace {

using Size = std::int64_t;

constexpr Size kQuad = 4;              // channels that are added at once
constexpr Size kFewestRead = 8;        // channels: of fewer the sums are too short
constexpr Size kLines = 16;            // of the result, in a task
constexpr Size kGivenBytes = 1 << 18;  // what a task keeps of products, if that is more than one line

/// What a line of the tensor that is read gives under one tap: to pixels [begin, end) of a line of the result, pixel begin + i from at + i * step on.
template <class T>
struct Given {
  const T* at;
  Size begin, end;
};

template <class T>
class Spread {
 public:
  explicit Spread(const ConvGather<T>& gather) : g_(gather), line_(g_.limit[2] * step_) {
    const Size lines = kGivenBytes / (line_ * static_cast<Size>(sizeof(T)) * g_.window[0]) - (g_.window[1] - 1) * g_.phases[1][0].spacing;
    block_ = std::min(g_.size[1], std::clamp<Size>(lines, 1, kLines));
  }

  void run() const {
    Scratch scratch(Scratch::size<T>(panels_ * panel_size_));
    T* packed = scratch.template take<T>(panels_ * panel_size_);
    pack(packed);
    const Size blocks = ceil_div(g_.size[1], block_);
    parallel_for(g_.batch * g_.size[0] * blocks, [&](Size task) {
      const Size outer = task / blocks, begin = task % blocks * block_;
      part(packed, outer / g_.size[0], outer % g_.size[0], begin, std::min(g_.size[1], begin + block_));
    });
  }

 private:
  const Phase& phase(int axis) const { return g_.phases[axis][0]; }

  // Row c of the panels: what channel c gives, for each tap the channels that are written.
  void pack(T* to) const {
    std::fill_n(to, panels_ * panel_size_, T(0));
    for (Size tap = 0; tap < taps_; ++tap)
      for (Size o = 0; o < g_.written; ++o) {
        const Size column = tap * g_.written + o, panel = column / g_.tiles.cols, at = column % g_.tiles.cols;
        const T* from = g_.filters + tap * g_.filter_tap + o * g_.filter_col;
        for (Size c = 0; c < g_.read; ++c) to[panel * panel_size_ + c * g_.tiles.cols + at] = from[c * g_.filter_row];
      }
  }

  // Lines [begin, end) of position r0 of image n.
  void part(const T* packed, Size n, Size r0, Size begin, Size end) const {
    const Phase &p0 = phase(0), &p1 = phase(1);
    const Size first = std::clamp<Size>(p1.source(begin, 0), 0, g_.limit[1]);
    const Size lines = std::clamp<Size>(p1.source(end - 1, p1.taps - 1) + 1, first, g_.limit[1]) - first;
    Scratch scratch(Scratch::size<T>(g_.window[0] * lines * line_ + kQuad) + Scratch::size<Given<T>>(taps_) + Scratch::size<T>(g_.size[2] * kQuad));
    T* products = scratch.template take<T>(g_.window[0] * lines * line_ + kQuad);
    Given<T>* given = scratch.template take<Given<T>>(taps_);
    T* sums = scratch.template take<T>(g_.size[2] * kQuad);
    for (Size t0 = 0; t0 < p0.taps && lines > 0; ++t0) {
      const Size s0 = p0.source(r0, t0);
      if (s0 < 0 || s0 >= g_.limit[0]) continue;
      const T* from = g_.source + ((n * g_.limit[0] + s0) * g_.limit[1] + first) * g_.limit[2] * g_.read;
      multiply(packed, from, lines * g_.limit[2], products + t0 * lines * line_);
    }
    for (Size r1 = begin; r1 < end; ++r1) {
      Size count = 0;
      for (Size t0 = 0; t0 < p0.taps; ++t0)
        for (Size t1 = 0; t1 < p1.taps; ++t1) {
          const Size s0 = p0.source(r0, t0), s1 = p1.source(r1, t1);
          if (s0 < 0 || s0 >= g_.limit[0] || s1 < 0 || s1 >= g_.limit[1]) continue;
          const Size outer_tap = p0.tap(t0) * g_.window[1] + p1.tap(t1);
          count = give(products + (t0 * lines + s1 - first) * line_, outer_tap, given, count);
        }
      add_up(given, count, sums);
      T* result = g_.result + ((n * g_.size[0] + r0) * g_.size[1] + r1) * g_.size[2] * g_.written;
      for (Size i = 0; i < g_.size[2]; ++i)
        for (Size o = 0; o < g_.written; ++o) result[i * g_.written + o] = sums[i * kQuad + o];
      if (g_.done != nullptr) (*g_.done)({result, g_.size[2], g_.written, g_.written});
    }
  }

  void multiply(const T* packed, const T* from, Size pixels, T* to) const {
    const Size place = 0;
    for (Size panel = 0; panel < panels_; ++panel) {
      const Size first = panel * g_.tiles.cols;
      const ConvRow<T> row{pixels, 1, g_.read, &from, g_.read, &place, to, step_, 0, 0};
      g_.tiles.gather(&row, 1, {packed + panel * panel_size_, static_cast<int>(std::min(g_.tiles.cols, columns_ - first)), 0, first}, false);
    }
  }

  // Pixel i of the result is given what pixel source(i, t) of the line holds for tap t.
  Size give(const T* products, Size outer_tap, Given<T>* given, Size count) const {
    const Phase& p = phase(2);
    for (Size t = 0; t < p.taps; ++t) {
      const Size shift = p.source(0, t), begin = std::max<Size>(0, -shift), end = std::min(g_.size[2], g_.limit[2] - shift);
      if (begin < end) given[count++] = {products + (outer_tap * g_.window[2] + p.tap(t)) * g_.written + (shift + begin) * step_, begin, end};
    }
    return count;
  }

  void add_up(const Given<T>* given, Size count, T* sums) const {
    std::fill_n(sums, g_.size[2] * kQuad, T(0));
    for (const Given<T>* from = given; from < given + count; ++from)
      for (Size i = from->begin; i < from->end; ++i)
        for (Size o = 0; o < kQuad; ++o) sums[i * kQuad + o] += from->at[(i - from->begin) * step_ + o];  // behind the channels of a tap: numbers that nobody reads
  }

  const ConvGather<T>& g_;
  Size taps_ = g_.window[0] * g_.window[1] * g_.window[2], columns_ = taps_ * g_.written;
  Size panels_ = ceil_div(columns_, g_.tiles.cols), panel_size_ = g_.read * g_.tiles.cols;
  Size step_ = panels_ * g_.tiles.cols;  // from the products of a pixel to those of the next
  Size line_, block_;
};

}  // namespace

// By the registers that a pixel fills: one for each tap, or all taps side by side, anew for each tap of the first axis.
template <class T>
bool ConvGather<T>::spread() const {
  const Size lanes = tiles.cols / 2, taps = window[0] * window[1] * window[2];
  if (groups > 1 || written > kQuad || read < kFewestRead || 2 * window[0] * ceil_div(taps * written, lanes) > taps) return false;
  for (const Phases& of_axis : phases)
    if (of_axis.size() != 1 || of_axis[0].scale != 1 || of_axis[0].taps < 1) return false;
  Spread<T>(*this).run();
  return true;
}

template bool ConvGather<float>::spread() const;
template bool ConvGather<double>::spread() const;

}  // namespace weft::inline v0::kernels
