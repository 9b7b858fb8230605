// How a kernel is joined to the pointwise code before or behind it: block by block, while what one makes is still in the cache of the other.
#pragma once

#include <cstdint>

#include "base/function_ref.h"
#include "base/pool.h"

namespace weft::inline v0::kernels {

/// A part of a dense result: `rows` times `cols` elements side by side, rows `apart` elements from each other.
struct DoneBlock {
  void* data;
  std::int64_t rows, cols, apart;
};
/// Is told of every element once, when it is complete, on the thread that made it; of several at a time. From then on the kernel neither reads nor writes it.
using BlockDone = FunctionRef<void(const DoneBlock&)>;

/// Elements begin, ..., begin + count - 1 of a dense input go to `to`. Several threads may ask, for each element once: what it is made of may be overwritten.
using MakeElements = FunctionRef<void(std::int64_t begin, std::int64_t count, void* to)>;

/// For results that are complete all at once. `done` may be null.
template <class T>
void tell_done(const BlockDone* done, T* data, std::int64_t count) {
  if (done == nullptr) return;
  parallel_ranges(count, 16384, [&](std::int64_t begin, std::int64_t end) { (*done)({data + begin, 1, end - begin, end - begin}); });
}

}  // namespace weft::inline v0::kernels
