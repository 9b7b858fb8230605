// What belongs to one call: local Variables, values that are asked for at each call, sizes that are stated late. And what is frozen.
#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

#include "tests/function_types.h"

namespace weft::test {
namespace {

// --- local Variables ---

// Newton's root of x in three steps, in a Variable that is there for one call.
Tensor root(Tensor x) {
  Variable guess{x * 0.5f, {.local = true}};
  for (int i = 0; i < 3; ++i) guess.assign((guess + x / guess) * 0.5f);
  return guess;
}

// SEMANTICS 43
TEST(LocalVariable, BelongsToOneCall) {
  Function f{root, {.name = "f"}};
  for (const float x : {4.f, 9.f, 4.f}) EXPECT_EQ(number(f(x)), number(root(x)));
  EXPECT_EQ(floats(f({1.f, 16.f})), floats(root({1.f, 16.f})));
  const FunctionReport::Trace trace = f.explain().traces[0];
  EXPECT_TRUE(trace.reads.empty() && trace.writes.empty()) << "nobody outside sees it";
  EXPECT_TRUE(f.trace(Spec{f32, {}}).variables().empty());

  Function kept = [](Tensor x) { return Variable(0.f).assign_add(x).value(); };
  Function local = [](Tensor x) { return Variable(0.f, {.local = true}).assign_add(x).value(); };
  kept(1.f), local(1.f);
  EXPECT_EQ(number(kept(1.f)), 2);
  EXPECT_EQ(number(local(1.f)), 1);
}

TEST(LocalVariable, IsMadeInBranchesAndLoopsAndInnerCalls) {
  Variable total{0.f};
  Function add = [](Variable& to, Tensor x) { to.assign_add(x); };
  const auto body = [&](Tensor x) {
    Variable sum{x, {.local = true}};
    add(sum, x);  // 2 x
    const Tensor branch = cond(x > 0.f, [&] {
      Variable own{x * 3.f, {.local = true}};
      own.assign_sub(1.f), sum.assign_add(own);
      return own.value();
    }, [&] { return x; });
    const Tensor last = fold([&](Tensor state, Tensor row) {
      Variable own{row, {.local = true}};
      own.assign_add(state), sum.assign_add(own), total.assign_add(1.f);
      return own.value();
    }, 0.f, Tensor{1.f, 2.f, 3.f});
    return sum + branch * 100.f + last * 10000.f;
  };
  Function f = body;
  for (const float x : {2.f, -2.f, 3.f}) EXPECT_EQ(number(f(x)), number(body(x)));
  EXPECT_EQ(number(total), 18);
}

TEST(LocalVariable, CutsTheWayOfATapeAsEagerly) {
  const auto body = [](Tensor x) {
    Variable v{x * 2.f, {.local = true}}, fixed{x * 3.f, {.trainable = false, .local = true}};
    v.assign_add(x);
    return v * v + fixed * x;  // with respect to x: 3 x
  };
  Function f = body;
  const Tensor x = fill({}, 2.f);
  for (const bool traced : {false, true}) {
    GradientTape tape;
    tape.watch(x);
    EXPECT_EQ(number(tape.gradient(traced ? f(x) : body(x), x)), 6) << traced;
  }
  Function inside = [](Tensor y) {
    Variable w{y, {.local = true}};
    GradientTape tape;
    const Tensor loss = w * w * y;
    return tape.gradient(loss, w);  // 2 w y
  };
  EXPECT_EQ(number(inside(3.f)), 18);
}

TEST(LocalVariable, IsRefusedOutsideOfItsCall) {
  std::optional<Variable> leaked;
  Function f{[&](Tensor x) { return leaked.emplace(x, VariableOptions{.local = true}).value(); }, {.name = "f"}};
  f(1.f);
  EXPECT_TEXT(StateError, leaked->value(), "Variable: this handle is one of a local Variable, which was there only while the body of a Function was "
                                           "traced; return its value(), or make it without local.");
  Function returned{[](Tensor x) { return Variable(x, {.local = true}); }, {.name = "returned"}};
  EXPECT_TEXT(TraceError, returned(1.f), "returned: the result holds a local Variable, which is gone when the call ends; return its value(), or make "
                                         "it without local.");
  Function latest{[](Tensor x) { return Variable(x, {.name = "v", .local = true}).read_latest(); }, {}};
  EXPECT_TEXT(StateError, latest(1.f), "read_latest: Variable \"v\" is local to a call, which publishes nothing of it; read its value().");
}

// What is published while the trace is made says nothing of later calls.
TEST(FunctionCaptures, ReadLatestIsRefusedWhileTracing) {
  Variable v{3.f, {.name = "v"}};
  const auto body = [&](Tensor x) {
    v.assign(x);
    return v.read_latest();
  };
  const std::string refused = "read_latest: what Variable \"v\" holds now would be frozen in the trace; read its value(), or call read_latest outside.";
  Function f = body, in_a_branch = [&](Tensor x) { return cond(x > 0.f, [&] { return v.read_latest(); }, [&] { return x; }); };
  EXPECT_TEXT(TraceError, f(1.f), refused);
  EXPECT_TEXT(TraceError, in_a_branch(1.f), refused);
  Function passed = [](Variable a) { return a.read_latest(); };
  EXPECT_TEXT(TraceError, passed(v), refused);
  EXPECT_EQ(number(v), 3);
  EXPECT_EQ(f.explain().traced, 0u);

  std::vector<float> seen;
  Function eager{body, {.run_eagerly = true}};
  for (const float x : {1.f, 2.f}) seen.push_back(number(eager(x))), seen.push_back(number(atomically([&] { return body(x + 10); })));
  EXPECT_EQ(seen, (std::vector<float>{3, 1, 11, 2}));
  Function outside = [&](Tensor x) { return x + init_scope([&] { return v.read_latest(); }); };
  EXPECT_EQ(number(outside(1.f)), 13);
  // Of no rows a map traces its lambda, eagerly too, and nothing is frozen.
  EXPECT_EQ(map([&](Tensor row) { return row * v.read_latest(); }, zeros({0, 3})).shape(), Shape({0, 3}));
}

// --- asked for at each call ---

// SEMANTICS 135
TEST(AtEachCall, AsksTheHostAnew) {
  float rate = 0.5f;
  int asked = 0, runs = 0;
  Variable v{1.f};
  Function f{[&](Tensor x) {
    ++runs;
    v.assign_add(x);
    return x * at_each_call([&] { return ++asked, Tensor(rate); }) + v;
  }, {.name = "f", .args = {"x"}}};
  EXPECT_EQ(number(f(2.f)), 4);
  rate = 3;
  const int before = asked;
  EXPECT_EQ(number(f(2.f)), 11);
  EXPECT_EQ(asked, before + 1);
  EXPECT_EQ(runs, 1);
  const FunctionReport report = f.explain();
  ASSERT_EQ(report.traces[0].asked.size(), 1u);
  EXPECT_EQ(report.traces[0].asked[0].spec, "f32[]");
  EXPECT_NE(report.str().find("\n  asks for f32[] at each call at function_captures_test.cc:"), std::string::npos) << report.str();
  EXPECT_TRUE(report.traces[0].constants.empty());
  EXPECT_NE(f.graph().str().find("asked for at function_captures_test.cc:"), std::string::npos) << f.graph().str();
}

TEST(AtEachCall, ChecksTheSpec) {
  Tensor given = ones({2});
  Variable v{0.f};
  Function f = [&](Tensor x) {
    v.assign_add(1.f);
    return sum(at_each_call([&] { return given; })) * x;
  };
  EXPECT_EQ(number(f(2.f)), 4);
  given = ones({3});
  EXPECT_TEXT(ShapeError, f(2.f), "at_each_call: the lambda gave f32[3] and the trace takes f32[2]; declare sizes that change as unknown.");
  given = cast(ones({2}), i32);
  EXPECT_TEXT(DtypeError, f(2.f), "at_each_call: the lambda gave i32[2] and the trace takes f32[2]; the dtype must stay the same, cast it.");
  given = Tensor();
  EXPECT_TEXT(ValueError, f(2.f), "at_each_call: the lambda gave an empty Tensor handle; return a value.");
  EXPECT_EQ(number(v), 1) << "calls that failed have changed nothing";

  int asked = 0;
  Function any = [&](Tensor x) { return sum(at_each_call([&] { return ++asked, given; }, Spec{f32, {kUnknown}})) * x; };
  any.trace(Spec{f32, {}});
  EXPECT_EQ(asked, 0) << "a Spec that is declared needs no value";
  for (const int size : {1, 5, 2}) {
    given = ones({size});
    EXPECT_EQ(number(any(2.f)), 2 * size);
  }
  EXPECT_EQ(any.explain().traced, 1u);
  given = Tensor(3.f);
  EXPECT_THROW(any(1.f), ShapeError);
  EXPECT_EQ(at_each_call([] { return 3; }, Spec{f32, {}}).dtype(), f32) << "also where nothing is traced";
}

TEST(AtEachCall, ReachesThroughInnerCallsBranchesAndLoops) {
  float rate = 1;
  int asked = 0;
  const auto now = [&] { return at_each_call([&] { return ++asked, Tensor(rate); }, Spec{f32, {}}); };
  Function inner = [&](Tensor x) { return x * now(); };
  Function outer = [&](Tensor x) {
    const Tensor a = inner(x), b = cond(x > 0.f, [&] { return now() * 10.f; }, [&] { return x; });
    return a + b + fold([&](Tensor state, Tensor row) { return state + row * now(); }, 0.f, Tensor{100.f, 200.f});
  };
  EXPECT_EQ(number(outer(2.f)), 312);
  asked = 0, rate = 2;
  EXPECT_EQ(number(outer(2.f)), 624);
  EXPECT_EQ(asked, 3) << "once for each place, whatever the loop does";
  EXPECT_EQ(outer.explain().traces[0].asked.size(), 3u);

  const Tensor x = fill({}, 3.f);
  GradientTape tape;
  tape.watch(x);
  EXPECT_EQ(number(tape.gradient(inner(x), x)), 2);
  EXPECT_EQ(floats(inner.trace(Spec{f32, {}}).call_flat({x})[0]), std::vector<float>{6});
}

// --- what an argument gains ---

struct Trainer {
  Weight net;
  Adam adam{{.learning_rate = 0.1f}};
};

// SEMANTICS 149: also one that is passed; what it makes when it first meets a Variable are Variables of the first trace
TEST(FunctionCaptures, AnOptimizerInAnArgumentMakesItsSlotsOnTheFirstTrace) {
  int runs = 0;
  Function step{[&](Trainer& t, Tensor x) {
    ++runs;
    GradientTape tape;
    const Tensor loss = square(t.net.w * x - 3.f);
    t.adam.apply(tape.gradient(loss, t.net), t.net);
    return loss;
  }, {.name = "step", .args = {"t", "x"}}};
  Trainer traced, eager;
  for (int i = 0; i < 3; ++i) {
    const Tensor loss = step(traced, 2.f);
    GradientTape tape;
    const Tensor wanted = square(eager.net.w * Tensor(2.f) - 3.f);
    eager.adam.apply(tape.gradient(wanted, eager.net), eager.net);
    EXPECT_EQ(number(loss), number(wanted));
    EXPECT_EQ(number(traced.net.w), number(eager.net.w));
    EXPECT_EQ(traced.adam.steps(), i + 1);
  }
  EXPECT_EQ(runs, 1);
  const FunctionReport report = step.explain();
  EXPECT_EQ(report.traced, 1u);
  const std::vector<std::string>& writes = report.traces[0].writes;
  EXPECT_NE(std::find(writes.begin(), writes.end(), "t.adam.slots.w.momentum"), writes.end()) << report;
  EXPECT_EQ(number(traced.adam.slots.at("w").at("momentum")), number(eager.adam.slots.at("w").at("momentum")));

  Trainer other;
  step(other, 2.f), step(other, 2.f), step(traced, 2.f);
  EXPECT_EQ(runs, 2) << "another optimizer keeps something of its own";
  EXPECT_EQ(other.adam.steps(), 2);
  EXPECT_EQ(traced.adam.steps(), 4);
}

// What an argument may gain is Variables, and only in the object itself.
TEST(FunctionCaptures, OtherChangesOfAnArgumentAreRefused) {
  struct Only {
    Only() = default;
    Only(const Only&) = delete;
    Only& operator=(const Only&) = delete;
    Variable v{1.f};
    std::vector<Variable> more;
    int n = 0;
    WEFT_FIELDS(v, more, n)
  };
  Function grows{[](Only& o, Tensor x) { if (o.more.empty()) o.more.emplace_back(2.f); return o.more[0] * x + o.v; }, {.name = "grows", .args = {"o", "x"}}};
  Only a;
  EXPECT_EQ(number(grows(a, 3.f)), 7);
  EXPECT_EQ(number(grows(a, 4.f)), 9);
  EXPECT_EQ(grows.explain().traced, 1u);
  Function counts{[](Only& o) { ++o.n; return o.v.value(); }, {.name = "counts", .args = {"o"}}};
  EXPECT_TEXT(TraceError, counts(a), "counts: `o.n` is changed from 0 to 1 by the body, which later calls would not do; return the new value, or hold "
                                     "it in a Variable.");
  Variable outside{5.f};
  Function adopts{[&](Only& o) { o.more.push_back(outside); return o.v.value(); }, {.name = "adopts", .args = {"o"}}};
  EXPECT_THROW(adopts(a), TraceError);
}

// --- frozen lists and numbers ---

TEST(FunctionCaptures, AListInTheBodyIsAConstantOfTheProgram) {
  Function f{[](Tensor x) {
    GradientTape tape;
    const Tensor y = cond(sum(x) > 0.f, [&] { return x * Tensor{1.f, 2.f}; }, [&] { return x; });
    return y + Tensor{{3.f, 4.f}};
  }, {.strict = true}};
  EXPECT_EQ(floats(f({1.f, 1.f})), (std::vector<float>{4, 6}));
  std::vector<std::string> values;
  const FunctionReport report = f.explain();
  for (const FunctionReport::Constant& each : report.traces[0].constants) {
    EXPECT_TRUE(each.literal);
    EXPECT_GT(each.at.line, 0u);
    values.push_back(each.value);
  }
  EXPECT_EQ(values, (std::vector<std::string>{"0.0", "[[3. 4.]] f32[1,2]", "[1. 2.] f32[2]"}));
  EXPECT_NE(f.explain().str().find("\n  has frozen the numbers [1. 2.] f32[2], read by multiply at function_captures_test.cc:"), std::string::npos)
      << f.explain();

  const Tensor outside{1.f, 2.f};
  Function strict{[&](Tensor x) { return x * outside; }, {.strict = true}};
  EXPECT_THROW(strict(ones({2})), TraceError);
  Function made{[&](Tensor x) { return x * init_scope([] { return Tensor{1.f, 2.f}; }); }, {.strict = true}};
  EXPECT_THROW(made(ones({2})), TraceError);
}

// However it was made: only what the body writes itself is a number of the program.
TEST(FunctionCaptures, ACapturedTensorMadeFromANumberIsListedAsSuch) {
  struct Settings {
    Tensor rate = 0.5f;
  } settings;
  const Tensor rate = 0.5f, typed(0.5f, f32);
  Variable v{0.5f};
  const Tensor taken = v;
  Tensor dying = 0.5f;
  const auto frozen_by = [](const auto& body) {
    Function f{body, {}}, strict{body, {.strict = true}};
    EXPECT_EQ(number(f(2.f)), 1);
    EXPECT_TEXT(TraceError, strict(2.f), "multiply: the tensor f32[] was made outside and would be frozen; pass it as an argument, or hold it in a Variable.");
    const FunctionReport report = f.explain();
    ASSERT_EQ(report.traces[0].constants.size(), 1u) << report;
    EXPECT_FALSE(report.traces[0].constants[0].literal);
    EXPECT_NE(report.str().find("has frozen 0.5, read by multiply"), std::string::npos) << report;
  };
  frozen_by([&](Tensor x) { return x * rate; });
  frozen_by([&](Tensor x) { return x * typed; });
  frozen_by([&](Tensor x) { return x * settings.rate; });
  frozen_by([&](Tensor x) { return x * taken; });
  frozen_by([&](Tensor x) { return x * init_scope([] { return Tensor(0.5f); }); });
  frozen_by([&](Tensor x) {
    Tensor alone = std::exchange(dying, Tensor());
    dying = init_scope([] { return Tensor(0.5f); });
    return x * std::move(alone);
  });

  const auto written_by = [](const auto& body) {
    Function inner{body, {.strict = true}}, f{[&](Tensor x) { return inner(x) * 1.f; }, {.strict = true}};
    EXPECT_EQ(number(inner(2.f)), 1);
    EXPECT_EQ(number(f(2.f)), 1);
    Function first{[&](Tensor x) { return Function{body, {.strict = true}}(x) * 1.f; }, {.strict = true}};
    EXPECT_EQ(number(first(2.f)), 1);
    for (const FunctionReport& report : {inner.explain(), f.explain(), first.explain()})
      for (const FunctionReport::Constant& each : report.traces[0].constants) EXPECT_TRUE(each.literal) << report;
  };
  written_by([](Tensor x) { return x * 0.5f; });
  written_by([](Tensor x) { return multiply(x, 0.5f); });
  written_by([](Tensor x) {
    const Tensor half = 0.5f;
    return x * half;
  });
  written_by([](Tensor x) { return x * Tensor(0.5, f32); });
  written_by([](Tensor x) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(x * 0.5f, x) * x;
  });
  written_by([](Tensor x) {
    const Tensor half = 0.5f;
    return cond(x > 0.f, [&] { return x * half; }, [&] { return x; });
  });
  written_by([](Tensor x) { return fold([](Tensor s, Tensor row) { return s + row * 0.25f; }, 0.f, stack({x, x})); });
}

// --- sizes ---

// SEMANTICS 12
TEST(EnsureShape, StatesSizesThatAreNotKnownYet) {
  Function f{[](Tensor x) {
    const Tensor y = ensure_shape(x, {kUnknown, 3});
    EXPECT_EQ(y.shape().str(), "[?,3]");
    EXPECT_EQ(ensure_shape(y, {2, kUnknown}).shape(), Shape({2, 3}));
    return y * 2.f;
  }, {.signature = {Spec{f32, {kUnknown, kUnknown}}}}};
  EXPECT_THROW(f(ones({4, 3})), ShapeError) << "a result that nobody uses is checked as well";
  EXPECT_EQ(floats(f(ones({2, 3}))), std::vector<float>(6, 2));
  EXPECT_TEXT(ShapeError, f(ones({2, 4})), "ensure_shape: x f32[2,4] is not of the shape [-1,3]: axis 1 is 4 and not 3.");
  EXPECT_TEXT(ShapeError, ensure_shape(ones({2}), {2, 2}), "ensure_shape: x f32[2] is not of the shape [2,2]: its rank is 1 and not 2.");
  Function late = [](Tensor x, Tensor keep) { return sum(ensure_shape(boolean_mask(x, keep), {2}) * Tensor{1.f, 10.f}); };
  EXPECT_EQ(number(late({1.f, 2.f, 3.f}, {true, false, true})), 31);
  EXPECT_TEXT(ShapeError, late({1.f, 2.f, 3.f}, {true, true, true}), "ensure_shape: x f32[3] is not of the shape [2]: axis 0 is 3 and not 2.");
  const Tensor x = ones({2, 3});
  GradientTape tape;
  tape.watch(x);
  EXPECT_EQ(floats(tape.gradient(sum(f(x) * 3.f), x)), std::vector<float>(6, 6));
}

}  // namespace
}  // namespace weft::test
