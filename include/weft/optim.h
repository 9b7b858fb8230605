// Optimizers: they change Variables by gradients.
//
//   Adam adam{{.learning_rate = 1e-3f, .clipnorm = 1.0}};
//   adam.apply(tape.gradient(loss, net), net);
//   adam.learning_rate.assign(1e-4f);                    // at any time, from any thread
//
// A step is one transaction: it publishes all Variables it changes or, if anything throws, none. Inside `atomically` it joins the block.
// What an optimizer keeps beside a Variable (momenta, means) is made when it first meets that Variable, whenever that is. Its state is a
// tree (iterations, learning_rate, slots): save it, restore it, walk it. Results equal Keras 3 to rounding.
//
// An optimizer of your own says what it keeps and how one Variable moves, in ordinary ops:
//
//   struct Descent : Optimizer {
//     explicit Descent(OptimizerOptions options = {}) : Optimizer("Descent", std::move(options), {"momentum"}) {}
//     Tensor update(const Tensor& x, const Tensor& g, std::span<Tensor> kept, const Moment& now) override {
//       kept[0] = kept[0] * 0.9f + g;                    // zeros at first
//       return x - kept[0] * now.learning_rate;
//     }
//   };
//
// Thread safety: any thread may apply a step; steps that change the same Variables run one after the other. Ownership: an optimizer owns
// its slots and holds none of the Variables it changes. Cost: one pass over memory for all Variables of a step; for built-in rules without
// clipping, constraints and averages that pass is in place wherever nobody else holds the values.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <weft/gradient.h>
#include <weft/schedule.h>
#include <weft/tree.h>
#include <weft/variable.h>

namespace weft::inline v0 {

/// A number, a Variable that is shared with whoever changes it, or a function of the steps done so far.
class WEFT_API LearningRate {
 public:
  template <std::floating_point A>
  LearningRate(A rate) : number_(static_cast<double>(rate)) {}
  template <std::integral A, class a_learning_rate_is_a_float_write_1_f_or_a_schedule = void>
  LearningRate(A) = delete;  // a learning rate is a float: write 1.f
  LearningRate(Variable shared) : current(std::move(shared)) {}
  template <class F>
    requires std::is_invocable_r_v<Tensor, const F&, Tensor>
  LearningRate(F schedule) : schedule_(std::move(schedule)) {}

  /// For the step that follows `iterations` others: f32[].
  Tensor at(const Tensor& iterations, Location at = Location::here()) const;
  /// Throws StateError if a schedule decides.
  LearningRate& assign(Tensor rate, Location at = Location::here());
  Tensor value(Location at = Location::here()) const;  ///< Throws StateError if a schedule decides.
  bool scheduled() const { return schedule_ != nullptr; }

 private:
  friend class Optimizer;
  std::optional<Variable> current{};
  double number_ = 0;
  std::function<Tensor(Tensor)> schedule_{};
  WEFT_FIELDS(current, untracked(*this))
};

// What every optimizer can do; members of each options struct, so that they are named in one pair of braces. Units are those of Keras.
#define WEFT_OPTIMIZER_OPTIONS(decay)                                                                                                     \
  double weight_decay = decay;             /* takes learning_rate * weight_decay of each Variable off before the step */                   \
  std::optional<double> clipnorm = {};     /* the largest norm of a gradient; one kind of clipping at most */                              \
  std::optional<double> global_clipnorm = {}; /* the largest norm of all gradients together */                                             \
  std::optional<double> clipvalue = {};    /* the largest magnitude of an element */                                                       \
  bool use_ema = false;                    /* keep a moving average of each Variable */                                                    \
  double ema_momentum = 0.99;                                                                                                              \
  std::int64_t ema_overwrite_frequency = 0; /* every so many steps the Variables become their averages; 0: never */                        \
  double loss_scale_factor = 1;            /* what the loss was multiplied with; gradients are divided by it */                            \
  std::int64_t gradient_accumulation_steps = 1; /* every so many calls one step is made of the mean of their gradients */                  \
  bool lazy = false                        /* sparse gradients leave rows that they do not name alone, slots included */

struct WEFT_API OptimizerOptions {
  LearningRate learning_rate = 0.001;
  WEFT_OPTIMIZER_OPTIONS(0);
};
struct WEFT_API SGDOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0;
  bool nesterov = false;
  WEFT_OPTIMIZER_OPTIONS(0);
};
struct WEFT_API AdamOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  bool amsgrad = false;
  WEFT_OPTIMIZER_OPTIONS(0);
};
struct WEFT_API AdamWOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  bool amsgrad = false;
  WEFT_OPTIMIZER_OPTIONS(0.004);
};
struct WEFT_API AdamaxOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  WEFT_OPTIMIZER_OPTIONS(0);
};
struct WEFT_API NadamOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  WEFT_OPTIMIZER_OPTIONS(0);
};
struct WEFT_API AdagradOptions {
  LearningRate learning_rate = 0.001;
  double initial_accumulator_value = 0.1, epsilon = 1e-7;
  WEFT_OPTIMIZER_OPTIONS(0);
};
struct WEFT_API AdadeltaOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.95, epsilon = 1e-7;
  WEFT_OPTIMIZER_OPTIONS(0);
};
struct WEFT_API RMSpropOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.9, momentum = 0, epsilon = 1e-7;
  bool centered = false;
  WEFT_OPTIMIZER_OPTIONS(0);
};
struct WEFT_API FtrlOptions {
  LearningRate learning_rate = 0.001;
  double learning_rate_power = -0.5, initial_accumulator_value = 0.1, l1_regularization_strength = 0, l2_regularization_strength = 0,
         l2_shrinkage_regularization_strength = 0, beta = 0;
  WEFT_OPTIMIZER_OPTIONS(0);
};
struct WEFT_API LionOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9, beta_2 = 0.99;
  WEFT_OPTIMIZER_OPTIONS(0);
};
struct WEFT_API LambOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  WEFT_OPTIMIZER_OPTIONS(0);
};
struct WEFT_API AdafactorOptions {
  LearningRate learning_rate = 0.001;
  double beta_2_decay = -0.8, epsilon_1 = 1e-30, epsilon_2 = 1e-3, clip_threshold = 1;
  bool relative_step = true;  // unless a schedule decides, the rate falls with the root of the steps
  WEFT_OPTIMIZER_OPTIONS(0);
};
struct WEFT_API MuonOptions {
  LearningRate learning_rate = 0.001;
  double momentum = 0.95;
  bool nesterov = true;
  int ns_steps = 5;                                 // of Newton and Schulz
  double rms_rate = 0.2;                            // how large a step is beside one of Adam
  double adam_lr_ratio = 1;                         // Variables that are no matrices take steps of Adam at this part of the rate
  double adam_beta_1 = 0.9, adam_beta_2 = 0.999, epsilon = 1e-7;
  std::vector<std::string> exclude = {"embedding"};  // those whose key contains one of these, too
  WEFT_OPTIMIZER_OPTIONS(0.004);
};
struct WEFT_API ScheduleFreeAdamWOptions {
  LearningRate learning_rate = 0.0025;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-8;
  std::int64_t warmup_steps = 0;
  WEFT_OPTIMIZER_OPTIONS(0);
};
#undef WEFT_OPTIMIZER_OPTIONS

class WEFT_API Optimizer {
 public:
  /// What is the same for all Variables of a step.
  struct Moment {
    Tensor learning_rate;  ///< f32[]
    Tensor iterations;     ///< i64[]: steps before this one
    Tensor rate_like(const Tensor& x) const;   ///< the learning rate in the dtype of x
    Tensor step_like(const Tensor& x) const;   ///< iterations + 1 in the dtype of x
  };
  /// Variables of one dtype that share a step: the list x, then one list for each slot, one behind the other.
  struct Batch {
    std::vector<Tensor> tensors;
    std::vector<Tensor> gradients;
    /// Of sparse gradients: for each row the sum of the squares (or magnitudes) of what was named for it. Else empty.
    std::vector<Tensor> sizes;
    std::vector<std::string> keys;  ///< of the Variables
    double weight_decay = 0;
  };

  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// One step. A Variable without a gradient stays as it is (and a line on standard error says so, once); if there is none at all, that is
  /// a ValueError that names the Variables.
  template <class T>
  void apply(const Gradients& gradients, const T& tree, Location at = Location::here()) {
    apply(gradients, named_variables(tree, Which::kTrainable), at);
  }
  void apply(const Gradients& gradients, const NamedVariables& variables, Location at = Location::here());
  /// The same for a list; Variables are called by their names. REQUIRES: a gradient (or an absent one) for each.
  void apply(const std::vector<Grad>& gradients, const std::vector<Variable>& variables, Location at = Location::here());
  template <std::same_as<Tensor> T>
  void apply(const std::vector<T>& gradients, const std::vector<Variable>& variables, Location at = Location::here()) {
    apply(std::vector<Grad>(gradients.begin(), gradients.end()), variables, at);
  }
  /// The same for one Variable: sgd.apply(tape.gradient(loss, w), w).
  template <std::convertible_to<Grad> G>
  void apply(const G& gradient, const Variable& variable, Location at = Location::here()) {
    apply(std::vector<Grad>{gradient}, std::vector<Variable>{variable}, at);
  }

  /// Steps so far: calls of apply, divided by gradient_accumulation_steps.
  std::int64_t steps() const;
  /// These lose nothing to weight_decay. Not while another thread applies a step.
  void exclude_from_weight_decay(const std::vector<Variable>& variables);
  /// The moving average of a Variable, if use_ema is set and it has been changed. Throws StateError otherwise.
  Tensor average(const Variable& variable, Location at = Location::here()) const;
  /// Makes Variables their averages, in one transaction.
  void assign_averages(const std::vector<Variable>& variables, Location at = Location::here());

  Variable iterations;         ///< i64[]: calls of apply
  LearningRate learning_rate;
  /// By the path of the Variable in the tree (or its name), then by what it is: slots.at("hidden.weight").at("momentum"). The first step
  /// that meets a Variable adds to it: not to be walked at that moment.
  std::map<std::string, std::map<std::string, Variable>> slots;

 protected:
  /// `name` stands in errors and in the history of Variables; it must live as long as the program.
  Optimizer(const char* name, OptimizerOptions options, std::vector<std::string> slot_names, Location at = Location::here());
  /// The new value of x. `kept` are the values of the Variable's slots, to be replaced as needed. REQUIRES: results keep dtype and shape.
  virtual Tensor update(const Tensor& x, const Tensor& g, std::span<Tensor> kept, const Moment& now) = 0;
  /// The same for many Variables at once; the default does the weight decay, then calls `update` for each.
  virtual void update_all(Batch& batch, const Moment& now);
  /// What slot i starts as beside the Variable `key` with the value x; zeros_like(x) by default.
  virtual Tensor first_slot(std::size_t i, const Tensor& x, const std::string& key) const;
  /// Whether `update` with a gradient of zeros changes nothing, so that a sparse one needs to touch its rows only.
  virtual bool zero_changes_nothing() const { return false; }
  /// What Batch::sizes is made of.
  virtual Tensor size_of_gradient(const Tensor& g) const;

 private:
  struct Record;
  struct Plan;
  class Run;
  const Record& record_of(const Variable& variable, std::string_view key, Location at);
  std::shared_ptr<const Plan> plan_for(std::span<const Variable* const> variables, std::span<const std::string_view> keys, Location at);
  void apply(std::span<const Grad> gradients, std::span<const Variable* const> variables, std::span<const std::string_view> keys,
             Location at);
  void warn(std::span<const std::string_view> missing);

  const char* const name_;
  const OptimizerOptions options_;
  const std::vector<std::string> slot_names_;
  struct Book;
  std::unique_ptr<Book> book_;
};

/// The built-in optimizers. REQUIRES: one of the options structs above. An option of which the rule makes nothing, such as a momentum of 2
/// or a negative epsilon, is a ValueError that names it, and what it may be.
template <class Options>
class WEFT_API BuiltIn final : public Optimizer {
 public:
  explicit BuiltIn(Options options = {}, Location at = Location::here());
  ~BuiltIn() override;

 private:
  Tensor update(const Tensor& x, const Tensor& g, std::span<Tensor> kept, const Moment& now) override;
  void update_all(Batch& batch, const Moment& now) override;
  Tensor first_slot(std::size_t i, const Tensor& x, const std::string& key) const override;
  bool zero_changes_nothing() const override;
  Tensor size_of_gradient(const Tensor& g) const override;

  const Options own_;
  WEFT_FIELDS(iterations, learning_rate, slots, untracked(*this))
};
using SGD = BuiltIn<SGDOptions>;
using Adam = BuiltIn<AdamOptions>;
using AdamW = BuiltIn<AdamWOptions>;
using Adamax = BuiltIn<AdamaxOptions>;
using Nadam = BuiltIn<NadamOptions>;
using Adagrad = BuiltIn<AdagradOptions>;
using Adadelta = BuiltIn<AdadeltaOptions>;
using RMSprop = BuiltIn<RMSpropOptions>;
using Ftrl = BuiltIn<FtrlOptions>;
using Lion = BuiltIn<LionOptions>;
using Lamb = BuiltIn<LambOptions>;
using Adafactor = BuiltIn<AdafactorOptions>;
using Muon = BuiltIn<MuonOptions>;
using ScheduleFreeAdamW = BuiltIn<ScheduleFreeAdamWOptions>;

}  // namespace weft::inline v0
