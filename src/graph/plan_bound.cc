// Plans in frames of their own, whose inputs and outputs lie where the caller says.
#include <algorithm>
#include <cstring>

#include "graph/plan_frame.h"
#include "kernels/following.h"

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
      Call call{.fn = direct.fn, .in = {}, .out = frame_->data[direct.out], .lanes = direct.lanes, .count = direct.count, .link = direct.link};
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

// Both as one chain over single lanes, or nothing if there is a call that cannot be a link. What a call makes goes to memory and stays in the
// accumulator for the next one.
std::vector<kernels::BoundLink> BoundPlan::links_of(const BoundPlan& even, const BoundPlan& odd) {
  using kernels::Link;
  std::vector<kernels::BoundLink> links;
  const void* held = nullptr;
  const auto place = [](const void* data) { return static_cast<float*>(const_cast<void*>(data)); };
  for (const BoundPlan* const half : {&even, &odd})
    for (const Call& call : half->calls_) {
      if (call.link == Link::kNone) return {};
      const kernels::Following next =
          kernels::following(call.link, static_cast<std::size_t>(call.count), call.in[0] == held, call.count == 2 && call.in[1] == held);
      if (next.loads) links.push_back({Link::kLoad, place(call.in[0])});
      links.push_back({next.link, place(call.in[next.operand])});
      links.push_back({Link::kKeep, place(call.out)});
      held = call.out;
    }
  if (!links.empty()) links.push_back({Link::kEnd, place(held)});
  return links;
}

std::int64_t BoundPlan::run_turns(std::int64_t turns, BoundPlan& even, BoundPlan& odd) {
  std::int64_t turn = 0;
  if (even.direct_ && even.copies_.empty()) {
    even.find_calls();
    odd.find_calls();
    if (even.calls_.empty()) return turns;
    const std::vector<kernels::BoundLink> links = links_of(even, odd);
    if (!links.empty() && turns >= 2) {
      // The accumulator comes to the next pair of turns with what the last one has kept: then it need not be loaded again.
      const bool holds = links[0].x == links.back().x;
      kernels::chain_kernels().repeat(links.data(), links.data() + holds, turns / 2);
      turn = turns & ~std::int64_t{1};
    }
    for (; turn < turns; ++turn) (turn & 1 ? odd : even).run_calls();
  }
  for (; turn < turns; ++turn) (turn & 1 ? odd : even).run();
  return turns;
}

}  // namespace weft::inline v0
