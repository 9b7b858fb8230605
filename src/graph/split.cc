#include "graph/split.h"

#include <algorithm>

#include "graph/region.h"

namespace weft::inline v0 {
namespace {

constexpr ValueId kNowhere = ~ValueId{0};

// One side while it is built: which of its values stand for those of the joint graph.
struct Side {
  Side(const Graph& joint, Graph& made) : from(joint), graph(made), now(joint.values.size(), kNowhere) {
    graph.fuses = joint.fuses;
    graph.overlaps = joint.overlaps;
    graph.without = joint.without;
  }

  void input(ValueId id) { now[id] = graph.add_input(from.values[id].spec, from.values[id].made_at); }
  ValueId at(ValueId id) {
    if (now[id] == kNowhere) {
      if (from.values[id].kind != GraphValue::Kind::kConstant) throw InternalError("a side of a split graph reads what it does not have");
      now[id] = graph.add_constant(from.constants[from.values[id].from]);
    }
    return now[id];
  }
  void node(const GraphNode& node, bool runs = true) {
    SmallVector<ValueId, 4> inputs;
    for (ValueId id : node.inputs) inputs.push_back(at(id));
    Specs specs;
    for (std::uint32_t i = 0; i < node.count; ++i) specs.push_back(from.values[node.first + i].spec);
    const ValueId first = graph.add_node(*node.op, node.attrs, inputs, specs, node.at);
    graph.nodes.back().runs = node.runs && runs;
    for (std::uint32_t i = 0; i < node.count; ++i)
      if (ValueId& known = now[node.first + i]; known == kNowhere) known = first + i;  // else it is an input here: it was saved
  }

  const Graph& from;
  Graph& graph;
  std::vector<ValueId> now;
};

// The nodes of the first side that the second one infers again, for its rules: nothing is saved for those but what decides sizes.
std::vector<bool> inferred_again(const Graph& joint, const std::vector<bool>& late_nodes, std::vector<bool>& saved) {
  std::vector<bool> again(joint.nodes.size());
  for (std::size_t n = joint.nodes.size(); n-- > 0;) {
    if (late_nodes[n] ? joint.nodes[n].runs : !again[n]) continue;
    for (ValueId id : joint.nodes[n].inputs)
      if (const GraphValue& value = joint.values[id]; value.kind == GraphValue::Kind::kResult && !saved[id] && !late_nodes[value.from])
        (decides_sizes(joint, joint.nodes[value.from]) ? saved[id] : again[value.from]) = true;
  }
  return again;
}

}  // namespace

SplitGraph split_graph(const Graph& joint, std::size_t xs, std::size_t ys) {
  SplitGraph result;
  std::vector<bool> late(joint.values.size());  // needs dys
  for (std::size_t i = xs; i < joint.inputs.size(); ++i) late[joint.inputs[i]] = true;
  Side forward(joint, result.forward), backward(joint, result.backward);
  for (std::size_t i = 0; i < xs; ++i) forward.input(joint.inputs[i]), backward.input(joint.inputs[i]);
  std::vector<bool> saved(joint.values.size()), late_nodes;
  for (const GraphNode& node : joint.nodes) {
    const bool after = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return late[id]; });
    for (std::uint32_t i = 0; i < node.count; ++i) late[node.first + i] = after;
    late_nodes.push_back(after);
    if (!after) forward.node(node);
    for (ValueId id : node.inputs) saved[id] = saved[id] || (node.runs && after && !late[id]);
  }
  for (std::size_t i = ys; i < joint.outputs.size(); ++i) saved[joint.outputs[i]] = saved[joint.outputs[i]] || !late[joint.outputs[i]];
  const std::vector<bool> inferred = inferred_again(joint, late_nodes, saved);
  for (std::size_t i = 0; i < ys; ++i) result.forward.outputs.push_back(forward.at(joint.outputs[i]));
  for (std::size_t v = 0; v < saved.size(); ++v) {
    if (!saved[v] || joint.values[v].kind != GraphValue::Kind::kResult) continue;
    result.forward.outputs.push_back(forward.at(static_cast<ValueId>(v)));
    backward.input(static_cast<ValueId>(v));
    ++result.saved;
  }
  for (std::size_t i = xs; i < joint.inputs.size(); ++i) backward.input(joint.inputs[i]);
  for (std::size_t n = 0; n < joint.nodes.size(); ++n)
    if (late_nodes[n] || inferred[n]) backward.node(joint.nodes[n], late_nodes[n]);
  for (std::size_t i = ys; i < joint.outputs.size(); ++i) result.backward.outputs.push_back(backward.at(joint.outputs[i]));
#ifndef NDEBUG
  verify(result.forward, "split_graph");
  verify(result.backward, "split_graph");
#endif
  return result;
}

}  // namespace weft::inline v0
