// Tapes and Variables.
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "core/apply.h"
#include "tests/support.h"
#include <weft/weft.h>

namespace weft {
namespace {

using test::floats;
using test::number;

using Floats = std::vector<float>;

std::vector<std::string> names(const std::vector<Variable>& variables) {
  std::vector<std::string> result;
  for (const Variable& v : variables) result.push_back(v.name());
  return result;
}
using Names = std::vector<std::string>;

// SEMANTICS 45
TEST(TapeVariable, ReadingATrainableOneWatchesIt) {
  const Variable w{3.f, {.name = "w"}}, frozen{4.f, {.name = "frozen", .trainable = false}}, unread{5.f, {.name = "unread"}};
  GradientTape tape({.persistent = true});
  const Tensor y = w * w * frozen;
  EXPECT_EQ(number(tape.gradient(y, w)), 24.f);
  EXPECT_THROW(tape.gradient(y, frozen), GradientError);
  EXPECT_EQ(names(tape.watched_variables()), Names({"w"}));
}

// Its Spec and its text are no reads.
TEST(TapeVariable, LookingAtOneDoesNotWatchIt) {
  const Variable w{{1.f, 2.f}, {.name = "w"}};
  GradientTape tape;
  EXPECT_EQ(w.shape(), Shape({2}));
  EXPECT_NE(w.str(), "");
  EXPECT_EQ(w.dtype(), f32);
  EXPECT_TRUE(tape.watched_variables().empty());
}

// SEMANTICS 46
TEST(TapeVariable, WatchesOnlyWhatItIsToldTo) {
  const Variable a{3.f, {.name = "a"}}, b{4.f, {.name = "b"}}, frozen{5.f, {.name = "frozen", .trainable = false}};
  GradientTape tape({.persistent = true, .watch_accessed_variables = false});
  const Tensor before = b * 1;
  tape.watch(b);
  tape.watch(b);
  tape.watch(frozen);
  const Tensor y = a * b * frozen;
  EXPECT_EQ(names(tape.watched_variables()), Names({"b", "frozen"}));
  EXPECT_EQ(number(tape.gradient(y, b)), 15.f);
  EXPECT_EQ(number(tape.gradient(y, frozen)), 12.f);
  EXPECT_THROW(tape.gradient(y, a), GradientError);
  EXPECT_THROW(tape.gradient(before, b), GradientError);  // from that moment on
}

// SEMANTICS 47
TEST(TapeVariable, WatchingIsLocalToTheTape) {
  const Variable w{3.f};
  GradientTape outer({.watch_accessed_variables = false}), inner;
  const Tensor y = w * w;
  EXPECT_EQ(number(inner.gradient(y, w)), 6.f);
  EXPECT_TRUE(outer.watched_variables().empty());
  EXPECT_FALSE(outer.gradient(y, w, {.unconnected = Unconnected::kNone}).defined());
}

// SEMANTICS 48
TEST(TapeVariable, WatchedVariablesSurviveGradientAndEndWithReset) {
  const Variable a{1.f, {.name = "a"}}, b{2.f, {.name = "b"}};
  GradientTape tape;
  EXPECT_TRUE(tape.watched_variables().empty());
  const Tensor first = b * 2, y = first * a;
  EXPECT_EQ(names(tape.watched_variables()), Names({"b", "a"}));
  tape.gradient(y, a);
  EXPECT_EQ(names(tape.watched_variables()), Names({"b", "a"}));
  tape.reset();
  EXPECT_TRUE(tape.watched_variables().empty());
  EXPECT_EQ(number(tape.gradient(a * a, a)), 2.f);
}

// SEMANTICS 49
TEST(TapeVariable, WatchingAnIntegerIsRefused) {
  GradientTape tape;
  EXPECT_THROW(tape.watch(Variable{3}), GradientError);
}

struct Pair {
  Variable weight{2.f};
  Variable count{0, {.trainable = false}};
  Tensor scale = 3.f;
  std::vector<Tensor> more = {Tensor(5.f)};
};

// SEMANTICS 50
TEST(TapeVariable, WatchingATreeWatchesItsParts) {
  const Pair pair;
  const Tensor x = 7.f, z = 11.f;
  GradientTape tape({.persistent = true, .watch_accessed_variables = false});
  tape.watch(pair);
  tape.watch({x, z});
  const Tensor y = pair.weight * pair.scale * pair.more[0] * x * z;
  EXPECT_EQ(number(tape.gradient(y, pair.weight)), 3.f * 5 * 7 * 11);
  EXPECT_EQ(number(tape.gradient(y, pair.scale)), 2.f * 5 * 7 * 11);
  EXPECT_EQ(number(tape.gradient(y, pair.more[0])), 2.f * 3 * 7 * 11);
  EXPECT_EQ(number(tape.gradient(y, z)), 2.f * 3 * 5 * 7);
}

// SEMANTICS 44: an assignment ends a path; the gradient of a Variable is the sum over its reads.
TEST(TapeVariable, AssignmentsEndPaths) {
  const Tensor x = 3.f;
  Variable v{1.f};
  GradientTape tape({.persistent = true});
  tape.watch(x);
  v.assign(x * x);
  const Tensor y = v * 2;
  EXPECT_FALSE(tape.gradient(y, x, {.unconnected = Unconnected::kNone}).defined());
  EXPECT_EQ(number(tape.gradient(y, v)), 2.f);
}

TEST(TapeVariable, AGradientIsTheSumOverAllReads) {
  Variable v{3.f};
  GradientTape tape({.persistent = true});
  Tensor y = v * v;
  const Tensor first = v;
  EXPECT_TRUE(first.same_as(v));  // read twice, one value
  v.assign(5.f);
  const Tensor z = v * 10;
  EXPECT_EQ(number(tape.gradient(y, v)), 6.f);
  EXPECT_EQ(number(tape.gradient(z, v)), 10.f);
  EXPECT_EQ(number(tape.gradient(y + z, v)), 16.f);
  EXPECT_EQ(number(tape.gradient(y + z, first)), 6.f);
  v.assign_add(1.f);
  EXPECT_EQ(number(tape.gradient(v * y, v)), 9.f + 6.f * 6.f);
}

// The tape holds values.
TEST(TapeVariable, ALaterAssignmentChangesNoGradient) {
  Variable w{{1.f, 2.f, 3.f, 4.f, 5.f, 6.f}};
  GradientTape tape;
  const Tensor y = w * w;
  w.assign_add(Tensor{{1.f, 1.f, 1.f, 1.f, 1.f, 1.f}}[0]);
  w.assign(zeros({6}));
  EXPECT_EQ(floats(tape.gradient(y, w)), Floats({2, 4, 6, 8, 10, 12}));
}

// What was read before the tape, or while it stood still, is a constant to it, even if the Variable has not changed since.
TEST(TapeVariable, EarlierReadsAreNotFollowed) {
  const Variable w{3.f};
  const Tensor before = w;
  {
    GradientTape tape;
    EXPECT_EQ(number(tape.gradient(w * before, w)), 3.f);
  }
  GradientTape tape({.persistent = true});
  const Tensor inside = w;
  const Tensor unseen = tape.stop_recording([&] { return w.value(); });
  EXPECT_EQ(number(tape.gradient(w * unseen, w)), 3.f);
  EXPECT_EQ(number(tape.gradient(w * inside, w)), 6.f);
  GradientTape inner;
  EXPECT_EQ(number(inner.gradient(w * inside, w)), 3.f);
}

TEST(TapeVariable, ReadsOfAChangingShapeHaveNoSum) {
  Variable v{Tensor{1.f, 2.f}, {.shape = Shape{kUnknown}}};
  GradientTape tape({.persistent = true});
  const Tensor y = sum(v * v);
  v.assign({3.f});
  const Tensor z = sum(v * v);
  EXPECT_EQ(floats(tape.gradient(y, v)), Floats({2, 4}));
  EXPECT_EQ(floats(tape.gradient(z, v)), Floats({6}));
  EXPECT_THROW(tape.gradient(y + z, v), GradientError);
}

// SEMANTICS 52
TEST(TapeVariable, VariablesMayBeTargets) {
  Variable v{{1.f, 2.f}}, w{3.f};
  GradientTape tape({.persistent = true});
  EXPECT_EQ(floats(tape.gradient(v, v)), Floats({1, 1}));
  const Tensor y = v * w;
  EXPECT_EQ(floats(tape.gradients({y, v}, {v})[0].dense()), Floats({4, 4}));
  v.assign(y);
  EXPECT_FALSE(tape.gradient(v, w, {.unconnected = Unconnected::kNone}).defined());
}

// SEMANTICS 57, 58
TEST(TapeVariable, AnswersInTheOrderOfTheSources) {
  const Variable a{2.f}, b{5.f};
  const Tensor x = 7.f;
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = a * a * b * x;
  const std::vector<Tensor> of_vector = tape.gradient(y, std::vector<Variable>{b, a, b});
  EXPECT_EQ(number(of_vector[0]), 28.f);
  EXPECT_EQ(number(of_vector[1]), 140.f);
  EXPECT_EQ(number(of_vector[2]), 28.f);
  const std::vector<Tensor> mixed = tape.gradient(y, {x, a});
  EXPECT_EQ(number(mixed[0]), 20.f);
  EXPECT_EQ(number(mixed[1]), 140.f);
}

struct Layer {
  Variable weight{{{1.f, 2.f}, {3.f, 4.f}}};
  Variable bias{{1.f, 1.f}};
};
struct Net {
  Layer hidden, out;
  std::map<std::string, Variable> extra;
  Variable steps{0, {.trainable = false}};
};

// SEMANTICS 57: of a tree, by path and by Variable; what the target does not depend on is absent.
TEST(TapeVariable, OfATreeHasItsStructure) {
  Net net;
  net.extra.emplace("unused", Variable(1.f));
  const Tensor x = {{1.f, 1.f}};
  GradientTape tape;
  const Tensor loss = sum(matmul(x, net.hidden.weight) + net.hidden.bias) + sum(net.out.bias * 2);
  const Gradients d = tape.gradient(loss, net);
  ASSERT_EQ(d.size(), 5u);
  EXPECT_EQ(d.path(0), "hidden.weight");
  EXPECT_EQ(floats(d[net.hidden.weight].dense()), Floats({1, 1, 1, 1}));
  EXPECT_EQ(floats(d.at("hidden.bias").dense()), Floats({1, 1}));
  EXPECT_EQ(floats(d[net.out.bias].dense()), Floats({2, 2}));
  EXPECT_FALSE(d.at("out.weight").present());
  EXPECT_FALSE(d.at("extra.unused").present());
  EXPECT_FALSE(d.contains(net.steps));
}

TEST(TapeVariable, OfATreeTheOptionsDecideAboutTheUnconnected) {
  const Layer layer;
  GradientTape tape({.persistent = true});
  const Tensor loss = sum(layer.weight.value());
  EXPECT_THROW(tape.gradient(loss, layer, {.unconnected = Unconnected::kError}), GradientError);
  EXPECT_EQ(floats(tape.gradient(loss, layer, {.unconnected = Unconnected::kZeros})[layer.bias].dense()), Floats({0, 0}));
  EXPECT_FALSE(tape.gradient(loss, layer, {.unconnected = Unconnected::kNone})[layer.bias].present());
}

// SEMANTICS 53, 68
TEST(TapeVariable, HigherOrders) {
  const Variable x{2.f};
  GradientTape third;
  GradientTape second;
  GradientTape first;
  const Tensor y = x * x * x * x;
  const Tensor dy = first.gradient(y, x), ddy = second.gradient(dy, x), dddy = third.gradient(ddy, x);
  EXPECT_EQ(number(dy), 32.f);
  EXPECT_EQ(number(ddy), 48.f);
  EXPECT_EQ(number(dddy), 48.f);
  GradientTape persistent({.persistent = true});
  const Tensor d = persistent.gradient(x * x * x, x);
  EXPECT_EQ(number(persistent.gradient(d, x)), 12.f);
}

// SEMANTICS 72, 73
TEST(TapeVariable, LookupsGiveSparseGradients) {
  const Variable table{Tensor{{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}}};
  GradientTape tape({.persistent = true});
  const Tensor rows = gather(table, {2, 0, 2}), other = gather(table, {1});
  const Grad once = tape.gradients({rows}, {table})[0];
  ASSERT_TRUE(once.sparse());
  EXPECT_EQ(floats(once.dense()), Floats({1, 1, 0, 0, 2, 2}));
  const Grad both = tape.gradients({rows, other}, {table})[0];
  ASSERT_TRUE(both.sparse());
  EXPECT_EQ(both.slices().indices.shape(), Shape({4}));
  EXPECT_FALSE(tape.gradients({rows, table * 3}, {table})[0].sparse());
}

TEST(TapeVariable, SparseGradientsOfTwoReadsStaySparse) {
  Variable table{Tensor{{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}}};
  GradientTape tape;
  const Tensor before = gather(table, {0});
  table.assign(table * 2);
  const Tensor after = gather(table, {2});
  const Grad d = tape.gradients({before, after}, {table})[0];
  ASSERT_TRUE(d.sparse());
  EXPECT_EQ(floats(d.dense()), Floats({1, 1, 0, 0, 1, 1}));
}

TEST(TapeVariable, ValueAndGradientInOneLine) {
  const Variable w{3.f};
  const Tensor x = 2.f;
  const auto [y, dw] = value_and_gradient([&] { return w * w; }, w);
  EXPECT_EQ(number(y), 9.f);
  EXPECT_EQ(number(dw), 6.f);
  const auto [z, dx] = value_and_gradient([](Tensor a) { return a * a * a; }, x);
  EXPECT_EQ(number(z), 8.f);
  EXPECT_EQ(number(dx), 12.f);
  const auto [both, d] = value_and_gradient([&] { return w * x; }, {w, x});
  EXPECT_EQ(number(both), 6.f);
  EXPECT_EQ(number(d[0]), 2.f);
  EXPECT_EQ(number(d[1]), 3.f);
  const Layer layer;
  const auto [loss, gradients] = value_and_gradient([](const Layer& l) { return sum(l.bias * 3); }, layer);
  EXPECT_EQ(number(loss), 6.f);
  EXPECT_EQ(floats(gradients[layer.bias].dense()), Floats({3, 3}));
  EXPECT_EQ(Interpreter::top(), nullptr);
}

// A transaction's own writes are read and followed as any value.
TEST(TapeVariable, ReadsInsideATransaction) {
  Variable w{3.f};
  GradientTape tape({.persistent = true});
  Tensor y;
  atomically([&] {
    w.assign(w + 1);
    y = w * w;
  });
  EXPECT_EQ(number(tape.gradient(y, w)), 8.f);
  EXPECT_TRUE(w.value().same_as(w.value()));
}

}  // namespace
}  // namespace weft
