// One run of a Function's body on symbols, from which a trace is made.
#pragma once

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "graph/replay.h"
#include "graph/tracer.h"
#include "state/follower.h"
#include "state/function_arguments.h"
#include "state/installed.h"

namespace weft::inline v0::detail {

// The interpreter of a trace. What is read of Variables is no business of tapes below: they will see the call. But of a call they see what
// Variables held before it, while a body that reads what it has written gives them that to follow, if they watch it: they must run such a body.
class FunctionTracer final : public Tracer {
 public:
  FunctionTracer(Graph& graph, Transaction& transaction, std::shared_ptr<TracedProgram> program)
      : Tracer(graph, std::move(program)), transaction_(transaction) {}
  Tensor read(std::uint64_t, const Variable& variable, Tensor value, Location at) override {
    const SlotRef& slot = variable.slot();
    if (!is_floating(variable.dtype()) || slot->role == Slot::Role::kLocal || !transaction_.has_written(slot)) return value;
    transaction_.symbols->own_read(slot);
    return read_of_written(*this, variable, std::move(value), false, at);
  }

 private:
  Transaction& transaction_;
};

// One run of the body.
class Tracing final : public SlotSymbols {
 public:
  Tracing(FunctionCallState& call, const CallKind& kind, bool pinned, std::shared_ptr<TracedProgram> program)
      : call_(call), kind_(kind), pinned_(pinned), tracer_(graph_, transaction_, std::move(program)) {
    if (call.core.options.strict) tracer_.refuse_constants();
    graph_.without = call.core.options.without;
    transaction_.symbols = this;
    call_by(given_.notes());
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
    for (const SlotRef& slot : locals_) slot->role = Slot::Role::kLocalExpired;
  }

  void run(FunctionRef<void()> body) {
    const Transaction::Scope scope(&transaction_);
    const Installed<Tracer&> installed(tracer_);
    body();
  }

  void begin(std::span<const Argument> copies);
  void returns(std::shared_ptr<void> pattern, void* twin, WalkFn walk);
  /// Whether the trace depends on which Variables were passed, not only on their Specs.
  bool looks_at_identity() const;
  /// Those that were passed and are captured, too. REQUIRES: the trace is not pinned.
  std::unordered_set<SlotRef> captured_arguments() const;
  /// Whether the body has put Variables that it made into an argument.
  bool grew() const { return given_.grew(); }
  /// What the arguments are since; valid as long as this.
  void call_by(const std::vector<LeafNote>& notes) {
    for (const LeafNote& note : notes)
      if (note.slot != nullptr) titles_.try_emplace(note.slot.get(), &note);
  }
  std::shared_ptr<FunctionTrace> finish();
  const std::vector<MadeSlot>& made_slots() const { return made_; }

  void touched(const SlotRef& slot) override { touched_.insert(slot); }
  Tensor symbol_for(const SlotRef& slot, Location at) override;
  SlotRef made(SlotRef slot) override;
  Tensor known(const Tensor& symbol) override { return tracer_.owns(symbol) ? known_value(graph_, tracer_.value_of(symbol, nullptr, {})) : Tensor(); }
  void made_local(const SlotRef& slot) override {
    slot->role = Slot::Role::kLocal;
    locals_.insert(slot);
  }
  Tensor each_call(const EachCall& asked) override {
    Tensor symbol = tracer_.input(asked.spec, asked.at);
    asked_.push_back(asked), asked_values_.push_back(tracer_.value_of(symbol, nullptr, asked.at));
    return symbol;
  }
  void froze(const Tensor& value, const Op* user, Location at) override {
    if (const std::optional<Location> written = tracer_.written_at(value)) list_frozen(frozen_, {value, user, *written, true});
    else tracer_.value_of(value, user, at);
  }
  void walked(const NamedVariables& tree) override { walked_.push_back(tree); }
  void own_gradient(std::span<const Tensor>) override { own_gradients_ = true; }
  void own_read(const SlotRef& slot) override {
    if (slot->options.trainable) own_gradients_ = true;
    else if (std::find(read_again_.begin(), read_again_.end(), slot) == read_again_.end()) read_again_.push_back(slot);
  }

 private:
  const std::vector<Tensor>& symbols() const { return given_.tensors(); }  // of the arguments' Tensors
  static void list_frozen(std::vector<FunctionReport::Constant>& list, const GraphConstant& constant);
  FunctionReport::Trace first_report() const;
  void name_walked();
  SlotUse use_of(const SlotRef& slot) const;
  std::ptrdiff_t argument_of(const SlotRef& slot) const;
  std::vector<std::int32_t> old_values(const std::vector<SlotUse>& reads) const;
  void order_inputs();
  void guard(const std::vector<SlotUse>& writes);
  /// Calls f for what the body has written to Variables that outlive the call.
  template <class F>
  void each_write(const F& f) const {
    transaction_.each_write([&](const SlotRef& slot, const Tensor& value, const char* by, Location at) {
      if (!locals_.contains(slot)) f(slot, value, by, at);
    });
  }
  bool is_passed(const SlotRef& slot) const { return passed_.contains(slot.get()); }

  FunctionCallState& call_;
  const CallKind& kind_;
  const bool pinned_;
  GivenArguments given_{call_};
  Graph graph_;
  Transaction transaction_;
  FunctionTracer tracer_;
  std::vector<SlotRef> stand_ins_;   // for the call's Variables, in their order
  std::unordered_map<const Slot*, std::size_t> passed_, stands_in_;  // which of the call's Variables a slot is, or stands in for
  std::unordered_map<const Slot*, const LeafNote*> titles_;          // of those passed, where they were met first
  std::vector<NamedVariables> walked_;                   // trees that the body has gone through
  std::unordered_map<const Slot*, std::string> paths_;   // in them
  std::vector<SlotRef> reads_, read_again_;
  std::vector<EachCall> asked_;
  std::vector<ValueId> asked_values_;  // the inputs for them
  std::unordered_set<SlotRef> locals_;
  std::vector<FunctionReport::Constant> frozen_;  // that are no constants of this graph
  std::unordered_set<SlotRef> touched_;  // read, written, or looked at in another way
  bool own_gradients_ = false;
  std::vector<MadeSlot> made_;       // by the body, in this trace
  std::shared_ptr<void> pattern_;
  std::vector<ValueId> results_, replacements_;
  std::vector<std::size_t> replaced_;
  std::vector<std::ptrdiff_t> result_variables_;
  std::vector<std::string> result_texts_;
};

}  // namespace weft::inline v0::detail
