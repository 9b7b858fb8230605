// What tapes and accumulators have in common: they follow values through a program.
#pragma once

#include <functional>
#include <memory>

#include "core/apply.h"

namespace weft::inline v0 {

/// A gradient that a program has given instead of those of its ops: from the gradients of the outputs to those of the inputs.
using GradientFn =
    std::function<std::vector<Grad>(std::span<const Tensor> inputs, std::span<const Tensor> outputs, std::span<const Grad> dys)>;

class Follower : public Interpreter {
 public:
  virtual bool recording() const = 0;
  virtual bool follows(const Tensor& x) const = 0;
  /// Whether a read of the Variable, which has this slot, would be followed from there on, and not to where the value came from.
  virtual bool watches(std::uint64_t slot, bool trainable) const = 0;
  /// It goes the way of the program, not back.
  virtual bool goes_forward() const = 0;
  /// Takes note that `outputs` were made from `inputs`, one of which it follows, and that `gradient` is the way back.
  virtual void record_custom(const Op& name, Location at, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                             std::shared_ptr<const GradientFn> gradient) = 0;
};

}  // namespace weft::inline v0
