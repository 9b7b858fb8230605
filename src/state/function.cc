// Calls of a Function: finding a trace, running it, handing out what it made.
#include "state/function_core.h"

#include <algorithm>

#include "core/apply.h"
#include "base/planted.h"
#include "graph/tracer.h"
#include "state/follower.h"
#include "state/function_eager.h"
#include "state/regions.h"
#include "state/transaction.h"
#include <weft/print.h>

namespace weft::inline v0::detail {
namespace {

// Fills the Tensors and Variables of a copy of the pattern, in order.
class FillWalker final : public TreeWalker {
 public:
  FillWalker(const FunctionTrace& trace, const CallLeaves& leaves, std::span<Tensor> results) : trace_(trace), leaves_(leaves), results_(results) {}

  void leaf(const TreeLeaf& leaf) override {
    if (Tensor* const tensor = leaf.as<Tensor>()) {
      if (tensor->defined()) *tensor = std::move(results_[tensors_++]);
    } else if (Variable* const variable = leaf.as<Variable>()) {
      const std::ptrdiff_t argument = trace_.result_variables[variables_++];
      if (argument >= 0) *variable = Variable(*leaves_.variables[static_cast<std::size_t>(argument)]);
    }
  }

 private:
  const FunctionTrace& trace_;
  const CallLeaves& leaves_;
  std::span<Tensor> results_;
  std::size_t tensors_ = 0, variables_ = 0;
};

const Variable& variable_of(const SlotUse& use, std::span<Variable* const> variables) {
  return use.argument < 0 ? *use.captured : *variables[static_cast<std::size_t>(use.argument)];
}

bool takes_at_once(const FunctionTrace& trace, std::span<Tensor* const> arguments) {
  if (!trace.at_once) return false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i]->defined()) return false;
    const Spec& spec = arguments[i]->node()->spec;
    const Shape& shape = trace.kind.shapes[i];
    if (spec.dtype != trace.dtypes[i] || spec.shape.rank() != shape.rank()) return false;
    for (int axis = 0; axis < shape.rank(); ++axis)
      if (shape.dim(axis) != spec.shape.dim(axis) && shape.dim(axis) != kUnknown) return false;
  }
  return true;
}

std::size_t unknown_sizes(const CallKind& kind) {
  std::size_t count = 0;
  for (const Shape& shape : kind.shapes) count += static_cast<std::size_t>(std::count(shape.begin(), shape.end(), kUnknown));
  return count;
}

}  // namespace

bool FunctionTrace::same_aliases(const CallLeaves& leaves) const {
  if (!pinned.empty()) {
    for (std::size_t i = 0; i < pinned.size(); ++i)
      if (pinned[i] != leaves.variables[i]->slot()) return false;
    return true;
  }
  if (planted(Bug::kMissesAliases) || captured.empty()) return true;
  return std::none_of(leaves.variables.begin(), leaves.variables.end(), [&](const Variable* v) {
    return std::binary_search(captured.begin(), captured.end(), v->slot());
  });
}

std::shared_ptr<FunctionTrace> FunctionCore::find(std::span<Tensor* const> arguments) {
  const std::lock_guard guard(mutex_);
  for (const std::shared_ptr<FunctionTrace>& trace : traces_)
    if (takes_at_once(*trace, arguments)) {
      if (!trace->exact && traces_.size() > 1) return nullptr;  // there may be one that fits better
      trace->last_call.store(++clock_, std::memory_order_relaxed);
      return trace;
    }
  return nullptr;
}

std::shared_ptr<FunctionTrace> FunctionCore::find(const CallLeaves& leaves) {
  const std::lock_guard guard(mutex_);
  std::shared_ptr<FunctionTrace> best;
  for (const std::shared_ptr<FunctionTrace>& trace : traces_)
    if (trace->kind.takes(leaves.kind) && trace->same_aliases(leaves) && (!best || unknown_sizes(trace->kind) < unknown_sizes(best->kind)))
      best = trace;
  if (best) best->last_call.store(++clock_, std::memory_order_relaxed);
  return best;
}

void FunctionCore::keep(std::shared_ptr<FunctionTrace> trace) {
  const std::lock_guard guard(mutex_);
  trace->last_call.store(++clock_, std::memory_order_relaxed);
  trace->runner.profile(profiled_calls_);
  make_room(traces_);
  if (traces_.size() >= static_cast<std::size_t>(options.max_traces)) forget_oldest();
  traces_.push_back(std::move(trace));
  ++traced_;
}

SlotRef FunctionCore::made_before(const Slot& slot, std::size_t nth, Location at) const {
  const std::lock_guard guard(mutex_);
  for (const MadeSlot& known : made_)
    if (known.nth == nth && known.slot->made_at.line == slot.made_at.line && known.slot->made_at.file == slot.made_at.file && known.slot->declared == slot.declared)
      return known.slot;
  if (traced_ > 0)
    throw StateError(name_, slot.title() + ", " + slot.declared.str() + ", is made by the body now but was not made by its first trace; make Variables "
                               "outside, or at the first call.", at);
  return nullptr;
}

void FunctionCore::keep_made(const std::vector<MadeSlot>& made) {
  const std::lock_guard guard(mutex_);
  if (traced_ == 0) made_ = made;
}

namespace {

CallList<SlotRef> slots_of(const std::vector<SlotUse>& uses, std::span<Variable* const> variables) {
  CallList<SlotRef> slots;
  slots.reserve(uses.size());
  for (const SlotUse& use : uses) slots.push_back(variable_of(use, variables).slot());
  return slots;
}

// A call, as a trace around it sees it.
class CallInTrace {
 public:
  CallInTrace(SlotSymbols* trace, bool writes) : trace_(trace), writes_(writes) {
    if (trace_ != nullptr) trace_->enter_call(writes_);
  }
  ~CallInTrace() {
    if (trace_ != nullptr) trace_->leave_call(writes_, nullptr);
  }
  CallInTrace(const CallInTrace&) = delete;
  CallInTrace& operator=(const CallInTrace&) = delete;
  void leave(std::span<Tensor> results) {
    if (SlotSymbols* const trace = std::exchange(trace_, nullptr)) trace->leave_call(writes_, &results);
  }

 private:
  SlotSymbols* trace_;
  const bool writes_;
};

void require_live(const Tensor& argument) {
  if (argument.defined() && argument.node()->symbolic && !is_live(argument))
    throw TraceError("Function", "an argument " + argument.spec().str() + " was made while tracing and has no value outside; return it from the traced function.",
                     argument.node()->made_at());
}

}  // namespace

Tensors run_trace(FunctionTrace& trace, CallInputs& inputs, std::span<Variable* const> variables, Location at) {
  constexpr const char* kBy = "Function";
  trace.calls.fetch_add(1, std::memory_order_relaxed);
  Interpreter* const top = Interpreter::top();
  for (const Tensor& tensor : inputs) require_live(tensor);
  Tensor* const first_asked = inputs.end() - trace.reads.size() - trace.asked.size();
  SlotSymbols* const around = Transaction::tracing_symbols();
  if (around != nullptr) {
    for (const SlotUse& use : trace.read_again) around->own_read(variable_of(use, variables).slot());
    for (const SlotRef& slot : trace.captured) touch(slot);
    for (const Variable* variable : variables) touch(variable->slot());
    for (std::size_t i = 0; i < trace.asked.size(); ++i) first_asked[i] = around->each_call(trace.asked[i]);
  } else {
    for (std::size_t i = 0; i < trace.asked.size(); ++i) first_asked[i] = ask_now(trace.asked[i]);
  }
  CallList<SlotRef> own_reads, own_writes;
  if (!variables.empty()) own_reads = slots_of(trace.reads, variables), own_writes = slots_of(trace.writes, variables);
  const std::span<const SlotRef> reads = variables.empty() ? std::span<const SlotRef>(trace.read_slots) : own_reads;
  const std::span<const SlotRef> writes = variables.empty() ? std::span<const SlotRef>(trace.written_slots) : own_writes;

  // One Variable, alone: no list of turns, no snapshot of many.
  if (writes.size() == 1 && !trace.runner.publishes() && (reads.empty() || (reads.size() == 1 && reads[0] == writes[0])) && Transaction::current() == nullptr && top == nullptr) {
    Tensors outputs;
    update(writes[0], [&](Tensor old) {
      if (!reads.empty()) inputs.back() = std::move(old);
      outputs = call_graph(trace.runner, inputs, at, trace.results + trace.replaced.size());
      Tensor fresh = std::move(outputs.back());
      outputs.resize(outputs.size() - 1);
      return fresh;
    }, at, kBy);
    return outputs;
  }
  CallInTrace in_trace(around, !writes.empty());
  std::optional<WriteTransaction> transaction;
  if (!writes.empty()) transaction.emplace(writes, reads, at, kBy);
  const std::span<Tensor> seen(inputs.end() - reads.size(), reads.size());
  if (variables.empty() && Transaction::current() == nullptr) read_published(trace.read_order, reads, seen);
  else read_together(reads, seen);
  if (top != nullptr)
    for (std::size_t i = 0; i < reads.size(); ++i)
      seen[i] = top->read(reads[i]->id, variable_of(trace.reads[i], variables), std::move(seen[i]), at);
  if (transaction && top == nullptr && trace.runner.publishes()) {
    const auto publish = [&](WriteNew write, std::span<Tensor> finished) {
      for (Tensor& input : inputs) input = Tensor();  // so that the slots alone hold what is to change
      transaction->publish_in_place(write, finished);
    };
    const Publish published(publish);
    Tensors outputs = trace.runner.run(inputs, &published);
    outputs.resize(outputs.size() - writes.size());
    return outputs;
  }
  Tensors outputs = call_graph(trace.runner, inputs, at, trace.results + trace.replaced.size());
  if (trace.own_gradients && around != nullptr) around->own_gradient(outputs);
  if (transaction && !(planted(Bug::kForgetsInnerWrites) && top != nullptr)) {
    const std::size_t first = outputs.size() - writes.size();
    for (std::size_t i = 0; i < writes.size(); ++i) transaction->value(i) = std::move(outputs[first + i]);
    transaction->publish_all();
    outputs.resize(first);
  }
  in_trace.leave(std::span<Tensor>(outputs.begin(), outputs.size()));
  return outputs;
}

// --- one call ---

namespace {

// Whether somebody follows what happens now and would miss some of it. A trace alone does not: it will say of itself what the call says.
bool needs_body(const FunctionTrace& trace, std::span<Variable* const> variables) {
  if (!trace.own_gradients && trace.read_again.empty()) return false;
  for (const Interpreter* i = Interpreter::top(); i != nullptr && trace.own_gradients; i = i->below())
    if (dynamic_cast<const Tracer*>(i) == nullptr) return true;
  return any_follower(Interpreter::top(), [&](const Follower& tape) {
    return std::any_of(trace.read_again.begin(), trace.read_again.end(),
                       [&](const SlotUse& use) { return tape.watches(variable_of(use, variables).slot()->id, false); });
  });
}

// Whether gradients that the body gives are to be seen, for which it has to run; or kept, unless it writes, which is one step of a program.
bool runs_body(const FunctionTrace& trace, std::span<Variable* const> variables) {
  return needs_body(trace, variables) || (trace.own_gradients && trace.writes.empty() && keeper_of_gradients() != nullptr);
}

template <class F>
auto with_memory(const FunctionCore& core, Location at, const F& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    throw OutOfMemoryError(core.name(), "there is no memory for this call; nothing has changed, use smaller shapes.", at);
  }
}

}  // namespace

FunctionCall::FunctionCall(const std::shared_ptr<FunctionCore>& core, OnlyTrace only, const Argument* arguments, std::size_t count,
                           Location at)
    : state_(new FunctionCallState{{}, *core, only, {arguments, count}, at}) {}
FunctionCall::~FunctionCall() = default;

bool FunctionCall::run_at_once(FunctionCore& core, OnlyTrace only, Tensor* const* arguments, std::size_t count, Tensor& result, Location at) {
  const std::span<Tensor* const> tensors(arguments, count);
  const std::shared_ptr<FunctionTrace> trace = only == nullptr ? core.find(tensors) : takes_at_once(**only, tensors) ? *only : nullptr;
  if (trace == nullptr) return false;
  if (runs_body(*trace, {})) return false;
  Tensors outputs = with_memory(core, at, [&] {
    CallInputs inputs = room_for(*trace, count);
    for (std::size_t i = 0; i < count; ++i) inputs[i] = std::move(*arguments[i]);
    return run_trace(*trace, inputs, {}, at);
  });
  if (!outputs.empty()) result = std::move(outputs[0]);
  return true;
}

bool FunctionCall::prepare(Body body, void* context) {
  FunctionCallState& s = *state_;
  return with_memory(s.core, s.at, [&] {
    s.leaves = leaves_of(s.arguments);
    if (s.only == nullptr) s.core.apply_signature(s.arguments, s.leaves, s.at);
    else s.core.require_kind(**s.only, s.arguments, s.leaves, s.at);
    for (const Tensor* tensor : s.leaves.tensors) require_live(*tensor);
    if (!s.core.options.run_eagerly) {
      if (s.only == nullptr) find_or_trace(body, context);
      else s.trace = *s.only;
      if (!runs_body(*s.trace, s.leaves.variables)) return true;
    }
    EagerBody(s).run([&] { body(context, *this); });
    return false;
  });
}

std::shared_ptr<FunctionTrace> FunctionCall::trace(Body body, void* context) {
  FunctionCallState& s = *state_;
  return with_memory(s.core, s.at, [&] {
    s.leaves = leaves_of(s.arguments);
    s.core.apply_signature(s.arguments, s.leaves, s.at);
    s.asked = true;
    find_or_trace(body, context);
    return s.trace;
  });
}

constexpr int kDeepest = 100;

void FunctionCall::find_or_trace(Body body, void* context) {
  FunctionCallState& s = *state_;
  s.trace = s.core.find(s.leaves);
  if (s.trace) return;
  // One lock for all Functions: traces may need each other's. It comes before turns (transaction.h).
  static std::recursive_mutex& tracing = *new std::recursive_mutex;
  std::unique_lock guard(tracing, std::try_to_lock);
  if (!guard.owns_lock()) {
    if (const Slot* const held = Transaction::give_back_turns())
      throw StateError(s.core.name(), "it is to be traced in an update, which holds " + held->title() + ", and another thread, which traces now, may wait for "
                                          "that; call it, or `trace`, once before.", s.at);
    guard.lock();
  }
  static thread_local int depth = 0;  // of traces that this thread makes inside each other
  struct Deeper {
    Deeper() { ++depth; }
    ~Deeper() { --depth; }
  } deeper;
  if (depth > kDeepest)
    throw TraceError(s.core.name(), format("its body is traced inside itself {} times; recursion must end on a host value, for both branches of a cond are traced.",
                                           kDeepest), s.at);
  s.trace = s.core.find(s.leaves);
  if (!s.trace) s.trace = s.core.trace(s, [&] { body(context, *this); });
}

void FunctionCall::run() {
  FunctionCallState& s = *state_;
  require_apart(s, s.trace->replaced);
  s.outputs = with_memory(s.core, s.at, [&] {
    CallInputs inputs = room_for(*s.trace, s.leaves.tensors.size());
    for (std::size_t i = 0; i < s.leaves.tensors.size(); ++i) inputs[i] = *s.leaves.tensors[i];
    return run_trace(*s.trace, inputs, s.leaves.variables, s.at);
  });
  for (std::size_t i = 0; i < s.trace->replaced.size(); ++i)
    *s.leaves.tensors[s.trace->replaced[i]] = std::move(s.outputs[s.trace->results + i]);
}

std::vector<Tensor> SingleTrace::call_flat(std::vector<Tensor> tensors, Location at) const {
  const FunctionTrace& trace = known(at);  // first: an empty handle has no core either
  core_->require_flat(trace, tensors, at);
  if (needs_body(trace, {}))
    throw TraceError(core_->name(), "a tape is to see gradients that the body gives, which needs the body; call it with the arguments.", at);
  const Tensors outputs = with_memory(*core_, at, [&] {
    CallInputs inputs = room_for(*trace_, tensors.size());
    std::move(tensors.begin(), tensors.end(), inputs.begin());
    return run_trace(*trace_, inputs, {}, at);
  });
  return {outputs.begin(), outputs.end()};
}

const void* FunctionCall::pattern() const { return state_->trace->pattern.get(); }

void FunctionCall::fill(void* result, WalkFn walk) {
  FillWalker walker(*state_->trace, state_->leaves, state_->outputs);
  Cursor::begin(walker, result, true, walk);
}

Tensor FunctionCall::only_tensor() {
  if (state_->trace->results == 0) return {};  // an empty handle was returned
  return std::move(state_->outputs[0]);
}

struct Outside::Scopes {
  Interpreter::Scope interpreter{nullptr};
  Transaction::Scope transaction{Transaction::tracing_symbols() != nullptr ? nullptr : Transaction::current()};
};
Outside::Outside() : scopes_(std::make_unique<Scopes>()) {}
Outside::~Outside() = default;

}  // namespace weft::inline v0::detail
