// GradientTape: records ops and differentiates them backward.
//
//   Variable w = ...;                               // or: Tensor x = 3.f; tape.watch(x);
//   GradientTape tape;
//   Tensor loss = mean(square(matmul(x, w) - y));   // reading a trainable Variable watches it
//   Tensor dw = tape.gradient(loss, w);
//
// A tape records from its construction until `gradient` is called (a persistent one: until it is destroyed or stopped). Tapes nest; an
// outer tape records the gradient computation of an inner one, which gives higher orders.
//
// Thread safety: a tape belongs to the thread that made it and records only what that thread does. While that thread lives, asking it
// elsewhere is a StateError; afterwards it no longer records and belongs to its owner.
// Ownership: a tape holds the values it needs, so a later assignment cannot change a gradient; it lets go of them when it has answered,
// a persistent one when it ends.
// Cost: one record for each op that touches a watched value; nothing for the others.
// Errors: whatever throws leaves the tape as it was.
#pragma once

#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include <weft/gradient.h>
#include <weft/tensor.h>
#include <weft/tree.h>
#include <weft/variable.h>

namespace weft::inline v0 {

namespace detail {
/// What f returns; if it finds no memory, the library's own error.
template <class F>
auto with_memory(const char* what, Location at, F&& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    throw OutOfMemoryError(what, "there is no memory for what the tape keeps; record less at a time.", at);
  }
}
}  // namespace detail

/// What `gradient` answers for a source that the target does not depend on.
enum class Unconnected : std::uint8_t { kError, kZeros, kNone };

struct TapeOptions {
  bool persistent = false;               ///< allow more than one `gradient` call
  bool watch_accessed_variables = true;  ///< follow each trainable floating Variable that is read
};

struct GradientOptions {
  /// Left out it is kError; for the Variables of a tree kNone, unless only an integer stands between one of them and the target.
  std::optional<Unconnected> unconnected = {};
  std::vector<Tensor> output_gradients = {};  ///< one for each target, of its Spec; ones if empty
};

struct JacobianOptions {
  std::optional<Unconnected> unconnected = {};  ///< as for gradients
  /// How many elements of the target are differentiated at once, which bounds the memory: values on the way back are this many times
  /// as large as in a gradient. 0 means all of them.
  std::int64_t chunk = 0;
};

/// What a gradient is taken with respect to: a Tensor, or a Variable and with it all its reads.
class WEFT_API Source {
 public:
  Source(Tensor x) : what_(std::move(x)) {}
  Source(const Variable& v) : what_(v) {}
  const Tensor* tensor() const { return std::get_if<Tensor>(&what_); }        ///< null if it is a Variable
  const Variable* variable() const { return std::get_if<Variable>(&what_); }  ///< null if it is a Tensor

 private:
  std::variant<Tensor, Variable> what_;
};

/// Some of them: {x, w}, or a vector of Tensors or Variables.
class WEFT_API Sources {
 public:
  Sources(std::initializer_list<Source> list) : list_(list) {}
  Sources(std::vector<Source> list) : list_(std::move(list)) {}
  Sources(const std::vector<Tensor>& list) : list_(list.begin(), list.end()) {}
  Sources(const std::vector<Variable>& list) : list_(list.begin(), list.end()) {}
  std::span<const Source> list() const { return list_; }

 private:
  std::vector<Source> list_;
};

/// Anything else that can be walked.
template <class T>
concept TreeOfSources = !std::convertible_to<T, Tensor> && !std::convertible_to<T, Sources> && !std::convertible_to<T, Source>;

class TapeRecorder;

class WEFT_API GradientTape {
 public:
  explicit GradientTape(TapeOptions options = {}, Location at = Location::here());
  ~GradientTape();
  GradientTape(const GradientTape&) = delete;
  GradientTape& operator=(const GradientTape&) = delete;

  /// Follow a value, or what is read of a Variable, from now on. REQUIRES: floating (else GradientError). Watching twice is harmless. Of a
  /// tree: its trainable floating Variables and its floating Tensors.
  void watch(const Tensor& x, Location at = Location::here());
  void watch(const Variable& v, Location at = Location::here());
  void watch(const Sources& sources, Location at = Location::here());
  template <TreeOfSources T>
  void watch(const T& tree, Location at = Location::here());
  /// The Variables that this tape watches, in the order of their first reads. They stay until `reset`.
  std::vector<Variable> watched_variables() const;

  /// The gradient of the sum of `target`'s elements with respect to `source`, with source's Spec. Of a Variable it is the sum over
  /// all its reads; an assignment ends a path. An unconnected source is a GradientError that says why, unless the options say otherwise.
  /// Ends the recording unless the tape is persistent or the call throws; a second call is then a StateError. A Variable may be the
  /// target: the value that it has now.
  Tensor gradient(const Tensor& target, const Tensor& source, GradientOptions options = {}, Location at = Location::here());
  Tensor gradient(const Tensor& target, const Variable& source, GradientOptions options = {}, Location at = Location::here());
  std::vector<Tensor> gradient(const Tensor& target, const Sources& sources, GradientOptions options = {}, Location at = Location::here());
  /// Of the trainable Variables of a tree, by Variable and by path.
  template <TreeOfSources T>
  Gradients gradient(const Tensor& target, const T& tree, GradientOptions options = {}, Location at = Location::here());
  /// Several targets (their gradients add up), and sparse gradients left sparse.
  std::vector<Grad> gradients(const std::vector<Tensor>& targets, const Sources& sources, GradientOptions options = {},
                              Location at = Location::here());

  /// Each element of `target` differentiated by each element of `source`: the target's axes, then the source's. All of them go back at
  /// once, op by op, with one axis more, so the number of calls does not depend on how many there are; results agree with gradients
  /// taken one by one up to rounding. Otherwise as `gradient`: it counts as one answer. Custom gradients are given tensors without
  /// values, as while tracing; cond and while_loop take them, if their parts write no Variables (else TraceError). REQUIRES: the sizes of
  /// `target` are known (else ShapeError).
  Tensor jacobian(const Tensor& target, const Tensor& source, JacobianOptions options = {}, Location at = Location::here());
  Tensor jacobian(const Tensor& target, const Variable& source, JacobianOptions options = {}, Location at = Location::here());
  std::vector<Tensor> jacobian(const Tensor& target, const Sources& sources, JacobianOptions options = {}, Location at = Location::here());
  template <TreeOfSources T>
  Gradients jacobian(const Tensor& target, const T& tree, JacobianOptions options = {}, Location at = Location::here());
  /// The same for each entry of a batch, the first axis of both: the batch, the target's other axes, the source's other axes. REQUIRES:
  /// rank 2 or more and the same batch (else ShapeError); entry i of the target depends on entry i of the source only, otherwise what
  /// others contribute to it is added up.
  Tensor batch_jacobian(const Tensor& target, const Tensor& source, JacobianOptions options = {}, Location at = Location::here());
  Tensor batch_jacobian(const Tensor& target, const Variable& source, JacobianOptions options = {}, Location at = Location::here());
  std::vector<Tensor> batch_jacobian(const Tensor& target, const Sources& sources, JacobianOptions options = {},
                                     Location at = Location::here());
  template <TreeOfSources T>
  Gradients batch_jacobian(const Tensor& target, const T& tree, JacobianOptions options = {}, Location at = Location::here());

  bool recording() const;
  /// Between `stop` and `resume` nothing is recorded and nothing is watched. Throws StateError if it does not record, or does already.
  void stop(Location at = Location::here());
  void resume(Location at = Location::here());
  /// What f returns, computed without being recorded by this tape.
  template <class F>
  decltype(auto) stop_recording(F&& f, Location at = Location::here()) {
    stop(at);
    const Resume resume{*this};
    return std::forward<F>(f)();
  }
  /// Forgets everything and records from now on, as a new tape would.
  void reset(Location at = Location::here());

 private:
  struct Resume {
    GradientTape& tape;
    ~Resume() { tape.resume_after_stop(); }
  };
  void resume_after_stop() noexcept;
  Gradients gradient_of_variables(const Tensor& target, const NamedVariables& variables, GradientOptions options, Location at);
  Gradients jacobian_of_variables(const Tensor& target, const NamedVariables& variables, JacobianOptions options, bool batch, Location at);

  std::unique_ptr<TapeRecorder> recorder_;
};

template <class G>
struct ValueAndGradient {
  Tensor value;
  G gradient;
};

/// The value of f and its gradient: auto [loss, d] = value_and_gradient([&] { return loss_of(net); }, net). f takes the sources, or
/// nothing.
template <class F, class S>
  requires(!std::same_as<S, Sources>)
auto value_and_gradient(F&& f, const S& sources, GradientOptions options = {}, Location at = Location::here()) {
  GradientTape tape({}, at);
  tape.watch(sources, at);
  Tensor value;
  if constexpr (std::invocable<F, const S&>) value = std::forward<F>(f)(sources);
  else value = std::forward<F>(f)();
  auto gradient = tape.gradient(value, sources, std::move(options), at);
  return ValueAndGradient<decltype(gradient)>{std::move(value), std::move(gradient)};
}
template <class F>
ValueAndGradient<std::vector<Tensor>> value_and_gradient(F&& f, const Sources& sources, GradientOptions options = {},
                                                         Location at = Location::here()) {
  GradientTape tape({}, at);
  tape.watch(sources, at);
  Tensor value = std::forward<F>(f)();
  std::vector<Tensor> gradient = tape.gradient(value, sources, std::move(options), at);
  return {std::move(value), std::move(gradient)};
}

// --- details ---

template <TreeOfSources T>
void GradientTape::watch(const T& tree, Location at) {
  visit(tree, [&](std::string_view, const TreeLeaf& leaf) {
    if (const auto* v = leaf.as<const Variable>(); v != nullptr && v->trainable() && is_floating(v->dtype())) watch(*v, at);
    if (const auto* x = leaf.as<const Tensor>(); x != nullptr && x->defined() && is_floating(x->dtype())) watch(*x, at);
  });
}

template <TreeOfSources T>
Gradients GradientTape::gradient(const Tensor& target, const T& tree, GradientOptions options, Location at) {
  return gradient_of_variables(target, named_variables(tree, Which::kTrainable), std::move(options), at);
}

template <TreeOfSources T>
Gradients GradientTape::jacobian(const Tensor& target, const T& tree, JacobianOptions options, Location at) {
  return jacobian_of_variables(target, named_variables(tree, Which::kTrainable), options, false, at);
}

template <TreeOfSources T>
Gradients GradientTape::batch_jacobian(const Tensor& target, const T& tree, JacobianOptions options, Location at) {
  return jacobian_of_variables(target, named_variables(tree, Which::kTrainable), options, true, at);
}

}  // namespace weft::inline v0
