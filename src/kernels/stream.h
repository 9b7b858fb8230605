// Stores past the caches, for results so large that they would not stay there.
#pragma once

#include <cstddef>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace weft::inline v0::kernels {

/// Outputs from this size on bypass the caches.
inline constexpr std::size_t kStreamBytes = std::size_t{16} << 20;

/// Copies past the caches. Whole lines are written, so none has to be read first; the fewer stores a line takes, the sooner it is on its way.
/// What is not a whole line of `to`, at its beginning or end, goes through the caches.
void stream(const void* from, void* to, std::size_t bytes);

#if defined(__x86_64__)
/// Writes a line of 16 numbers past the caches. REQUIRES: both are aligned to 64 bytes; `to` is written as a whole, or takes much longer.
#if defined(__clang__)
[[gnu::always_inline]]
#else
[[gnu::target("avx")]]  // no more: it becomes part of whatever flattened function calls it
#endif
inline void stream_line(const float* from, float* to) {
  typedef float Part __attribute__((vector_size(32)));
  for (int at = 0; at < 16; at += 8) {
#if defined(__clang__)
    __builtin_nontemporal_store(*reinterpret_cast<const Part*>(from + at), reinterpret_cast<Part*>(to + at));
#else
    __builtin_ia32_movntps256(to + at, *reinterpret_cast<const Part*>(from + at));
#endif
  }
}
#endif

/// Makes what this thread has streamed visible to whoever it tells next.
inline void finish_streaming() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace weft::inline v0::kernels
