#include "graph/replay.h"

namespace weft::inline v0 {

void replay(const Graph& graph, std::vector<Tensor>& values, const std::vector<bool>* last_use) {
  for (std::size_t id = 0; id < values.size(); ++id)
    if (graph.values[id].kind == GraphValue::Kind::kConstant) values[id] = graph.constants[graph.values[id].from].value;
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

}  // namespace weft::inline v0
