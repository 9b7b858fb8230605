// Gradients of one's own, and gradients that remember less.
//
//   auto log1pexp = custom_gradient([](Tensor x) {
//     Tensor e = exp(x);
//     return std::pair(log(1 + e), [=](Tensor dy) { return dy * (1 - 1 / (1 + e)); });   // the value, and the way back
//   });
//   Tensor y = log1pexp(x);   // every tape uses that way
//
// Arguments, values and gradients are Tensors, or trees of them (<weft/walk.h>).
//
// Thread safety: as the function itself. Ownership: a tape that records a call holds the way back, and with it what that captured.
// Cost: without a tape that of the function; with one, a record more.
#pragma once

#include <functional>
#include <tuple>
#include <utility>

#include <weft/tape.h>

namespace weft::inline v0 {

namespace detail {

/// What a function with a gradient of its own has computed. `gradient` goes from the gradients of the outputs to those of the inputs
/// and, if it takes them, of the Variables that the function has read.
struct CustomResult {
  std::vector<Tensor> outputs;
  std::function<std::vector<Tensor>(std::vector<Tensor> dys, const std::vector<Variable>& variables)> gradient;
  bool takes_variables = false;
};
WEFT_API std::vector<Tensor> call_with_gradient(const std::vector<Tensor>& inputs, const std::function<CustomResult()>& f, Location at);
using TensorsFn = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
WEFT_API std::vector<Tensor> call_recomputed(const std::vector<Tensor>& inputs, TensorsFn f, Location at);

/// What stands for a Tensor becomes one; other trees stay.
template <class A>
auto as_tree(A&& a) {
  if constexpr (std::convertible_to<A, Tensor>) return Tensor(std::forward<A>(a));
  else return std::remove_cvref_t<A>(std::forward<A>(a));
}

template <class T>
std::vector<Tensor> tensors_of(const T& tree) {
  std::vector<Tensor> result;
  if constexpr (std::same_as<T, Tensor>) result.push_back(tree);
  else
    visit(tree, [&](std::string_view, const TreeLeaf& leaf) {
      if (const auto* x = leaf.template as<const Tensor>()) result.push_back(*x);
    });
  return result;
}

/// The same tree with other Tensors. REQUIRES: as many as it has.
template <class T>
T with_tensors(T tree, const std::vector<Tensor>& tensors) {
  std::size_t next = 0;
  if constexpr (std::same_as<T, Tensor>) tree = tensors[0];
  else
    visit(tree, [&](std::string_view, const TreeLeaf& leaf) {
      if (auto* x = leaf.template as<Tensor>()) *x = tensors[next++];
    });
  return tree;
}

using Variables = std::vector<Variable>;
template <class G, class Y>
inline constexpr bool applies = false;
template <class G, class... Y>
inline constexpr bool applies<G, std::tuple<Y...>> = std::invocable<const G&, Y...>;
template <class G, class A, class B>
inline constexpr bool applies<G, std::pair<A, B>> = std::invocable<const G&, A, B>;
template <class G, class Y>
inline constexpr bool applies_with_variables = false;
template <class G, class... Y>
inline constexpr bool applies_with_variables<G, std::tuple<Y...>> = std::invocable<const G&, Y..., const Variables&>;
template <class G, class A, class B>
inline constexpr bool applies_with_variables<G, std::pair<A, B>> = std::invocable<const G&, A, B, const Variables&>;

/// Calls the way back: g(dy), g(dy0, dy1, ...) for a tuple; and with the Variables behind, if it wants them.
template <class G, class Y>
struct WayBack {
  static constexpr bool kWhole = std::invocable<const G&, Y>, kParts = applies<G, Y>;
  static constexpr bool kWholeVariables = std::invocable<const G&, Y, const Variables&>, kPartsVariables = applies_with_variables<G, Y>;
  static_assert(kWhole || kParts || kWholeVariables || kPartsVariables,
                "the gradient function must take the gradients of the values, and may take const std::vector<Variable>& behind them.");
  static constexpr bool kTakesVariables = !kWhole && !kParts;
  static auto call(const G& g, Y dys, const Variables& variables) {
    if constexpr (kWhole) return g(std::move(dys));
    else if constexpr (kParts) return std::apply(g, std::move(dys));
    else if constexpr (kWholeVariables) return g(std::move(dys), variables);
    else return std::apply([&](auto&&... dy) { return g(std::move(dy)..., variables); }, std::move(dys));
  }
};

template <class... A>
using Arguments = std::tuple<decltype(as_tree(std::declval<A>()))...>;

template <class F>
class CustomGradient {
 public:
  CustomGradient(F f, Location at) : f_(std::move(f)), at_(at) {}
  template <class... A>
  auto operator()(A&&... args) const {
    const Arguments<A...> inputs{as_tree(std::forward<A>(args))...};
    using Made = decltype(std::apply(f_, inputs));
    static_assert(requires { requires std::tuple_size<Made>::value == 2; },
                  "the function must return a std::pair of its value and its gradient function.");
    using Y = decltype(as_tree(std::declval<std::tuple_element_t<0, Made>>()));
    using Back = WayBack<std::remove_cvref_t<std::tuple_element_t<1, Made>>, Y>;
    std::optional<Y> value;
    const auto run = [&]() -> CustomResult {
      Made made = std::apply(f_, inputs);
      value.emplace(as_tree(std::get<0>(made)));
      const auto back = [y = *value, g = std::get<1>(std::move(made))](const std::vector<Tensor>& dys, const Variables& variables) {
        return tensors_of(as_tree(Back::call(g, with_tensors(y, dys), variables)));
      };
      return {tensors_of(*value), back, Back::kTakesVariables};
    };
    return with_memory("custom_gradient", at_, [&] {
      const std::vector<Tensor> outputs = call_with_gradient(tensors_of(inputs), run, at_);
      return with_tensors(std::move(*value), outputs);
    });
  }

 private:
  F f_;
  Location at_;
};

template <class F>
class PassThrough {
 public:
  PassThrough(F f, Location at) : f_(std::move(f)), at_(at) {}
  template <class... A>
  auto operator()(A&&... args) const {
    const Arguments<A...> inputs{as_tree(std::forward<A>(args))...};
    std::optional<decltype(as_tree(std::apply(f_, inputs)))> value;
    const auto run = [&]() -> CustomResult {
      value.emplace(as_tree(std::apply(f_, inputs)));
      const auto back = [](std::vector<Tensor> dys, const Variables& variables) {
        dys.resize(dys.size() + variables.size());
        return dys;
      };
      return {tensors_of(*value), back, true};
    };
    return with_memory("grad_pass_through", at_, [&] {
      const std::vector<Tensor> outputs = call_with_gradient(tensors_of(inputs), run, at_);
      return with_tensors(std::move(*value), outputs);
    });
  }

 private:
  F f_;
  Location at_;
};

template <class F>
class Recomputed {
 public:
  Recomputed(F f, Location at) : f_(std::move(f)), at_(at) {}
  template <class... A>
  auto operator()(A&&... args) const {
    const Arguments<A...> inputs{as_tree(std::forward<A>(args))...};
    using Y = decltype(as_tree(std::apply(f_, inputs)));
    return with_memory("recompute_grad", at_, [&] {
      const auto value = std::make_shared<std::optional<Y>>();  // of this run; later ones find it gone
      const auto run = [f = f_, inputs, weak = std::weak_ptr(value)](const std::vector<Tensor>& xs) {
        Y y = as_tree(std::apply(f, with_tensors(inputs, xs)));
        if (const auto first = weak.lock()) first->emplace(y);
        return tensors_of(y);
      };
      const std::vector<Tensor> outputs = call_recomputed(tensors_of(inputs), run, at_);
      return with_tensors(std::move(**value), outputs);
    });
  }

 private:
  F f_;
  Location at_;
};

}  // namespace detail

/// A function like f, whose gradient is what f says: f returns a std::pair of its value and a function from the gradients of the value to
/// those of the arguments (an empty Tensor: none). If f reads Variables that a tape follows, that function must take them as well, as a
/// const std::vector<Variable>&, and return their gradients behind the others. What f computes is recorded too, so a gradient function
/// may use it and be differentiated. Errors when a gradient is taken: another number of gradients is a ValueError, another Spec a
/// ShapeError or DtypeError; what the gradient function throws passes through.
template <class F>
auto custom_gradient(F f, Location at = Location::here()) {
  return detail::CustomGradient<F>(std::move(f), at);
}

/// A function like f, of which a tape keeps the arguments only: when a gradient is taken, f runs again. Variables that f reads have the
/// values then that they had the first time. REQUIRES: f has no effects, such as assignments, and gives the same values again.
template <class F>
auto recompute_grad(F f, Location at = Location::here()) {
  return detail::Recomputed<F>(std::move(f), at);
}

/// A function like f, with the gradient of the identity: arguments and values have the same Specs. Variables that f reads receive none.
template <class F>
auto grad_pass_through(F f, Location at = Location::here()) {
  return detail::PassThrough<F>(std::move(f), at);
}

/// The same value; asking for a gradient through it is a GradientError with this sentence.
WEFT_API Tensor prevent_gradient(Tensor x, std::string sentence, Location at = Location::here());

}  // namespace weft::inline v0
