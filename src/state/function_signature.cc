// What the arguments of a call must be: those that a signature declares, or those that a single trace was made for.
#include <algorithm>

#include "base/text.h"
#include "core/node.h"
#include "state/function_core.h"
#include <weft/ops.h>
#include <weft/print.h>

namespace weft::inline v0::detail {

std::vector<Spec> FunctionTrace::inputs() const {
  std::vector<Spec> specs;
  for (std::size_t i = 0; i < dtypes.size(); ++i) specs.push_back({dtypes[i], kind.shapes[i]});
  return specs;
}

namespace {

enum class Fit { kYes, kLater, kNo };

// Whether a tensor may be given where `declared` is. Later: sizes that are declared are not known while another Function is traced. Then
// what they turn out to be can be checked, and the tensor can be given the declared shape if not more than one size of it stays open.
Fit fit(const Tensor& tensor, const Shape& declared) {
  const Shape& shape = tensor.shape();
  if (shape.rank() != declared.rank()) return Fit::kNo;
  int open = 0, later = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    open += shape.dim(axis) == kUnknown && declared.dim(axis) == kUnknown;
    if (declared.dim(axis) == kUnknown || shape.dim(axis) == declared.dim(axis)) continue;
    if (shape.dim(axis) != kUnknown) return Fit::kNo;
    ++later;
  }
  return later == 0 ? Fit::kYes : open <= 1 ? Fit::kLater : Fit::kNo;
}

// The tensor under the declared shape, in the trace around. Sizes that do not agree will be an error of `reshape` if their product differs,
// too, for that is seen when the program is planned, and otherwise of `check`. REQUIRES: fit says later.
Tensor checked(Tensor tensor, const Shape& declared, const std::string& message, Location at) {
  if (symbol_of(tensor).trace == 0) return tensor;  // stands for all tensors that `trace` is asked for; the calls will be checked
  Shape shape = tensor.shape();
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (declared.dim(axis) == kUnknown || shape.dim(axis) == declared.dim(axis)) continue;
    check(equal(shape_of(tensor, {.dtype = i64}, at)[Index(axis, at)], Tensor(declared.dim(axis), at), at), message, at);
    shape.set(axis, declared.dim(axis));
  }
  return reshape(std::move(tensor), std::move(shape), at);
}

}  // namespace

// Returns whether some number has been cast. The notes are those of all arguments; they are made only to refuse one.
bool FunctionCore::cast_to(std::span<const Spec> declared, const char* by, std::span<Tensor* const> tensors,
                           FunctionRef<std::vector<LeafNote>()> notes, Location at) const {
  const auto sentence = [&](std::size_t which, const char* rule) {
    std::size_t seen = 0;
    for (const LeafNote& note : notes())
      if (note.spec && seen++ == which)
        return format("argument {} `{}` is {} and the {} {}; {}", note.argument, path_of(note), tensors[which]->spec().str(), by,
                      declared[which].str(), rule);
    return std::string(rule);
  };
  const auto refuse = [&](std::size_t which, const char* rule) { throw TraceError(name_, sentence(which, rule), at); };
  bool cast = false;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Tensor& tensor = *tensors[i];
    if (tensor.dtype() != declared[i].dtype && is_literal(tensor)) {
      const Literal number = tensor.node()->number();
      if (!literal_fits(number, declared[i].dtype)) refuse(i, "the number does not fit that dtype, pass another one.");
      tensor = make_scalar(number, declared[i].dtype, tensor.node()->made_at());
      cast = true;
    }
    if (tensor.dtype() != declared[i].dtype) refuse(i, "the dtypes must agree, cast it.");
    const Fit how = fit(tensor, declared[i].shape);
    if (how == Fit::kNo) refuse(i, "the sizes must be known and agree where they are declared.");
    if (how == Fit::kLater)
      tensor = checked(std::move(tensor), declared[i].shape, name_ + ": " + sentence(i, "these sizes differ"), at);
  }
  return cast;
}

void FunctionCore::apply_signature(std::span<const Argument> arguments, CallLeaves& leaves, Location at) const {
  if (options.signature.empty()) return;
  if (leaves.tensors.size() != options.signature.size()) {
    std::vector<std::string> names[2];
    const std::vector<LeafNote> notes = notes_of(arguments);
    const auto is_tensor = [](const LeafNote& note) { return note.kind == LeafNote::Kind::kTensor; };
    const bool for_each = static_cast<std::size_t>(std::count_if(notes.begin(), notes.end(), is_tensor)) == options.signature.size();
    for (std::size_t i = 0, which = 0; for_each && i < notes.size(); ++i) {
      if (is_tensor(notes[i]) && !notes[i].spec)
        throw TraceError(name_, format("argument {} `{}` is an empty handle and the signature says {}; give it a value.", notes[i].argument, path_of(notes[i]),
                                       options.signature[which].str()), at);
      which += is_tensor(notes[i]);
    }
    for (const LeafNote& note : notes)
      if (!note.is_structure()) names[note.spec ? 1 : 0].push_back("`" + path_of(note) + "`");
    const auto listed_of = [](const std::vector<std::string>& of) { return v0::listed(of.size(), 5, [&](std::size_t i) { return of[i]; }); };
    throw TraceError(name_, format("the arguments hold {}{} and the signature has {}; give one Spec for each Tensor{}.", counted(names[1].size(), "Tensor"),
                                   names[1].empty() ? "" : ", " + listed_of(names[1]) + ",", counted(options.signature.size(), "Spec"),
                                   names[0].empty() ? "" : ", and none for " + listed_of(names[0])), at);
  }
  if (cast_to(options.signature, "signature says", leaves.tensors, [&] { return notes_of(arguments); }, at)) leaves = leaves_of(arguments);
  for (std::size_t i = 0; i < leaves.tensors.size(); ++i) leaves.kind.shapes[i] = options.signature[i].shape;
}

void FunctionCore::require_kind(const FunctionTrace& trace, std::span<const Argument> arguments, CallLeaves& leaves, Location at) const {
  const auto refuse = [&](const std::string& sentence) {
    throw TraceError(name_, sentence + "; call the Function itself for another kind.", at);
  };
  if (trace.kind.takes(leaves.kind) && trace.same_aliases(leaves)) return;
  // First what is no Tensor, so that there are as many Tensors as Specs.
  const std::vector<LeafNote>& taken = trace.notes;
  const std::vector<LeafNote> given = notes_of(arguments);
  for (std::size_t i = 0; i < std::max(given.size(), taken.size()); ++i) {
    if (i >= given.size() || i >= taken.size() || !given[i].same_place(taken[i])) {
      const LeafNote& there = i < given.size() ? given[i] : taken[i];
      refuse(format("argument {} `{}` is in another place than in the trace", there.argument, path_of(there)));
    }
    if (given[i].spec && taken[i].spec) continue;
    for (const LeafChange& change : changes_of(trace, given, i))
      refuse(format("argument {} `{}` is {} and the trace takes {}", given[i].argument, path_of(given[i]), change.to, change.from));
  }
  if (cast_to(trace.inputs(), "trace takes", leaves.tensors, [&] { return given; }, at)) leaves = leaves_of(arguments);
  if (trace.kind.skeleton != leaves.kind.skeleton || !trace.same_aliases(leaves)) refuse(difference_beyond_leaves(trace));
}

void FunctionCore::require_flat(const FunctionTrace& trace, std::span<Tensor> tensors, Location at) const {
  if (trace.takes_variables)
    throw TraceError(name_, "an argument holds a Variable, which a list of Tensors does not; call it with the arguments.", at);
  const std::vector<Spec> declared = trace.inputs();
  if (tensors.size() != declared.size())
    throw TraceError(name_, format("{} Tensors are given and the trace takes {}; give those of the arguments in order.", tensors.size(),
                                   declared.size()), at);
  std::vector<Tensor*> places;
  for (Tensor& tensor : tensors) places.push_back(&tensor);
  cast_to(declared, "trace takes", places, [&] { return trace.notes; }, at);
}

std::string FunctionCore::signature_of(const FunctionTrace& trace) const {
  std::string text = (options.name.empty() ? "Function" : options.name) + "(";
  const std::vector<Spec> specs = trace.inputs();
  std::size_t tensors = 0;
  for (const LeafNote& note : trace.notes) {
    if (&note != &trace.notes.front()) text += ", ";
    text += path_of(note) + " " + (note.spec ? specs[tensors++].str() : note.shown());
  }
  text += ") -> ";
  const std::vector<std::string>& results = trace.result_texts;
  if (results.empty()) return text + "nothing";
  if (results.size() == 1) return text + results[0];
  for (std::size_t i = 0; i < results.size(); ++i) text += (i == 0 ? "(" : ", ") + results[i];
  return text + ")";
}

// --- what a single trace shows ---

Tensor stand_in(const Spec& spec, Location at) { return make_symbolic(spec, at); }

std::vector<Spec> SingleTrace::inputs() const { return known().inputs(); }

std::vector<Spec> SingleTrace::outputs() const {
  const Graph& graph = known().runner.graph();
  std::vector<Spec> specs;
  for (std::size_t i = 0; i < trace_->results; ++i) specs.push_back(graph.values[graph.outputs[i]].spec);
  return specs;
}

std::vector<Variable> SingleTrace::variables() const {
  std::vector<SlotRef> slots = known().captured;
  std::sort(slots.begin(), slots.end(), [](const SlotRef& a, const SlotRef& b) { return a->id < b->id; });
  std::vector<Variable> result;
  for (const SlotRef& slot : slots) result.push_back(Variable(slot));
  return result;
}

FunctionReport::Trace SingleTrace::explain() const { return report_of(known()); }
std::string SingleTrace::str() const {
  const FunctionTrace& trace = known();  // first: an empty handle has no core either
  return core_->signature_of(trace);
}

}  // namespace weft::inline v0::detail
