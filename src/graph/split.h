// Splitting a graph that computes results and gradients into the part that can run first and the rest.
#pragma once

#include "graph/graph.h"

namespace weft::inline v0 {

struct SplitGraph {
  Graph forward;   // xs -> ys, saved
  Graph backward;  // xs, saved, dys -> gradients
  std::size_t saved = 0;
};

/// `joint` takes xs, then dys, and makes ys, then gradients. What does not need dys and is used on both sides is computed once and saved.
/// REQUIRES: ys do not depend on dys.
SplitGraph split_graph(const Graph& joint, std::size_t xs, std::size_t ys);

}  // namespace weft::inline v0
