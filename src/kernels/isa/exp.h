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

/// kPowerScale exp(x) for x <= 0 or NaN, within 1.3 units in the last place. Rows of powers are nothing but exponentials, which decide the
/// speed: this is lane::exp with fused steps, without the range that is not needed. The last bit may differ between instruction sets.
WEFT_INLINE Vec<float> power(Vec<float> x) {
  using F = lane::Format<float>;
  constexpr float round = F::round + 127 + 64;  // leaves the biased exponent in the low bits
  const auto all = [](float number) __attribute__((always_inline)) { return all_lanes(number); };
  x = at_least(x, F::exp_min);  // whose power is 0 in f32 once it is scaled back
  const Vec<float> shifted = multiply_add(x, all(F::inv_ln2), all(round)), n = shifted - round;
  const Vec<float> r = multiply_add(n, all(-F::ln2_lo), multiply_add(n, all(-F::ln2_hi), x)), square = r * r;
  // exp(r) - 1 by the polynomial of lane::exp_tail, in pairs: the chain of dependent steps is what takes the time.
  const Vec<float> high = multiply_add(all(0.00138364395f), square, multiply_add(all(0.00836913101f), r, all(0.0416681059f)));
  const Vec<float> low = multiply_add(multiply_add(all(0.166665167f), r, all(0.49999994f)), square, r);
  const Vec<float> scale = reinterpret_cast<Vec<float>>(reinterpret_cast<Vec<std::uint32_t>>(shifted) << F::mantissa);
  return multiply_add(multiply_add(high, square * square, low), scale, scale);
}

/// to[k] = kPowerScale exp(x[k] - shift), and their sum. REQUIRES: no x exceeds the shift. All lanes are computed alike, the last ones, too.
/// Four vectors are added in f32 before their sum is widened: all are positive, so that costs two roundings. Memory idles meanwhile; the
/// next row, if one follows, is asked for.
WEFT_INLINE double power_row(const float* x, std::int64_t n, float shift, float* to) {
  constexpr int width = kWidth<float>, half = width / 2;
  Vec<double> sums[2] = {};
  float four[width];
  const auto add = [&](Vec<float> v) __attribute__((always_inline)) {
    store(four, v);
    sums[0] += load<double>(four);
    sums[1] += load<double>(four + half);
  };
  const auto run = [&](std::int64_t at) __attribute__((always_inline)) {
    const Vec<float> v = power(load<float>(x + at) - shift);
    store(to + at, v);
    return v;
  };
  std::int64_t k = 0;
  for (; k + 4 * width <= n; k += 4 * width) {
    for (int line = 0; line < 4 * width; line += 16) __builtin_prefetch(x + n + k + line);
    const Vec<float> a = run(k), b = run(k + width), c = run(k + 2 * width), d = run(k + 3 * width);
    add((a + b) + (c + d));
  }
  for (; k + width <= n; k += width) add(run(k));
  if (k < n) {  // the lanes without an element are as good as 0 in a sum of at least kPowerScale
    const Vec<float> v = power(load_some(x + k, n - k, -lane::kInfinity<float>) - shift);
    store_some(to + k, n - k, v);
    add(v);
  }
  const Vec<double> both = sums[0] + sums[1];
  double total = 0;
  for (int l = 0; l < kWidth<double>; ++l) total += both[l];
  return total;
}
WEFT_INLINE double power_row(const double* x, std::int64_t n, double shift, double* to) {
  for (std::int64_t k = 0; k < n; ++k) to[k] = lane::exp(x[k] - shift);
  double words[AddUp<double>::kWords];
  fold_run<AddUp<double>>(to, n, 0, words);
  return AddUp<double>::value(words);
}

}  // namespace
}  // namespace weft::inline v0::kernels::WEFT_ISA
