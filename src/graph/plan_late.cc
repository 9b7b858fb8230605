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

// Where the results of a call go, if it can be prepared, all of them replace what it reads of them and nobody else wants them; otherwise
// nothing. What an update row reads besides must be the call's own: an input may go, or be what another update changes, before the call
// publishes. (A prepared kernel holds its inputs. Nobody changes what it holds.)
std::vector<std::size_t> replaced_outputs(const Graph& graph, const GraphNode& node, OldValues old_values, const std::vector<std::uint32_t>& uses) {
  if (!node.runs || node.count == 0 || !can_prepare(*node.op, graph.values[node.first].spec.dtype)) return {};
  std::vector<std::size_t> places;
  const std::size_t changed = first_changed(*node.op);
  const std::size_t first = graph.outputs.size() - old_values.size();
  for (std::uint32_t i = 0; i < node.count; ++i) {
    if (uses[node.first + i] != 1) return {};
    const auto at = std::find(graph.outputs.begin() + static_cast<std::ptrdiff_t>(first), graph.outputs.end(), node.first + i);
    if (at == graph.outputs.end()) return {};
    const auto position = static_cast<std::size_t>(at - graph.outputs.begin());
    const std::int32_t old = old_values[position - first];
    if (old < 0 || graph.inputs[static_cast<std::size_t>(old)] != node.inputs[changed + i]) return {};
    places.push_back(position);
  }
  if (node.op->update != nullptr)
    for (std::size_t i = changed + node.count; i < node.inputs.size(); ++i)
      if (is_input(graph, node.inputs[i])) return {};
  return places;
}

}  // namespace

bool Plan::can_wait(const Graph& graph, OldValues old_values) {
  if (old_values.empty()) return false;
  const std::vector<std::uint32_t> uses = count_uses(graph);
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const GraphNode& node) {
    return !replaced_outputs(graph, node, old_values, uses).empty();
  });
}

void Plan::find_late(OldValues old_values) {
  if (old_values.empty()) return;
  const std::vector<std::uint32_t> uses = count_uses(graph_);
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    const GraphNode& node = graph_.nodes[n];
    // A kernel may read what is known only when it is there: what it changes is known.
    if (ways_[n] != Way::kCall && !(ways_[n] == Way::kDynamic && node.runs && node.op->is(kChanges) && values_[node.first].spec.shape.known())) continue;
    std::vector<std::size_t> places = replaced_outputs(graph_, node, old_values, uses);
    if (places.empty()) continue;
    ways_[n] = Way::kLate;
    late_.push_back({static_cast<std::uint32_t>(n), std::move(places)});
  }
}

}  // namespace weft::inline v0
