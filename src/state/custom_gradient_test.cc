#include <weft/custom_gradient.h>

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "core/apply.h"
#include "tests/support.h"
#include <weft/operators.h>
#include <weft/ops.h>

namespace weft {
namespace {

using test::number;

using Floats = std::vector<float>;

// SEMANTICS 79
TEST(CustomGradient, ReplacesThatOfTheOps) {
  int calls = 0;
  const auto tripled = custom_gradient([&](Tensor x) {
    ++calls;
    return std::pair(x * x, [](Tensor dy) { return dy * 3; });
  });
  const Tensor x = 5.f;
  EXPECT_EQ(number(tripled(x)), 25.f);  // without a tape
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = tripled(x) * 2;
  EXPECT_EQ(number(y), 50.f);
  EXPECT_EQ(number(tape.gradient(y, x)), 6.f);
  EXPECT_EQ(number(tape.gradient(tripled(2.f) * x, x)), 4.f);  // a number as argument
  EXPECT_EQ(calls, 3);
}

TEST(CustomGradient, OfAnIdentityIsNotThatOfItsArgument) {
  const auto reversed = custom_gradient([](Tensor x) { return std::pair(x, [](Tensor dy) { return -dy; }); });
  const Tensor x = 5.f;
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = reversed(x);
  EXPECT_FALSE(y.same_as(x));
  EXPECT_EQ(number(tape.gradient(y * y, x)), -10.f);
  EXPECT_EQ(number(tape.gradient(x * x, x)), 10.f);
}

// What the function computes is recorded, too: its gradient function may use it and be differentiated.
TEST(CustomGradient, MayUseWhatTheFunctionComputed) {
  const auto log1pexp = custom_gradient([](Tensor x) {
    const Tensor e = exp(x);
    return std::pair(log(1 + e), [=](Tensor dy) { return dy * (1 - 1 / (1 + e)); });
  });
  const Tensor x(0.5, f64), large(1000, f64);
  const double s = 1 / (1 + std::exp(-0.5));
  GradientTape outer;
  outer.watch(x);
  GradientTape inner({.persistent = true});
  inner.watch(x);
  inner.watch(large);
  const Tensor dy = inner.gradient(log1pexp(x), x);
  EXPECT_NEAR(dy.item<double>(), s, 1e-12);
  EXPECT_EQ(inner.gradient(log1pexp(large), large).item<double>(), 1.0);
  EXPECT_NEAR(outer.gradient(dy, x).item<double>(), s * (1 - s), 1e-12);
}

// SEMANTICS 80
TEST(CustomGradient, WrongGradientsAreErrors) {
  const Tensor x = {1.f, 2.f};
  const auto gradient = [&](auto back) {
    const auto f = custom_gradient([&](std::vector<Tensor> xs) { return std::pair(xs[0] * xs[1], back); });
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(f(std::vector<Tensor>{x, x}), x);
  };
  using List = std::vector<Tensor>;
  EXPECT_EQ(gradient([](Tensor dy) { return List{dy, dy * 2}; }).to_vector<float>(), Floats({3, 3}));
  EXPECT_THROW(gradient([](Tensor) { return List{}; }), ValueError);
  EXPECT_THROW(gradient([](Tensor dy) { return dy; }), ValueError);
  EXPECT_THROW(gradient([](Tensor dy) { return List{dy, dy, dy}; }), ValueError);
  EXPECT_THROW(gradient([](Tensor dy) { return List{dy, sum(dy)}; }), ShapeError);
  EXPECT_THROW(gradient([](Tensor dy) { return List{dy, cast(dy, f64)}; }), DtypeError);
  EXPECT_EQ(gradient([](Tensor dy) { return List{dy, Tensor()}; }).to_vector<float>(), Floats({1, 1}));  // none
  EXPECT_THROW(gradient([](Tensor) { return List{Tensor(), Tensor()}; }), GradientError);
}

// SEMANTICS 80, 85
TEST(CustomGradient, ExceptionsPassThroughAndLeaveTheStackClean) {
  struct Own {};
  const Tensor x = 3.f;
  const auto fails = custom_gradient([](Tensor y) {
    if (number(y) > 2) throw Own();
    return std::pair(y, [](Tensor dy) { return dy; });
  });
  const auto fails_back = custom_gradient([](Tensor y) { return std::pair(y * y, [](Tensor) -> Tensor { throw Own(); }); });
  {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    EXPECT_THROW(fails(x), Own);
    const Tensor y = fails_back(x);
    EXPECT_THROW(tape.gradient(y, x), Own);
    EXPECT_EQ(number(tape.gradient(x * x, x)), 6.f);
  }
  GradientTape tape;
  tape.watch(x);
  EXPECT_THROW(tape.gradient(fails_back(x), x), Own);
  EXPECT_EQ(number(tape.gradient(x * x, x)), 6.f);
  EXPECT_EQ(Interpreter::top(), nullptr);
}

// SEMANTICS 81
// PAIN 21
TEST(CustomGradient, CapturedVariablesReachTheGradientFunction) {
  const Variable w{2.f, {.name = "w"}}, b{5.f, {.name = "b"}}, frozen{1.f, {.trainable = false}};
  const auto f = custom_gradient([&](Tensor x) {
    const Tensor product = x * w;
    return std::pair(product + b * frozen, [=](Tensor dy, const std::vector<Variable>& variables) {
      EXPECT_EQ(variables.size(), 2u);
      EXPECT_TRUE(variables[0].same_slot(w));
      return std::pair(dy * 10, std::vector<Tensor>{dy * 20, dy * 30});
    });
  });
  const Tensor x = 3.f;
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  EXPECT_EQ(number(y), 11.f);
  const std::vector<Tensor> d = tape.gradient(y, {x, w, b});
  EXPECT_EQ(number(d[0]), 10.f);
  EXPECT_EQ(number(d[1]), 20.f);
  EXPECT_EQ(number(d[2]), 30.f);
}

TEST(CustomGradient, CapturedVariablesMustBeTaken) {
  const Variable w{2.f, {.name = "w"}};
  const auto f = custom_gradient([&](Tensor x) { return std::pair(x * w, [](Tensor dy) { return dy; }); });
  const auto explicit_argument = custom_gradient([](Tensor x, Tensor y) {
    return std::pair(x * y, [=](Tensor dy) { return std::pair(dy * y, dy * x * 100); });
  });
  EXPECT_EQ(number(f(3.f)), 6.f);
  GradientTape tape;
  EXPECT_THROW(f(3.f), GradientError);
  EXPECT_EQ(number(tape.gradient(explicit_argument(3.f, w), w)), 300.f);
}

// SEMANTICS 82
TEST(CustomGradient, NestedOnesDefineTheSecondOrder) {
  const auto strange = custom_gradient([](Tensor x) {
    const auto first = custom_gradient([](Tensor dy, Tensor at) {
      return std::pair(dy * at * 2, [](Tensor ddy) { return std::pair(ddy * 7, ddy * 100); });  // of dy, and of the place
    });
    return std::pair(x * x, [=](Tensor dy) { return first(dy, x); });
  });
  const Tensor x = 3.f;
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor dx = inner.gradient(strange(x), x);
  EXPECT_EQ(number(dx), 6.f);
  EXPECT_EQ(number(outer.gradient(dx, x)), 100.f);
}

struct Point {
  Tensor x, y;
  int n = 0;
};

// SEMANTICS 83
// PAIN 21
TEST(CustomGradient, StructuredArgumentsAndValues) {
  const auto f = custom_gradient([](Point p, std::map<std::string, Tensor> more) {
    return std::pair(std::tuple(p.x * p.y, more.at("a") * 2, Tensor(p.n)), [](Tensor du, Tensor dv, Tensor) {
      return std::pair(Point{du * 10, du * 100}, std::map<std::string, Tensor>{{"a", dv * 1000}});
    });
  });
  const Point p{2.f, 3.f, 4};
  const Tensor a = 5.f;
  GradientTape tape({.persistent = true});
  tape.watch(p);
  tape.watch(a);
  const auto [u, v, n] = f(p, std::map<std::string, Tensor>{{"a", a}});
  EXPECT_EQ(number(u), 6.f);
  EXPECT_EQ(n.item<int>(), 4);
  const std::vector<Grad> d = tape.gradients({u, v}, {p.x, p.y, a});
  EXPECT_EQ(number(d[0].dense()), 10.f);
  EXPECT_EQ(number(d[1].dense()), 100.f);
  EXPECT_EQ(number(d[2].dense()), 1000.f);
  EXPECT_EQ(number(tape.gradient(v, p.x)), 0.f);  // what nothing arrived at counts as zeros
}

template <class F>
Floats orders(const F& f, const Tensor& x) {
  GradientTape third({.persistent = true});
  third.watch(x);
  GradientTape second;
  second.watch(x);
  GradientTape first;
  first.watch(x);
  const Tensor y = f(x), dy = first.gradient(y, x), ddy = second.gradient(dy, x), dddy = third.gradient(ddy, x);
  return {number(y), number(dy), number(ddy), number(dddy)};
}

// SEMANTICS 84
TEST(RecomputeGrad, EqualsThePlainGradientToTheThirdOrder) {
  const Variable w{0.5f};
  const Tensor captured = 1.5f;
  const auto plain = [&](Tensor x) { return sin(x * w) * exp(x) * captured * w; };
  const Tensor x = 0.7f;
  EXPECT_EQ(orders(recompute_grad(plain), x), orders(plain, x));
  EXPECT_EQ(number(recompute_grad(plain)(x)), number(plain(x)));
}

TEST(RecomputeGrad, ReachesVariablesAndCapturedTensorsToTheSecondOrder) {
  const Variable w{0.5f};
  const Tensor c = 1.5f, x = 0.7f;
  const auto plain = [&](Tensor y) { return sin(y * w) * exp(c * w); };
  const auto gradients = [&](const auto& f) {
    GradientTape outer({.persistent = true});
    GradientTape inner({.persistent = true});
    for (GradientTape* tape : {&outer, &inner}) tape->watch({x, c});
    const Tensor y = f(x);
    const std::vector<Tensor> first = inner.gradient(y, {x, w, c});
    Floats all = {number(y)};
    for (const Tensor& d : first)
      for (const Tensor& e : outer.gradient(d, {x, w, c})) all.push_back(number(e));
    return all;
  };
  const Floats want = gradients(plain), got = gradients(recompute_grad(plain));
  ASSERT_EQ(got.size(), 10u);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-6f) << i;
}

// The tape holds values, also when the value is computed again later.
TEST(RecomputeGrad, SeesVariablesAsTheyWere) {
  Variable w{3.f};
  const auto f = recompute_grad([&](Tensor x) { return x * w * w; });
  const Tensor x = 2.f;
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  w.assign(100.f);
  const std::vector<Tensor> d = tape.gradient(y, {x, w});
  EXPECT_EQ(number(d[0]), 9.f);
  EXPECT_EQ(number(d[1]), 12.f);
}

TEST(RecomputeGrad, KeepsNothingButItsArguments) {
  bool released = false;
  float values[] = {2.f};
  int calls = 0;
  const Tensor x = 3.f;
  GradientTape tape;
  tape.watch(x);
  const Tensor y = recompute_grad([&](Tensor a) {
    const bool first = ++calls == 1;
    const Tensor inner = first ? Tensor::from_memory(values, {f32, {}}, [&] { released = true; }) : Tensor(2.f);
    return a * a * inner;
  })(x);
  EXPECT_TRUE(released);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(number(tape.gradient(y, x)), 12.f);
  EXPECT_EQ(calls, 2);
}

TEST(RecomputeGrad, ReturnsStructures) {
  const auto f = recompute_grad([](Tensor x, Tensor y) { return std::pair(x * y, x + y); });
  const Tensor x = 2.f, y = 3.f;
  GradientTape tape({.persistent = true});
  tape.watch({x, y});
  const auto [product, total] = f(x, y);
  EXPECT_EQ(number(tape.gradient(product, x)), 3.f);
  EXPECT_EQ(number(tape.gradients({product, total}, {y})[0].dense()), 3.f);
}

TEST(RecomputeGrad, ExceptionsLeaveTheStackClean) {
  const auto f = recompute_grad([](Tensor x) { return x + Tensor{1.f, 2.f, 3.f}; });
  const Tensor x = {1.f, 2.f};
  {
    GradientTape tape;
    tape.watch(x);
    EXPECT_THROW(f(x), ShapeError);
    EXPECT_EQ(tape.gradient(x * x, x).to_vector<float>(), Floats({2, 4}));
  }
  EXPECT_EQ(Interpreter::top(), nullptr);
}

// SEMANTICS 63: zeros on request, also through functions in functions. (With traced ones once there are any.)
TEST(RecomputeGrad, UnconnectedZerosPassNestedFunctions) {
  const Tensor x = {1.f, 2.f}, other = {3.f};
  const auto inner = recompute_grad([](Tensor a, Tensor b) { return std::pair(a * 2, b * 3); });
  const auto outer = recompute_grad([&](Tensor a, Tensor b) { return inner(a, b); });
  GradientTape tape({.persistent = true});
  tape.watch({x, other});
  const auto [y, z] = outer(x, other);
  EXPECT_EQ(tape.gradient(y, x).to_vector<float>(), Floats({2, 2}));
  EXPECT_EQ(tape.gradient(y, other, {.unconnected = Unconnected::kZeros}).to_vector<float>(), Floats({0}));
  EXPECT_FALSE(tape.gradient(y, other, {.unconnected = Unconnected::kNone}).defined());
}

// SEMANTICS 44
TEST(GradPassThrough, RestoresTheGradientOfAnAssignment) {
  Variable v{1.f};
  const Tensor x = 3.f;
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = grad_pass_through([&](Tensor a) -> Tensor { return v.assign(a); })(x * x);
  EXPECT_EQ(number(y), 9.f);
  EXPECT_EQ(number(v), 9.f);
  EXPECT_EQ(number(tape.gradient(y * 2, x)), 12.f);
  const Tensor rounded = grad_pass_through([](Tensor a) { return round(a); })(x * 0.4f);
  EXPECT_EQ(number(rounded), 1.f);
  EXPECT_FLOAT_EQ(number(tape.gradient(rounded, x)), 0.4f);
}

// SEMANTICS 71
TEST(PreventGradient, RefusesWithItsSentence) {
  const Tensor x = 3.f;
  EXPECT_EQ(number(prevent_gradient(x, "unused.")), 3.f);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = prevent_gradient(x * x, "this was measured, not computed.");
  EXPECT_EQ(number(tape.gradient(x * stop_gradient(y), x)), 9.f);
  try {
    tape.gradient(y * x, x);
    FAIL();
  } catch (const GradientError& error) {
    EXPECT_EQ(error.message(), "prevent_gradient: this was measured, not computed.");
  }
}

}  // namespace
}  // namespace weft
