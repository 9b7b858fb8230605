// What tapes and accumulators have in common: they follow values through a program.
#pragma once

#include <functional>
#include <memory>

#include "graph/tracer.h"

namespace weft::inline v0 {

/// A gradient that a program has given instead of those of its ops: from the gradients of the outputs to those of the inputs. Of inputs that are
/// not wanted it may give any, or none.
using GradientFn = std::function<std::vector<Grad>(std::span<const Tensor> inputs, std::span<const Tensor> outputs, std::span<const Grad> dys,
                                                   std::span<const bool> wanted)>;

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

/// Whether f holds of one of the tapes and accumulators from `top` down, or to `end`, which is not asked.
template <class F>
bool any_follower(Interpreter* top, const F& f, const Interpreter* end = nullptr) {
  for (; top != nullptr && top != end; top = top->below())
    if (auto* const follower = dynamic_cast<Follower*>(top); follower != nullptr && f(*follower)) return true;
  return false;
}

/// Whether an interpreter that stands on `below` follows the value.
inline bool is_followed(const Tensor& x, const Interpreter* below) {
  return any_follower(Interpreter::top(), [&](const Follower& each) { return each.follows(x); }, below);
}

/// What a program reads of a floating Variable that it has written itself, while `tracer` takes its calls. A read ends the way to where the value
/// came from, for tapes above the tracer that follow the value, and for those that will follow the trace. A trainable one needs no cut for the
/// latter: all of them watch it, so they are shown a read, or run the program itself. `taped`: some below follow the trace and do not watch it.
Tensor read_of_written(Tracer& tracer, const Variable& variable, Tensor value, bool taped, Location at);

}  // namespace weft::inline v0
