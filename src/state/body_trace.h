// Tracing a part of a program: a branch, or the body of a loop.
#pragma once

#include <algorithm>
#include <unordered_map>

#include "graph/region.h"
#include "graph/tracer.h"
#include "state/transaction.h"
#include <weft/variable.h>

namespace weft::inline v0 {

/// One run of a part on symbols of its own. Tensors that it uses of the program around, and Variables that it reads, become inputs; what it
/// writes to Variables stays here, for the caller to make results of. Nothing of it is left if it throws.
class BodyTracing final : public SlotSymbols {
 public:
  /// `name` is that of the combinator, for messages.
  BodyTracing(const char* name, Location at);
  ~BodyTracing() override;

  /// An input that is not taken from outside.
  Tensor input(Spec spec) { return tracer_.input(std::move(spec), at_); }
  /// A Variable that is known to be written, and carried from turn to turn with this Spec.
  void expect(const SlotRef& slot, Spec spec) { expected_.emplace(slot.get(), std::move(spec)); }
  /// The Variables that an earlier run of the same part has made: this one makes them again, and gets those.
  void make_again(std::vector<SlotRef> made) { made_before_ = std::move(made); }
  const std::vector<SlotRef>& made_slots() const { return made_; }
  void run(FunctionRef<void()> part);

  struct Capture {
    Tensor outside;
    ValueId inside;
    SlotRef slot;  // if it is what was read of a Variable
  };
  const std::vector<Capture>& captures() const { return captures_; }
  struct Write {
    SlotRef slot;
    Tensor value;
    const char* by;
    Location at;
  };
  /// Tells the trace around of gradients that the part gives: they are those of the whole call that it is part of, which has these results.
  void tell_around(std::span<const Tensor> results) const;
  /// In the order of the first uses.
  std::vector<Write> writes() const;
  /// Whether a tape around follows reads of the Variable: then one that is carried is to be expected.
  bool is_watched(const SlotRef& slot) const { return watched_around(Variable(slot)); }
  /// What the Variable is inside at the end: what was written, or what was read.
  Tensor last_value(const SlotRef& slot);
  ValueId value_of(const Tensor& x) { return tracer_.value_of(x, nullptr, at_); }

  /// The graph, with inputs in this order; kNew is one that the part does not read. REQUIRES: all captures are among them.
  static constexpr ValueId kNew = ~ValueId{0};
  struct Input {
    ValueId inside;
    Spec spec;
  };
  std::shared_ptr<const Runner> finish(std::span<const Input> inputs, std::span<const ValueId> outputs);

  Tensor symbol_for(const SlotRef& slot, Location at) override;
  void touched(const SlotRef& slot) override;
  SlotRef made(SlotRef slot) override;
  Tensor known(const Tensor& symbol) override;
  bool freezes() const override { return symbols_around() != nullptr && symbols_around()->freezes(); }
  void made_local(const SlotRef& slot) override;
  Tensor each_call(const EachCall& asked) override;
  void froze(const Tensor& value, const Op* user, Location at) override {
    if (symbols_around() != nullptr) symbols_around()->froze(value, user, at);
  }
  void walked(const NamedVariables& tree) override {
    if (symbols_around() != nullptr) symbols_around()->walked(tree);
  }
  void own_gradient(std::span<const Tensor> results) override;
  void own_read(const SlotRef& slot) override {
    if (symbols_around() != nullptr) symbols_around()->own_read(slot);
  }
  bool shows_ops() const override { return symbols_around() != nullptr && symbols_around()->shows_ops(); }

 private:
  class BodyTracer final : public Tracer {
   public:
    BodyTracer(Graph& graph, BodyTracing& body) : Tracer(graph), body_(body) {}
    Tensor read(std::uint64_t slot, const Variable& variable, Tensor value, Location at) override;

   private:
    std::optional<ValueId> adopt(const Tensor& x) override { return body_.capture(x); }
    BodyTracing& body_;
  };
  SlotSymbols* symbols_around() const { return around_ != nullptr ? around_->symbols : nullptr; }
  std::optional<ValueId> capture(const Tensor& x);
  bool is_local(const SlotRef& slot) const { return std::find(locals_.begin(), locals_.end(), slot) != locals_.end(); }
  bool watched_around(const Variable& variable) const;
  Tensor read_again(const Variable& variable, const Tensor& value, Location at);

  const char* name_;
  Location at_;
  Graph graph_;
  BodyTracer tracer_{graph_, *this};
  Transaction transaction_;
  Transaction* const around_ = Transaction::current();
  std::vector<Capture> captures_;
  std::unordered_map<const Node*, ValueId> known_;  // captures_ holds the Nodes
  std::unordered_map<const Slot*, Spec> expected_;
  std::vector<SlotRef> made_before_, made_;
  std::vector<SlotRef> locals_;  // made here: nobody outside sees them
  bool gives_gradient_ = false;
};

}  // namespace weft::inline v0
