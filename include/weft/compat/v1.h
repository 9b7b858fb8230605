// Graphs and sessions, as programs for TensorFlow 1 are written. Include it by itself; <weft/weft.h> does not.
//
//   namespace v1 = weft::compat::v1;
//   v1::Graph graph;
//   auto scope = graph.as_default();                          // until it ends, ops become nodes of the graph
//   Tensor x = v1::placeholder(f32, {kUnknown}, "x");
//   Variable w = v1::get_variable("w", 1.f);
//   Tensor step = v1::assign_add(w, mean(x));                 // runs when it is fetched, or something that depends on it is
//   v1::Session session(graph);
//   session.run(v1::global_variables_initializer());
//   Tensor now = session.run(step, {{x, {1.f, 3.f}}});        // 3; this session's w is 3 from here on
//
// While a graph is open, every op of the thread adds to it: those of <weft/ops.h>, Functions, cond and loops, tapes; `init_scope` computes
// at once. A Variable of a graph is a name: each session has a value of its own for it, which a run reads and writes. A Variable that was
// made elsewhere can be used as well: sessions then begin with the value that it had at its first use in the graph, and it is itself never
// changed.
//
// A run is one call of a Function that is made for its fetches and feeds: what they need, and nothing else, in the order in which it was
// written. It is a transaction: if it throws, no Variable of the session has changed.
//   - A read sees what the Variable held when the run began, unless the run initialises it: then that value. A read made inside
//     `control_dependencies` sees the last of the writes that it depends on.
//   - A write (assign, assign_add, minimize, a Function that writes, a draw from a Generator) reads what it changes when it runs. Writes of
//     a run take place in the order in which they were made. Their results are the values after them.
//
// Thread safety: one thread at a time has a graph open; any number of threads may run sessions, also while it grows. Ownership: sessions
// hold their graph. Cost: the first run for some fetches and feeds traces and plans; later ones find that, for 64 kinds (SessionOptions).
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <weft/function.h>
#include <weft/optim.h>
#include <weft/tape.h>

namespace weft::inline v0::compat::v1 {

class GraphState;
class SessionState;

/// Something that a run does and that has no value: a group, an initialiser, a step of an optimizer. A part of a tree, so it can be fetched
/// with other things. What a run gives back in its place is an empty one.
class WEFT_API Operation {
 public:
  Operation() = default;
  bool defined() const { return symbol_.defined(); }
  explicit Operation(Tensor symbol) : symbol_(std::move(symbol)) {}  ///< for Weft's own layers
  const Tensor& symbol() const { return symbol_; }                   ///< for Weft's own layers

 private:
  Tensor symbol_;
  WEFT_FIELDS(symbol_)
};

/// A tensor or operation that must run first.
class WEFT_API Dependency {
 public:
  Dependency(const Tensor& x) : symbol(x) {}
  Dependency(const Operation& x) : symbol(x.symbol()) {}
  Tensor symbol;
};

/// Holds a graph open. Ends on the thread that began it.
class WEFT_API GraphScope {
 public:
  explicit GraphScope(std::shared_ptr<GraphState> state, Location at);
  ~GraphScope();
  GraphScope(const GraphScope&) = delete;
  GraphScope& operator=(const GraphScope&) = delete;
  struct Open;

 private:
  std::unique_ptr<Open> open_;
};

/// A handle: copies are the same graph. It only grows.
class WEFT_API Graph {
 public:
  Graph();
  /// Throws StateError if it is open already, except directly inside itself.
  [[nodiscard]] GraphScope as_default(Location at = Location::here()) { return GraphScope(state_, at); }
  template <class F>
  auto as_default(F&& body, Location at = Location::here()) {
    const GraphScope scope(state_, at);
    return std::forward<F>(body)();
  }
  std::vector<Variable> global_variables() const;     ///< in the order in which they were made or met
  std::vector<Variable> trainable_variables() const;  ///< those of them that optimizers change
  std::string str() const;                            ///< one line for each input, constant and call

  const std::shared_ptr<GraphState>& state() const { return state_; }  ///< for Weft's own layers

 private:
  std::shared_ptr<GraphState> state_;
};

// --- building; each throws StateError if no graph is open ---

/// A value that a run must be given. Sizes may be kUnknown; `name` is for messages.
WEFT_API Tensor placeholder(DType dtype, Shape shape, std::string name = {}, Location at = Location::here());

/// What a Variable starts with: a shape ({2, 3}), for which an initializer makes the value, or the value: a number or a Tensor, also one of
/// the graph.
class WEFT_API Initial {
 public:
  Initial(std::initializer_list<Dim> sizes) : shape(sizes), has_shape(true) {}
  Initial(Shape of) : shape(std::move(of)), has_shape(true) {}
  Initial(Tensor first) : value(std::move(first)) {}
  template <Scalar A>
  Initial(A number, Location at = Location::here()) : value(number, at) {}
  Shape shape{};
  Tensor value{};
  bool has_shape = false;
};

struct GetVariableOptions {
  bool reuse = false;      ///< the Variable of this name that the graph has already; its Spec must fit
  bool trainable = true;
  DType dtype = f32;       ///< if a shape is given
  std::function<Tensor(Shape)> initializer = {};  ///< then; called once, by get_variable. Default: glorot_uniform, zeros for integers
  std::function<Tensor(const Tensor&)> constraint = {};
};

/// A new Variable of the graph. It has no value in a session before its initialiser has run there, or it was assigned: reading it is a
/// StateError that names it. Throws ValueError for a name that the graph has (unless it is reused) or, to be reused, has not; ShapeError,
/// DtypeError.
WEFT_API Variable get_variable(const std::string& name, Initial initial, GetVariableOptions options = {}, Location at = Location::here());

/// The value of the Variable after the write. Nothing is broadcast. Throws ShapeError, DtypeError.
WEFT_API Tensor assign(const Variable& variable, Tensor value, Location at = Location::here());
WEFT_API Tensor assign_add(const Variable& variable, Tensor value, Location at = Location::here());
WEFT_API Tensor assign_sub(const Variable& variable, Tensor value, Location at = Location::here());

WEFT_API Operation initializer(const Variable& variable, Location at = Location::here());
WEFT_API Operation variables_initializer(const std::vector<Variable>& variables, Location at = Location::here());
/// Of all Variables that the graph has by now. An initial value that depends on other Variables is computed after theirs.
WEFT_API Operation global_variables_initializer(Location at = Location::here());
WEFT_API std::vector<Variable> global_variables();
WEFT_API std::vector<Variable> trainable_variables();

/// Runs all of them.
WEFT_API Operation group(const std::vector<Dependency>& parts, Location at = Location::here());

class WEFT_API OneOperation {  // for `as_operation`
 public:
  explicit OneOperation(Location at);
  ~OneOperation();
  OneOperation(const OneOperation&) = delete;
  OneOperation& operator=(const OneOperation&) = delete;
  Operation finish();

 private:
  std::shared_ptr<GraphState> state_;
  Location at_;
  bool open_ = true;
};
/// Everything that the body writes to Variables, as one operation: the body is ordinary code (`v.assign(...)`, calls of Functions, steps of
/// optimizers), in which a read sees the writes before it.
template <class F>
Operation as_operation(F&& body, Location at = Location::here()) {
  OneOperation operation(at);
  std::forward<F>(body)();
  return operation.finish();
}

class WEFT_API DependencyScope {  // for `control_dependencies`
 public:
  DependencyScope(const std::vector<Dependency>& on, Location at);
  ~DependencyScope();
  DependencyScope(const DependencyScope&) = delete;
  DependencyScope& operator=(const DependencyScope&) = delete;

 private:
  std::shared_ptr<GraphState> state_;
  std::uint32_t before_;
};
/// What the body adds to the graph runs after these: whoever fetches it runs them, too. Returns what the body returns.
template <class F>
auto control_dependencies(const std::vector<Dependency>& on, F&& body, Location at = Location::here()) {
  const DependencyScope scope(on, at);
  return std::forward<F>(body)();
}

/// The gradient of the sum of y's elements with respect to each of xs; of a Variable the sum over its reads. An unconnected one is a
/// GradientError, with {.unconnected = kNone} an empty handle. Functions on the way may give gradients of their own (`custom_gradient`),
/// but not inside of a branch, a loop, or a Function that writes: TraceError.
WEFT_API std::vector<Tensor> gradients(const Tensor& y, const Sources& xs, GradientOptions options = {}, Location at = Location::here());

/// A step of the optimizer that makes `loss` smaller. What the optimizer keeps becomes part of the graph. Without Variables: all trainable
/// ones that the loss depends on. The optimizer may go when the graph is built.
WEFT_API Operation minimize(Optimizer& optimizer, const Tensor& loss, const std::vector<Variable>& variables = {},
                            Location at = Location::here());

// --- running ---

/// A tensor of the graph (any, not only a placeholder) and its value for one run. Numbers and lists that are written here take its dtype if
/// that holds them.
class WEFT_API Feed {
 public:
  Feed(Tensor fed, Tensor with) : of(std::move(fed)), value(std::move(with)) {}
  Feed(Tensor fed, std::initializer_list<Nested> with, Location at = Location::here());
  Tensor of, value;
};
class Feeds {
 public:
  Feeds() = default;
  Feeds(std::initializer_list<Feed> list) : list_(list) {}
  Feeds(std::vector<Feed> list) : list_(std::move(list)) {}
  const std::vector<Feed>& list() const { return list_; }

 private:
  std::vector<Feed> list_;
};

struct SessionOptions {
  int max_plans = 64;  ///< for so many kinds of fetches and feeds; the one that was used longest ago is forgotten
};

class WEFT_API Session {
 public:
  explicit Session(const Graph& graph, SessionOptions options = {}, Location at = Location::here());
  explicit Session(SessionOptions options = {}, Location at = Location::here());  ///< of the graph that is open

  /// Runs what the fetches need and returns their values in the same structure: a Tensor, an Operation, a struct, a container or tuple of
  /// them (<weft/walk.h>). Of a Variable it is the value; a Variable inside a struct is a new one with that value. What is no part of a
  /// graph stays. Throws what the ops throw; StateError for a Variable without a value; ValueError for a placeholder without one, and for
  /// tensors of another graph.
  template <class T>
  auto run(const T& fetches, const Feeds& feeds = {}, Location at = Location::here()) const {
    if constexpr (std::same_as<T, Variable>) {
      return values_of({fetches}, feeds, at)[0];
    } else if constexpr (std::same_as<T, std::vector<Variable>>) {
      return values_of(fetches, feeds, at);
    } else {
      static_assert(std::is_copy_constructible_v<T>, "fetches are copied, to be filled with values: give a tree that can be copied.");
      T result(fetches);
      fill({weft::detail::address(fetches), weft::detail::address(result), weft::detail::kWalk<T>}, feeds, at);
      return result;
    }
  }
  std::vector<Tensor> run(std::initializer_list<Tensor> fetches, const Feeds& feeds = {}, Location at = Location::here()) const {
    return run(std::vector<Tensor>(fetches), feeds, at);
  }
  /// How many times a run had to be planned.
  std::size_t planned() const;

 private:
  struct Tree {
    void *original, *copy;
    weft::detail::WalkFn walk;
  };
  void fill(Tree tree, const Feeds& feeds, Location at) const;
  std::vector<Tensor> values_of(const std::vector<Variable>& variables, const Feeds& feeds, Location at) const;

  std::shared_ptr<SessionState> state_;
};

}  // namespace weft::inline v0::compat::v1
