// The thread pool: runs the chunks of a kernel on the calling thread and on the pool's workers.
//
// What a chunk computes must depend on the chunk alone, never on who runs it or on how many threads there are; how a kernel falls into
// chunks must depend on shapes alone. Results are then the same bits for any number of threads.
//
// Thread safety: any thread may call parallel_for at any time. One region has the workers at a time; a second caller, and a region inside
// a chunk, run all their chunks themselves. After fork() the child has its own pool; at exit the workers are stopped and joined, and
// what still runs then, runs on its own thread.
// Cost: about 0.5 us for a region while the workers are awake (they watch for half a millisecond after their last chunk), one futex wake
// otherwise. The caller waits only for chunks that a worker has begun.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <weft/runtime.h>

namespace weft::inline v0 {

/// Calls call(context, chunk) once for every chunk in [0, chunks). Every chunk runs, even if others throw; then the exception of the lowest
/// chunk that threw is rethrown. Neighbouring chunks tend to run on one thread: the caller takes them from the front, workers from the back.
void run_chunks(std::int64_t chunks, void (*call)(void* context, std::int64_t chunk), void* context);

template <class F>
void parallel_for(std::int64_t chunks, F&& body) {
  if (chunks == 1) return body(std::int64_t{0});
  run_chunks(chunks, [](void* context, std::int64_t chunk) { (*static_cast<std::remove_reference_t<F>*>(context))(chunk); },
             const_cast<void*>(static_cast<const void*>(&body)));
}

/// Calls body(begin, end) for the runs of `grain` indices (the last may be shorter) that make up [0, n). REQUIRES: grain > 0.
template <class F>
void parallel_ranges(std::int64_t n, std::int64_t grain, F&& body) {
  if (n <= 0) return;
  parallel_for((n + grain - 1) / grain, [&](std::int64_t chunk) { body(chunk * grain, std::min(n, (chunk + 1) * grain)); });
}

}  // namespace weft::inline v0
