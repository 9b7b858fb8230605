#include "state/body_trace.h"

#include <algorithm>

#include "graph/passes.h"
#include "graph/replay.h"
#include "state/batcher.h"
#include "state/follower.h"
#include "state/installed.h"
#include <weft/operators.h>
#include <weft/ops.h>
#include <weft/variable.h>

namespace weft::inline v0 {
namespace {

bool is_taped(Interpreter* top) {
  return any_follower(top, [](const Follower& each) { return each.recording(); });
}

}  // namespace

BodyTracing::BodyTracing(const char* name, Location at) : name_(name), at_(at) {
  transaction_.symbols = this;
  if (const Tracer* const around = Tracer::around()) graph_.without = around->graph().without;
}

BodyTracing::~BodyTracing() {
  for (const SlotRef& slot : locals_) slot->role = Slot::Role::kLocalExpired;
}

void BodyTracing::run(FunctionRef<void()> part) {
  const Transaction::Scope scope(&transaction_);
  const Installed<Tracer&> installed(tracer_);
  part();
}

std::optional<ValueId> BodyTracing::capture(const Tensor& x) {
  if (const auto known = known_.find(x.node()); known != known_.end()) return known->second;
  if (x.node()->symbolic && !is_live(x, tracer_.below())) return std::nullopt;
  const ValueId inside = value_of(tracer_.input(x.spec(), at_));
  captures_.push_back({x, inside, nullptr});
  known_.emplace(x.node(), inside);
  return inside;
}

// The first read is one of the program around, in symbol_for.
Tensor BodyTracing::BodyTracer::read(std::uint64_t, const Variable& variable, Tensor value, Location at) {
  const SlotRef& slot = variable.slot();
  return body_.transaction_.has_written(slot) && !body_.is_local(slot) ? body_.read_again(variable, value, at) : value;
}

bool BodyTracing::watched_around(const Variable& variable) const {
  if (!is_floating(variable.dtype())) return false;
  return any_follower(tracer_.installed() ? tracer_.below() : Interpreter::top(),
                      [&](const Follower& each) { return each.watches(variable.slot()->id, variable.trainable()); });
}

// What a part reads of a Variable that it has written itself, or that an earlier turn has. Tapes around see a read like any other, which ends
// the way to where the value came from. The value is none of theirs, so they are shown a read of -0; adding that changes no bit.
Tensor BodyTracing::read_again(const Variable& variable, const Tensor& value, Location at) {
  if (!is_floating(variable.dtype())) return value;
  if (variable.slot()->role != Slot::Role::kLocal) own_read(variable.slot());
  if (!watched_around(variable)) return read_of_written(tracer_, variable, value, is_taped(tracer_.below()), at);
  if (!value.shape().known())
    throw TraceError(name_, "a part reads " + variable.slot()->title() + " after it has written it, under a tape, and its sizes are not known; read it before, or "
                            "declare its shape.", at);
  Tensor shown;
  {
    const Interpreter::Scope eager(nullptr);
    shown = fill(value.shape(), Tensor(-0.0, value.dtype()));
  }
  {
    const Interpreter::Scope below(tracer_.below());
    shown = tracer_.below()->read(variable.slot()->id, variable, std::move(shown), at);
  }
  const Tensor symbol = tracer_.input(shown.spec(), at);
  captures_.push_back({std::move(shown), value_of(symbol), nullptr});
  return stop_gradient(value) + symbol;
}

// Read outside as the program around would read it: its writes are seen, and its tapes follow it.
Tensor BodyTracing::symbol_for(const SlotRef& slot, Location at) {
  Tensor outside;
  {
    const Interpreter::Scope below(tracer_.below());
    const Transaction::Scope scope(around_);
    outside = Variable(slot).value(at);
  }
  const auto expected = expected_.find(slot.get());
  Tensor symbol = tracer_.input(expected == expected_.end() ? outside.spec() : expected->second, at);
  captures_.push_back({std::move(outside), value_of(symbol), slot});
  return expected == expected_.end() ? symbol : read_again(Variable(slot), symbol, at);
}

void BodyTracing::touched(const SlotRef& slot) {
  if (symbols_around() != nullptr) symbols_around()->touched(slot);
}

// By the place and the count of those made there, as a Function does it.
SlotRef BodyTracing::made(SlotRef slot) {
  const auto same_line = [&](const SlotRef& other) { return other->made_at.line == slot->made_at.line && other->made_at.file == slot->made_at.file; };
  auto nth = std::count_if(made_.begin(), made_.end(), same_line);
  for (const SlotRef& known : made_before_)
    if (same_line(known) && nth-- == 0 && known->declared == slot->declared) return made_.emplace_back(known);
  if (symbols_around() != nullptr) slot = symbols_around()->made(std::move(slot));
  return made_.emplace_back(std::move(slot));
}

Tensor BodyTracing::known(const Tensor& symbol) {
  if (tracer_.owns(symbol)) return known_value(graph_, tracer_.value_of(symbol, nullptr, at_));
  return symbols_around() != nullptr ? symbols_around()->known(symbol) : Tensor();
}

void BodyTracing::made_local(const SlotRef& slot) {
  slot->role = Slot::Role::kLocal;
  locals_.push_back(slot);
}

// Once a call, however often the part runs: it is asked for by the program around.
Tensor BodyTracing::each_call(const EachCall& asked) {
  const Interpreter::Scope below(tracer_.below());
  const Transaction::Scope scope(around_);
  return symbols_around() != nullptr ? symbols_around()->each_call(asked) : ask_now(asked);
}

void BodyTracing::own_gradient(std::span<const Tensor>) {
  if (is_taped(tracer_.below()))
    throw TraceError(name_, "a gradient of its own inside a branch or loop cannot be seen by the tape around it; give the gradient around the whole, "
                            "or take it inside.", at_);
  gives_gradient_ = true;
}

void BodyTracing::tell_around(std::span<const Tensor> results) const {
  if (gives_gradient_ && symbols_around() != nullptr) symbols_around()->own_gradient(results);
}

std::vector<BodyTracing::Write> BodyTracing::writes() const {
  std::vector<Write> result;
  transaction_.each_write([&](const SlotRef& slot, const Tensor& value, const char* by, Location at) {
    if (!is_local(slot)) result.push_back({slot, value, by, at});
  });
  return result;
}

Tensor BodyTracing::last_value(const SlotRef& slot) {
  Tensor value;
  run([&] { value = transaction_.read(slot, at_); });
  return value;
}

std::shared_ptr<const Runner> BodyTracing::finish(std::span<const Input> inputs, std::span<const ValueId> outputs) {
  std::vector<ValueId> order;
  for (const Input& input : inputs) order.push_back(input.inside == kNew ? value_of(tracer_.input(input.spec, at_)) : input.inside);
  if (order.size() != graph_.inputs.size()) throw InternalError("a part of a program has inputs that nobody gives it");
  graph_.inputs = order;
  for (std::size_t i = 0; i < order.size(); ++i) graph_.values[order[i]].from = static_cast<std::uint32_t>(i);
  graph_.outputs.assign(outputs.begin(), outputs.end());
  for (const GraphConstant& constant : graph_.constants) froze(constant.value, constant.used_by, constant.at);
#ifndef NDEBUG
  verify(graph_, "tracing a part");
#endif
  optimize(graph_, order.size());
  return std::make_shared<const Runner>(std::move(graph_));
}

}  // namespace weft::inline v0
