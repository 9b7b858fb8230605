// Update rules of optimizers: one pass over all tensors of a step.
//
// For each tensor a rule reads streams of equal length (the parameter, what is kept beside it, the gradient) and writes the first of them
// anew. The arithmetic of one lane is the rule's own (core/update.h); this is how it gets to the lanes of many tensors.
#pragma once

#include <cstddef>
#include <span>

#include "base/room.h"
#include "kernels/tile.h"

namespace weft::inline v0::kernels {

inline constexpr int kMaxUpdateStreams = 6;

/// Reads in[i][k] and writes out[i][k] for k < n; how many there are, and of which types, is fixed by the function. out[i] may be in[i].
using UpdateFn = void (*)(const void* const* in, void* const* out, const void* numbers, std::size_t n);

/// What is the same for all tensors. `numbers` are the rule's constants, in the type of its lanes.
struct UpdateRule {
  UpdateFn fn;
  int inputs, outputs;       // streams
  std::size_t element_size;  // as stored
  Half half;                 // stored as 16-bit floats; the lanes are f32
  const void* numbers;
};

struct UpdateTensor {
  const void* in[kMaxUpdateStreams];
  void* out[kMaxUpdateStreams];  // in[i] itself, or memory that overlaps with none of the inputs
  std::size_t size;
};

/// Where each tensor begins on the line on which they all lie, padded, one behind the other. Slices of that line are what threads take.
CallList<std::size_t> update_starts(std::span<const UpdateTensor> tensors);

/// Applies the rule to all tensors. Parts run on the pool, in slices that depend on the sizes alone; no result depends on it. Needs no
/// memory.
void run_updates(const UpdateRule& rule, std::span<const UpdateTensor> tensors, std::span<const std::size_t> starts);

}  // namespace weft::inline v0::kernels
