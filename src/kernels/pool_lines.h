// The inner loops of max pooling, for each instruction set.
#pragma once

#include <cstdint>

#include "kernels/isa.h"

namespace weft::inline v0::kernels {

/// Windows side by side that lie inside of x along the last axis. A window covers `width` positions, `channels` elements apart, in each of
/// `height` lines; the next one begins `step` elements further on. Offsets of the lines in x count from the first window's first element.
struct PoolLine {
  const std::int64_t* lines;
  std::int64_t height, width, channels, count, step;
};

struct PoolLoops {
  void (*max)(const PoolLine& line, const float* x, float* y);
  /// Adds each dy to the place in dx of its window's first maximum.
  void (*max_backward)(const PoolLine& line, const float* x, const float* dy, float* dx);
};
WEFT_ISA_TABLE(PoolLoops, pool_loops)

}  // namespace weft::inline v0::kernels
