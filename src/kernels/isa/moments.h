// Sums, means and variances of rows, for files in this folder only.
#pragma once

#include "kernels/isa/lanes.h"

namespace weft::inline v0::kernels::WEFT_ISA {
namespace {

template <class T>
WEFT_INLINE double sum(const T* x, std::int64_t n) {
  double words[AddUp<T>::kWords];
  fold_run<AddUp<T>>(x, n, 0, words);
  return AddUp<T>::value(words);
}

/// Sums in lanes of f32, as many for every instruction set, which go on in double after every 512 elements.
struct ShortSums {
  static constexpr int kCount = 32, kVectors = kCount / kWidth<float>, kKept = 8;
  static constexpr std::int64_t kRun = 512;
  Vec<float> at[kVectors] = {};
  Vec<double> kept[kKept / kWidth<double>] = {};

  /// The upper half of the lanes is merged into the lower half until kKept are left.
  WEFT_INLINE void widen() {
    for (int half = kVectors / 2; half * kWidth<float> >= kKept; half /= 2)
      for (int v = 0; v < half; ++v) at[v] += at[v + half];
    float lanes[kKept < kWidth<float> ? kWidth<float> : kKept];
    for (int l = 0; l < kKept || l < kWidth<float>; l += kWidth<float>) store(lanes + l, at[l / kWidth<float>]);
    if constexpr (kWidth<float> > kKept)
      for (int l = 0; l < kKept; ++l) lanes[l] += lanes[l + kKept];
    for (int v = 0; v * kWidth<double> < kKept; ++v) kept[v] += load<double>(lanes + v * kWidth<double>);
    for (Vec<float>& v : at) v = Vec<float>{};
  }
  WEFT_INLINE double total() const {
    double sums[kKept];
    for (int v = 0; v * kWidth<double> < kKept; ++v) store(sums + v * kWidth<double>, kept[v]);
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
  }
};
/// Calls each(k, v) for the vectors of the whole groups of ShortSums::kCount elements, and widen() after every run of them. Returns where the
/// rest begins.
template <class Each, class Widen>
WEFT_INLINE std::int64_t in_short_runs(std::int64_t n, const Each& each, const Widen& widen) {
  std::int64_t k = 0;
  while (k + ShortSums::kCount <= n) {
    const std::int64_t end = n - k < ShortSums::kRun ? n : k + ShortSums::kRun;
    for (; k + ShortSums::kCount <= end; k += ShortSums::kCount)
      for (int v = 0; v < ShortSums::kVectors; ++v) each(k + v * kWidth<float>, v);
    widen();
  }
  return k;
}

template <class T>
struct Moments {
  double mean, scale;
  template <class Meanwhile>
  WEFT_INLINE Moments(const T* x, std::int64_t n, double epsilon, const Meanwhile& meanwhile) {
    const double count = static_cast<double>(n);
    if constexpr (std::is_same_v<T, float>) {
      // In one pass of f32, around the first element: that is as good as any unless it lies far out, or squares leave the range of f32.
      ShortSums near, square;
      const float from = n > 0 ? x[0] : 0;
      const std::int64_t rest = in_short_runs(
          n,
          [&](std::int64_t k, int v) __attribute__((always_inline)) {
            const Vec<float> distance = load<float>(x + k) - from;
            near.at[v] += distance, square.at[v] += distance * distance;
            meanwhile(k);
          },
          [&] { near.widen(), square.widen(); });
      double sum_near = near.total(), sum_square = square.total();
      for (std::int64_t k = rest; k < n; ++k) {
        const double distance = static_cast<double>(x[k] - from);
        sum_near += distance, sum_square += distance * distance;
      }
      const double shift = sum_near / count, variance = sum_square / count - shift * shift;
      if (shift * shift <= 9 * variance && sum_square > 1e-30 * count && sum_square < 1e37) {
        mean = static_cast<double>(from) + shift;
        scale = 1 / __builtin_sqrt(variance + epsilon);
        return;
      }
    }
    mean = sum(x, n) / count;
    double squares[AddUp<T>::kWords];
    fold_run<AddSquaredDistance<T>>(x, n, mean, squares);
    scale = 1 / __builtin_sqrt(AddUp<T>::value(squares) / count + epsilon);
  }
};

/// Standardises in T. The mean is two numbers, because a row far from 0 has more digits in it than T: (x - high) - low is nearly exact.
template <class T>
struct Standard {
  T high, low, scale;
  WEFT_INLINE explicit Standard(const Moments<T>& row)
      : high(static_cast<T>(row.mean)), low(static_cast<T>(row.mean - static_cast<double>(high))), scale(static_cast<T>(row.scale)) {}
  template <class V>
  WEFT_INLINE V operator()(V x) const { return ((x - high) - low) * scale; }
};

}  // namespace
}  // namespace weft::inline v0::kernels::WEFT_ISA
