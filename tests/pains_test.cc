// What has hurt elsewhere and is gone (tests/data/pains.txt; other tests hold the rest of it), and what is often said of Variables in traced
// functions and is not true.
#include <gtest/gtest.h>

#include "tests/function_types.h"

namespace weft::test {
namespace {

struct TwoNets {
  Variable generator{1.f}, critic{2.f};
};

// PAIN 2
TEST(Pains, Pain02_TwoOptimizersStepInOneFunction) {
  const auto step = [](Adam& first, SGD& second, TwoNets& nets) {
    GradientTape tape({.persistent = true});
    const Tensor loss = square(nets.generator * nets.critic);
    const std::vector<Tensor> slopes = tape.gradient(loss, Sources{nets.generator, nets.critic});
    first.apply({slopes[0]}, {nets.generator});
    second.apply({slopes[1]}, {nets.critic});
  };
  TwoNets traced, plain;
  Adam first, plain_first;
  SGD second{{.momentum = 0.9}}, plain_second{{.momentum = 0.9}};
  Function both = [&] { step(first, second, traced); };
  for (int i = 0; i < 4; ++i) {
    both();
    step(plain_first, plain_second, plain);
    EXPECT_EQ(number(traced.generator), number(plain.generator));
    EXPECT_EQ(number(traced.critic), number(plain.critic));
  }
  EXPECT_EQ(both.explain().traced, 1u);
  EXPECT_EQ(first.steps() + second.steps(), 8);
}

struct Counts {
  int on_the_host = 0;
  Variable kept{0};
};

// PAIN 7
TEST(Pains, Pain07_ACountIsCountedAtEachCallOrRefused) {
  Function on_the_host{[](Counts& counts) { ++counts.on_the_host; }, {.name = "count", .args = {"counts"}}};
  Function in_a_variable = [](Counts& counts) { counts.kept.assign_add(1); };
  Counts counts;
  EXPECT_TEXT(TraceError, on_the_host(counts),
              "count: `counts.on_the_host` is changed from 0 to 1 by the body, which later calls would not do; return the new value, or hold it in a "
              "Variable.");
  EXPECT_EQ(counts.on_the_host, 0);
  for (int i = 0; i < 3; ++i) in_a_variable(counts);
  EXPECT_EQ(counts.kept.value().item<int>(), 3);
}

struct Settings {
  float rate = 1;
  bool training = true;
  Variable weight{2.f};
};

// PAIN 8
TEST(Pains, Pain08_SettingsOfAnArgumentAreLookedAtInEachCall) {
  int runs = 0;
  Function f{[&](const Settings& s, Tensor x) {
               ++runs;
               return s.training ? x * s.weight * s.rate : x;
             },
             {.args = {"settings", "x"}}};
  Settings settings;
  EXPECT_EQ(number(f(settings, 3.f)), 6);
  settings.rate = 10;
  EXPECT_EQ(number(f(settings, 3.f)), 60);
  settings.training = false;
  EXPECT_EQ(number(f(settings, 3.f)), 3);
  EXPECT_EQ(f.explain().traces[2].cause, "argument 0 `settings.training`: true -> false (a host value; take it as Tensor and branch by cond to keep one trace)");
  settings = Settings{};
  EXPECT_EQ(number(f(settings, 3.f)), 6);
  EXPECT_EQ(runs, 3);

  // Whether a Variable is trainable counts as well.
  Function slope = [](Variable& v) {
    GradientTape tape;
    const Tensor y = square(v);
    return tape.gradient(y, v, {.unconnected = Unconnected::kZeros});
  };
  Variable learns{3.f}, fixed{3.f, {.trainable = false}};
  EXPECT_EQ(number(slope(learns)), 6);
  EXPECT_EQ(number(slope(fixed)), 0);
}

// PAIN 12
TEST(Pains, Pain12_ValuesOfTheTurnsOfALoopAreCollected) {
  std::vector<Tensor> kept;
  Function leaks = [&](Tensor x) {
    return while_loop([](Tensor y) { return y < 10.f; }, [&](Tensor y) { return kept.push_back(y), y * 2.f; }, x);
  };
  EXPECT_EQ(number(leaks(1.f)), 16);
  const std::string refused = message<TraceError>([&] { kept.at(0) + 1; });
  EXPECT_NE(refused.find("was made while tracing"), std::string::npos) << refused;

  // A list that a host loop fills is an ordinary one; what a loop on values makes is collected by scan and map.
  Function collects = [](Tensor x) {
    std::vector<Tensor> rows;
    for (int i = 0; i < 3; ++i) rows.push_back(x * i);
    return std::tuple(stack(rows), map([](Tensor y) { return y * y; }, stack(rows)));
  };
  const auto [rows, squares] = collects(2.f);
  EXPECT_EQ(floats(rows), (std::vector<float>{0, 2, 4}));
  EXPECT_EQ(floats(squares), (std::vector<float>{0, 4, 16}));
}

// PAIN 16
TEST(Pains, Pain16_AGradientThatAnAssignmentCutsOffIsAnError) {
  const Tensor x = fill({}, 3.f);
  const auto slope = [](Tensor of, bool passes) {
    Variable v{0.f, {.name = "v"}};
    GradientTape tape;
    tape.watch(of);
    const Tensor y = passes ? grad_pass_through([&](Tensor z) { return v.assign(z).value(); })(of) : v.assign(of * of).value();
    return tape.gradient(y * 2, of);
  };
  Function traced = slope;
  const std::string text = "gradient: the target does not depend on source f32[] through differentiable ops; ask for "
                           "{.unconnected = Unconnected::kZeros} or kNone if "
                           "that is meant.";
  EXPECT_TEXT(GradientError, slope(x, false), text);
  EXPECT_TEXT(GradientError, traced(x, false), text);
  EXPECT_EQ(number(slope(x, true)), 2);
}

// PAIN 25
TEST(Pains, Pain25_NumbersTakeTheDtypeBesideThemEagerlyAndTraced) {
  const auto half = [](Tensor x) { return x * 0.5; };
  const auto next = [](Tensor x) { return 1 + x; };
  const auto mixed = [](Tensor x) { return x + cast(x, f64); };
  Function traced_half = half, traced_next = next, traced_mixed = mixed;
  for (const DType dtype : {f16, bf16, f32, f64}) {
    const Tensor x = cast(Tensor({1.f, 2.f}), dtype);
    EXPECT_EQ(half(x).dtype(), dtype);
    EXPECT_EQ(traced_half(x).dtype(), dtype);
    EXPECT_EQ(traced_next(x).dtype(), dtype);
  }
  for (const DType dtype : {i8, i32, u8, i64}) {
    const Tensor x = cast(Tensor({1, 2}), dtype);
    EXPECT_EQ(next(x).dtype(), dtype);
    EXPECT_EQ(traced_next(x).dtype(), dtype);
    const std::string text = message<DtypeError>([&] { half(x); });
    EXPECT_EQ(text.rfind("multiply: ", 0), 0u) << text;
    EXPECT_TEXT(DtypeError, traced_half(x), text);
  }
  const std::string text = message<DtypeError>([&] { mixed(Tensor({1.f})); });
  EXPECT_EQ(text.rfind("add: ", 0), 0u) << text;
  EXPECT_TEXT(DtypeError, traced_mixed(Tensor({1.f})), text);
}

// --- five things that are often said, and the opposite ---

// "An assignment inside, to a Variable deep in a struct, does not stay."
TEST(Claims, Claim1_AnAssignmentDeepInAStructStays) {
  const auto held = std::make_shared<Params>();
  Params passed;
  Function inside{[=](Params& p, Tensor rate) {
                    p.hparams.lr_param.assign(rate);
                    held->hparams.lr_param.assign_add(rate);
                  },
                  {.signature = {Spec{f32, {}}}}};
  for (const float rate : {0.5f, 0.25f}) {
    const float before = number(held->hparams.lr_param);
    inside(passed, rate);
    EXPECT_EQ(number(passed.hparams.lr_param), rate);
    EXPECT_EQ(number(held->hparams.lr_param), before + rate);
  }
}

// "A trace has a copy of a Variable and misses what happens to it outside."
TEST(Claims, Claim2_ATraceSeesWhatIsAssignedOutside) {
  Variable v{1.f};
  Function twice = [&](Tensor x) { return x * v; };
  Function changes = [&] { v.assign(v * 10); };
  const ConcreteFunction one = twice.trace(Spec{f32, {}});
  EXPECT_EQ(number(twice(2.f)), 2);
  v.assign(3.f);
  EXPECT_EQ(number(twice(2.f)), 6);
  EXPECT_EQ(number(one(2.f)), 6);
  changes();
  EXPECT_EQ(number(twice(2.f)), 60);
  EXPECT_EQ(number(one(2.f)), 60);
  EXPECT_EQ(twice.explain().traced, 1u);
  EXPECT_TRUE(twice.explain().traces[0].constants.empty());
}

// "With a signature, assign_add on a global Variable leaves it as it was."
TEST(Claims, Claim3_ASignatureKeepsNothingFromBeingAssigned) {
  Variable total{1.f};
  Function add{[&](Tensor value) { total.assign_add(value); }, {.signature = {Spec{f32, {}}}}};
  const ConcreteFunction one = add.trace(Spec{f32, {}});
  EXPECT_EQ(number(total), 1) << "a trace that nobody calls changes nothing";
  add(2);
  EXPECT_EQ(number(total), 3);
  one(3);
  EXPECT_EQ(number(total), 6);
}

// "An optimizer moves an integer Variable."
TEST(Claims, Claim4_AnIntegerVariableIsNotTrained) {
  Variable counter{0, {.name = "counter"}}, floating{0.f};
  SGD sgd{{.learning_rate = 0.01f}};
  const auto step = [&](Variable& v) {
    GradientTape tape;
    const Tensor loss = v * 2;
    sgd.apply({tape.gradient(loss, v)}, {v});
  };
  Function traced = step;
  for (const bool eagerly : {true, false}) {
    const std::string text = message<GradientError>([&] { eagerly ? step(counter) : traced(counter); });
    EXPECT_NE(text.find("source Variable \"counter\" i32[] holds integers, and multiply"), std::string::npos) << text;
    EXPECT_EQ(counter.version(), 0u);
    EXPECT_EQ(sgd.steps(), 0);
  }
  traced(floating);
  EXPECT_FLOAT_EQ(number(floating), -0.02f);
}

// "Variables must be arguments for changes to reach them."
TEST(Claims, Claim5_CapturedAndPassedVariablesChangeAlike) {
  Variable captured{1.f}, passed{1.f};
  Function by_capture = [&](Tensor x) { captured.assign_add(x); };
  Function by_argument = [](Variable& v, Tensor x) { v.assign_add(x); };
  for (const float x : {2.f, 3.f}) by_capture(x), by_argument(passed, x);
  EXPECT_EQ(number(captured), 6);
  EXPECT_EQ(number(passed), 6);
  EXPECT_EQ(captured.version(), passed.version());
}

}  // namespace
}  // namespace weft::test
