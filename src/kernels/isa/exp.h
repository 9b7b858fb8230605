// Exponentials of whole rows, for files in this folder only.
#pragma once

#include "kernels/isa/lanes.h"
#include "kernels/math.h"

namespace weft::inline v0::kernels::WEFT_ISA {
namespace {

/// a * b + c, rounded once if the instruction set can.
WEFT_INLINE Vec<float> multiply_add(Vec<float> a, Vec<float> b, Vec<float> c) {
#if defined(WEFT_ISA_v4)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(WEFT_ISA_v3)
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}

/// The larger of the two, x if it is NaN. (g++ 12 makes two instructions of the selection.)
WEFT_INLINE Vec<float> at_least(Vec<float> x, float bound) {
#if defined(WEFT_ISA_v4)
  return _mm512_maskz_max_ps(0xffff, all_lanes(bound), x);
#elif defined(WEFT_ISA_v3)
  return _mm256_max_ps(all_lanes(bound), x);
#else
  return x < bound ? all_lanes(bound) : x;
#endif
}

/// Powers are kept times this, so that none that counts is denormal before it is divided by the sum.
template <class T>
constexpr double kPowerScale = 1;
template <>
constexpr double kPowerScale<float> = 0x1p64;

/// kPowerScale exp(x) for x <= 0 or NaN. Rows of powers are nothing but exponentials, which decide the speed: this is lane::exp with fused
/// steps, without the range that is not needed, and with the fewest of them, since a loop over rows has other work for the time that they
/// wait for each other. One f32 stands for ln 2: what that is off by, 3e-9 |x|, is far less than what an x that is a difference has lost
/// already; for x > -1 the result is within 1.1 units in the last place. The last bit may differ between instruction sets.
WEFT_INLINE Vec<float> power(Vec<float> x) {
  using F = lane::Format<float>;
  constexpr float round = F::round + 127 + 64;  // leaves the biased exponent in the low bits
  const auto all = [](float number) __attribute__((always_inline)) { return all_lanes(number); };
  x = at_least(x, F::exp_min);  // whose power is 0 in f32 once it is scaled back
  const Vec<float> shifted = multiply_add(x, all(F::inv_ln2), all(round)), n = shifted - round, r = multiply_add(n, all(-0x1.62e43p-1f), x);
  Vec<float> y = all(0.00138364395f);  // the polynomial of lane::exp_tail
  for (const float c : {0.00836913101f, 0.0416681059f, 0.166665167f, 0.49999994f, 1.0f, 1.0f}) y = multiply_add(y, r, all(c));
  return y * reinterpret_cast<Vec<float>>(reinterpret_cast<Vec<std::uint32_t>>(shifted) << F::mantissa);
}

/// The two halves of a vector, widened.
WEFT_INLINE void add_wide(Vec<double>* sums, Vec<float> v) {
  float lanes[kWidth<float>];
  store(lanes, v);
  sums[0] += load<double>(lanes);
  sums[1] += load<double>(lanes + kWidth<double>);
}

/// to[k] = kPowerScale exp(x[k] - shift), and their sum. REQUIRES: no x exceeds the shift. All lanes are computed alike, the last ones, too.
/// The sum takes a block of powers once it is there: a sum of each power as it comes would wait for it in the place of work that could be done.
/// In a block it runs in f32, since all powers are positive: at most ten roundings. Memory idles meanwhile: the next row, if one follows, is
/// asked for, and meanwhile(at) is called for each vector of the whole steps of kPowerStep elements, to write the row before.
inline constexpr int kPowerStep = 4 * kWidth<float>;
template <class Meanwhile>
WEFT_INLINE double power_row(const float* x, std::int64_t n, float shift, float* to, const Meanwhile& meanwhile) {
  constexpr int width = kWidth<float>, step = kPowerStep, block = 8 * step;
  Vec<double> sums[2] = {};
  const auto run = [&](std::int64_t at) __attribute__((always_inline)) { store(to + at, power(load<float>(x + at) - shift)); };
  std::int64_t k = 0;
  for (std::int64_t start = 0; k + step <= n; start = k) {
    const std::int64_t end = n - start < block ? n : start + block;
    for (; k + step <= end; k += step) {
      for (int line = 0; line < step; line += 16) __builtin_prefetch(x + n + k + line);
      for (int v = 0; v < 4; ++v) run(k + v * width);
      for (int v = 0; v < 4; ++v) meanwhile(k + v * width);
    }
    Vec<float> four[4] = {};
    for (std::int64_t at = start; at < k; at += step)
      for (int v = 0; v < 4; ++v) four[v] += load<float>(to + at + v * width);
    add_wide(sums, (four[0] + four[1]) + (four[2] + four[3]));
  }
  for (; k + width <= n; k += width) {
    run(k);
    add_wide(sums, load<float>(to + k));
  }
  if (k < n) {  // the lanes without an element are as good as 0 in a sum of at least kPowerScale
    const Vec<float> v = power(load_some(x + k, n - k, -lane::kInfinity<float>) - shift);
    store_some(to + k, n - k, v);
    add_wide(sums, v);
  }
  const Vec<double> both = sums[0] + sums[1];
  double total = 0;
  for (int l = 0; l < kWidth<double>; ++l) total += both[l];
  return total;
}
template <class Meanwhile>
WEFT_INLINE double power_row(const double* x, std::int64_t n, double shift, double* to, const Meanwhile&) {
  for (std::int64_t k = 0; k < n; ++k) to[k] = lane::exp(x[k] - shift);
  double words[AddUp<double>::kWords];
  fold_run<AddUp<double>>(to, n, 0, words);
  return AddUp<double>::value(words);
}

}  // namespace
}  // namespace weft::inline v0::kernels::WEFT_ISA
