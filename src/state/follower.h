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
  /// Errors call it by the noun; `over` says of one that is no longer installed why, and what to do.
  Follower(const char* noun, const char* over) : noun_(noun), over_(over) {}

  virtual bool recording() const { return !stopped && installed(); }
  virtual bool follows(const Tensor& x) const = 0;
  /// Whether a read of the Variable, which has this slot, would be followed from there on, and not to where the value came from.
  virtual bool watches(std::uint64_t slot, bool trainable) const = 0;
  /// It goes the way of the program, not back.
  virtual bool goes_forward() const = 0;
  /// Takes note that `outputs` were made from `inputs`, one of which it follows, and that `gradient` is the way back.
  virtual void record_custom(const Op& name, Location at, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                             std::shared_ptr<const GradientFn> gradient) = 0;

  // What owners ask for: each throws StateError if it is not the moment, or not the thread.
  void require_own_thread(const char* what, Location at) const;
  void stop(Location at);
  void resume(Location at);

  bool stopped = false;  // by its owner: it neither records nor watches

 private:
  const char *noun_, *over_;
};

/// Who keeps gradients that the program gives, if this thread makes a trace now that somebody differentiates later; null: nobody.
Follower* keeper_of_gradients();

/// Whether an interpreter that stands on `below` follows the value.
inline bool is_followed(const Tensor& x, const Interpreter* below) {
  for (const Interpreter* each = Interpreter::top(); each != nullptr && each != below; each = each->below())
    if (const auto* const tape = dynamic_cast<const Follower*>(each); tape != nullptr && tape->follows(x)) return true;
  return false;
}

}  // namespace weft::inline v0
