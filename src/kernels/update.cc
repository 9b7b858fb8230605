#include "kernels/update.h"

#include <algorithm>

#include "base/pool.h"
#include "kernels/stream.h"

namespace weft::inline v0::kernels {
namespace {

constexpr std::size_t kSliceLanes = 16384;  // what one thread takes at a time
constexpr std::size_t kAlignLanes = 64;     // slices begin at multiples of this within each tensor, so that vectors and lines are whole
constexpr std::size_t kPieceLanes = 512;    // of working memory; 7 pieces of floats fit half of the first cache

std::size_t padded(std::size_t size) { return (size + kAlignLanes - 1) / kAlignLanes * kAlignLanes; }

// Where results go: to their place, or through working memory because they are rounded or streamed.
struct Route {
  bool direct[kMaxUpdateStreams], streams[kMaxUpdateStreams];
  bool all_direct = true, any_streams = false;

  Route(const UpdateRule& rule, const UpdateTensor& tensor, std::size_t bytes_of_step) {
    for (int i = 0; i < rule.outputs; ++i) {
      streams[i] =
          bytes_of_step >= kStreamBytes && tensor.out[i] != tensor.in[i] && reinterpret_cast<std::uintptr_t>(tensor.out[i]) % 64 == 0;
      direct[i] = rule.half == Half::kNo && !streams[i];
      all_direct = all_direct && direct[i];
      any_streams = any_streams || streams[i];
    }
  }
};

void run_pieces(const UpdateRule& rule, const UpdateTensor& tensor, const Route& route, std::size_t begin, std::size_t end) {
  const bool halves = rule.half != Half::kNo;
  alignas(64) char lanes[2 * kMaxUpdateStreams][kPieceLanes * 8 + 64];  // the pad keeps pieces from competing for the same cache lines
  alignas(64) char stored[kPieceLanes * 2];
  const void* in[kMaxUpdateStreams];
  void* out[kMaxUpdateStreams];
  for (std::size_t start = begin; start < end; start += kPieceLanes) {
    const std::size_t n = std::min(kPieceLanes, end - start), offset = start * rule.element_size;
    for (int i = 0; i < rule.inputs; ++i) {
      in[i] = static_cast<const char*>(tensor.in[i]) + offset;
      if (!halves) continue;
      widen(rule.half, in[i], reinterpret_cast<float*>(lanes[i]), n);
      in[i] = lanes[i];
    }
    for (int i = 0; i < rule.outputs; ++i)
      out[i] = route.direct[i] ? static_cast<char*>(tensor.out[i]) + offset : static_cast<void*>(lanes[kMaxUpdateStreams + i]);
    rule.fn(in, out, rule.numbers, n);
    for (int i = 0; i < rule.outputs; ++i) {
      if (route.direct[i]) continue;
      void* const place = static_cast<char*>(tensor.out[i]) + offset;
      const void* made = out[i];
      if (halves) {
        void* const to = route.streams[i] ? static_cast<void*>(stored) : place;
        narrow(rule.half, static_cast<const float*>(made), to, n);
        made = to;
      }
      if (route.streams[i]) stream(made, place, n * rule.element_size);
    }
  }
  if (route.any_streams) finish_streaming();
}

void run_part(const UpdateRule& rule, const UpdateTensor& tensor, std::size_t begin, std::size_t end, std::size_t bytes_of_step) {
  if (begin >= end) return;
  const Route route(rule, tensor, bytes_of_step);
  if (!route.all_direct) return run_pieces(rule, tensor, route, begin, end);
  const void* in[kMaxUpdateStreams];
  void* out[kMaxUpdateStreams];
  for (int i = 0; i < rule.inputs; ++i) in[i] = static_cast<const char*>(tensor.in[i]) + begin * rule.element_size;
  for (int i = 0; i < rule.outputs; ++i) out[i] = static_cast<char*>(tensor.out[i]) + begin * rule.element_size;
  rule.fn(in, out, rule.numbers, end - begin);
}

}  // namespace

CallList<std::size_t> update_starts(std::span<const UpdateTensor> tensors) {
  CallList<std::size_t> starts(tensors.size() + 1);
  for (std::size_t t = 0; t < tensors.size(); ++t) starts[t + 1] = starts[t] + padded(tensors[t].size);
  return starts;
}

void run_updates(const UpdateRule& rule, std::span<const UpdateTensor> tensors, std::span<const std::size_t> starts) {
  const std::size_t total = starts.back(), bytes = total * rule.element_size;
  const auto run = [&](std::size_t from, std::size_t to) {
    const std::size_t* const first = std::upper_bound(starts.data(), starts.data() + tensors.size(), from) - 1;
    for (auto t = static_cast<std::size_t>(first - starts.data()); t < tensors.size() && starts[t] < to; ++t)
      run_part(rule, tensors[t], from > starts[t] ? from - starts[t] : 0, std::min(tensors[t].size, to - starts[t]), bytes);
  };
  if (total < kSerialLanes) return run(0, total);
  parallel_ranges(static_cast<std::int64_t>(total), static_cast<std::int64_t>(kSliceLanes),
                  [&](std::int64_t begin, std::int64_t end) { run(static_cast<std::size_t>(begin), static_cast<std::size_t>(end)); });
}

}  // namespace weft::inline v0::kernels
