#include <weft/custom_gradient.h>

#include <algorithm>

#include "state/recorder.h"
#include "state/transaction.h"
#include <weft/ops.h>

namespace weft::inline v0 {
namespace {

// The tapes and accumulators that record on this thread now.
std::vector<Follower*> active_tapes() {
  std::vector<Follower*> result;
  any_follower(Interpreter::top(), [&](Follower& each) {
    if (each.recording()) result.push_back(&each);
    return false;
  });
  return result;
}

// And who keeps gradients that are given. It lies below all of them.
std::vector<Follower*> tapes_and_keeper() {
  std::vector<Follower*> result = active_tapes();
  if (Follower* const keeper = keeper_of_gradients()) result.push_back(keeper);
  return result;
}

bool followed(std::span<Follower* const> tapes, const Tensor& x) {
  for (const Follower* tape : tapes)
    if (tape->follows(x)) return true;
  return false;
}

// What was read of a Variable first.
struct FirstRead {
  std::uint64_t slot;
  Variable variable;
  Tensor value;
};

// Stands on top of the stack while a function runs, and sees what it reads and uses. If it stands `aside`, these tapes do not see the
// ops, but still which Variables are read.
class Observer final : public Interpreter {
 public:
  Observer(std::span<Follower* const> tapes, bool aside) : tapes_(tapes), aside_(aside) { install(); }
  ~Observer() override { remove(); }
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  void apply(Call call, Tensors& outputs) override {
    if (!aside_) return delegate(call, outputs);
    for (const Tensor& input : call.inputs)
      if (followed(tapes_, input) && !is_among(used, input)) used.push_back(input);
    Interpreter* next = below();
    while (std::find(tapes_.begin(), tapes_.end(), next) != tapes_.end()) next = next->below();
    const Scope scope(next);
    if (next == nullptr) apply_eagerly(call, outputs);
    else next->apply(call, outputs);
  }
  Tensor read(std::uint64_t slot, const Variable& variable, Tensor value, Location at) override {
    value = Interpreter::read(slot, variable, std::move(value), at);
    for (const FirstRead& read : reads)
      if (read.slot == slot) return value;
    reads.push_back({slot, variable, value});
    return value;
  }
  static bool is_among(std::span<const Tensor> list, const Tensor& x) {
    for (const Tensor& other : list)
      if (other.same_as(x)) return true;
    return false;
  }

  std::vector<FirstRead> reads;
  std::vector<Tensor> used;  // values that one of the tapes follows

 private:
  std::span<Follower* const> tapes_;
  bool aside_;
};

// Gives Variables the values that they had before.
class Replay final : public Interpreter {
 public:
  explicit Replay(const std::vector<FirstRead>& reads) : reads_(reads) { install(); }
  ~Replay() override { remove(); }
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  void apply(Call call, Tensors& outputs) override { delegate(call, outputs); }
  Tensor read(std::uint64_t slot, const Variable& variable, Tensor value, Location at) override {
    for (const FirstRead& read : reads_)
      if (read.slot == slot) return read.value;
    return Interpreter::read(slot, variable, std::move(value), at);
  }

 private:
  const std::vector<FirstRead>& reads_;
};

// Makes one call of all that happened: what goes out has Nodes of its own, which came from `inputs` on the way that `gradient` goes back.
// Accumulators are told `forward` instead, if it is given.
std::vector<Tensor> recorded_as_one(const Op& name, std::span<Follower* const> tapes, std::span<const Tensor> inputs,
                                    std::vector<Tensor> outputs, GradientFn gradient, Location at,
                                    const std::shared_ptr<const GradientFn>& forward = nullptr) {
  {
    const Observer aside(tapes, true);
    for (Tensor& output : outputs)
      if (output.defined()) output = identity(std::move(output), at);
  }
  const auto shared = std::make_shared<const GradientFn>(std::move(gradient));
  // From below: what an accumulator computes from the outputs is seen by those below it, which must know them then.
  for (std::size_t i = tapes.size(); i-- > 0;)
    for (const Tensor& input : inputs)
      if (tapes[i]->follows(input)) {
        tapes[i]->record_custom(name, at, inputs, outputs, tapes[i]->goes_forward() && forward != nullptr ? forward : shared);
        break;
      }
  return outputs;
}

// A traced program is its ops; a tape around a call of it would not see this gradient there.
void tell_trace() {
  SlotSymbols* const trace = Transaction::tracing_symbols();
  if (trace != nullptr && trace->keeper() == nullptr) trace->own_gradient({});
}

void check_gradient(std::size_t i, const Tensor& dx, const Tensor& x, Location at) {
  const auto text = [&] {
    return "gradient " + std::to_string(i) + " of its gradient function is " + dx.spec().str() + " for an input " + x.spec().str();
  };
  if (dx.dtype() != x.dtype()) throw DtypeError("custom_gradient", text() + "; cast it to the input's dtype.", at);
  if (dx.shape().known() && x.shape().known() && dx.shape() != x.shape())
    throw ShapeError("custom_gradient", text() + "; it must have the input's shape.", at);
}

}  // namespace

std::vector<Tensor> detail::call_with_gradient(const std::vector<Tensor>& inputs, const std::function<CustomResult()>& f, Location at) {
  static const Op name{.name = "custom_gradient", .doc = ""};
  tell_trace();
  if (tapes_and_keeper().empty()) return f().outputs;
  return detail::with_memory(name.name, at, [&] {
    std::vector<FirstRead> reads;
    CustomResult result;
    {
      Observer observer({}, false);
      result = f();
      reads = std::move(observer.reads);
    }
    const std::vector<Follower*> tapes = tapes_and_keeper(), active = active_tapes();
    std::vector<Tensor> everything = inputs;
    std::vector<Variable> variables, refused;
    const auto refuse = [at](const Variable& variable) {
      throw GradientError(name.name, "the function reads " + variable.slot()->title() +
                                         ", but its gradient function does not take Variables; let it take const std::vector<Variable>& "
                                         "as well, and return their gradients behind the others.", at);
    };
    for (const FirstRead& read : reads) {
      if (!followed(tapes, read.value) || Observer::is_among(inputs, read.value)) continue;
      if (!result.takes_variables && followed(active, read.value)) refuse(read.variable);
      (result.takes_variables ? variables : refused).push_back(read.variable);  // who keeps gradients may never be asked for that one
      everything.push_back(read.value);
    }
    GradientFn gradient = [back = std::move(result.gradient), variables, refused, refuse, at](
                              std::span<const Tensor> xs, std::span<const Tensor> ys, std::span<const Grad> dys, std::span<const bool> wanted) {
      for (std::size_t i = 0; i < refused.size(); ++i)
        if (wanted[wanted.size() - refused.size() + i]) refuse(refused[i]);
      xs = xs.first(xs.size() - refused.size());
      std::vector<Tensor> dense(ys.size());
      for (std::size_t i = 0; i < ys.size(); ++i)
        if (dys[i].present()) dense[i] = dys[i].dense();
        else if (ys[i].defined()) dense[i] = zeros_like(ys[i]);
      const std::vector<Tensor> dxs = back(std::move(dense), variables);
      if (dxs.size() != xs.size())
        throw ValueError("custom_gradient",
                         "its gradient function returned " + std::to_string(dxs.size()) + " gradients for " +
                             std::to_string(xs.size() - variables.size()) + " inputs" +
                             (variables.empty() ? "" : " and " + std::to_string(variables.size()) + " Variables") + "; return one for each.",
                         at);
      std::vector<Grad> grads(xs.size() + refused.size());
      for (std::size_t i = 0; i < xs.size(); ++i) {
        if (!dxs[i].defined() || !xs[i].defined() || !is_floating(xs[i].dtype())) continue;
        check_gradient(i, dxs[i], xs[i], at);
        grads[i] = dxs[i];
      }
      return grads;
    };
    return recorded_as_one(name, tapes, everything, std::move(result.outputs), std::move(gradient), at);
  });
}

std::vector<Tensor> detail::call_recomputed(const std::vector<Tensor>& inputs, TensorsFn f, Location at) {
  static const Op name{.name = "recompute_grad", .doc = ""};
  SlotSymbols* const trace = Transaction::tracing_symbols();
  if (trace == nullptr || !trace->shows_ops()) tell_trace();  // otherwise its ops, whose gradients are the same, are all that is needed
  const std::vector<Follower*> tapes = active_tapes();
  if (tapes.empty()) return f(inputs);
  return detail::with_memory(name.name, at, [&] {
    std::vector<FirstRead> reads;
    std::vector<Tensor> everything = inputs, outputs;
    {
      Observer observer(tapes, true);
      outputs = f(inputs);
      reads = std::move(observer.reads);
      for (Tensor& used : observer.used)  // what the function captured, and what it read of Variables
        if (!Observer::is_among(inputs, used)) everything.push_back(std::move(used));
    }
    GradientFn gradient = [f = std::move(f), reads = std::move(reads), count = inputs.size(), at](
                              std::span<const Tensor> xs, std::span<const Tensor>, std::span<const Grad> dys, std::span<const bool>) {
      const Replay replay(reads);
      GradientTape tape({.watch_accessed_variables = false}, at);
      std::vector<Source> sources;
      for (const Tensor& x : xs) {
        if (!x.defined() || !is_floating(x.dtype())) continue;
        tape.watch(x, at);
        sources.push_back(x);
      }
      const std::vector<Tensor> ys = f(std::vector<Tensor>(xs.begin(), xs.begin() + static_cast<std::ptrdiff_t>(count)));
      if (ys.size() != dys.size())
        throw ValueError("recompute_grad", "the function returned " + std::to_string(dys.size()) + " values and then " +
                                               std::to_string(ys.size()) + "; it must return the same again.", at);
      std::vector<Tensor> targets, seeds;
      for (std::size_t i = 0; i < ys.size(); ++i) {
        if (!dys[i].present()) continue;
        targets.push_back(ys[i]);
        seeds.push_back(dys[i].dense());
      }
      const std::vector<Grad> found = tape.gradients(targets, sources, {.unconnected = Unconnected::kNone, .output_gradients = seeds}, at);
      std::vector<Grad> grads(xs.size());
      std::size_t next = 0;
      for (std::size_t i = 0; i < xs.size(); ++i)
        if (xs[i].defined() && is_floating(xs[i].dtype())) grads[i] = found[next++];
      return grads;
    };
    GradientFn refuse = [at](std::span<const Tensor>, std::span<const Tensor>, std::span<const Grad>, std::span<const bool>) -> std::vector<Grad> {
      throw GradientError("recompute_grad", "forward mode does not go through a function that is computed again; leave recompute_grad out there: "
                                            "an accumulator keeps nothing of the function anyway.", at);
    };
    return recorded_as_one(name, tapes, everything, std::move(outputs), std::move(gradient), at, std::make_shared<const GradientFn>(std::move(refuse)));
  });
}

Tensor prevent_gradient(Tensor x, std::string sentence, Location at) {
  const auto run = [&]() -> detail::CustomResult {
    const auto refuse = [sentence, at](const std::vector<Tensor>&, const std::vector<Variable>&) -> std::vector<Tensor> {
      throw GradientError("prevent_gradient", sentence, at);
    };
    return {{x}, refuse, false};
  };
  return detail::with_memory("prevent_gradient", at, [&] { return detail::call_with_gradient({x}, run, at)[0]; });
}

}  // namespace weft::inline v0
