// ForwardAccumulator: carries derivatives along a direction through a program, while it runs.
//
//   ForwardAccumulator forward{x, dx};    // x moves along dx
//   Tensor y = sum(square(x));
//   Tensor dy = forward.jvp(y);           // so y moves along dy: the Jacobian times dx
//
// One pass gives the derivative of everything along one direction, where a GradientTape gives that of one value along every direction. Both
// compose: a tape inside an accumulator gives products of the Hessian and a vector, without the Hessian.
//
//   ForwardAccumulator forward{w, direction};
//   GradientTape tape;
//   Tensor dw = tape.gradient(loss_of(w), w);
//   Tensor product = forward.jvp(dw);
//
// An accumulator records from its construction until it is stopped or destroyed: what is computed meanwhile from what moves, moves as well.
// Whatever is read of a Variable that moves has the Variable's tangent; an assignment passes none on. Functions, branches and loops are gone
// through once, with the tangents. Ops without a derivative (comparisons, floor, integers) let nothing through.
//
// Thread safety: as a tape, it belongs to the thread that made it. While that thread lives, asking it elsewhere is a StateError.
// Ownership: it holds tangents for as long as somebody holds the values that they belong to; a few dead ones may stay until the next calls.
// Cost: of a pointwise op, about that of its gradient; of others up to that of two. Nothing for what does not move.
// Errors: whatever throws leaves it as it was. A value that moves in a way that cannot be computed (an op without a gradient,
// prevent_gradient, recompute_grad) is an error when it is asked about, not before.
#pragma once

#include <optional>
#include <vector>

#include <weft/tape.h>

namespace weft::inline v0 {

struct JvpOptions {
  /// What to answer for a value that does not depend on what moves. Left out it is kError; for the Tensors of a tree kNone.
  std::optional<Unconnected> unconnected = {};
};

class ForwardRecorder;

class WEFT_API ForwardAccumulator {
 public:
  /// A primal, which moves, and its tangent, which has its Spec. REQUIRES: floating (else GradientError); each primal once (else ValueError).
  ForwardAccumulator(const Tensor& primal, const Tensor& tangent, Location at = Location::here());
  ForwardAccumulator(const Variable& primal, const Tensor& tangent, Location at = Location::here());
  /// Several: {{x, w}, {dx, dw}}.
  ForwardAccumulator(const Sources& primals, const std::vector<Tensor>& tangents, Location at = Location::here());
  /// The trainable floating Variables of a tree and its floating Tensors, with the values of a tree of the same kind. Those whose tangent is an
  /// empty Tensor stand still. Throws ValueError for another structure.
  template <TreeOfSources T>
  ForwardAccumulator(const T& tree, const T& tangents, Location at = Location::here());
  /// The trainable Variables of a tree, along a gradient. Those without an entry stand still.
  template <TreeOfSources T>
  ForwardAccumulator(const T& tree, const Gradients& tangents, Location at = Location::here());
  ~ForwardAccumulator();
  ForwardAccumulator(const ForwardAccumulator&) = delete;
  ForwardAccumulator& operator=(const ForwardAccumulator&) = delete;

  /// The tangent of a value, with its Spec. May be asked any number of times, also after `stop`. One that does not depend on what moves is a
  /// GradientError that says why, unless the options say otherwise; kNone gives an empty Tensor.
  Tensor jvp(const Tensor& y, JvpOptions options = {}, Location at = Location::here());
  std::vector<Tensor> jvp(const std::vector<Tensor>& ys, JvpOptions options = {}, Location at = Location::here());
  /// Of gradients: those that have none are absent, as in a tree.
  Gradients jvp(const Gradients& ys, JvpOptions options = {}, Location at = Location::here());
  /// A tree like this one, with tangents for its Tensors; an integer one becomes an empty Tensor.
  template <TreeOfSources T>
  T jvp(const T& tree, JvpOptions options = {}, Location at = Location::here());

  bool recording() const;
  /// Between `stop` and `resume` nothing that is computed or read moves. Throws StateError if it does not record, or does already.
  void stop(Location at = Location::here());
  void resume(Location at = Location::here());

 private:
  struct Primals {
    std::vector<Source> sources = {};
    std::vector<Tensor> tangents = {};
  };
  ForwardAccumulator(const Primals& primals, Location at);
  template <class T>
  static std::vector<Source> leaves_of(const T& tree);
  static Primals paired(const std::vector<Source>& tree, const std::vector<Source>& tangents, Location at);
  static Primals paired(const NamedVariables& variables, const Gradients& tangents, Location at);

  std::unique_ptr<ForwardRecorder> recorder_;
};

// --- details ---

template <class T>
std::vector<Source> ForwardAccumulator::leaves_of(const T& tree) {
  std::vector<Source> leaves;
  visit(tree, [&](std::string_view, const TreeLeaf& leaf) {
    if (const auto* v = leaf.as<const Variable>()) leaves.emplace_back(*v);
    if (const auto* x = leaf.as<const Tensor>()) leaves.emplace_back(*x);
  });
  return leaves;
}

template <TreeOfSources T>
ForwardAccumulator::ForwardAccumulator(const T& tree, const T& tangents, Location at)
    : ForwardAccumulator(paired(leaves_of(tree), leaves_of(tangents), at), at) {}

template <TreeOfSources T>
ForwardAccumulator::ForwardAccumulator(const T& tree, const Gradients& tangents, Location at)
    : ForwardAccumulator(paired(named_variables(tree, Which::kTrainable), tangents, at), at) {}

template <TreeOfSources T>
T ForwardAccumulator::jvp(const T& tree, JvpOptions options, Location at) {
  options.unconnected = options.unconnected.value_or(Unconnected::kNone);
  T result = tree;
  visit(result, [&](std::string_view, const TreeLeaf& leaf) {
    if (auto* x = leaf.as<Tensor>(); x != nullptr && x->defined()) *x = is_floating(x->dtype()) ? jvp(*x, options, at) : Tensor();
  });
  return result;
}

}  // namespace weft::inline v0
