#include "compat/run_plan.h"

#include <algorithm>
#include <map>
#include <set>

namespace weft::inline v0::compat::v1 {
namespace {

class Chooser {
 public:
  Chooser(const GraphState& graph, const RunKind& kind, Location at)
      : graph_(graph), kind_(kind), at_(at), needed_(graph.program.values.size()), fed_(needed_.size()) {}

  RunSteps choose() {
    for (const ValueId id : kind_.fed) {
      fed_[id] = true;
      chosen_.fed.push_back(graph_.program.values[id].spec);
    }
    std::vector<ValueId> roots;
    for (const Fetch& fetch : kind_.fetches)
      if (fetch.value != kNoValue) roots.push_back(fetch.value);
    reach(std::move(roots), needed_);
    for (ValueId id = 0; id < needed_.size(); ++id)
      if (needed_[id] && !fed_[id]) add(id);
    for (const Fetch& fetch : kind_.fetches)
      if (fetch.value == kNoValue) chosen_.sees.push_back(seen_by(fetch.variable, 0));
    chosen_.variables.assign(variables_.begin(), variables_.end());
    chosen_.starts.assign(starts_.begin(), starts_.end());
    return std::move(chosen_);
  }

 private:
  // What must run for a value, besides itself.
  template <class F>
  void each_need(ValueId id, const F& f) const {
    const GraphValue& value = graph_.program.values[id];
    for (const ValueId other : graph_.sets[graph_.after[id]]) f(other);
    if (value.kind == GraphValue::Kind::kResult)
      for (std::int64_t n = value.from; n >= 0; n = graph_.rules[static_cast<std::size_t>(n)])
        for (const ValueId other : graph_.program.nodes[static_cast<std::size_t>(n)].inputs) f(other);
    if (const Event* const event = graph_.event_of(id)) {
      for (const ValueId other : event->needs) f(other);
      if (event->source != kNoValue) f(event->source);
    }
  }

  // Marks these and everything that must run for them. What is fed needs nothing.
  void reach(std::vector<ValueId> from, std::vector<bool>& marked) const {
    while (!from.empty()) {
      const ValueId id = from.back();
      from.pop_back();
      if (marked[id]) continue;
      marked[id] = true;
      if (!fed_[id]) each_need(id, [&](ValueId other) { from.push_back(other); });
    }
  }

  // The writes among what a set of dependencies needs, in order.
  const std::vector<ValueId>& writes_behind(std::uint32_t set) {
    const auto [known, fresh] = behind_.try_emplace(set);
    if (!fresh) return known->second;
    std::vector<bool> marked(needed_.size());
    reach(graph_.sets[set], marked);
    for (ValueId id = 0; id < marked.size(); ++id)
      if (const Event* const event = marked[id] && !fed_[id] ? graph_.event_of(id) : nullptr; event != nullptr &&
          event->kind == Event::Kind::kWrite)
        known->second.push_back(id);
    return known->second;
  }

  // The write whose value a read with these dependencies sees; none: it sees the start.
  ValueId seen_by(std::uint32_t variable, std::uint32_t set) {
    const std::vector<ValueId>& writes = writes_behind(set);
    for (auto id = writes.rbegin(); id != writes.rend(); ++id)
      if (graph_.event_of(*id)->variable == variable) return *id;
    variables_.insert(variable);
    const ValueId initial = graph_.held[variable].initial;
    if (needed_[initial] && !fed_[initial]) return initial;
    starts_.insert(variable);
    return kNoValue;
  }

  // With it go the rules of the rows that it is a part of.
  void add_call(std::uint32_t node, ValueId value) {
    if (!called_.insert(node).second) return;
    if (const std::int64_t rule = graph_.rules[node]; rule >= 0) add_call(static_cast<std::uint32_t>(rule), value);
    push({.kind = RunStep::Kind::kCall, .value = value, .call = graph_.program.nodes[node]});
  }

  void add(ValueId id) {
    const GraphValue& value = graph_.program.values[id];
    if (value.kind == GraphValue::Kind::kConstant)
      return push({.kind = RunStep::Kind::kConstant, .value = id, .constant = graph_.program.constants[value.from].value});
    if (value.kind == GraphValue::Kind::kResult) return add_call(value.from, id);
    const Event& event = *graph_.event_of(id);
    if (event.kind == Event::Kind::kGroup) return;
    if (event.kind == Event::Kind::kPlaceholder)
      throw ValueError("Session::run", graph_.title(id) + " is needed and not fed; give it a value.", at_);
    variables_.insert(event.variable);
    if (event.kind == Event::Kind::kRead && !event.in_turn)
      return push({.kind = RunStep::Kind::kRead, .value = id, .variable = event.variable, .source = seen_by(event.variable,
          graph_.after[id])});
    const bool changes = event.kind == Event::Kind::kWrite, replaces = changes && event.way <= Event::Way::kAssign;
    if (!replaces && !written_.contains(event.variable)) starts_.insert(event.variable);
    if (changes) written_.insert(event.variable);
    push({.kind = changes ? RunStep::Kind::kWrite : RunStep::Kind::kReadInTurn, .value = id, .variable = event.variable, .way = event.way,
          .source = event.source, .at = event.at});
  }
  void push(RunStep step) { chosen_.steps.push_back(std::move(step)); }

  const GraphState& graph_;
  const RunKind& kind_;
  const Location at_;
  std::vector<bool> needed_, fed_;
  RunSteps chosen_;
  std::map<std::uint32_t, std::vector<ValueId>> behind_;
  std::set<std::uint32_t> variables_, starts_, written_, called_;
};

// The body of the Function, while it is traced: all steps in order. Of operations, which have no value, nothing is returned.
std::vector<Tensor> replay(const RunKind& kind, const RunSteps& run, const std::vector<Variable>& variables, std::vector<Tensor>& fed) {
  std::map<ValueId, Tensor> values;
  const auto held = [&](std::uint32_t variable) {
    const auto at = std::lower_bound(run.variables.begin(), run.variables.end(), variable);
    return variables[static_cast<std::size_t>(at - run.variables.begin())];
  };
  std::map<std::uint32_t, Tensor> starts;
  for (const std::uint32_t variable : run.starts) starts.emplace(variable, held(variable).value());
  for (std::size_t i = 0; i < fed.size(); ++i) values.emplace(kind.fed[i], fed[i]);
  const auto seen = [&](ValueId write, std::uint32_t variable) { return write == kNoValue ? starts.at(variable) : values.at(write); };
  for (const RunStep& step : run.steps) {
    switch (step.kind) {
      case RunStep::Kind::kConstant: values.emplace(step.value, step.constant); break;
      case RunStep::Kind::kCall: {
        SmallVector<Tensor, 6> inputs;
        for (const ValueId id : step.call.inputs) inputs.push_back(values.at(id));
        const Call call{*step.call.op, inputs, step.call.attrs, step.call.at};
        Tensors outputs;
        step.call.runs ? apply(call, outputs) : apply_rule(call, step.call.count > 0 ? &outputs : nullptr);
        for (std::uint32_t i = 0; i < step.call.count; ++i) values.emplace(step.call.first + i, std::move(outputs[i]));  // not if it is fed
        break;
      }
      case RunStep::Kind::kRead: values.emplace(step.value, seen(step.source, step.variable)); break;
      case RunStep::Kind::kReadInTurn: values.emplace(step.value, held(step.variable).value()); break;
      case RunStep::Kind::kWrite: {
        Variable variable = held(step.variable);
        const Tensor& source = values.at(step.source);
        if (step.way == Event::Way::kAdd) variable.assign_add(source, step.at);
        else if (step.way == Event::Way::kSubtract) variable.assign_sub(source, step.at);
        else variable.assign(source, step.at);
        values.emplace(step.value, variable.value());
        break;
      }
    }
  }
  std::vector<Tensor> results;
  std::size_t variable = 0;
  for (const Fetch& fetch : kind.fetches)
    if (fetch.value == kNoValue) results.push_back(seen(run.sees[variable++], fetch.variable));
    else if (const auto value = values.find(fetch.value); value != values.end()) results.push_back(value->second);
  return results;
}

}  // namespace

RunSteps choose_steps(const GraphState& graph, const RunKind& kind, Location at) { return Chooser(graph, kind, at).choose(); }

RunCall trace_run(const RunKind& kind, std::shared_ptr<const RunSteps> steps, const std::vector<Variable>& variables, Location at) {
  std::vector<Tensor> told;
  for (const Spec& spec : steps->fed) told.push_back(weft::detail::stand_in(spec, at));
  const RunFunction run([kind, steps, variables](std::vector<Tensor> fed) { return replay(kind, *steps, variables, fed); },
                        {.name = "Session::run", .args = {"feeds"}}, at);
  return run.trace(std::move(told), at);
}

}  // namespace weft::inline v0::compat::v1
