#include "graph/guard.h"

#include <algorithm>

#include "graph/region.h"

namespace weft::inline v0 {
namespace {

std::vector<Attr> guarded(AttrSpan attrs, const Op& check) {
  std::vector<Attr> result(attrs.begin(), attrs.end());
  for (Attr& attr : result) {
    const auto* const region = std::get_if<std::shared_ptr<const Region>>(&attr);
    if (region == nullptr) continue;
    Region fresh = **region;
    for (std::shared_ptr<const Runner>& body : fresh.bodies) {
      Graph graph = body->graph();
      guard_numerics(graph, check);
      body = std::make_shared<const Runner>(std::move(graph));
    }
    attr = std::make_shared<const Region>(std::move(fresh));
  }
  return result;
}

// Whose calls are guarded themselves.
bool runs_graphs(AttrSpan attrs) {
  return std::any_of(attrs.begin(), attrs.end(), [](const Attr& attr) { return std::holds_alternative<std::shared_ptr<const Region>>(attr); });
}

std::string result_of(const Op& op) { return std::string("the result of ") + op.name; }

}  // namespace

void guard_numerics(Graph& graph, const Op& check) {
  Graph made;
  std::vector<ValueId> now(graph.values.size());
  for (ValueId id : graph.inputs) now[id] = made.add_input(graph.values[id].spec, graph.values[id].made_at);
  for (std::size_t id = 0; id < graph.values.size(); ++id)
    if (const GraphValue& value = graph.values[id]; value.kind == GraphValue::Kind::kConstant) now[id] = made.add_constant(graph.constants[value.from]);
  for (const GraphNode& node : graph.nodes) {
    SmallVector<ValueId, 4> inputs;
    for (ValueId id : node.inputs) inputs.push_back(now[id]);
    Specs specs;
    for (std::uint32_t i = 0; i < node.count; ++i) specs.push_back(graph.values[node.first + i].spec);
    const ValueId first = made.add_node(*node.op, guarded(node.attrs, check), inputs, specs, node.at);
    made.nodes.back().runs = node.runs;
    for (std::uint32_t i = 0; i < node.count; ++i) {
      now[node.first + i] = first + i;
      if (!is_floating(specs[i].dtype) || runs_graphs(node.attrs) || !node.runs) continue;
      const Attr message[] = {result_of(*node.op)};
      const ValueId result = first + i;
      now[node.first + i] = made.add_node(check, message, {&result, 1}, {specs[i]}, node.at);
    }
  }
  for (ValueId id : graph.outputs) made.outputs.push_back(now[id]);
  graph = std::move(made);
}

void guard_output(Graph& graph, std::size_t output, const Op& check, std::string what, Location at) {
  const ValueId value = graph.outputs[output];
  const Spec spec = graph.values[value].spec;
  if (!is_floating(spec.dtype)) return;
  const Attr message[] = {std::move(what)};
  graph.outputs[output] = graph.add_node(check, message, {&value, 1}, {spec}, at);
}

void NumericsGuard::apply(Call call, Tensors& outputs) {
  if (runs_graphs(call.attrs)) {
    const std::vector<Attr> attrs = guarded(call.attrs, check_);
    return delegate({call.op, call.inputs, attrs, call.at}, outputs);
  }
  delegate(call, outputs);
  if (&call.op == &check_) return;
  for (Tensor& output : outputs) {
    if (!is_floating(output.dtype())) continue;
    const Attr message[] = {result_of(call.op)};
    Tensors checked;
    delegate({check_, {&output, 1}, message, OnBehalf::line(call.at)}, checked);
    output = std::move(checked[0]);
  }
}

}  // namespace weft::inline v0
