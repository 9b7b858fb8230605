// Recording: what a tape does while a program runs.
#include "state/recorder.h"

#include "state/slot.h"
#include <weft/ops.h>

namespace weft::inline v0 {

void TapeRecorder::watch(const Tensor& x, Location at) {
  require_own_thread("watch", at);
  if (!x.defined()) throw ValueError("watch", "x is an empty Tensor handle; assign a value to it first.", at);
  if (!is_floating(x.dtype()))
    throw GradientError("watch", "x is " + x.spec().str() + "; only floating values have gradients, cast it.", at);
  if (follows(x)) return;
  ids_.reserve(1);
  watched_.push_back(x);
  ids_.replace(key_of(x), next_id_++);
}

void TapeRecorder::watch(const Variable& variable, Location at) {
  require_own_thread("watch", at);
  if (!is_floating(variable.dtype()))
    throw GradientError("watch", variable.slot()->title() + " is " + variable.spec().str() +
                                     "; only floating values have gradients, make it a floating Variable.", at);
  if (find_slot(variable.slot()->id) == nullptr) add_slot(variable);
}

std::vector<Variable> TapeRecorder::watched_variables() const {
  std::vector<Variable> result;
  for (const WatchedSlot& slot : slots_)
    if (is_floating(slot.variable.dtype())) result.push_back(slot.variable);
  return result;
}

const TapeRecorder::WatchedSlot* TapeRecorder::find_slot(std::uint64_t id) const {
  const std::int32_t at = slots_by_id_.find(id + 1);
  return at == kUnknownId ? nullptr : &slots_[static_cast<std::size_t>(at)];
}

TapeRecorder::WatchedSlot& TapeRecorder::add_slot(const Variable& variable) {
  slots_by_id_.reserve(1);
  slots_.push_back({variable});
  slots_by_id_.add(variable.slot()->id + 1, static_cast<std::int32_t>(slots_.size()) - 1);
  return slots_.back();
}

// The program gets a Node that is this tape's own, so that what was read of the Variable before, or while the tape stood still, is
// not taken for a read that it has seen. To the tapes below it is the result of an op.
Tensor TapeRecorder::read(std::uint64_t id, const Variable& variable, Tensor value, Location at) {
  value = Interpreter::read(id, variable, std::move(value), at);
  if (stopped || retired()) return value;
  return detail::with_memory("read", at, [&] {
    WatchedSlot* slot = find_slot(id);
    if (slot == nullptr && (!settings.watch_accessed_variables || !variable.trainable())) return value;
    if (slot != nullptr)
      for (const Read& read : slot->reads)
        if (read.slot_value.same_as(value)) return read.value;
    const bool flows = is_floating(value.dtype());
    Tensor own = value;
    if (flows) {
      const Scope scope(below());
      own = below() == nullptr ? make_view(value, value.shape()) : identity(value, at);
    }
    ids_.reserve(1);
    if (slot == nullptr) slot = &add_slot(variable);
    slot->reads.push_back({value, own, 0});
    slot->reads.back().id = name_value(own, flows);
    return own;
  });
}

std::int32_t TapeRecorder::name_value(const Tensor& x, bool flows) noexcept {
  const std::int32_t fresh = flows ? next_id_ : next_broken_, id = ids_.add(key_of(x), fresh);
  if (id == fresh) flows ? ++next_id_ : --next_broken_;
  return id;
}

// Nothing that is committed can fail: the row's results are either recorded or dropped.
void TapeRecorder::record(const Call& call, std::span<Tensor> inputs, std::span<const std::int32_t> ids, Tensors& outputs, bool broken) {
  try {
    ids_.reserve(outputs.size());
    TapeRecord& record = records_.append(call.op, OnBehalf::line(call.at), broken ? AttrSpan() : call.attrs, inputs, ids, outputs, broken);
    const std::span<std::int32_t> names = record.output_ids();
    for (std::size_t i = 0; i < outputs.size(); ++i) names[i] = name_value(outputs[i], !broken && is_floating(outputs[i].dtype()));
  } catch (...) {
    outputs.clear();
    throw;
  }
}

void TapeRecorder::apply_unrecorded(const Call& call, std::span<const std::int32_t> ids, bool known, Tensors& outputs) {
  delegate(call, outputs);
  if (known && !stopped && !retired()) record(call, {}, ids, outputs, true);
}

void TapeRecorder::apply(Call call, Tensors& outputs) {
  constexpr std::size_t kFew = 3;  // as most calls have: these need no memory
  if (call.inputs.size() <= kFew) {
    std::int32_t ids[kFew];
    Tensor held[kFew];
    return apply_with(call, ids, held, outputs);
  }
  std::vector<std::int32_t> ids(call.inputs.size());
  std::vector<Tensor> held(call.inputs.size());
  apply_with(call, ids.data(), held.data(), outputs);
}

// `ids` and `held` are room for one of each input.
void TapeRecorder::apply_with(const Call& call, std::int32_t* ids, Tensor* held, Tensors& outputs) {
  const std::size_t count = call.inputs.size();
  bool followed = false, known = false;
  for (std::size_t i = 0; i < count; ++i) {
    ids[i] = ids_.find(key_of(call.inputs[i]));
    followed |= ids[i] >= 0;
    known |= ids[i] != kUnknownId;
  }
  if (!followed || stopped || call.op.is(kNoGradient) || retired()) return apply_unrecorded(call, {ids, count}, known, outputs);
  if (call.op.grad == nullptr && call.op.expand != nullptr) {  // differentiated through its parts: record those
    validate(call, weft::check(call));
    return apply_parts(call, outputs);
  }
  // A second handle keeps the row from computing in the place of an input. The tape has one to each value it knows, so those need no
  // other here; eager execution leaves every handle in its place that is not the last.
  const bool eager = below() == nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    if (eager && ids[i] != kUnknownId) held[i] = std::move(call.inputs[i]);
    else held[i] = Tensor(call.inputs[i]);
  }
  Tensor result;
  if (eager && call.op.dense_pointwise) result = apply_dense_pointwise(call.op, {held, count});
  if (result.defined()) outputs.push_back(std::move(result));
  else delegate({call.op, eager ? std::span(held, count) : call.inputs, call.attrs, call.at}, outputs);
  record(call, {held, count}, {ids, count}, outputs, false);
}

TapeRecord& TapeRecorder::record_made(const Op& op, Location at, AttrSpan attrs, std::span<const Tensor> inputs,
                                      std::span<const Tensor> outputs) {
  SmallVector<std::int32_t, 4> ids;
  Tensors held(inputs.begin(), inputs.end());
  for (const Tensor& input : inputs) ids.push_back(ids_.find(key_of(input)));
  ids_.reserve(outputs.size());
  TapeRecord& record = records_.append(op, at, attrs, held, ids, outputs, false);
  for (std::size_t i = 0; i < outputs.size(); ++i) record.output_ids()[i] = name_value(outputs[i], is_floating(outputs[i].dtype()));
  return record;
}

void TapeRecorder::record_custom(const Op& name, Location at, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                                 std::shared_ptr<const GradientFn> gradient) {
  customs_.push_back(std::move(gradient));
  record_made(name, at, {}, inputs, outputs).custom = static_cast<std::int32_t>(customs_.size()) - 1;
}

}  // namespace weft::inline v0
