// The driver of pointwise code: presents strided, broadcast and 16-bit inputs as runs of contiguous lanes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::inline v0::kernels {

/// out[k] = f(in[0][k], in[1][k], ...) for k < n. The types are fixed by the function.
using TileFn = void (*)(const void* const* in, void* out, std::size_t n);

inline constexpr int kMaxTileInputs = 6;
inline constexpr std::size_t kTileLanes = 512;

enum class Half : std::uint8_t { kNo, kF16, kBF16 };

struct TileInput {
  const void* data;
  const std::int64_t* strides;  // in elements, one for each output axis; 0 repeats
  std::size_t element_size;     // as stored
  Half half;                    // stored as a 16-bit float; the lanes are f32
};

struct TileOutput {
  void* data;  // dense, row-major
  std::size_t element_size;
  Half half;
};

/// Runs `fn` over an output of the given sizes (rank of them). Inputs may not overlap the output unless they are dense and
/// start where it starts.
void run_tile(TileFn fn, const TileInput* inputs, int count, TileOutput out, const std::int64_t* sizes, int rank);

}  // namespace weft::inline v0::kernels
