#include <weft/loss_scale.h>

#include <weft/operators.h>
#include <weft/ops.h>
#include <weft/print.h>
#include <weft/transaction.h>

namespace weft::inline v0 {
namespace {

const Tensor& numbers(const Grad& g, Tensor& dense) { return g.sparse() ? g.slices().values : (dense = g.dense()); }

bool finite(const Gradients& gradients) {
  for (const Grad& g : gradients.values()) {
    Tensor dense;
    if (g.present() && !static_cast<bool>(all_true(is_finite(numbers(g, dense))))) return false;
  }
  return true;
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

bool LossScale::apply(Optimizer& optimizer, const Gradients& gradients, const NamedVariables& variables, Location at) {
  const bool good = finite(gradients);
  atomically([&] {
    const Tensor now = scale.value(at);
    if (!good) {
      scale.assign(now / 2, at);
      good_steps.assign(0, at);
      return;
    }
    std::vector<Grad> unscaled;
    for (const Grad& g : gradients.values()) unscaled.push_back(divided(g, now));
    optimizer.apply(gradients.with(std::move(unscaled)), variables, at);
    const bool grows = good_steps.value(at).item<std::int64_t>() + 1 >= growth_steps_;
    if (grows) scale.assign(now * 2, at);
    good_steps.assign(grows ? zeros_like(good_steps.value(at)) : good_steps.value(at) + 1, at);
  }, {}, at);
  return good;
}

}  // namespace weft::inline v0
