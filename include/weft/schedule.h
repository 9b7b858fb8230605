// Learning rates as functions of the step.
//
//   CosineDecay rate{.initial_learning_rate = 0.1, .decay_steps = 1000};
//   Tensor now = rate(10);                       // a number or a Tensor; f32[]
//   Adam adam{{.learning_rate = rate}};
//
// A schedule is a plain value: copy it, keep it, change its members. Any callable that makes a scalar of a step will do as well.
// Thread safety: as of any plain value. Errors: a schedule that makes no sense (no steps to decay over, as many boundaries as values) is a
// ValueError when it is called.
#pragma once

#include <optional>
#include <vector>

#include <weft/tensor.h>

namespace weft::inline v0 {

/// initial_learning_rate * decay_rate ^ (step / decay_steps); with `staircase` the exponent is rounded down.
struct WEFT_API ExponentialDecay {
  double initial_learning_rate = 0.1, decay_steps = 1, decay_rate = 0.96;
  bool staircase = false;
  Tensor operator()(Tensor step, Location at = Location::here()) const;
};

/// values[i] up to and including step boundaries[i], the last value after that.
struct WEFT_API PiecewiseConstantDecay {
  std::vector<double> boundaries = {}, values = {};
  Tensor operator()(Tensor step, Location at = Location::here()) const;
};

/// From initial_learning_rate to end_learning_rate as a power of the steps that are left. With `cycle` it starts again, over decay_steps
/// more each time; otherwise it stays at the end.
struct WEFT_API PolynomialDecay {
  double initial_learning_rate = 0.1, decay_steps = 1, end_learning_rate = 0.0001, power = 1;
  bool cycle = false;
  Tensor operator()(Tensor step, Location at = Location::here()) const;
};

/// initial_learning_rate / (1 + decay_rate * step / decay_steps); with `staircase` the quotient is rounded down.
struct WEFT_API InverseTimeDecay {
  double initial_learning_rate = 0.1, decay_steps = 1, decay_rate = 0.5;
  bool staircase = false;
  Tensor operator()(Tensor step, Location at = Location::here()) const;
};

/// Half a wave from initial_learning_rate down to alpha times that. With a warmup_target the rate first rises to that in warmup_steps equal
/// steps, and decays from there.
struct WEFT_API CosineDecay {
  double initial_learning_rate = 0.1, decay_steps = 1, alpha = 0;
  std::optional<double> warmup_target = {};
  double warmup_steps = 0;
  Tensor operator()(Tensor step, Location at = Location::here()) const;
};

/// Half waves one after the other: each t_mul times as long as the one before, and m_mul times as high.
struct WEFT_API CosineDecayRestarts {
  double initial_learning_rate = 0.1, first_decay_steps = 1, t_mul = 2, m_mul = 1, alpha = 0;
  Tensor operator()(Tensor step, Location at = Location::here()) const;
};

}  // namespace weft::inline v0
