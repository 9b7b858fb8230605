// The calls of a graph, one after the other as they are written.
#pragma once

#include "graph/graph.h"

namespace weft::inline v0 {

/// Makes the calls, and finds the rules to hold, through the top of the interpreter stack. `values` has one entry for each value of the graph, of
/// which the inputs are there; afterwards all others are. With `last_use`, for each input of each call, in order, whether nothing later needs
/// the value: then the call may have it for itself, and the entry is empty. An error is that of the call that failed.
void replay(const Graph& graph, std::vector<Tensor>& values, const std::vector<bool>* last_use = nullptr);

/// The value, if it depends on constants and on the Specs of other values alone: the calls that it needs are made now, eagerly. Else an empty handle.
Tensor known_value(const Graph& graph, ValueId id);

}  // namespace weft::inline v0
