// Tracing a Function: one run of its body on symbols.
#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <unordered_set>

#include "graph/guard.h"
#include "base/planted.h"
#include "graph/passes.h"
#include "graph/tracer.h"
#include "ops/table.h"
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
      throw TraceError("Function", "a Tensor or Variable in an argument or result is a const member; it cannot take the values of a call, "
                                   "make it an ordinary member.", {});
  }
  Places places;
};

Places places_in(std::span<const Argument> trees) {
  PlaceWalker walker;
  for (const Argument& tree : trees) Cursor::begin(walker, tree.at, true, tree.walk);
  return std::move(walker.places);
}

// The interpreter of a trace. What is read of Variables is no business of tapes below: they will see the call. But of a call they see what
// Variables held before it, while a body that reads what it has written gives them that to follow.
class FunctionTracer final : public Tracer {
 public:
  FunctionTracer(Graph& graph, Transaction& transaction) : Tracer(graph), transaction_(transaction) {}
  Tensor read(std::uint64_t, const Variable& variable, Tensor value, Location) override {
    if (variable.trainable() && is_floating(variable.dtype()) && transaction_.has_written(variable.slot())) transaction_.symbols->own_read();
    return value;
  }

 private:
  Transaction& transaction_;
};

}  // namespace

// One run of the body.
class Tracing final : public SlotSymbols {
 public:
  Tracing(FunctionCallState& call, const CallKind& kind, bool pinned) : call_(call), kind_(kind), pinned_(pinned), tracer_(graph_, transaction_) {
    if (call.core.options.strict) tracer_.refuse_constants();
    transaction_.symbols = this;
    for (const LeafNote& note : notes_)
      if (note.variable != nullptr) titles_.try_emplace(note.variable->slot().get(), &note);
    for (const Variable* variable : call.leaves.variables) passed_.emplace(variable->slot().get(), passed_.size());
    if (pinned) return;
    for (const Variable* variable : call.leaves.variables) {
      const Slot& passed = *variable->slot();
      const auto slot = std::make_shared<Slot>(read_latest(*variable->slot()), passed.declared, passed.options, passed.made_at);
      slot->role = Slot::Role::kStandsIn;
      stands_in_.emplace(slot.get(), stand_ins_.size());
      stand_ins_.push_back(slot);
    }
  }
  ~Tracing() override {
    for (const SlotRef& slot : stand_ins_) slot->role = Slot::Role::kExpired;
  }

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
  void returns(std::shared_ptr<void> pattern, void* twin, WalkFn walk);
  /// Whether the trace depends on which Variables were passed, not only on their Specs.
  bool looks_at_identity() const;
  std::shared_ptr<FunctionTrace> finish();
  const std::vector<MadeSlot>& made_slots() const { return made_; }

  void touched(const SlotRef& slot) override { touched_.insert(slot); }
  Tensor symbol_for(const SlotRef& slot, Location at) override {
    reads_.push_back(slot);
    touched_.insert(slot);
    if (planted(Bug::kBakesReads)) return read_latest(*slot);
    return tracer_.input(slot->declared, at);
  }
  SlotRef made(SlotRef slot) override;
  void own_gradient() override { own_gradients_ = true; }
  void own_read() override { own_gradients_ = true; }

 private:
  void refuse(const std::string& sentence) const { throw TraceError(call_.core.name(), sentence, call_.at); }
  std::string tensor_path(std::size_t which) const;
  void require_unchanged(const Places& now) const;
  void find_replaced(const Places& now);
  FunctionReport::Trace first_report() const;
  SlotUse use_of(const SlotRef& slot) const;
  std::ptrdiff_t argument_of(const SlotRef& slot) const;
  std::vector<std::int32_t> old_values(const std::vector<SlotUse>& reads) const;
  bool is_passed(const SlotRef& slot) const { return passed_.contains(slot.get()); }

  FunctionCallState& call_;
  const CallKind& kind_;
  const bool pinned_;
  const std::vector<LeafNote> notes_ = notes_of(call_.arguments);
  Graph graph_;
  Transaction transaction_;
  FunctionTracer tracer_;
  std::span<const Argument> copies_;
  std::vector<Tensor> symbols_;      // of the arguments' Tensors
  std::vector<SlotRef> stand_ins_;   // for the call's Variables, in their order
  std::unordered_map<const Slot*, std::size_t> passed_, stands_in_;  // which of the call's Variables a slot is, or stands in for
  std::unordered_map<const Slot*, const LeafNote*> titles_;          // of those passed, where they were met first
  std::vector<SlotRef> given_;       // what the Variables in the copies are, one by one
  std::vector<SlotRef> reads_;
  std::unordered_set<SlotRef> touched_;  // read, or looked at in another way
  bool shared_variables_ = false;    // some lie behind pointers, where nothing can stand in
  bool own_gradients_ = false;
  std::vector<MadeSlot> made_;       // by the body, in this trace
  std::shared_ptr<void> pattern_;
  std::vector<ValueId> results_, replacements_;
  std::vector<std::size_t> replaced_;
  std::vector<std::ptrdiff_t> result_variables_;
  std::vector<std::string> result_texts_;
};

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
    if (copy.variables[i] == original.variables[i]) {
      shared_variables_ = true;
      continue;
    }
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

void Tracing::require_unchanged(const Places& now) const {
  const std::string remedy = " by the body, which later calls would not do; return the new value, or hold it in a Variable.";
  const CallLeaves after = leaves_of(copies_);
  if (after.tensors.size() != symbols_.size() || after.kind.skeleton != call_.leaves.kind.skeleton) {
    const std::vector<LeafNote> old = notes_of(call_.arguments), fresh = notes_of(copies_);
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
    result_variables_.push_back(argument_of(result.variables[i]->slot()));
    if (result.variables[i] == again.variables[i] && result_variables_.back() >= 0)
      refuse("the result holds a Variable of an argument behind a pointer, which the results of all calls would share; return it by value.");
  }
}

bool Tracing::looks_at_identity() const {
  if (pinned_ || call_.leaves.variables.empty()) return false;
  if (shared_variables_) return true;
  for (const SlotRef& slot : stand_ins_)
    if (slot->identity_asked) return true;
  bool aliases = std::any_of(touched_.begin(), touched_.end(), [&](const SlotRef& slot) { return is_passed(slot); });
  transaction_.each_write([&](const SlotRef& slot, const Tensor&, const char*, Location) { aliases = aliases || is_passed(slot); });
  return aliases;
}

SlotUse Tracing::use_of(const SlotRef& slot) const {
  const std::ptrdiff_t argument = argument_of(slot);
  const SlotRef& passed = argument < 0 ? slot : call_.leaves.variables[static_cast<std::size_t>(argument)]->slot();
  const auto note = titles_.find(passed.get());
  std::string title = note != titles_.end() ? call_.core.path_of(*note->second) : slot->title();
  if (argument >= 0) return {argument, std::nullopt, std::move(title)};
  return {-1, Variable(slot), std::move(title)};
}

// For each write, which input of the graph has the value that it replaces. A Variable whose shape may change is not changed in place.
std::vector<std::int32_t> Tracing::old_values(const std::vector<SlotUse>& reads) const {
  std::vector<std::int32_t> result;
  bool fixed = true;
  transaction_.each_write([&](const SlotRef& slot, const Tensor&, const char*, Location) {
    fixed = fixed && slot->declared.shape.known();
    const std::ptrdiff_t argument = argument_of(slot);
    const auto found = std::find_if(reads.begin(), reads.end(), [&](const SlotUse& use) {
      return argument >= 0 ? use.argument == argument : use.argument < 0 && use.captured->slot() == slot;
    });
    result.push_back(found == reads.end() ? -1 : static_cast<std::int32_t>(symbols_.size()) + static_cast<std::int32_t>(found - reads.begin()));
  });
  return fixed ? result : std::vector<std::int32_t>();
}

// What the program has frozen is looked at before passes fold it.
FunctionReport::Trace Tracing::first_report() const {
  FunctionReport::Trace report;
  for (const GraphConstant& constant : graph_.constants)
    if (!is_own_line(constant.at))
      report.constants.push_back({constant.value.size() <= 8 ? constant.value.str() : constant.value.spec().str(),
                                  constant.used_by != nullptr ? constant.used_by->name : "return", constant.at, constant.value.node()->line != 0});
  return report;
}

std::shared_ptr<FunctionTrace> Tracing::finish() {
  graph_.outputs.insert(graph_.outputs.end(), results_.begin(), results_.end());
  graph_.outputs.insert(graph_.outputs.end(), replacements_.begin(), replacements_.end());
  std::vector<SlotUse> writes;
  transaction_.each_write([&](const SlotRef& slot, const Tensor& value, const char*, Location at) {
    graph_.outputs.push_back(tracer_.value_of(value, nullptr, at));
    writes.push_back(use_of(slot));
  });
#ifndef NDEBUG
  verify(graph_, "tracing");
#endif
  FunctionReport::Trace report = first_report();
  if (call_.core.options.check_numerics) guard_numerics(graph_, *find_row("check_numerics"));
  const Optimized optimized = optimize(graph_, symbols_.size(), call_.core.options.without);
  for (const Optimized::Figures& pass : optimized.passes)
    report.passes.push_back({pass.pass, pass.calls_before, pass.calls_after, pass.microseconds});
  std::vector<SlotUse> reads;
  for (std::size_t i = 0; i < reads_.size(); ++i)
    if (optimized.kept_inputs[symbols_.size() + i]) reads.push_back(use_of(reads_[i]));
  auto trace = std::make_shared<FunctionTrace>(std::move(graph_), old_values(reads));
  trace->reads = std::move(reads);
  trace->writes = std::move(writes);
  trace->kind = kind_;
  trace->results = results_.size();
  trace->replaced = std::move(replaced_);
  trace->pattern = std::move(pattern_);
  trace->result_variables = std::move(result_variables_);
  trace->result_texts = std::move(result_texts_);
  trace->takes_variables = !call_.leaves.variables.empty();
  trace->own_gradients = own_gradients_;
  for (const Tensor& symbol : symbols_) trace->dtypes.push_back(symbol.dtype());
  trace->exact = std::all_of(kind_.shapes.begin(), kind_.shapes.end(), [](const Shape& shape) { return shape.known(); });
  trace->at_once = !call_.core.options.run_eagerly && call_.leaves.variables.empty() && trace->replaced.empty() &&
                   symbols_.size() == call_.arguments.size() && trace->result_variables.empty();
  if (call_.leaves.variables.empty()) {
    for (const SlotUse& use : trace->reads) trace->read_slots.push_back(use.captured->slot());
    for (const SlotUse& use : trace->writes) trace->written_slots.push_back(use.captured->slot());
    for (const SlotRef& slot : trace->read_slots) trace->read_order.push_back(slot.get());
    std::sort(trace->read_order.begin(), trace->read_order.end(), [](const Slot* a, const Slot* b) { return a->id < b->id; });
  }
  if (pinned_)
    for (const Variable* variable : call_.leaves.variables) trace->pinned.push_back(variable->slot());
  for (const SlotUse& use : trace->writes)
    if (use.argument < 0) touched_.insert(use.captured->slot());
  for (const SlotRef& slot : touched_)
    if (argument_of(slot) < 0) trace->captured.push_back(slot);
  std::sort(trace->captured.begin(), trace->captured.end());
  for (const SlotUse& use : trace->reads) report.reads.push_back(use.title);
  for (const SlotUse& use : trace->writes) report.writes.push_back(use.title);
  report.ops = trace->runner.graph().nodes.size();
  trace->report = std::move(report);
  return trace;
}

void FunctionCall::begin(const Argument* copies) { state_->tracing->begin({copies, state_->arguments.size()}); }
void FunctionCall::returns(std::shared_ptr<void> pattern, void* twin, WalkFn walk) { state_->tracing->returns(std::move(pattern), twin, walk); }

// --- the core ---

std::shared_ptr<FunctionTrace> FunctionCore::trace(FunctionCallState& call, FunctionRef<void()> body) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<LeafNote> notes = notes_of(call.arguments);
  std::string cause = cause_of(notes);
  if (options.no_retrace && cause != "first call")
    throw TraceError(name_, "this call would be traced anew: " + cause + "; pass arguments of the kind traced first, or leave out no_retrace.", call.at);
  struct Now {
    explicit Now(int& n) : count(n) { ++count; }
    ~Now() { --count; }
    int& count;
  } now(tracing_now_);
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
      if (pinned) throw;  // of a Variable that stands in for an argument of the Function around
      continue;
    } catch (...) {
      if (!tracing.looks_at_identity()) throw;  // otherwise it may come of that
      continue;
    }
    if (tracing.looks_at_identity()) continue;
    made = tracing.finish();
    keep_made(tracing.made_slots());
    break;
  }
  made->notes = std::move(notes);
  for (LeafNote& note : made->notes) {
    made->report.arguments.push_back(path_of(note) + " " + note.text);
    note.variable = nullptr;  // the arguments end with the call
  }
  made->report.cause = std::move(cause);
  made->report.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  keep(made);
  if (!call.asked && tracing_now_ == 1 && made->report.cause != "first call") warn_of_retraces(made->report.cause);
  return made;
}

}  // namespace weft::inline v0::detail
