// Stores past the caches, for results so large that they would not stay there.
#pragma once

#include <cstddef>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace weft::inline v0::kernels {

/// Outputs from this size on bypass the caches.
inline constexpr std::size_t kStreamBytes = std::size_t{16} << 20;

/// Copies past the caches. Whole lines are written, so none has to be read first. REQUIRES: both are 16-byte aligned.
inline void stream(const void* from, void* to, std::size_t bytes) {
  std::size_t done = 0;
#if defined(__SSE2__)
  for (; done + 64 <= bytes; done += 64)
    for (std::size_t part = done; part < done + 64; part += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(static_cast<char*>(to) + part),
                       _mm_load_si128(reinterpret_cast<const __m128i*>(static_cast<const char*>(from) + part)));
#endif
  std::memcpy(static_cast<char*>(to) + done, static_cast<const char*>(from) + done, bytes - done);
}

/// Makes what this thread has streamed visible to whoever it tells next.
inline void finish_streaming() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace weft::inline v0::kernels
