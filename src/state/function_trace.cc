// Tracing a Function: its body runs on symbols.
#include "state/function_tracing.h"

#include <algorithm>

#include "base/planted.h"

namespace weft::inline v0::detail {
namespace {

class PlaceWalker final : public TreeWalker {
 public:
  void leaf(const TreeLeaf& leaf) override {
    if (Tensor* const tensor = leaf.as<Tensor>()) places.tensors.push_back(tensor);
    else if (Variable* const variable = leaf.as<Variable>()) places.variables.push_back(variable);
    else if (leaf.kind() != TreeLeaf::Kind::kHost)
      throw TraceError("Function", "a Tensor or Variable in an argument or result is a const member; it cannot take the values of a call, "
                                   "make it an ordinary member.", {});
  }
  Places places;
};

}  // namespace

Places places_in(std::span<const Argument> trees) {
  PlaceWalker walker;
  for (const Argument& tree : trees) Cursor::begin(walker, tree.at, true, tree.walk);
  return std::move(walker.places);
}

Tensor Tracing::symbol_for(const SlotRef& slot, Location at) {
  reads_.push_back(slot);
  touched_.insert(slot);
  if (planted(Bug::kBakesReads)) return read_latest(*slot);
  return tracer_.input(slot->declared, at);
}

std::string Tracing::tensor_path(std::size_t which) const {
  for (const LeafNote& note : notes_of(call_.arguments))
    if (note.tensor && which-- == 0) return call_.core.path_of(note);
  return "an argument";
}

// The copies hold symbols for Tensors and, unless the trace is pinned, Variables that stand in for those passed: what the body does to
// them it does to an argument, what it does to others it does to something that it holds itself.
void Tracing::begin(std::span<const Argument> copies) {
  copies_ = copies;
  const Places original = places_in(call_.arguments), copy = places_in(copies);
  for (std::size_t i = 0; i < copy.tensors.size(); ++i) {
    if (copy.tensors[i] == original.tensors[i])
      refuse("`" + tensor_path(i) + "` is a Tensor behind a pointer, or in an object that cannot be copied, so nothing can stand for it while the "
             "body is traced; pass it as an argument of its own, or hold it in a Variable.");
    if (!copy.tensors[i]->defined()) continue;
    symbols_.push_back(tracer_.input({copy.tensors[i]->dtype(), kind_.shapes[symbols_.size()]}, call_.at));
    *copy.tensors[i] = symbols_.back();
  }
  for (std::size_t i = 0; i < copy.variables.size(); ++i) {
    given_.push_back(original.variables[i]->slot());
    if (pinned_) continue;
    if (copy.variables[i] == original.variables[i]) throw IdentityAsked();  // behind a pointer, where nothing can stand in
    given_[i] = stand_ins_[passed_.at(given_[i].get())];
    *copy.variables[i] = Variable(given_[i]);
  }
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

// Whether what is new in an argument that is no copy is Variables that the body has made and what holds them: the first step of an optimizer
// makes some. The next call will have them.
bool Tracing::only_has_more(const std::vector<LeafNote>& now) const {
  const auto container = [](const LeafNote& note) { return note.text.starts_with("holds ") || note.text == "nothing"; };
  std::size_t old = 0;
  for (const LeafNote& note : now) {
    const LeafNote* const before = old < notes_.size() && notes_[old].path == note.path && notes_[old].argument == note.argument ? &notes_[old] : nullptr;
    const bool made = note.variable != nullptr && note.variable->slot()->id >= first_made_;
    if (before != nullptr && (before->text == note.text || (container(*before) && (made || container(note))))) ++old;
    else if (!made && !container(note)) return false;
  }
  return old == notes_.size();
}

void Tracing::require_unchanged(const Places& now) {
  const std::string remedy = " by the body, which later calls would not do; return the new value, or hold it in a Variable.";
  const CallLeaves after = leaves_of(copies_);
  if (after.tensors.size() != symbols_.size() || after.kind.skeleton != call_.leaves.kind.skeleton) {
    const std::vector<LeafNote>&old = notes_, fresh = notes_of(copies_);
    if (pinned_ && after.tensors.size() == symbols_.size() && only_has_more(fresh)) {
      grew_ = true;
      return;
    }
    for (std::size_t i = 0; i < std::min(old.size(), fresh.size()); ++i)
      if (old[i].path != fresh[i].path || old[i].text != fresh[i].text)
        refuse("`" + call_.core.path_of(fresh[i]) + "` is changed from " + old[i].text + " to " + fresh[i].text + remedy);
    refuse("the structure of an argument is changed" + remedy);
  }
  for (std::size_t i = 0; i < given_.size(); ++i)
    if (now.variables[i]->slot() != given_[i]) refuse("a Variable in an argument is replaced by another one, not assigned to" + remedy);
}

// Only what was passed by reference is anybody's concern.
void Tracing::find_replaced(const Places& now) {
  std::vector<bool> by_reference;
  for (const Argument& argument : call_.arguments)
    for (const Tensor* tensor : places_in({&argument, 1}).tensors)
      if (tensor->defined()) by_reference.push_back(argument.reference);
  std::size_t known = 0;
  for (const Tensor* tensor : now.tensors) {
    if (!tensor->defined()) continue;
    if (by_reference[known] && !tensor->same_as(symbols_[known])) {
      replaced_.push_back(known);
      replacements_.push_back(tracer_.value_of(*tensor, nullptr, call_.at));
    }
    ++known;
  }
}

// Called while the copies live: what the body has put into them is looked at here.
void Tracing::returns(std::shared_ptr<void> pattern, void* twin, WalkFn walk) {
  const Places now = places_in(copies_);
  require_unchanged(now);
  find_replaced(now);
  if (walk == nullptr) return;
  pattern_ = std::move(pattern);
  const Argument tree{pattern_.get(), walk, false}, copy{twin, walk, false};
  for (const LeafNote& note : notes_of({&tree, 1}))
    if ((note.tensor && note.text != "undefined") || note.variable != nullptr)
      result_texts_.push_back(note.path + (note.path.empty() ? "" : " ") + note.text);
  const Places result = places_in({&tree, 1}), again = places_in({&copy, 1});
  for (std::size_t i = 0; i < result.tensors.size(); ++i) {
    if (result.tensors[i] == again.tensors[i])
      refuse("the result holds a Tensor behind a pointer, which the results of all calls would share; return it by value.");
    if (result.tensors[i]->defined()) results_.push_back(tracer_.value_of(*result.tensors[i], nullptr, call_.at));
  }
  for (std::size_t i = 0; i < result.variables.size(); ++i) {
    if (locals_.contains(result.variables[i]->slot()))
      refuse("the result holds a local Variable, which is gone when the call ends; return its value(), or make it without local.");
    result_variables_.push_back(argument_of(result.variables[i]->slot()));
    if (result.variables[i] == again.variables[i] && result_variables_.back() >= 0)
      refuse("the result holds a Variable of an argument behind a pointer, which the results of all calls would share; return it by value.");
  }
}

bool Tracing::looks_at_identity() const {
  if (pinned_ || call_.leaves.variables.empty()) return false;
  for (const SlotRef& slot : stand_ins_)
    if (slot->identity_asked) return true;
  return std::any_of(touched_.begin(), touched_.end(), [&](const SlotRef& slot) { return is_passed(slot); });
}

void FunctionCall::begin(const Argument* copies) { state_->tracing->begin({copies, state_->arguments.size()}); }
void FunctionCall::returns(std::shared_ptr<void> pattern, void* twin, WalkFn walk) { state_->tracing->returns(std::move(pattern), twin, walk); }

}  // namespace weft::inline v0::detail
