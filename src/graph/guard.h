// Guards against NaN and infinity.
#pragma once

#include "graph/graph.h"

namespace weft::inline v0 {

/// Puts a call of `check` (check_numerics) behind each call that makes floating values, also in branches and loops. Its message names the call.
void guard_numerics(Graph& graph, const Op& check);

}  // namespace weft::inline v0
