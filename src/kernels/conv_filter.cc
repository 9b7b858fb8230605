// The transpose of a convolution with respect to its filters, as products over pixels on register tiles.
//
// The pixels of the result fall into splits, and the filters into blocks; both depend on the shape alone. A task adds up one block over one
// split, in steps of pixels that stay in the first cache, of x once it is packed and of dy if it has to be. The sums of the splits are added in their order.
#include <algorithm>

#include "base/pool.h"
#include "kernels/conv_plan.h"

namespace weft::inline v0::kernels {
namespace {

using Size = std::int64_t;

constexpr Size kStepPixels = 256;   // in one sum on a register tile
constexpr Size kTasks = 16;         // wanted
constexpr Size kSplitPixels = 512;  // a split has more, if there are so many
constexpr Size kChannels = 32;      // with filters of their own, at a time
constexpr Size kReadRarely = 64;    // channels of x that are multiplied by the same dy
constexpr Size kReduceElements = 1 << 10;

template <class T>
struct Layout {
  const ConvShape& s;
  const ConvTiles<T>& tiles;
  const T *x, *dy;
  Size depth = s.in_channels / s.groups, width = s.out_channels / s.groups;
  Size outer_taps = s.axis[0].window * s.axis[1].window;
  // With few channels the taps along the last axis are taken together: they read successive values. x is not packed then, but copied with
  // zeros around its lines.
  bool merged = s.groups == 1 && s.axis[2].dilation == 1 && s.axis[2].window > 1 && depth < tiles.rows;
  // Each channel has its own filters: dy is read where it is, and so is x, unless there are several filters and it must be repeated.
  bool channelwise = s.groups > 1 && depth == 1;
  Size repeat = channelwise ? width : 1;
  // dy falls into whole panels as it lies, and is not packed either, unless their lines lie apart and are read often.
  bool in_panels = !channelwise && width % tiles.cols == 0 && (s.out_channels == tiles.cols || depth <= kReadRarely);
  // Fewer where a pixel has more of x, so that this stays in the second cache.
  Size step_pixels = channelwise ? kStepPixels / 4 : s.axis[1].stride * s.axis[2].stride > 1 ? kStepPixels / 2 : kStepPixels;
  Size blocks2 = ceil_div(s.axis[2].out, step_pixels), block2 = ceil_div(s.axis[2].out, blocks2);  // pixels of the last axis
  Size lines = s.batch * s.axis[0].out * s.axis[1].out, rows = blocks2 * lines;                    // a row: the part of a line in a block
  Size step_rows = std::clamp<Size>(step_pixels / block2, 1, lines);
  Size splits = 1;
  Size in_blocks = 1, in_block = depth, out_blocks = 1, out_block = width;

  Layout(const ConvShape& shape, const ConvTiles<T>& with, const T* from, const T* with_dy) : s(shape), tiles(with), x(from), dy(with_dy) {
    if (channelwise) width = s.out_channels;
    const Size out_wanted = channelwise ? width : std::max<Size>(tiles.cols, 64 * std::clamp<Size>(8 / s.taps(), 1, 8));
    out_blocks = ceil_div(width, out_wanted);
    out_block = ceil_div(ceil_div(width, out_blocks), tiles.cols) * tiles.cols;
    out_blocks = ceil_div(width, out_block);
    in_blocks = merged ? 1 : ceil_div(depth, 96);
    in_block = ceil_div(depth, in_blocks);
    in_blocks = ceil_div(depth, in_block);
    splits = std::clamp<Size>(rows * block2 / kSplitPixels, 1, ceil_div(kTasks, blocks()));
  }
  Size blocks() const { return channelwise ? 1 : s.groups * in_blocks * out_blocks; }

  // Positions of x that a line needs: at most so many.
  Size line_pixels() const {
    const Size reach = (block2 - 1) * s.axis[2].stride + (s.axis[2].window - 1) * s.axis[2].dilation + 1;
    return merged ? reach : std::min(reach, s.axis[2].in);
  }
  // Lines of x that the rows of a step need, at most.
  Size most_lines() const {
    const ConvAxis& a = s.axis[1];
    const Size parts = (step_rows - 1) / a.out + 2, reach = (a.window - 1) * a.dilation + 1;
    return s.axis[0].window * std::min({step_rows * a.window, step_rows * a.stride + parts * reach, parts * a.in});
  }
};

// One block of filters over one split.
template <class T>
class Task {
 public:
  Task(const Layout<T>& layout, Size block, T* dw)
      : l_(layout), s_(layout.s), dw_(dw), group_(block / layout.out_blocks / layout.in_blocks),
        in_first_(block / layout.out_blocks % layout.in_blocks * layout.in_block), out_first_(block % layout.out_blocks * layout.out_block),
        in_(std::min(layout.in_block, layout.depth - in_first_)), out_(std::min(layout.out_block, layout.width - out_first_)),
        x_room_(layout.most_lines() * layout.line_pixels()), dy_room_(layout.step_rows * layout.block2 + 1),
        x_size_(!layout.channelwise ? x_room_ * in_ : layout.repeat > 1 ? x_room_ * s_.out_channels : 0),
        panels_(layout.channelwise ? 0 : ceil_div(out_, layout.tiles.cols)),
        dy_size_(layout.in_panels ? 0 : panels_ * dy_room_ * layout.tiles.cols),
        lists_(layout.outer_taps * layout.step_rows),
        scratch_(Scratch::size<T>(x_size_) + Scratch::size<T>(dy_size_) + 2 * Scratch::size<Size>(lists_) +
                 Scratch::size<Size>(layout.outer_taps) + Scratch::size<Size>(s_.axis[0].window * s_.axis[1].in)),
        packed_x_(scratch_.template take<T>(x_size_)), packed_dy_(scratch_.template take<T>(dy_size_)),
        x_place_(scratch_.template take<Size>(lists_)), dy_place_(scratch_.template take<Size>(lists_)),
        found_(scratch_.template take<Size>(layout.outer_taps)), lines_(scratch_.template take<Size>(s_.axis[0].window * s_.axis[1].in)) {
    for (Size tap = 0; tap < s_.taps(); ++tap)
      for (Size c = 0; c < in_; ++c) std::fill_n(at(tap, c), out_, T(0));
  }

  void run(Size begin, Size end) {
    while (begin < end) {
      const Size block2 = begin / l_.lines, stop = std::min({end, begin + l_.step_rows, (block2 + 1) * l_.lines});
      step(block2, begin - block2 * l_.lines, stop - block2 * l_.lines);
      begin = stop;
    }
  }

 private:
  T* at(Size tap, Size c) const { return dw_ + (tap * l_.depth + in_first_ + c) * s_.out_channels + group_ * l_.width + out_first_; }

  // Adds the products of some lines, each from pixel block2 * l_.block2 on.
  void step(Size block2, Size begin, Size end) {
    const ConvAxis &a0 = s_.axis[0], &a1 = s_.axis[1], &a2 = s_.axis[2];
    const Size i_begin = block2 * l_.block2, pixels = std::min(l_.block2, a2.out - i_begin);
    first_ = i_begin * a2.stride - a2.before;  // what the first tap reads for the first pixel
    const Size reach = (pixels - 1) * a2.stride + (a2.window - 1) * a2.dilation + 1;
    from_ = l_.merged ? first_ : std::clamp<Size>(first_, 0, a2.in);
    to_ = l_.merged ? first_ + reach : std::clamp<Size>(first_ + reach, from_, a2.in);
    used_ = 0;
    std::fill_n(found_, l_.outer_taps, Size(0));
    bool finite = true;
    Size s1_begin = 0, s1_end = 0;
    for (Size line = begin; line < end; ++line) {
      const Size r1 = line % a1.out, r0 = line / a1.out % a0.out, n = line / a1.out / a0.out;
      const Size dy_pixel = line * a2.out + i_begin, place = l_.in_panels || l_.channelwise ? dy_pixel : (line - begin) * pixels;
      if (r1 == 0 || line == begin) {  // another image, or another part of it
        const Size last = std::min(a1.out - 1, r1 + end - 1 - line);
        s1_begin = std::clamp<Size>(r1 * a1.stride - a1.before, 0, a1.in);
        s1_end = std::clamp<Size>(last * a1.stride - a1.before + (a1.window - 1) * a1.dilation + 1, s1_begin, a1.in);
        std::fill_n(lines_, a0.window * (s1_end - s1_begin), Size(-1));
      }
      const T* dy = l_.dy + dy_pixel * s_.out_channels + group_ * l_.width + out_first_;
      if (l_.in_panels) finite = finite && (!l_.merged || is_finite_outside(dy, pixels));
      else if (!l_.channelwise) finite &= l_.tiles.pack_panels(dy, s_.out_channels, 1, pixels, out_, packed_dy_, place, dy_room_);
      for (Size k0 = 0; k0 < a0.window; ++k0) {
        const Size s0 = r0 * a0.stride - a0.before + k0 * a0.dilation;
        if (s0 < 0 || s0 >= a0.in) continue;
        for (Size k1 = 0; k1 < a1.window; ++k1) {
          const Size s1 = r1 * a1.stride - a1.before + k1 * a1.dilation;
          if (s1 < 0 || s1 >= a1.in) continue;
          Size& x_line = lines_[k0 * (s1_end - s1_begin) + s1 - s1_begin];
          if (x_line < 0) x_line = add_line(((n * a0.in + s0) * a1.in + s1) * a2.in);
          const Size tap = k0 * a1.window + k1, to = tap * l_.step_rows + found_[tap]++;
          x_place_[to] = x_line, dy_place_[to] = place;
        }
      }
    }
    if (l_.channelwise) return multiply_channels(pixels);
    for (Size panel = 0; panel < panels_; ++panel)
      for (Size tap = 0; tap < l_.outer_taps; ++tap)
        if (found_[tap] > 0) multiply(tap, panel, pixels, l_.merged && finite);
  }

  // Packs or copies positions [from_, to_) of the line of x that starts at `pixel`; gives the place of the first.
  Size add_line(Size pixel) {
    if (l_.channelwise && l_.repeat == 1) return pixel + from_;
    const T* line = l_.x + pixel * s_.in_channels + group_ * l_.depth + in_first_;
    const Size place = used_, size = to_ - from_;
    used_ += size;
    if (l_.channelwise) {
      T* to = packed_x_ + place * s_.out_channels;
      for (Size i = from_ * s_.in_channels; i < to_ * s_.in_channels; ++i) to = std::fill_n(to, l_.repeat, line[i]);
    } else if (!l_.merged) {
      l_.tiles.pack_strips(line + from_ * s_.in_channels, s_.in_channels, size, in_, packed_x_, place, x_room_);
    } else {
      const Size begin = std::clamp<Size>(-from_, 0, size), end = std::clamp<Size>(s_.axis[2].in - from_, begin, size);
      T* to = std::fill_n(packed_x_ + place * in_, begin * in_, T(0));
      to = std::copy_n(line + (from_ + begin) * in_, (end - begin) * in_, to);
      std::fill_n(to, (size - end) * in_, T(0));
    }
    return place;
  }

  // The pixels, from begin on, of which tap k along the last axis reads a position inside x; that of the first of them.
  struct Range {
    Size begin, end, first;
  };
  Range inside(Size k, Size pixels) const {
    const ConvAxis& a = s_.axis[2];
    const Size first = first_ + k * a.dilation, begin = first >= 0 ? 0 : ceil_div(-first, a.stride);
    return {begin, first >= a.in ? 0 : std::min(pixels, (a.in - 1 - first) / a.stride + 1), first + begin * a.stride - from_};
  }

  // Whether those of the pixels are finite for which some tap reads zeros around x: they may be multiplied by these.
  bool is_finite_outside(const T* dy, Size pixels) const {
    const Size begin = std::min(inside(0, pixels).begin, pixels), end = std::max(begin, inside(s_.axis[2].window - 1, pixels).end);
    const auto are_finite = [&](Size from, Size to) {
      bool all = true;
      for (Size i = from; i < to; ++i) all = all_finite(dy + i * s_.out_channels, out_) && all;
      return all;
    };
    return are_finite(0, begin) && are_finite(end, pixels);
  }

  void multiply(Size tap, Size panel, Size pixels, bool together) const {
    const Size cols = l_.tiles.cols, window = s_.axis[2].window;
    const T* dy = l_.in_panels ? l_.dy + group_ * l_.width + out_first_ + panel * cols : packed_dy_ + panel * dy_room_ * cols;
    ConvProduct<T> product = rows_of(tap);
    product.x = packed_x_, product.x_unit = l_.merged ? in_ : 0, product.x_room = x_room_;
    product.out_channels = static_cast<int>(std::min(cols, out_ - panel * cols)), product.dy_unit = l_.in_panels ? s_.out_channels : cols;
    if (together) {
      product.pixels = pixels, product.dy = dy, product.dw = at(tap * window, 0) + panel * cols, product.in_channels = in_ * window;
      return l_.tiles.multiply(product);
    }
    product.in_channels = in_;
    for (Size k = 0; k < window; ++k) {
      const Range range = inside(k, pixels);
      if (range.begin >= range.end) continue;
      product.pixels = range.end - range.begin, product.x_first = range.first, product.dy = dy + range.begin * product.dy_unit;
      product.dw = at(tap * window + k, 0) + panel * cols;
      l_.tiles.multiply(product);
    }
  }

  void multiply_channels(Size pixels) const {
    const Size window = s_.axis[2].window, channels = s_.out_channels;
    for (Size c = 0; c < channels; c += kChannels)
      for (Size tap = 0; tap < l_.outer_taps; ++tap) {
        ConvProduct<T> product = rows_of(tap);
        product.x_unit = product.dy_unit = channels, product.in_channels = std::min(kChannels, channels - c);
        for (Size k = 0; k < window; ++k) {
          const Range range = inside(k, pixels);
          if (range.begin >= range.end) continue;
          product.pixels = range.end - range.begin, product.x_first = range.first;
          product.x = (l_.repeat == 1 ? l_.x : packed_x_) + c, product.dy = l_.dy + range.begin * channels + c;
          product.dw = dw_ + (tap * window + k) * channels + c;
          l_.tiles.multiply_channels(product);
        }
      }
  }

  // The rows for which a tap of the first two axes reads something.
  ConvProduct<T> rows_of(Size tap) const {
    ConvProduct<T> product = {};
    product.rows = found_[tap], product.stride = s_.axis[2].stride, product.dw_step = s_.out_channels;
    product.x_place = x_place_ + tap * l_.step_rows, product.dy_place = dy_place_ + tap * l_.step_rows;
    return product;
  }

  const Layout<T>& l_;
  const ConvShape& s_;
  T* dw_;
  Size group_, in_first_, out_first_, in_, out_;  // the block
  // Pixels in a strip and in a panel; one more than needed, because panels a multiple of a page apart compete for lines of the cache.
  Size x_room_, dy_room_;
  Size x_size_, panels_, dy_size_, lists_;
  Scratch scratch_;
  T *packed_x_, *packed_dy_;
  Size *x_place_, *dy_place_, *found_;  // for each tap of the first two axes: the rows that it reads for, and how many
  Size* lines_;  // of the image: [tap of the first axis][position of the next]; -1 if it is not there yet
  Size first_ = 0, from_ = 0, to_ = 0, used_ = 0;
};

}  // namespace

template <class T>
void conv_sum_filter(const ConvTiles<T>& tiles, const ConvShape& s, const T* x, const T* dy, T* dw) {
  const Layout<T> layout(s, tiles, x, dy);
  const Size size = s.filter_size();
  Scratch scratch(Scratch::size<T>((layout.splits - 1) * size));
  T* sums = scratch.take<T>((layout.splits - 1) * size);  // of the splits but for the first, whose sum is in dw
  parallel_for(layout.splits * layout.blocks(), [&](Size task) {
    const Size split = task / layout.blocks();
    Task<T>(layout, task % layout.blocks(), split == 0 ? dw : sums + (split - 1) * size)
        .run(layout.rows * split / layout.splits, layout.rows * (split + 1) / layout.splits);
  });
  if (layout.splits == 1) return;
  parallel_ranges(size, kReduceElements, [&](Size begin, Size end) {
    for (Size split = 0; split < layout.splits - 1; ++split)
      for (Size i = begin; i < end; ++i) dw[i] += sums[split * size + i];
  });
}

template void conv_sum_filter(const ConvTiles<float>&, const ConvShape&, const float*, const float*, float*);
template void conv_sum_filter(const ConvTiles<double>&, const ConvShape&, const double*, const double*, double*);

}  // namespace weft::inline v0::kernels
