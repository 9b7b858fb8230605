// The process-wide machinery: threads and memory.
//
// Thread safety: every function may be called from any thread at any time.
#pragma once

#include <cstdint>

#include <weft/error.h>

namespace weft::inline v0 {

/// How many threads, the calling one included, work on one op. At first as many as processors the process may use, or the environment
/// variable WEFT_NUM_THREADS. Results do not depend on it. Throws ValueError unless it is from 1 to 1024; a region that is running
/// keeps its threads.
WEFT_API void set_num_threads(int threads, Location at = Location::here());
WEFT_API int num_threads();

/// Memory of tensors, and of the lists that come and go with calls. Freed blocks are kept for the next of their size, because the system's pages cost
/// more than most ops.
struct MemoryStats {
  std::int64_t in_use = 0;  ///< bytes that tensors own now, rounded up to what their blocks hold
  std::int64_t cached = 0;  ///< bytes that are kept for later, and those of lists that Weft keeps for itself
  std::int64_t peak = 0;    ///< the most that was ever in use
};
WEFT_API MemoryStats memory_stats();
/// Gives every kept block back to the system, but for small ones that other threads keep for themselves (at most 1 MB a thread).
WEFT_API void trim_memory();
/// At most this many bytes are kept; at first half of the machine's memory. What is above it now goes back at once. Throws ValueError
/// if it is negative.
WEFT_API void set_memory_cache_limit(std::int64_t bytes, Location at = Location::here());

}  // namespace weft::inline v0
