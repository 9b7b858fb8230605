// How the work of reductions and scans falls into parts and chunks: by shapes alone.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/pool.h"

namespace weft::inline v0::kernels {

// Part of what a result is: they fix the order of its sums.
inline constexpr std::int64_t kBlock = 16384;   // elements of a run that are folded on their own
inline constexpr std::int64_t kColumns = 4096;  // columns that are folded side by side: rows that short are read badly from memory

/// How `runs` of `length` are cut into parts that are folded on their own and merged in order: several whole runs a part, or several
/// parts a run.
struct Parts {
  std::int64_t runs, length, step, whole, per_run, count;
  Parts(std::int64_t runs_, std::int64_t length_, std::int64_t step_)
      : runs(runs_), length(length_), step(step_), whole(std::max<std::int64_t>(1, step / length)), per_run((length + step - 1) / step),
        count(per_run > 1 ? runs * per_run : (runs + whole - 1) / whole) {}
  /// Calls f(first run, end of the runs, start within them, how much of each).
  template <class F>
  void in(std::int64_t part, const F& f) const {
    if (per_run == 1) return f(part * whole, std::min(runs, (part + 1) * whole), std::int64_t{0}, length);
    const std::int64_t run = part / per_run, start = part % per_run * step;
    f(run, run + 1, start, std::min(step, length - start));
  }
};

/// Runs each(i) for every i < n on the pool; each has to do with `elements` elements. A chunk is worth the pool's overhead; of much work
/// it is so large that the processor's prefetching seldom starts anew.
template <class Each>
void in_parallel(std::int64_t n, std::int64_t elements, const Each& each) {
  constexpr std::int64_t least = 32768, most = 262144, enough_chunks = 64;
  elements = std::max<std::int64_t>(1, elements);
  const std::int64_t chunk = std::clamp(n / enough_chunks * elements, least, most);
  parallel_ranges(n, std::max<std::int64_t>(1, chunk / elements), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) each(i);
  });
}

}  // namespace weft::inline v0::kernels
