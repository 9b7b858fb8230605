// Plans in frames of their own, whose inputs and outputs lie where the caller says.
#include <algorithm>
#include <cstring>

#include "graph/plan_frame.h"

namespace weft::inline v0 {

bool BoundPlan::possible(const Plan& plan) {
  return std::all_of(plan.graph_.outputs.begin(), plan.graph_.outputs.end(), [&](ValueId id) { return plan.values_[id].spec.shape.known(); });
}

BoundPlan::BoundPlan(const Plan& plan) : plan_(plan), frame_(new Plan::Frame(plan)), direct_(only_direct()) {
  std::vector<bool> taken(plan.escaping_.size());
  for (ValueId id : plan.graph_.outputs) {
    const Plan::Value& root = plan.values_[plan.values_[id].root];
    const bool own = root.place == Plan::Place::kEscapes && !taken[root.at];
    copied_.push_back(own ? -1 : static_cast<std::int32_t>(copies_.size()));
    if (own) taken[root.at] = true;
    else copies_.push_back({.from = id, .bytes = static_cast<std::size_t>(bytes_of(plan.values_[id].spec))});
  }
}
BoundPlan::~BoundPlan() { delete frame_; }

bool BoundPlan::only_direct() const {
  return std::all_of(plan_.steps_.begin(), plan_.steps_.end(), [&](const Plan::Step& step) {
    return step.pointwise >= 0 && !step.joined && !plan_.pointwise_[static_cast<std::size_t>(step.pointwise)].direct.empty();
  });
}

void BoundPlan::find_calls() {
  calls_.clear();
  for (const Plan::Step& step : plan_.steps_) {
    for (const Plan::DirectCall& direct : plan_.pointwise_[static_cast<std::size_t>(step.pointwise)].direct) {
      Call call{.fn = direct.fn, .in = {}, .out = frame_->data[direct.out], .lanes = direct.lanes};
      for (std::int32_t i = 0; i < direct.count; ++i) call.in[i] = frame_->data[direct.in[i]];
      calls_.push_back(call);
    }
  }
}

// Pointwise calls do not fail. The first of four has an instruction of its own that calls it, and so on: what it calls is foreseen best if that
// stays the same from turn to turn.
inline void BoundPlan::run_calls() const {
  const auto make = [](const Call& call) __attribute__((always_inline)) { call.fn(call.in, call.out, call.lanes); };
  const Call* call = calls_.data();
  std::size_t left = calls_.size();
  for (; left >= 4; left -= 4, call += 4) make(call[0]), make(call[1]), make(call[2]), make(call[3]);
  if (left >= 2) make(call[0]), make(call[1]);
  if (left % 2 != 0) make(call[left - 1]);
}

void BoundPlan::input(std::size_t i, void* data) {
  bound_anew_ = true;
  for (ValueId id : plan_.of_input_[i]) frame_->bind(id, data);
}

void BoundPlan::output(std::size_t i, void* data) {
  bound_anew_ = true;
  if (copied_[i] >= 0) {
    copies_[static_cast<std::size_t>(copied_[i])].to = data;
    return;
  }
  const Plan::Value& root = plan_.values_[plan_.values_[plan_.graph_.outputs[i]].root];
  for (ValueId id : plan_.of_escaping_[root.at]) frame_->bind(id, data);
}

void BoundPlan::run() {
  if (!direct_ || bound_anew_) {
    plan_.run_steps(*frame_);
    bound_anew_ = false;
    calls_.clear();
  } else {
    if (calls_.empty()) find_calls();
    run_calls();
  }
  for (const Copy& copy : copies_)
    if (copy.bytes > 0) std::memcpy(copy.to, frame_->data[copy.from], copy.bytes);
}

std::int64_t BoundPlan::run_while(const bool& go, BoundPlan& even, BoundPlan& odd) {
  std::int64_t turns = 0;
  if (even.direct_ && even.copies_.empty()) {
    even.find_calls();
    odd.find_calls();
    for (; go; ++turns) (turns & 1 ? odd : even).run_calls();
  }
  for (; go; ++turns) (turns & 1 ? odd : even).run();
  return turns;
}

}  // namespace weft::inline v0
