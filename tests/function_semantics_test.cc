// What Functions mean where a short program shows it, and what a C++ program cannot even say. tests/must_not_compile/function.cc has the
// words in which a compiler refuses the latter.
#include <functional>
#include <type_traits>

#include <gtest/gtest.h>

#include "state/slot.h"
#include "tests/function_types.h"

namespace weft::test {
namespace {

using Unary = Function<Tensor(Tensor)>;

// --- what can be traced ---

Tensor doubled(Tensor x) { return x * 2; }

struct Scaler {
  Variable factor{2.f};
  Tensor scaled(Tensor x) const { return x * factor; }
  Tensor operator()(Tensor x) const { return scaled(std::move(x)); }
};

// SEMANTICS 92
TEST(FunctionSemantics, OnlyWhatCanBeCalledIsTraced) {
  EXPECT_TRUE((std::is_constructible_v<Unary, decltype(&doubled)>));
  EXPECT_FALSE((std::is_constructible_v<Unary, int>));
  EXPECT_FALSE((std::is_constructible_v<Unary, Tensor>));
  EXPECT_FALSE((std::is_constructible_v<Unary, Variable>));
  EXPECT_FALSE((std::is_constructible_v<Unary, std::string>));
}

// SEMANTICS 112
TEST(FunctionSemantics, LambdasMembersAndBoundFunctionsAreTraced) {
  Scaler scaler;
  const float by = 3;
  Function lambda = [by](Tensor x) { return x * by; };
  Function pointer = &doubled;
  Function object = scaler;
  Function wrapped = std::function<Tensor(Tensor)>(doubled);
  const Unary member = std::bind_front(&Scaler::scaled, &scaler);
  const Unary bound = std::bind(&Scaler::scaled, &scaler, std::placeholders::_1);
  EXPECT_EQ(number(lambda(2.f)), 6);
  for (const Unary& f : {Unary(pointer), Unary(object), Unary(wrapped), member, bound}) {
    EXPECT_EQ(number(f(2.f)), 4);
    EXPECT_EQ(number(f(5.f)), 10);
    EXPECT_EQ(f.explain().traced, 1u);
  }
  scaler.factor.assign(10.f);
  EXPECT_EQ(number(object(2.f)), 20) << "a copy of the object shares its Variable";
}

// SEMANTICS 94
// PAIN 4
TEST(FunctionSemantics, ABodyThatMakesVariablesRunsOnce) {
  int runs = 0;
  Function count = [&](Tensor x) {
    ++runs;
    Variable seen{0.f};
    return seen.assign_add(x).value();
  };
  EXPECT_EQ(number(count(1.f)), 1);
  EXPECT_EQ(number(count(1.f)), 2);
  EXPECT_EQ(runs, 1);
}

// SEMANTICS 140: on numbers and sizes of arguments; tests/function_body_test.cc has what is said of values that each call makes anew
TEST(FunctionSemantics, TheFirstValueOfAVariableMayComeFromArguments) {
  Function running = [](Tensor x, float start) {
    Variable total{init_scope([&] { return fill(x.shape(), start); })};
    return total.assign_add(x).value();
  };
  EXPECT_EQ(floats(running({1.f, 2.f}, 10.f)), (std::vector<float>{11, 12}));
  EXPECT_EQ(floats(running({1.f, 2.f}, 10.f)), (std::vector<float>{12, 14}));
}

// SEMANTICS 139, 140: and on what ops make of numbers and sizes
TEST(FunctionSemantics, TheFirstValueOfAVariableMayBeComputed) {
  struct Layer {
    Variable weight, bias;
    WEFT_FIELDS(weight, bias)
    Layer(int in, int out) : weight{eye(in, {.columns = out}) * 2 + reshape(linspace(0.f, 1.f, in * out), {in, out})}, bias{zeros({out})} {}
  };
  std::optional<Layer> layer;
  Function f = [&](Tensor x) {
    if (!layer) layer.emplace(2, 2);
    Variable calls{zeros_like(x(0, 0))};
    layer->bias.assign_add(ones_like(layer->bias.value()));
    return matmul(x, layer->weight) + layer->bias + calls.assign_add(1.f);
  };
  const Tensor x = eye(2);
  const Tensor kernel{{2.f, 1.f / 3}, {2.f / 3, 3.f}};
  for (float n : {1.f, 2.f, 3.f}) EXPECT_LT(number(max(abs(f(x) - kernel - 2 * n))), 1e-6f) << n;
  EXPECT_EQ(floats(layer->bias.value()), (std::vector<float>{3, 3}));
  EXPECT_EQ(f.explain().traced, 1u);

  Function g = [](Tensor way) {
    const Tensor two = ones({2}) * 2;
    return cond(way > 0.f, [&] { return Variable{zeros({2}) + 1}.assign_add(two).value(); }, [&] { return two; });
  };
  EXPECT_EQ(floats(g(1.f)), (std::vector<float>{3, 3}));
  EXPECT_EQ(floats(g(1.f)), (std::vector<float>{5, 5}));
}

// --- which trace ---

// SEMANTICS 98
TEST(FunctionSemantics, OneAndOnePointZeroAndTrueAreThreeKeys) {
  Function f{[](Tensor x) { return x; }, {.args = {"x"}}};
  EXPECT_EQ(f(1).dtype(), i32);
  EXPECT_EQ(f(1.f).dtype(), f32);
  EXPECT_EQ(f(true).dtype(), bool_);
  const FunctionReport report = f.explain();
  ASSERT_EQ(report.traced, 3u);
  EXPECT_EQ(report.traces[0].arguments[0], "x i32[]");
  EXPECT_EQ(report.traces[1].arguments[0], "x f32[]");
  EXPECT_EQ(report.traces[2].arguments[0], "x bool[]");
}

enum class Mode { kPlus, kMinus };
struct Setting {
  std::string first, second;
  Mode mode = Mode::kPlus;
  std::map<std::string, int> weights = {};
};

// SEMANTICS 101
TEST(FunctionSemantics, ArgumentsThatDifferShareNoTrace) {
  int runs = 0;
  Function f = [&](const Setting& s) {
    ++runs;
    int sum = 0;
    for (const auto& [key, weight] : s.weights) sum += weight * static_cast<int>(key.size());
    return Tensor(static_cast<int>(s.first.size()) * 100 + sum) * (s.mode == Mode::kPlus ? 1 : -1);
  };
  const auto call = [&](const Setting& s) { return f(s).item<std::int32_t>(); };
  EXPECT_EQ(call({"ab", "c"}), 200);
  EXPECT_EQ(call({"a", "bc"}), 100) << "the same characters";
  EXPECT_EQ(call({"ab", "c", Mode::kMinus}), -200);
  EXPECT_EQ(call({"ab", "c", Mode::kPlus, {{"k", 1}, {"key", 2}}}), 207);
  EXPECT_EQ(call({"ab", "c", Mode::kPlus, {{"k", 2}, {"key", 1}}}), 205) << "the same numbers";
  EXPECT_EQ(runs, 5);
  EXPECT_EQ(call({"ab", "c"}), 200) << "an equal object is the same kind";
  EXPECT_EQ(runs, 5);
}

// SEMANTICS 104
TEST(FunctionSemantics, TheMostSpecialTraceIsUsed) {
  Function f{[](Tensor x) { return sum(x); }, {.reduce_retracing = true}};
  f(ones({2, 3})), f(ones({5, 3}));  // f32[2,3], then f32[?,3]
  f(ones({2, 3})), f(ones({2, 3})), f(ones({7, 3}));
  const FunctionReport report = f.explain();
  ASSERT_EQ(report.traces.size(), 2u);
  EXPECT_EQ(report.traces[0].calls, 3u);
  EXPECT_EQ(report.traces[1].calls, 2u);
}

// SEMANTICS 109
// PAIN 5
TEST(FunctionSemantics, TracingAgainAndAgainIsSaidTwiceAtMost) {
  Function f{[](Tensor x, int n) { return x * n; }, {.name = "f", .args = {"x", "n"}}};
  const auto said = [&](const auto& calls) {
    testing::internal::CaptureStderr();
    calls();
    return testing::internal::GetCapturedStderr();
  };
  const auto grow = [&](int from, int to) {
    for (int n = from; n < to; ++n) f(ones({n}), 3);
  };
  const std::string text = "weft: f was traced anew 5 times in its last 10 calls, last because argument 0 `x`: f32[{}] -> f32[{}]; "
                           "explain() lists all causes, signature and reduce_retracing keep one trace for many shapes.\n";
  EXPECT_EQ(said([&] { grow(1, 6); }), "") << "a first trace and four others";
  EXPECT_EQ(said([&] { grow(6, 11); }), format(text, 1, 6));
  EXPECT_EQ(said([&] { grow(11, 12); }), format(text, 1, 11));
  EXPECT_EQ(said([&] { grow(12, 40); }), "");

  Function seldom = [](Tensor x, int n) { return x * n; };
  EXPECT_EQ(said([&] {
              for (int n = 0; n < 20; ++n)
                for (int i = 0; i < 3; ++i) seldom(1.f, n);
            }), "") << "one in three calls";
  Function asked = [](Tensor x) { return x; };
  EXPECT_EQ(said([&] {
              for (int n = 0; n < 20; ++n) asked.trace(Spec{f32, {n}});
            }), "") << "no call is traced";
  std::function<Tensor(Tensor, int)> self;
  Function power = [&](Tensor x, int n) -> Tensor { return n == 0 ? ones_like(x) : x * self(x, n - 1); };
  self = [&](Tensor x, int n) { return power(x, n); };
  EXPECT_EQ(said([&] { power(2.f, 3), power(2.f, 15); }), "") << "calls that need them all";
}

struct Cell {
  Variable factor{1.f};
  int runs = 0;
  Function<Tensor(Tensor)> call = [this](Tensor x) {
    ++runs;
    return x * factor;
  };
};

// SEMANTICS 107
TEST(FunctionSemantics, ObjectsOfOneClassHaveTracesOfTheirOwn) {
  Cell a, b;
  b.factor.assign(5.f);
  EXPECT_EQ(number(a.call(2.f)), 2);
  EXPECT_EQ(b.call.explain().traced, 0u);
  EXPECT_EQ(number(b.call(2.f)), 10);
  EXPECT_EQ(a.runs, 1);
  EXPECT_EQ(b.runs, 1);
}

// --- signatures ---

// SEMANTICS 114, 115
TEST(FunctionSemantics, ASignatureIsMadeOfSpecsOfTensors) {
  using Entry = decltype(FunctionOptions::signature)::value_type;
  EXPECT_TRUE((std::is_same_v<Entry, Spec>));
  EXPECT_FALSE((std::is_convertible_v<int, Spec>));
  EXPECT_FALSE((std::is_convertible_v<Tensor, Spec>));
  EXPECT_FALSE((std::is_convertible_v<Variable, Spec>));

  Function add{[](Variable& to, Tensor x) { to.assign_add(x); }, {.name = "add", .signature = {Spec{f32, {}}}}};
  Variable v{1.f};
  add(v, 2);
  EXPECT_EQ(number(v), 3) << "the Spec is that of the Tensor; a Variable needs none";
  Function both{[](Variable& to, Tensor x) { to.assign_add(x); }, {.name = "both", .signature = {Spec{f32, {}}, Spec{f32, {}}}}};
  EXPECT_TEXT(TraceError, both(v, 2.f), "both: the arguments hold 1 Tensor, `arg1`, and the signature has 2 Specs; give one Spec for each Tensor, and none for `arg0`.");
}

// SEMANTICS 118
TEST(FunctionSemantics, TooManyAndTooFewArgumentsAreRefused) {
  EXPECT_TRUE((std::is_invocable_v<Unary, Tensor>));
  EXPECT_FALSE((std::is_invocable_v<Unary>));
  EXPECT_FALSE((std::is_invocable_v<Unary, Tensor, Tensor>));
  Function f{[](std::vector<Tensor> x) { return x[0]; }, {.name = "f", .signature = {Spec{f32, {}}}}};
  EXPECT_EQ(number(f({2.f})), 2);
  EXPECT_TEXT(TraceError, f({2.f, 3.f}), "f: the arguments hold 2 Tensors, `arg0.0`, `arg0.1`, and the signature has 1 Spec; give one Spec for each Tensor.");
  EXPECT_TEXT(TraceError, f({}), "f: the arguments hold 0 Tensors and the signature has 1 Spec; give one Spec for each Tensor.");
}

// SEMANTICS 123
TEST(FunctionSemantics, SizesThatAreNotKnownYetAreCheckedWhenTheyAre) {
  int runs = 0;
  Function f{[&](Tensor x) { ++runs; return sum(x) / x.shape()[0]; }, {.name = "f", .args = {"x"}, .signature = {Spec{f32, {2, 3}}}}};
  const ConcreteFunction only = f.trace(Spec{f32, {kUnknown, 3}});
  EXPECT_EQ(only.str(), "f(x f32[2,3]) -> f32[]") << "the signature decides";
  for (const bool single : {false, true}) {
    Function outer{[&](Tensor x) { return single ? only(x) : f(x); }, {.signature = {Spec{f32, {kUnknown, 3}}}, .strict = true}};
    EXPECT_EQ(number(outer(ones({2, 3}))), 3);
    EXPECT_THROW(outer(ones({4, 3})), ShapeError) << "the body has divided by 2";
    EXPECT_EQ(number(outer(fill({2, 3}, 2.f))), 6);
    Function loose{[&](Tensor x) { return single ? only(x) : f(x); }, {.signature = {Spec{f32, {kUnknown, kUnknown}}}}};
    EXPECT_EQ(number(loose(ones({2, 3}))), 3);
    const std::string says = single ? "trace takes" : "signature says";
    EXPECT_TEXT(CheckError, loose(ones({3, 2})),
                "check: f: argument 0 `x` is f32[?,?] and the " + says + " f32[2,3]; these sizes differ.");
    const Tensor x = ones({2, 3});
    GradientTape tape;
    tape.watch(x);
    EXPECT_EQ(floats(tape.gradient(loose(x), x)), std::vector<float>(6, 0.5f));
    Function wrong{[&](Tensor y) { return single ? only(y) : f(y); }, {.signature = {Spec{f32, {kUnknown, 4}}}}};
    EXPECT_THROW(wrong(ones({2, 4})), TraceError) << "while it is traced";
  }
  EXPECT_EQ(runs, 1);
}

struct PowerByDefault {
  Tensor operator()(Tensor x, int n = 2) const { return pow(x, static_cast<float>(n)); }
};
struct Power {
  Tensor operator()(Tensor x, int n) const { return pow(x, static_cast<float>(n)); }
};

// SEMANTICS 120, 121
TEST(FunctionSemantics, AParameterThatIsLeftOutHasADefaultAndKeepsIt) {
  EXPECT_FALSE((std::is_constructible_v<Unary, Power>));
  const Unary squared{PowerByDefault(), {.signature = {Spec{f32, {}}}}};
  EXPECT_EQ(number(squared(3.f)), 9);
  EXPECT_EQ(number(squared(4)), 16);
  EXPECT_EQ(squared.explain().traced, 1u);
  EXPECT_FALSE((std::is_invocable_v<Unary, Tensor, int>)) << "what has been left out cannot be given";
  const Function<Tensor(Tensor, int)> any{PowerByDefault(), {}};
  EXPECT_EQ(number(any(3.f, 3)), 27);
}

// SEMANTICS 126
TEST(FunctionSemantics, ArgumentsHaveNamesOfTheirOwn) {
  const auto body = [](Tensor x, Pair p, Tensor y) { return x + p.a + p.b + y; };
  Function f{body, {.args = {"x", "p"}}};
  f(1.f, Pair{2.f, 3.f}, 4.f);
  EXPECT_EQ(f.explain().traces[0].arguments, (std::vector<std::string>{"x f32[]", "p.a f32[]", "p.b f32[]", "p.more holds 0 elements",
                                                                      "p.maybe nothing", "arg2 f32[]"}));
  EXPECT_TEXT(ValueError, (Function{body, {.args = {"x", "y", "x"}}}),
              "Function: args has the name \"x\" for argument 0 and for argument 2; give each a name of its own.");
  EXPECT_TEXT(ValueError, (Function{body, {.args = {"x", "y", "z", "u"}}}),
              "Function: args has 4 names and the body takes 3; name each argument once.");
}

// --- captures ---

// SEMANTICS 113, 136
// PAIN 10
TEST(FunctionSemantics, AFunctionKeepsWhatItUsesAndLeavesNothing) {
  const auto resource = std::make_shared<int>(3);
  std::weak_ptr<Slot> slot, made;
  {
    std::optional<Function<Tensor(Tensor)>> f;
    {
      Variable v{2.f};
      slot = v.slot();
      f.emplace([v, resource, &made](Tensor x) {
        Variable inside{1.f};
        made = inside.slot();
        return x * v * *resource + inside;
      });
      EXPECT_EQ(number((*f)(1.f)), 7);
    }
    EXPECT_EQ(number((*f)(2.f)), 13) << "the Variable has no other handle";
    EXPECT_FALSE(slot.expired());
    EXPECT_FALSE(made.expired());
    {
      GradientTape tape;
      const Tensor x = fill({}, 2.f);
      tape.watch(x);
      EXPECT_EQ(number(tape.gradient((*f)(x), x)), 6);
    }
    Function outer = [&](Tensor x) { return (*f)(x) * 2; };
    EXPECT_EQ(number(outer(2.f)), 26);
    const Unary copy = *f;
    f.reset();
    EXPECT_EQ(number(copy(3.f)), 19);
    EXPECT_FALSE(slot.expired());
  }
  EXPECT_TRUE(slot.expired());
  EXPECT_TRUE(made.expired());
  EXPECT_EQ(resource.use_count(), 1);
}

// SEMANTICS 133
TEST(FunctionSemantics, CapturedTensorsOfAnySizeAreListedAsSuch) {
  const Tensor small = fill({}, 2.f), large = ones({1000});
  Function f = [&](Tensor x) { return sum(x * small * large) + 3; };
  EXPECT_EQ(number(f(1.f)), 2003);
  const std::vector<FunctionReport::Constant> frozen = f.explain().traces[0].constants;
  ASSERT_EQ(frozen.size(), 3u);
  EXPECT_EQ(frozen[0].value, "2.0");
  EXPECT_FALSE(frozen[0].literal);
  EXPECT_EQ(frozen[1].value, "f32[1000]");
  EXPECT_FALSE(frozen[1].literal);
  EXPECT_EQ(frozen[2].value, "3.0");
  EXPECT_TRUE(frozen[2].literal);
  Function strict{[&](Tensor x) { return x * small; }, {.strict = true}};
  EXPECT_THROW(strict(1.f), TraceError);
}

// --- results ---

// SEMANTICS 153
TEST(FunctionSemantics, WhatCannotBeFilledAnewIsNoResult) {
  struct Shared {
    std::shared_ptr<Tensor> value;
  };
  Function f{[](Tensor x) { return Shared{std::make_shared<Tensor>(x * 2)}; }, {.name = "f"}};
  EXPECT_TEXT(TraceError, f(1.f),
              "f: the result holds a Tensor behind a pointer, which the results of all calls would share; return it by value.");
  Function g{[](Variable& v) { return std::make_shared<Variable>(v); }, {.name = "g"}};
  Variable v{1.f};
  EXPECT_TEXT(TraceError, g(v),
              "g: the result holds a Variable of an argument behind a pointer, which the results of all calls would share; return it "
              "by value.");
  EXPECT_EQ(f.explain().traced + g.explain().traced, 0u);
}

}  // namespace
}  // namespace weft::test
