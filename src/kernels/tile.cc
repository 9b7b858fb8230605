#include "kernels/tile.h"

#include <algorithm>
#include <cstring>

#include <weft/dtype.h>

namespace weft::inline v0::kernels {
namespace {

enum class Layout { kDense, kScalar, kBroadcast };

Layout layout_of(const TileInput& in, const std::int64_t* sizes, int rank) {
  bool dense = true, scalar = true;
  std::int64_t expected = 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    if (sizes[axis] == 1) continue;
    dense = dense && in.strides[axis] == expected;
    scalar = scalar && in.strides[axis] == 0;
    expected *= sizes[axis];
  }
  return dense ? Layout::kDense : scalar ? Layout::kScalar : Layout::kBroadcast;
}

template <class T>
void gather(const T* from, const std::int64_t* strides, const std::int64_t* sizes, int rank, std::int64_t start,
            std::size_t count, T* to) {
  // The position of `start`, then runs along the last axis, whose stride is 0 or 1 in a dense input.
  std::int64_t index[32], offset = 0;
  for (int axis = rank - 1; axis >= 0; --axis) {
    index[axis] = start % sizes[axis];
    start /= sizes[axis];
    offset += index[axis] * strides[axis];
  }
  const int last = rank - 1;
  while (count > 0) {
    const auto run = std::min<std::size_t>(count, static_cast<std::size_t>(sizes[last] - index[last]));
    if (strides[last] == 0) std::fill_n(to, run, from[offset]);
    else std::copy_n(from + offset, run, to);
    to += run;
    count -= run;
    offset += static_cast<std::int64_t>(run) * strides[last];
    index[last] += static_cast<std::int64_t>(run);
    for (int axis = last; axis > 0 && index[axis] == sizes[axis]; --axis) {
      offset += strides[axis - 1] - sizes[axis] * strides[axis];
      index[axis] = 0;
      ++index[axis - 1];
    }
  }
}

void gather_bytes(const TileInput& in, const std::int64_t* sizes, int rank, std::int64_t start, std::size_t count, void* to) {
  switch (in.element_size) {
    case 1: return gather(static_cast<const std::uint8_t*>(in.data), in.strides, sizes, rank, start, count, static_cast<std::uint8_t*>(to));
    case 2: return gather(static_cast<const std::uint16_t*>(in.data), in.strides, sizes, rank, start, count, static_cast<std::uint16_t*>(to));
    case 4: return gather(static_cast<const std::uint32_t*>(in.data), in.strides, sizes, rank, start, count, static_cast<std::uint32_t*>(to));
    default: return gather(static_cast<const std::uint64_t*>(in.data), in.strides, sizes, rank, start, count, static_cast<std::uint64_t*>(to));
  }
}

template <class H>
void widen_as(const H* from, float* to, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) to[k] = static_cast<float>(from[k]);
}
void widen(Half half, const void* from, float* to, std::size_t n) {
  if (half == Half::kF16) widen_as(static_cast<const float16*>(from), to, n);
  else widen_as(static_cast<const bfloat16*>(from), to, n);
}

template <class H>
void narrow_as(const float* from, H* to, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) to[k] = H(from[k]);
}
void narrow(Half half, const float* from, void* to, std::size_t n) {
  if (half == Half::kF16) narrow_as(from, static_cast<float16*>(to), n);
  else narrow_as(from, static_cast<bfloat16*>(to), n);
}

}  // namespace

void run_tile(TileFn fn, const TileInput* inputs, int count, TileOutput out, const std::int64_t* sizes, int rank) {
  std::size_t total = 1;
  for (int axis = 0; axis < rank; ++axis) total *= static_cast<std::size_t>(sizes[axis]);
  if (total == 0) return;

  Layout layout[kMaxTileInputs];
  const void* lanes[kMaxTileInputs];
  bool direct = out.half == Half::kNo;
  for (int i = 0; i < count; ++i) {
    layout[i] = layout_of(inputs[i], sizes, rank);
    lanes[i] = inputs[i].data;
    direct = direct && layout[i] == Layout::kDense && inputs[i].half == Half::kNo;
  }
  if (direct) return fn(lanes, out.data, total);

  alignas(64) unsigned char scratch[kMaxTileInputs][kTileLanes * 8];
  alignas(64) unsigned char stored[kTileLanes * 8];
  alignas(64) float result[kTileLanes];
  const std::size_t tile = std::min(total, kTileLanes);
  for (int i = 0; i < count; ++i) {  // a scalar fills its lanes once
    if (layout[i] != Layout::kScalar) continue;
    const std::int64_t zeros[1] = {0}, one_axis[1] = {static_cast<std::int64_t>(tile)};
    TileInput flat = inputs[i];
    flat.strides = zeros;
    if (flat.half == Half::kNo) {
      gather_bytes(flat, one_axis, 1, 0, tile, scratch[i]);
    } else {
      gather_bytes(flat, one_axis, 1, 0, tile, stored);
      widen(flat.half, stored, reinterpret_cast<float*>(scratch[i]), tile);
    }
    lanes[i] = scratch[i];
  }
  for (std::size_t start = 0; start < total; start += tile) {
    const std::size_t n = std::min(tile, total - start);
    for (int i = 0; i < count; ++i) {
      const TileInput& in = inputs[i];
      if (layout[i] == Layout::kScalar) continue;
      const void* from = static_cast<const char*>(in.data) + start * in.element_size;
      if (layout[i] == Layout::kBroadcast) {
        void* to = in.half == Half::kNo ? scratch[i] : stored;
        gather_bytes(in, sizes, rank, static_cast<std::int64_t>(start), n, to);
        from = to;
      }
      if (in.half != Half::kNo) {
        widen(in.half, from, reinterpret_cast<float*>(scratch[i]), n);
        from = scratch[i];
      }
      lanes[i] = from;
    }
    char* to = static_cast<char*>(out.data) + start * out.element_size;
    if (out.half == Half::kNo) {
      fn(lanes, to, n);
    } else {
      fn(lanes, result, n);
      narrow(out.half, result, to, n);
    }
  }
}

}  // namespace weft::inline v0::kernels
