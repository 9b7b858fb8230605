// Control flow that depends on values: cond, switch_case, while_loop, scan, fold, map.
//
//   Tensor y = cond(x > 0.f, [&] { return x; }, [&] { return count.assign_add(1), -x; });
//   auto [i, total] = while_loop([](Tensor i, Tensor) { return i < 10; },
//                                [](Tensor i, Tensor total) { return std::tuple{i + 1, total * 2.f}; }, std::tuple{0, 1.f});
//   Tensor sums = scan([](Tensor sum, Tensor x) { return sum + x; }, 0.f, xs);    // [x0, x0 + x1, ...]
//
// Eagerly they are the C++ statements that they look like: the branch that is taken runs, a loop calls its body turn by turn. While a Function
// is traced, where values are not known yet, each part is traced and becomes a part of the graph; what a branch or turn reads of the
// program around it, and Variables that it reads and writes, do what they do eagerly. A branch that is not taken writes nothing.
//
// Branches must return the same structure, dtypes and ranks; sizes may differ, and are then unknown. So must the carried value of a loop
// before and after a turn. Numbers become Tensors, and so does a returned Variable: its value. Gradients flow through all of them, any
// number of times; a loop whose gradient is asked for keeps the carried value of each turn.
//
// Errors: DtypeError or ShapeError for a condition that is no bool scalar, IndexError for a branch that does not exist, TraceError for parts
// that disagree, naming what and where. Thread safety: as the lambdas given.
#pragma once

#include <functional>

#include <weft/function.h>

namespace weft::inline v0 {

namespace detail {

/// What stands in a branch or loop for a value of the program: a number becomes a Tensor.
template <class T>
struct carried_as { using type = T; };
template <class T>
  requires(std::is_arithmetic_v<T> || std::is_same_v<T, Variable>)
struct carried_as<T> { using type = Tensor; };
template <class... T>
struct carried_as<std::tuple<T...>> { using type = std::tuple<typename carried_as<std::remove_cvref_t<T>>::type...>; };
template <class T, class U>
struct carried_as<std::pair<T, U>> { using type = std::pair<typename carried_as<std::remove_cvref_t<T>>::type, typename carried_as<std::remove_cvref_t<U>>::type>; };
template <class T>
using Carried = typename carried_as<std::remove_cvref_t<T>>::type;

template <class T>
inline constexpr bool kIsTuple = false;
template <class... T>
inline constexpr bool kIsTuple<std::tuple<T...>> = true;

/// A value of the program as what stands for it. Numbers become Tensors at the program's line, not at one of a header.
template <class R, class T>
R carry(T&& value, Location at) {
  using V = std::remove_cvref_t<T>;
  if constexpr (std::is_same_v<R, Tensor> && Scalar<V>) {
    return Tensor(value, at);
  } else if constexpr (std::is_same_v<R, Tensor> && std::is_same_v<V, Variable>) {
    return value.value(at);
  } else if constexpr (!std::is_same_v<R, V> && requires { std::tuple_size<R>(), std::tuple_size<V>(); }) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return R(carry<std::tuple_element_t<I, R>>(std::get<I>(std::forward<T>(value)), at)...);
    }(std::make_index_sequence<std::tuple_size_v<V>>());
  } else {
    return R(std::forward<T>(value));
  }
}

/// A tuple is given as so many arguments.
template <class F, class T>
decltype(auto) call_with(F& f, const T& x) {
  if constexpr (kIsTuple<T>) return std::apply(f, x);
  else return f(x);
}

template <class F>
using BranchResult = Carried<std::invoke_result_t<F&>>;

/// One branch. Runs and keeps its result, whose tree it returns; without a `walk`, if there is none.
struct Branch {
  void* context;
  Argument (*run)(void* context);
};
template <class T>
Argument argument_of(T& tree) { return {address(tree), kWalk<T>, false}; }

/// The number of the branch, if it is known. Throws what `which` must not be: a condition is a bool, otherwise it is i32 or i64.
WEFT_API std::optional<std::int64_t> known_branch(const char* name, const Tensor& which, bool condition, std::size_t branches, Location at);
/// Makes all branches parts of the trace; the first result becomes that of the branch that is taken.
WEFT_API void trace_branches(const char* name, Tensor which, const Branch* branches, std::size_t count, Location at);
WEFT_API bool tracing();

/// What a loop does, for the core, which does not know the types.
class WEFT_API LoopProgram {
 public:
  virtual ~LoopProgram();
  virtual Argument reset() = 0;     ///< the carried value as it is at first, to be changed
  virtual Argument state() = 0;     ///< the carried value
  virtual Argument elements() = 0;  ///< all rows
  virtual Argument element() = 0;   ///< one row, to be changed
  virtual Argument step() = 0;      ///< one turn: changes the carried value. Returns what it makes besides
  virtual Tensor go() = 0;          ///< whether another turn follows
};
struct LoopForm {
  const char* name;
  bool conditional = false, reverse = false, makes_rows = false;
};
WEFT_API void trace_loop(LoopProgram& program, LoopForm form, Location at);
WEFT_API void run_loop(LoopProgram& program, LoopForm form, Location at);

/// A number of a branch, and the line where it was given.
struct BranchIndex {
  template <std::convertible_to<Tensor> T>
  BranchIndex(T which, Location where = Location::here()) : index(carry<Tensor>(std::move(which), where)), at(where) {}
  Tensor index;
  Location at;
};

struct NoTree {};
template <class T>
Argument tree_or_none(T& tree) {
  if constexpr (std::is_same_v<T, NoTree>) return {nullptr, nullptr, false};
  else return argument_of(tree);
}

/// step(state, element) -> the next state; rows(state) -> what each turn leaves.
template <class State, class Elements, class Rows, class Step, class Go>
class LoopOf final : public LoopProgram {
 public:
  LoopOf(State first, Elements elements, Step step, Go go)
      : first_(std::move(first)), elements_(std::move(elements)), state_(first_), element_(elements_), step_(step), go_(go) {}
  Argument reset() override {
    state_.emplace(first_);
    element_.emplace(elements_);
    return state();
  }
  Argument state() override { return argument_of(*state_); }
  Argument elements() override { return tree_or_none(elements_); }
  Argument element() override { return tree_or_none(*element_); }
  Argument step() override {
    step_(*state_, *element_, rows_);
    if constexpr (std::is_same_v<Rows, NoTree>) return {nullptr, nullptr, false};
    else return argument_of(*rows_);
  }
  Tensor go() override { return go_(*state_); }
  State& last() { return *state_; }
  std::optional<Rows>& rows() { return rows_; }

 private:
  State first_;
  Elements elements_;
  std::optional<State> state_;
  std::optional<Elements> element_;
  std::optional<Rows> rows_;
  Step step_;
  Go go_;
};

template <class R, class... F>
R run_branches(const char* name, Tensor which, bool condition, Location at, F&... branches) {
  const std::optional<std::int64_t> known = known_branch(name, which, condition, sizeof...(F), at);
  if constexpr (std::is_void_v<R>) {
    if (known) {
      std::int64_t i = 0;
      static_cast<void>(((i++ == *known && (branches(), true)) || ...));
      return;
    }
    const Branch parts[] = {{&branches, [](void* f) -> Argument { return (*static_cast<F*>(f))(), Argument{nullptr, nullptr, false}; }}...};
    trace_branches(name, std::move(which), parts, sizeof...(F), at);
  } else {
    if (known) {
      std::int64_t i = 0;
      std::optional<R> result;
      static_cast<void>(((i++ == *known && (result.emplace(carry<R>(branches(), at)), true)) || ...));
      return std::move(*result);
    }
    std::optional<R> results[sizeof...(F)];
    std::size_t next = 0;
    const auto part = [&]<class G>(G& branch) {
      struct One {
        G& branch;
        std::optional<R>& result;
        Location at;
      };
      return std::pair{std::make_shared<One>(One{branch, results[next++], at}), +[](void* context) -> Argument {
        One& one = *static_cast<One*>(context);
        one.result.emplace(carry<R>(one.branch(), one.at));
        return argument_of(*one.result);
      }};
    };
    const auto made = std::tuple{part(branches)...};
    std::apply([&](const auto&... each) {
      const Branch parts[] = {{each.first.get(), each.second}...};
      trace_branches(name, std::move(which), parts, sizeof...(F), at);
    }, made);
    return std::move(*results[0]);
  }
}

}  // namespace detail

/// The result of `then` if `condition`, a bool scalar, holds, else that of `otherwise`.
template <class Then, class Else>
detail::BranchResult<Then> cond(Tensor condition, Then then, Else otherwise, Location at = Location::here()) {
  static_assert(std::is_same_v<detail::BranchResult<Then>, detail::BranchResult<Else>>, "both branches of cond must return the same type.");
  return detail::run_branches<detail::BranchResult<Then>>("cond", std::move(condition), true, at, otherwise, then);
}

/// The result of the branch that `index`, an i32 or i64 scalar, names: 0 is the first. Throws IndexError if there is none.
template <class First, class... F>
  requires(std::invocable<First&> && (std::invocable<F&> && ...))
detail::BranchResult<First> switch_case(detail::BranchIndex index, First first, F... others) {
  static_assert((std::is_same_v<detail::BranchResult<First>, detail::BranchResult<F>> && ...), "all branches of switch_case must return the same type.");
  return detail::run_branches<detail::BranchResult<First>>("switch_case", std::move(index.index), false, index.at, first, others...);
}

/// While condition(state), a bool scalar, holds, the state becomes body(state). Returns the last one.
template <class Condition, class Body, class T>
  requires(!std::same_as<std::remove_cvref_t<T>, Location>)
detail::Carried<T> while_loop(Condition condition, Body body, T init, Location at = Location::here()) {
  using State = detail::Carried<T>;
  const auto step = [&](State& state, detail::NoTree&, std::optional<detail::NoTree>&) { state = detail::carry<State>(detail::call_with(body, state), at); };
  const auto go = [&](State& state) { return detail::carry<Tensor>(detail::call_with(condition, state), at); };
  detail::LoopOf<State, detail::NoTree, detail::NoTree, decltype(step), decltype(go)> program(detail::carry<State>(std::move(init), at), {}, step, go);
  detail::run_loop(program, {"while_loop", true}, at);
  return std::move(program.last());
}

/// The same for a loop that only changes Variables.
template <class Condition, class Body>
void while_loop(Condition condition, Body body, Location at = Location::here()) {
  while_loop([&] { return condition(); }, [&] { return body(), std::tuple<>(); }, std::tuple<>(), at);
}

struct ScanOptions {
  bool reverse = false;  ///< the last row first; results keep the places of their rows
};

/// All states: the first is f(init, row 0 of elements), the next f(that, row 1), and so on, put together along a new first axis. `elements` is a
/// Tensor or a tree of Tensors with the same number of rows.
template <class F, class T, class E>
detail::Carried<T> scan(F f, T init, E elements, ScanOptions options = {}, Location at = Location::here()) {
  using State = detail::Carried<T>;
  using Elements = detail::Carried<E>;
  const auto step = [&](State& state, Elements& element, std::optional<State>& rows) {
    state = detail::carry<State>(f(state, element), at);
    rows.emplace(state);
  };
  const auto go = [](State&) { return Tensor(); };
  detail::LoopOf<State, Elements, State, decltype(step), decltype(go)> program(
      detail::carry<State>(std::move(init), at), detail::carry<Elements>(std::move(elements), at), step, go);
  detail::run_loop(program, {"scan", false, options.reverse, true}, at);
  return std::move(*program.rows());
}

/// The last of the states that `scan` makes; `init`, if there are no rows.
template <class F, class T, class E>
detail::Carried<T> fold(F f, T init, E elements, ScanOptions options = {}, Location at = Location::here()) {
  using State = detail::Carried<T>;
  using Elements = detail::Carried<E>;
  const auto step = [&](State& state, Elements& element, std::optional<detail::NoTree>&) { state = detail::carry<State>(f(state, element), at); };
  const auto go = [](State&) { return Tensor(); };
  detail::LoopOf<State, Elements, detail::NoTree, decltype(step), decltype(go)> program(
      detail::carry<State>(std::move(init), at), detail::carry<Elements>(std::move(elements), at), step, go);
  detail::run_loop(program, {"fold", false, options.reverse}, at);
  return std::move(program.last());
}

/// f of each row, put together along a new first axis.
template <class F, class E>
auto map(F f, E elements, Location at = Location::here()) {
  using Elements = detail::Carried<E>;
  using Result = detail::Carried<decltype(detail::call_with(f, std::declval<const Elements&>()))>;
  const auto step = [&](std::tuple<>&, Elements& element, std::optional<Result>& rows) {
    rows.emplace(detail::carry<Result>(detail::call_with(f, std::as_const(element)), at));
  };
  const auto go = [](std::tuple<>&) { return Tensor(); };
  detail::LoopOf<std::tuple<>, Elements, Result, decltype(step), decltype(go)> program({}, detail::carry<Elements>(std::move(elements), at), step, go);
  detail::run_loop(program, {"map", false, false, true}, at);
  return std::move(*program.rows());
}

}  // namespace weft::inline v0
