// Gradients of graphs: derived once, by the same tape that differentiates programs.
#pragma once

#include "graph/region.h"

namespace weft::inline v0 {

/// A graph that takes xs and the gradients dys of its floating results, and makes the results ys and gradients of xs.
struct JointGraph {
  Graph graph;
  std::size_t results = 0;
  std::vector<bool> floating;                // which of the results a gradient flows from
  std::vector<Derived::Gradient> gradients;  // one for each x; positions are those behind the results
};

inline constexpr std::size_t kAllResults = ~std::size_t{0};

/// Of a graph, for those inputs that want a gradient. All sizes may be unknown. Nothing flows from results behind the first `followed` ones.
JointGraph differentiate(const Runner& body, const std::vector<bool>& wanted, std::size_t followed = kAllResults);

/// The same as two graphs that run one after the other. Kept by `body` for the next one who asks, with the same `followed`.
std::shared_ptr<const Derived> derived(const Runner& body, const std::vector<bool>& wanted, std::size_t followed);
/// The same without a forward part: `backward` takes xs and dys, and computes again what it needs.
std::shared_ptr<const Derived> derived_whole(const Runner& body, std::vector<bool> wanted);
/// How the results move if these inputs do. Kept by `body` as well.
std::shared_ptr<const Derived> derived_forward(const Runner& body, const std::vector<bool>& moves);

}  // namespace weft::inline v0
