// Gradients in a graph that exists already: its calls are shown to a tape once more, which is all that reverse mode needs.
#include <algorithm>

#include "compat/graph_state.h"
#include "optim/book.h"
#include "state/installed.h"
#include "state/recorder.h"
#include <weft/ops.h>
#include <weft/print.h>

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

// --- gradients that functions give ---

bool GraphState::Keeper::follows(const Tensor& x) const {
  if (!x.defined() || !is_floating(x.dtype()) || !state_.owns(x)) return false;
  const std::lock_guard guard(state_.lock);
  const Event* const event = state_.event_of(symbol_of(x).value);
  return event == nullptr || event->kind != Event::Kind::kRead || state_.held[event->variable].variable.trainable();
}

void GraphState::Keeper::record_custom(const Op& name, Location at, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                                       std::shared_ptr<const GradientFn> gradient) {
  state_.given_.push_back({&name, at, {inputs.begin(), inputs.end()}, {outputs.begin(), outputs.end()}, std::move(gradient)});
  for (const Tensor& output : outputs)
    if (output.defined()) state_.given_to_.emplace(symbol_of(output).value, state_.given_.size() - 1);
}

void GraphState::own_gradient(std::span<const Tensor> results) {
  for (const Tensor& result : results)
    if (result.defined() && owns(result)) hiding_.insert(symbol_of(result).value);
}

const GraphState::Given* GraphState::given_to(ValueId id) const {
  const auto given = given_to_.find(id);
  return given == given_to_.end() ? nullptr : &given_[given->second];
}

// What gradients flow to from a value. A write ends the way: its result is a value of its own.
template <class F>
void GraphState::each_source(ValueId id, const F& f) const {
  if (const Given* const given = given_to(id)) {
    for (const Tensor& input : given->inputs)
      if (input.defined() && owns(input)) f(symbol_of(input).value);
  } else if (program.values[id].kind == GraphValue::Kind::kResult) {
    for (const ValueId input : program.nodes[program.values[id].from].inputs) f(input);
  }
}

// Refuses a way from something that is watched to what is needed, if it leads through a call that hides a gradient.
void GraphState::require_shown(const std::vector<bool>& needed, const std::vector<bool>& watched, const char* by, Location at) const {
  if (hiding_.empty()) return;
  std::vector<bool> reached(needed.size());
  for (ValueId id = 0; id < needed.size(); ++id) {
    bool behind = false;
    if (needed[id]) each_source(id, [&](ValueId source) { behind = behind || reached[source]; });
    if (behind && hiding_.contains(id))
      throw TraceError(by, "a branch, a loop or a Function that writes gives a gradient of its own between y and xs, and its calls do not show "
                           "that; give the gradient around the whole, or leave it out.", at);
    reached[id] = behind || watched[id];
  }
}

std::vector<Grad> GraphState::gradients(const Tensor& y, std::span<const Source> xs, const GradientOptions& options, const char* by,
    Location at) {
  const ValueId target = value_of(y, by, at);
  std::vector<bool> needed(target + 1);  // what y is computed from
  needed[target] = true;
  for (ValueId id = target + 1; id-- > 0;)
    if (needed[id]) each_source(id, [&](ValueId source) { needed[source] = true; });

  std::vector<Tensor> values(target + 1);
  for (ValueId id = 0; id <= target; ++id)
    if (program.values[id].kind != GraphValue::Kind::kConstant) values[id] = tracer_.symbol(id);
    else values[id] = program.constants[program.values[id].from].value;
  const auto make_room = [&](ValueId id) {
    if (id >= values.size()) values.resize(id + 1);
    if (!values[id].defined()) values[id] = tracer_.symbol(id);
  };
  const bool refuses = options.unconnected.value_or(Unconnected::kError) == Unconnected::kError;
  std::unordered_set<std::uint32_t> variables;  // asked for: each read of them counts
  std::vector<bool> watched(target + 1);
  for (const Source& x : xs) {
    bool leads = false;  // to y
    if (const Tensor* const tensor = x.tensor()) {
      const ValueId id = value_of(*tensor, by, at);
      if (id <= target) watched[id] = is_floating(tensor->dtype()), leads = needed[id];
    } else {
      const std::uint32_t variable = index_of(x.variable()->slot(), by, at);
      if (!is_floating(x.variable()->dtype()))
        throw GradientError(by, x.variable()->slot()->title() + " is " + x.variable()->spec().str() + "; only floating values have gradients.", at);
      variables.insert(variable);
      for (std::size_t e = 0; e < events.size(); ++e)
        if (const ValueId id = program.inputs[e]; id <= target && needed[id] && events[e].kind == Event::Kind::kRead &&
            events[e].variable == variable)
          watched[id] = leads = true;
    }
    if (!leads && refuses)
      throw GradientError(by, "y does not depend on " + (x.variable() != nullptr ? x.variable()->slot()->title() : x.tensor()->spec().str()) +
                                  "; compute it from that, or ask for unconnected = kNone or kZeros.", at);
  }
  require_shown(needed, watched, by, at);

  Replaying replaying(values);
  Installed<TapeRecorder> installed(TapeOptions{.persistent = true, .watch_accessed_variables = false});
  TapeRecorder& tape = installed.interpreter;
  for (const std::uint32_t variable : variables) tape.watch(held[variable].variable, at);
  const auto watch = [&](ValueId id) {
    if (id > target || !watched[id]) return;
    const Event* const event = event_of(id);
    if (event == nullptr || event->kind != Event::Kind::kRead || !variables.contains(event->variable)) return tape.watch(values[id], at);
    const Variable& variable = held[event->variable].variable;
    values[id] = tape.read(variable.slot()->id, variable, values[id], at);
  };
  const auto shown = [&](const std::vector<Tensor>& list) {  // the same values, as the tape is shown them
    std::vector<Tensor> same;
    for (const Tensor& x : list) {
      same.push_back(x);
      if (!x.defined() || !owns(x)) continue;
      make_room(symbol_of(x).value);
      same.back() = values[symbol_of(x).value];
    }
    return same;
  };
  std::unordered_set<const Given*> seen;
  for (ValueId id = 0; id <= target; ++id) {
    const Given* const given = given_to(id);
    if (program.values[id].kind != GraphValue::Kind::kResult || given != nullptr) {
      if (given != nullptr && needed[id] && seen.insert(given).second) {
        const std::vector<Tensor> inputs = shown(given->inputs);
        if (std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& x) { return tape.follows(x); }))
          tape.record_custom(*given->name, given->at, inputs, shown(given->outputs), given->gradient);
      }
      watch(id);
      continue;
    }
    const GraphNode node = program.nodes[program.values[id].from];  // what the tape does may add others
    if (id != node.first) continue;
    bool any = false;
    for (std::uint32_t r = 0; r < node.count; ++r) any = any || (node.first + r <= target && needed[node.first + r]);
    if (!any) continue;
    for (std::uint32_t r = 0; r < node.count; ++r) make_room(node.first + r);
    replaying.show(node);
    for (std::uint32_t r = 0; r < node.count; ++r) watch(node.first + r);
  }
  std::vector<Source> sources;
  for (const Source& x : xs) {
    const ValueId id = x.tensor() != nullptr ? value_of(*x.tensor(), by, at) : 0;
    if (x.tensor() == nullptr) sources.push_back(x);
    else sources.emplace_back(id <= target ? values[id] : tracer_.symbol(id));
  }
  return tape.gradients({values[target]}, sources, options, at, false, by);
}

std::vector<Tensor> gradients(const Tensor& y, const Sources& xs, GradientOptions options, Location at) {
  std::vector<Tensor> result;
  for (const Grad& grad : GraphState::open("gradients", at).gradients(y, xs.list(), options, "gradients", at))
    result.push_back(grad.present() ? grad.dense() : Tensor());
  return result;
}

Operation minimize(Optimizer& optimizer, const Tensor& loss, const std::vector<Variable>& variables, Location at) {
  constexpr const char* kBy = "minimize";
  GraphState& graph = GraphState::open(kBy, at);
  if (loss.defined() && !is_floating(loss.dtype()))
    throw GradientError(kBy, "the loss is " + loss.spec().str() +
                                 "; only floating values have gradients, compute it from floating ones throughout.", at);
  std::vector<Variable> asked = variables, changed;
  if (variables.empty())
    for (const Variable& each : graph.variables(Which::kTrainable))
      if (is_floating(each.dtype())) asked.push_back(each);
  if (asked.empty())
    throw ValueError(kBy, "the graph has no trainable floating Variable to change; make one with get_variable, or name some.", at);
  const std::vector<Source> sources(asked.begin(), asked.end());
  std::vector<Grad> found = graph.gradients(loss, sources, {.unconnected = Unconnected::kNone, .output_gradients = {}}, kBy, at), present;
  for (std::size_t i = 0; i < asked.size(); ++i)
    if (found[i].present()) changed.push_back(asked[i]), present.push_back(found[i]);
  if (present.empty()) {
    std::vector<std::string> titles;
    for (const Variable& each : asked) titles.push_back(each.slot()->title());
    const std::vector<std::string_view> names(titles.begin(), titles.end());
    throw ValueError(kBy, format("the loss {} depends on none of {} through differentiable ops; compute it from the Variables that are to "
                                 "change.", loss.spec().str(), listed(names)), at);
  }
  if (variables.empty()) return as_operation([&] { optimizer.apply(present, changed, at); }, at);
  return as_operation([&] { optimizer.apply(found, asked, at); }, at);
}

}  // namespace weft::inline v0::compat::v1
