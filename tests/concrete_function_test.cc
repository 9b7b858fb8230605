#include <gtest/gtest.h>

#include "tests/function_types.h"

namespace weft::test {
namespace {

const Spec kScalar{f32, {}};
const Spec kAnyVector{f32, {kUnknown}};
Spec vector_of(int n) { return {f32, {n}}; }

// --- making and finding ---

TEST(ConcreteFunction, IsTracedAndNotRun) {
  Variable total{1.f};
  int runs = 0;
  Function add = [&](Tensor x) {
    ++runs;
    return total.assign_add(x).value();
  };
  const ConcreteFunction only = add.trace(kScalar);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(total.version(), 0u);
  EXPECT_EQ(number(only(2.f)), 3);
  EXPECT_EQ(number(only(2.f)), 5);
  EXPECT_EQ(number(total), 5);
  EXPECT_EQ(runs, 1);
}

// SEMANTICS 105
TEST(ConcreteFunction, ASpecSelectsTheTraceOfATensorLikeIt) {
  int runs = 0;
  Function f = [&](Tensor x, int n) { ++runs; return x * n; };
  f.trace(vector_of(2), 3);
  f(ones({2}), 3);
  EXPECT_EQ(runs, 1);
  f(ones({4}), 3);
  f.trace(vector_of(4), 3);
  EXPECT_EQ(runs, 2);
  f.trace(kAnyVector, 3);
  EXPECT_EQ(runs, 3) << "a size that is not known is another kind";
  EXPECT_EQ(floats(f(ones({5}), 3)), (std::vector<float>(5, 3)));
  f.trace(vector_of(6), 3);
  EXPECT_EQ(runs, 3) << "which takes all sizes";
}

// SEMANTICS 104: whichever is made first, and also if the arguments are not Tensors alone
TEST(ConcreteFunction, OfTwoThatFitTheOneWithFewerUnknownSizesIsUsed) {
  const Spec one{f32, {2, kUnknown, kUnknown}}, other{f32, {kUnknown, 3, 4}};
  for (const bool special_first : {false, true}) {
    Function f = [](Tensor x, bool) { return sum(x); };
    Function g = [](Tensor x) { return sum(x); };
    for (const Spec& spec : special_first ? std::vector{other, one} : std::vector{one, other}) f.trace(spec, true), g.trace(spec);
    f(ones({2, 3, 4}), true), g(ones({2, 3, 4}));
    EXPECT_EQ(f.trace(other, true).explain().calls, 1u);
    EXPECT_EQ(f.trace(one, true).explain().calls, 0u);
    EXPECT_EQ(g.trace(other).explain().calls, 1u);
    EXPECT_EQ(g.trace(one).explain().calls, 0u);
    EXPECT_EQ(f.explain().traced, 2u);
  }
}

TEST(ConcreteFunction, StructsVariablesAndReferencesAreGivenAsThemselves) {
  Function f = [](Pair& p, Variable& v, Tensor& x) {
    v.assign_add(p.a);
    p.b = p.a * 2;
    x = x + 1;
  };
  Pair p{1.f, 0.f};
  Variable v{10.f}, w{20.f};
  const ConcreteFunction only = f.trace(p, v, kAnyVector);
  EXPECT_EQ(number(p.b), 0);
  Tensor x{1.f, 2.f};
  only(p, v, x);
  EXPECT_EQ(number(p.b), 2);
  EXPECT_EQ(number(v), 11);
  EXPECT_EQ(floats(x), (std::vector<float>{2, 3}));
  only(p, w, x);
  EXPECT_EQ(number(w), 21) << "which Variable is passed does not matter";
  EXPECT_EQ(f.explain().traced, 1u);
}

TEST(ConcreteFunction, ASignatureHoldsAndIsWhatItTakes) {
  Function f{[](Tensor x) { return sum(x); }, {.name = "f", .args = {"x"}, .signature = {Spec{f32, {kUnknown, 2}}}}};
  const ConcreteFunction only = f.trace(Spec{f32, {3, 2}});
  EXPECT_EQ(only.str(), "f(x f32[?,2]) -> f32[]");
  EXPECT_EQ(number(only(ones({5, 2}))), 10);
  EXPECT_TEXT(TraceError, f.trace(Spec{f32, {3, 3}}),
              "f: argument 0 `x` is f32[3,3] and the signature says f32[?,2]; the sizes must be known and agree where they are declared.");
}

TEST(ConcreteFunction, IsKeptWhenTheFunctionForgetsItsTrace) {
  int runs = 0;
  std::optional<ConcreteFunction<Tensor(Tensor, int)>> only;
  {
    Function f{[&](Tensor x, int n) { ++runs; return x * n; }, {.max_traces = 1}};
    only = f.trace(kScalar, 2);
    f(1.f, 3);
    EXPECT_EQ(f.explain().traces.size(), 1u);
  }
  EXPECT_EQ(number((*only)(4.f, 2)), 8);
  EXPECT_EQ(runs, 2);
}

TEST(ConcreteFunction, AnErrorOfTheBodyLeavesNothing) {
  Function f = [](Tensor x) { return x + ones({3}); };
  EXPECT_THROW(f.trace(vector_of(2)), ShapeError);
  EXPECT_EQ(f.explain().traced, 0u);
  EXPECT_EQ(floats(f.trace(kAnyVector)(ones({3}))), (std::vector<float>{2, 2, 2}));
}

// --- calls ---

// SEMANTICS 124
TEST(ConcreteFunction, TakesArgumentsOrTheListOfTheirTensors) {
  Variable offset{1.f};
  Function f{[&](Pair& p, float by, Tensor x) {
               p.a = p.a + 1;
               return std::tuple((p.a + p.b) * by + offset, x);
             },
             {.name = "f", .args = {"p", "by", "x"}}};
  Pair p{1.f, 2.f};
  const ConcreteFunction only = f.trace(p, 10.f, kAnyVector);
  const auto [sum, same] = only(p, 10.f, {5.f, 6.f});
  EXPECT_EQ(number(sum), 41);
  EXPECT_EQ(number(p.a), 2);
  const std::vector<Tensor> flat = only.call_flat({2.f, 2.f, Tensor{7.f}});
  ASSERT_EQ(flat.size(), 3u);
  EXPECT_EQ(number(flat[0]), 51);
  EXPECT_EQ(floats(flat[1]), std::vector<float>{7});
  EXPECT_EQ(number(flat[2]), 3) << "what has become of p.a";
  EXPECT_TEXT(TraceError, only.call_flat({1.f}), "f: 1 Tensors are given and the trace takes 3; give those of the arguments in order.");
  EXPECT_TEXT(TraceError, only.call_flat({1.f, ones({2}), ones({2})}),
              "f: argument 0 `p.b` is f32[2] and the trace takes f32[]; the sizes must be known and agree where they are declared.");
  Function g{[](Variable& v, Tensor x) { return v.value() + x; }, {.name = "g"}};
  EXPECT_TEXT(TraceError, g.trace(offset, kScalar).call_flat({1.f}),
              "g: an argument holds a Variable, which a list of Tensors does not; call it with the arguments.");
}

// SEMANTICS 125
TEST(ConcreteFunction, HostArgumentsAreFixed) {
  Function f{[](Tensor x, int n, std::vector<Tensor> more) { return x * n + static_cast<int>(more.size()); },
             {.name = "f", .args = {"x", "n", "more"}}};
  const ConcreteFunction only = f.trace(kScalar, 5, {});
  EXPECT_EQ(number(only(2.f, 5, {})), 10);
  EXPECT_TEXT(TraceError, only(2.f, 8, {}), "f: argument 1 `n` is 8 and the trace takes 5; call the Function itself for another kind.");
  EXPECT_TEXT(TraceError, only(2.f, 5, {1.f}),
              "f: argument 2 `more` is holds 1 elements and the trace takes holds 0 elements; call the Function itself for another kind.");
  EXPECT_TEXT(TraceError, only(Tensor(), 5, {}),
              "f: argument 0 `x` is undefined and the trace takes f32[]; call the Function itself for another kind.");
  EXPECT_EQ(f.explain().traced, 1u);
}

// SEMANTICS 127
TEST(ConcreteFunction, AnotherSpecIsRefusedWhereverItIsCalled) {
  Function f{[](Tensor x, Tensor y) { return sum(x) + y; }, {.name = "f", .args = {"x", "y"}}};
  const ConcreteFunction only = f.trace(Spec{f32, {kUnknown, 2}}, kScalar);
  EXPECT_EQ(number(only(ones({3, 2}), 1)), 7) << "a number takes the dtype";
  const std::string shape =
      "f: argument 0 `x` is f32[3,3] and the trace takes f32[?,2]; the sizes must be known and agree where they are declared.";
  const std::string dtype = "f: argument 1 `y` is i32[1] and the trace takes f32[]; the dtypes must agree, cast it.";
  Function outer = [&](Tensor x, Tensor y) { return only(x, y); };
  EXPECT_EQ(number(outer(ones({3, 2}), 1.f)), 7);
  for (const bool traced : {false, true}) {
    const auto call = [&](Tensor x, Tensor y) { return traced ? outer(x, y) : only(x, y); };
    EXPECT_TEXT(TraceError, call(ones({3, 3}), 1.f), shape);
    EXPECT_TEXT(TraceError, call(ones({3, 2}), Tensor({1})), dtype);
  }
  const std::string number_text = "f: argument 1 `y` is bool[] and the trace takes f32[]; the dtypes must agree, cast it.";
  EXPECT_TEXT(TraceError, only(ones({3, 2}), equal(ones({}), 1.f)), number_text);
}

TEST(ConcreteFunction, OtherAliasesAreRefused) {
  Variable held{0.f, {.name = "held"}}, a{0.f}, b{0.f};
  Function f{[&](Variable& x, Variable& y) { held.assign_add(x.value() + y.value()); }, {.name = "f"}};
  const ConcreteFunction only = f.trace(a, b);
  const auto text = [](const std::string& sentence) { return "f: argument " + sentence + "; call the Function itself for another kind."; };
  Variable fixed{0.f, {.trainable = false}};
  only(b, a);
  EXPECT_TEXT(TraceError, only(a, a), text("1 `arg1` is the same as argument 0 `arg0` and the trace takes a Variable of its own"));
  EXPECT_TEXT(TraceError, only(held, a),
              text("0 `arg0` is the Variable that the body captures (Variable \"held\") and the trace takes a Variable of its own"));
  EXPECT_TEXT(TraceError, only(a, fixed), text("1 `arg1` is a Variable that is not trainable and the trace takes a trainable Variable"));
  EXPECT_TEXT(TraceError, f.trace(a, a)(a, b), text("1 `arg1` is a Variable of its own and the trace takes the same as argument 0 `arg0`"));
  Adam adam;
  Function step{[&](Weight& net) { train(adam, net); }, {.name = "step"}};
  Weight net, another;
  const ConcreteFunction training = step.trace(net);
  training(net);
  EXPECT_TEXT(TraceError, training(another),
              "step: the body looks at which Variables it is given, and other ones are passed; call the Function itself for another kind.");
}

TEST(ConcreteFunction, ATapeSeesThroughIt) {
  Variable w{2.f};
  Function f = [&](Tensor x) { return x * w * w; };
  const ConcreteFunction only = f.trace(kScalar);
  for (const bool flat : {false, true}) {
    GradientTape tape;
    const Tensor y = flat ? only.call_flat({3.f})[0] : only(3.f);
    EXPECT_EQ(number(tape.gradient(y, w)), 12);
  }
  Function own{[](Tensor x) { return prevent_gradient(x * 2, "no gradient here"); }, {.name = "own"}};
  const ConcreteFunction given = own.trace(kScalar);
  const Tensor x = fill({}, 3.f);
  EXPECT_EQ(number(given.call_flat({x})[0]), 6);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = given(x);
  EXPECT_TEXT(TraceError, given.call_flat({x}),
              "own: a tape is to see gradients that the body gives, which needs the body; call it with the arguments.");
  EXPECT_TEXT(GradientError, tape.gradient(y, x), "prevent_gradient: no gradient here");
}

TEST(ConcreteFunction, EagerlyItDoesTheSame) {
  int runs = 0;
  Function f{[&](Tensor x) { ++runs; return x * 2; }, {.name = "f", .run_eagerly = true}};
  const ConcreteFunction only = f.trace(kScalar);
  EXPECT_EQ(number(only(3.f)), 6);
  EXPECT_EQ(number(f(3.f)), 6);
  EXPECT_EQ(runs, 3);
  EXPECT_THROW(only(ones({2})), TraceError);
}

// --- what it shows ---

// SEMANTICS 128
TEST(ConcreteFunction, ShowsItsVariablesCapturesAndTypes) {
  Variable weight{ones({2}), {.name = "weight"}}, count{0, {.name = "count", .trainable = false}}, passed{1.f};
  const Tensor table{1.f, 2.f};
  Function f = [&](Tensor x, Variable& p) {
    count.assign_add(1);
    return std::tuple(x * weight + table * p, x.shape().known() ? 2 : 1, sum(x));
  };
  const ConcreteFunction only = f.trace(Spec{f32, {kUnknown, 2}}, passed);
  const std::vector<Variable> held = only.variables();
  ASSERT_EQ(held.size(), 2u);
  EXPECT_TRUE(held[0].same_slot(weight));
  EXPECT_TRUE(held[1].same_slot(count));
  EXPECT_EQ(trainable_variables(held).size(), 1u);
  EXPECT_EQ(only.inputs(), (std::vector<Spec>{{f32, {kUnknown, 2}}}));
  EXPECT_EQ(only.outputs(), (std::vector<Spec>{{f32, {kUnknown, 2}}, kScalar}));
  const FunctionReport::Trace report = only.explain();
  EXPECT_EQ(report.writes, std::vector<std::string>{"Variable \"count\""});
  EXPECT_EQ(report.constants[0].literal, true);
  EXPECT_EQ(report.constants[1].value, table.str());
  EXPECT_EQ(report.calls, 0u);
}

// SEMANTICS 129
TEST(ConcreteFunction, PrintsItsSignature) {
  Function step{[](Tensor x, Tensor y) { return mean(x) + cast(sum(y), f32); }, {.name = "step", .args = {"x", "y"}}};
  EXPECT_EQ(format("{}", step.trace(Spec{f32, {kUnknown, 10}}, Spec{i32, {kUnknown}})), "step(x f32[?,10], y i32[?]) -> f32[]");
  EXPECT_EQ(step.trace(vector_of(3), vector_of(2)).str(), "step(x f32[3], y f32[2]) -> f32[]");
  Function none = [](Variable& v, int n) { v.assign_add(n); };
  Variable v{1};
  EXPECT_EQ(none.trace(v, 3).str(), "Function(arg0 Variable i32[], arg1 3) -> nothing");
  Function pair = [](Pair p) { return Pair{p.b, p.a}; };
  EXPECT_EQ(pair.trace({1.f, 2}).str(),
            "Function(arg0.a f32[], arg0.b i32[], arg0.more holds 0 elements, arg0.maybe nothing) -> (a i32[], b f32[])");
}

}  // namespace
}  // namespace weft::test
