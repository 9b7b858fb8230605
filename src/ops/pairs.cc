#include "ops/pairs.h"

#include "ops/lane.h"

namespace weft::inline v0::rows {
namespace {

template <int N, class Function>
struct Named {
  static constexpr int kArity = N;
  using F = Function;
  std::string_view name;
};

// Calls f for each function that can be the first or the second of a pair.
template <class Visit>
void each_function(Visit visit) {
  visit(Named<2, Sum>{"add"});
  visit(Named<2, Difference>{"subtract"});
  visit(Named<2, Product>{"multiply"});
  visit(Named<2, Quotient>{"divide"});
  visit(Named<1, Negated>{"negative"});
  visit(Named<1, Squared>{"square"});
  visit(Named<1, Rectified>{"relu"});
}

template <class First, class Second, int at>
struct Both {
  template <Lane T>
  T operator()(T a) const { return Second{}(First{}(a)); }
  template <Lane T>
  T operator()(T a, T b) const {
    if constexpr (std::is_invocable_v<First, T, T>) return Second{}(First{}(a, b));
    else return joined(First{}(a), b);
  }
  template <Lane T>
  T operator()(T a, T b, T c) const { return joined(First{}(a, b), c); }

 private:
  template <Lane T>
  static T joined(T made, T other) { return at == 0 ? Second{}(made, other) : Second{}(other, made); }
};

template <class First, class Second, int at>
Tile::Pair pair_of(const Op* second) {
  constexpr int inputs = First::kArity + Second::kArity - 1;
  using F = Both<typename First::F, typename Second::F, at>;
  return {second, at, detail::lane_clones<inputs, F, float, false>()[kernels::isa()], detail::past_form<inputs, F, float>()};
}

}  // namespace

std::vector<Tile::Pair> pairs_of(std::string_view first, FunctionRef<const Op*(std::string_view)> find) {
  std::vector<Tile::Pair> pairs;
  each_function([&](auto one) {
    if (one.name != first) return;
    each_function([&](auto two) {
      const Op* const second = find(two.name);
      pairs.push_back(pair_of<decltype(one), decltype(two), 0>(second));
      if constexpr (decltype(two)::kArity == 2) pairs.push_back(pair_of<decltype(one), decltype(two), 1>(second));
    });
  });
  return pairs;
}

}  // namespace weft::inline v0::rows
