#include <weft/schedule.h>

#include <cmath>
#include <numbers>

#include <weft/operators.h>
#include <weft/ops.h>
#include <weft/print.h>

// Schedules compute in f64, of which an f32 is made at the end: a step beyond 2^24 is still one step after the one before.
namespace weft::inline v0 {
namespace {

// A number of steps, of which the schedule divides by.
double period(const char* schedule, const char* name, double steps, Location at) {
  if (!(steps > 0)) throw ValueError(schedule, format("{} is {}; give more than 0 steps.", name, steps), at);
  return steps;
}

Tensor exact(Tensor step, Location at) { return cast(std::move(step), f64, at); }
Tensor rate_of(Tensor rate, Location at) { return cast(std::move(rate), f32, at); }
Tensor constant(double value) { return Tensor(value, f64); }

Tensor periods(const char* schedule, Tensor step, double decay_steps, bool staircase, Location at) {
  const Tensor passed = exact(std::move(step), at) / period(schedule, "decay_steps", decay_steps, at);
  return staircase ? floor(passed) : passed;
}

// From 1 to 0 while x goes from 0 to 1.
Tensor half_wave(const Tensor& x) { return (cos(x * std::numbers::pi) + 1) * 0.5; }

}  // namespace

Tensor ExponentialDecay::operator()(Tensor step, Location at) const {
  return rate_of(
      pow(constant(decay_rate), periods("ExponentialDecay", std::move(step), decay_steps, staircase, at)) * initial_learning_rate, at);
}

Tensor PiecewiseConstantDecay::operator()(Tensor step, Location at) const {
  if (values.size() != boundaries.size() + 1)
    throw ValueError(
        "PiecewiseConstantDecay",
        format("there are {} values for {} boundaries; give one value more than boundaries.", values.size(), boundaries.size()), at);
  const Tensor now = exact(std::move(step), at);
  Tensor rate = zeros_like(now) + values.back();
  for (std::size_t i = boundaries.size(); i-- > 0;) rate = where(now <= boundaries[i], constant(values[i]), rate);
  return rate_of(rate, at);
}

Tensor PolynomialDecay::operator()(Tensor step, Location at) const {
  const double once = period("PolynomialDecay", "decay_steps", decay_steps, at);
  const Tensor now = exact(std::move(step), at);
  const Tensor passed = cycle ? now / (maximum(ceil(now / once), 1.0) * once) : minimum(now, once) / once;
  return rate_of(pow(1 - passed, constant(power)) * (initial_learning_rate - end_learning_rate) + end_learning_rate, at);
}

Tensor InverseTimeDecay::operator()(Tensor step, Location at) const {
  return rate_of(initial_learning_rate / (periods("InverseTimeDecay", std::move(step), decay_steps, staircase, at) * decay_rate + 1), at);
}

Tensor CosineDecay::operator()(Tensor step, Location at) const {
  const double steps = period("CosineDecay", "decay_steps", decay_steps, at), warmup = warmup_target ? warmup_steps : 0;
  const Tensor now = exact(std::move(step), at), passed = clip_by_value((now - warmup) / steps, 0.0, 1.0);
  const Tensor decayed = (half_wave(passed) * (1 - alpha) + alpha) * warmup_target.value_or(initial_learning_rate);
  if (!(warmup > 0)) return rate_of(decayed, at);
  return rate_of(where(now < warmup, now * ((*warmup_target - initial_learning_rate) / warmup) + initial_learning_rate, decayed), at);
}

Tensor CosineDecayRestarts::operator()(Tensor step, Location at) const {
  if (!(t_mul >= 1)) throw ValueError("CosineDecayRestarts", format("t_mul is {}; give 1 or more.", t_mul), at);
  const Tensor passed = exact(std::move(step), at) / period("CosineDecayRestarts", "first_decay_steps", first_decay_steps, at);
  // Wave i begins after 1 + t_mul + ... + t_mul^(i-1) first ones. The logarithm must not fall short of a whole number by its rounding.
  const bool equal = t_mul == 1;
  const Tensor restarts = equal ? floor(passed) : floor(log(passed * (t_mul - 1) + 1) / std::log(t_mul) + 1e-9);
  const Tensor length = equal ? ones_like(passed) : pow(constant(t_mul), restarts);
  const Tensor before = equal ? restarts : (length - 1) / (t_mul - 1);
  const Tensor wave = half_wave((passed - before) / length) * pow(constant(m_mul), restarts);
  return rate_of((wave * (1 - alpha) + alpha) * initial_learning_rate, at);
}

}  // namespace weft::inline v0
