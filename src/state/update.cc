#include <weft/update.h>

#include <algorithm>

#include "core/update.h"
#include "state/transaction.h"

namespace weft::inline v0 {
namespace {

// Prepares update rows and scatters on the values of a transaction instead of running them. Their results, until then, are the values
// themselves.
class Deferring final : public Interpreter {
 public:
  explicit Deferring(std::span<const Tensor> values) : is_target_(values.size()) {
    for (const Tensor& value : values) values_.push_back(value.node());
    install();
  }
  ~Deferring() override { remove(); }

  void apply(Call call, Tensors& outputs) override {
    if (call.inputs.empty() || !can_prepare(call.op, call.inputs[0].dtype())) return delegate(call, outputs);
    const Specs specs = check(call);
    std::vector<std::size_t> targets;
    if (!find_targets(call, specs.size(), targets)) return delegate(call, outputs);
    validate(call, specs);
    deferred_.push_back({PreparedUpdate(call, specs), std::move(targets)});
    for (std::size_t i = 0; i < specs.size(); ++i) {
      is_target_[deferred_.back().targets[i]] = true;
      outputs.push_back(PreparedUpdate::changed(call)[i]);
    }
  }

  bool any() const { return !deferred_.empty(); }
  bool is_target(std::size_t i) const { return is_target_[i]; }
  /// Once.
  void run(std::span<const WriteTransaction::Place> places) noexcept {
    for (Deferred& deferred : deferred_) {
      for (std::size_t i = 0; i < deferred.targets.size(); ++i) {
        const std::size_t target = deferred.targets[i];
        const bool first = is_target_[target];  // otherwise a call before has written it already
        deferred.update.place(i, first ? places[target].from : places[target].to, places[target].to);
        is_target_[target] = false;
      }
      deferred.update.run();
    }
  }

 private:
  struct Deferred {
    PreparedUpdate update;
    std::vector<std::size_t> targets;  // which values the elements of its list are
  };

  // Which values the elements are that the call writes anew; false unless each is another one.
  bool find_targets(const Call& call, std::size_t written, std::vector<std::size_t>& targets) const {
    std::size_t at = 0;  // lists tend to be in the order of the values
    std::vector<bool> seen(values_.size());
    for (std::size_t i = 0; i < written; ++i) {
      const Node* const node = PreparedUpdate::changed(call)[i].node();
      std::size_t tried = 0;
      for (; tried < values_.size() && values_[at] != node; ++tried) at = (at + 1) % values_.size();
      if (tried == values_.size() || seen[at]) return false;
      seen[at] = true;
      targets.push_back(at);
    }
    return true;
  }

  std::vector<const Node*> values_;  // as they came; the transaction holds them
  std::vector<bool> is_target_;
  std::vector<Deferred> deferred_;
};

// What the body has made by itself is finished, and swapped in.
void publish_deferred(WriteTransaction& t, std::span<const SlotRef> slots, std::vector<Tensor> before, Deferring& deferring, const char* by, Location at) {
  std::vector<Tensor> finished(slots.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    Tensor& value = t.value(i);
    if (!deferring.is_target(i)) finished[i] = with_own_node(std::move(value), by, at);
    else if (!value.same_as(before[i]))
      throw ValueError(by, slots[i]->title() + " is replaced after a change that waits until the values are published; leave the result of that where the "
                                               "value was, or update without in_place.", at);
    value = std::move(before[i]);
  }
  t.publish_in_place([&](std::span<const WriteTransaction::Place> places) { deferring.run(places); }, finished);
}

}  // namespace

void update_together(std::span<const Variable> variables, const std::function<void(std::span<Tensor>)>& body, UpdateTogetherOptions options,
                     Location at) {
  std::vector<SlotRef> slots;
  slots.reserve(variables.size());
  for (const Variable& variable : variables) slots.push_back(variable.slot());
  if (slots.empty()) return body({});
  std::vector<const Slot*> sorted;
  for (const SlotRef& slot : slots) sorted.push_back(slot.get());
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    throw ValueError("update_together", (*twice)->title() + " is named twice; name each Variable once.", at);
  WriteTransaction t(slots, {}, at, options.by);
  const std::span<Tensor> values(&t.value(0), slots.size());
  if (!options.in_place || Transaction::current()->symbols != nullptr) {
    body(values);
    return t.publish();
  }
  std::vector<Tensor> before(values.begin(), values.end());
  Deferring deferring(values);
  body(values);
  if (!deferring.any()) return t.publish();
  publish_deferred(t, slots, std::move(before), deferring, options.by, at);
}

}  // namespace weft::inline v0
