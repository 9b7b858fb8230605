#include "graph/run.h"

#include <algorithm>

#include "graph/replay.h"

namespace weft::inline v0 {

Runner::Runner(Graph graph, std::vector<std::int32_t> old_values, std::size_t most_plans)
    : graph_(std::move(graph)), old_values_(std::move(old_values)), most_plans_(most_plans), publishes_(Plan::can_wait(graph_, old_values_)) {
  fixed_ = std::all_of(graph_.inputs.begin(), graph_.inputs.end(), [&](ValueId id) { return graph_.values[id].spec.shape.known(); });
  std::vector<bool> needed(graph_.values.size());
  for (ValueId id : graph_.outputs) needed[id] = true;
  std::size_t uses = 0;
  for (const GraphNode& node : graph_.nodes) uses += node.inputs.size();
  last_use_.resize(uses);
  for (std::size_t n = graph_.nodes.size(); n-- > 0;) {
    const GraphNode& node = graph_.nodes[n];
    uses -= node.inputs.size();
    for (std::size_t i = node.inputs.size(); i-- > 0;) {
      const ValueId id = node.inputs[i];
      last_use_[uses + i] = !needed[id] && graph_.values[id].kind != GraphValue::Kind::kConstant;
      needed[id] = true;
    }
  }
}

Tensors Runner::run(std::span<Tensor> inputs, const Publish* publish) const {
  if (Interpreter::top() != nullptr) return replay(inputs);
  if (to_time_.load(std::memory_order_relaxed) > 0) [[unlikely]] return run_timed(inputs, publish);
  if (const Plan* const only = only_.load(std::memory_order_acquire)) return only->run(inputs, nullptr, publish);
  return find_plan(inputs)->run(inputs, nullptr, publish);
}

Runner::Profile Runner::profile() const {
  const std::lock_guard guard(mutex_);
  if (plans_.empty()) return {};
  const Planned& used = plans_.back();
  return {used.plan, used.timed, used.totals, used.last};
}

void Runner::profile(int calls) {
  const std::lock_guard guard(mutex_);
  for (Planned& planned : plans_) planned.timed = 0, planned.totals.clear(), planned.last.clear();
  to_time_.store(calls, std::memory_order_relaxed);
}

static const Spec& spec_of(const Tensor& tensor) { return tensor.node()->spec; }
static const Spec& spec_of(const Spec& spec) { return spec; }

template <class Inputs>
std::shared_ptr<const Plan> Runner::find_plan(const Inputs& inputs) const {
  const std::lock_guard guard(mutex_);
  const auto fits = [&](const Planned& planned) {
    return std::equal(inputs.begin(), inputs.end(), planned.inputs.begin(), planned.inputs.end(), [](const auto& x, const Spec& s) { return spec_of(x) == s; });
  };
  if (const auto found = std::find_if(plans_.begin(), plans_.end(), fits); found != plans_.end()) {
    std::rotate(found, found + 1, plans_.end());
    return plans_.back().plan;
  }
  std::vector<Spec> specs;
  for (const auto& input : inputs) specs.push_back(spec_of(input));
  auto plan = std::make_shared<const Plan>(graph_, specs, publishes_ ? OldValues(old_values_) : OldValues());
  plans_.push_back({std::move(specs), plan});
  if (plans_.size() > most_plans_) plans_.erase(plans_.begin());
  if (fixed_) only_.store(plan.get(), std::memory_order_release);  // plans_ holds it: there will be no other
  return plan;
}

Tensors Runner::run_timed(std::span<Tensor> inputs, const Publish* publish) const {
  const std::shared_ptr<const Plan> plan = find_plan(inputs);
  int left = to_time_.load(std::memory_order_relaxed);
  while (left > 0 && !to_time_.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) {
  }
  if (left <= 0) return plan->run(inputs, nullptr, publish);  // other threads were faster
  std::vector<StepTime> times;
  times.reserve(plan->steps());
  Tensors outputs = plan->run(inputs, &times, publish);
  const std::lock_guard guard(mutex_);
  for (Planned& planned : plans_) {
    if (planned.plan != plan) continue;
    planned.totals.resize(times.size());
    for (std::size_t i = 0; i < times.size(); ++i) planned.totals[i] += times[i].took;
    planned.last = std::move(times);
    ++planned.timed;
    break;
  }
  return outputs;
}

std::shared_ptr<const Plan> Runner::plan_for(std::span<const Spec> inputs) const { return find_plan(inputs); }

std::shared_ptr<const Derived> Runner::find_derived(const std::vector<bool>& wanted) const {
  const std::lock_guard guard(mutex_);
  const auto found = std::find_if(derived_.begin(), derived_.end(), [&](const auto& known) { return known.first == wanted; });
  if (found == derived_.end()) return nullptr;
  std::rotate(found, found + 1, derived_.end());
  return derived_.back().second;
}

void Runner::keep_derived(const std::vector<bool>& wanted, std::shared_ptr<const Derived> made) const {
  const std::lock_guard guard(mutex_);
  if (derived_.size() == kMostDerived) derived_.erase(derived_.begin());
  derived_.emplace_back(wanted, std::move(made));
}

Tensors Runner::replay(std::span<Tensor> inputs) const {
  std::vector<Tensor> values(graph_.values.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) values[graph_.inputs[i]] = std::move(inputs[i]);
  v0::replay(graph_, values, &last_use_);
  Tensors outputs;
  outputs.reserve(graph_.outputs.size());
  for (ValueId id : graph_.outputs) outputs.push_back(values[id]);
  return outputs;
}

}  // namespace weft::inline v0
