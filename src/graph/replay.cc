#include "graph/replay.h"

#include <algorithm>

#include "core/node.h"

namespace weft::inline v0 {

void replay(const Graph& graph, std::vector<Tensor>& values, const std::vector<bool>* last_use) {
  Interpreter* const top = Interpreter::top();
  for (std::size_t id = 0; id < values.size(); ++id) {
    if (graph.values[id].kind != GraphValue::Kind::kConstant) continue;
    const GraphConstant& constant = graph.constants[graph.values[id].from];
    if (top != nullptr && constant.number) top->wrote_before(constant.value, constant.at);
    values[id] = constant.value;
  }
  std::size_t use = 0;
  SmallVector<Tensor, 6> arguments;
  for (const GraphNode& node : graph.nodes) {
    arguments.clear();
    for (const ValueId id : node.inputs) {
      if (last_use != nullptr && (*last_use)[use++]) arguments.push_back(std::move(values[id]));
      else arguments.push_back(values[id]);
    }
    const Call call{*node.op, arguments, node.attrs, node.at};
    Tensors results;
    if (node.runs) apply(call, results);
    else apply_rule(call, node.count > 0 ? &results : nullptr);
    for (std::uint32_t i = 0; i < node.count; ++i) values[node.first + i] = std::move(results[i]);
  }
}

namespace {

bool makes_any(const GraphNode& node, const std::vector<bool>& values) {
  return std::any_of(values.begin() + node.first, values.begin() + node.first + node.count, [](bool one) { return one; });
}

}  // namespace

Tensor known_value(const Graph& graph, ValueId id) {
  std::vector<bool> needed(graph.values.size());
  needed[id] = true;
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const GraphNode& node = graph.nodes[n];
    if (!makes_any(node, needed)) continue;
    if (!node.runs) return {};
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.op->is(kOfSpecs) && !only_shape(*node.op, i)) needed[node.inputs[i]] = true;
      else if (!graph.values[node.inputs[i]].spec.shape.known()) return {};
    }
  }
  for (const ValueId input : graph.inputs)
    if (needed[input]) return {};
  std::vector<Tensor> values(graph.values.size());
  const auto value = [&](ValueId of) {
    const GraphValue& known = graph.values[of];
    if (known.kind == GraphValue::Kind::kConstant) return graph.constants[known.from].value;
    return needed[of] ? values[of] : make_tensor(known.spec);  // of which nobody reads an element
  };
  const Interpreter::Scope eager(nullptr);
  SmallVector<Tensor, 6> arguments;
  for (const GraphNode& node : graph.nodes) {
    if (!makes_any(node, needed)) continue;
    arguments.clear();
    for (const ValueId input : node.inputs) arguments.push_back(value(input));
    Tensors results;
    apply({*node.op, arguments, node.attrs, node.at}, results);
    for (std::uint32_t i = 0; i < node.count; ++i) values[node.first + i] = std::move(results[i]);
  }
  return value(id);
}

}  // namespace weft::inline v0
