// Where a call moves its outputs, as its gradient implies it.
#include "state/forward_recorder.h"
#include "state/installed.h"
#include "state/recorder.h"
#include <weft/operators.h>
#include <weft/ops.h>

namespace weft::inline v0 {
namespace {

// A pointwise row makes each element of its result from the elements at the same place: what its gradient does to the gradient of the result,
// it does to a tangent.
bool is_diagonal(const Forward& f, std::span<const Tensor> outputs) {
  if (!f.op.tile || f.op.grad == nullptr || !is_floating(outputs[0].dtype())) return false;
  for (std::size_t i = 0; i < f.inputs.size(); ++i)
    if (f.moves(i) && f.x(i).dtype() != outputs[0].dtype()) return false;
  return true;
}

Tensor moved_pointwise(const Forward& f, std::span<const Tensor> outputs) {
  const Tensor& y = outputs[0];
  Tensor total;
  for (std::size_t i = 0; i < f.inputs.size(); ++i) {
    if (!f.moves(i)) continue;
    const bool same = f.tangents[i].shape() == y.shape() && y.shape().known();
    const Grad dy = same ? f.tangents[i] : broadcast_like(f.tangents[i], y);
    SmallVector<bool, 4> wanted;
    for (std::size_t k = 0; k < f.inputs.size(); ++k) wanted.push_back(k == i);
    Grads part;
    try {
      part = f.op.grad(Backward{f, f.inputs, outputs, {&dy, 1}, wanted});
    } catch (...) {
      rethrow_in_name_of(f.op, f.at, "in its gradient ");
    }
    if (i >= part.size() || !part[i].present()) continue;
    total = total.defined() ? total + part[i].dense() : part[i].dense();
  }
  return total;
}

}  // namespace

Tensors moved_by_gradient(const Forward& f, std::span<const Tensor> outputs, const std::shared_ptr<const GradientFn>& gradient) {
  if (gradient == nullptr && is_diagonal(f, outputs)) return {moved_pointwise(f, outputs)};
  constexpr TapeOptions kPlain{.persistent = false, .watch_accessed_variables = false};
  TapeRecorder call(kPlain);
  std::vector<Tensor> xs, tangents, ys, dys;
  for (std::size_t i = 0; i < f.inputs.size(); ++i) {
    if (!f.moves(i) || call.follows(f.x(i))) continue;  // one that is given twice moves once
    call.watch(f.x(i), f.at);
    xs.push_back(f.x(i));
    tangents.push_back(f.tangents[i]);
  }
  if (gradient != nullptr) call.record_custom(f.op, f.at, f.inputs, outputs, gradient);
  else call.record_made(f.op, f.at, f.attrs, f.inputs, outputs);
  for (const Tensor& y : outputs) {
    if (!y.defined() || !is_floating(y.dtype())) continue;
    ys.push_back(y);
    dys.push_back(zeros_like(y));  // no matter which
  }
  std::vector<Tensor> targets, seeds;
  Installed<TapeRecorder> way_back(kPlain);
  for (const Tensor& dy : dys) way_back.interpreter.watch(dy, f.at);
  const std::vector<Grad> dxs = call.pull_back(ys, xs, dys, f.at);
  way_back.interpreter.remove();
  for (std::size_t i = 0; i < dxs.size(); ++i) {
    if (!dxs[i].present()) continue;
    targets.push_back(dxs[i].sparse() ? dxs[i].slices().values : dxs[i].dense());
    seeds.push_back(dxs[i].sparse() ? gather(tangents[i], dxs[i].slices().indices) : tangents[i]);
  }
  const std::vector<Grad> found = way_back.interpreter.pull_back(targets, dys, seeds, f.at);
  Tensors result;
  std::size_t next = 0;
  for (const Tensor& y : outputs) {
    const bool floating = y.defined() && is_floating(y.dtype());
    result.push_back(floating && found[next].present() ? found[next].dense() : Tensor());
    next += floating;
  }
  return result;
}

}  // namespace weft::inline v0
