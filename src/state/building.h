// Graphs that are put together from others.
#pragma once

#include "graph/passes.h"
#include "graph/run.h"
#include "graph/tracer.h"

namespace weft::inline v0 {

/// A body while it is put together from other graphs.
struct Building {
  /// The passes that are left out of `like` are left out of it.
  explicit Building(const Graph& like) {
    graph.without = like.without;
    tracer.install();
  }
  ~Building() { tracer.remove(); }
  Building(const Building&) = delete;
  Building& operator=(const Building&) = delete;

  std::vector<Tensor> inputs_like(std::span<const Tensor> xs) {
    std::vector<Tensor> made;
    for (const Tensor& x : xs) made.push_back(tracer.input(x.spec(), {}));
    return made;
  }
  void returns(const Tensor& x) { graph.outputs.push_back(tracer.value_of(x, nullptr, {})); }
  std::shared_ptr<const Runner> finish() {
    optimize(graph, graph.inputs.size());
    return std::make_shared<const Runner>(std::move(graph));
  }

  Graph graph;
  Tracer tracer{graph};
};

}  // namespace weft::inline v0
