// {.run_eagerly = true}: the body runs at each call, and may do what a traced one may.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <thread>

#include "tests/function_types.h"

namespace weft {
namespace {

using test::message;
using test::number;

struct Things {
  Variable v{1.f};
  Tensor t = 1.f;
  int n = 0;
  std::vector<Tensor> list{1.f, 2.f};
  std::map<std::string, Tensor> map{{"a", 1.f}};
  std::optional<Tensor> maybe{};
  Tensor none{};
};

TEST(FunctionEager, ItRefusesOfArgumentsWhatATraceRefuses) {
  using Body = void (*)(Things&);
  const std::pair<Body, const char*> cases[] = {
      {[](Things& s) { ++s.n; }, "`s.n` is changed from 0 to 1"},
      {[](Things& s) { s.list.push_back(3.f); }, "`s.list` is changed from holds 2 elements to holds 3 elements"},
      {[](Things& s) { s.list.insert(s.list.begin(), 100.f); }, "`s.list` is changed from holds 2 elements to holds 3 elements"},
      {[](Things& s) { s.list.erase(s.list.begin()); }, "`s.list` is changed from holds 2 elements to holds 1 elements"},
      {[](Things& s) { s.map["b"] = 2.f; }, "`s.map` is changed from holds 1 elements to holds 2 elements"},
      {[](Things& s) { s.maybe = 1.f; }, "`s.maybe` is changed from nothing to f32[]"},
      {[](Things& s) { s.none = 1.f; }, "`s.none` is changed from undefined to f32[]"},
      {[](Things& s) { s.t = {}; }, "`s.t` is changed from f32[] to undefined"},
      {[](Things& s) { s.t = cast(s.t, f64); }, "`s.t` is changed from f32[] to f64[]"},
      {[](Things& s) { s.v = Variable(5.f); }, "a Variable in an argument is replaced by another one, not assigned to"},
  };
  for (const bool eager : {false, true})
    for (const auto& [change, sentence] : cases) {
      Things s;
      const Variable v = s.v;
      Variable outside{1.f};
      Function f{[&, change = change](Things& given) {
                   given.v.assign_add(1.f);
                   outside.assign_add(1.f);
                   given.list[1] = given.list[1] * 7;
                   change(given);
                 },
                 {.name = "f", .args = {"s"}, .run_eagerly = eager}};
      EXPECT_EQ(message<TraceError>([&] { f(s); }),
                std::string("f: ") + sentence + " by the body, which later calls would not do; return the new value, or hold it in a Variable.");
      EXPECT_EQ(v.version() + outside.version(), 0u) << sentence;
      EXPECT_TRUE(s.v.same_slot(v));
      EXPECT_EQ(s.n, 0);
      ASSERT_EQ(s.list.size(), 2u);
      EXPECT_EQ(number(s.list[1]), 2) << sentence;
      EXPECT_EQ(number(s.t), 1);
      EXPECT_TRUE(s.map.size() == 1 && !s.maybe && !s.none.defined());
    }
}

TEST(FunctionEager, WhatReplacesATensorGoesToItsPlace) {
  for (const bool eager : {false, true}) {
    Things s;
    Function f{[](Things& given, Tensor x) {
                 std::swap(given.list[0], given.list[1]);
                 given.map["a"] = given.map["a"] + x;
               },
               {.run_eagerly = eager}};
    for (int call = 0; call < 3; ++call) f(s, 10.f);
    EXPECT_FALSE(s.none.defined());
    EXPECT_EQ(number(s.list[0]), 2);
    EXPECT_EQ(number(s.list[1]), 1);
    EXPECT_EQ(number(s.map["a"]), 31);
    EXPECT_EQ(number(s.t), 1);
  }
}

TEST(FunctionEager, ABodyThatRunsAgainBeginsWithTheArguments) {
  Variable v{1.f};
  Tensor t = 1.f;
  int runs = 0;
  Function f{[&](Tensor& given) {
               given = given + v;
               v.assign_add(1.f);
               if (++runs == 1) std::thread([&] { v.assign(100.f); }).join();
             },
             {.run_eagerly = true}};
  f(t);
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(number(t), 101);
  EXPECT_EQ(number(v), 101);
}

TEST(FunctionEager, AnOptimizerInAnArgumentMakesItsVariables) {
  struct Trainer {
    test::Weight net;
    Adam adam;
  };
  std::vector<float> seen[2];
  for (const bool eager : {false, true}) {
    Trainer trainer;
    Function step{[](Trainer& t) { test::train(t.adam, t.net); }, {.run_eagerly = eager}};
    for (int call = 0; call < 3; ++call) step(trainer), seen[eager].push_back(trainer.net.w.value().item<float>());
  }
  EXPECT_EQ(seen[0], seen[1]);
}

TEST(FunctionEager, ATensorBehindAPointerIsRefusedAsInATrace) {
  for (const bool eager : {false, true}) {
    auto tensor = std::make_shared<Tensor>(1.f);
    Function f{[](std::shared_ptr<Tensor> p) { *p = *p + 1; }, {.name = "f", .args = {"p"}, .run_eagerly = eager}};
    EXPECT_EQ(message<TraceError>([&] { f(tensor); }),
              "f: `p` is a Tensor behind a pointer, or in an object that cannot be copied, so the body would work on it and not on a copy; pass it as an "
              "argument of its own, or hold it in a Variable.");
    EXPECT_EQ(number(*tensor), 1);
  }
}

// --- one Tensor for two arguments ---

TEST(FunctionEager, OneTensorPassedTwiceIsRefusedIfItIsReplaced) {
  for (const bool eager : {false, true}) {
    Variable v{0.f};
    Function f{[&](Tensor& a, Tensor& b) {
                 v.assign_add(1.f);
                 a = a + 1;
                 b = b * 10;
               },
               {.name = "f", .args = {"a", "b"}, .run_eagerly = eager}};
    const auto refused = [&](Tensor& t) {
      EXPECT_EQ(message<TraceError>([&] { f(t, t); }),
                "f: argument 0 `a` and argument 1 `b` are the same Tensor, and the body replaces it, so that one of two values would be lost; "
                "pass two Tensors.");
    };
    Tensor t = 1.f, one = 1.f, two = t;
    refused(t);
    EXPECT_EQ(number(t), 1);
    EXPECT_EQ(number(v), 0);
    f(one, two);
    EXPECT_EQ(number(one), 2);
    EXPECT_EQ(number(two), 10);
    refused(t);
    EXPECT_EQ(number(t), 1);
    EXPECT_EQ(number(v), 1);
    Function reads{[](Tensor& a, Tensor& b) { return a + b; }, {.run_eagerly = eager}};
    EXPECT_EQ(number(reads(t, t)), 2);
    Function only_one{[](Tensor& a, const Tensor& b) { a = a + b; }, {.run_eagerly = eager}};
    only_one(t, t);
    EXPECT_EQ(number(t), 2);
    Things s;
    Function lists{[](std::vector<Tensor>& a, Things& b) { b.list[1] = b.list[1] + a[0]; }, {.name = "f", .args = {"a", "b"}, .run_eagerly = eager}};
    EXPECT_TRUE(message<TraceError>([&] { lists(s.list, s); }).starts_with("f: argument 0 `a.1` and argument 1 `b.list.1` are the same Tensor"));
    EXPECT_EQ(number(s.list[1]), 2);
  }
}

// --- check_numerics ---

TEST(FunctionEager, AGuardMindsWhatTheBodyMakes) {
  for (const bool eager : {false, true}) {
    Variable v{0.f}, before{0.f};
    Function f{[&](Tensor x) { v.assign(log(x)); }, {.check_numerics = true, .run_eagerly = eager}};
    const int line = __LINE__ - 1;
    try {
      f(-1.f);
      ADD_FAILURE() << eager;
    } catch (const NumericError& error) {
      EXPECT_EQ(error.message(), "check_numerics: the result of log f32[] has 1 NaN and 0 infinite elements, the first at position 0; "
                                 "look at what went into it.");
      EXPECT_EQ(error.location().line, line);
    }
    EXPECT_EQ(number(v), 0);
    f(std::exp(1.f));
    EXPECT_EQ(number(v), 1);
    EXPECT_THROW(atomically([&] { before.assign(1.f), f(-1.f); }), NumericError);
    EXPECT_EQ(number(before), 0);
    EXPECT_TRUE(std::isnan(number(log(Tensor(-1.f))))) << "nobody looks any more";
  }
}

TEST(FunctionEager, AGuardMindsWhatCalledFunctionsAndTracesAroundDo) {
  for (const bool eager : {false, true}) {
    Function loop = [](Tensor x) { return fold([](Tensor a, Tensor row) { return a + sqrt(row); }, 0.f, x); };
    EXPECT_TRUE(std::isnan(number(loop(Tensor({1.f, -1.f})))));
    Function f{[&](Tensor x) { return minimum(loop(x), 1.f); }, {.check_numerics = true, .run_eagerly = eager}};
    EXPECT_EQ(number(f(Tensor({1.f, 4.f}))), 1);
    EXPECT_THROW(f(Tensor({1.f, -4.f})), NumericError);
    Function around = [&](Tensor x) { return f(x) * 2.f; };
    EXPECT_EQ(number(around(Tensor({1.f, 4.f}))), 2);
    EXPECT_THROW(around(Tensor({1.f, -4.f})), NumericError);
    const Tensor x({4.f, 9.f});
    GradientTape tape;
    tape.watch(x);
    EXPECT_EQ(number(sum(tape.gradient(f(x) * 2.f, x))), 0);
  }
}

TEST(FunctionEager, AGuardMindsWhatIsWritten) {
  for (const bool eager : {false, true}) {
    Variable v{1.f, {.name = "v"}}, early{1.f};
    Things s;
    Function f{[&](Tensor x) { v.assign(x); }, {.check_numerics = true, .run_eagerly = eager}};
    const int line = __LINE__ - 1;
    Function passed{[](Things& given, Tensor x) { given.v.assign(x); }, {.args = {"s", "x"}, .check_numerics = true, .run_eagerly = eager}};
    Function around = [&](Tensor x) { f(x); };
    const float nan = std::nanf("");
    try {
      f(nan);
      ADD_FAILURE() << eager;
    } catch (const NumericError& error) {
      EXPECT_EQ(error.message(), "check_numerics: the value that assign gives Variable \"v\" f32[] has 1 NaN and 0 infinite elements, the first at position 0; "
                                 "look at what went into it.");
      EXPECT_EQ(error.location().line, line);
    }
    EXPECT_EQ(v.version(), 0u);
    EXPECT_TRUE(message<NumericError>([&] { passed(s, nan); }).starts_with("check_numerics: the value that assign gives s.v f32[] has 1 NaN"));
    EXPECT_THROW(around(nan), NumericError);
    EXPECT_EQ(v.version() + s.v.version(), 0u);
    atomically([&] { early.assign(nan), f(2.f); });  // what was written before the call is none of its business
    EXPECT_EQ(number(v), 2);
    passed(s, 3.f), around(4.f);
    EXPECT_EQ(number(s.v) + number(v), 7);
  }
}

TEST(FunctionEager, AGuardKnowsWhatAnArgumentHeldBeforeItGrew) {
  struct Layers {
    std::unique_ptr<int> tag{};  // so that there is no copy
    std::vector<Variable> v{Variable{1.f}};
  };
  const std::string sentence = "check_numerics: the value that assign gives l.v.0 f32[] has 1 NaN";
  Layers grows, twice;
  Function f{[](Layers& l, Tensor x) {
               l.v.push_back(Variable{1.f});
               l.v[0].assign(x);
             },
             {.args = {"l", "x"}, .check_numerics = true, .run_eagerly = true}};
  EXPECT_EQ(message<NumericError>([&] { f(grows, std::nanf("")); }).substr(0, sentence.size()), sentence);
  int runs = 0;
  Function again{[&](Layers& l) {
                   l.v.push_back(Variable{1.f});
                   Variable first = l.v[0];
                   const Tensor now = first;
                   if (++runs == 1) std::thread([&] { first.assign_add(1.f); }).join();
                   first.assign(runs == 1 ? now : Tensor(std::nanf("")));
                 },
                 {.args = {"l"}, .check_numerics = true, .run_eagerly = true}};
  EXPECT_EQ(message<NumericError>([&] { again(twice); }).substr(0, sentence.size()), sentence);
  EXPECT_EQ(runs, 2) << "the first try grew it, too";
}

TEST(FunctionEager, AGuardMindsOnlyWhatLastsAndChangesInPlace) {
  for (const bool eager : {false, true}) {
    Variable v{ones({100000})};
    Function f{[&](Tensor x) {
                 Variable mine{0.f, {.local = true}};
                 mine.assign(x * 0.f + std::nanf(""));
                 v.assign_add(broadcast_to(x, {100000}));
                 return x;
               },
               {.run_eagerly = eager}};
    Function guarded{[&](Tensor x) {
                       Variable mine{0.f, {.local = true}};
                       mine.assign(x);
                       v.assign_add(broadcast_to(x, {100000}));
                     },
                     {.check_numerics = true, .run_eagerly = eager}};
    f(1.f), guarded(2.f), guarded(3.f);
    EXPECT_EQ(v.value().to_vector<float>(), std::vector<float>(100000, 7.f));
    EXPECT_THROW(guarded(std::numeric_limits<float>::infinity()), NumericError);
    EXPECT_EQ(v.value().to_vector<float>(), std::vector<float>(100000, 7.f));
  }
}

}  // namespace
}  // namespace weft
