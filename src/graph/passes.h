// Passes: each changes a graph into one that computes the same bits.
#pragma once

#include "graph/graph.h"

namespace weft::inline v0 {

/// All of them, in their order. Returns what drop_dead returns.
std::vector<bool> optimize(Graph& graph, std::size_t fixed_inputs);

/// Drops calls whose results nobody needs, unless they may fail on data, then constants and inputs that nobody reads. The first
/// `fixed_inputs` inputs stay. Returns which inputs have stayed.
std::vector<bool> drop_dead(Graph& graph, std::size_t fixed_inputs);

/// Calls of the same row with the same attributes on the same values are made once.
void share_equal(Graph& graph);

/// Calls whose inputs are all constant are made now, if their results are small and they cannot fail.
void fold_constants(Graph& graph);

}  // namespace weft::inline v0
