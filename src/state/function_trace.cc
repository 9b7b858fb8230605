// Tracing a Function: one run of its body on symbols.
#include <algorithm>
#include <chrono>

#include "graph/passes.h"
#include "graph/tracer.h"
#include "state/function_core.h"
#include <weft/print.h>

namespace weft::inline v0::detail {
namespace {

// Where the Tensors and Variables of some trees are, in order.
struct Places {
  std::vector<Tensor*> tensors;
  std::vector<Variable*> variables;
};

class PlaceWalker final : public TreeWalker {
 public:
  void leaf(const TreeLeaf& leaf) override {
    if (Tensor* const tensor = leaf.as<Tensor>()) places.tensors.push_back(tensor);
    else if (Variable* const variable = leaf.as<Variable>()) places.variables.push_back(variable);
    else if (leaf.kind() != TreeLeaf::Kind::kHost)
      throw TraceError("Function", "a member of an argument or result is const; a const Tensor or Variable cannot take the values of a call.", {});
  }
  Places places;
};

Places places_in(std::span<const Argument> trees) {
  PlaceWalker walker;
  for (const Argument& tree : trees) Cursor::begin(walker, tree.at, true, tree.walk);
  return std::move(walker.places);
}

// Whether a line is Weft's own: rows and gradients are ordinary code, with numbers of their own that no program has frozen.
bool is_own_line(Location at) {
  constexpr std::string_view here = __FILE__;
  constexpr std::string_view sources = here.substr(0, here.rfind("state/"));
  return std::string_view(at.file).starts_with(sources);
}

// The interpreter of a trace. What is read of Variables is no business of tapes below: they will see the call.
class FunctionTracer final : public Tracer {
 public:
  using Tracer::Tracer;
  Tensor read(std::uint64_t, const Variable&, Tensor value, Location) override { return value; }
};

}  // namespace

// One run of the body.
class Tracing final : public SlotSymbols {
 public:
  Tracing(FunctionCallState& call, const CallKind& kind, bool pinned) : call_(call), kind_(kind), pinned_(pinned), tracer_(graph_) {
    if (call.core.options.strict) tracer_.refuse_constants();
    transaction_.symbols = this;
    if (pinned) return;
    for (const Variable* variable : call.leaves.variables) {
      const Slot& passed = *variable->slot();
      const auto slot = std::make_shared<Slot>(read_latest(*variable->slot()), passed.declared, passed.options, passed.made_at);
      slot->stands_in = true;
      stand_ins_.emplace_back(slot);
    }
  }
  ~Tracing() override { restore(); }

  void run(FunctionRef<void()> body) {
    struct Installed {
      explicit Installed(Tracer& t) : tracer(t) { tracer.install(); }
      ~Installed() { tracer.remove(); }
      Tracer& tracer;
    };
    const Transaction::Scope scope(&transaction_);
    const Installed installed(tracer_);
    body();
  }

  void begin(std::span<const Argument> copies);
  void returns(std::shared_ptr<void> pattern, WalkFn walk);
  /// Whether the trace depends on which Variables were passed, not only on their Specs.
  bool looks_at_identity() const;
  std::shared_ptr<FunctionTrace> finish();

  Tensor symbol_for(const SlotRef& slot, Location at) override {
    reads_.push_back(slot);
    return tracer_.input(slot->declared, at);
  }

 private:
  void restore() noexcept;
  bool only_tensors() const {
    return std::all_of(call_.arguments.begin(), call_.arguments.end(), [](const Argument& argument) { return argument.walk == kWalk<Tensor>; }) &&
           symbols_.size() == call_.arguments.size();
  }
  SlotUse use_of(const SlotRef& slot) const;
  std::ptrdiff_t argument_of(const SlotRef& slot) const;

  FunctionCallState& call_;
  const CallKind& kind_;
  const bool pinned_;
  Graph graph_;
  FunctionTracer tracer_;
  Transaction transaction_;
  std::span<const Argument> copies_;
  std::vector<Tensor> symbols_, originals_;      // of the arguments' Tensors
  std::vector<std::pair<Tensor*, Tensor>> lent_;  // places outside of the copies, and what they hold otherwise
  std::vector<Variable> stand_ins_;              // for the call's Variables, in their order
  std::vector<SlotRef> reads_;
  bool shared_variables_ = false;                // some lie behind pointers, where nothing can stand in
  std::shared_ptr<void> pattern_;
  std::vector<ValueId> results_, replacements_;
  std::vector<std::size_t> replaced_;
  std::vector<std::ptrdiff_t> result_variables_;
};

// The copies hold symbols for Tensors and, unless the trace is pinned, Variables that stand in for those passed: what the body does to
// them it does to an argument, what it does to others it does to something that it holds itself.
void Tracing::begin(std::span<const Argument> copies) {
  copies_ = copies;
  const Places original = places_in(call_.arguments), copy = places_in(copies);
  std::size_t known = 0;
  for (std::size_t i = 0; i < copy.tensors.size(); ++i) {
    if (!copy.tensors[i]->defined()) continue;
    const Spec spec{copy.tensors[i]->dtype(), kind_.shapes[known++]};
    if (copy.tensors[i] == original.tensors[i]) lent_.emplace_back(copy.tensors[i], *copy.tensors[i]);
    originals_.push_back(*copy.tensors[i]);
    symbols_.push_back(tracer_.input(spec, call_.at));
    *copy.tensors[i] = symbols_.back();
  }
  if (pinned_) return;
  for (std::size_t i = 0; i < copy.variables.size(); ++i) {
    if (copy.variables[i] == original.variables[i]) {
      shared_variables_ = true;
      continue;
    }
    const auto& all = call_.leaves.variables;
    const auto which = std::find_if(all.begin(), all.end(), [&](const Variable* v) { return v->same_slot(*original.variables[i]); });
    *copy.variables[i] = Variable(stand_ins_[static_cast<std::size_t>(which - all.begin())]);
  }
}

void Tracing::restore() noexcept {
  for (auto& [place, value] : lent_) *place = std::move(value);
  lent_.clear();
}

std::ptrdiff_t Tracing::argument_of(const SlotRef& slot) const {
  for (std::size_t i = 0; i < stand_ins_.size(); ++i)
    if (stand_ins_[i].slot() == slot) return static_cast<std::ptrdiff_t>(i);
  return -1;
}

// Called while the copies live: what the body has put into them is looked at here.
void Tracing::returns(std::shared_ptr<void> pattern, WalkFn walk) {
  const Places now = places_in(copies_);
  std::size_t known = 0;
  CallLeaves after = leaves_of(copies_);
  if (after.tensors.size() != symbols_.size() || after.kind.skeleton != call_.leaves.kind.skeleton)
    throw TraceError(call_.core.name(), "the body changes the structure or a host value of an argument, which later calls would not do; "
                     "return the new value, or hold it in a Variable.", call_.at);
  for (Tensor* const tensor : now.tensors) {
    if (!tensor->defined()) continue;
    if (!tensor->same_as(symbols_[known])) {
      std::size_t leaves = 0;  // only what was passed by reference is anybody's concern
      bool reference = false;
      for (const Argument& argument : call_.arguments) {
        const Places inside = places_in({&argument, 1});
        leaves += static_cast<std::size_t>(std::count_if(inside.tensors.begin(), inside.tensors.end(), [](Tensor* t) { return t->defined(); }));
        if (known < leaves) {
          reference = argument.reference;
          break;
        }
      }
      if (reference) {
        replaced_.push_back(known);
        replacements_.push_back(tracer_.value_of(*tensor, nullptr, call_.at));
      }
    }
    ++known;
  }
  if (walk == nullptr) return;
  pattern_ = std::move(pattern);
  const Argument tree{pattern_.get(), walk, false};
  const Places result = places_in({&tree, 1});
  for (const Tensor* tensor : result.tensors)
    if (tensor->defined()) results_.push_back(tracer_.value_of(*tensor, nullptr, call_.at));
  for (const Variable* variable : result.variables) result_variables_.push_back(argument_of(variable->slot()));
}

bool Tracing::looks_at_identity() const {
  if (pinned_ || call_.leaves.variables.empty()) return false;
  if (shared_variables_) return true;
  for (const Variable& variable : stand_ins_)
    if (variable.slot()->identity_asked) return true;
  const auto passed = [&](const SlotRef& slot) {
    return std::any_of(call_.leaves.variables.begin(), call_.leaves.variables.end(), [&](const Variable* v) { return v->slot() == slot; });
  };
  bool aliases = std::any_of(reads_.begin(), reads_.end(), passed);
  transaction_.each_write([&](const SlotRef& slot, const Tensor&, const char*, Location) { aliases = aliases || passed(slot); });
  return aliases;
}

SlotUse Tracing::use_of(const SlotRef& slot) const {
  const std::ptrdiff_t argument = argument_of(slot);
  const auto& all = call_.leaves.variables;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (argument != static_cast<std::ptrdiff_t>(i) && all[i]->slot() != slot) continue;
    for (const LeafNote& note : notes_of(call_.arguments))
      if (note.variable != nullptr && note.variable->same_slot(*all[i])) return {argument, Variable(*all[i]), call_.core.path_of(note)};
  }
  return {-1, Variable(slot), slot->title()};
}

std::shared_ptr<FunctionTrace> Tracing::finish() {
  graph_.outputs.insert(graph_.outputs.end(), results_.begin(), results_.end());
  graph_.outputs.insert(graph_.outputs.end(), replacements_.begin(), replacements_.end());
  std::vector<SlotUse> writes;
  transaction_.each_write([&](const SlotRef& slot, const Tensor& value, const char* by, Location at) {
    graph_.outputs.push_back(tracer_.value_of(value, nullptr, at));
    writes.push_back(use_of(slot));
    writes.back().by = by;
    writes.back().at = at;
  });
  FunctionReport::Trace report;
  for (const GraphConstant& constant : graph_.constants)
    if (!is_own_line(constant.at)) report.constants.push_back({constant.value.size() <= 8 ? constant.value.str() : constant.value.spec().str(),
                                constant.used_by != nullptr ? constant.used_by->name : "return", constant.at, constant.value.node()->line != 0});
#ifndef NDEBUG
  verify(graph_, "tracing");
#endif
  share_equal(graph_);
  fold_constants(graph_);
  const std::vector<bool> kept = drop_dead(graph_, symbols_.size());
  auto trace = std::make_shared<FunctionTrace>(std::move(graph_));
  for (std::size_t i = 0; i < reads_.size(); ++i)
    if (kept[symbols_.size() + i]) trace->reads.push_back(use_of(reads_[i]));
  trace->writes = std::move(writes);
  trace->kind = kind_;
  trace->results = results_.size();
  trace->replaced = std::move(replaced_);
  trace->pattern = std::move(pattern_);
  trace->result_variables = std::move(result_variables_);
  for (const Tensor& symbol : symbols_) trace->dtypes.push_back(symbol.dtype());
  trace->exact = std::all_of(kind_.shapes.begin(), kind_.shapes.end(), [](const Shape& shape) { return shape.known(); });
  // Arguments that are Tensors and nothing else, all defined, have one leaf each.
  trace->at_once = call_.leaves.variables.empty() && trace->replaced.empty() && only_tensors() && trace->result_variables.empty();
  if (call_.leaves.variables.empty()) {
    for (const SlotUse& use : trace->reads) trace->read_slots.push_back(use.captured.slot());
    for (const SlotUse& use : trace->writes) trace->written_slots.push_back(use.captured.slot());
  }
  if (pinned_)
    for (const Variable* variable : call_.leaves.variables) trace->pinned.push_back(*variable);
  for (const SlotUse& use : trace->reads) report.reads.push_back(use.title);
  for (const SlotUse& use : trace->writes) report.writes.push_back(use.title);
  report.ops = trace->runner.graph().nodes.size();
  trace->report = std::move(report);
  return trace;
}

void FunctionCall::begin(const Argument* copies) { state_->tracing->begin({copies, state_->arguments.size()}); }
void FunctionCall::returns(std::shared_ptr<void> pattern, WalkFn walk) { state_->tracing->returns(std::move(pattern), walk); }

// --- the core ---

std::shared_ptr<FunctionTrace> FunctionCore::trace(FunctionCallState& call, FunctionRef<void()> body) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<LeafNote> notes = notes_of(call.arguments);
  std::string cause = cause_of(notes);
  if (options.no_retrace && cause != "first call")
    throw TraceError(name_, "this call would be traced anew: " + cause + "; pass arguments of the kind traced first, or allow it.", call.at);
  CallKind kind = call.leaves.kind;
  if (options.reduce_retracing) relax(kind);
  std::shared_ptr<FunctionTrace> made;
  for (const bool pinned : {false, true}) {
    Tracing tracing(call, kind, pinned);
    struct Current {
      Current(FunctionCallState& c, Tracing* t) : call(c), before(std::exchange(c.tracing, t)) {}
      ~Current() { call.tracing = before; }
      FunctionCallState& call;
      Tracing* before;
    } current(call, &tracing);
    try {
      tracing.run(body);
    } catch (const IdentityAsked&) {
      continue;
    } catch (...) {
      if (!tracing.looks_at_identity()) throw;  // otherwise it may come of that
      continue;
    }
    if (tracing.looks_at_identity()) continue;
    made = tracing.finish();
    break;
  }
  made->notes = std::move(notes);
  for (const LeafNote& note : made->notes) made->report.arguments.push_back(path_of(note) + " " + note.text);
  made->report.cause = std::move(cause);
  made->report.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  keep(made);
  return made;
}

}  // namespace weft::inline v0::detail
