#include "graph/region_parts.h"

#include <algorithm>

namespace weft::inline v0 {
namespace {

// One run of a body, with its results in the call's outputs.
void run_body(const Runner& body, std::span<const Tensor> inputs, KernelCall& call) {
  const Interpreter::Scope eager(nullptr);
  while (call.outputs.size() < call.specs.size()) call.outputs.emplace_back();
  for (std::size_t i = 0; i < call.specs.size(); ++i)
    if (!call.outputs[i].defined() && call.specs[i].shape.known()) call.outputs[i] = make_tensor(call.specs[i]);
  const std::shared_ptr<const Plan> plan = body.plan_for(specs_of(inputs));
  if (BoundPlan::possible(*plan) && std::all_of(call.outputs.begin(), call.outputs.end(), [](const Tensor& t) { return t.defined(); })) {
    BoundPlan bound(*plan);
    for (std::size_t i = 0; i < inputs.size(); ++i) bound.input(i, mutable_data(inputs[i]));
    for (std::size_t i = 0; i < call.outputs.size(); ++i) bound.output(i, mutable_data(call.outputs[i]));
    return bound.run();
  }
  std::vector<Tensor> own;
  for (const Tensor& input : inputs) own.push_back(with_own_memory(input));
  Tensors results = plan->run(own);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (call.outputs[i].defined()) copy_into(mutable_data(call.outputs[i]), results[i]);
    else call.outputs[i] = std::move(results[i]);
  }
}

}  // namespace

bool may_fail(const GraphNode& node) {
  if (!node.runs) return false;
  if (node.op->is(kMayFail)) return true;
  for (const Attr& attr : node.attrs)
    if (const auto* const region = std::get_if<std::shared_ptr<const Region>>(&attr)) {
      if ((*region)->may_miss) return true;
      for (const std::shared_ptr<const Runner>& body : (*region)->bodies)
        if (std::any_of(body->graph().nodes.begin(), body->graph().nodes.end(), may_fail)) return true;
    }
  return false;
}

// Graphs that are run as they are make of sizes what their calls make of them; of branches and turns that differ nobody knows.
bool decides_sizes(const Graph& graph, const GraphNode& node) {
  if (!node.runs || !node.op->is(kValueShape)) return false;
  const auto results = std::span(graph.values).subspan(node.first, node.count);
  if (std::all_of(results.begin(), results.end(), [](const GraphValue& value) { return value.spec.shape.known(); })) return false;
  for (const Attr& attr : node.attrs)
    if (const auto* const region = std::get_if<std::shared_ptr<const Region>>(&attr); region != nullptr && (*region)->plain()) {
      const Graph& body = (*region)->bodies[0]->graph();
      return std::any_of(body.nodes.begin(), body.nodes.end(), [&](const GraphNode& part) { return decides_sizes(body, part); });
    }
  return true;
}

Spec merge_specs(const Spec& a, const Spec& b) {
  Ints sizes(a.shape.begin(), a.shape.end());
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] != b.shape.dim(static_cast<int>(i))) sizes[i] = kUnknown;
  return {a.dtype, Shape(std::span<const std::int64_t>(sizes))};
}

Specs infer_outputs(const Graph& graph, std::span<const Spec> inputs) {
  std::vector<Spec> specs(graph.values.size());
  for (std::size_t v = 0; v < specs.size(); ++v) specs[v] = graph.values[v].spec;
  bool same = true;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    same = same && specs[graph.inputs[i]] == inputs[i];
    specs[graph.inputs[i]] = inputs[i];
  }
  for (const GraphNode& node : graph.nodes) {
    if (same) break;  // nothing is new
    SmallVector<const Spec*, 4> given;
    for (ValueId id : node.inputs) given.push_back(&specs[id]);
    const Specs results = node.op->infer(Infer{{*node.op, node.attrs, node.at}, given});
    for (std::uint32_t i = 0; i < node.count; ++i) specs[node.first + i] = results[i];
  }
  Specs outputs;
  for (ValueId id : graph.outputs) outputs.push_back(specs[id]);
  return outputs;
}

Specs infer_call(const Infer& in) { return infer_outputs(region_of(in).bodies[0]->graph(), specs_of(in.specs)); }

void run_call(KernelCall& call) { run_body(*region_of(call).bodies[0], call.inputs, call); }

Specs infer_switch(const Infer& in) {
  const std::vector<Spec> inputs = specs_of(in.specs.subspan(1));
  Specs merged;
  for (const std::shared_ptr<const Runner>& body : region_of(in).bodies) {
    const Specs own = infer_outputs(body->graph(), inputs);
    if (merged.empty()) merged = own;
    for (std::size_t i = 0; i < own.size(); ++i) merged[i] = merge_specs(merged[i], own[i]);
  }
  return merged;
}

void run_switch(KernelCall& call) {
  const Region& region = region_of(call);
  const std::int64_t which = integer_in(call.inputs[0]);
  if (which < 0 || static_cast<std::size_t>(which) >= region.bodies.size())
    call.index_error(branch_range(which, region.bodies.size()));
  run_body(*region.bodies[static_cast<std::size_t>(which)], call.inputs.subspan(1), call);
}

// The carried Specs are the smallest that hold before and after each turn.
Specs infer_loop(const Infer& in) {
  const Region& region = region_of(in);
  std::vector<Spec> inputs = specs_of(in.specs.subspan(region.conditional ? 1 : 0));
  std::int64_t turns = kUnknown;
  for (std::size_t i = 0; i < region.elements; ++i) {
    Spec& element = inputs[region.carried + i];
    const std::int64_t rows = element.shape.dim(0);
    if (turns != kUnknown && rows != kUnknown && rows != turns)
      in.shape_error(unequal_rows(turns, rows));
    if (rows != kUnknown) turns = rows;
    element = row_of(element);
  }
  Specs made;
  for (bool settled = false; !settled;) {
    made = infer_outputs(region.bodies[0]->graph(), inputs);
    settled = true;
    for (std::size_t i = 0; i < region.carried; ++i) {
      const Spec wider = merge_specs(inputs[i], made[i]);
      settled = settled && wider == inputs[i];
      inputs[i] = wider;
    }
  }
  Specs results;
  for (std::size_t i = 0; i < region.carried; ++i) results.push_back(inputs[i]);
  for (std::size_t i = region.carried + region.conditional; i < made.size(); ++i) results.push_back(rows_of(made[i], turns));
  for (std::size_t i = 0; i < region.carried; ++i) results.push_back(rows_of(inputs[i], turns));
  return results;
}

}  // namespace weft::inline v0
