// Convolution and its transpose with respect to x, as products of rows of pixels with packed filters on register tiles.
//
// Nothing is copied but lines that meet padding along the last axis in more than their first and their last pixel: those get their zeros in
// scratch memory. Other taps outside are left out. A stride of the transposed convolution splits its result into phases, each of which is a convolution of stride 1.
#include <atomic>
#include <numeric>

#include "base/pool.h"
#include "kernels/conv_plan.h"

namespace weft::inline v0::kernels {
namespace {

using Size = std::int64_t;

constexpr Size kBlockPixels = 96;          // of a row, at most, in one unit of work
constexpr double kTaskProducts = 1 << 20;  // a task has more, if there are so many
constexpr Size kTaskPixels = 64;           // and it uses a panel of filters for so many pixels
constexpr Size kTasks = 16;                // below so many the channels are divided, too
constexpr Size kMostRows = 256;            // in a unit, and units in a task: they take memory
constexpr Size kFewChannels = 8;           // of which a tap would be too short for a loop of its own
constexpr Size kFewLines = 4, kManyLines = 16;  // in a unit, at least; and of short ones, if there are enough of them
constexpr Size kLineElements = 1 << 13;    // of a short line
constexpr Size kPackElements = 1 << 15;    // for one thread
constexpr Size kUnblockedRows = 1024;      // of a panel that is read as a whole

// What all tasks know: how the result falls into units and panels.
template <class T>
struct Layout {
  const ConvGather<T>& g;
  const ConvTiles<T>& tiles = g.tiles;
  Size depth = g.read / g.groups, width = g.written / g.groups;  // channels of a group
  Size panels = ceil_div(width, tiles.cols);                     // of a group
  // Each channel has its own filters, `multiplier` of them: what is read is repeated so often, or what is written added up.
  bool channelwise = g.groups > 1 && (depth == 1 || width == 1) && g.one_channel_groups;
  Size multiplier = channelwise ? std::max(depth, width) : 1, repeat = channelwise ? width : 1;
  Size line_channels = g.read * repeat;
  Size taps = g.window[0] * g.window[1] * g.window[2];
  Size panel_size = taps * depth * tiles.cols;
  std::vector<Size> start;  // where the taps of each phase of the last axis begin in a panel
  bool merged = true;       // the taps of a phase along the last axis read successive values: they are one
  Size most_taps[kMaxWindowAxes] = {};
  Size low = 0, reach = 0;  // along the last axis pixel i of any phase reads from i * scale + low on, `reach` positions at most
  bool leaves_out = false;  // along the last axis only the first and the last pixel meet padding, one tap of it each, and leave it out
  Size blocks2, block2, blocks1, block1;  // last axis; the one before

  explicit Layout(const ConvGather<T>& gather) : g(gather) {
    for (int a = 0; a < kMaxWindowAxes; ++a)
      for (const Phase& p : g.phases[a]) most_taps[a] = std::max(most_taps[a], p.taps);
    const Phases& last = g.phases[2];
    Size total = 0, high = 0;
    bool any = false;
    for (const Phase& p : last) {
      start.push_back(total);
      total += p.taps;
      if (p.taps == 0) continue;
      if (p.taps > 1 && p.spacing != 1) merged = false;
      low = any ? std::min(low, p.shift) : p.shift;
      high = any ? std::max(high, p.source(0, p.taps - 1)) : p.source(0, p.taps - 1);
      any = true;
    }
    if (g.groups > 1) merged = false;
    reach = high - low + 1;
    const bool narrow = width % tiles.cols != 0 && width % tiles.cols <= tiles.cols / 2;  // the last panel: its tiles leave nothing out
    leaves_out = merged && last.size() == 1 && last[0].scale == 1 && last[0].taps > 1 && depth >= kFewChannels && !narrow && low >= -1 && overhang() <= 1;
    blocks2 = ceil_div(last[0].count, kBlockPixels);
    block2 = ceil_div(last[0].count, blocks2);
    // Neighbouring lines read the same ones, which are listed, or copied, but once for a unit.
    const bool many = line_size() <= kLineElements && g.batch * g.size[0] * g.size[1] >= kTasks * kManyLines;
    const double row = static_cast<double>(g.size[2] * g.written) * static_cast<double>(taps * depth) / static_cast<double>(blocks2);
    blocks1 = ceil_div(g.size[1], std::clamp<Size>(static_cast<Size>(kTaskProducts / row), many ? kManyLines : kFewLines, kMostRows));
    block1 = ceil_div(g.size[1], blocks1);
  }

  const Phase& phase(int axis, Size r) const { return g.phases[axis][static_cast<std::size_t>(r) % g.phases[axis].size()]; }
  Size line_size() const { return ((block2 - 1) * g.phases[2][0].scale + reach) * line_channels; }
  bool copies() const { return pads() || repeat > 1; }
  bool pads() const { return !leaves_out && (low < 0 || overhang() > 0); }
  Size overhang() const { return (g.phases[2][0].count - 1) * g.phases[2][0].scale + low + reach - g.limit[2]; }  // positions behind the line that are read
};

// Filters to panels. True if all are finite.
template <class T>
bool pack(const Layout<T>& layout, T* to) {
  const ConvGather<T>& g = layout.g;
  const Size rows = layout.taps * layout.depth, outer = g.window[0] * g.window[1], cols = layout.tiles.cols;
  const Size grain = std::max<Size>(1, kPackElements / (g.window[2] * layout.depth * cols));
  std::atomic<bool> finite = true;
  parallel_ranges(g.groups * layout.panels * outer, grain, [&](Size begin, Size end) {
    for (Size unit = begin; unit < end; ++unit) {
      const Size tap = unit % outer * g.window[2], panel = unit / outer, first = panel % layout.panels * cols;
      const T* filters = g.filters + panel / layout.panels * g.filter_group + first * g.filter_col;
      Size place = tap * layout.depth;
      for (const Phase& phase : g.phases[2])
        for (Size t = 0; t < phase.taps; ++t, place += layout.depth)
          if (!layout.tiles.pack_panels(filters + (tap + phase.tap(t)) * g.filter_tap, g.filter_row, g.filter_col, layout.depth,
                                        std::min(cols, layout.width - first), to + panel * layout.panel_size, place, rows))
            finite.store(false, std::memory_order_relaxed);
    }
  });
  return finite;
}

// The rows of a task and what they read.
template <class T>
class Rows {
 public:
  Rows(const Layout<T>& layout, Size units)
      : layout_(layout), g_(layout.g), phases_(static_cast<Size>(g_.phases[2].size())),
        row_taps_(layout.most_taps[0] * layout.most_taps[1] * (layout.merged ? 1 : layout.most_taps[2])),
        num_lines_(layout.most_taps[0] * g_.limit[1]),
        copies_(layout.most_taps[0] * std::min(g_.limit[1], layout.block1 * layout.most_taps[1])),
        most_rows_(units * layout.block1 * phases_), copy_size_(layout.copies() ? units * copies_ * layout.line_size() : 0),
        scratch_(Scratch::size<ConvRow<T>>(most_rows_) + Scratch::size<const T*>(most_rows_ * row_taps_) +
                 Scratch::size<Size>(most_rows_ * row_taps_) + Scratch::size<const T*>(num_lines_) + Scratch::size<T>(copy_size_)),
        rows_(scratch_.template take<ConvRow<T>>(most_rows_)), sources_(scratch_.template take<const T*>(most_rows_ * row_taps_)),
        places_(scratch_.template take<Size>(most_rows_ * row_taps_)), lines_(scratch_.template take<const T*>(num_lines_)),
        copy_(scratch_.template take<T>(copy_size_)) {}

  const ConvRow<T>* data() const { return rows_; }
  Size count() const { return count_; }

  void add_unit(Size unit) {
    const Size block2 = unit % layout_.blocks2, block1 = unit / layout_.blocks2 % layout_.blocks1;
    const Size outer = unit / layout_.blocks2 / layout_.blocks1, r0 = outer % g_.size[0], n = outer / g_.size[0];
    const Size i_begin = block2 * layout_.block2, from = i_begin * g_.phases[2][0].scale + layout_.low;
    const Size r1_end = std::min(g_.size[1], (block1 + 1) * layout_.block1);
    const Size image = g_.limit[0] * g_.limit[1] * g_.limit[2] * g_.read;
    const Phase& phase0 = layout_.phase(0, r0);
    Size s1_begin = g_.limit[1], s1_end = 0;
    for (Size r1 = block1 * layout_.block1; r1 < r1_end; ++r1) {
      const Phase& phase1 = layout_.phase(1, r1);
      s1_begin = std::min(s1_begin, std::max<Size>(0, phase1.source(r1 / phase1.step, 0)));
      s1_end = std::max(s1_end, std::min(g_.limit[1], phase1.source(r1 / phase1.step, phase1.taps - 1) + 1));
    }
    const Size lines = std::max<Size>(0, s1_end - s1_begin);
    std::fill_n(lines_, phase0.taps * lines, nullptr);
    for (Size r1 = block1 * layout_.block1; r1 < r1_end; ++r1) {
      const Phase& phase1 = layout_.phase(1, r1);
      const Size i0 = r0 / phase0.step, i1 = r1 / phase1.step;
      for (std::size_t p = 0; p < g_.phases[2].size(); ++p) {
        const Phase& phase2 = g_.phases[2][p];
        const Size i_end = std::min(phase2.count, i_begin + layout_.block2);
        if (i_begin >= i_end) continue;
        ConvRow<T>& row = rows_[count_++];
        const Size pixel = ((n * g_.size[0] + r0) * g_.size[1] + r1) * g_.size[2] + phase2.first + i_begin * phase2.step;
        row = {i_end - i_begin, 0, layout_.depth, sources_, phase2.scale * layout_.line_channels, places_, g_.result + pixel * g_.written,
               phase2.step * g_.written, 0, 0};
        if (layout_.leaves_out && i_begin + layout_.low < 0) row.before = layout_.depth;
        if (layout_.leaves_out && i_end == phase2.count && layout_.overhang() > 0) row.behind = layout_.depth;
        const Size runs = layout_.merged ? std::min<Size>(phase2.taps, 1) : phase2.taps;
        if (layout_.merged) row.k *= phase2.taps;
        for (Size t0 = 0; t0 < phase0.taps; ++t0) {
          const Size s0 = phase0.source(i0, t0);
          if (s0 < 0 || s0 >= g_.limit[0]) continue;
          for (Size t1 = 0; t1 < phase1.taps; ++t1) {
            const Size s1 = phase1.source(i1, t1);
            if (s1 < 0 || s1 >= g_.limit[1] || runs == 0) continue;
            const T*& line = lines_[t0 * lines + s1 - s1_begin];
            if (line == nullptr) line = find(g_.source + n * image + (s0 * g_.limit[1] + s1) * g_.limit[2] * g_.read, from, block2);
            const Size tap = (phase0.tap(t0) * g_.window[1] + phase1.tap(t1)) * g_.window[2];
            for (Size t2 = 0; t2 < runs; ++t2, ++row.taps) {
              *sources_++ = line + (phase2.source(i_begin, t2) - from) * layout_.line_channels;
              *places_++ = layout_.channelwise ? tap + phase2.tap(t2) : (tap + layout_.start[p] + t2) * layout_.depth;
            }
          }
        }
      }
    }
  }

 private:
  // Where position `from` of a line is, or would be: in the line itself if all that is read lies inside, else in a copy with zeros on both sides.
  const T* find(const T* line, Size from, Size block2) {
    const Size pixels = std::min(g_.phases[2][0].count - block2 * layout_.block2, layout_.block2);
    const Size size = (pixels - 1) * g_.phases[2][0].scale + layout_.reach;
    if (layout_.leaves_out || (layout_.repeat == 1 && from >= 0 && from + size <= g_.limit[2])) return line + from * g_.read;
    const Size begin = std::clamp<Size>(-from, 0, size), end = std::clamp<Size>(g_.limit[2] - from, begin, size);
    T* copy = copy_;
    copy_ += size * layout_.line_channels;
    T* to = std::fill_n(copy, begin * layout_.line_channels, T(0));
    line += (from + begin) * g_.read;
    if (layout_.repeat == 1) to = std::copy_n(line, (end - begin) * g_.read, to);
    else
      for (Size i = 0; i < (end - begin) * g_.read; ++i) to = std::fill_n(to, layout_.repeat, line[i]);
    std::fill_n(to, (size - end) * layout_.line_channels, T(0));
    return copy;
  }

  const Layout<T>& layout_;
  const ConvGather<T>& g_;
  Size phases_, row_taps_, num_lines_, copies_, most_rows_, copy_size_;
  Scratch scratch_;
  ConvRow<T>* rows_;
  const T** sources_;
  Size* places_;
  const T** lines_;  // of the unit: [tap of the first axis][position of the next]; null if not found yet
  T* copy_;
  Size count_ = 0;
};

// The rows where each channel has its own filters.
template <class T>
void multiply_channels(const Layout<T>& layout, const ConvRow<T>* rows, Size count) {
  const ConvGather<T>& g = layout.g;
  if (g.written == layout.line_channels) return layout.tiles.gather_channels(rows, count, g.filters, g.written);
  Scratch scratch(Scratch::size<T>(layout.block2 * g.read));
  T* sums = scratch.take<T>(layout.block2 * g.read);
  for (const ConvRow<T>* row = rows; row < rows + count; ++row) {
    ConvRow<T> wide = *row;
    wide.result = sums, wide.result_step = g.read;
    layout.tiles.gather_channels(&wide, 1, g.filters, g.read);
    for (Size i = 0; i < row->pixels; ++i)
      for (Size c = 0; c < g.written; ++c) {
        const T* of = sums + i * g.read + c * layout.multiplier;
        T sum = of[0];
        for (Size m = 1; m < layout.multiplier; ++m) sum += of[m];
        row->result[i * row->result_step + c] = sum;
      }
  }
}

}  // namespace

Phases backward_phases(const ConvAxis& a) {
  // Under tap k position r of dx meets position (r + before - k * dilation) / stride of dy.
  const Size common = std::gcd(a.stride, a.dilation), tap_step = a.stride / common, spacing = a.dilation / common;
  Phases phases;
  for (Size p = 0; p < std::min(a.stride, a.in); ++p) {
    Size k = 0;
    while (k < std::min(tap_step, a.window) && (p + a.before - k * a.dilation) % a.stride != 0) ++k;
    const Size taps = k < std::min(tap_step, a.window) ? (a.window - 1 - k) / tap_step + 1 : 0;
    const Size last = k + (taps - 1) * tap_step;
    const Size shift = taps > 0 ? (p + a.before - last * a.dilation) / a.stride : 0;
    phases.push_back({p, a.stride, (a.in - 1 - p) / a.stride + 1, 1, shift, spacing, taps, last, -tap_step});
  }
  return phases;
}

template <class T>
bool ConvGather<T>::run() const {
  if (spread()) return true;
  const Layout<T> layout(*this);
  if (layout.pads() && layout.line_size() > 4 * limit[2] * layout.line_channels + 4096) return false;
  const Size panels = layout.channelwise ? 1 : groups * layout.panels;
  const Size packed_size = layout.channelwise ? 0 : panels * layout.panel_size;
  Scratch scratch(Scratch::size<T>(packed_size));
  T* packed = scratch.take<T>(packed_size);
  const bool finite = layout.channelwise ? !layout.pads() || all_finite(filters, layout.taps * filter_tap) : pack(layout, packed);
  if (!finite && layout.pads()) return false;

  const Size units = batch * size[0] * layout.blocks1 * layout.blocks2;
  const double unit_pixels = static_cast<double>(std::min(layout.block1 * layout.block2 * phases[2][0].step, size[1] * size[2]));
  const double unit_products = unit_pixels * static_cast<double>(written) * static_cast<double>(layout.taps * layout.depth);
  const double wanted = std::max(kTaskProducts / unit_products, kTaskPixels / unit_pixels);
  const Size tasks = ceil_div(units, static_cast<Size>(std::min<double>(wanted, kMostRows)) + 1), grain = ceil_div(units, tasks);
  const double task_products = static_cast<double>(grain) * unit_products;
  const Size splits = std::min({ceil_div(kTasks, tasks), panels, static_cast<Size>(task_products / kTaskProducts) + 1});
  parallel_for(ceil_div(units, grain) * splits, [&](Size task) {
    const Size begin = task / splits * grain, end = std::min(units, begin + grain), split = task % splits;
    Rows<T> rows(layout, end - begin);
    for (Size unit = begin; unit < end; ++unit) rows.add_unit(unit);
    const Size first_panel = panels * split / splits, end_panel = panels * (split + 1) / splits;
    if (layout.channelwise) multiply_channels(layout, rows.data(), rows.count());
    for (Size panel = first_panel; !layout.channelwise && panel < end_panel; ++panel) {
      const Size group = panel / layout.panels, first = panel % layout.panels * tiles.cols;
      const int channels = static_cast<int>(std::min(tiles.cols, layout.width - first));
      const T* filters_of = packed + panel * layout.panel_size;
      tiles.gather(rows.data(), rows.count(), {filters_of, channels, group * layout.depth, group * layout.width + first},
                   layout.taps * layout.depth > kUnblockedRows);
    }
    if (done == nullptr) return;
    const auto channel = [&](Size panel) { return std::min(written, panel / layout.panels * layout.width + std::min(layout.width, panel % layout.panels * tiles.cols)); };
    const Size from = layout.channelwise ? 0 : channel(first_panel), to = layout.channelwise ? written : channel(end_panel);
    for (const ConvRow<T>* row = rows.data(); row < rows.data() + rows.count(); ++row) (*done)({row->result + from, row->pixels, to - from, row->result_step});
  });
  return true;
}

template struct ConvGather<float>;
template struct ConvGather<double>;

}  // namespace weft::inline v0::kernels
