// The reverse-mode algorithm.
#include "state/recorder.h"

#include "state/transaction.h"
#include <weft/operators.h>
#include <weft/ops.h>

namespace weft::inline v0 {
namespace {

// Gradients arrive in the order of the reverse walk, which is fixed by the tape: the result does not depend on anything else.
void accumulate(Grad& so_far, Grad next) {
  if (!so_far.present()) {
    so_far = std::move(next);
    return;
  }
  if (so_far.sparse() && next.sparse()) {
    const IndexedSlices &a = so_far.slices(), &b = next.slices();
    const bool narrow = a.indices.dtype() == b.indices.dtype();
    const Tensor left = narrow ? a.indices : cast(a.indices, i64), right = narrow ? b.indices : cast(b.indices, i64);
    so_far = IndexedSlices{concat({a.values, b.values}, 0), concat({left, right}, 0), a.like};
    return;
  }
  Tensor a = so_far.dense(), b = next.dense();
  so_far = next = Grad();  // the sum may take the place of one of them, if nobody else has it
  so_far = std::move(a) + std::move(b);
}

// A broadcast input receives the sum over the axes along which it was repeated.
Grad unbroadcast(const Grad& grad, const Tensor& input) {
  if (grad.sparse()) return grad;
  const Tensor dx = grad.dense();
  const bool same = dx.shape() == input.shape() && dx.shape().known();
  return same ? dx : sum_like(dx, input);
}

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

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

std::vector<bool> TapeRecorder::reachable_from(std::span<const std::int32_t> sources) const {
  std::vector<bool> reached(index(next_id_), false);
  for (const std::int32_t id : sources) reached[index(id)] = true;
  for (std::size_t r = 0; r < records_.size(); ++r) {
    const TapeRecord& record = records_[r];
    if (record.broken) continue;
    bool any = false;
    for (std::int32_t id : record.input_ids()) any = any || (id >= 0 && reached[index(id)]);
    if (!any) continue;
    for (std::int32_t id : record.output_ids())
      if (id >= 0) reached[index(id)] = true;
  }
  return reached;
}

Grads TapeRecorder::gradient_of(const TapeRecord& record, std::span<const Grad> dys, std::span<const bool> wanted) const {
  if (record.custom >= 0) {
    const std::vector<Grad> dxs = (*customs_[index(record.custom)])(record.inputs(), record.outputs(), dys, wanted);
    return Grads(dxs.begin(), dxs.end());
  }
  if (record.op->grad == nullptr)
    throw GradientError(record.op->name, "this op has no gradient; stop the gradient before it or use another op.", record.at);
  try {
    return record.op->grad(Backward{{*record.op, record.attrs(), record.at}, record.inputs(), record.outputs(), dys, wanted});
  } catch (...) {
    rethrow_in_name_of(*record.op, record.at, "in its gradient ");
  }
}

void TapeRecorder::reverse(const std::vector<bool>& needed, const std::vector<bool>& kept, std::vector<Grad>& adjoints) const {
  // Only the records that exist now: a persistent tape goes on recording what the gradients below do.
  for (std::size_t r = records_.size(); r-- > 0;) {
    const TapeRecord& record = records_[r];
    if (record.broken) continue;
    bool arrived = false, wanted_any = false;
    for (std::int32_t id : record.output_ids())
      arrived = arrived || (id >= 0 && index(id) < adjoints.size() && adjoints[index(id)].present());
    if (!arrived) continue;
    SmallVector<bool, 4> wanted;
    for (std::int32_t id : record.input_ids()) {
      wanted.push_back(id >= 0 && needed[index(id)]);
      wanted_any = wanted_any || wanted.back();
    }
    if (!wanted_any) continue;
    const OnBehalf line(record.at);
    SmallVector<Grad, 2> dys;
    for (std::int32_t id : record.output_ids()) {
      dys.emplace_back();
      if (id < 0) continue;
      Grad& dy = adjoints[index(id)];
      if (dy.sparse()) dys.back() = dy.dense();
      else dys.back() = dy;
      if (!kept[index(id)]) dy = Grad();
    }
    Grads dxs = gradient_of(record, dys, wanted);
    dys.clear();
    for (std::size_t i = 0; i < dxs.size() && i < wanted.size(); ++i) {
      if (!wanted[i] || !dxs[i].present()) continue;
      Grad dx = std::move(dxs[i]);
      dxs[i] = Grad();
      if (record.op->is(kBroadcasts)) dx = unbroadcast(dx, record.inputs()[i]);
      accumulate(adjoints[index(record.input_ids()[i])], std::move(dx));
    }
  }
}

void TapeRecorder::check(const Question& question) const {
  const auto& [name, targets, sources, options, at, tree] = question;
  if (spent_) throw StateError(name, "this tape has already answered once; make it persistent to ask again.", at);
  if (options.unconnected > Unconnected::kNone)
    throw ValueError(name, "unconnected is not one of Unconnected's values; name one of those.", at);
  if (targets.empty()) throw ValueError(name, "targets is an empty list; give at least one tensor.", at);
  for (const Tensor& target : targets)
    if (!target.defined()) throw ValueError(name, "target is an empty Tensor handle; assign a value to it first.", at);
  for (const Source& source : sources) {  // before the dtypes of targets: an integer Variable is the reason for an integer target
    if (source.variable() != nullptr) {
      if (!is_floating(source.variable()->dtype()) && question.mode() == Unconnected::kError) refuse_integer(question, *source.variable());
      continue;
    }
    if (!source.tensor()->defined()) throw ValueError(name, "source is an empty Tensor handle; assign a value to it first.", at);
    if (!is_floating(source.tensor()->dtype()))
      throw GradientError(name, "source is " + source.tensor()->spec().str() + "; only floating values have gradients, cast it.", at);
  }
  const std::vector<Tensor>& seeds = options.output_gradients;
  if (!seeds.empty() && seeds.size() != targets.size())
    throw ValueError(name, std::to_string(seeds.size()) + " output_gradients for " + std::to_string(targets.size()) +
                                     " targets; give one for each.", at);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Spec& spec = targets[i].spec();
    if (!is_floating(spec.dtype)) {
      for (const Source& source : sources)
        if (const Variable* v = source.variable(); v != nullptr && !is_floating(v->dtype()) && find_cut(question, source).depends)
          refuse_integer(question, *v);
      throw GradientError(name, "target is " + spec.str() + "; only floating values have gradients, cast it.", at);
    }
    if (seeds.empty()) continue;
    const std::string rule = "output_gradients[" + std::to_string(i) + "] must be " + spec.str() + ", the target's spec";
    if (!seeds[i].defined()) throw ValueError(name, rule + ", but is an empty Tensor handle.", at);
    if (seeds[i].dtype() != spec.dtype) throw DtypeError(name, rule + ", but is " + seeds[i].spec().str() + "; cast it.", at);
    if (seeds[i].shape() != spec.shape) throw ShapeError(name, rule + ", but is " + seeds[i].spec().str() + ".", at);
  }
}

std::vector<Grad> TapeRecorder::gradients(const std::vector<Tensor>& targets, std::span<const Source> sources, const GradientOptions& how,
                                          Location at, bool tree, const char* name) {
  require_own_thread(name, at);
  const Question question{name, targets, sources, how, at, tree};
  check(question);
  return answer_once([&] { return answer(question); });
}

// At once, not when the tape ends: an optimizer that changes the Variables next finds that nobody else holds their values.
void TapeRecorder::let_go() noexcept {
  spent_ = true;
  ids_.clear();
  watched_.clear();
  records_.clear();
  customs_.clear();
  for (WatchedSlot& slot : slots_) slot.reads.clear();
}

SmallVector<std::int32_t, 1> TapeRecorder::ids_of(const Source& source) const {
  SmallVector<std::int32_t, 1> result;
  if (source.tensor() != nullptr) {
    result.push_back(ids_.find(key_of(*source.tensor())));
  } else if (const WatchedSlot* const slot = find_slot(source.variable()->slot()->id)) {
    for (const Read& read : slot->reads) result.push_back(read.id);
  }
  return result;
}

Grad TapeRecorder::sum_over_reads(const Source& source, const std::vector<Grad>& adjoints, const Question& question) const {
  Grad total;
  const SmallVector<std::int32_t, 1> ids = ids_of(source);
  for (std::size_t i = ids.size(); i-- > 0;) {  // as the walk goes, the last one first
    if (ids[i] < 0 || !adjoints[index(ids[i])].present()) continue;
    const Grad& next = adjoints[index(ids[i])];
    if (total.present()) {
      const Tensor &a = total.sparse() ? total.slices().like : total.dense(), &b = next.sparse() ? next.slices().like : next.dense();
      if (a.shape() != b.shape())
        throw GradientError(question.name, title_of(source) + " had the shapes " + b.shape().str() + " and " + a.shape().str() +
                                            " when it was read, which have no sum; ask for the gradients of what was read.", question.at);
    }
    accumulate(total, next);
  }
  return total;
}

std::vector<Grad> TapeRecorder::answer(const Question& question) const {
  const auto& [name, targets, sources, options, at, tree] = question;
  const OnBehalf line(at);
  std::vector<std::int32_t> source_ids;
  for (const Source& source : sources) {
    if (source.variable() != nullptr) touch(source.variable()->slot());
    for (const std::int32_t id : ids_of(source))
      if (id >= 0) source_ids.push_back(id);
  }
  const std::vector<bool> needed = reachable_from(source_ids);
  std::vector<bool> kept(needed.size(), false);
  for (const std::int32_t id : source_ids) kept[index(id)] = true;
  std::vector<Grad> adjoints(needed.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::int32_t id = ids_.find(key_of(targets[i]));
    if (id < 0 || !needed[index(id)]) continue;
    accumulate(adjoints[index(id)], options.output_gradients.empty() ? ones_like(targets[i]) : options.output_gradients[i]);
  }
  reverse(needed, kept, adjoints);

  std::vector<Grad> result;
  for (const Source& source : sources) {
    Grad grad = sum_over_reads(source, adjoints, question);
    result.push_back(grad.present() ? std::move(grad) : unconnected(question, source));
  }
  return result;
}

std::vector<Grad> TapeRecorder::pull_back(const std::vector<Tensor>& targets, const std::vector<Tensor>& sources, std::vector<Tensor> seeds,
                                          Location at) const {
  const std::vector<Source> list(sources.begin(), sources.end());
  const GradientOptions options{.unconnected = Unconnected::kNone, .output_gradients = std::move(seeds)};
  return answer({"gradient", targets, list, options, at, false});
}

}  // namespace weft::inline v0
