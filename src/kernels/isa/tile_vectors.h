// The vectors that register tiles are made of, whole ones and their first lanes. For files in src/kernels/isa only: everything here has internal
// linkage.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weft::inline v0::kernels::WEFT_ISA {
namespace {

#define WEFT_INLINE [[gnu::always_inline]] inline
// Every loop over a tile must be unrolled completely, or the compiler keeps the tile in memory.
#define WEFT_UNROLL _Pragma("GCC unroll 16")

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64, kTileRows = 12;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32, kTileRows = 6;
#else
constexpr int kVectorBytes = 16, kTileRows = 4;
#endif
constexpr int kTileVectors = 2;

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));
template <class T>
constexpr int kTileCols = kTileVectors * kLanes<T>;  // the width of a packed panel

template <class T>
WEFT_INLINE Vector<T> load(const T* from) {
  Vector<T> v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

template <class T>
WEFT_INLINE void store(T* to, Vector<T> v) {
  __builtin_memcpy(to, &v, sizeof v);
}

#if defined(__AVX512F__)
WEFT_INLINE Vector<float> spread(float x) { return _mm512_set1_ps(x); }
WEFT_INLINE Vector<double> spread(double x) { return _mm512_set1_pd(x); }
WEFT_INLINE Vector<float> multiply_add(Vector<float> a, Vector<float> b, Vector<float> c) { return _mm512_fmadd_ps(a, b, c); }
WEFT_INLINE Vector<double> multiply_add(Vector<double> a, Vector<double> b, Vector<double> c) { return _mm512_fmadd_pd(a, b, c); }

// The first `count` lanes, 0 < count <= kLanes; the others are zero when loaded and left alone when stored.
template <class T>
struct First {
  int count;
  WEFT_INLINE __mmask16 mask() const { return static_cast<__mmask16>((1u << count) - 1); }
};
WEFT_INLINE Vector<float> load(const float* from, First<float> first) { return _mm512_maskz_loadu_ps(first.mask(), from); }
WEFT_INLINE Vector<double> load(const double* from, First<double> first) {
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>(first.mask()), from);
}
WEFT_INLINE void store(float* to, Vector<float> v, First<float> first) { _mm512_mask_storeu_ps(to, first.mask(), v); }
WEFT_INLINE void store(double* to, Vector<double> v, First<double> first) {
  _mm512_mask_storeu_pd(to, static_cast<__mmask8>(first.mask()), v);
}

#elif defined(__AVX2__)
WEFT_INLINE Vector<float> spread(float x) { return _mm256_set1_ps(x); }
WEFT_INLINE Vector<double> spread(double x) { return _mm256_set1_pd(x); }
WEFT_INLINE Vector<float> multiply_add(Vector<float> a, Vector<float> b, Vector<float> c) { return _mm256_fmadd_ps(a, b, c); }
WEFT_INLINE Vector<double> multiply_add(Vector<double> a, Vector<double> b, Vector<double> c) { return _mm256_fmadd_pd(a, b, c); }

template <class T>
struct First {
  int count;
};
WEFT_INLINE Vector<float> load(const float* from, First<float> first) {
  const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(first.count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  return _mm256_maskload_ps(from, mask);
}
WEFT_INLINE Vector<double> load(const double* from, First<double> first) {
  const __m256i mask = _mm256_cmpgt_epi64(_mm256_set1_epi64x(first.count), _mm256_setr_epi64x(0, 1, 2, 3));
  return _mm256_maskload_pd(from, mask);
}
// In parts: a masked store costs AMD's processors some 20 cycles.
WEFT_INLINE void store(float* to, Vector<float> v, First<float> first) {
  if (first.count == 8) return _mm256_storeu_ps(to, v);
  __m128 part = _mm256_castps256_ps128(v);
  if ((first.count & 4) != 0) {
    _mm_storeu_ps(to, part);
    part = _mm256_extractf128_ps(v, 1);
    to += 4;
  }
  if ((first.count & 2) != 0) {
    _mm_storel_pi(reinterpret_cast<__m64*>(to), part);
    part = _mm_movehl_ps(part, part);
    to += 2;
  }
  if ((first.count & 1) != 0) _mm_store_ss(to, part);
}
WEFT_INLINE void store(double* to, Vector<double> v, First<double> first) {
  if (first.count == 4) return _mm256_storeu_pd(to, v);
  __m128d part = _mm256_castpd256_pd128(v);
  if ((first.count & 2) != 0) {
    _mm_storeu_pd(to, part);
    part = _mm256_extractf128_pd(v, 1);
    to += 2;
  }
  if ((first.count & 1) != 0) _mm_store_sd(to, part);
}

#else
WEFT_INLINE Vector<float> spread(float x) { return Vector<float>{x, x, x, x}; }
WEFT_INLINE Vector<double> spread(double x) { return Vector<double>{x, x}; }
template <class V>
WEFT_INLINE V multiply_add(V a, V b, V c) { return a * b + c; }

template <class T>
struct First {
  int count;
};
template <class T>
WEFT_INLINE Vector<T> load(const T* from, First<T> first) {
  T lanes[kLanes<T>] = {};
  for (int i = 0; i < first.count; ++i) lanes[i] = from[i];
  return load(lanes);
}
template <class T>
WEFT_INLINE void store(T* to, Vector<T> v, First<T> first) {
  T lanes[kLanes<T>];
  store(lanes, v);
  for (int i = 0; i < first.count; ++i) to[i] = lanes[i];
}
#endif

}  // namespace
}  // namespace weft::inline v0::kernels::WEFT_ISA
