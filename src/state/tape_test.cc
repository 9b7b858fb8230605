#include <weft/tape.h>

#include <gtest/gtest.h>

#include <cstring>

#include "core/apply.h"
#include "tests/support.h"
#include <weft/operators.h>
#include <weft/ops.h>

namespace weft {
namespace {

using test::number;

using Floats = std::vector<float>;

TEST(Tape, DifferentiatesWhatItWatches) {
  const Tensor x = 3.f;
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x + 2 * x;
  EXPECT_EQ(number(tape.gradient(y, x)), 8.f);
}

// SEMANTICS 45: tensors need `watch`.
TEST(Tape, FollowsNothingUnasked) {
  const Tensor x = 3.f, other = 4.f;
  GradientTape tape;
  tape.watch(other);
  const Tensor y = x * x;
  EXPECT_THROW(tape.gradient(y, x), GradientError);
}

// SEMANTICS 47
TEST(Tape, WatchingIsLocalToTheTape) {
  const Tensor x = 3.f;
  GradientTape a, b;
  a.watch(x);
  const Tensor y = x * x;
  EXPECT_EQ(number(a.gradient(y, x)), 6.f);
  EXPECT_FALSE(b.gradient(y, x, {.unconnected = Unconnected::kNone}).defined());
}

// SEMANTICS 49
TEST(Tape, RefusesToWatchWhatHasNoGradient) {
  GradientTape tape;
  EXPECT_THROW(tape.watch(Tensor(3)), GradientError);
  EXPECT_THROW(tape.watch(Tensor(true)), GradientError);
  EXPECT_THROW(tape.watch(Tensor()), ValueError);
}

TEST(Tape, WatchingTwiceIsHarmless) {
  const Tensor x = 3.f;
  GradientTape tape;
  tape.watch(x);
  tape.watch(x);
  EXPECT_EQ(number(tape.gradient(x * x, x)), 6.f);
}

TEST(Tape, WatchesFromThatMomentOn) {
  const Tensor x = 3.f;
  GradientTape tape({.persistent = true});
  const Tensor before = x * x;
  tape.watch(x);
  const Tensor after = x * x;
  EXPECT_FALSE(tape.gradient(before, x, {.unconnected = Unconnected::kNone}).defined());
  EXPECT_EQ(number(tape.gradient(after, x)), 6.f);
}

// SEMANTICS 51
TEST(Tape, AnswersOnceUnlessPersistent) {
  const Tensor x = 3.f;
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  tape.gradient(y, x);
  EXPECT_THROW(tape.gradient(y, x), StateError);
}

// SEMANTICS 52
TEST(Tape, GradientMayBeAskedInsideTheScope) {
  const Tensor x = 3.f;
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  const Tensor dx = tape.gradient(y, x);
  EXPECT_EQ(Interpreter::top(), nullptr);  // it has stopped recording
  EXPECT_EQ(number(dx * x), 18.f);
}

// SEMANTICS 53
TEST(Tape, PersistentAnswersAgainAndGivesHigherOrders) {
  const Tensor x = 2.f;
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x * x;
  EXPECT_EQ(number(tape.gradient(y, x)), 12.f);
  const Tensor first = tape.gradient(y, x);
  const Tensor second = tape.gradient(first, x);
  const Tensor third = tape.gradient(second, x);
  EXPECT_EQ(number(first), 12.f);
  EXPECT_EQ(number(second), 12.f);
  EXPECT_EQ(number(third), 6.f);
}

// SEMANTICS 57
TEST(Tape, AnswersInTheOrderOfTheSources) {
  const Tensor a = 2.f, b = 5.f;
  GradientTape tape;
  tape.watch(a);
  tape.watch(b);
  const std::vector<Tensor> d = tape.gradient(a * a * b, std::vector<Tensor>{b, a});
  EXPECT_EQ(number(d[0]), 4.f);
  EXPECT_EQ(number(d[1]), 20.f);
}

// SEMANTICS 58
TEST(Tape, SourcesMayRepeat) {
  const Tensor x = 3.f;
  GradientTape tape;
  tape.watch(x);
  const std::vector<Tensor> d = tape.gradient(x * x, std::vector<Tensor>{x, x});
  EXPECT_EQ(number(d[0]), 6.f);
  EXPECT_EQ(number(d[1]), 6.f);
}

// SEMANTICS 59
TEST(Tape, SeveralTargetsAddUp) {
  const Tensor x = 3.f;
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x, z = 2 * x;
  EXPECT_EQ(number(tape.gradients({y, z}, {x})[0].dense()), 8.f);
  EXPECT_EQ(number(tape.gradients({y, y}, {x})[0].dense()), 12.f);
  EXPECT_EQ(number(tape.gradients({y, x}, {x})[0].dense()), 7.f);  // a target that is a source adds one
  EXPECT_EQ(number(tape.gradient(x, x)), 1.f);
}

// SEMANTICS 60
TEST(Tape, OutputGradientsSeedTheWalk) {
  const Tensor x = {1.f, 2.f, 3.f}, seed = {1.f, 10.f, 100.f};
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x;
  EXPECT_EQ(tape.gradient(y, x, {.output_gradients = {seed}}).to_vector<float>(), Floats({2, 40, 600}));
  EXPECT_EQ(tape.gradient(y, x).to_vector<float>(), Floats({2, 4, 6}));  // the sum of the elements
  EXPECT_THROW(tape.gradient(y, x, {.output_gradients = {Tensor{1.f}}}), ShapeError);
  EXPECT_THROW(tape.gradient(y, x, {.output_gradients = {Tensor({1, 2, 3}, f64)}}), DtypeError);
  EXPECT_THROW(tape.gradient(y, x, {.output_gradients = {Tensor()}}), ValueError);
  EXPECT_THROW(tape.gradient(y, x, {.output_gradients = {seed, seed}}), ValueError);
}

TEST(Tape, TheSeedIsPartOfTheComputation) {
  const Tensor x = 2.f, seed = 5.f;
  GradientTape outer;
  outer.watch(seed);
  GradientTape inner;
  inner.watch(x);
  const Tensor dx = inner.gradient(x * x * x, x, {.output_gradients = {seed}});
  EXPECT_EQ(number(dx), 60.f);
  EXPECT_EQ(number(outer.gradient(dx, seed)), 12.f);
}

// SEMANTICS 61
TEST(Tape, TargetsAndSourcesMustBeDefined) {
  const Tensor x = 3.f;
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x;
  EXPECT_THROW(tape.gradient(Tensor(), x), ValueError);
  EXPECT_THROW(tape.gradient(y, Tensor()), ValueError);
  EXPECT_THROW(tape.gradients({}, {x}), ValueError);
  EXPECT_TRUE(tape.gradients({y}, {}).empty());
}

// SEMANTICS 62
TEST(Tape, UnconnectedSourcesAreErrorsZerosOrNothing) {
  const Tensor x = {1.f, 2.f}, other = {{3.f}};
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(other);
  const Tensor y = x * x;
  EXPECT_THROW(tape.gradient(y, other), GradientError);
  EXPECT_FALSE(tape.gradient(y, other, {.unconnected = Unconnected::kNone}).defined());
  const Tensor zeros = tape.gradient(y, other, {.unconnected = Unconnected::kZeros});
  EXPECT_EQ(zeros.spec(), other.spec());
  EXPECT_EQ(number(zeros), 0.f);
  EXPECT_THROW(tape.gradient(y, other, {.unconnected = static_cast<Unconnected>(9)}), ValueError);
}

// SEMANTICS 64: an error that says so, where TensorFlow answers nothing.
TEST(Tape, IntegersHaveNoGradient) {
  const Tensor x = 3.f;
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor whole = cast(x, i32);
  const Tensor y = cast(whole * 2, f32);
  EXPECT_THROW(tape.gradient(whole, x), GradientError);
  EXPECT_THROW(tape.gradient(y, x), GradientError);
  EXPECT_THROW(tape.gradient(x * x, whole), GradientError);
  EXPECT_FALSE(tape.gradient(y, x, {.unconnected = Unconnected::kNone}).defined());
  EXPECT_EQ(number(tape.gradient(y, x, {.unconnected = Unconnected::kZeros})), 0.f);
}

// SEMANTICS 65
TEST(Tape, IntegerPathsBesideFloatingOnesDoNotDisturb) {
  const Tensor x = {1.5f, 2.5f};
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x * cast(cast(x, i32), f32);
  EXPECT_EQ(tape.gradient(y, x).to_vector<float>(), Floats({3, 10}));
}

// SEMANTICS 66
TEST(Tape, ResultsThatChangeNothingAreNewSources) {
  const Tensor x = 3.f;
  for (int which = 0; which < 3; ++which) {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Tensor same = which == 0 ? x + 0 : which == 1 ? x * 1 : identity(x);
    EXPECT_FALSE(same.same_as(x));
    const Tensor y = same * same;
    EXPECT_EQ(number(tape.gradient(y, same)), 6.f);
    EXPECT_EQ(number(tape.gradient(y, x)), 6.f);
    const Tensor direct = x * x;
    EXPECT_FALSE(tape.gradient(direct, same, {.unconnected = Unconnected::kNone}).defined());
  }
}

// SEMANTICS 13
TEST(Tape, EqualConstantsAreDistinctSources) {
  const Tensor a = 3.f, b = 3.f;
  GradientTape tape({.persistent = true});
  tape.watch(a);
  tape.watch(b);
  const Tensor y = a * a * b;
  EXPECT_EQ(number(tape.gradient(y, a)), 18.f);
  EXPECT_EQ(number(tape.gradient(y, b)), 9.f);
}

// SEMANTICS 67
TEST(Tape, DifferentiatesToIntermediates) {
  const Tensor x = 3.f;
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor middle = x * x, y = middle * middle;
  EXPECT_EQ(number(tape.gradient(y, middle)), 18.f);
  EXPECT_EQ(number(tape.gradient(y, x)), 108.f);
  const std::vector<Tensor> both = tape.gradient(y, std::vector<Tensor>{middle, x});
  EXPECT_EQ(number(both[0]), 18.f);
  EXPECT_EQ(number(both[1]), 108.f);
}

// SEMANTICS 68
TEST(Tape, NestedTapesGiveHigherOrders) {
  const Tensor x = 2.f;
  GradientTape third;
  third.watch(x);
  GradientTape second;
  second.watch(x);
  GradientTape first;
  first.watch(x);
  const Tensor y = x * x * x * x;
  const Tensor dy = first.gradient(y, x), ddy = second.gradient(dy, x), dddy = third.gradient(ddy, x);
  EXPECT_EQ(number(dy), 32.f);
  EXPECT_EQ(number(ddy), 48.f);
  EXPECT_EQ(number(dddy), 48.f);
  EXPECT_EQ(Interpreter::top(), nullptr);
}

// An inner tape that asks about the outer one: the order of the stack does not matter, only who records what.
TEST(Tape, TheOuterTapeMayAnswerFirst) {
  const Tensor x = 2.f;
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor y = x * x * x;
  const Tensor dy = outer.gradient(y, x);  // recorded by `inner`, which is still running
  EXPECT_EQ(number(inner.gradient(dy, x)), 12.f);
}

// SEMANTICS 69
TEST(Tape, OnlyTheExecutedBranchCounts) {
  const auto larger = [](const Tensor& a, const Tensor& b) { return static_cast<bool>(a > b) ? a * 2 : b * 3; };
  const Tensor a = 2.f, b = 5.f;
  GradientTape tape;
  tape.watch(a);
  tape.watch(b);
  const std::vector<Tensor> d = tape.gradient(larger(a, b), std::vector<Tensor>{a, b}, {.unconnected = Unconnected::kNone});
  EXPECT_FALSE(d[0].defined());
  EXPECT_EQ(number(d[1]), 3.f);
}

// SEMANTICS 70
TEST(Tape, StopGradientStops) {
  const Tensor x = 3.f;
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * stop_gradient(x * x);
  EXPECT_EQ(number(tape.gradient(y, x)), 9.f);
  EXPECT_FALSE(tape.gradient(stop_gradient(x), x, {.unconnected = Unconnected::kNone}).defined());
  EXPECT_FALSE(tape.gradient(zeros_like(x), x, {.unconnected = Unconnected::kNone}).defined());
}

// SEMANTICS 71: a floating op without a gradient is an error that names it, not an absent gradient.
TEST(Tape, AnOpWithoutAGradientSaysSo) {
  static const Op lonely{.name = "lonely", .doc = "Test.", .inputs = {"x"}, .dtypes = kFloats, .infer = [](const Infer& in) -> Specs { return {in.spec(0)}; },
                         .kernel = [](KernelCall& call) { *call.out<float>() = *call.in<float>(0); }};
  const Tensor x = 3.f;
  GradientTape tape({.persistent = true});
  tape.watch(x);
  Tensors inputs = {x};
  const Tensor y = apply_one(lonely, inputs, {}, Location::here());
  try {
    tape.gradient(y, x);
    FAIL();
  } catch (const GradientError& e) {
    EXPECT_EQ(e.op(), "lonely");
  }
  EXPECT_EQ(number(tape.gradient(x * x, x)), 6.f);  // off the path it does not matter
}

// SEMANTICS 72, 73: sparse gradients stay sparse while they meet only sparse ones.
TEST(Tape, SparseGradientsJoinOrBecomeDense) {
  static const Op row_of{.name = "row_of", .doc = "Test: the first row.", .inputs = {"x"}, .dtypes = kFloats,
                         .infer = [](const Infer& in) -> Specs { return {{in.dtype(0), {1, in.shape(0)[1]}}}; },
                         .kernel = [](KernelCall& call) { std::memcpy(call.out<float>(), call.in<float>(0), 2 * sizeof(float)); },
                         .grad = [](const Backward& b) -> Grads { return {IndexedSlices{b.dy(), Tensor{0}, b.x()}}; }};
  const auto first_row = [](const Tensor& x) {
    Tensors inputs = {x};
    return apply_one(row_of, inputs, {}, Location::here());
  };
  const Tensor x = {{1.f, 2.f}, {3.f, 4.f}};
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor a = first_row(x), b = first_row(x) * 10, c = x * 100;
  const Grad once = tape.gradients({a}, {x})[0];
  ASSERT_TRUE(once.sparse());
  EXPECT_EQ(once.dense().to_vector<float>(), Floats({1, 1, 0, 0}));
  const Grad twice = tape.gradients({a, b}, {x})[0];
  ASSERT_TRUE(twice.sparse());
  EXPECT_EQ(twice.slices().values.shape(), Shape({2, 2}));
  EXPECT_EQ(twice.dense().to_vector<float>(), Floats({11, 11, 0, 0}));
  const Grad mixed = tape.gradients({a, c}, {x})[0];
  EXPECT_FALSE(mixed.sparse());
  EXPECT_EQ(mixed.dense().to_vector<float>(), Floats({101, 101, 100, 100}));
  EXPECT_EQ(tape.gradient(a, x).to_vector<float>(), Floats({1, 1, 0, 0}));
}

TEST(Grad, SlicesOfADenseOneAreRefused) {
  EXPECT_THROW(Grad().slices(), StateError);
  EXPECT_THROW(Grad(Tensor(1.f)).slices(), StateError);
}

}  // namespace
}  // namespace weft
