// Dynamic loss scaling, for gradients in 16 bits: a loss that is multiplied with a large number keeps small gradients from vanishing.
//
//   LossScale scale;
//   Tensor loss = ...;
//   scale.apply(adam, tape.gradient(scale.scaled(loss), net), net);
//
// A step with a gradient that is infinite or NaN is left out, and the scale halved; after growth_steps good steps in a row it is doubled.
// Thread safety and ownership: as of an Optimizer. Its state is a tree.
#pragma once

#include <weft/optim.h>

namespace weft::inline v0 {

struct LossScaleOptions {
  double initial_scale = 32768;
  std::int64_t growth_steps = 2000;
};

class WEFT_API LossScale {
 public:
  /// Throws ValueError for options that are not positive.
  explicit LossScale(LossScaleOptions options = {}, Location at = Location::here());

  Tensor scaled(Tensor loss, Location at = Location::here()) const;  ///< in the dtype of the loss
  /// A step of `optimizer` with the gradients of the scaled loss, in one transaction. Returns a bool scalar: false if it was left out.
  Tensor apply(Optimizer& optimizer, const Gradients& gradients, const NamedVariables& variables, Location at = Location::here());
  template <class T>
  Tensor apply(Optimizer& optimizer, const Gradients& gradients, const T& tree, Location at = Location::here()) {
    return apply(optimizer, gradients, named_variables(tree, Which::kTrainable), at);
  }

  Variable scale;       ///< f32[]
  Variable good_steps;  ///< i64[]: since the scale changed

 private:
  std::int64_t growth_steps_;
  WEFT_FIELDS(scale, good_steps, untracked(*this))
};

}  // namespace weft::inline v0
