#include "kernels/conv.h"

#include <algorithm>

#include "kernels/conv_plan.h"

namespace weft::inline v0::kernels {
namespace {

constexpr int kTileRows = 4;  // positions whose sums are in registers together
constexpr int kTileWidth = 8;  // channels of the result in registers together
constexpr std::int64_t kBlock = 128;  // positions that one partial sum of a filter gradient covers

// One axis as seen from the tensor that is written: position r meets, under tap k, position
// (r * scale + shift + k * tap) / divisor of the tensor that is read, if that is a whole number within it.
struct AxisMap {
  std::int64_t scale, shift, tap, divisor, limit;  // of positions read
  std::int64_t size, window;                       // of positions written; of taps

  std::int64_t source(std::int64_t r, std::int64_t k) const {
    const std::int64_t at = r * scale + shift + k * tap;
    if (at < 0) return -1;
    if (divisor == 1) return at < limit ? at : -1;
    return at % divisor == 0 && at / divisor < limit ? at / divisor : -1;
  }
};

AxisMap forward_map(const ConvAxis& a) { return {a.stride, -a.before, a.dilation, 1, a.in, a.out, a.window}; }
AxisMap backward_map(const ConvAxis& a) { return {1, a.before, -a.dilation, a.stride, a.out, a.in, a.window}; }

// sums[p][b] += rows[p][c] * w[c * pitch + b]
template <int P, int B, class T>
void multiply_add(const T* const* rows, const T* w, std::int64_t pitch, std::int64_t channels, T (*sums)[kTileWidth]) {
  T local[P][B];
  for (int p = 0; p < P; ++p)
    for (int b = 0; b < B; ++b) local[p][b] = sums[p][b];
  for (std::int64_t c = 0; c < channels; ++c, w += pitch)
    for (int p = 0; p < P; ++p)
      for (int b = 0; b < B; ++b) local[p][b] += rows[p][c] * w[b];
  for (int p = 0; p < P; ++p)
    for (int b = 0; b < B; ++b) sums[p][b] = local[p][b];
}

// result[r][o] = sum over taps and channels of source[source(r, tap)][c] * w[tap][c][o], in groups. Both convolution and its transpose
// with respect to x have this form.
template <class T>
class Gathering {
 public:
  Gathering(const AxisMap (&maps)[kMaxWindowAxes], std::int64_t groups, std::int64_t read, std::int64_t written, const T* w)
      : maps_(maps), groups_(groups), read_(read), written_(written), w_(w) {}

  void run(std::int64_t batch, const T* source, T* result) const {
    const std::int64_t source_size = maps_[0].limit * maps_[1].limit * maps_[2].limit * read_;
    const AxisMap& last = maps_[2];
    for (std::int64_t n = 0; n < batch; ++n, source += source_size)
      for (std::int64_t r0 = 0; r0 < maps_[0].size; ++r0)
        for (std::int64_t r1 = 0; r1 < maps_[1].size; ++r1, result += last.size * written_)
          // Positions a divisor apart meet the same taps, so a tile takes those.
          for (std::int64_t phase = 0; phase < std::min(last.divisor, last.size); ++phase) {
            const std::int64_t count = (last.size - 1 - phase) / last.divisor + 1;
            for (std::int64_t i = 0; i < count; i += kTileRows)
              tile(source, result, r0, r1, phase + i * last.divisor, static_cast<int>(std::min<std::int64_t>(kTileRows, count - i)));
          }
  }

 private:
  void tile(const T* source, T* result, std::int64_t r0, std::int64_t r1, std::int64_t r2, int rows) const {
    const std::int64_t width = written_ / groups_;
    for (std::int64_t g = 0; g < groups_; ++g) {
      std::int64_t o = 0;
      for (; o + kTileWidth <= width; o += kTileWidth) block<kTileWidth>(source, result, r0, r1, r2, rows, g, g * width + o);
      for (; o + 4 <= width; o += 4) block<4>(source, result, r0, r1, r2, rows, g, g * width + o);
      for (; o < width; ++o) block<1>(source, result, r0, r1, r2, rows, g, g * width + o);
    }
  }

  template <int B>
  void block(const T* source, T* result, std::int64_t r0, std::int64_t r1, std::int64_t r2, int rows, std::int64_t group,
             std::int64_t o) const {
    const std::int64_t depth = read_ / groups_, step = maps_[2].divisor;
    T sums[kTileRows][kTileWidth] = {};
    for (std::int64_t k0 = 0; k0 < maps_[0].window; ++k0) {
      const std::int64_t s0 = maps_[0].source(r0, k0);
      if (s0 < 0) continue;
      for (std::int64_t k1 = 0; k1 < maps_[1].window; ++k1) {
        const std::int64_t s1 = maps_[1].source(r1, k1);
        if (s1 < 0) continue;
        const T* line = source + (s0 * maps_[1].limit + s1) * maps_[2].limit * read_ + group * depth;
        const T* w = w_ + (k0 * maps_[1].window + k1) * maps_[2].window * depth * written_ + o;
        for (std::int64_t k2 = 0; k2 < maps_[2].window; ++k2, w += depth * written_) {
          const T* from[kTileRows];
          int where[kTileRows], found = 0;
          for (int p = 0; p < rows; ++p) {
            const std::int64_t s2 = maps_[2].source(r2 + p * step, k2);
            if (s2 >= 0) where[found] = p, from[found++] = line + s2 * read_;
          }
          if (found == kTileRows) multiply_add<kTileRows, B>(from, w, written_, depth, sums);
          else
            for (int p = 0; p < found; ++p) multiply_add<1, B>(from + p, w, written_, depth, sums + where[p]);
        }
      }
    }
    for (int p = 0; p < rows; ++p) std::copy_n(sums[p], B, result + (r2 + p * step) * written_ + o);
  }

  const AxisMap (&maps_)[kMaxWindowAxes];
  std::int64_t groups_, read_, written_;
  const T* w_;
};

// dw[c][o] += sum over i of x[i][c] * dy[i][o], for P by B of them.
template <int P, int B, class T>
void add_outer(const T* const* x, const T* const* dy, std::int64_t count, std::int64_t c, std::int64_t o, T* dw, std::int64_t pitch) {
  T sums[P][B] = {};
  for (std::int64_t i = 0; i < count; ++i)
    for (int p = 0; p < P; ++p)
      for (int b = 0; b < B; ++b) sums[p][b] += x[i][c + p] * dy[i][o + b];
  for (int p = 0; p < P; ++p)
    for (int b = 0; b < B; ++b) dw[p * pitch + b] += sums[p][b];
}

template <int P, class T>
void add_outer_rows(const T* const* x, const T* const* dy, std::int64_t count, std::int64_t c, std::int64_t first, std::int64_t width,
                    T* dw, std::int64_t pitch) {
  std::int64_t o = 0;
  for (; o + kTileWidth <= width; o += kTileWidth) add_outer<P, kTileWidth>(x, dy, count, c, first + o, dw + o, pitch);
  for (; o + 4 <= width; o += 4) add_outer<P, 4>(x, dy, count, c, first + o, dw + o, pitch);
  for (; o < width; ++o) add_outer<P, 1>(x, dy, count, c, first + o, dw + o, pitch);
}

}  // namespace

template <class T>
void conv_forward_reference(const ConvShape& s, const T* x, const T* w, T* y) {
  const AxisMap maps[] = {forward_map(s.axis[0]), forward_map(s.axis[1]), forward_map(s.axis[2])};
  Gathering<T>(maps, s.groups, s.in_channels, s.out_channels, w).run(s.batch, x, y);
}

template <class T>
void conv_backward_input_reference(const ConvShape& s, const T* dy, const T* w, T* dx) {
  // [tap][c][group, o] to [tap][o][group, c]: the filters of the transposed convolution.
  const std::int64_t depth = s.in_channels / s.groups, width = s.out_channels / s.groups;
  Scratch memory(Scratch::size<T>(s.filter_size()));
  T* scratch = memory.take<T>(s.filter_size());
  for (std::int64_t tap = 0; tap < s.taps(); ++tap)
    for (std::int64_t c = 0; c < depth; ++c)
      for (std::int64_t g = 0; g < s.groups; ++g)
        for (std::int64_t o = 0; o < width; ++o)
          scratch[(tap * width + o) * s.in_channels + g * depth + c] = w[(tap * depth + c) * s.out_channels + g * width + o];
  const AxisMap maps[] = {backward_map(s.axis[0]), backward_map(s.axis[1]), backward_map(s.axis[2])};
  Gathering<T>(maps, s.groups, s.out_channels, s.in_channels, scratch).run(s.batch, dy, dx);
}

template <class T>
void conv_backward_filter_reference(const ConvShape& s, const T* x, const T* dy, T* dw) {
  std::fill_n(dw, s.filter_size(), T(0));
  const std::int64_t per_image = s.axis[0].out * s.axis[1].out * s.axis[2].out, total = s.batch * per_image;
  const std::int64_t depth = s.in_channels / s.groups, width = s.out_channels / s.groups;
  const std::int64_t image = s.axis[0].in * s.axis[1].in * s.axis[2].in;
  const AxisMap maps[] = {forward_map(s.axis[0]), forward_map(s.axis[1]), forward_map(s.axis[2])};
  for (std::int64_t begin = 0; begin < total; begin += kBlock) {
    const std::int64_t end = std::min(total, begin + kBlock);
    for (std::int64_t tap = 0; tap < s.taps(); ++tap) {
      const std::int64_t k2 = tap % maps[2].window, k1 = tap / maps[2].window % maps[1].window, k0 = tap / maps[2].window / maps[1].window;
      const T *from[kBlock], *to[kBlock];
      std::int64_t count = 0;
      for (std::int64_t at = begin; at < end; ++at) {
        const std::int64_t n = at / per_image, rest = at % per_image;
        const std::int64_t s0 = maps[0].source(rest / maps[2].size / maps[1].size, k0);
        const std::int64_t s1 = maps[1].source(rest / maps[2].size % maps[1].size, k1), s2 = maps[2].source(rest % maps[2].size, k2);
        if (s0 < 0 || s1 < 0 || s2 < 0) continue;
        from[count] = x + (n * image + (s0 * maps[1].limit + s1) * maps[2].limit + s2) * s.in_channels;
        to[count++] = dy + at * s.out_channels;
      }
      for (std::int64_t g = 0; g < s.groups && count > 0; ++g) {
        T* part = dw + tap * depth * s.out_channels + g * width;
        std::int64_t c = 0;
        for (; c + kTileRows <= depth; c += kTileRows)
          add_outer_rows<kTileRows>(from, to, count, g * depth + c, g * width, width, part + c * s.out_channels, s.out_channels);
        for (; c < depth; ++c)
          add_outer_rows<1>(from, to, count, g * depth + c, g * width, width, part + c * s.out_channels, s.out_channels);
      }
    }
  }
}

// --- fast ---

template <class T>
void conv_forward(const ConvShape& shape, const T* x, const T* w, T* y, Isa set, const BlockDone* done) {
  const ConvShape s = simplified(shape);
  ConvGather<T> gather(conv_tiles<T>(set), s, x, w, y);
  gather.read = s.in_channels, gather.written = s.out_channels;
  gather.filter_row = s.out_channels, gather.filter_col = 1;
  for (int a = 0; a < kMaxWindowAxes; ++a) {
    gather.limit[a] = s.axis[a].in, gather.size[a] = s.axis[a].out, gather.window[a] = s.axis[a].window;
    gather.phases[a] = forward_phases(s.axis[a]);
  }
  gather.done = done;
  if (gather.run()) return;
  conv_forward_reference(s, x, w, y);
  tell_done(done, y, s.batch * s.axis[0].out * s.axis[1].out * s.axis[2].out * s.out_channels);
}

template <class T>
void conv_backward_input(const ConvShape& shape, const T* dy, const T* w, T* dx, Isa set) {
  const ConvShape s = simplified(shape);
  ConvGather<T> gather(conv_tiles<T>(set), s, dy, w, dx);
  gather.read = s.out_channels, gather.written = s.in_channels;
  gather.filter_row = 1, gather.filter_col = s.out_channels;
  for (int a = 0; a < kMaxWindowAxes; ++a) {
    // A phase costs more than the few products of so large a stride.
    if (s.axis[a].stride > 64) return conv_backward_input_reference(s, dy, w, dx);
    gather.limit[a] = s.axis[a].out, gather.size[a] = s.axis[a].in, gather.window[a] = s.axis[a].window;
    gather.phases[a] = backward_phases(s.axis[a]);
  }
  if (!gather.run()) conv_backward_input_reference(s, dy, w, dx);
}

template <class T>
void conv_backward_filter(const ConvShape& shape, const T* x, const T* dy, T* dw, Isa set) {
  conv_sum_filter(conv_tiles<T>(set), simplified(shape), x, dy, dw);
}

#define WEFT_CONV(T)                                                                         \
  template void conv_forward(const ConvShape&, const T*, const T*, T*, Isa, const BlockDone*); \
  template void conv_backward_input(const ConvShape&, const T*, const T*, T*, Isa);          \
  template void conv_backward_filter(const ConvShape&, const T*, const T*, T*, Isa);         \
  template void conv_forward_reference(const ConvShape&, const T*, const T*, T*);            \
  template void conv_backward_input_reference(const ConvShape&, const T*, const T*, T*);     \
  template void conv_backward_filter_reference(const ConvShape&, const T*, const T*, T*);
WEFT_CONV(float)
WEFT_CONV(double)
#undef WEFT_CONV

}  // namespace weft::inline v0::kernels
