#include "kernels/tile.h"

#include <algorithm>
#include <cstring>

#include "base/memory.h"
#include "base/pool.h"
#include "kernels/halves.h"
#include "kernels/stream.h"

namespace weft::inline v0::kernels {
namespace {

constexpr std::size_t kChunkLanes = 16384, kBusyChunkLanes = 4096;  // what one thread takes at a time, of many lanes and of few
constexpr std::size_t kStreamChunkLanes = 65536, kStreamTileLanes = 256;  // the same, and in a tile, of results that bypass the caches
constexpr std::size_t kPad = 320;                               // keeps slots from competing for the same cache lines
constexpr std::size_t kFirstLevel = 20480;                     // of the first-level cache, for the tiles of all operands together

constexpr std::size_t kMostRepeated = 256;                     // elements that are kept as lanes often enough for a tile

enum class Layout : std::uint8_t { kDense, kScalar, kRepeated, kBroadcast };

// Repeated: few dense elements, over and over, as a bias for each channel is.
Layout layout_of(const TileInput& in, const std::int64_t* sizes, int rank, std::size_t& period) {
  bool dense = true, scalar = true, repeated = true;
  std::int64_t expected = 1;
  period = 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    if (sizes[axis] == 1) continue;
    repeated = repeated && (dense ? in.strides[axis] == expected || in.strides[axis] == 0 : in.strides[axis] == 0);
    dense = dense && in.strides[axis] == expected;
    if (dense) period *= static_cast<std::size_t>(sizes[axis]);
    scalar = scalar && in.strides[axis] == 0;
    expected *= sizes[axis];
  }
  if (dense) return Layout::kDense;
  if (scalar) return Layout::kScalar;
  return repeated && period <= kMostRepeated && in.half == Half::kNo ? Layout::kRepeated : Layout::kBroadcast;
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

// How a program meets its operands: the same for every chunk.
struct Plan {
  std::span<const TileStep> steps;
  std::span<const TileInput> inputs;
  std::span<const TileOutput> outputs;
  const std::int64_t* sizes;
  int rank;
  std::size_t total, tile = 0;            // lanes in all, and in a tile
  Layout layout[kMaxTileSlots] = {};      // of the inputs
  std::size_t period[kMaxTileSlots] = {};  // of those that are repeated
  bool repeats = false;                    // one is
  bool streams[kMaxTileSlots] = {};       // of the outputs
  std::int8_t scratch[kMaxTileSlots] = {};  // of the slots: which piece of working memory, or -1 for lanes that lie in a tensor
  int pieces = 0;
  bool past = false;   // the last step has the form whose stores bypass the caches
  bool flows = false;  // it is one chain from tensors into tensors: pieces hold only what that needs at a time

  std::size_t piece_lanes() const { return flows ? std::min(tile, kChainLanes) : tile; }
  // With repeated elements, twice a tile: it may begin anywhere in them.
  std::size_t piece_bytes() const { return (piece_lanes() * (repeats ? 16 : 8) + 63) / 64 * 64 + kPad; }
};

// Calls visit with each slot that the step writes.
template <class Visit>
void each_result(const TileStep& step, Visit visit) {
  if (step.chain.empty()) return visit(step.out);
  for (const TileLink& link : step.chain)
    if (link.link == Link::kKeep) visit(link.slot);
}

bool streams(const Plan& plan) { return plan.past || std::any_of(plan.streams, plan.streams + plan.outputs.size(), [](bool b) { return b; }); }

// Whether the program is nothing but a chain. Its loads begin in time whatever its tiles are.
bool is_chain(const Plan& plan) { return plan.steps.size() == 1 && !plan.steps[0].chain.empty(); }

// Programs of many operands have shorter tiles, so that those of all operands stay in the first-level cache together. Where memory sets the
// pace the next tile's loads must begin before this one's stores are through, which takes tiles that the processor can see the end of.
std::size_t tile_for(const Plan& plan) {
  if (plan.flows || (plan.pieces == 0 && plan.steps.size() == 1)) return std::min(plan.total, kStreamChunkLanes);  // no tiles: fewer, longer calls
  std::size_t operands = static_cast<std::size_t>(plan.pieces);
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) operands += plan.scratch[i] < 0;
  for (const TileOutput& out : plan.outputs) operands += plan.scratch[out.slot] < 0;
  std::size_t tile = kTileLanes;
  if (streams(plan) && !is_chain(plan)) tile = kStreamTileLanes;
  while (tile > 256 && operands * tile * sizeof(float) > kFirstLevel) tile /= 2;
  return std::min(plan.total, tile);
}

bool in_place(const Plan& plan, const TileOutput& out) {
  return std::any_of(plan.inputs.begin(), plan.inputs.end(), [&](const TileInput& in) { return in.data == out.data; });
}

bool is_large(const Plan& plan, const TileOutput& out) {
  return plan.total * out.element_size >= kStreamBytes && !in_place(plan, out) && reinterpret_cast<std::uintptr_t>(out.data) % 64 == 0;
}

// Whether the program has one result, for which the caches are too small, and its last step can store that past them.
bool goes_past(const Plan& plan) {
  const TileStep& last = plan.steps.back();
  return plan.outputs.size() == 1 && (last.past != nullptr || !last.chain.empty()) && last.out == plan.outputs[0].slot &&
         plan.outputs[0].half == Half::kNo && is_large(plan, plan.outputs[0]);
}

void lay_out(Plan& plan) {
  std::fill_n(plan.scratch, kMaxTileSlots, std::int8_t{-1});
  const auto needs_piece = [&](std::size_t slot) {
    if (plan.scratch[slot] < 0) plan.scratch[slot] = static_cast<std::int8_t>(plan.pieces++);
  };
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    plan.layout[i] = layout_of(plan.inputs[i], plan.sizes, plan.rank, plan.period[i]);
    plan.repeats = plan.repeats || plan.layout[i] == Layout::kRepeated;
    if (plan.layout[i] != Layout::kDense || plan.inputs[i].half != Half::kNo) needs_piece(i);
  }
  bool direct[kMaxTileSlots] = {};
  for (std::size_t o = 0; o < plan.outputs.size(); ++o) {
    const TileOutput& out = plan.outputs[o];
    plan.streams[o] = !plan.past && !out.cached && is_large(plan, out);
    direct[out.slot] = out.half == Half::kNo && !plan.streams[o];
  }
  for (const TileStep& step : plan.steps)
    each_result(step, [&](std::uint8_t slot) {
      if (!direct[slot]) needs_piece(slot);
    });
  const auto as_it_is = [&](std::size_t i) { return plan.layout[i] == Layout::kScalar || plan.scratch[i] < 0; };
  plan.flows = is_chain(plan);
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) plan.flows = plan.flows && as_it_is(i);
  for (const TileOutput& out : plan.outputs) plan.flows = plan.flows && plan.scratch[out.slot] < 0;
}

// The lanes of input i from `start` on.
const void* present(const Plan& plan, std::size_t i, std::size_t start, std::size_t n, void* piece, void* stored) {
  const TileInput& in = plan.inputs[i];
  const void* from = static_cast<const char*>(in.data) + start * in.element_size;
  if (plan.layout[i] != Layout::kDense) {
    void* to = in.half == Half::kNo ? piece : stored;
    gather_bytes(in, plan.sizes, plan.rank, static_cast<std::int64_t>(start), n, to);
    from = to;
  }
  if (in.half == Half::kNo) return from;
  widen(in.half, from, static_cast<float*>(piece), n);
  return piece;
}

// Asks for the n lanes from `start` on of inputs that are read where they lie: stores past the caches keep the processor from looking that far.
void ask_for(const Plan& plan, std::size_t start, std::size_t n) {
  constexpr std::size_t line = 64;
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    if (plan.layout[i] != Layout::kDense) continue;
    const std::size_t size = plan.inputs[i].element_size;
    const char* from = static_cast<const char*>(plan.inputs[i].data) + start * size;
    for (std::size_t at = 0; at < n * size; at += line) __builtin_prefetch(from + at);
  }
}

// The elements, over and over.
void repeat(const TileInput& in, std::size_t period, std::size_t count, char* to) {
  const std::size_t bytes = count * in.element_size;
  std::size_t done = period * in.element_size;
  std::memcpy(to, in.data, done);
  for (; done < bytes; done *= 2) std::memcpy(to + done, to, std::min(done, bytes - done));
}

// A chain, whose result goes past the caches or not. If it `asks`, then for what lies behind the lanes that lie in tensors.
void run_links(const Plan& plan, const TileStep& step, bool past, bool asks, void** lanes, std::size_t n) {
  BoundLink links[2 * kMaxTileChain + 1];  // a question before each, and the end
  std::size_t count = 0;
  std::uint8_t readers[kMaxTileSlots] = {}, tensors = 0;
  for (const TileLink& link : step.chain) {
    const std::size_t slot = has_operand(link.link) ? link.slot : step.out;
    float* const x = static_cast<float*>(lanes[slot]);
    const auto moves = plan.flows && plan.scratch[slot] >= 0 ? BoundLink::kStays : BoundLink::kMoves;
    if (slot < plan.inputs.size() && plan.layout[slot] == Layout::kDense && plan.inputs[slot].half == Half::kNo && readers[slot] == kNear) {
      readers[slot] = static_cast<std::uint8_t>(tensors++ % kStreams + 1);
      if (asks) links[count++] = {Link::kAsk, x, readers[slot], moves};
    }
    links[count++] = {past && link.link == Link::kKeep && slot == step.out ? Link::kKeepPast : link.link, x, readers[slot], moves};
  }
  links[count++] = {Link::kEnd, static_cast<float*>(lanes[step.out])};
  chain_kernels().run(links, n);
}

void run_step(const TileStep& step, TileFn fn, void** lanes, std::size_t n, void* stored) {
  const void* in[kMaxTileInputs];
  for (std::size_t i = 0; i < step.count; ++i) in[i] = lanes[step.in[i]];
  fn(in, lanes[step.out], n);
  if (step.round == Half::kNo) return;
  narrow(step.round, static_cast<const float*>(lanes[step.out]), stored, n);
  widen(step.round, stored, static_cast<float*>(lanes[step.out]), n);
}

void run_block(const Plan& plan, const LaneBlock& block, char* memory) {
  void* lanes[kMaxTileSlots] = {};
  const auto piece = [&](std::size_t slot) { return memory + static_cast<std::size_t>(plan.scratch[slot]) * plan.piece_bytes(); };
  void* const stored = memory + static_cast<std::size_t>(plan.pieces) * plan.piece_bytes();
  for (const TileStep& step : plan.steps)
    each_result(step, [&](std::uint8_t slot) {
      if (plan.scratch[slot] >= 0) lanes[slot] = piece(slot);
    });
  // A scalar fills its lanes once.
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    if (plan.layout[i] == Layout::kScalar) lanes[i] = const_cast<void*>(present(plan, i, 0, std::min(plan.piece_lanes(), plan.total), piece(i), stored));
    if (plan.layout[i] == Layout::kRepeated) repeat(plan.inputs[i], plan.period[i], plan.tile + plan.period[i], piece(i));
  }
  const std::size_t tiles = (block.cols + plan.tile - 1) / plan.tile;
  const bool streaming = streams(plan), alone = is_chain(plan);
  for (std::size_t t = 0; t < block.rows * tiles; ++t) {
    const std::size_t from = t % tiles * plan.tile, start = block.begin + t / tiles * block.apart + from, n = std::min(plan.tile, block.cols - from);
    if (streaming && !alone && from + n < block.cols) ask_for(plan, start + n, std::min(plan.tile, block.cols - from - n));
    for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
      if (plan.layout[i] == Layout::kScalar) continue;
      if (plan.layout[i] == Layout::kRepeated) lanes[i] = piece(i) + start % plan.period[i] * plan.inputs[i].element_size;
      else lanes[i] = const_cast<void*>(present(plan, i, start, n, plan.scratch[i] < 0 ? nullptr : piece(i), stored));
    }
    const auto place = [&](const TileOutput& out) { return static_cast<char*>(out.data) + start * out.element_size; };
    for (const TileOutput& out : plan.outputs)
      if (plan.scratch[out.slot] < 0) lanes[out.slot] = place(out);
    for (const TileStep& step : plan.steps) {
      const bool past = plan.past && &step == &plan.steps.back();
      if (step.chain.empty()) run_step(step, past ? step.past : step.fn, lanes, n, stored);
      else run_links(plan, step, past, streaming && alone, lanes, n);
    }
    for (std::size_t o = 0; o < plan.outputs.size(); ++o) {
      const TileOutput& out = plan.outputs[o];
      const void* made = lanes[out.slot];
      if (out.half != Half::kNo) {
        void* to = plan.streams[o] ? stored : place(out);
        narrow(out.half, static_cast<const float*>(made), to, n);
        made = to;
      }
      if (plan.streams[o]) stream(made, place(out), n * out.element_size);
    }
  }
  if (streaming) finish_streaming();
}

// With working memory for this thread.
void run_block(const Plan& plan, const LaneBlock& block) {
  const std::size_t bytes = (static_cast<std::size_t>(plan.pieces) + 1) * plan.piece_bytes();
  alignas(64) char small[4096];
  if (plan.pieces == 0 || bytes <= sizeof small) return run_block(plan, block, small);
  const Block memory = allocate_block(bytes);
  if (memory.start == nullptr) throw std::bad_alloc();
  run_block(plan, block, static_cast<char*>(memory.start));
  free_block(memory);
}

std::size_t lanes_in(const std::int64_t* sizes, int rank) {
  std::size_t total = 1;
  for (int axis = 0; axis < rank; ++axis) total *= static_cast<std::size_t>(sizes[axis]);
  return total;
}

}  // namespace

void widen(Half half, const void* from, float* to, std::size_t n) {
  if (half == Half::kF16) half_kernels().widen_f16(static_cast<const float16*>(from), to, n);
  else half_kernels().widen_bf16(static_cast<const bfloat16*>(from), to, n);
}

void narrow(Half half, const float* from, void* to, std::size_t n) {
  if (half == Half::kF16) half_kernels().narrow_f16(from, static_cast<float16*>(to), n);
  else half_kernels().narrow_bf16(from, static_cast<bfloat16*>(to), n);
}

void run_tiles(std::span<const TileStep> steps, std::span<const TileInput> inputs, std::span<const TileOutput> outputs,
               const std::int64_t* sizes, int rank) {
  const std::size_t total = lanes_in(sizes, rank);
  if (total == 0) return;
  Plan plan{steps, inputs, outputs, sizes, rank, total};
  plan.past = goes_past(plan);
  lay_out(plan);
  plan.tile = tile_for(plan);

  const auto run = [&](std::size_t begin, std::size_t end) { run_block(plan, {begin, 1, end - begin, 0}); };
  std::size_t work = 0;
  for (const TileStep& step : steps) work += step.work;
  if (is_serial(total, work)) return run(0, total);
  const std::size_t chunk = streams(plan) ? kStreamChunkLanes : total < kSerialLanes ? kBusyChunkLanes : kChunkLanes;
  parallel_ranges(static_cast<std::int64_t>(total), static_cast<std::int64_t>(chunk),
                  [&](std::int64_t begin, std::int64_t end) { run(static_cast<std::size_t>(begin), static_cast<std::size_t>(end)); });
}

void with_lanes(std::span<const TileStep> steps, std::span<const TileInput> inputs, std::span<const TileOutput> outputs, const std::int64_t* sizes,
                int rank, FunctionRef<void(RunLanes)> use) {
  Plan plan{steps, inputs, outputs, sizes, rank, lanes_in(sizes, rank)};
  lay_out(plan);
  plan.tile = tile_for(plan);
  use([&](const LaneBlock& block) {
    if (block.instead == nullptr) return run_block(plan, block);
    TileOutput moved[kMaxTileSlots];
    std::copy(outputs.begin(), outputs.end(), moved);
    moved[0].data = static_cast<char*>(block.instead) - block.begin * moved[0].element_size;
    Plan own = plan;
    own.outputs = {moved, outputs.size()};
    run_block(own, block);
  });
}

void run_tile(TileFn fn, const TileInput* inputs, int count, TileOutput out, const std::int64_t* sizes, int rank, TileFn past, std::uint8_t work) {
  TileStep step{.fn = fn, .count = static_cast<std::uint8_t>(count), .in = {}, .out = static_cast<std::uint8_t>(count), .past = past, .work = work};
  for (int i = 0; i < count; ++i) step.in[i] = static_cast<std::uint8_t>(i);
  out.slot = step.out;
  run_tiles({&step, 1}, {inputs, static_cast<std::size_t>(count)}, {&out, 1}, sizes, rank);
}

}  // namespace weft::inline v0::kernels
