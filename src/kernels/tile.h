// The tile interpreter: all pointwise code runs here, one op or a chain of them, over tiles that stay in the first cache.
//
// A program is a list of steps over slots. Slots 0, 1, ... are the inputs, presented as runs of contiguous lanes whatever their strides
// or storage; each step reads slots and writes one, or several if it is a chain. An eager op is a program of one step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/function_ref.h"
#include "kernels/chain.h"

namespace weft::inline v0::kernels {

/// out[k] = f(in[0][k], in[1][k], ...) for k < n. The types are fixed by the function. `out` may be one of the inputs.
using TileFn = void (*)(const void* const* in, void* out, std::size_t n);

inline constexpr int kMaxTileInputs = 6;   // of one step
inline constexpr int kMaxTileSlots = 64;
inline constexpr std::size_t kTileLanes = 1024;

enum class Half : std::uint8_t { kNo, kF16, kBF16 };

/// Runs of 16-bit floats to and from f32. REQUIRES: half is not kNo.
void widen(Half half, const void* from, float* to, std::size_t n);
void narrow(Half half, const float* from, void* to, std::size_t n);

struct TileInput {
  const void* data;
  const std::int64_t* strides;  // in elements, one for each output axis; 0 repeats
  std::size_t element_size;     // as stored
  Half half;                    // stored as a 16-bit float; the lanes are f32
};

/// A link of a chain whose operand, if it has one, is a slot. REQUIRES: at most kMaxTileChain in a step, the last one keeps its result; kEnd is
/// left out.
struct TileLink {
  Link link;
  std::uint8_t slot = 0;
};
inline constexpr std::size_t kMaxTileChain = 32;

struct TileStep {
  TileFn fn;
  std::uint8_t count;               // of inputs
  std::uint8_t in[kMaxTileInputs];  // slots
  std::uint8_t out;                 // slot; not an input's
  Half round = Half::kNo;           // the f32 lanes are rounded to this format before other steps see them
  TileFn past = nullptr;            // fn with stores past the caches, if there is one; its result must not lie where an input does
  std::uint8_t work = 1;            // for a lane: 1, or kBusyWork where arithmetic takes longer than memory
  std::span<const TileLink> chain = {};  // instead of fn and in, on f32: what it keeps are its results, `out` the last of them
};

struct TileOutput {
  void* data;  // dense, row-major
  std::size_t element_size;
  Half half;
  std::uint8_t slot = 1;  // exactly one step writes it
  bool cached = false;    // however large: it goes no further, or arithmetic takes longer than memory, and a copy past the caches waits for both
};

/// Runs the program over outputs of the given sizes (rank of them). An output may lie where a dense input of its element size lies, if
/// no step or link after the one that makes it reads that input; other overlap is not allowed. Parts run on the pool; no result depends on it.
/// REQUIRES: the slots used are below kMaxTileSlots.
void run_tiles(std::span<const TileStep> steps, std::span<const TileInput> inputs, std::span<const TileOutput> outputs,
               const std::int64_t* sizes, int rank);

/// Lanes of a program: `rows` times `cols` of them side by side, rows `apart` lanes from each other.
struct LaneBlock {
  std::size_t begin, rows, cols, apart;
  void* instead = nullptr;  // where the first output of the lanes goes, if not to its place. REQUIRES: one row
};
using RunLanes = FunctionRef<void(const LaneBlock&)>;

/// Prepares the program and gives `use` the means to run it part by part: on the thread that calls, several at a time on different lanes.
void with_lanes(std::span<const TileStep> steps, std::span<const TileInput> inputs, std::span<const TileOutput> outputs, const std::int64_t* sizes,
                int rank, FunctionRef<void(RunLanes)> use);

/// A program of one step.
void run_tile(TileFn fn, const TileInput* inputs, int count, TileOutput out, const std::int64_t* sizes, int rank, TileFn past = nullptr,
              std::uint8_t work = 1);

/// From this many lanes on a program uses the pool, or from fewer if there is more to do for each.
inline constexpr std::size_t kSerialLanes = 32768;
inline constexpr std::uint8_t kBusyWork = 8;
/// Whether a program of so much work for a lane runs on the calling thread alone. One step on dense inputs without 16-bit floats is then a
/// single call of its function.
inline bool is_serial(std::size_t lanes, std::size_t work) { return lanes < kSerialLanes && lanes * work < 4 * kSerialLanes; }

}  // namespace weft::inline v0::kernels
