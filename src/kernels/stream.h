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

/// Makes what this thread has streamed visible to whoever it tells next.
inline void finish_streaming() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace weft::inline v0::kernels
