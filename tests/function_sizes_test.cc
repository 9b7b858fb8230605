// Sizes that are not known while tracing: no body reads a number for them, wherever they come from.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/support.h"
#include <weft/print.h>
#include <weft/weft.h>

namespace weft::test {
namespace {

// What comes of a body that asks for the first size of what `make` gives it, in a trace for vectors of any length; and the line that asked.
template <class Make>
std::string asked(const Make& make) {
  int line = 0;
  Function f{[&](Tensor x) {
    const Tensor y = make(x);
    line = __LINE__ + 1;
    return sum(y) / y.shape()[0];
  }, {.signature = {Spec{f32, {kUnknown}}}}};
  try {
    return format("{}", f(Tensor{1.f, 2.f, 3.f}));
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.location().line, line);
    return error.message();
  }
}

// A vector behind what cannot be copied: a body works on the argument itself.
struct Growing {
  std::unique_ptr<int> own;
  std::vector<Variable> held;
};

constexpr const char* kRefused = "shape: the size of axis 0 of [?] is not known, so it is no number; in a traced body use shape_of(x)[0], the size as a Tensor, or "
                                 "trace for known sizes.";

TEST(FunctionSizes, AreNoNumbersWhereTheyAreNotKnown) {
  Variable open{ones({2}), {.shape = Shape{kUnknown}}};
  EXPECT_EQ(asked([](const Tensor& x) { return x; }), kRefused);
  EXPECT_EQ(asked([](const Tensor& x) { return x * 2; }), kRefused);
  EXPECT_EQ(asked([&](const Tensor&) { return open.value(); }), kRefused);
  EXPECT_EQ(asked([](const Tensor&) {
    const Tensor known{1.f, 2.f, 3.f};
    return boolean_mask(known, known > 1.f);
  }), kRefused);
  EXPECT_EQ(asked([](const Tensor& x) { return cond(sum(x) > 0.f, [] { return ones({2}); }, [] { return ones({3}); }); }), kRefused);
  EXPECT_EQ(asked([](const Tensor& x) {
    return while_loop([](Tensor y) { return sum(y) < 10.f; }, [](Tensor y) { return concat({y, y}, 0); }, x);
  }), kRefused);
  EXPECT_EQ(asked([](const Tensor&) { return Tensor{2.f, 4.f}; }), "3.0");
}

// The size of a Variable in a body, as its handle tells it.
TEST(FunctionSizes, OfAVariableThatMayChangeAreNoNumbersEither) {
  Variable open{ones({2}), {.shape = Shape{kUnknown}}};
  Function f = [&] { return open.shape()[0]; };
  EXPECT_TEXT(ShapeError, f(), kRefused);
  EXPECT_EQ(open.shape()[0], 2);
}

TEST(FunctionSizes, CountNoTurnsOfALoopAndChooseNoBranch) {
  const FunctionOptions any{.signature = {Spec{f32, {kUnknown}}}};
  Function loop{[](Tensor x) {
    Tensor y = x[0];
    for (int i = 1; i < x.shape()[0]; ++i) y = y + x[i];
    return y;
  }, any};
  Function branch{[](Tensor x) { return x.shape()[0] > 2 ? sum(x) : -sum(x); }, any};
  Function slice{[](Tensor x) { return x(range(0, x.shape()[0])); }, any};
  for (Function<Tensor(Tensor)>* f : {&loop, &branch, &slice}) EXPECT_TEXT(ShapeError, (*f)(Tensor{1.f, 2.f, 3.f}), kRefused);
}

// As a Tensor a size is always there.
// SEMANTICS 116
TEST(FunctionSizes, AreTensors) {
  Function f{[](Tensor x) { return sum(x) / cast(shape_of(x)[0], f32); }, {.signature = {Spec{f32, {kUnknown}}}}};
  EXPECT_EQ(number(f(Tensor{1.f, 2.f, 6.f})), 3);
  EXPECT_EQ(number(f(Tensor{1.f, 3.f})), 2);
  EXPECT_EQ(f.explain().traced, 1u);
}

// SEMANTICS 106
TEST(FunctionSizes, ThatABodyNeedsAreKnownInSpiteOfReduceRetracing) {
  Function mean_of{[](Tensor x, bool exact) { return exact ? sum(x) / x.shape()[0] : mean(x); }, {.args = {"x", "exact"}, .reduce_retracing = true}};
  for (int size : {2, 3, 4, 3}) EXPECT_EQ(number(mean_of(ones({size}), true)), 1) << size;
  const std::string spite = std::string("; reduce_retracing leaves no size open here, for that could not be traced: ") + kRefused;
  const FunctionReport report = mean_of.explain();
  ASSERT_EQ(report.traces.size(), 3u);
  EXPECT_EQ(report.traces[1].cause, "argument 0 `x`: f32[2] -> f32[3]" + spite);
  EXPECT_EQ(report.traces[2].cause, "argument 0 `x`: f32[2] -> f32[4]" + spite);
  EXPECT_EQ(report.traces[2].arguments[0], "x f32[4]");
  for (int size : {5, 6, 7}) EXPECT_EQ(number(mean_of(ones({size}), false)), 1) << size;
  EXPECT_EQ(mean_of.explain().traced, 5u) << "those that need no sizes have one trace for all after the first";
}

TEST(FunctionSizes, ThatAreNeededInOtherWaysAreKnownToo) {
  Variable rows{zeros({4, 3})};
  Function scatter{[&](Tensor indices) { rows.scatter_nd_add(indices, 1.f); }, {.reduce_retracing = true}};
  scatter(Tensor{{0}, {1}}), scatter(Tensor{{0, 1}, {2, 2}, {3, 0}});
  EXPECT_EQ(number(sum(rows)), 9);
  Function first{[](Tensor x) { return Variable{zeros_like(x), {.shape = Shape{kUnknown}}}.assign(x).value(); }, {.reduce_retracing = true}};
  EXPECT_EQ(floats(first({1.f, 2.f})), (std::vector<float>{1, 2}));
  EXPECT_EQ(floats(first({1.f, 2.f, 3.f})), (std::vector<float>{1, 2, 3}));
}

// What is seen of an argument is looked up again, for it may have grown meanwhile.
TEST(FunctionSizes, AreTriedAgainWithArgumentsThatHaveGrown) {
  bool grows = false;
  Function f{[&](Growing& g, Tensor x) {
    if (grows && g.held.size() == 1) init_scope([&] {
      for (int i = 0; i < 100; ++i) g.held.push_back(Variable{2.f});
    });
    return sum(x) / x.shape()[0] + g.held.front() + g.held.back();
  }, {.reduce_retracing = true}};
  Growing given{std::make_unique<int>(1), {}};
  given.held.push_back(Variable{1.f});
  EXPECT_EQ(number(f(given, ones({2}))), 3);
  grows = true;
  EXPECT_EQ(number(f(given, ones({3}))), 4);
}

// A size may be known once it is known which Variable was passed.
TEST(FunctionSizes, OfACapturedVariableAreThoseThatWereWritten) {
  Variable w{ones({2}), {.shape = Shape{kUnknown}}};
  Function f = [&](Variable& p) {
    w.assign(ones({3}));
    Tensor total = p.value()[0];
    for (int i = 1; i < p.value().shape()[0]; ++i) total = total + p.value()[i];
    return total;
  };
  EXPECT_EQ(number(f(w)), 3);
}

TEST(FunctionSizes, OfOpenVariablesAreRefusedWhereARuleNeedsThem) {
  Variable w{ones({10, 3}), {.shape = Shape{kUnknown, 3}}};
  Muon muon;
  Function step = [&] { muon.apply(std::vector<Tensor>{ones({10, 3})}, std::vector<Variable>{w}); };
  EXPECT_THROW(step(), ShapeError);
  EXPECT_EQ(w.version(), 0u);
  Generator g(1);
  Function shuffled{[&](Tensor x) { return g.shuffle(x); }, {.signature = {Spec{f32, {kUnknown}}}}};
  EXPECT_TEXT(ShapeError, shuffled(ones({3})), kRefused);
}

// Only what may come of sizes is tried again.
TEST(FunctionSizes, AreNotBlamedForOtherErrors) {
  int runs = 0;
  Function f{[&](Tensor x) {
    if (++runs == 2) throw StateError("body", "not now.", {});
    return sum(x);
  }, {.reduce_retracing = true}};
  f(ones({2}));
  EXPECT_TEXT(StateError, f(ones({3})), "body: not now.");
  EXPECT_EQ(number(f(ones({3}))), 3);
  EXPECT_EQ(number(f(ones({4}))), 4);
  EXPECT_EQ(f.explain().traced, 2u);
  std::function<Tensor(Tensor)> call = [](Tensor x) { return x; };
  Function deeper{[&](Tensor x) { return call(x); }, {.reduce_retracing = true}};
  deeper(ones({2}));
  int size = 3;
  call = [&](Tensor) { return deeper(ones({++size})); };
  EXPECT_THROW(deeper(ones({3})), TraceError) << "which ends";
}

// What is wrong for the sizes at hand is said of them, and says nothing of the body.
TEST(FunctionSizes, ThatAreWrongAreSaidAsTheyAre) {
  Function f{[](Tensor x) { return reshape(x, {3}) + ones({3}); }, {.reduce_retracing = true}};
  f(ones({3}));
  EXPECT_THROW(f(ones({4})), ShapeError);
  f(ones({3, 1}));
  EXPECT_EQ(number(sum(f(ones({1, 3})))), 6);
  EXPECT_EQ(f.explain().traces.back().arguments[0], "arg0 f32[?,?]");
}

}  // namespace
}  // namespace weft::test
