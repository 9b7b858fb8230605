#include <weft/loss_scale.h>

#include <weft/control.h>
#include <weft/operators.h>
#include <weft/ops.h>
#include <weft/print.h>
#include <weft/transaction.h>

namespace weft::inline v0 {
namespace {

const Tensor& numbers(const Grad& g, Tensor& dense) { return g.sparse() ? g.slices().values : (dense = g.dense()); }

Tensor finite(const Gradients& gradients) {
  Tensor good = true;
  for (const Grad& g : gradients.values()) {
    Tensor dense;
    if (g.present()) good = good & all_true(is_finite(numbers(g, dense)));
  }
  return good;
}

Grad divided(const Grad& g, const Tensor& by) {
  if (!g.present()) return g;
  if (!g.sparse()) return g.dense() / cast(by, g.dense().dtype());
  return IndexedSlices{g.slices().values / cast(by, g.slices().values.dtype()), g.slices().indices, g.slices().like};
}

}  // namespace

LossScale::LossScale(LossScaleOptions options, Location at)
    : scale(Tensor(options.initial_scale, f32), {.name = "loss_scale", .trainable = false}, at),
      good_steps(Tensor(0, i64), {.name = "good_steps", .trainable = false}, at),
      growth_steps_(options.growth_steps) {
  if (!(options.initial_scale > 0))
    throw ValueError("LossScale", format("initial_scale is {}; give more than 0.", options.initial_scale), at);
  if (growth_steps_ < 1) throw ValueError("LossScale", format("growth_steps is {}; give 1 or more.", growth_steps_), at);
}

Tensor LossScale::scaled(Tensor loss, Location at) const {
  const DType dtype = loss.dtype();
  return multiply(std::move(loss), cast(scale.value(at), dtype, at), at);
}

Tensor LossScale::apply(Optimizer& optimizer, const Gradients& gradients, const NamedVariables& variables, Location at) {
  const Tensor good = finite(gradients);
  const auto step = [&] {
    const Tensor now = scale.value(at);
    std::vector<Grad> unscaled;
    for (const Grad& g : gradients.values()) unscaled.push_back(divided(g, now));
    optimizer.apply(gradients.with(std::move(unscaled)), variables, at);
    const Tensor good_now = good_steps.value(at) + 1;
    cond(good_now >= growth_steps_, [&] { scale.assign(now * 2, at), good_steps.assign(0, at); }, [&] { good_steps.assign(good_now, at); }, at);
  };
  const auto leave_out = [&] { scale.assign(scale.value(at) / 2, at), good_steps.assign(0, at); };
  atomically([&] { cond(good, step, leave_out, at); }, {}, at);
  return good;
}

}  // namespace weft::inline v0
