#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "core/apply.h"
#include "tests/support.h"
#include <weft/weft.h>

namespace weft::test {
namespace {

using Floats = std::vector<float>;
constexpr JvpOptions kNone{.unconnected = Unconnected::kNone}, kZeros{.unconnected = Unconnected::kZeros};

// SEMANTICS 86
TEST(Forward, GivesTheDerivativeAlongADirection) {
  const Tensor x = {1.f, 2.f, 3.f}, dx = {1.f, 0.f, -1.f};
  ForwardAccumulator forward{x, dx};
  const Tensor y = x * x * 2, z = sum(sin(y)), constant = exp(dx);
  EXPECT_EQ(floats(forward.jvp(x)), floats(dx));
  EXPECT_EQ(floats(forward.jvp(y)), (Floats{4, 0, -12}));
  EXPECT_NEAR(number(forward.jvp(z)), std::cos(2.) * 4 + std::cos(18.) * -12, 1e-5);
  EXPECT_EQ(floats(forward.jvp(y)), (Floats{4, 0, -12}));  // again
  EXPECT_FALSE(forward.jvp(constant, kNone).defined());
  EXPECT_EQ(floats(forward.jvp(constant, kZeros)), (Floats{0, 0, 0}));
  EXPECT_EQ(forward.jvp(cast(x, i32), kNone).defined(), false);
  const std::vector<Tensor> list = forward.jvp({y, z}), none = forward.jvp(std::vector<Tensor>{y, constant}, kNone);
  EXPECT_EQ(floats(list[0]), (Floats{4, 0, -12}));
  EXPECT_EQ(number(list[1]), number(forward.jvp(z)));
  EXPECT_TRUE(none[0].defined() && !none[1].defined());
}

// SEMANTICS 86
TEST(Forward, GivesTreesOfTheSameStructure) {
  struct Point {
    Tensor at, count;
    std::vector<Tensor> more = {};
  };
  const Point point{Tensor{1.f, 2.f}, Tensor(3), {Tensor(4.f)}}, direction{Tensor{1.f, 0.f}, Tensor(), {Tensor(2.f)}};
  ForwardAccumulator forward{point, direction};
  const Point made{point.at * point.more[0], point.count + 1, {square(point.more[0]), exp(Tensor(1.f))}}, moved = forward.jvp(made);
  EXPECT_EQ(floats(moved.at), (Floats{1 * 4 + 1 * 2, 2 * 2}));
  EXPECT_FALSE(moved.count.defined());
  ASSERT_EQ(moved.more.size(), 2u);
  EXPECT_EQ(number(moved.more[0]), 16);
  EXPECT_FALSE(moved.more[1].defined());
  EXPECT_EQ(number(forward.jvp(made, kZeros).more[1]), 0);
}

TEST(Forward, SumsOverAllThatMoves) {
  const Tensor x = 3.f, y = 5.f;
  ForwardAccumulator forward{{x, y}, {Tensor(1.f), Tensor(10.f)}};
  EXPECT_EQ(number(forward.jvp(x * y)), 5 + 30);
  EXPECT_EQ(number(forward.jvp(x * x)), 6);
  const std::vector<Tensor> both = unstack(concat({expand_dims(x, 0), expand_dims(y, 0)}, 0));
  EXPECT_EQ(number(forward.jvp(both[1])), 10);
}

TEST(Forward, LooksThroughSparseGradients) {
  Variable table{{{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}}};
  const Tensor direction = {{1.f, 0.f}, {0.f, 1.f}, {2.f, 2.f}}, rows = {2, 0, 2};
  ForwardAccumulator forward{table, direction};
  EXPECT_EQ(floats(forward.jvp(gather(table, rows))), (Floats{2, 2, 1, 0, 2, 2}));
  GradientTape tape;
  const Tensor loss = sum(square(gather(table, rows)));
  const Tensor product = forward.jvp(tape.gradient(loss, table));
  EXPECT_EQ(floats(product), (Floats{2, 0, 0, 0, 8, 8}));
}

// SEMANTICS 87
TEST(Forward, TakesEachPrimalOnce) {
  const Tensor x = {1.f, 2.f}, dx = {1.f, 1.f};
  Variable w{x, {.name = "w"}};
  EXPECT_TEXT(ValueError, (ForwardAccumulator{{x, x}, {dx, dx}}),
              "ForwardAccumulator: the primal f32[2] is listed twice; list it once, with the sum of its tangents.");
  EXPECT_TEXT(ValueError, (ForwardAccumulator{{w, w}, {dx, dx}}),
              "ForwardAccumulator: the primal Variable \"w\" f32[2] is listed twice; list it once, with the sum of its tangents.");
  EXPECT_EQ(Interpreter::top(), nullptr);
  ForwardAccumulator forward{{x, w}, {dx, dx}};
  EXPECT_EQ(floats(forward.jvp(x * w)), (Floats{2, 4}));
}

TEST(Forward, RefusesWhatCannotMove) {
  const Tensor x = {1.f, 2.f};
  const Variable count(1, {.name = "count"});
  EXPECT_TEXT(GradientError, (ForwardAccumulator{Tensor(1), Tensor(1)}),
              "ForwardAccumulator: the primal is i32[]; only floating values have tangents, cast it.");
  EXPECT_TEXT(GradientError, (ForwardAccumulator{count, Tensor(1)}),
              "ForwardAccumulator: the primal Variable \"count\" is i32[]; only floating values have tangents, cast it.");
  EXPECT_TEXT(ShapeError, (ForwardAccumulator{x, Tensor(1.f)}), "ForwardAccumulator: the tangent must be f32[2], as the primal is, but is f32[].");
  EXPECT_TEXT(DtypeError, (ForwardAccumulator{x, Tensor({1, 2})}),
              "ForwardAccumulator: the tangent must be f32[2], as the primal is, but is i32[2]; cast it.");
  EXPECT_TEXT(ValueError, (ForwardAccumulator{Tensor(), x}), "ForwardAccumulator: the primal is an empty Tensor handle; assign a value to it first.");
  EXPECT_TEXT(ValueError, (ForwardAccumulator{x, Tensor()}),
              "ForwardAccumulator: the tangent must be f32[2], as the primal is, but is an empty Tensor handle.");
  EXPECT_TEXT(ValueError, (ForwardAccumulator{Sources{x}, std::vector<Tensor>{x, x}}),
              "ForwardAccumulator: 2 tangents for 1 primals; give one for each.");
  EXPECT_TEXT(ValueError, (ForwardAccumulator{Sources(std::vector<Source>{}), std::vector<Tensor>{}}),
              "ForwardAccumulator: there are no primals; give at least one floating Tensor or Variable.");
  struct Several {
    std::vector<Tensor> all;
  };
  EXPECT_TEXT(ValueError, (ForwardAccumulator{Several{{x, x}}, Several{{x}}}),
              "ForwardAccumulator: the tree of tangents has 1 Tensors and Variables, and that of primals 2; their structures must be the same.");
  EXPECT_EQ(Interpreter::top(), nullptr);
}

TEST(Forward, SaysWhyNothingMoves) {
  const Tensor x = {1.5f, 2.5f}, one = {1.f, 1.f};
  ForwardAccumulator forward{x, one};
  const Tensor constant = one * 2, steps = floor(x) * 2, whole = cast(cast(x, i32), f32);
  const auto said = [&](const Tensor& y) { return message<GradientError>([&] { forward.jvp(y); }); };
  EXPECT_EQ(said(constant), "jvp: y f32[2] does not depend on a primal through differentiable ops while this accumulator recorded; "
                            "ask for unconnected = zeros or none if that is meant.");
  EXPECT_NE(said(steps).find("jvp: y f32[2] depends on a primal only through floor at "), std::string::npos) << said(steps);
  EXPECT_NE(said(steps).find(", through which no derivative flows; use another op, or ask for unconnected = zeros or none if that is meant."), std::string::npos);
  EXPECT_NE(said(whole).find("only through cast at "), std::string::npos) << said(whole);
  EXPECT_NE(said(whole).find(", which gives i32[2], and integers have no tangent; keep the path floating, or ask for"), std::string::npos);
  EXPECT_EQ(message<GradientError>([&] { forward.jvp(Tensor(1), kZeros); }), "jvp: y is i32[]; only floating values have tangents, cast it.");
  EXPECT_TEXT(ValueError, forward.jvp(Tensor()), "jvp: y is an empty Tensor handle; assign a value to it first.");
  EXPECT_TEXT(ValueError, forward.jvp(x, {.unconnected = static_cast<Unconnected>(7)}),
              "jvp: unconnected is not one of Unconnected's values; name one of those.");
  EXPECT_EQ(floats(forward.jvp(stop_gradient(x) * x)), floats(x));
}

TEST(Forward, AnErrorWaitsUntilItIsAskedFor) {
  const Tensor x = {1.f, 2.f};
  ForwardAccumulator forward{x, x};
  const Tensor refused = prevent_gradient(x, "not here."), more = exp(refused) + x, fine = x * 2;
  EXPECT_EQ(floats(forward.jvp(fine)), (Floats{2, 4}));
  EXPECT_TEXT(GradientError, forward.jvp(refused), "prevent_gradient: not here.");
  EXPECT_TEXT(GradientError, forward.jvp(more, kNone), "prevent_gradient: not here.");
  EXPECT_EQ(floats(forward.jvp(stop_gradient(more) * x)), floats(more * x));
  std::string tape_says;
  {
    GradientTape tape;
    tape.watch(x);
    tape_says = message<GradientError>([&, y = prevent_gradient(x, "not here.")] { tape.gradient(y, x); });
  }
  EXPECT_EQ(tape_says, "prevent_gradient: not here.");
}

// SEMANTICS 88
TEST(Forward, WhatIsComputedOutsideDoesNotMove) {
  const Tensor x = -2.f, before = 4 * x;
  std::optional<ForwardAccumulator> forward(std::in_place, x, Tensor(1.5f));
  const Tensor y = 4 * x;
  EXPECT_EQ(number(forward->jvp(y)), 6);
  EXPECT_FALSE(forward->jvp(before, kNone).defined());
  EXPECT_TEXT(StateError, forward->resume(), "resume: this accumulator records already; stop it first.");
  forward->stop();
  EXPECT_FALSE(forward->recording());
  EXPECT_TEXT(StateError, forward->stop(), "stop: this accumulator does not record; resume it first.");
  const Tensor z = 4 * x;
  EXPECT_FALSE(forward->jvp(z, kNone).defined());
  EXPECT_EQ(number(forward->jvp(y)), 6);
  forward->resume();
  EXPECT_EQ(number(forward->jvp(y * y)), 6 * -8 * 2);
  EXPECT_FALSE(forward->jvp(z * z, kNone).defined());
  forward.reset();
  EXPECT_EQ(Interpreter::top(), nullptr);
  EXPECT_EQ(number(y * y), 64);
}

TEST(Forward, ReadsOfAVariableMove) {
  Variable w{3.f}, other{1.f};
  const Tensor early = w.value();
  ForwardAccumulator forward{w, Tensor(1.f)};
  EXPECT_EQ(number(forward.jvp(w * w)), 6);
  EXPECT_EQ(number(forward.jvp(w)), 1);
  EXPECT_FALSE(forward.jvp(early * early, kNone).defined());
  w.assign(w * 2);  // whose tangent is not passed on
  EXPECT_EQ(number(forward.jvp(w * 5)), 5);
  w.assign_add(1.f);
  EXPECT_EQ(number(forward.jvp(w * w)), 14);
  other.assign(w * 2);
  EXPECT_FALSE(forward.jvp(other * 3, kNone).defined());
  atomically([&] {
    other.assign(w * 4);
    EXPECT_FALSE(forward.jvp(other * 3, kNone).defined());
  });
  forward.stop();
  const Tensor still = w.value();
  forward.resume();
  EXPECT_FALSE(forward.jvp(still * 2, kNone).defined());
}

TEST(Forward, AVariableOfAnotherShapeIsAnError) {
  Variable w{Tensor({1.f, 2.f}), {.name = "w", .shape = Shape{kUnknown}}};
  ForwardAccumulator forward{w, Tensor({1.f, 1.f})};
  EXPECT_EQ(floats(forward.jvp(w * 2)), (Floats{2, 2}));
  w.assign({1.f, 2.f, 3.f});
  const Tensor y = w * 2;
  EXPECT_TEXT(GradientError, forward.jvp(y), "jvp: Variable \"w\" has the shape [3] where it is read, and its tangent [2]; make an accumulator where the shape has changed.");
}

struct Net {
  Variable w{{1.f, 2.f}}, b{3.f};
  Tensor loss(const Tensor& x) const { return square(sum(w * x) + b); }
};

// SEMANTICS 89
TEST(Forward, GivesProductsOfTheHessianAndAVector) {
  const Tensor x = {1.f, -1.f, 2.f}, v = {1.f, 2.f, 3.f};
  const auto f = [](const Tensor& p) { return sum(p * p * p) + prod(p); };
  const auto by_tapes = [&] {  // backward over backward
    GradientTape outer;
    outer.watch(x);
    Tensor dx;
    {
      GradientTape tape;
      tape.watch(x);
      dx = tape.gradient(f(x), x);
    }
    return floats(outer.gradient(sum(dx * v), x));
  }();
  {  // forward over backward
    ForwardAccumulator forward{x, v};
    GradientTape tape;
    tape.watch(x);
    EXPECT_EQ(floats(forward.jvp(tape.gradient(f(x), x))), by_tapes);
  }
  {  // backward over forward
    GradientTape tape;
    tape.watch(x);
    ForwardAccumulator forward{x, v};
    const Tensor along = forward.jvp(f(x));
    EXPECT_EQ(floats(tape.gradient(along, x)), by_tapes);
  }
  {  // forward over forward: the second derivative along v
    ForwardAccumulator outer{x, v};
    ForwardAccumulator inner{x, v};
    const Tensor second = outer.jvp(inner.jvp(f(x)));
    float wanted = 0;
    for (std::size_t i = 0; i < 3; ++i) wanted += by_tapes[i] * floats(v)[i];
    EXPECT_NEAR(number(second), wanted, 1e-4);
  }
}

// SEMANTICS 89
TEST(Forward, GivesProductsOfTheHessianOfATree) {
  const Net net;
  const Tensor x = {2.f, 1.f};
  Gradients direction;
  {
    GradientTape tape;
    direction = tape.gradient(net.loss(x), net);
  }
  ForwardAccumulator forward{net, direction};
  GradientTape tape;
  const Gradients product = forward.jvp(tape.gradient(net.loss(x), net));
  // loss = s * s with s = 7: the gradient is 14 * {2, 1, 1}, and the Hessian 2 * {2, 1, 1} {2, 1, 1}'.
  EXPECT_EQ(floats(product[net.w].dense()), (Floats{2 * 14 * 6 * 2, 2 * 14 * 6}));
  EXPECT_EQ(number(product.at("b").dense()), 2 * 14 * 6);
  Net along;
  along.w.assign({1.f, 0.f});
  along.b.assign(0.f);
  ForwardAccumulator second{net, along};
  EXPECT_EQ(number(second.jvp(net.loss(x))), 28);
}

TEST(Forward, UsesGradientsThatAProgramGives) {
  const auto twice = custom_gradient([](Tensor a) { return std::pair(a * a, [=](Tensor dy) { return dy * a * 3; }); });
  const Tensor x = 5.f;
  ForwardAccumulator forward{x, Tensor(1.f)};
  EXPECT_EQ(number(forward.jvp(twice(x))), 15);
  EXPECT_EQ(number(forward.jvp(twice(twice(x)))), 15 * 75);
  {
    GradientTape tape;
    tape.watch(x);
    EXPECT_EQ(number(forward.jvp(tape.gradient(twice(x), x))), 3);  // the gradient function moves with what it has captured
  }
  const auto rounded = grad_pass_through([](Tensor a) { return round(a); });
  EXPECT_EQ(number(forward.jvp(rounded(x * 2))), 2);
  Variable w{2.f, {.name = "w"}};
  ForwardAccumulator other{w, Tensor(1.f)};
  const auto scaled = custom_gradient([&](Tensor a) {
    return std::pair(a * w, [=](Tensor dy, const std::vector<Variable>& variables) {
      std::vector<Tensor> all{dy * 7};
      for (std::size_t i = 0; i < variables.size(); ++i) all.push_back(dy * 11);
      return all;
    });
  });
  EXPECT_EQ(number(other.jvp(scaled(Tensor(1.f)))), 11);
}

// SEMANTICS 84: forward mode
TEST(Forward, RefusesWhatIsComputedAgain) {
  const auto f = recompute_grad([](Tensor a) { return sin(a) * a; });
  const Tensor x = {1.f, 2.f};
  const std::string refused = "recompute_grad: forward mode does not go through a function that is computed again; leave recompute_grad out there: "
                              "an accumulator keeps nothing of the function anyway.";
  ForwardAccumulator forward{x, x};
  const Tensor y = f(x), fine = f(Tensor{1.f});
  EXPECT_TEXT(GradientError, forward.jvp(y), refused);
  EXPECT_TEXT(GradientError, forward.jvp(sum(y), kNone), refused);
  EXPECT_FALSE(forward.jvp(fine, kNone).defined());
  EXPECT_EQ(floats(forward.jvp(x * 2)), (Floats{2, 4}));
  GradientTape tape;
  tape.watch(x);
  EXPECT_EQ(floats(tape.gradient(sum(f(x)), x)).size(), 2u);
}

// SEMANTICS 91
TEST(Forward, DeadTensorsLetTheirTangentsGo) {
  constexpr std::int64_t kSize = 1 << 18;  // a megabyte each
  const Tensor x = ones({kSize});
  ForwardAccumulator forward{x, x};
  const auto used = [] { return memory_stats().in_use; };
  Tensor y = x * 0.5f;
  const std::int64_t before = used();
  for (int i = 0; i < 50; ++i) {
    y = sin(y * 2) + x;
    EXPECT_LT(used() - before, 24 * kSize * 4) << i;  // those of 50 rounds would take 300 of them
  }
  EXPECT_EQ(forward.jvp(y).shape(), x.shape());
  std::vector<Tensor> kept;
  for (int i = 0; i < 20; ++i) kept.push_back(x * static_cast<float>(i));
  const std::int64_t full = used();
  EXPECT_EQ(floats(forward.jvp(kept[7])[0])[0], 7);
  kept.clear();
  for (int i = 0; i < 40; ++i) y = y * 1.f;  // some calls later they are gone
  EXPECT_LT(used(), full - 30 * kSize * 4);
}

// SEMANTICS 91: two that are inside each other do not keep each other's
TEST(Forward, NestedOnesLetGoAsWell) {
  constexpr std::int64_t kSize = 1 << 18;
  const Tensor x = ones({kSize});
  ForwardAccumulator outer{x, x};
  ForwardAccumulator inner{x, x};
  Tensor y = x * 0.5f;
  const std::int64_t before = memory_stats().in_use;
  for (int i = 0; i < 50; ++i) {
    y = sin(y) * x;
    EXPECT_LT(memory_stats().in_use - before, 64 * kSize * 4) << i;
  }
}

TEST(Forward, BelongsToItsThread) {
  const Tensor x = 2.f;
  auto forward = std::make_unique<ForwardAccumulator>(x, Tensor(1.f));
  const Tensor y = x * x;
  std::thread([&] {
    const std::string sentence = "this accumulator belongs to another thread, which still records on it; use it there.";
    EXPECT_TEXT(StateError, forward->jvp(y), "jvp: " + sentence);
    EXPECT_TEXT(StateError, forward->stop(), "stop: " + sentence);
    EXPECT_EQ(number(x * x), 4);  // does not move here
    forward.reset();              // it may end anywhere
  }).join();
  EXPECT_EQ(number(x * x * x), 8);
  {
    GradientTape tape;  // makes the stack forget it
    tape.watch(x);
    EXPECT_EQ(number(tape.gradient(x * x, x)), 4);
  }
  EXPECT_EQ(Interpreter::top(), nullptr);
  std::unique_ptr<ForwardAccumulator> left;
  Tensor z;
  std::thread([&] {
    left = std::make_unique<ForwardAccumulator>(x, Tensor(1.f));
    z = x * x;
  }).join();
  EXPECT_FALSE(left->recording());
  EXPECT_EQ(number(left->jvp(z)), 4);
  EXPECT_TEXT(StateError, left->resume(), "resume: the thread of this accumulator has ended; make a new one.");
}

TEST(Forward, AnExceptionLeavesNothingBehind) {
  const Tensor x = {1.f, 2.f};
  EXPECT_ANY_THROW({
    ForwardAccumulator forward(x, x);
    const Tensor y = x * x;
    static_cast<void>(matmul(y, y));
  });
  EXPECT_EQ(Interpreter::top(), nullptr);
  ForwardAccumulator forward{x, x};
  EXPECT_ANY_THROW(static_cast<void>(x + Tensor{1.f, 2.f, 3.f}));
  EXPECT_EQ(floats(forward.jvp(x * x)), (Floats{2, 8}));
}

}  // namespace
}  // namespace weft::test
