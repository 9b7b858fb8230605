// Vectors of the instruction set that is being compiled, and folds in lanes. For files in this folder only.
#pragma once

#include <cstdint>

#include "kernels/recipes.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define WEFT_INLINE [[gnu::always_inline, maybe_unused]] inline

namespace weft::inline v0::kernels::WEFT_ISA {
namespace {

#if defined(WEFT_ISA_v4)
constexpr int kVectorBytes = 64;
#elif defined(WEFT_ISA_v3)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class T, int n>
struct VectorOf { typedef T Type __attribute__((vector_size(sizeof(T) * n))); };
template <class T, int n = kVectorBytes / static_cast<int>(sizeof(T))>
using Vec = typename VectorOf<T, n>::Type;
template <class T>
constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(T));

/// kWidth<W> elements, each converted to W: the same type, or f32 to double.
template <class W, class T>
WEFT_INLINE Vec<W> load(const T* x) {
  Vec<T, kWidth<W>> v;
  __builtin_memcpy(&v, x, sizeof(v));
  if constexpr (std::is_same_v<W, T>) return v;
  // g++ 12 converts vectors half by half; the instructions below do it at once.
#if defined(WEFT_ISA_v4)
  else return _mm512_maskz_cvtps_pd(0xff, v);  // (the plain one has an "undefined" operand that g++ 12 warns of)
#elif defined(WEFT_ISA_v3)
  else return _mm256_cvtps_pd(v);
#else
  else return __builtin_convertvector(v, Vec<W>);
#endif
}
template <class T>
WEFT_INLINE void store(T* to, Vec<T> v) { __builtin_memcpy(to, &v, sizeof(v)); }
/// The first `count` lanes, fewer than all; the others are `fill`, or are left alone in memory.
template <class T>
WEFT_INLINE Vec<T> load_some(const T* x, std::int64_t count, T fill) {
  Vec<T> v = fill - Vec<T>{};
  for (int l = 0; l < kWidth<T>; ++l)
    if (l < count) v[l] = x[l];
  return v;
}
template <class T>
WEFT_INLINE void store_some(T* to, std::int64_t count, Vec<T> v) {
  for (int l = 0; l < kWidth<T>; ++l)
    if (l < count) to[l] = v[l];
}
#if defined(WEFT_ISA_v4)
template <>
WEFT_INLINE Vec<float> load_some(const float* x, std::int64_t count, float fill) {
  return _mm512_mask_loadu_ps(_mm512_set1_ps(fill), static_cast<__mmask16>((1u << count) - 1), x);
}
template <>
WEFT_INLINE void store_some(float* to, std::int64_t count, Vec<float> v) { _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1u << count) - 1), v); }
#elif defined(WEFT_ISA_v3)
WEFT_INLINE __m256i first_lanes(std::int64_t count) {
  static constexpr std::int32_t ones_and_zeros[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ones_and_zeros + 8 - count));
}
template <>
WEFT_INLINE Vec<float> load_some(const float* x, std::int64_t count, float fill) {
  const __m256i mask = first_lanes(count);
  return _mm256_blendv_ps(_mm256_set1_ps(fill), _mm256_maskload_ps(x, mask), _mm256_castsi256_ps(mask));
}
template <>
WEFT_INLINE void store_some(float* to, std::int64_t count, Vec<float> v) { _mm256_maskstore_ps(to, first_lanes(count), v); }
#endif

template <class W>
WEFT_INLINE Vec<W> all_lanes(W x) { return x - Vec<W>{}; }

/// Asks for what is needed soon after the `count` elements at x: the processor's own prefetching stops at every page. How far ahead, and for
/// which cache, is by measurement: processors with AVX-512 wait for more lines at a time in the second-level cache than in the first.
template <class T>
WEFT_INLINE void fetch_ahead(const T* x, std::int64_t count) {
#if defined(WEFT_ISA_v4)
  constexpr int bytes = 8192, locality = 2;
#else
  constexpr int bytes = 2048, locality = 3;
#endif
  constexpr std::int64_t line = 64 / sizeof(T);
  for (std::int64_t k = 0; k < count; k += line) __builtin_prefetch(reinterpret_cast<const char*>(x + k) + bytes, 0, locality);
}

template <class Pass, class T>
WEFT_INLINE typename Pass::Word word_of(T x) {
  if constexpr (requires { Pass::word_of(x); }) return Pass::word_of(x);
  else return static_cast<typename Pass::Word>(x);
}

/// The words of 128 bytes of lanes: as many for every instruction set, so that all of them add in the same order. Lane l takes the
/// elements l, l + kCount, ...; in the end the upper half is merged into the lower half until one lane is left.
template <class Pass>
struct Lanes {
  using Word = typename Pass::Word;
  static constexpr int kCount = 128 / static_cast<int>(sizeof(Word)), kVectors = kCount / kWidth<Word>;
  Vec<Word> at[kVectors][Pass::kWords];

  WEFT_INLINE void start() {
    for (int v = 0; v < kVectors; ++v)
      for (int w = 0; w < Pass::kWords; ++w) at[v][w] = all_lanes<Word>(Pass::kStart);
  }
  template <class T>
  WEFT_INLINE void step(const T* x, Vec<Word> given) {
    for (int v = 0; v < kVectors; ++v) Pass::step(at[v], load<Word>(x + v * kWidth<Word>), given);
  }
  /// Takes the last `rest` elements, fewer than kCount, and leaves the words of them all.
  template <class T>
  WEFT_INLINE void finish(const T* x, std::int64_t rest, Word given, Word* words) {
    Word lane[kCount][Pass::kWords];
    for (int l = 0; l < kCount; ++l)
      for (int w = 0; w < Pass::kWords; ++w) lane[l][w] = at[l / kWidth<Word>][w][l % kWidth<Word>];
    for (std::int64_t l = 0; l < rest; ++l) Pass::step(lane[l], word_of<Pass>(x[l]), given);
    for (int half = kCount / 2; half > 0; half /= 2)
      for (int l = 0; l < half; ++l) Pass::merge(lane[l], lane[l + half]);
    for (int w = 0; w < Pass::kWords; ++w) words[w] = lane[0][w];
  }
};

/// Folds one run of contiguous elements into `words`. Integers may be folded in any order, and the compiler finds a good one; floats in
/// lanes, or one after the other if there are fewer than lanes.
template <class Pass, class T>
WEFT_INLINE void fold_run(const T* x, std::int64_t n, double given, typename Pass::Word* words) {
  using Word = typename Pass::Word;
  if constexpr (!std::is_floating_point_v<Word>) {
    Word word = Pass::kStart;
    for (std::int64_t k = 0; k < n; ++k) Pass::step(&word, word_of<Pass>(x[k]), word);
    words[0] = word;
  } else if (n < Lanes<Pass>::kCount) {
    for (int w = 0; w < Pass::kWords; ++w) words[w] = Pass::kStart;
    for (std::int64_t k = 0; k < n; ++k) Pass::step(words, word_of<Pass>(x[k]), static_cast<Word>(given));
  } else {
    Lanes<Pass> lanes;
    lanes.start();
    const Vec<Word> vector_given = all_lanes(static_cast<Word>(given));
    std::int64_t k = 0;
    for (; k + Lanes<Pass>::kCount <= n; k += Lanes<Pass>::kCount) {
      fetch_ahead(x + k, Lanes<Pass>::kCount);
      lanes.step(x + k, vector_given);
    }
    lanes.finish(x + k, n - k, static_cast<Word>(given), words);
  }
}

}  // namespace
}  // namespace weft::inline v0::kernels::WEFT_ISA
