#include "state/recorder.h"

#include <weft/operators.h>
#include <weft/ops.h>

namespace weft::inline v0 {
namespace {

std::size_t hash_of(const Node* node) {
  return (reinterpret_cast<std::uintptr_t>(node) >> 4) * 0x9e3779b97f4a7c15ull >> 20;
}

// Gradients arrive in the order of the reverse walk, which is fixed by the tape: the result does not depend on anything else.
Grad accumulate(const Grad& so_far, const Grad& next) {
  if (!so_far.present()) return next;
  if (so_far.sparse() && next.sparse()) {
    const IndexedSlices &a = so_far.slices(), &b = next.slices();
    const bool narrow = a.indices.dtype() == b.indices.dtype();
    const Tensor left = narrow ? a.indices : cast(a.indices, i64), right = narrow ? b.indices : cast(b.indices, i64);
    return IndexedSlices{concat({a.values, b.values}, 0), concat({left, right}, 0), a.like};
  }
  return so_far.dense() + next.dense();
}

// A broadcast input receives the sum over the axes along which it was repeated.
Grad unbroadcast(const Grad& grad, const Tensor& input) {
  if (grad.sparse()) return grad;
  const Tensor dx = grad.dense();
  const bool same = dx.shape() == input.shape() && dx.shape().known();
  return same ? dx : sum_like(dx, input);
}

}  // namespace

Tensor Grad::dense() const {
  if (!sparse()) return dense_;
  return scatter_rows(slices_->indices, slices_->values, slices_->like);
}

const IndexedSlices& Grad::slices() const {
  if (!sparse()) throw StateError("slices", "this gradient is not sparse; ask for dense() instead.", {});
  return *slices_;
}

Tensor Backward::dy(std::size_t i) const { return dys[i].present() ? dys[i].dense() : zeros_like(outputs[i]); }

std::int32_t NodeIds::find(const Node* node) const {
  if (slots_.empty()) return -1;
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash_of(node) & mask;; at = (at + 1) & mask) {
    if (slots_[at].node == node) return slots_[at].id;
    if (slots_[at].node == nullptr) return -1;
  }
}

std::int32_t NodeIds::add(const Node* node) {
  if (static_cast<std::size_t>(count_) * 2 >= slots_.size()) grow();
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash_of(node) & mask;
  while (slots_[at].node != nullptr && slots_[at].node != node) at = (at + 1) & mask;
  if (slots_[at].node == nullptr) slots_[at] = {node, count_++};
  return slots_[at].id;
}

void NodeIds::grow() {
  std::vector<Slot> old(slots_.empty() ? 64 : slots_.size() * 4);
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.node == nullptr) continue;
    std::size_t at = hash_of(slot.node) & mask;
    while (slots_[at].node != nullptr) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

TapeRecord& TapeRecords::append() {
  if (size_ == blocks_.size() * kBlock) blocks_.push_back(std::make_unique<TapeRecord[]>(kBlock));
  ++size_;
  return blocks_[(size_ - 1) / kBlock][(size_ - 1) % kBlock];
}

void TapeRecords::drop_last() {
  --size_;
  blocks_[size_ / kBlock][size_ % kBlock] = TapeRecord();
}

void GradientTape::Recorder::require_own_thread(const char* what, Location at) const {
  if (installed() && !installed_here())
    throw StateError(what, "this tape belongs to another thread, which still records on it; use it there.", at);
}

void GradientTape::Recorder::watch(const Tensor& x, Location at) {
  require_own_thread("watch", at);
  if (!x.defined()) throw ValueError("watch", "x is an empty Tensor handle; assign a value to it first.", at);
  if (!is_floating(x.dtype()))
    throw GradientError("watch", "x is " + x.spec().str() + "; only floating values have gradients, cast it.", at);
  if (ids_.find(x.node()) >= 0) return;
  watched_.push_back(x);
  ids_.add(x.node());
}

void GradientTape::Recorder::apply(Call call, Tensors& outputs) {
  SmallVector<std::int32_t, 4> ids;
  bool followed = false;
  for (const Tensor& input : call.inputs) {
    ids.emplace_back(ids_.find(input.node()));
    followed = followed || ids.back() >= 0;
  }
  if (!followed || call.op.is(kNoGradient) || retired()) return delegate(call, outputs);
  if (call.op.grad == nullptr && call.op.expand != nullptr) {  // differentiated through its parts: record those
    validate(call, check(call));
    for (Tensor& result : call.op.expand(Expand{{call.op, call.attrs, call.at}, call.inputs})) outputs.push_back(std::move(result));
    return;
  }
  TapeRecord& record = records_.append();
  try {
    record.op = &call.op;
    record.at = call.at;
    record.attrs.assign(call.attrs.begin(), call.attrs.end());
    record.inputs = static_cast<std::uint32_t>(call.inputs.size());
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      record.values.emplace_back(call.inputs[i]);
      record.ids.emplace_back(ids[i]);
    }
    delegate(call, outputs);
    for (const Tensor& output : outputs) {
      record.values.emplace_back(output);
      record.ids.push_back(is_floating(output.dtype()) ? ids_.add(output.node()) : -1);
    }
  } catch (...) {
    records_.drop_last();
    throw;
  }
}

std::vector<bool> GradientTape::Recorder::reachable_from(const std::vector<Tensor>& sources) const {
  std::vector<bool> reached(static_cast<std::size_t>(ids_.count()), false);
  for (const Tensor& source : sources)
    if (const std::int32_t id = ids_.find(source.node()); id >= 0) reached[static_cast<std::size_t>(id)] = true;
  for (std::size_t r = 0; r < records_.size(); ++r) {
    const TapeRecord& record = records_[r];
    bool any = false;
    for (std::int32_t id : record.input_ids()) any = any || (id >= 0 && reached[static_cast<std::size_t>(id)]);
    if (!any) continue;
    for (std::int32_t id : record.output_ids())
      if (id >= 0) reached[static_cast<std::size_t>(id)] = true;
  }
  return reached;
}

std::vector<Grad> GradientTape::Recorder::reverse(const std::vector<bool>& needed, std::vector<Grad> adjoints) const {
  const auto is_needed = [&](std::int32_t id) { return id >= 0 && needed[static_cast<std::size_t>(id)]; };
  // Only the records that exist now: a persistent tape goes on recording what the gradients below do.
  for (std::size_t r = records_.size(); r-- > 0;) {
    const TapeRecord& record = records_[r];
    SmallVector<Grad, 2> dys;
    bool arrived = false, wanted_any = false;
    for (std::int32_t id : record.output_ids()) {
      const Grad& dy = id >= 0 ? adjoints[static_cast<std::size_t>(id)] : Grad();
      arrived = arrived || dy.present();
      dys.push_back(dy.sparse() ? Grad(dy.dense()) : dy);
    }
    SmallVector<bool, 4> wanted;
    for (std::int32_t id : record.input_ids()) {
      wanted.push_back(is_needed(id));
      wanted_any = wanted_any || wanted.back();
    }
    if (!arrived || !wanted_any) continue;
    if (record.op->grad == nullptr)
      throw GradientError(record.op->name, "this op has no gradient; stop the gradient before it or use another op.", record.at);
    Grads dxs;
    try {
      dxs = record.op->grad(Backward{{*record.op, record.attrs, record.at}, record.input_values(), record.output_values(), dys, wanted});
    } catch (...) {
      rethrow_in_name_of(*record.op, record.at, "in its gradient ");
    }
    for (std::size_t i = 0; i < dxs.size() && i < wanted.size(); ++i) {
      if (!wanted[i] || !dxs[i].present()) continue;
      Grad& slot = adjoints[static_cast<std::size_t>(record.input_ids()[i])];
      slot = accumulate(slot, record.op->is(kBroadcasts) ? unbroadcast(dxs[i], record.values[i]) : dxs[i]);
    }
  }
  return adjoints;
}

std::vector<Grad> GradientTape::Recorder::gradients(const std::vector<Tensor>& targets, const std::vector<Tensor>& sources,
                                                    const GradientOptions& options, Location at) {
  require_own_thread("gradient", at);
  if (spent) throw StateError("gradient", "this tape has already answered once; make it persistent to ask again.", at);
  if (options.unconnected > Unconnected::kNone) throw ValueError("gradient", "unconnected is not one of Unconnected's values; name one of those.", at);
  if (targets.empty()) throw ValueError("gradient", "targets is an empty list; give at least one tensor.", at);
  const std::vector<Tensor>& seeds = options.output_gradients;
  if (!seeds.empty() && seeds.size() != targets.size())
    throw ValueError("gradient", std::to_string(seeds.size()) + " output_gradients for " + std::to_string(targets.size()) + " targets; give one for each.", at);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!targets[i].defined()) throw ValueError("gradient", "target is an empty Tensor handle; assign a value to it first.", at);
    if (!is_floating(targets[i].dtype()))
      throw GradientError("gradient", "target is " + targets[i].spec().str() + "; only floating values have gradients, cast it.", at);
    if (!seeds.empty() && (!seeds[i].defined() || seeds[i].spec() != targets[i].spec()))
      throw ShapeError("gradient", "output_gradients[" + std::to_string(i) + "] must be " + targets[i].spec().str() + ", the target's spec.", at);
  }
  for (const Tensor& source : sources) {
    if (!source.defined()) throw ValueError("gradient", "source is an empty Tensor handle; assign a value to it first.", at);
    if (!is_floating(source.dtype()))
      throw GradientError("gradient", "source is " + source.spec().str() + "; only floating values have gradients, cast it.", at);
  }
  const bool ends = !persistent && installed();
  if (ends) remove();
  try {
    std::vector<Grad> result = answer(targets, sources, options, at);
    spent = !persistent;
    return result;
  } catch (...) {
    if (ends) install();  // an error leaves the tape as it was
    throw;
  }
}

std::vector<Grad> GradientTape::Recorder::answer(const std::vector<Tensor>& targets, const std::vector<Tensor>& sources,
                                                 const GradientOptions& options, Location at) const {
  const std::vector<Tensor>& seeds = options.output_gradients;
  const std::vector<bool> needed = reachable_from(sources);
  std::vector<Grad> adjoints(needed.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::int32_t id = ids_.find(targets[i].node());
    if (id < 0 || !needed[static_cast<std::size_t>(id)]) continue;
    Grad& slot = adjoints[static_cast<std::size_t>(id)];
    slot = accumulate(slot, seeds.empty() ? ones_like(targets[i]) : seeds[i]);
  }
  adjoints = reverse(needed, std::move(adjoints));

  std::vector<Grad> result;
  for (const Tensor& source : sources) {
    const std::int32_t id = ids_.find(source.node());
    Grad grad = id >= 0 && static_cast<std::size_t>(id) < adjoints.size() ? adjoints[static_cast<std::size_t>(id)] : Grad();
    if (!grad.present() && options.unconnected == Unconnected::kError)
      throw GradientError("gradient", "the target does not depend on source " + source.spec().str() +
                                          (id < 0 ? ", which this tape does not watch; call watch on it before computing." : " through differentiable ops; ask for unconnected = zeros or none if that is meant."), at);
    if (!grad.present() && options.unconnected == Unconnected::kZeros) grad = zeros_like(source);
    result.push_back(std::move(grad));
  }
  return result;
}

}  // namespace weft::inline v0
