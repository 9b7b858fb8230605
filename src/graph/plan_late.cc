// Which steps of a plan wait for the publication.
#include <algorithm>

#include "graph/plan.h"

namespace weft::inline v0 {
namespace {

// Whether a value is one that comes from outside, perhaps under another shape.
bool is_input(const Graph& graph, ValueId id) {
  while (graph.values[id].kind == GraphValue::Kind::kResult && graph.nodes[graph.values[id].from].op->is(kView)) id = graph.nodes[graph.values[id].from].inputs[0];
  return graph.values[id].kind == GraphValue::Kind::kInput;
}

// Where the results of an update go, if all of them replace what it reads of them and nobody else wants them; otherwise nothing. What it
// reads besides must be the call's own: an input may go, or be what another update changes, before the call publishes.
std::vector<std::size_t> replaced_outputs(const Graph& graph, const GraphNode& node, OldValues old_values, const std::vector<std::uint32_t>& uses) {
  std::vector<std::size_t> places;
  const std::size_t first = graph.outputs.size() - old_values.size();
  for (std::uint32_t i = 0; i < node.count; ++i) {
    if (uses[node.first + i] != 1) return {};
    const auto at = std::find(graph.outputs.begin() + static_cast<std::ptrdiff_t>(first), graph.outputs.end(), node.first + i);
    if (at == graph.outputs.end()) return {};
    const auto position = static_cast<std::size_t>(at - graph.outputs.begin());
    const std::int32_t old = old_values[position - first];
    if (old < 0 || graph.inputs[static_cast<std::size_t>(old)] != node.inputs[node.op->inputs.size() - 1 + i]) return {};
    places.push_back(position);
  }
  for (std::size_t i = node.op->inputs.size() - 1 + node.count; i < node.inputs.size(); ++i)
    if (is_input(graph, node.inputs[i])) return {};
  return places;
}

}  // namespace

bool Plan::can_wait(const Graph& graph, OldValues old_values) {
  if (old_values.empty()) return false;
  const std::vector<std::uint32_t> uses = count_uses(graph);
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const GraphNode& node) {
    return node.op->update != nullptr && !replaced_outputs(graph, node, old_values, uses).empty();
  });
}

void Plan::find_late(OldValues old_values) {
  if (old_values.empty()) return;
  const std::vector<std::uint32_t> uses = count_uses(graph_);
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    if (graph_.nodes[n].op->update == nullptr || ways_[n] != Way::kCall) continue;
    std::vector<std::size_t> places = replaced_outputs(graph_, graph_.nodes[n], old_values, uses);
    if (places.empty()) continue;
    ways_[n] = Way::kLate;
    late_.push_back({static_cast<std::uint32_t>(n), std::move(places)});
  }
}

}  // namespace weft::inline v0
