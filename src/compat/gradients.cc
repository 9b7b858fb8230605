// Gradients in a graph that exists already: its calls are shown to a tape once more, which is all that reverse mode needs.
#include <algorithm>

#include "compat/graph_state.h"
#include <weft/ops.h>

namespace weft::inline v0::compat::v1 {

// Below the tape. What a node is shown to make are the values that it makes already; calls that are none of the graph's are made there.
class GraphState::Replaying final : public Interpreter {
 public:
  explicit Replaying(std::vector<Tensor>& values) : values_(values) { install(); }
  ~Replaying() override { remove(); }

  void apply(Call call, Tensors& outputs) override {
    if (node_ == nullptr || &call.op != node_->op) return delegate(call, outputs);
    for (std::uint32_t i = 0; i < node_->count; ++i) outputs.push_back(values_[node_->first + i]);
  }
  void show(const GraphNode& node) {
    SmallVector<Tensor, 6> inputs;
    for (const ValueId id : node.inputs) inputs.push_back(values_[id]);
    Tensors outputs;
    node_ = &node;
    v0::apply({*node.op, inputs, node.attrs, node.at}, outputs);
    node_ = nullptr;
    for (std::uint32_t i = 0; i < node.count; ++i) values_[node.first + i] = outputs[i];
  }

 private:
  std::vector<Tensor>& values_;
  const GraphNode* node_ = nullptr;
};

namespace {

Grad sum_of(const std::vector<Grad>& parts) {
  Grad sum;
  for (const Grad& part : parts)
    if (part.present()) sum = sum.present() ? Grad(sum.dense() + part.dense()) : part;
  return sum;
}

}  // namespace

std::vector<Grad> GraphState::gradients(const Tensor& y, std::span<const Source> xs, const GradientOptions& options, const char* by,
    Location at) {
  if (own_gradients_)
    throw TraceError(by,
        "a function of this graph gives a gradient of its own, which its calls do not show; take the gradient with a GradientTape around it.",
        at);
  const ValueId target = value_of(y, by, at);
  // What y is computed from. A write ends the way: its result is a value of its own.
  std::vector<bool> needed(target + 1);
  needed[target] = true;
  for (ValueId id = target + 1; id-- > 0;)
    if (needed[id] && program.values[id].kind == GraphValue::Kind::kResult)
      for (const ValueId input : program.nodes[program.values[id].from].inputs) needed[input] = true;

  std::vector<Tensor> values(target + 1);
  for (ValueId id = 0; id <= target; ++id)
    if (program.values[id].kind != GraphValue::Kind::kConstant) values[id] = tracer_.symbol(id);
    else values[id] = program.constants[program.values[id].from].value;
  std::vector<std::vector<ValueId>> places(xs.size());  // of a Variable, its reads
  std::vector<bool> watched(target + 1);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (const Tensor* const x = xs[i].tensor()) {
      places[i] = {value_of(*x, by, at)};
      if (places[i][0] <= target) watched[places[i][0]] = true;
      continue;
    }
    const std::uint32_t variable = index_of(xs[i].variable()->slot(), by, at);
    if (!is_floating(xs[i].variable()->dtype()))
      throw GradientError(by, xs[i].variable()->slot()->title() + " is " + xs[i].variable()->spec().str() +
          "; only floating values have gradients.", at);
    for (std::size_t e = 0; e < events.size(); ++e)
      if (const ValueId id = program.inputs[e]; id <= target && needed[id] && events[e].kind == Event::Kind::kRead &&
          events[e].variable == variable)
        places[i].push_back(id), watched[id] = true;
  }

  Replaying replaying(values);
  GradientTape tape({.persistent = true, .watch_accessed_variables = false}, at);
  const auto watch = [&](ValueId id) {
    if (watched[id]) tape.watch(values[id], at);
  };
  for (ValueId id = 0; id <= target; ++id) {
    if (program.values[id].kind != GraphValue::Kind::kResult) {
      watch(id);
      continue;
    }
    const GraphNode node = program.nodes[program.values[id].from];  // what the tape does may add others
    const auto wanted = [&](ValueId each) { return each <= target && needed[each]; };
    if (id != node.first) continue;
    bool any = false;
    for (std::uint32_t r = 0; r < node.count; ++r) any = any || wanted(node.first + r);
    if (!any) continue;
    values.resize(std::max<std::size_t>(values.size(), node.first + node.count));
    for (std::uint32_t r = 0; r < node.count; ++r)
      if (!values[node.first + r].defined()) values[node.first + r] = tracer_.symbol(node.first + r);
    replaying.show(node);
    for (std::uint32_t r = 0; r < node.count; ++r)
      if (node.first + r <= target) watch(node.first + r);
  }
  std::vector<Source> sources;
  for (const std::vector<ValueId>& list : places)
    for (const ValueId id : list)
      sources.emplace_back(id <= target && (needed[id] || watched[id]) ? values[id] : tracer_.symbol(id));
  GradientOptions quiet = options;
  quiet.unconnected = Unconnected::kNone;
  const std::vector<Grad> parts = sources.empty() ? std::vector<Grad>() : tape.gradients({values[target]}, Sources(sources), quiet, at);
  std::vector<Grad> result;
  const Unconnected mode = options.unconnected.value_or(Unconnected::kError);
  std::size_t next = 0;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const std::size_t first = std::exchange(next, next + places[i].size());
    result.push_back(sum_of({parts.begin() + static_cast<std::ptrdiff_t>(first), parts.begin() + static_cast<std::ptrdiff_t>(next)}));
    if (result.back().present() || mode == Unconnected::kNone) continue;
    if (mode == Unconnected::kZeros) {
      result.back() = zeros_like(xs[i].tensor() != nullptr ? *xs[i].tensor() : xs[i].variable()->value(at));
      continue;
    }
    if (first != next && places[i][0] <= target)
      tape.gradients({values[target]}, Sources{sources[first]}, options, at);  // says why there is none
    throw GradientError(by, "y does not depend on " + (xs[i].variable() != nullptr ? xs[i].variable()->slot()->title()
        : xs[i].tensor()->spec().str()) +
                                "; compute it from that, or ask for unconnected = kNone or kZeros.", at);
  }
  return result;
}

std::vector<Tensor> gradients(const Tensor& y, const Sources& xs, GradientOptions options, Location at) {
  std::vector<Tensor> result;
  for (const Grad& grad : GraphState::open("gradients", at).gradients(y, xs.list(), options, "gradients", at))
    result.push_back(grad.present() ? grad.dense() : Tensor());
  return result;
}

Operation minimize(Optimizer& optimizer, const Tensor& loss, const std::vector<Variable>& variables, Location at) {
  GraphState& graph = GraphState::open("minimize", at);
  std::vector<Variable> changed = variables;
  if (variables.empty())
    for (const Variable& each : graph.variables(Which::kTrainable))
      if (is_floating(each.dtype())) changed.push_back(each);
  std::vector<Source> sources(changed.begin(), changed.end());
  std::vector<Grad> found = graph.gradients(loss, sources, {.unconnected = Unconnected::kNone, .output_gradients = {}}, "minimize", at);
  if (variables.empty() && std::any_of(found.begin(), found.end(), [](const Grad& each) { return each.present(); })) {
    std::vector<Variable> connected;
    std::vector<Grad> present;
    for (std::size_t i = 0; i < changed.size(); ++i)
      if (found[i].present()) connected.push_back(changed[i]), present.push_back(found[i]);
    return as_operation([&] { optimizer.apply(present, connected, at); }, at);
  }
  return as_operation([&] { optimizer.apply(found, changed, at); }, at);
}

}  // namespace weft::inline v0::compat::v1
