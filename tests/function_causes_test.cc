// Why a call was traced anew: what differs from the closest trace, all of it, and nothing that the trace would have taken.
#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "tests/support.h"
#include <weft/weft.h>

namespace weft::test {
namespace {

std::string last_cause(const FunctionReport& report) { return report.traces.back().cause; }

const std::string kNoTensor = " (a host value that no Tensor holds; use few different ones, or a Function for each)";
constexpr const char* kScale = "argument 1 `scale`: 1 -> 2 (a host value; take it as Tensor to keep one trace)";

TEST(FunctionCauses, SizesThatASignatureLeavesOpenAreNone) {
  Function f{[](Tensor x, float scale) { return x * scale; }, {.args = {"x", "scale"}, .signature = {Spec{f32, {kUnknown, 2}}}}};
  f(ones({4, 2}), 1.f);
  f(ones({6, 2}), 2.f);
  EXPECT_EQ(last_cause(f.explain()), kScale);
  EXPECT_EQ(f.explain().traces[0].arguments[0], "x f32[?,2]");
}

TEST(FunctionCauses, NeitherAreThoseOfATraceThatWasAskedFor) {
  Function f{[](Tensor x, float scale) { return x * scale; }, {.args = {"x", "scale"}}};
  f.trace(Spec{f32, {kUnknown, 2}}, 1.f);
  f(ones({5, 2}), 2.f);
  EXPECT_EQ(last_cause(f.explain()), kScale);
  EXPECT_EQ(f.explain().traces[1].arguments[0], "x f32[5,2]");
}

TEST(FunctionCauses, NorThoseThatReducedRetracingHasOpened) {
  Function f{[](Tensor x, float scale) { return x * scale; }, {.args = {"x", "scale"}, .reduce_retracing = true}};
  f(ones({4, 2}), 1.f), f(ones({6, 2}), 1.f);
  EXPECT_EQ(last_cause(f.explain()), "argument 0 `x`: f32[4,2] -> f32[6,2]");
  EXPECT_EQ(f.explain().traces[1].arguments[0], "x f32[?,2]");
  f(ones({9, 2}), 2.f);
  EXPECT_EQ(last_cause(f.explain()), kScale);
}

TEST(FunctionCauses, ARefusedRetraceNamesWhatDiffers) {
  Function f{[](Tensor x, float scale) { return x * scale; },
             {.name = "f", .args = {"x", "scale"}, .signature = {Spec{f32, {kUnknown, 2}}}, .no_retrace = true}};
  f(ones({4, 2}), 1.f), f(ones({6, 2}), 1.f);
  try {
    f(ones({6, 2}), 2.f);
    ADD_FAILURE() << "traced";
  } catch (const TraceError& error) {
    EXPECT_EQ(error.message(), std::string("f: this call would be traced anew: ") + kScale +
                                   "; pass arguments of the kind traced first, or leave out no_retrace.");
  }
}

struct Mode {
  bool training = true;
  int level = 2;
  std::string kind = "a";
};

TEST(FunctionCauses, AllThatDiffersIsNamed) {
  Function f{[](Tensor x, Tensor y, Mode) { return x + y; }, {.args = {"x", "y", "mode"}}};
  f(ones({2}), ones({2}), {});
  f(ones({3}), ones({3}), {});
  EXPECT_EQ(last_cause(f.explain()), "argument 0 `x`: f32[2] -> f32[3], argument 1 `y`: f32[2] -> f32[3]");
  f(ones({4}), ones({4}), {.training = false, .level = 3});
  EXPECT_EQ(last_cause(f.explain()), "argument 0 `x`: f32[2] -> f32[4], argument 1 `y`: f32[2] -> f32[4], argument 2 `mode.training`: true -> false "
                                     "(a host value; take it as Tensor and branch by cond to keep one trace) and 1 more");
  f(ones({4}), ones({4}), {.training = false, .level = 3, .kind = "b"});
  EXPECT_EQ(last_cause(f.explain()), "argument 2 `mode.kind`: \"a\" -> \"b\"" + kNoTensor);
}

TEST(FunctionCauses, WhatWasForgottenIsSaidToBe) {
  Function f{[](Tensor x) { return x + 1; }, {.args = {"x"}, .max_traces = 2}};
  for (const int size : {1, 2, 3, 1}) f(ones({size}));
  EXPECT_EQ(f.explain().traced, 4u);
  EXPECT_EQ(last_cause(f.explain()), "there was a trace for it, which was forgotten when there were more than 2 (max_traces)");
  f(ones({4}));
  EXPECT_EQ(last_cause(f.explain()), "argument 0 `x`: f32[3] -> f32[4]");
}

TEST(FunctionCauses, AVariableThatIsAnotherArgumentNow) {
  Variable a{1.f}, b{1.f}, c{1.f};
  Function f{[](Variable x, Variable y, Variable z) { return x + y + z; }, {.args = {"x", "y", "z"}}};
  f(a, b, c), f(a, a, c);
  EXPECT_EQ(last_cause(f.explain()), "argument 1 `y`: a Variable of its own -> the same as argument 0 `x`") << "and nothing of z";
  f(a, a, a);
  EXPECT_EQ(last_cause(f.explain()), "argument 2 `z`: a Variable of its own -> the same as argument 0 `x`");
  f(c, a, a);
  EXPECT_EQ(last_cause(f.explain()), "argument 2 `z`: a Variable of its own -> the same as argument 1 `y`");
  f(b, c, a);
  EXPECT_EQ(f.explain().traced, 4u);

  Function g{[](Variable x, Variable y) { return x + y; }, {.args = {"x", "y"}}};
  g(a, a), g(a, b);
  EXPECT_EQ(last_cause(g.explain()), "argument 1 `y`: the same as argument 0 `x` -> a Variable of its own");
}

struct Pair {
  Variable left{1.f}, right{2.f};
};

TEST(FunctionCauses, PathsOfVariablesThatAreTheSame) {
  Pair apart, alike{.left = apart.left, .right = apart.left};
  Function f{[](Tensor x, const Pair& pair) { return x * pair.left + pair.right; }, {.args = {"x", "pair"}}};
  f(1.f, apart), f(1.f, alike);
  EXPECT_EQ(last_cause(f.explain()), "argument 1 `pair.right`: a Variable of its own -> the same as argument 1 `pair.left`");
}

TEST(FunctionCauses, AVariableThatIsTrainableNow) {
  Variable a{1.f}, fixed{1.f, {.trainable = false}};
  Function f{[](Variable x) { return x * 2.f; }, {.args = {"x"}}};
  f(a), f(fixed);
  EXPECT_EQ(last_cause(f.explain()), "argument 0 `x`: a trainable Variable -> a Variable that is not trainable");
  Function g{[](Variable x) { return x * 2.f; }, {.args = {"x"}}};
  g(fixed), g(a);
  EXPECT_EQ(last_cause(g.explain()), "argument 0 `x`: a Variable that is not trainable -> a trainable Variable");
  Variable wide{ones({2}), {.trainable = false}};
  g(wide);
  EXPECT_EQ(last_cause(g.explain()), "argument 0 `x`: Variable f32[] -> Variable f32[2]") << "the nearest trace is the first";
}

TEST(FunctionCauses, AVariableThatTheBodyCaptures) {
  Variable held{1.f, {.name = "held"}}, also{1.f, {.name = "also"}}, own{2.f};
  const auto body = [&](Variable x, Tensor) { return x + held + also; };
  Function f{body, {.args = {"x"}}};
  f(own, 1.f), f(held, 1.f);
  EXPECT_EQ(last_cause(f.explain()), "argument 0 `x`: a Variable of its own -> the Variable that the body captures (Variable \"held\")");
  f(held, ones({2}));
  EXPECT_EQ(last_cause(f.explain()), "argument 1 `arg1`: f32[] -> f32[2]") << "that of the trace with the captured one";
  Function g{body, {.args = {"x"}}};
  g(held, 1.f), g(own, 1.f);
  EXPECT_EQ(last_cause(g.explain()), "argument 0 `x`: the Variable that the body captures (Variable \"held\") -> a Variable of its own");
  Function h{body, {.args = {"x"}}};
  h(held, 1.f), h(also, 1.f);
  EXPECT_EQ(last_cause(h.explain()),
            "argument 0 `x`: the Variable that the body captures (Variable \"held\") -> the Variable that the body captures (Variable \"also\")");
}

TEST(FunctionCauses, ARefusedRetraceNamesTheVariable) {
  Variable a{1.f}, b{1.f};
  Function f{[](Variable x, Variable y) { return x + y; }, {.name = "f", .args = {"x", "y"}, .no_retrace = true}};
  f(a, b);
  EXPECT_TEXT(TraceError, f(a, a), "f: this call would be traced anew: argument 1 `y`: a Variable of its own -> the same as argument 0 `x`; pass "
                                   "arguments of the kind traced first, or leave out no_retrace.");
}

TEST(FunctionCauses, WhoAsksWhichVariableItIsMeansEachOfThem) {
  Variable a{1.f, {.name = "a"}}, b{1.f, {.name = "b"}}, fixed{1.f, {.trainable = false}};
  Function f{[](Variable x) { return x.name() == "a" ? x + 1.f : x + 2.f; }, {.args = {"x"}}};
  f(a), f(b);
  EXPECT_EQ(last_cause(f.explain()), "the body looks at which Variables it is given, and other ones are passed");
  f(fixed);
  EXPECT_EQ(last_cause(f.explain()), "argument 0 `x`: a trainable Variable -> a Variable that is not trainable");
}

TEST(FunctionCauses, WhatHasNoText) {
  Function g{[](Tensor x, float nan) { return x * nan; }};
  g(1.f, std::bit_cast<float>(0x7fc00000u)), g(1.f, std::bit_cast<float>(0x7fc00001u));
  EXPECT_EQ(last_cause(g.explain()),
            "what differs is no value: the class of an object, which pointers lead to the same one, or the bits of a number that prints alike");
}

enum class Stage { kWarm, kCold };

TEST(FunctionCauses, HostValuesAreCalledWhatTheyAre) {
  const auto cause = [](auto first, auto second) {
    Function f{[](Tensor x, decltype(first)) { return x; }, {.args = {"x", "by"}}};
    f(1.f, first), f(1.f, second);
    return last_cause(f.explain());
  };
  const std::string by = "argument 1 `by`: ", take = " (a host value; take it as Tensor to keep one trace)";
  EXPECT_EQ(cause(i32, f64), by + "i32 -> f64" + kNoTensor);
  EXPECT_EQ(cause('a', 'b'), by + "'a' -> 'b'" + kNoTensor);
  EXPECT_EQ(cause('a', '\n'), by + "'a' -> 10" + kNoTensor) << "one that cannot be printed is its number";
  EXPECT_EQ(cause(Stage::kWarm, Stage::kCold), by + "0 -> 1" + kNoTensor);
  EXPECT_EQ(cause(Shape{2, 3}, Shape{4}), by + "[2,3] -> [4]" + kNoTensor);
  EXPECT_EQ(cause(std::uint8_t{97}, std::uint8_t{98}), by + "97 -> 98" + take);
  EXPECT_EQ(cause(std::int8_t{-1}, std::int8_t{1}), by + "-1 -> 1" + take);
  EXPECT_EQ(cause(false, true), by + "false -> true (a host value; take it as Tensor and branch by cond to keep one trace)");
}

TEST(FunctionCauses, LongTextEndsEarly) {
  Function f{[](Tensor x, std::string) { return x; }, {.name = "f", .args = {"x", "text"}}};
  std::string text(100000, 'x');
  f(1.f, "a"), f(1.f, text);
  const std::string shown = '"' + std::string(63, 'x') + "...\" (100000 bytes)";
  EXPECT_EQ(last_cause(f.explain()), "argument 1 `text`: \"a\" -> " + shown + kNoTensor);
  EXPECT_EQ(f.explain().traces[1].arguments[1], "text " + shown);
  text[70000] = 'y';
  EXPECT_TEXT(TraceError, f.trace(Spec{f32, {}}, std::string(100000, 'x'))(1.f, text),
              "f: argument 1 `text` is " + shown + ", another from byte 70000 on and the trace takes " + shown + "; call the Function itself for another kind.");
  std::vector<std::int64_t> sizes(32, 100);
  Function h{[](Tensor x, Shape) { return x; }, {.name = "h", .args = {"x", "shape"}}};
  const ConcreteFunction only = h.trace(Spec{f32, {}}, Shape(sizes));
  sizes[20] = 200;
  const std::string start = "[100,100,100,100,100,100,100,100,100,100,100,100,100,100,100,100...";
  EXPECT_TEXT(TraceError, only(1.f, Shape(sizes)),
              "h: argument 1 `shape` is " + start + ", another from byte 81 on and the trace takes " + start + "; call the Function itself for another kind.");
  std::string umlauts;
  for (int i = 0; i < 40; ++i) umlauts += "\xc3\xa4";
  Function g{[](Tensor x, std::string) { return x; }, {.args = {"x", "text"}}};
  g(1.f, umlauts);
  EXPECT_EQ(g.explain().traces[0].arguments[1], "text \"" + umlauts.substr(0, 62) + "...\" (80 bytes)") << "no half of a character";
}

TEST(FunctionCauses, AnEmptyHandleUnderASignature) {
  Function f{[](Tensor x, Tensor y) { return x.defined() ? x + y : y; },
             {.name = "f", .args = {"x", "y"}, .signature = {Spec{f32, {kUnknown}}, Spec{f32, {2}}}}};
  EXPECT_TEXT(TraceError, f(Tensor(), ones({2})), "f: argument 0 `x` is an empty handle and the signature says f32[?]; give it a value.");
  EXPECT_TEXT(TraceError, f(ones({2}), Tensor()), "f: argument 1 `y` is an empty handle and the signature says f32[2]; give it a value.");
  Function one{[](Tensor x, Tensor y) { return x.defined() ? x + y : y; }, {.name = "f", .args = {"x", "y"}, .signature = {Spec{f32, {2}}}}};
  EXPECT_EQ(floats(one(Tensor(), ones({2}))), (std::vector<float>{1, 1})) << "a signature of those that are given";
}

TEST(FunctionCauses, AnEmptyNameIsRefused) {
  const auto body = [](Tensor x, Tensor y) { return x + y; };
  EXPECT_TEXT(ValueError, (Function{body, {.args = {""}}}), "Function: args has an empty name for argument 0; give it one.");
  EXPECT_TEXT(ValueError, (Function{body, {.args = {"x", ""}}}), "Function: args has an empty name for argument 1; give it one.");
}

}  // namespace
}  // namespace weft::test
