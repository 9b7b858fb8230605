// Rebuilt: how a pass makes its graph, from the parts of another one that are kept.
#pragma once

#include "graph/graph.h"

namespace weft::inline v0 {

/// Constants come along when somebody reads them; inputs and calls are kept by name.
class Rebuilt {
 public:
  explicit Rebuilt(const Graph& from) : from_(from), now_(from.values.size(), kNowhere) {
    graph.fuses = from.fuses;
    graph.overlaps = from.overlaps;
    graph.without = from.without;
    graph.values.reserve(from.values.size());
    graph.nodes.reserve(from.nodes.size());
  }

  void keep_input(ValueId id) { now_[id] = graph.add_input(from_.values[id].spec, from_.values[id].made_at); }
  void keep_inputs() {
    for (ValueId id : from_.inputs) keep_input(id);
  }
  /// What the value of the old graph is in the new one.
  ValueId operator[](ValueId id) {
    if (now_[id] != kNowhere) return now_[id];
    if (from_.values[id].kind != GraphValue::Kind::kConstant) throw InternalError("a pass has dropped a value that is read");
    return now_[id] = graph.add_constant(from_.constants[from_.values[id].from]);
  }
  SmallVector<ValueId, 4> inputs_of(const GraphNode& node) {
    SmallVector<ValueId, 4> inputs;
    for (ValueId id : node.inputs) inputs.push_back((*this)[id]);
    return inputs;
  }
  /// The same results, of this call or of another one with the same Specs.
  void keep_node(const GraphNode& node, std::span<const ValueId> inputs) { keep_node(node, node.attrs, inputs); }
  void keep_node(const GraphNode& node, AttrSpan attrs, std::span<const ValueId> inputs) {
    Specs specs;
    for (std::uint32_t i = 0; i < node.count; ++i) specs.push_back(from_.values[node.first + i].spec);
    const ValueId first = graph.add_node(*node.op, attrs, inputs, specs, node.at);
    graph.nodes.back().runs = node.runs;
    for (std::uint32_t i = 0; i < node.count; ++i) now_[node.first + i] = first + i;
  }
  /// What is left of a call that will not run, and whose results not even rules read.
  void keep_rule(const GraphNode& node) { graph.add_rule(*node.op, node.attrs, inputs_of(node), node.at); }
  /// Only rules read its results from now on.
  void stop_running() { graph.nodes.back().runs = false; }
  void is(ValueId old, ValueId fresh) { now_[old] = fresh; }
  Graph finish() {
    for (ValueId id : from_.outputs) graph.outputs.push_back((*this)[id]);
    return std::move(graph);
  }

  Graph graph;

 private:
  static constexpr ValueId kNowhere = ~ValueId{0};
  const Graph& from_;
  std::vector<ValueId> now_;
};

/// The graph without some of its inputs. REQUIRES: nobody reads those.
inline Graph with_inputs(const Graph& graph, const std::vector<bool>& kept) {
  Rebuilt rebuilt(graph);
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (kept[i]) rebuilt.keep_input(graph.inputs[i]);
  for (const GraphNode& node : graph.nodes) rebuilt.keep_node(node, rebuilt.inputs_of(node));
  return rebuilt.finish();
}

}  // namespace weft::inline v0
