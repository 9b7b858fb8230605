#include "state/forward_recorder.h"

#include <algorithm>

#include "core/infer.h"
#include "state/slot.h"
#include <weft/ops.h>

namespace weft::inline v0 {
namespace {

constexpr const char* kIfMeant = "ask for unconnected = zeros or none if that is meant.";

std::size_t bytes_held(const Tensor& x) {
  return x.defined() && !x.node()->symbolic ? static_cast<std::size_t>(bytes_of(x.spec())) : 0;
}

std::string title_of(const Source& primal) {
  return primal.tensor() != nullptr ? "the primal" : "the primal " + primal.variable()->slot()->title();
}

}  // namespace

// --- what is known ---

const Tangent& ForwardRecorder::tangent_of(const Tensor& x) const {
  static const Tangent nothing;
  const auto entry = entries_.find(x.node());
  return entry == entries_.end() ? nothing : entry->second.tangent;
}

bool ForwardRecorder::follows(const Tensor& x) const { return tangent_of(x).moves(); }

void ForwardRecorder::put(const Tensor& x, Tangent tangent) {
  const std::size_t bytes = bytes_held(x) + bytes_held(tangent.value);
  if (entries_.try_emplace(x.node(), Entry{x, std::move(tangent), bytes}).second) bytes_ += bytes;
}

// Whether only accumulators hold it: this one, and some below. One above looks for itself.
bool ForwardRecorder::is_dead(const Node& node) const {
  const std::uint32_t count = node.count.load(std::memory_order_acquire);
  std::uint32_t holders = 1;
  for (const Interpreter* each = below(); each != nullptr && holders < count; each = each->below())
    if (const auto* const other = dynamic_cast<const ForwardRecorder*>(each)) holders += other->entries_.count(&node);
  return count == holders;
}

ForwardRecorder::Entries::node_type ForwardRecorder::take(Entries::iterator entry) {
  bytes_ -= entry->second.bytes;
  return entries_.extract(entry);
}

// What ends with a value may call anything, so it ends when the table is whole again.
void ForwardRecorder::drop_dead(std::span<const Node* const> arguments) noexcept {
  for (const Node* const node : arguments) {
    Entries::node_type dropped;
    if (const auto entry = entries_.find(node); entry != entries_.end() && is_dead(*node)) dropped = take(entry);
  }
  if (entries_.size() >= most_entries_ || bytes_ >= most_bytes_) sweep();
}

void ForwardRecorder::sweep() noexcept {
  std::vector<Entries::node_type> dropped;
  try {
    for (auto each = entries_.begin(); each != entries_.end();) {
      const auto entry = each++;
      if (!is_dead(*entry->first)) continue;
      dropped.emplace_back();
      dropped.back() = take(entry);
    }
  } catch (const std::bad_alloc&) {  // the next one may find more room
  }
  most_entries_ = 2 * entries_.size() + kFewEntries;
  most_bytes_ = 2 * bytes_ + kFewBytes;
}

// --- what moves first ---

void ForwardRecorder::move(const Source& primal, const Tensor& tangent, Location at) {
  constexpr const char* kName = "ForwardAccumulator";
  const Variable* const variable = primal.variable();
  if (variable == nullptr && !primal.tensor()->defined())
    throw ValueError(kName, "the primal is an empty Tensor handle; assign a value to it first.", at);
  const Spec& spec = variable != nullptr ? variable->spec() : primal.tensor()->spec();
  if (!is_floating(spec.dtype))
    throw GradientError(kName, title_of(primal) + " is " + spec.str() + "; only floating values have tangents, cast it.", at);
  const std::string rule = "the tangent must be " + spec.str() + ", as " + title_of(primal) + " is";
  if (!tangent.defined()) throw ValueError(kName, rule + ", but is an empty Tensor handle.", at);
  if (tangent.dtype() != spec.dtype) throw DtypeError(kName, rule + ", but is " + tangent.spec().str() + "; cast it.", at);
  if (!infer::compatible(tangent.shape(), spec.shape)) throw ShapeError(kName, rule + ", but is " + tangent.spec().str() + ".", at);
  const bool twice = variable != nullptr ? !slots_.emplace(variable->slot()->id, tangent).second : follows(*primal.tensor());
  if (twice) throw ValueError(kName, title_of(primal) + " " + spec.str() + " is listed twice; list it once, with the sum of its tangents.", at);
  if (variable == nullptr) put(*primal.tensor(), {.value = tangent});
}

// A Node of its own, so that what was read of the Variable before, or while the accumulator stood still, does not move; and so that what was
// assigned does not pass its tangent on.
Tensor ForwardRecorder::read(std::uint64_t id, const Variable& variable, Tensor value, Location at) {
  value = Interpreter::read(id, variable, std::move(value), at);
  if (stopped || retired() || !is_floating(value.dtype())) return value;
  const auto slot = slots_.find(id);
  if (slot == slots_.end() && !tangent_of(value).known()) return value;
  return detail::with_memory("read", at, [&] {
    const Interpreter::Scope scope(below());
    Tensor own = below() == nullptr ? make_view(value, value.shape()) : identity(value, at);
    if (slot == slots_.end()) return own;
    Tangent tangent{.value = slot->second};
    if (!infer::compatible(tangent.value.shape(), value.shape())) {
      tangent.error = std::make_exception_ptr(GradientError("jvp", variable.slot()->title() + " has the shape " + value.shape().str() + " where it is read, and its "
                                                                   "tangent " + tangent.value.shape().str() + "; make an accumulator where the shape has changed.", at));
      tangent.value = Tensor();
    }
    put(own, std::move(tangent));
    return own;
  });
}

// --- calls ---

// Nothing moves on: the outputs remember where a way has ended.
void ForwardRecorder::pass_on(const Call& call, std::span<const Tangent> inputs, std::span<const Tensor> outputs) {
  const Tangent* before = nullptr;
  bool moves = false;
  for (const Tangent& tangent : inputs) {
    moves = moves || tangent.moves();
    if (before == nullptr && tangent.cut != nullptr) before = &tangent;
  }
  for (const Tensor& output : outputs) {
    if (moves) put(output, {.cut = &call.op, .at = OnBehalf::line(call.at), .cut_spec = output.spec()});
    else put(output, *before);
  }
}

void ForwardRecorder::put_all(const Op& op, Location at, std::span<const Tensor> outputs, std::span<const Tensor> tangents,
                              std::span<const std::exception_ptr> errors) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined()) continue;
    Tangent tangent;
    if (is_floating(outputs[i].dtype())) {
      if (i < errors.size()) tangent.error = errors[i];
      if (i < tangents.size() && tangent.error == nullptr) tangent.value = tangents[i];
    }
    if (!tangent.moves()) tangent = {.cut = &op, .at = at, .cut_spec = outputs[i].spec()};
    put(outputs[i], std::move(tangent));
  }
}

void ForwardRecorder::move_on(const Call& call, std::span<const Tangent> inputs, std::span<const Tensor> held, Tensors& outputs) {
  std::exception_ptr error;
  Moved moved;
  for (const Tangent& tangent : inputs) {
    if (error == nullptr) error = tangent.error;
    moved.tangents.push_back(tangent.value);
  }
  const Tensors tangents = std::move(moved.tangents);
  moved.tangents = {};
  const JvpFn rule = call.op.jvp;
  if (rule == nullptr || error != nullptr) delegate(call, outputs);
  const Location line = OnBehalf::line(call.at);
  if (error == nullptr) {
    try {
      const Interpreter::Scope scope(below());
      const OnBehalf behalf(line);
      const Forward forward{{call.op, call.attrs, call.at}, held, tangents};
      if (rule != nullptr) moved = rule(forward);
      else moved.tangents = moved_by_gradient(forward, outputs);
    } catch (const GradientError&) {
      error = std::current_exception();
    }
    if (rule != nullptr && error == nullptr) outputs = std::move(moved.outputs);
    else if (rule != nullptr) delegate(call, outputs);
  }
  if (error != nullptr) moved.errors.assign(outputs.size(), error);
  put_all(call.op, line, outputs, moved.tangents, moved.errors);
}

void ForwardRecorder::apply(Call call, Tensors& outputs) {
  if (stopped || retired()) return delegate(call, outputs);
  SmallVector<Tangent, 3> known;
  bool any = false, moves = false;
  for (const Tensor& input : call.inputs) {
    known.push_back(tangent_of(input));
    any = any || known.back().known();
    moves = moves || known.back().moves();
  }
  if (!any) return delegate(call, outputs);
  if (moves && !call.op.is(kNoGradient) && call.op.grad == nullptr && call.op.expand != nullptr) {  // its parts know where they move
    validate(call, check(call));
    return apply_parts(call, outputs);
  }
  try {
    Tensors held(call.inputs.begin(), call.inputs.end());
    SmallVector<const Node*, 3> nodes;
    for (const Tensor& input : held) nodes.push_back(input.node());
    if (moves && !call.op.is(kNoGradient)) {
      move_on(call, known, held, outputs);
    } else {
      delegate(call, outputs);
      pass_on(call, known, outputs);
    }
    known.clear();
    held.clear();
    for (Tensor& input : call.inputs) input = Tensor();
    drop_dead(nodes);
  } catch (...) {
    outputs.clear();
    throw;
  }
}

void ForwardRecorder::record_custom(const Op& name, Location at, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                                    std::shared_ptr<const GradientFn> gradient) {
  std::exception_ptr error;
  Tensors given(inputs.begin(), inputs.end()), tangents;
  for (const Tensor& input : inputs) {
    const Tangent& tangent = tangent_of(input);
    if (error == nullptr) error = tangent.error;
    tangents.push_back(tangent.value);
  }
  Tensors moved;
  if (error == nullptr) {
    try {
      const Interpreter::Scope scope(below());
      const OnBehalf behalf(at);
      moved = moved_by_gradient(Forward{{name, {}, at}, given, tangents}, outputs, gradient);
    } catch (const GradientError&) {
      error = std::current_exception();
    }
  }
  const std::vector<std::exception_ptr> errors(error != nullptr ? outputs.size() : 0, error);
  put_all(name, at, outputs, moved, errors);
}

// --- answers ---

Tensor ForwardRecorder::jvp(const Tensor& y, Unconnected mode, Location at) {
  require_own_thread("jvp", at);
  if (mode > Unconnected::kNone) throw ValueError("jvp", "unconnected is not one of Unconnected's values; name one of those.", at);
  if (!y.defined()) throw ValueError("jvp", "y is an empty Tensor handle; assign a value to it first.", at);
  const Tangent& tangent = tangent_of(y);
  if (tangent.value.defined()) return tangent.value;
  if (tangent.error != nullptr) std::rethrow_exception(tangent.error);
  if (mode == Unconnected::kNone) return {};
  if (mode == Unconnected::kError && tangent.cut != nullptr) explain(y, tangent, at);
  if (!is_floating(y.dtype())) throw GradientError("jvp", "y is " + y.spec().str() + "; only floating values have tangents, cast it.", at);
  if (mode == Unconnected::kError) explain(y, tangent, at);
  return zeros_like(y, at);
}

void ForwardRecorder::explain(const Tensor& y, const Tangent& tangent, Location at) const {
  if (tangent.cut == nullptr)
    throw GradientError("jvp", "y " + y.spec().str() + " does not depend on a primal through differentiable ops while this accumulator recorded; "
                                   + std::string(kIfMeant), at);
  const std::string place = tangent.at.line > 0 ? " at " + place_text(tangent.at) : "";
  const std::string only = "y " + y.spec().str() + " depends on a primal only through " + tangent.cut->name + place;
  if (!is_floating(tangent.cut_spec.dtype))
    throw GradientError("jvp", only + ", which gives " + tangent.cut_spec.str() + ", and integers have no tangent; keep the path floating, or " + kIfMeant, at);
  throw GradientError("jvp", only + ", through which no derivative flows; use another op, or " + kIfMeant, at);
}

}  // namespace weft::inline v0
