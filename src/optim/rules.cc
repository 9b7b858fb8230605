// The built-in rules. Those with a row of their own change all Variables of a step in one call; the others are made of ops.
#include <algorithm>
#include <cmath>

#include "optim/limits.h"
#include <weft/operators.h>
#include <weft/ops.h>
#include <weft/optim.h>
#include <weft/print.h>

namespace weft::inline v0 {
namespace {

using Moment = Optimizer::Moment;
using Names = std::vector<std::string>;

// What every rule may leave as it is.
template <class Options>
struct Defaults {
  static bool zero_changes_nothing(const Options&) { return false; }
  static Tensor size(const Tensor& g) { return square(g); }
  static Tensor first(const Options&, std::size_t, const Tensor& x, const std::string&) { return zeros_like(x); }
};

// Of means of gradients and their squares that are divided by how much of them there is: with a beta of 1 that would stay nothing.
template <class Options>
Limits moments(const Options& o) {
  return {{"beta_1", o.beta_1, Limit::kUnitWithoutOne},
          {"beta_2", o.beta_2, Limit::kUnitWithoutOne},
          {"epsilon", o.epsilon, Limit::kNotNegative}};
}

// A rule is `name`, `limits`, `slots` and either `step` (of a row) or `update` (of one Variable).
template <class Options>
struct Rule;

template <>
struct Rule<SGDOptions> : Defaults<SGDOptions> {
  static constexpr const char* name = "SGD";
  static Limits limits(const SGDOptions& o) { return {{"momentum", o.momentum, Limit::kUnit}}; }
  static Names slots(const SGDOptions& o) { return o.momentum != 0 ? Names{"momentum"} : Names{}; }
  static bool zero_changes_nothing(const SGDOptions& o) { return o.momentum == 0; }
  static std::vector<Tensor> step(const SGDOptions& o, const Moment& now, std::vector<Tensor> lists, double decay, bool sizes) {
    return sgd_update(now.learning_rate, std::move(lists),
                      {.momentum = o.momentum, .nesterov = o.nesterov, .weight_decay = decay, .sizes_given = sizes});
  }
};

template <class Options>
struct AdamRule : Defaults<Options> {
  static Limits limits(const Options& o) { return moments(o); }
  static Names slots(const Options& o) { return o.amsgrad ? Names{"momentum", "velocity", "velocity_hat"} : Names{"momentum", "velocity"}; }
  static std::vector<Tensor> step(const Options& o, const Moment& now, std::vector<Tensor> lists, double decay, bool sizes) {
    return adam_update(
        now.learning_rate, now.iterations, std::move(lists),
        {.beta_1 = o.beta_1, .beta_2 = o.beta_2, .epsilon = o.epsilon, .amsgrad = o.amsgrad, .weight_decay = decay, .sizes_given = sizes});
  }
};
template <>
struct Rule<AdamOptions> : AdamRule<AdamOptions> {
  static constexpr const char* name = "Adam";
};
template <>
struct Rule<AdamWOptions> : AdamRule<AdamWOptions> {
  static constexpr const char* name = "AdamW";
};

template <>
struct Rule<AdamaxOptions> : Defaults<AdamaxOptions> {
  static constexpr const char* name = "Adamax";
  static Limits limits(const AdamaxOptions& o) {
    return {{"beta_1", o.beta_1, Limit::kUnitWithoutOne}, {"beta_2", o.beta_2, Limit::kUnit}, {"epsilon", o.epsilon, Limit::kNotNegative}};
  }
  static Names slots(const AdamaxOptions&) { return {"momentum", "norm"}; }
  static Tensor size(const Tensor& g) { return abs(g); }
  static std::vector<Tensor> step(const AdamaxOptions& o, const Moment& now, std::vector<Tensor> lists, double decay, bool sizes) {
    return adamax_update(now.learning_rate, now.iterations, std::move(lists),
                         {.beta_1 = o.beta_1, .beta_2 = o.beta_2, .epsilon = o.epsilon, .weight_decay = decay, .sizes_given = sizes});
  }
};

template <>
struct Rule<NadamOptions> : Defaults<NadamOptions> {
  static constexpr const char* name = "Nadam";
  static Limits limits(const NadamOptions& o) {
    return {{"beta_1", o.beta_1, Limit::kUnit}, {"beta_2", o.beta_2, Limit::kUnitWithoutOne}, {"epsilon", o.epsilon, Limit::kNotNegative}};
  }
  static Names slots(const NadamOptions&) { return {"momentum", "velocity"}; }
  static std::vector<Tensor> step(const NadamOptions& o, const Moment& now, std::vector<Tensor> lists, double decay, bool sizes) {
    return nadam_update(now.learning_rate, now.iterations, std::move(lists),
                        {.beta_1 = o.beta_1, .beta_2 = o.beta_2, .epsilon = o.epsilon, .weight_decay = decay, .sizes_given = sizes});
  }
};

template <>
struct Rule<AdagradOptions> : Defaults<AdagradOptions> {
  static constexpr const char* name = "Adagrad";
  static Limits limits(const AdagradOptions& o) {
    return {{"initial_accumulator_value", o.initial_accumulator_value, Limit::kNotNegative}, {"epsilon", o.epsilon, Limit::kNotNegative}};
  }
  static Names slots(const AdagradOptions&) { return {"accumulator"}; }
  static bool zero_changes_nothing(const AdagradOptions&) { return true; }
  static Tensor first(const AdagradOptions& o, std::size_t, const Tensor& x, const std::string&) {
    return zeros_like(x) + o.initial_accumulator_value;
  }
  static std::vector<Tensor> step(const AdagradOptions& o, const Moment& now, std::vector<Tensor> lists, double decay, bool sizes) {
    return adagrad_update(now.learning_rate, std::move(lists), {.epsilon = o.epsilon, .weight_decay = decay, .sizes_given = sizes});
  }
};

template <>
struct Rule<AdadeltaOptions> : Defaults<AdadeltaOptions> {
  static constexpr const char* name = "Adadelta";
  static Limits limits(const AdadeltaOptions& o) { return {{"rho", o.rho, Limit::kUnit}, {"epsilon", o.epsilon, Limit::kNotNegative}}; }
  static Names slots(const AdadeltaOptions&) { return {"accumulated_grad", "accumulated_delta_var"}; }
  static std::vector<Tensor> step(const AdadeltaOptions& o, const Moment& now, std::vector<Tensor> lists, double decay, bool sizes) {
    return adadelta_update(now.learning_rate, std::move(lists),
                           {.rho = o.rho, .epsilon = o.epsilon, .weight_decay = decay, .sizes_given = sizes});
  }
};

template <>
struct Rule<RMSpropOptions> : Defaults<RMSpropOptions> {
  static constexpr const char* name = "RMSprop";
  static Limits limits(const RMSpropOptions& o) {
    return {{"rho", o.rho, Limit::kUnit}, {"momentum", o.momentum, Limit::kUnit}, {"epsilon", o.epsilon, Limit::kNotNegative}};
  }
  static Names slots(const RMSpropOptions& o) {
    Names names{"velocity"};
    if (o.momentum > 0) names.push_back("momentum");
    if (o.centered) names.push_back("average_gradient");
    return names;
  }
  static std::vector<Tensor> step(const RMSpropOptions& o, const Moment& now, std::vector<Tensor> lists, double decay, bool sizes) {
    return rmsprop_update(
        now.learning_rate, std::move(lists),
        {.rho = o.rho, .momentum = o.momentum, .epsilon = o.epsilon, .centered = o.centered, .weight_decay = decay, .sizes_given = sizes});
  }
};

template <>
struct Rule<FtrlOptions> : Defaults<FtrlOptions> {
  static constexpr const char* name = "Ftrl";
  static Limits limits(const FtrlOptions& o) {
    return {{"learning_rate_power", o.learning_rate_power, Limit::kNotPositive},
            {"initial_accumulator_value", o.initial_accumulator_value, Limit::kNotNegative},
            {"l1_regularization_strength", o.l1_regularization_strength, Limit::kNotNegative},
            {"l2_regularization_strength", o.l2_regularization_strength, Limit::kNotNegative},
            {"l2_shrinkage_regularization_strength", o.l2_shrinkage_regularization_strength, Limit::kNotNegative},
            {"beta", o.beta, Limit::kNotNegative}};
  }
  static Names slots(const FtrlOptions&) { return {"accumulator", "linear"}; }
  static Tensor first(const FtrlOptions& o, std::size_t i, const Tensor& x, const std::string&) {
    return i == 0 ? zeros_like(x) + o.initial_accumulator_value : zeros_like(x);
  }
  static std::vector<Tensor> step(const FtrlOptions& o, const Moment& now, std::vector<Tensor> lists, double decay, bool sizes) {
    return ftrl_update(now.learning_rate, std::move(lists),
                       {.learning_rate_power = o.learning_rate_power,
                        .l1_regularization_strength = o.l1_regularization_strength,
                        .l2_regularization_strength = o.l2_regularization_strength,
                        .l2_shrinkage_regularization_strength = o.l2_shrinkage_regularization_strength,
                        .beta = o.beta,
                        .weight_decay = decay,
                        .sizes_given = sizes});
  }
};

template <>
struct Rule<LionOptions> : Defaults<LionOptions> {
  static constexpr const char* name = "Lion";
  static Limits limits(const LionOptions& o) { return {{"beta_1", o.beta_1, Limit::kUnitWithoutZero}, {"beta_2", o.beta_2, Limit::kUnit}}; }
  static Names slots(const LionOptions&) { return {"momentum"}; }
  static std::vector<Tensor> step(const LionOptions& o, const Moment& now, std::vector<Tensor> lists, double decay, bool sizes) {
    return lion_update(now.learning_rate, std::move(lists),
                       {.beta_1 = o.beta_1, .beta_2 = o.beta_2, .weight_decay = decay, .sizes_given = sizes});
  }
};

// --- made of ops ---

Tensor root_mean_square(const Tensor& x) { return sqrt(mean(square(x))); }
Tensor moved(const Tensor& mean, const Tensor& to, double by) { return mean + (to - mean) * by; }
// How much of a mean of `beta` there is after t steps.
Tensor filled(double beta, const Tensor& t) { return 1 - pow(Tensor(beta, t.dtype()), t); }

template <>
struct Rule<LambOptions> : Defaults<LambOptions> {
  static constexpr const char* name = "Lamb";
  static Limits limits(const LambOptions& o) { return moments(o); }
  static Names slots(const LambOptions&) { return {"momentum", "velocity"}; }
  static Tensor update(const LambOptions& o, const Tensor& x, const Tensor& g, std::span<Tensor> s, const Moment& now) {
    const Tensor t = now.step_like(x);
    s[0] = moved(s[0], g, 1 - o.beta_1);
    s[1] = moved(s[1], square(g), 1 - o.beta_2);
    const Tensor change = s[0] / filled(o.beta_1, t) / (sqrt(s[1] / filled(o.beta_2, t)) + o.epsilon);
    const Tensor size = euclidean_norm(x), step = euclidean_norm(change), one = ones_like(size);
    const Tensor trust = where((size > 0) & (step > 0), size / where(step > 0, step, one), one);
    return x - change * (trust * now.rate_like(x));
  }
};

template <>
struct Rule<AdafactorOptions> : Defaults<AdafactorOptions> {
  static constexpr const char* name = "Adafactor";
  static Limits limits(const AdafactorOptions& o) {
    return {{"beta_2_decay", o.beta_2_decay, Limit::kNotPositive},
            {"epsilon_1", o.epsilon_1, Limit::kNotNegative},
            {"epsilon_2", o.epsilon_2, Limit::kNotNegative},
            {"clip_threshold", o.clip_threshold, Limit::kPositive}};
  }
  static Names slots(const AdafactorOptions&) { return {"rows", "columns", "velocity"}; }
  // Matrices keep means of rows and of columns, others the whole.
  static Tensor first(const AdafactorOptions&, std::size_t i, const Tensor& x, const std::string&) {
    if (x.rank() < 2) return i == 2 ? zeros_like(x) : zeros({}, {.dtype = x.dtype()});
    return i == 2 ? zeros({}, {.dtype = x.dtype()}) : zeros_like(mean(x, {.axis = i == 0 ? -1 : -2}));
  }
  static Tensor update(const AdafactorOptions& o, const Tensor& x, const Tensor& g, std::span<Tensor> s, const Moment& now) {
    const Tensor t = now.step_like(x), keep = 1 - pow(t, Tensor(o.beta_2_decay, t.dtype()));
    const Tensor rate = minimum(now.rate_like(x), rsqrt(t)) * maximum(root_mean_square(x), o.epsilon_2);
    const Tensor squares = square(g) + o.epsilon_1;
    Tensor velocity;
    if (x.rank() >= 2) {
      s[0] = s[0] * keep + mean(squares, {.axis = -1}) * (1 - keep);
      s[1] = s[1] * keep + mean(squares, {.axis = -2}) * (1 - keep);
      velocity = expand_dims(s[0] / mean(s[0], {.axis = -1, .keepdims = true}), -1) * expand_dims(s[1], -2);
    } else {
      velocity = s[2] = s[2] * keep + squares * (1 - keep);
    }
    const Tensor change = g / sqrt(velocity);
    return x - change / maximum(root_mean_square(change) / o.clip_threshold, 1.0) * rate;
  }
};

template <>
struct Rule<MuonOptions> : Defaults<MuonOptions> {
  static constexpr const char* name = "Muon";
  static Limits limits(const MuonOptions& o) {
    return {{"momentum", o.momentum, Limit::kUnit},
            {"ns_steps", static_cast<double>(o.ns_steps), Limit::kCount},
            {"rms_rate", o.rms_rate, Limit::kNotNegative},
            {"adam_lr_ratio", o.adam_lr_ratio, Limit::kNotNegative},
            {"adam_beta_1", o.adam_beta_1, Limit::kUnitWithoutOne},
            {"adam_beta_2", o.adam_beta_2, Limit::kUnitWithoutOne},
            {"epsilon", o.epsilon, Limit::kNotNegative}};
  }
  static Names slots(const MuonOptions&) { return {"momentum", "velocity"}; }
  // Only what takes steps of Adam needs a velocity.
  static Tensor first(const MuonOptions& o, std::size_t i, const Tensor& x, const std::string& key) {
    const bool excluded =
        std::any_of(o.exclude.begin(), o.exclude.end(), [&](const std::string& part) { return key.find(part) != std::string::npos; });
    return i == 1 && is_matrix(x) && !excluded ? zeros({}, {.dtype = x.dtype()}) : zeros_like(x);
  }
  static bool is_matrix(const Tensor& x) { return x.rank() == 2 || x.rank() == 3; }
  static Tensor update(const MuonOptions& o, const Tensor& x, const Tensor& g, std::span<Tensor> s, const Moment& now) {
    const Tensor rate = now.rate_like(x);
    if (!is_matrix(x) || s[1].rank() != 0) {
      const Tensor t = now.step_like(x);
      s[0] = moved(s[0], g, 1 - o.adam_beta_1);
      s[1] = moved(s[1], square(g), 1 - o.adam_beta_2);
      return x - s[0] * (rate * o.adam_lr_ratio * sqrt(filled(o.adam_beta_2, t)) / filled(o.adam_beta_1, t)) / (sqrt(s[1]) + o.epsilon);
    }
    s[0] = s[0] * o.momentum + g;
    const double longer = static_cast<double>(std::max(x.shape()[{0, {}}], x.shape()[{1, {}}]));
    return x - orthogonal(o.nesterov ? g + s[0] * o.momentum : s[0], o.ns_steps) * (rate * (std::sqrt(longer) * o.rms_rate));
  }
  // Newton and Schulz: moves the singular values of a matrix toward 1 by an odd polynomial that is steep at 0.
  static Tensor orthogonal(Tensor x, int steps) {
    const int rank = x.rank();
    const bool tall = x.shape()[{rank - 2, {}}] > x.shape()[{rank - 1, {}}];
    const auto turned = [rank](const Tensor& m) { return rank == 2 ? transpose(m) : transpose(m, {.perm = {0, 2, 1}}); };
    if (tall) x = turned(x);
    x = x / (euclidean_norm(x, {.axis = {-2, -1}, .keepdims = true}) + 1e-7);
    for (int i = 0; i < steps; ++i) {
      const Tensor a = matmul(x, x, {.transpose_b = true});
      x = x * 3.4445 + matmul(a * -4.7750 + matmul(a, a) * 2.0315, x);
    }
    return tall ? turned(x) : x;
  }
};

template <>
struct Rule<ScheduleFreeAdamWOptions> : Defaults<ScheduleFreeAdamWOptions> {
  static constexpr const char* name = "ScheduleFreeAdamW";
  static Limits limits(const ScheduleFreeAdamWOptions& o) {
    return {{"beta_1", o.beta_1, Limit::kUnitWithoutZero},
            {"beta_2", o.beta_2, Limit::kUnitWithoutOne},
            {"epsilon", o.epsilon, Limit::kNotNegative},
            {"warmup_steps", static_cast<double>(o.warmup_steps), Limit::kCount}};
  }
  static Names slots(const ScheduleFreeAdamWOptions&) { return {"momentum", "velocity"}; }
  static Tensor first(const ScheduleFreeAdamWOptions&, std::size_t i, const Tensor& x, const std::string&) {
    return i == 0 ? x : zeros_like(x);
  }
  // The Variable lies between the point that moves, s[0], and the mean of where that has been.
  static Tensor update(const ScheduleFreeAdamWOptions& o, const Tensor& x, const Tensor& g, std::span<Tensor> s, const Moment& now) {
    const Tensor t = now.step_like(x), share = reciprocal(t);
    Tensor rate = now.rate_like(x);
    if (o.warmup_steps > 0) rate = rate * minimum(t / static_cast<double>(o.warmup_steps), 1.0);
    s[1] = moved(s[1], square(g), 1 - o.beta_2);
    s[0] = s[0] - g * rate / (sqrt(s[1] / filled(o.beta_2, t)) + o.epsilon);
    const Tensor average = (x - s[0] * (1 - o.beta_1)) / o.beta_1;  // seen from the new point: Keras on TensorFlow does so
    return s[0] * (1 - o.beta_1) + (average * (1 - share) + s[0] * share) * o.beta_1;
  }
};

template <class Options>
OptimizerOptions common_options(const Options& o) {
  return {.learning_rate = o.learning_rate,
          .weight_decay = o.weight_decay,
          .clipnorm = o.clipnorm,
          .global_clipnorm = o.global_clipnorm,
          .clipvalue = o.clipvalue,
          .use_ema = o.use_ema,
          .ema_momentum = o.ema_momentum,
          .ema_overwrite_frequency = o.ema_overwrite_frequency,
          .loss_scale_factor = o.loss_scale_factor,
          .gradient_accumulation_steps = o.gradient_accumulation_steps,
          .lazy = o.lazy};
}

template <class Options>
concept HasRow = requires { &Rule<Options>::step; };

}  // namespace

template <class Options>
BuiltIn<Options>::BuiltIn(Options options, Location at)
    : Optimizer(Rule<Options>::name, common_options(options), Rule<Options>::slots(options), at), own_(std::move(options)) {
  require(Rule<Options>::name, Rule<Options>::limits(own_), at);
}

template <class Options>
BuiltIn<Options>::~BuiltIn() = default;

template <class Options>
Tensor BuiltIn<Options>::update(const Tensor& x, const Tensor& g, std::span<Tensor> kept, const Moment& now) {
  if constexpr (HasRow<Options>) return static_cast<void>(g), static_cast<void>(kept), static_cast<void>(now), x;  // update_all does it
  else return Rule<Options>::update(own_, x, g, kept, now);
}

template <class Options>
void BuiltIn<Options>::update_all(Batch& batch, const Moment& now) {
  if constexpr (HasRow<Options>) {
    const bool sizes = !batch.sizes.empty();
    for (std::vector<Tensor>* const more : {&batch.gradients, &batch.sizes})
      batch.tensors.insert(batch.tensors.end(), std::make_move_iterator(more->begin()), std::make_move_iterator(more->end()));
    batch.tensors = Rule<Options>::step(own_, now, std::move(batch.tensors), batch.weight_decay, sizes);
  } else {
    Optimizer::update_all(batch, now);
  }
}

template <class Options>
Tensor BuiltIn<Options>::first_slot(std::size_t i, const Tensor& x, const std::string& key) const {
  return Rule<Options>::first(own_, i, x, key);
}
template <class Options>
bool BuiltIn<Options>::zero_changes_nothing() const { return Rule<Options>::zero_changes_nothing(own_); }
template <class Options>
Tensor BuiltIn<Options>::size_of_gradient(const Tensor& g) const { return Rule<Options>::size(g); }

template class BuiltIn<SGDOptions>;
template class BuiltIn<AdamOptions>;
template class BuiltIn<AdamWOptions>;
template class BuiltIn<AdamaxOptions>;
template class BuiltIn<NadamOptions>;
template class BuiltIn<AdagradOptions>;
template class BuiltIn<AdadeltaOptions>;
template class BuiltIn<RMSpropOptions>;
template class BuiltIn<FtrlOptions>;
template class BuiltIn<LionOptions>;
template class BuiltIn<LambOptions>;
template class BuiltIn<AdafactorOptions>;
template class BuiltIn<MuonOptions>;
template class BuiltIn<ScheduleFreeAdamWOptions>;

}  // namespace weft::inline v0
