// Steps of optimizers: one row for each rule, on all tensors of a step at once.
//
// The arithmetic of a rule is one function of a lane, in one place. It sees the gradient g, its size (the square or the magnitude that
// the rule keeps a mean of), the parameter x and the slots beside it, and changes x and the slots.
#include <cmath>

#include "base/convert.h"
#include "core/update.h"
#include "ops/families.h"
#include "ops/row.h"

namespace weft::inline v0::rows {
namespace {

using Numbers = UpdateNumbers;

// Every rule counts its constants from 1; 0 is the weight decay.
struct Squared {
  template <class T>
  WEFT_LANE T size(T g) { return g * g; }
};
struct Magnitude {
  template <class T>
  WEFT_LANE T size(T g) { return std::abs(g); }
};

struct Sgd : Squared {
  static constexpr int kSlots = 0;
  static Numbers numbers(const OpArgs&, double rate, double) { return {0, rate}; }
  template <class T>
  WEFT_LANE void lane(const T* c, T g, T, T& x) { x = x - g * c[1]; }
};

struct Momentum : Squared {
  static constexpr int kSlots = 1;
  static Numbers numbers(const OpArgs& a, double rate, double) { return {0, rate, a.real("momentum")}; }
  template <class T>
  WEFT_LANE void lane(const T* c, T g, T, T& x, T& m) {
    m = m * c[2] - g * c[1];
    x = x + m;
  }
};

struct Nesterov : Momentum {
  template <class T>
  WEFT_LANE void lane(const T* c, T g, T, T& x, T& m) {
    m = m * c[2] - g * c[1];
    x = x + (m * c[2] - g * c[1]);
  }
};

// Means of g and of its square, with what is missing in their first steps made up for in the rate.
struct Adam : Squared {
  static constexpr int kSlots = 2;
  static Numbers numbers(const KernelCall& a, double rate, double t) {
    const double beta_1 = a.real("beta_1"), beta_2 = a.real("beta_2");
    double left_1 = 1 - std::pow(beta_1, t), left_2 = 1 - std::pow(beta_2, t);
    // With the digits of f32 parameters, as in Keras: 1 - 0.999 differs in the fifth digit, and after ten steps a parameter in the sixth.
    if (a.inputs.back().dtype() != f64) {
      const auto left = [&](double beta) { return 1 - static_cast<float>(std::pow(static_cast<double>(static_cast<float>(beta)), t)); };
      if (left(beta_1) > 0 && left(beta_2) > 0) left_1 = static_cast<double>(left(beta_1)), left_2 = static_cast<double>(left(beta_2));
    }
    return {0, rate * std::sqrt(left_2) / left_1, 1 - beta_1, 1 - beta_2, a.real("epsilon")};
  }
  template <class T>
  WEFT_LANE void lane(const T* c, T g, T gg, T& x, T& m, T& v) {
    m = m + (g - m) * c[2];
    v = v + (gg - v) * c[3];
    x = x - m * c[1] / (std::sqrt(v) + c[4]);
  }
};

struct AmsGrad : Adam {
  static constexpr int kSlots = 3;
  template <class T>
  WEFT_LANE void lane(const T* c, T g, T gg, T& x, T& m, T& v, T& largest) {
    m = m + (g - m) * c[2];
    v = v + (gg - v) * c[3];
    largest = lane_max(largest, v);
    x = x - m * c[1] / (std::sqrt(largest) + c[4]);
  }
};

struct Adamax : Magnitude {
  static constexpr int kSlots = 2;
  static Numbers numbers(const OpArgs& a, double rate, double t) {
    const double beta_1 = a.real("beta_1");
    return {0, rate / (1 - std::pow(beta_1, t)), 1 - beta_1, a.real("beta_2"), a.real("epsilon")};
  }
  template <class T>
  WEFT_LANE void lane(const T* c, T g, T size, T& x, T& m, T& u) {
    m = m + (g - m) * c[2];
    u = lane_max(u * c[3], size);
    x = x - m * c[1] / (u + c[4]);
  }
};

struct Nadam : Squared {
  static constexpr int kSlots = 2;
  // The share of the momentum grows from step to step: beta_1 (1 - 0.96^t / 2). Their product so far needs no more factors than differ from
  // beta_1.
  static Numbers numbers(const OpArgs& a, double rate, double t) {
    const double beta_1 = a.real("beta_1"), beta_2 = a.real("beta_2");
    double power = 1, product = 1;
    for (double i = 1; i <= t && power > 1e-17; ++i) product *= 1 - 0.5 * (power *= 0.96);
    product *= std::pow(beta_1, t);
    const double now = beta_1 * (1 - 0.5 * std::pow(0.96, t)), next = beta_1 * (1 - 0.5 * std::pow(0.96, t + 1));
    return {0,
            rate * next / (1 - product * next),
            rate * (1 - now) / (1 - product),
            1 - beta_1,
            1 - beta_2,
            a.real("epsilon"),
            1 / (1 - std::pow(beta_2, t))};
  }
  template <class T>
  WEFT_LANE void lane(const T* c, T g, T gg, T& x, T& m, T& v) {
    m = m + (g - m) * c[3];
    v = v + (gg - v) * c[4];
    x = x - (m * c[1] + g * c[2]) / (std::sqrt(v * c[6]) + c[5]);
  }
};

struct Adagrad : Squared {
  static constexpr int kSlots = 1;
  static Numbers numbers(const OpArgs& a, double rate, double) { return {0, rate, a.real("epsilon")}; }
  template <class T>
  WEFT_LANE void lane(const T* c, T g, T gg, T& x, T& sum) {
    sum = sum + gg;
    x = x - g * c[1] / std::sqrt(sum + c[2]);
  }
};

struct Adadelta : Squared {
  static constexpr int kSlots = 2;
  static Numbers numbers(const OpArgs& a, double rate, double) { return {0, rate, a.real("rho"), 1 - a.real("rho"), a.real("epsilon")}; }
  template <class T>
  WEFT_LANE void lane(const T* c, T g, T gg, T& x, T& v, T& moved) {
    v = v * c[2] + gg * c[3];
    const T delta = std::sqrt(moved + c[4]) * g / std::sqrt(v + c[4]);
    moved = moved * c[2] + delta * delta * c[3];
    x = x - delta * c[1];
  }
};

template <bool kMomentum, bool kCentered>
struct RmsProp : Squared {
  static constexpr int kSlots = 1 + kMomentum + kCentered;
  static Numbers numbers(const OpArgs& a, double rate, double) {
    return {0, rate, a.real("rho"), 1 - a.real("rho"), a.real("epsilon"), a.real("momentum")};
  }
  template <class T>
  WEFT_LANE void lane(const T* c, T g, T gg, T& x, T& v, auto&... rest) {
    T unused = T(0);
    T& m = first(rest..., unused);
    T& average = last(unused, rest...);
    v = v * c[2] + gg * c[3];
    T spread = v;
    if constexpr (kCentered) {
      average = average * c[2] + g * c[3];
      spread = spread - average * average;
    }
    T change = g * c[1] / std::sqrt(spread + c[4]);
    if constexpr (kMomentum) change = m = m * c[5] + change;
    x = x - change;
  }

 private:
  template <class T>
  WEFT_LANE T& first(T& a, auto&...) { return a; }
  template <class T>
  WEFT_LANE T& last(T& a) { return a; }
  template <class T>
  WEFT_LANE T& last(T&, T& b, auto&... more) { return last(b, more...); }
};

// kRoot: the sums of squares enter by their square root, as nearly always.
template <bool kRoot>
struct Ftrl : Squared {
  static constexpr int kSlots = 2;
  static Numbers numbers(const OpArgs& a, double rate, double) {
    const double l1 = a.real("l1_regularization_strength"), l2 = a.real("l2_regularization_strength") + a.real("beta") / (2 * rate);
    return {0, 1 / rate, l1, 2 * l2, 2 * a.real("l2_shrinkage_regularization_strength"), -a.real("learning_rate_power")};
  }
  template <class T>
  WEFT_LANE void lane(const T* c, T g, T gg, T& x, T& sum, T& linear) {
    const T before = power(sum, c[5]);
    sum = sum + gg;
    const T now = power(sum, c[5]);
    linear = linear + (g + x * c[4]) - (now - before) * c[1] * x;
    x = (lane_min(lane_max(linear, -c[2]), c[2]) - linear) / (now * c[1] + c[3]);
  }

 private:
  template <class T>
  WEFT_LANE T power(T base, T exponent) {
    if constexpr (kRoot) return std::sqrt(base);
    else return lane_pow(base, exponent);
  }
};

struct Lion : Squared {
  static constexpr int kSlots = 1;
  static Numbers numbers(const OpArgs& a, double rate, double) {
    return {0, rate, a.real("beta_1"), 1 - a.real("beta_1"), a.real("beta_2"), 1 - a.real("beta_2")};
  }
  template <class T>
  WEFT_LANE void lane(const T* c, T g, T, T& x, T& m) {
    const T direction = m * c[2] + g * c[3];
    x = x - (direction > T(0) ? c[1] : direction < T(0) ? -c[1] : direction);
    m = m * c[4] + g * c[5];
  }
};

double number(const KernelCall& call, std::size_t i) {
  return with_element(call.dtype(i), [&](auto* tag) { return convert<double>(*call.in<std::remove_pointer_t<decltype(tag)>>(i)); });
}

// The list begins behind the scalars.
std::size_t scalars(const OpArgs& args) { return args.op.inputs.size() - 1; }

template <class Rule, class T>
kernels::UpdateFn loop(bool sizes_given) {
  static const auto plain = update_clones<Rule, T, false>()[kernels::isa()], given = update_clones<Rule, T, true>()[kernels::isa()];
  return sizes_given ? given : plain;
}

template <class Rule>
UpdateLanes lanes_of(const KernelCall& call) {
  const bool sizes_given = call.flag("sizes_given");
  const std::size_t first = scalars(call);
  const double rate = number(call, 0);
  UpdateLanes lanes{.fn = call.dtype(first) == DType::f64 ? loop<Rule, double>(sizes_given) : loop<Rule, float>(sizes_given),
                    .inputs = Rule::kSlots + 2 + sizes_given,
                    .outputs = Rule::kSlots + 1,
                    .numbers = Rule::numbers(call, rate, first > 1 ? number(call, 1) + 1 : 1)};
  lanes.numbers[kDecay] = rate * call.real("weight_decay");
  return lanes;
}

// `names`: of the slots.
Specs infer_update(const Infer& in, std::initializer_list<const char*> names) {
  const std::size_t first = scalars(in), count = in.count() - first;
  for (std::size_t i = 0; i < first; ++i)
    if (in.rank(i) != 0) in.shape_error(in.named(i) + " must be a scalar.");
  if (!(kFloats & bit(in.dtype(0)))) in.dtype_error(in.named(0) + " must be " + dtypes_text(kFloats) + ".");
  const std::size_t streams = names.size() + 2 + in.flag("sizes_given");
  const auto lists = [&] {
    std::string text = "parameters, ";
    for (const char* name : names) text += std::string(name) + ", ";
    return text + (in.flag("sizes_given") ? "gradients and their sizes" : "gradients");
  };
  if (count % streams != 0)
    in.shape_error(std::to_string(count) + " tensors are given; " + lists() + " are " + std::to_string(streams) +
                   " lists of equal length, one behind the other.");
  const std::size_t length = count / streams;
  Specs result;
  bool open = false;  // one list knows sizes that another does not
  for (std::size_t i = 0; i < count; ++i) {
    const Shape &own = in.shape(first + i), &same = in.shape(first + i % length);
    if (own != same && !infer::compatible(own, same))
      in.shape_error(in.named(first + i) + " must have the shape of " + in.named(first + i % length) + "; " + lists() +
                     " have equal shapes.");
    open = open || own != same;
    if (i < length * (names.size() + 1)) result.push_back(in.spec(first + i));
  }
  for (std::size_t i = 0; open && i < count; ++i)
    for (std::size_t same = i % length; same < result.size(); same += length)
      for (int axis = 0; axis < result[same].shape.rank(); ++axis)
        result[same].shape.set(axis, infer::merge(result[same].shape.dim(axis), in.shape(first + i).dim(axis)));
  return result;
}

// What all rules share.
std::vector<AttrDef> attrs(std::vector<AttrDef> own) {
  own.push_back(attr::real("weight_decay", 0.0).at_least(0));
  own.push_back(attr::flag("sizes_given", false));
  return own;
}

AttrDef share(const char* name, double fallback) { return attr::real(name, fallback).between(0, 1); }
AttrDef positive(const char* name, double fallback) { return attr::real(name, fallback).at_least(0); }

// A call on tensors of the shapes [3,2] and [5], with as many slots as the rule has under these attributes.
Sample step(int scalars, int slots, std::vector<std::pair<const char*, Attr>> attrs = {}, bool sizes_given = false) {
  Sample sample{{f32({}).range(0.01, 0.1)}, std::move(attrs)};
  if (scalars > 1) sample.inputs.push_back(i64({}).exactly({2}));
  const auto both = [&](double low, double high) {
    sample.inputs.push_back(f32({3, 2}).range(low, high));
    sample.inputs.push_back(f32({5}).range(low, high));
  };
  both(-2, 2);
  for (int i = 0; i < slots; ++i) both(0.5, 2);
  both(-2, 2);
  if (sizes_given) both(0.5, 2), sample.attrs.emplace_back("sizes_given", true);
  return sample;
}

// The mean gradient is small beside the mean square, whose root is taken of what is left.
Sample centered_step(int slots_before, std::vector<std::pair<const char*, Attr>> attrs) {
  Sample sample = step(1, slots_before + 1, std::move(attrs));
  for (const std::size_t at : {0, 1}) {
    SampleInput& mean = sample.inputs[3 + 2 * static_cast<std::size_t>(slots_before) + at];
    mean.low = 0.1, mean.high = 0.3;
  }
  sample.attrs.emplace_back("centered", true);
  return sample;
}

}  // namespace

std::vector<Op> optimize() {
  const std::vector<Input> plain{"learning_rate:any", "tensors..."}, counting{"learning_rate:any", "iterations:int", "tensors..."};
  return {
      {.name = "sgd_update",
       .doc = "A step of gradient descent. `tensors` holds lists of equal length one behind the other: the parameters, with a momentum the "
              "momenta, and the "
              "gradients. The result holds the new ones of all but the gradients; those that were moved into the call are changed in "
              "place. Before all else each "
              "parameter loses its product with learning_rate and weight_decay. Of sizes_given the rule makes no use.",
       .inputs = plain,
       .attrs = attrs({share("momentum", 0.0), attr::flag("nesterov", false)}),
       .outputs = {"ys..."},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         if (in.real("momentum") != 0) return infer_update(in, {"momenta"});
         if (in.flag("nesterov")) in.value_error("nesterov is set without a momentum; give momentum more than 0.");
         return infer_update(in, {});
       },
       .update =
           [](const KernelCall& call) {
             return call.real("momentum") == 0 ? lanes_of<Sgd>(call)
                    : call.flag("nesterov")    ? lanes_of<Nesterov>(call)
                                               : lanes_of<Momentum>(call);
           },
       .samples = {step(1, 0), step(1, 1, {{"momentum", 0.9}}),
                   step(1, 1, {{"momentum", 0.9}, {"nesterov", true}, {"weight_decay", 0.1}})}},

      {.name = "adam_update",
       .doc = "A step of Adam; of AdamW with a weight_decay. `tensors`, as for sgd_update: parameters, momenta, velocities, with amsgrad "
              "the largest velocities so far, "
              "and gradients. `iterations` counts the steps before this one. With sizes_given the last list has what is taken for the "
              "squares of the gradients.",
       .inputs = counting,
       .attrs = attrs({share("beta_1", 0.9), share("beta_2", 0.999), positive("epsilon", 1e-7), attr::flag("amsgrad", false)}),
       .outputs = {"ys..."},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         return in.flag("amsgrad") ? infer_update(in, {"momenta", "velocities", "largest velocities"})
                                   : infer_update(in, {"momenta", "velocities"});
       },
       .update = [](const KernelCall& call) { return call.flag("amsgrad") ? lanes_of<AmsGrad>(call) : lanes_of<Adam>(call); },
       .samples = {step(2, 2), step(2, 3, {{"amsgrad", true}, {"weight_decay", 0.1}}), step(2, 2, {{"beta_1", 0.8}}, true)}},

      {.name = "adamax_update",
       .doc = "A step of Adamax. `tensors`, as for sgd_update: parameters, momenta, norms and gradients. `iterations` counts the steps "
              "before this one. With "
              "sizes_given the last list has what is taken for the magnitudes of the gradients.",
       .inputs = counting,
       .attrs = attrs({share("beta_1", 0.9), share("beta_2", 0.999), positive("epsilon", 1e-7)}),
       .outputs = {"ys..."},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         return infer_update(in, {"momenta", "norms"});
       },
       .update = lanes_of<Adamax>,
       .samples = {step(2, 2), step(2, 2, {}, true)}},

      {.name = "nadam_update",
       .doc = "A step of Adam with Nesterov's momentum. `tensors`, as for sgd_update: parameters, momenta, velocities and gradients. "
              "`iterations` counts the steps "
              "before this one. With sizes_given the last list has what is taken for the squares of the gradients.",
       .inputs = counting,
       .attrs = attrs({share("beta_1", 0.9), share("beta_2", 0.999), positive("epsilon", 1e-7)}),
       .outputs = {"ys..."},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         return infer_update(in, {"momenta", "velocities"});
       },
       .update = lanes_of<Nadam>,
       .samples = {step(2, 2), step(2, 2, {}, true)}},

      {.name = "adagrad_update",
       .doc = "A step of Adagrad. `tensors`, as for sgd_update: parameters, sums of squares and gradients. With sizes_given the last list "
              "has what is taken for "
              "the squares of the gradients.",
       .inputs = plain,
       .attrs = attrs({positive("epsilon", 1e-7)}),
       .outputs = {"ys..."},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs { return infer_update(in, {"sums of squares"}); },
       .update = lanes_of<Adagrad>,
       .samples = {step(1, 1), step(1, 1, {}, true)}},

      {.name = "adadelta_update",
       .doc = "A step of Adadelta. `tensors`, as for sgd_update: parameters, mean squares of gradients, mean squares of changes, and "
              "gradients. With sizes_given the "
              "last list has what is taken for the squares of the gradients.",
       .inputs = plain,
       .attrs = attrs({share("rho", 0.95), positive("epsilon", 1e-7)}),
       .outputs = {"ys..."},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         return infer_update(in, {"mean squares", "mean squares of changes"});
       },
       .update = lanes_of<Adadelta>,
       .samples = {step(1, 2), step(1, 2, {}, true)}},

      {.name = "rmsprop_update",
       .doc = "A step of RMSprop. `tensors`, as for sgd_update: parameters, mean squares, with a momentum the momenta, if centered the "
              "mean gradients, and "
              "gradients. With sizes_given the last list has what is taken for the squares of the gradients.",
       .inputs = plain,
       .attrs = attrs({share("rho", 0.9), share("momentum", 0.0), positive("epsilon", 1e-7), attr::flag("centered", false)}),
       .outputs = {"ys..."},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         const bool momentum = in.real("momentum") > 0;
         if (in.flag("centered"))
           return momentum ? infer_update(in, {"mean squares", "momenta", "mean gradients"})
                           : infer_update(in, {"mean squares", "mean gradients"});
         return momentum ? infer_update(in, {"mean squares", "momenta"}) : infer_update(in, {"mean squares"});
       },
       .update =
           [](const KernelCall& call) {
             const bool momentum = call.real("momentum") > 0;
             if (call.flag("centered")) return momentum ? lanes_of<RmsProp<true, true>>(call) : lanes_of<RmsProp<false, true>>(call);
             return momentum ? lanes_of<RmsProp<true, false>>(call) : lanes_of<RmsProp<false, false>>(call);
           },
       .samples = {step(1, 1), step(1, 2, {{"momentum", 0.9}}), centered_step(1, {}), centered_step(2, {{"momentum", 0.5}})}},

      {.name = "ftrl_update",
       .doc = "A step of FTRL. `tensors`, as for sgd_update: parameters, sums of squares, linear terms and gradients. With sizes_given the "
              "last list has what is "
              "taken for the squares of the gradients.",
       .inputs = plain,
       .attrs = attrs({attr::real("learning_rate_power", -0.5).between(-10, 0), positive("l1_regularization_strength", 0.0),
                       positive("l2_regularization_strength", 0.0), positive("l2_shrinkage_regularization_strength", 0.0),
                       positive("beta", 0.0)}),
       .outputs = {"ys..."},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         return infer_update(in, {"sums of squares", "linear terms"});
       },
       .update =
           [](const KernelCall& call) {
             return call.real("learning_rate_power") == -0.5 ? lanes_of<Ftrl<true>>(call) : lanes_of<Ftrl<false>>(call);
           },
       .samples =
           {step(1, 2),
            step(1, 2,
                 {{"learning_rate_power", -0.6}, {"l1_regularization_strength", 0.1}, {"l2_regularization_strength", 0.1}, {"beta", 0.1}}),
            step(1, 2, {{"l2_shrinkage_regularization_strength", 0.1}}, true)}},

      {.name = "lion_update",
       .doc = "A step of Lion. `tensors`, as for sgd_update: parameters, momenta and gradients. Of sizes_given the rule makes no use.",
       .inputs = plain,
       .attrs = attrs({share("beta_1", 0.9), share("beta_2", 0.99)}),
       .outputs = {"ys..."},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs { return infer_update(in, {"momenta"}); },
       .update = lanes_of<Lion>,
       .samples = {step(1, 1)}},
  };
}

}  // namespace weft::inline v0::rows
