// Tracing a Function: its body runs on symbols.
#include "state/function_tracing.h"

#include <algorithm>

#include "base/planted.h"

namespace weft::inline v0::detail {

Tensor Tracing::symbol_for(const SlotRef& slot, Location at) {
  reads_.push_back(slot);
  touched_.insert(slot);
  if (planted(Bug::kBakesReads)) return read_latest(*slot);
  return tracer_.input(slot->declared, at);
}

// The copies hold symbols for Tensors and, unless the trace is pinned, Variables that stand in for those passed: what the body does to
// them it does to an argument, what it does to others it does to something that it holds itself.
void Tracing::begin(std::span<const Argument> copies) {
  given_.begin(copies);
  const Places original = places_in(call_.arguments), copy = places_in(copies);
  std::size_t known = 0;
  for (Tensor* const tensor : copy.tensors)
    if (tensor->defined()) *tensor = tracer_.input({tensor->dtype(), kind_.shapes[known++]}, call_.at);
  for (std::size_t i = 0; i < copy.variables.size() && !pinned_; ++i) {
    if (copy.variables[i] == original.variables[i]) throw IdentityAsked();  // behind a pointer, where nothing can stand in
    *copy.variables[i] = Variable(stand_ins_[passed_.at(original.variables[i]->slot().get())]);
  }
  given_.hand_over();
}

// One that was made before, at the same line as often, and alike, is that one: a body makes its Variables once.
SlotRef Tracing::made(SlotRef slot) {
  std::size_t nth = 0;
  for (const MadeSlot& other : made_) nth += other.slot->made_at.line == slot->made_at.line && other.slot->made_at.file == slot->made_at.file;
  made_.push_back({nth, call_.core.made_before(*slot, nth, call_.at)});
  if (made_.back().slot == nullptr) made_.back().slot = std::move(slot);
  return made_.back().slot;
}

std::ptrdiff_t Tracing::argument_of(const SlotRef& slot) const {
  const auto found = stands_in_.find(slot.get());
  return found == stands_in_.end() ? -1 : static_cast<std::ptrdiff_t>(found->second);
}

// Called while the copies live: what the body has put into them is looked at here.
void Tracing::returns(std::shared_ptr<void> pattern, void* twin, WalkFn walk) {
  given_.require_unchanged(pinned_);
  GivenArguments::Replaced replaced = given_.replaced();
  for (const Tensor& tensor : replaced.by) replacements_.push_back(tracer_.value_of(tensor, nullptr, call_.at));
  replaced_ = std::move(replaced.which);
  if (walk == nullptr) return;
  pattern_ = std::move(pattern);
  const Argument tree{pattern_.get(), walk, false}, copy{twin, walk, false};
  for (const LeafNote& note : notes_of({&tree, 1}))
    if (note.spec || note.slot != nullptr)
      result_texts_.push_back(note.path + (note.path.empty() ? "" : " ") + note.text);
  const Places result = places_in({&tree, 1}), again = places_in({&copy, 1});
  for (std::size_t i = 0; i < result.tensors.size(); ++i) {
    if (result.tensors[i] == again.tensors[i])
      call_.refuse("the result holds a Tensor behind a pointer, which the results of all calls would share; return it by value.");
    if (result.tensors[i]->defined()) results_.push_back(tracer_.value_of(*result.tensors[i], nullptr, call_.at));
  }
  for (std::size_t i = 0; i < result.variables.size(); ++i) {
    if (locals_.contains(result.variables[i]->slot()))
      call_.refuse("the result holds a local Variable, which is gone when the call ends; return its value(), or make it without local.");
    result_variables_.push_back(argument_of(result.variables[i]->slot()));
    if (result.variables[i] == again.variables[i] && result_variables_.back() >= 0)
      call_.refuse("the result holds a Variable of an argument behind a pointer, which the results of all calls would share; return it by value.");
  }
}

bool Tracing::looks_at_identity() const {
  if (pinned_ || call_.leaves.variables.empty()) return false;
  for (const SlotRef& slot : stand_ins_)
    if (slot->identity_asked) return true;
  return std::any_of(touched_.begin(), touched_.end(), [&](const SlotRef& slot) { return is_passed(slot); });
}

std::unordered_set<SlotRef> Tracing::captured_arguments() const {
  std::unordered_set<SlotRef> captured;
  for (const SlotRef& slot : touched_)
    if (is_passed(slot)) captured.insert(slot);
  return captured;
}

}  // namespace weft::inline v0::detail
