#include "state/function_arguments.h"

#include <algorithm>
#include <functional>

#include <weft/print.h>

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
  void holds(Holds what, std::size_t) override { places.pointers = places.pointers || what == Holds::kSomething; }
  Places places;
};

}  // namespace

Places places_in(std::span<const Argument> trees) {
  PlaceWalker walker;
  for (const Argument& tree : trees) Cursor::begin(walker, tree.at, true, tree.walk);
  return std::move(walker.places);
}

void FunctionCallState::refuse(const std::string& sentence) const { throw TraceError(core.name(), sentence, at); }

void require_apart(const FunctionCallState& call, std::span<const std::size_t> replaced) {
  const auto by_reference = [](const Argument& argument) { return argument.reference; };
  if (replaced.empty() || std::count_if(call.arguments.begin(), call.arguments.end(), by_reference) < 2) return;
  const CallList<Tensor*>& tensors = call.leaves.tensors;
  CallList<std::pair<const Tensor*, std::size_t>> places;
  for (std::size_t i = 0; i < tensors.size(); ++i) places.emplace_back(tensors[i], i);
  std::sort(places.begin(), places.end());
  for (const std::size_t which : replaced) {
    const auto first = std::lower_bound(places.begin(), places.end(), std::pair<const Tensor*, std::size_t>(tensors[which], 0)), second = first + 1;
    if (second == places.end() || second->first != first->first) continue;
    std::vector<const LeafNote*> of_tensors;
    const std::vector<LeafNote> notes = notes_of(call.arguments);
    for (const LeafNote& note : notes)
      if (note.spec) of_tensors.push_back(&note);
    const LeafNote &one = *of_tensors[first->second], &other = *of_tensors[second->second];
    call.refuse(format("argument {} `{}` and argument {} `{}` are the same Tensor, and the body replaces it, so that one of two values would be lost; pass "
                       "two Tensors.", one.argument, call.core.path_of(one), other.argument, call.core.path_of(other)));
  }
}

const std::vector<LeafNote>& GivenArguments::notes() {
  if (!notes_) notes_ = notes_of(call_.arguments);
  return *notes_;
}

void GivenArguments::begin(std::span<const Argument> copies) {
  copies_ = copies;
  const Places original = places_in(call_.arguments), copy = places_in(copies);
  const auto same_object = [](const Argument& a, const Argument& b) { return a.at == b.at; };
  if (original.pointers || !std::equal(copies.begin(), copies.end(), call_.arguments.begin(), std::not_fn(same_object))) notes();
  for (std::size_t i = 0; i < copy.tensors.size(); ++i) {
    if (copy.tensors[i] != original.tensors[i]) continue;
    std::size_t left = i;
    const auto note = std::find_if(notes().begin(), notes().end(), [&](const LeafNote& each) { return each.kind == LeafNote::Kind::kTensor && left-- == 0; });
    call_.refuse("`" + (note == notes().end() ? "an argument" : call_.core.path_of(*note)) + "` is a Tensor behind a pointer, or in an object that cannot be "
           "copied, so the body would work on it and not on a copy; pass it as an argument of its own, or hold it in a Variable.");
  }
}

void GivenArguments::hand_over() {
  tensors_.clear(), slots_.clear();
  const Places places = places_in(copies_);
  for (const Tensor* tensor : places.tensors)
    if (tensor->defined()) tensors_.push_back(*tensor);
  for (const Variable* variable : places.variables) slots_.push_back(variable->slot());
}

// Whether what is new in an argument that is no copy is Variables that the body has made and what holds them: the first step of an optimizer
// makes some. The next call will have them.
bool GivenArguments::only_has_more(const std::vector<LeafNote>& now) {
  const std::vector<LeafNote>& old_notes = notes();
  std::size_t old = 0;
  for (const LeafNote& note : now) {
    const LeafNote* const before = old < old_notes.size() && old_notes[old].same_place(note) ? &old_notes[old] : nullptr;
    const bool made = note.slot != nullptr && note.slot->id >= first_made_;
    if (before != nullptr && (before->text == note.text || (before->is_structure() && (made || note.is_structure())))) ++old;
    else if (!made && !note.is_structure()) return false;
  }
  return old == old_notes.size();
}

void GivenArguments::require_unchanged(bool may_grow) {
  const std::string remedy = " by the body, which later calls would not do; return the new value, or hold it in a Variable.";
  const CallLeaves after = leaves_of(copies_);
  if (after.tensors.size() != tensors_.size() || after.kind.skeleton != call_.leaves.kind.skeleton) {
    const std::vector<LeafNote>&old = notes(), fresh = notes_of(copies_);
    if (may_grow && after.tensors.size() == tensors_.size() && only_has_more(fresh) && leaves_of(call_.arguments).kind.skeleton == after.kind.skeleton) {
      grew_ = true;
      return;
    }
    for (std::size_t i = 0; i < std::min(old.size(), fresh.size()); ++i)
      if (old[i].path != fresh[i].path || old[i].text != fresh[i].text)
        call_.refuse("`" + call_.core.path_of(fresh[i]) + "` is changed from " + old[i].shown() + " to " + fresh[i].shown() + remedy);
    call_.refuse("the structure of an argument is changed" + remedy);
  }
  const Places now = places_in(copies_);
  for (std::size_t i = 0; i < slots_.size(); ++i)
    if (now.variables[i]->slot() != slots_[i]) call_.refuse("a Variable in an argument is replaced by another one, not assigned to" + remedy);
}

GivenArguments::Replaced GivenArguments::replaced() const {
  Replaced result;
  std::size_t known = 0;
  for (std::size_t i = 0; i < copies_.size(); ++i)
    for (const Tensor* tensor : places_in({&copies_[i], 1}).tensors) {
      if (!tensor->defined()) continue;
      if (call_.arguments[i].reference && !tensor->same_as(tensors_[known])) result.which.push_back(known), result.by.push_back(*tensor);
      ++known;
    }
  return result;
}

}  // namespace weft::inline v0::detail
