// Chains: simple functions of f32 one after the other, in one pass over the lanes. What one makes goes to the next in registers, so that memory
// is asked for inputs and results alone, all the time. Each function rounds as it does by itself, so the bits are the same.
//
// A chain is a program for one accumulator of a few lanes at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/isa.h"

namespace weft::inline v0::kernels {

/// What happens to the accumulator a, given the lanes x of an operand. Those without one stand together.
enum class Link : std::uint8_t {
  kLoad,          // x
  kAdd,           // a + x
  kSubtract,      // a - x
  kSubtractFrom,  // x - a
  kMultiply,      // a * x
  kDivide,        // a / x
  kDivideInto,    // x / a
  kKeep,          // stays; x becomes a
  kKeepPast,      // the same, past the caches. REQUIRES: x is aligned to 64 bytes
  kAsk,           // stays; x, and what lies behind it, is asked for
  kNegative,      // -a
  kSquare,        // a * a
  kRelu,          // a < 0 ? 0 : a
  kEnd,           // the lanes behind these are next, from the first link on
  kNone,          // no simple function; in no chain
};
constexpr bool has_operand(Link link) { return link < Link::kNegative; }

/// The function with its operands exchanged: of x and the accumulator instead of the accumulator and x. (Sums and products have no sides: which of
/// two NaNs they pass on is up to the compiler here as everywhere.)
constexpr Link exchanged(Link link) {
  return link == Link::kSubtract ? Link::kSubtractFrom : link == Link::kDivide ? Link::kDivideInto : link;
}

/// Lanes that are read from memory say which of the tensors they are in, 1 to kStreams: an instruction that reads now one and now another hides
/// from the processor where each of them goes on, which has cost more than half of the speed. Others are near.
inline constexpr std::uint8_t kNear = 0, kStreams = 3;
/// Lanes that a chain makes and needs before it goes on to the next ones, at most.
inline constexpr std::size_t kChainLanes = 128;

struct BoundLink {
  enum Moves : std::int32_t { kStays = 0, kMoves = -1 };

  Link link;
  float* x;  // the first lane of its operand, of any if it has none
  std::uint8_t stream = kNear;
  Moves moves = kMoves;  // kStays: x is kChainLanes lanes of working memory, or of one number, for all lanes in turn
};

struct ChainKernels {
  /// n lanes. A link sees what those before it have kept. REQUIRES: the last link, and no other, is kEnd. Whoever keeps past the caches
  /// calls finish_streaming().
  void (*run)(const BoundLink* links, std::size_t n);
  /// One lane, `times` times; but for the first time it begins with `again`, one of the links. REQUIRES: times > 0; no kKeepPast, no kAsk.
  void (*repeat)(const BoundLink* links, const BoundLink* again, std::int64_t times);
};
WEFT_ISA_TABLE(ChainKernels, chain_kernels)

}  // namespace weft::inline v0::kernels
