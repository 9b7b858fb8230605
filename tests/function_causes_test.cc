// Why a call was traced anew: what differs from the closest trace, all of it, and nothing that the trace would have taken.
#include <gtest/gtest.h>

#include <string>

#include "tests/support.h"
#include <weft/weft.h>

namespace weft::test {
namespace {

std::string last_cause(const FunctionReport& report) { return report.traces.back().cause; }

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
  EXPECT_EQ(last_cause(f.explain()), "argument 2 `mode.kind`: \"a\" -> \"b\" (a host value)");  // there are no Tensors of text
}

TEST(FunctionCauses, WhatWasForgottenIsSaidToBe) {
  Function f{[](Tensor x) { return x + 1; }, {.args = {"x"}, .max_traces = 2}};
  for (const int size : {1, 2, 3, 1}) f(ones({size}));
  EXPECT_EQ(f.explain().traced, 4u);
  EXPECT_EQ(last_cause(f.explain()), "there was a trace for it, which was forgotten when there were more than 2 (max_traces)");
  f(ones({4}));
  EXPECT_EQ(last_cause(f.explain()), "argument 0 `x`: f32[3] -> f32[4]");
}

}  // namespace
}  // namespace weft::test
