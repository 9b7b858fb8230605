// Programs that are made into a graph as they go: their calls, and what they read and write.
#include "compat/graph_state.h"
#include <weft/ops.h>

namespace weft::inline v0::compat::v1 {
namespace {

template <class F>
class AtEnd {
 public:
  explicit AtEnd(F f) : f_(std::move(f)) {}
  ~AtEnd() { f_(); }
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;

 private:
  F f_;
};

}  // namespace

// --- calls, and the rules of those for which others stand ---

void GraphState::GraphTracer::apply(Call call, Tensors& outputs) {
  const std::lock_guard guard(state_.lock);
  Tracer::apply(call, outputs);
  note();
}

void GraphState::GraphTracer::stands_for(const Call& call, Tensors* results) {
  const std::lock_guard guard(state_.lock);
  open_.reserve(open_.size() + 1);
  Tracer::stands_for(call, results);
  note();
  open_.push_back(static_cast<std::int64_t>(graph().nodes.size()) - 1);
}

void GraphState::GraphTracer::stood_for() noexcept {
  const std::lock_guard guard(state_.lock);
  const std::int64_t rule = open_.back();
  open_.pop_back();
  if (calls_ == 0 || rule + 1 != static_cast<std::int64_t>(graph().nodes.size())) return;  // there are parts, and who wants those wants it
  if (alone_ >= 0) state_.rules[static_cast<std::size_t>(rule)] = alone_;
  alone_ = rule;
}

// What is new is a part of the rows for which calls stand now.
void GraphState::GraphTracer::note() {
  state_.note_values();
  state_.rules.resize(graph().nodes.size(), open_.empty() ? -1 : open_.back());
}

void GraphState::GraphTracer::leave_call(std::span<Tensor>* results) {
  const std::int64_t rule = alone_;
  if (--calls_ == 0) alone_ = -1;
  if (results == nullptr || rule < 0) return;
  open_.push_back(rule);
  const AtEnd close([&] { open_.pop_back(); });
  for (Tensor& result : *results) result = identity(std::move(result));
}

// --- reads and writes ---

Tensor GraphState::symbol_for(const SlotRef& slot, Location at) {
  const std::uint32_t index = index_of(slot, "read", at);
  return add({.kind = Event::Kind::kRead, .in_turn = steps_ > 0, .variable = index, .at = at}, slot->declared);
}

ValueId GraphState::last_read_of(std::uint32_t variable) const {
  for (std::size_t i = events.size(); i-- > 0;)
    if (events[i].kind == Event::Kind::kRead && events[i].variable == variable) return program.inputs[i];
  throw InternalError("a draw has not read its generator");
}

// Outside of a step a program cannot say when its write is to run, except for a draw: whenever somebody wants what was drawn.
bool GraphState::takes(const SlotRef& slot, const Tensor& value, Location at, const char* by) {
  if (steps_ > 0) return false;
  if (std::string_view(by) != "Generator")
    throw StateError(by, slot->title() +
        " is written while a graph is built, and nothing says when that is to run; write v1::assign, or put it into "
                                         "v1::as_operation([&] { ... }).", at);
  const std::lock_guard guard(lock);
  const std::uint32_t index = index_of(slot, by, at);
  const ValueId read = last_read_of(index), source = value_of(value, by, at);
  const Tensor written = add({.kind = Event::Kind::kWrite, .variable = index, .source = source, .at = at}, slot->declared);
  Event& draw = events[program.values[read].from];
  draw.in_turn = true;
  draw.needs = {symbol_of(written).value};
  return true;
}

void GraphState::begin_step() {
  if (steps_++ == 0) transaction_.forget();
}

std::vector<ValueId> GraphState::end_step(bool failed) {
  if (--steps_ > 0) return {};
  const AtEnd forget([&] { transaction_.forget(); });
  std::vector<ValueId> writes;
  if (!failed)
    transaction_.each_write([&](const SlotRef& slot, const Tensor& value, const char* by, Location at) {
      const std::uint32_t index = index_of(slot, by, at);
      const ValueId source = value_of(value, by, at);
      writes.push_back(symbol_of(add({.kind = Event::Kind::kWrite, .variable = index, .source = source, .at = at}, slot->declared)).value);
    });
  return writes;
}

void GraphState::enter_call(bool writes) {
  tracer_.enter_call();
  if (writes) begin_step();
}

// Who wants a result of a call wants its rules and its writes, too. Whatever fails here, the call has been left.
void GraphState::leave_call(bool writes, std::span<Tensor>* results) {
  std::vector<ValueId> written;
  try {
    tracer_.leave_call(results);
  } catch (...) {
    if (writes) end_step(true);
    throw;
  }
  if (writes) written = end_step(results == nullptr);
  if (written.empty()) return;
  const AtEnd restore([&, before = set_] { set_dependencies(before); });
  add_dependencies(written);
  for (Tensor& result : *results) result = identity(std::move(result));
}

}  // namespace weft::inline v0::compat::v1
