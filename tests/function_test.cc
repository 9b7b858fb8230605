#include <atomic>
#include <latch>
#include <thread>

#include <gtest/gtest.h>

#include "tests/function_types.h"

namespace weft::test {
namespace {

// --- programs as they are written ---

// SEMANTICS 131, 132
TEST(Function, AStructGoesInAndComesOut) {
  Params params;
  Function update = [](Params& p, Tensor new_lr) { p.hparams.lr_param.assign(new_lr); return p; };
  const Params returned = update(params, 0.1f);
  EXPECT_EQ(params.hparams.lr_param.value().item<float>(), 0.1f);
  EXPECT_TRUE(returned.hparams.lr_param.same_slot(params.hparams.lr_param));
  const FunctionReport report = update.explain();
  EXPECT_EQ(report.traced, 1u);
  EXPECT_TRUE(report.traces[0].reads.empty());
  EXPECT_EQ(report.traces[0].writes, std::vector<std::string>{"arg0.hparams.lr_param"});
}

// SEMANTICS 103, 146
TEST(Function, OtherVariablesOfTheSameKindAreNoNewTrace) {
  int runs = 0;
  Function update{[&](Params& p, Tensor x) { ++runs; p.hparams.lr_param.assign_add(x); }, {.args = {"p", "x"}}};
  Params a, b;
  update(a, 1.f);
  update(b, 2.f);
  update(a, 3.f);
  EXPECT_EQ(runs, 1);
  EXPECT_FLOAT_EQ(a.hparams.lr_param.value().item<float>(), 4.01f);
  EXPECT_FLOAT_EQ(b.hparams.lr_param.value().item<float>(), 2.01f);
}

// SEMANTICS 93, 95, 97
// PAIN 5
TEST(Function, TheBodyRunsOnceForEachKind) {
  int runs = 0;
  Function f = [&](Tensor x, int n, bool flag) {
    ++runs;
    return flag ? x * n : x;
  };
  EXPECT_EQ(f(2.f, 3, true).item<float>(), 6);
  EXPECT_EQ(f(5.f, 3, true).item<float>(), 15);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(f(5.f, 4, true).item<float>(), 20);
  EXPECT_EQ(f(5.f, 4, false).item<float>(), 5);
  EXPECT_EQ(f(Tensor({1.f, 2.f}), 3, true).to_vector<float>(), (std::vector<float>{3, 6}));
  EXPECT_EQ(f(Tensor(2), 3, true).item<std::int32_t>(), 6);
  EXPECT_EQ(runs, 5);
  const FunctionReport report = f.explain();
  ASSERT_EQ(report.traces.size(), 5u);
  EXPECT_EQ(report.traces[0].cause, "first call");
  EXPECT_EQ(report.traces[1].cause, "argument 1 `arg1`: 3 -> 4 (a host value; take it as Tensor to keep one trace)");
  EXPECT_EQ(report.traces[3].cause, "argument 0 `arg0`: f32[] -> f32[2]");
  EXPECT_EQ(report.traces[4].cause, "argument 0 `arg0`: f32[] -> i32[]");
}

// SEMANTICS 130
TEST(Function, OutsideWritesAreSeenWithoutATrace) {
  Variable v{1.f};
  Function next = [&] { return v.assign_add(1.f).value(); };
  EXPECT_EQ(next().item<float>(), 2);
  v.assign(2.f);
  EXPECT_EQ(next().item<float>(), 3);
  EXPECT_EQ(next().item<float>(), 4);
  EXPECT_EQ(next.explain().traced, 1u);
}

// SEMANTICS 116, 117, 119
TEST(Function, ASignatureCastsNumbersAndTakesEverySize) {
  int runs = 0;
  Function sums{[&](Tensor x) { ++runs; return sum(x); }, {.name = "sums", .args = {"x"}, .signature = {Spec{f32, {kUnknown, 2}}}}};
  EXPECT_EQ(sums(ones({3, 2})).item<float>(), 6);
  EXPECT_EQ(sums(ones({5, 2})).item<float>(), 10);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(message<TraceError>([&] { sums(ones({3, 3})); }),
            "sums: argument 0 `x` is f32[3,3] and the signature says f32[?,2]; the sizes must be known and agree where they are declared.");
  Function twice{[](Tensor x) { return x * 2; }, {.name = "twice", .signature = {Spec{f64, {}}}}};
  EXPECT_EQ(twice(3).dtype(), f64);
  EXPECT_EQ(message<TraceError>([&] { twice(ones({2})); }),
            "twice: argument 0 `arg0` is f32[2] and the signature says f64[]; the dtypes must agree, cast it.");
}

// SEMANTICS 106
TEST(Function, ReduceRetracingMakesDifferingSizesUnknown) {
  int runs = 0;
  Function f{[&](Tensor x) { ++runs; return sum(x * 2); }, {.reduce_retracing = true}};
  for (int n = 1; n < 8; ++n) EXPECT_EQ(f(ones({n, 3})).item<float>(), static_cast<float>(6 * n));
  EXPECT_EQ(runs, 2);
}

TEST(Function, NoRetraceNamesTheArgument) {
  Function f{[](Tensor x) { return x + 1; }, {.name = "f", .args = {"x"}, .no_retrace = true}};
  f(1.f);
  EXPECT_EQ(message<TraceError>([&] { f(ones({2})); }),
            "f: this call would be traced anew: argument 0 `x`: f32[] -> f32[2]; pass arguments of the kind traced first, or leave out no_retrace.");
  EXPECT_EQ(f(2.f).item<float>(), 3);
}

TEST(Function, StrictRefusesAFrozenTensorButNoNumber) {
  const Tensor outside = ones({2});
  Function f{[&](Tensor x) { return x + outside; }, {.strict = true}};
  EXPECT_EQ(message<TraceError>([&] { f(ones({2})); }),
            "add: the tensor f32[2] was made outside and would be frozen; pass it as an argument, or hold it in a Variable.");
  EXPECT_EQ(f.explain().traced, 0u);
  Function g{[](Tensor x) { return x + 1; }, {.strict = true}};
  EXPECT_EQ(g(1.f).item<float>(), 2);
}

// SEMANTICS 134
// PAIN 8
TEST(Function, WhatIsFrozenIsListed) {
  const Tensor table({1.f, 2.f});
  float rate = 0.5f;
  Function f = [&](Tensor x) { return x * table * rate; };
  f(3.f);
  rate = 7;
  EXPECT_EQ(f(2.f).to_vector<float>(), (std::vector<float>{1, 2}));
  const std::vector<FunctionReport::Constant> frozen = f.explain().traces[0].constants;
  ASSERT_EQ(frozen.size(), 2u);
  EXPECT_FALSE(frozen[0].literal);
  EXPECT_TRUE(frozen[1].literal);
  EXPECT_EQ(frozen[1].op, "multiply");
  EXPECT_EQ(frozen[1].value, "0.5");
}

// --- trees ---

// SEMANTICS 100, 152
TEST(Function, TreesInAndOut) {
  Function swap = [](Pair p) { return Pair{p.b, p.a, {p.a + p.b}, p.maybe}; };
  const Pair back = swap(Pair{1.f, 2.f});
  EXPECT_EQ(back.a.item<float>(), 2);
  EXPECT_EQ(back.more.at(0).item<float>(), 3);
  EXPECT_FALSE(back.maybe.has_value());
  EXPECT_EQ(swap(Pair{5.f, 2.f, {}, Tensor(9.f)}).maybe->item<float>(), 9);
  EXPECT_EQ(swap.explain().traced, 2u);

  Function split = [](const std::map<std::string, Tensor>& m) { return std::tuple(m.at("x") + 1, m.at("y")); };
  const auto [x, y] = split({{"x", 1.f}, {"y", 2.f}});
  EXPECT_EQ(x.item<float>(), 2);
  EXPECT_EQ(y.item<float>(), 2);
}

// SEMANTICS 154
// PAIN 7
TEST(Function, ATensorOfAReferenceIsReplacedAfterEachCall) {
  Function advance = [](Pair& p) { p.a = p.a + p.b; };
  Pair p{1.f, 10.f};
  advance(p);
  advance(p);
  EXPECT_EQ(p.a.item<float>(), 21);
  EXPECT_EQ(p.b.item<float>(), 10);
  Function grow{[](Pair& q) { q.more.push_back(q.a); }, {.name = "grow"}};
  EXPECT_EQ(message<TraceError>([&] { grow(p); }),
            "grow: `arg0.more` is changed from holds 0 elements to holds 1 elements by the body, which later calls would not do; return the new "
            "value, or hold it in a Variable.");
  EXPECT_TRUE(p.more.empty());
}

// SEMANTICS 103, 150
TEST(Function, AliasesArePartOfTheKind) {
  int runs = 0;
  Function both = [&](Variable& a, Variable& b) {
    ++runs;
    a.assign_add(1.f);
    b.assign_add(10.f);
    return a.value();
  };
  Variable x{0.f}, y{0.f};
  EXPECT_EQ(both(x, y).item<float>(), 1);
  EXPECT_EQ(both(x, x).item<float>(), 12);
  EXPECT_EQ(both(y, x).item<float>(), 11);
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(x.value().item<float>(), 22);
}

// A Variable that the body holds itself is not the one that is passed, even if it was while the body was traced.
TEST(Function, ACapturedVariableThatIsAlsoPassed) {
  Variable held{0.f}, other{0.f};
  Function f = [&](Variable& v) {
    held.assign_add(1.f);
    v.assign_add(10.f);
  };
  f(held);
  EXPECT_EQ(held.value().item<float>(), 11);
  f(other);
  EXPECT_EQ(held.value().item<float>(), 12);
  EXPECT_EQ(other.value().item<float>(), 10);
  f(held);
  EXPECT_EQ(held.value().item<float>(), 23);
  EXPECT_EQ(f.explain().traced, 2u);
}

// SEMANTICS 149
// PAIN 3
TEST(Function, AnOptimizerKnowsWhichNetItIsGiven) {
  Adam adam{{.learning_rate = 0.1f}}, reference{{.learning_rate = 0.1f}};
  Function step = [&](Weight& net) { train(adam, net); };
  Weight a, b, plain_a, plain_b;
  for (int i = 0; i < 3; ++i) step(a), train(reference, plain_a);
  step(b), train(reference, plain_b);
  step(a), train(reference, plain_a);
  EXPECT_EQ(a.w.value().item<float>(), plain_a.w.value().item<float>());
  EXPECT_EQ(b.w.value().item<float>(), plain_b.w.value().item<float>());
}

// --- transactions ---

// SEMANTICS 156
TEST(Function, ACallThatThrowsChangesNothing) {
  Variable v{1.f}, n{0};
  Pair p{1.f, 2.f};
  Function f = [&](Tensor i, Pair& q) {
    v.assign_add(1.f);
    n.assign_add(1);
    q.a = q.a + 1;
    return gather(Tensor({1.f, 2.f}), i);
  };
  EXPECT_THROW(f(Tensor(5), p), IndexError);
  EXPECT_EQ(v.version() + n.version(), 0u);
  EXPECT_EQ(p.a.item<float>(), 1);
  EXPECT_EQ(f(Tensor(1), p).item<float>(), 2);
  EXPECT_EQ(v.value().item<float>(), 2);
  EXPECT_EQ(p.a.item<float>(), 2);
}

TEST(Function, ATraceThatThrowsLeavesNothing) {
  Variable v{1.f};
  bool fails = true;
  Function f = [&](Tensor x) {
    v.assign(x);
    if (fails) throw std::runtime_error("no");
    return x;
  };
  EXPECT_THROW(f(3.f), std::runtime_error);
  EXPECT_EQ(v.version(), 0u);
  EXPECT_EQ(f.explain().traced, 0u);
  fails = false;
  EXPECT_EQ(f(3.f).item<float>(), 3);
  EXPECT_EQ(v.value().item<float>(), 3);
}

TEST(Function, InsideAtomicallyACallIsPartOfTheBlock) {
  Variable v{1.f};
  Function add = [&](Tensor x) { v.assign_add(x); };
  EXPECT_THROW(atomically([&] {
                 add(2.f);
                 EXPECT_EQ(v.value().item<float>(), 3);
                 EXPECT_EQ(v.read_latest().item<float>(), 1);
                 throw std::runtime_error("no");
               }),
               std::runtime_error);
  EXPECT_EQ(v.value().item<float>(), 1);
  atomically([&] { add(2.f), add(4.f); });
  EXPECT_EQ(v.value().item<float>(), 7);
  EXPECT_EQ(v.version(), 1u);
}

// SEMANTICS 159
TEST(Function, EagerlyItDoesTheSame) {
  for (const bool eager : {false, true}) {
    Variable v{1.f};
    int runs = 0;
    Function f{[&](Tensor x) { ++runs; v.assign_add(x); return v.value() * 2; }, {.run_eagerly = eager}};
    EXPECT_EQ(f(1.f).item<float>(), 4);
    EXPECT_EQ(f(1.f).item<float>(), 6);
    EXPECT_EQ(runs, eager ? 2 : 1);
    EXPECT_EQ(v.version(), 2u);
  }
}

// SEMANTICS 110, 111
TEST(Function, HundredThreadsMakeOneTraceAndLoseNothing) {
  Variable v{0.f};
  std::atomic<int> runs = 0;
  Function add = [&](Tensor x) {
    ++runs;
    v.assign_add(x);
  };
  std::vector<std::thread> threads;
  std::latch all_there(100);  // so that the first calls meet
  for (int t = 0; t < 100; ++t)
    threads.emplace_back([&] {
      all_there.arrive_and_wait();
      for (int i = 0; i < 10; ++i) add(1.f);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(v.value().item<float>(), 1000);
}

// --- Functions and tapes ---

// SEMANTICS 145, 148
TEST(Function, FunctionsCallFunctions) {
  int runs = 0;
  Variable v{1.f};
  Function inner = [&](Tensor x) { ++runs; v.assign_add(x); return x * v; };
  Function outer = [&](Tensor x) { return inner(x) + inner(x + 1); };
  EXPECT_EQ(outer(1.f).item<float>(), 2 + 2 * 4);
  EXPECT_EQ(v.value().item<float>(), 4);
  EXPECT_EQ(outer(1.f).item<float>(), 5 + 2 * 7);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(v.version(), 2u);
}

// SEMANTICS 157
TEST(Function, RecursionOnHostValuesEnds) {
  std::function<Tensor(Tensor, int)> self;
  Function power = [&](Tensor x, int n) -> Tensor { return n == 0 ? ones_like(x) : x * self(x, n - 1); };
  self = [&](Tensor x, int n) { return power(x, n); };
  EXPECT_EQ(power(2.f, 5).item<float>(), 32);
  const Tensor x = fill({}, 2.f);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = power(x, 5);
  EXPECT_EQ(tape.gradient(y, x).item<float>(), 80);
}

TEST(Function, ATapeSeesThroughACall) {
  Variable w{2.f};
  Function f = [&](Tensor x) { return x * w * w; };
  for (int i = 0; i < 2; ++i) {
    GradientTape tape;
    const Tensor y = f(3.f);
    EXPECT_EQ(y.item<float>(), 12);
    EXPECT_EQ(tape.gradient(y, w).item<float>(), 12);
  }
  EXPECT_EQ(f.explain().traced, 1u);
  GradientTape outer;
  GradientTape inner;
  const Tensor y = f(3.f);
  const Tensor dw = inner.gradient(y, w);
  EXPECT_EQ(outer.gradient(dw, w).item<float>(), 6);
}

// SEMANTICS 155
// PAIN 12
TEST(Function, ALeakedSymbolNamesItsLine) {
  Tensor leaked;
  const int line = __LINE__ + 1;
  Function f = [&](Tensor x) { leaked = x * 2; return x; };
  f(1.f);
  try {
    leaked + 1;
    FAIL();
  } catch (const TraceError& error) {
    EXPECT_EQ(error.location().line, line) << "the line that made it, not the one that uses it";
  }
  EXPECT_EQ(message<TraceError>([&] { leaked + 1; }),
            "add: an input f32[] was made while tracing and has no value outside; return it from the traced function.");
  Function g = [&](Tensor x) { return x + leaked; };
  EXPECT_EQ(message<TraceError>([&] { g(1.f); }),
            "add: a tensor f32[] of another trace is used; it has no value here, pass it as an argument or return it from the function that made it.");
}

TEST(Function, HostControlFlowOnASymbolIsRefused) {
  Function f = [](Tensor x) { return static_cast<bool>(x > 0) ? x : -x; };
  EXPECT_THROW(f(1.f), TraceError);
}

// PAIN 13
TEST(Function, AGeneratorGoesOnWhereItStopped) {
  Generator traced(7), eager(7);
  Function draw = [&] { return traced.normal({3}); };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(draw().to_vector<float>(), eager.normal({3}).to_vector<float>());
}

// PAIN 6
TEST(Function, TracesAreForgottenInTheOrderOfTheirUse) {
  int runs = 0;
  Function f{[&](Tensor x, int n) { ++runs; return x * n; }, {.max_traces = 2}};
  f(1.f, 1), f(1.f, 2), f(1.f, 1), f(1.f, 3);  // forgets 2
  EXPECT_EQ(runs, 3);
  f(1.f, 1);
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(f(1.f, 2).item<float>(), 2);
  EXPECT_EQ(runs, 4);
}

}  // namespace
}  // namespace weft::test
