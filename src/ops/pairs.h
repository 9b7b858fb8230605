// Two pointwise functions in one loop: what the first makes goes to the second in a register. Each rounds as it does alone, so the bits are
// the same; fused groups of a plan take fewer turns over their tiles.
#pragma once

#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "core/tile.h"

namespace weft::inline v0::rows {

/// The pairs that the row of this name begins; `find` gives the row of a name.
std::vector<Tile::Pair> pairs_of(std::string_view first, FunctionRef<const Op*(std::string_view)> find);

}  // namespace weft::inline v0::rows
