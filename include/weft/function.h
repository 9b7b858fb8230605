// Function: a callable that is traced once for each kind of arguments and then runs as one transaction.
//
//   Variable total{1.f, {.name = "total"}};
//   Function add{[&](Tensor value) { return total.assign_add(value); }, {.args = {"value"}}};
//   add(2.f);                              // traces, then runs: total is 3
//   add(2.f);                              // runs: total is 5
//   print("{}", add.explain());            // 1 trace; what it read, wrote and froze
//
// The first call with arguments of a new kind runs the body on symbolic tensors and keeps the ops it calls. Every call then runs those ops
// on the values of that moment: the body itself is not run again. What the body looked at besides tensors and Variables is frozen:
// numbers, flags and text of arguments are part of the kind of a call, so another value is another trace; captured ones are not looked at
// again.
//
// Arguments and results are trees (<weft/walk.h>). The kind of a call is: the structure of its arguments, dtype and shape of each Tensor,
// the declared Spec of each Variable and which of them are the same, and the value of everything else. Variables, captured or passed, are
// read and written when the call runs, whichever slots are passed.
//
// A call is a transaction: it sees one moment of all Variables that it reads, waits for its turn at those it writes, and publishes all
// writes at its end, or none if it throws. Inside `atomically` or another Function it is part of that.
//
// A parameter `P&` is walked as a tree: a Tensor in it that the body replaces is replaced after each call; other changes of it are refused, also by
// run_eagerly. One Tensor that two parameters lead to may be read, but not replaced.
// Tensors behind pointers cannot be arguments or results; Variables can. A tensor that the body leaves in an object outside is symbolic for
// good: whatever uses it throws, naming the line that made it. A body that asks which Variable it has been given (its name, id or version,
// an optimizer) is traced for each of them, and run twice for that.
//
// Thread safety: one Function may be called from any number of threads; each kind is traced by one of them. One thread at a time traces, so
// a body must not wait for another thread that makes a first call.
// Ownership: a Function owns the Variables and Tensors that its traces use. What the body captures by reference must live as long as
// kinds of arguments may come that are new. Copies of a Function share its traces.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <weft/concrete.h>
#include <weft/function_report.h>
#include <weft/transaction.h>
#include <weft/tree.h>
#include <weft/variable.h>

namespace weft::inline v0 {

struct FunctionOptions {
  std::string name = {};                ///< for messages; else the line that made it
  std::vector<std::string> args = {};   ///< names of the arguments, for messages; else arg0, arg1, ...
  std::vector<Spec> signature = {};     ///< of all Tensors in the arguments, in order; unknown sizes take any. Numbers are cast to its dtypes
  bool strict = false;                  ///< a Tensor from outside that would be frozen is refused; numbers, and lists in the body, are not
  bool no_retrace = false;              ///< a second trace is refused
  bool reduce_retracing = false;        ///< a second shape makes a trace in which the sizes that differ are unknown, if the body lets it
  bool check_numerics = false;          ///< NaN or infinity, made by an op or given to a Variable, is a NumericError that names it. For finding faults: slow
  bool warn_of_retraces = true;         ///< five of them in ten calls are said on stderr, twice at most
  bool run_eagerly = false;             ///< the body runs at each call, as a block of `atomically`: without a trace, strict and no_retrace refuse nothing
  int max_traces = 64;                  ///< the one that was used longest ago is forgotten
  int max_plans = 16;                   ///< of each trace, for sizes that it leaves unknown; the same holds
  std::vector<std::string> without = {};  ///< passes that are left out, by name (docs/functions.md); the results are the same bits
};

namespace detail {

struct FunctionCallState;

/// One argument of a call, as the core sees it.
struct Argument {
  void* at;
  WalkFn walk;
  bool reference;  // the body may change it
};

/// One call. Made by the template below, which knows the types; everything else happens in the core.
class WEFT_API FunctionCall {
 public:
  using Body = void (*)(void* context, FunctionCall& call);
  /// `only`: the one trace that may be used, or null.
  FunctionCall(const std::shared_ptr<FunctionCore>& core, OnlyTrace only, const Argument* arguments, std::size_t count, Location at);
  ~FunctionCall();
  FunctionCall(const FunctionCall&) = delete;
  FunctionCall& operator=(const FunctionCall&) = delete;

  /// The whole call, if all arguments are Tensors, it has been traced, and the result is a Tensor or nothing: then `result` is that, and the
  /// arguments are moved from.
  static bool run_at_once(FunctionCore& core, OnlyTrace only, Tensor* const* arguments, std::size_t count, Tensor& result, Location at);
  /// Finds the trace for these arguments, or makes it: body(context) copies them, calls `begin`, runs on them, and calls `returns`. False: the
  /// body itself has run in the same way, as a block, and the call is done.
  bool prepare(Body body, void* context);
  /// Finds it or makes it, and no more.
  std::shared_ptr<FunctionTrace> trace(Body body, void* context);
  /// Puts symbols into copies of the arguments, if the body is traced. Where an argument cannot be copied, it is the argument itself.
  void begin(const Argument* copies);
  /// What the body returned; held by the trace, a pattern for the results of all calls. `twin` is a copy of it.
  void returns(std::shared_ptr<void> pattern, void* twin, WalkFn walk);
  void* made();                             // what the body returned. REQUIRES: it has run itself
  void run();
  const void* pattern() const;              // REQUIRES: prepared
  void fill(void* result, WalkFn walk);     // a copy of the pattern, with what this call has computed. REQUIRES: run
  Tensor only_tensor();                     // the same for a result that is a Tensor

 private:
  void find_or_trace(Body body, void* context);
  std::unique_ptr<FunctionCallState> state_;
};

/// No trace, no tape and no traced transaction, for a scope.
class WEFT_API Outside {
 public:
  Outside();
  ~Outside();
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;

 private:
  struct Scopes;
  std::unique_ptr<Scopes> scopes_;
};

WEFT_API std::shared_ptr<FunctionCore> make_function(FunctionOptions options, std::size_t arguments, bool has_body, Location at);
WEFT_API FunctionReport report(const FunctionCore& core);
WEFT_API FunctionGraph graph(const FunctionCore& core);
WEFT_API void profile(FunctionCore& core, int calls, Location at);

template <class F>
struct signature_of;
template <class C, class R, class... A>
struct signature_of<R (C::*)(A...)> { using type = R(A...); };
template <class C, class R, class... A>
struct signature_of<R (C::*)(A...) const> { using type = R(A...); };
template <class C, class R, class... A>
struct signature_of<R (C::*)(A...) noexcept> { using type = R(A...); };
template <class C, class R, class... A>
struct signature_of<R (C::*)(A...) const noexcept> { using type = R(A...); };
template <class R, class... A>
struct signature_of<R (*)(A...)> { using type = R(A...); };
template <class F>
concept HasCallOperator = requires { &F::operator(); };
template <class F>
struct callable {
  static_assert(std::is_pointer_v<F> && std::is_function_v<std::remove_pointer_t<F>>,
                "a Function is made from what can be called with one list of types: a lambda without auto, a function, an object with one "
                "operator(). Wrap a member function in a lambda. For anything else name the types, as in Function<Tensor(Tensor)>.");
  using type = typename signature_of<F>::type;
};
template <HasCallOperator F>
struct callable<F> { using type = typename signature_of<decltype(&F::operator())>::type; };

/// Containers say that they can be copied even if their elements cannot.
template <class T>
inline constexpr bool kCopyable = std::is_copy_constructible_v<T> && !std::is_polymorphic_v<T>;  // a copy of a base would be a part only
template <class T>
inline constexpr bool kCopyable<std::vector<T>> = kCopyable<T>;
template <class K, class T>
inline constexpr bool kCopyable<std::map<K, T>> = kCopyable<T>;
template <class K, class T>
inline constexpr bool kCopyable<std::unordered_map<K, T>> = kCopyable<T>;
template <class... T>
inline constexpr bool kCopyable<std::tuple<T...>> = (kCopyable<T> && ...);
template <class T, class U>
inline constexpr bool kCopyable<std::pair<T, U>> = kCopyable<T> && kCopyable<U>;

/// What the body is traced with: a copy, if there can be one.
template <class A>
using Copied = std::conditional_t<kCopyable<std::remove_cvref_t<A>>, std::remove_cvref_t<A>, std::remove_cvref_t<A>&>;

}  // namespace detail

template <class R, class... A>
class Function<R(A...)> {
  static_assert((!std::is_rvalue_reference_v<A> && ...), "a Function takes its arguments by value or by reference, not by &&.");
  static_assert(!std::is_pointer_v<R>, "a Function returns values: a Tensor, a Variable, or a struct or container of them.");
  using Result = std::remove_cvref_t<R>;
  using Body = detail::FunctionCall::Body;

 public:
  template <class F>
    requires(std::is_invocable_r_v<R, F&, A...> && !std::same_as<std::remove_cvref_t<F>, Function>)
  Function(F body, FunctionOptions options = {}, Location at = Location::here())
      : body_(std::make_shared<std::function<R(A...)>>(std::move(body))),
        core_(detail::make_function(std::move(options), sizeof...(A), static_cast<bool>(*body_), at)) {}

  /// Throws what the body throws while it is traced and what its ops throw when they run; TraceError, if the options refuse a trace.
  Result operator()(A... args, Location at = Location::here()) const {
    std::tuple<detail::Passed<A>...> passed(std::forward<A>(args)...);
    return std::apply([&](detail::Passed<A>&... given) -> Result { return call(nullptr, at, given...); }, passed);
  }

  /// The trace that calls with such arguments use, made if there is none, but not run. Instead of a Tensor it is given a Spec, in which
  /// sizes may be unknown: that trace takes all of them. Throws what tracing throws.
  ConcreteFunction<R(A...)> trace(detail::Told<A>... args, Location at = Location::here()) const {
    std::tuple<detail::Taken<A>...> taken(detail::taken<A>(args, at)...);
    const auto find = [](detail::FunctionCall& call, Body body, void* context) { return call.trace(body, context); };
    return std::apply([&](auto&... given) {
      return ConcreteFunction<R(A...)>(*this, core_, with_call(nullptr, at, find, given...));
    }, taken);
  }

  FunctionReport explain() const { return detail::report(*core()); }
  FunctionGraph graph() const { return detail::graph(*core()); }
  /// The next `calls` calls of each trace, also of those made later, are timed step by step; `explain()` has the times, and
  /// `explain().chrome_trace()` the last call. What was measured before is forgotten; 0 ends it. Throws ValueError if calls < 0.
  void profile(int calls, Location at = Location::here()) const { detail::profile(*core(at), calls, at); }

 private:
  friend class ConcreteFunction<R(A...)>;

  Result call(detail::OnlyTrace only, Location at, detail::Passed<A>&... given) const {
    if constexpr ((std::is_same_v<detail::Passed<A>, Tensor> && ...) && (std::is_same_v<Result, Tensor> || std::is_void_v<Result>)) {
      Tensor* const tensors[] = {&given..., nullptr};
      Tensor result;
      if (detail::FunctionCall::run_at_once(*core(at), only, tensors, sizeof...(A), result, at)) {
        if constexpr (std::is_void_v<Result>) return;
        else return result;
      }
    }
    return with_call(only, at, [&](detail::FunctionCall& call, Body body, void* context) -> Result {
      if (!call.prepare(body, context)) {
        if constexpr (std::is_void_v<Result>) return;
        else return std::move(*static_cast<Result*>(call.made()));
      }
      call.run();
      if constexpr (std::is_same_v<Result, Tensor>) {
        return call.only_tensor();
      } else if constexpr (!std::is_void_v<Result>) {
        Result result(*static_cast<const Result*>(call.pattern()));
        call.fill(detail::address(result), detail::kWalk<Result>);
        return result;
      }
    }, given...);
  }

  // use(call, body, context), where body(context, call) traces.
  template <class Use>
  auto with_call(detail::OnlyTrace only, Location at, const Use& use, detail::Passed<A>&... given) const {
    const detail::Argument arguments[] = {{detail::address(given), detail::kWalk<std::remove_cvref_t<A>>, detail::kChangeable<A>}...,
                                          {nullptr, nullptr, false}};
    detail::FunctionCall call(core(at), only, arguments, sizeof...(A), at);
    auto body = [&](detail::FunctionCall& traced) {
      std::tuple<detail::Copied<A>...> copies(given...);
      std::apply([&](std::remove_reference_t<detail::Copied<A>>&... copy) {
        const detail::Argument places[] = {{detail::address(copy), detail::kWalk<std::remove_cvref_t<A>>, false}..., {nullptr, nullptr, false}};
        traced.begin(places);
        if constexpr (std::is_void_v<Result>) {
          (*body_)(copy...);
          traced.returns(nullptr, nullptr, nullptr);
        } else {
          auto pattern = std::make_shared<Result>((*body_)(copy...));
          Result twin(*pattern);
          traced.returns(std::move(pattern), detail::address(twin), detail::kWalk<Result>);
        }
      }, copies);
    };
    return use(call, [](void* context, detail::FunctionCall& traced) { (*static_cast<decltype(body)*>(context))(traced); }, &body);
  }

  const std::shared_ptr<detail::FunctionCore>& core(Location at = {}) const {
    if (core_ == nullptr) detail::fail_moved_from("Function", at);
    return core_;
  }

  std::shared_ptr<const std::function<R(A...)>> body_;
  std::shared_ptr<detail::FunctionCore> core_;
};

/// Runs f now, even while a Function is being traced: for what is made once, such as the first values of Variables. Tapes do not see it.
template <class F>
auto init_scope(F&& f) {
  const detail::Outside outside;
  return f();
}

template <class F>
Function(F) -> Function<typename detail::callable<F>::type>;
template <class F>
Function(F, FunctionOptions, Location = {}) -> Function<typename detail::callable<F>::type>;

}  // namespace weft::inline v0
