// ConcreteFunction: one trace of a Function, made before it is called.
//
//   Function step{[&](Tensor x, Tensor y) { ... return loss; }, {.name = "step", .args = {"x", "y"}}};
//   ConcreteFunction only = step.trace(Spec{f32, {kUnknown, 10}}, Spec{i32, {kUnknown}});   // traces, does not run
//   print("{}", only);                            // step(x f32[?,10], y i32[?]) -> f32[]
//   only(x, y);                                   // runs; never traces
//
// It is called as the Function is, with arguments of its kind: numbers take the dtype of a Spec, unknown sizes take any, and everything
// that is no Tensor must be as it was traced. Others are refused with a TraceError that names the argument, eagerly and while another
// Function is traced.
//
// Thread safety and ownership are those of <weft/function.h>. A ConcreteFunction keeps its trace, also if the Function forgets it. It is a
// value: copies share the trace.
#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/function_report.h>
#include <weft/shape.h>
#include <weft/tensor.h>
#include <weft/variable.h>

namespace weft::inline v0 {

template <class Signature>
class Function;
template <class Signature>
class ConcreteFunction;

namespace detail {

class FunctionCore;
struct FunctionTrace;
/// The one trace that a call may use, or null: any.
using OnlyTrace = const std::shared_ptr<FunctionTrace>*;

[[noreturn]] WEFT_API void fail_moved_from(const char* what, Location at);

/// What does not depend on types.
class WEFT_API SingleTrace {
 public:
  std::vector<Spec> inputs() const;   ///< of the Tensors in the arguments, in order
  std::vector<Spec> outputs() const;  ///< of the Tensors in the result, in order
  /// That the body holds itself and has used, oldest first. Those that are passed are no part of a trace.
  std::vector<Variable> variables() const;
  /// What it reads, writes and has frozen.
  FunctionReport::Trace explain() const;
  std::string str() const;  ///< "step(x f32[?,10], y i32[?]) -> f32[]"

  /// A call with the Tensors of the arguments alone, in order; the rest is as it was traced. Returns the Tensors of the result, then those
  /// that replace Tensors of reference arguments. Throws TraceError if an argument holds a Variable, or if a tape is to see gradients that
  /// the body gives.
  std::vector<Tensor> call_flat(std::vector<Tensor> tensors, Location at = Location::here()) const;

 protected:
  SingleTrace(std::shared_ptr<FunctionCore> core, std::shared_ptr<FunctionTrace> trace)
      : core_(std::move(core)), trace_(std::move(trace)) {}
  const FunctionTrace& known(Location at = {}) const {
    if (trace_ == nullptr) fail_moved_from("ConcreteFunction", at);
    return *trace_;
  }
  std::shared_ptr<FunctionCore> core_;
  std::shared_ptr<FunctionTrace> trace_;
};

template <class A>
inline constexpr bool kChangeable = std::is_lvalue_reference_v<A> && !std::is_const_v<std::remove_reference_t<A>>;
/// What the body gets: its argument itself, or a copy of one that it may not change.
template <class A>
using Passed = std::conditional_t<kChangeable<A>, A, std::remove_cvref_t<A>>;

WEFT_API Tensor stand_in(const Spec& spec, Location at);  ///< for a Tensor that `trace` is only told of
/// What `trace` is told of an argument, and what it makes of that.
template <class A>
inline constexpr bool kTensor = std::is_same_v<std::remove_cvref_t<A>, Tensor>;
template <class A>
using Told = std::conditional_t<kTensor<A>, Spec, A>;
template <class A>
using Taken = std::conditional_t<kTensor<A>, Tensor, Passed<A>>;
template <class A>
Taken<A> taken(Told<A>& told, Location at) {
  if constexpr (kTensor<A>) return stand_in(told, at);
  else return std::forward<A>(told);
}

}  // namespace detail

template <class R, class... A>
class ConcreteFunction<R(A...)> : public detail::SingleTrace {
 public:
  /// Throws what running throws, and TraceError for arguments of another kind.
  std::remove_cvref_t<R> operator()(A... args, Location at = Location::here()) const {
    known(at);
    std::tuple<detail::Passed<A>...> passed(std::forward<A>(args)...);
    return std::apply([&](auto&... given) { return function_.call(&trace_, at, given...); }, passed);
  }

 private:
  friend class Function<R(A...)>;
  ConcreteFunction(Function<R(A...)> function, std::shared_ptr<detail::FunctionCore> core, std::shared_ptr<detail::FunctionTrace> trace)
      : SingleTrace(std::move(core), std::move(trace)), function_(std::move(function)) {}

  Function<R(A...)> function_;
};

}  // namespace weft::inline v0
