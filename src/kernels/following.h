// How a chain (kernels/chain.h) is made of functions that follow each other.
#pragma once

#include "kernels/chain.h"

namespace weft::inline v0::kernels {

/// How a function goes on with an accumulator that holds its first or its second operand, or neither.
struct Following {
  bool loads;           // its first operand has to be loaded before
  Link link;
  std::size_t operand;  // which of its operands is that of the link
};
constexpr Following following(Link link, std::size_t operands, bool holds_first, bool holds_second) {
  const bool turned = holds_second && !holds_first;
  return {!holds_first && !holds_second, turned ? exchanged(link) : link, turned ? 0 : operands - 1};
}

}  // namespace weft::inline v0::kernels
