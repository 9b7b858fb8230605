// What a program refuses eagerly its trace refuses, too, when sizes come that were not known while tracing; and nothing is computed for that.
#include <gtest/gtest.h>

#include <functional>
#include <typeinfo>

#include "graph/passes.h"
#include "tests/support.h"
#include <weft/compat/v1.h>
#include <weft/weft.h>

namespace weft::test {
namespace {

using Body = std::function<Tensor(Tensor)>;

// The class of an error, what it says and the line; or the result.
std::string outcome(const Body& body, const Tensor& x) {
  try {
    return body(x).str();
  } catch (const Error& error) {
    return std::string(typeid(error).name()) + " " + error.message() + " at line " + std::to_string(error.location().line);
  }
}

FunctionOptions unknown_sizes(int rank = 1) {
  FunctionOptions options;
  options.signature = {Spec{f32, Shape(Ints(static_cast<std::size_t>(rank), kUnknown))}};
  return options;
}

const Tensor kShort = ones({2}), kLong = ones({4});
const Tensor kThree{1.f, -1.f, 2.f, 3.f}, kTwo{1.f, -1.f, 2.f, -3.f};  // so many are positive

Tensor first_three(const Tensor& x) { return slice(x, {0}, {3}); }

TEST(FunctionRules, RefuseAsTheEagerCallDoes) {
  const Body body = [](Tensor x) { return first_three(x) * 2; };
  Function f{body, unknown_sizes()};
  EXPECT_EQ(f(kLong).str(), body(kLong).str());
  EXPECT_EQ(outcome(f, kShort), outcome(body, kShort));
  try {
    f(kShort);
    FAIL();
  } catch (const IndexError& error) {
    EXPECT_EQ(error.message(), "slice: begin 0 and size 3 reach beyond axis 0 of x f32[2]; use a smaller size or -1.");
  }
  EXPECT_EQ(f(kLong).str(), body(kLong).str());
  EXPECT_EQ(f.explain().traced, 1u);
}

TEST(FunctionRules, HoldWhereverTheCallStands) {
  Function inner{[](Tensor x) { return first_three(x); }, unknown_sizes()};
  const ConcreteFunction only = inner.trace(Spec{f32, {kUnknown}});
  const std::vector<std::pair<const char*, Body>> bodies = {
      {"nobody needs the result", [](Tensor x) { return first_three(x), x; }},
      {"nor what it is made of", [](Tensor x) { return first_three(exp(x + x)), x; }},
      {"in both branches", [](Tensor x) { return cond(sum(x) > 0.f, [&] { return first_three(x); }, [&] { return first_three(x) * 2; }); }},
      {"in branches that nobody needs", [](Tensor x) { return cond(sum(x) > 0.f, [&] { return first_three(x); }, [&] { return first_three(x); }), x; }},
      {"in a loop", [](Tensor x) { return fold([&](Tensor s, Tensor row) { return s + sum(first_three(x)) * row; }, Tensor(0.f), Tensor{1.f, 2.f}); }},
      {"in a Function", [=](Tensor x) { return inner(x); }},
      {"in a concrete one", [=](Tensor x) { return only(x); }},
      {"under a tape", [](Tensor x) {
         GradientTape tape;
         tape.watch(x);
         const Tensor y = sum(square(first_three(x)));
         return tape.gradient(y, x);
       }},
      {"under a tape, for its gradient alone", [](Tensor x) {
         GradientTape tape;
         tape.watch(x);
         const Tensor y = cond(sum(x) > 0.f, [&] { return sum(first_three(x)); }, [&] { return sum(x); });
         return tape.gradient(y, x);
       }},
      {"under an accumulator", [](Tensor x) {
         ForwardAccumulator forward(x, ones_like(x));
         const Tensor y = square(first_three(x));
         return forward.jvp(y);
       }},
      {"in a Jacobian", [](Tensor x) {
         GradientTape tape({.persistent = true});
         tape.watch(x);
         const Tensor y = ensure_shape(square(first_three(x)), {3});
         return tape.jacobian(y, x);
       }},
  };
  for (const auto& [what, body] : bodies) {
    const std::string wanted = outcome(body, kShort);
    EXPECT_NE(wanted.find("slice: "), std::string::npos) << what << ": " << wanted;
    for (const Pass& pass : passes()) {
      FunctionOptions options = unknown_sizes();
      options.without = {pass.name};
      Function f{body, options};
      EXPECT_EQ(outcome(f, kLong), outcome(body, kLong)) << what << ", without " << pass.name;
      EXPECT_EQ(outcome(f, kShort), wanted) << what << ", without " << pass.name;
    }
    FunctionOptions options = unknown_sizes();
    options.check_numerics = true;
    Function guarded{body, options};
    EXPECT_EQ(outcome(guarded, kLong), outcome(body, kLong)) << what << ", guarded";
    EXPECT_EQ(outcome(guarded, kShort), wanted) << what << ", guarded";
    Function f{body, unknown_sizes()}, outer{[=](Tensor x) { return f(x) * 1.f; }, unknown_sizes()};
    EXPECT_EQ(outcome(outer, kShort), wanted) << what << ", in another Function";
  }
}

TEST(FunctionRules, HoldUnderATapeAndAnAccumulatorAroundTheCall) {
  const auto around = [](const Body& f) -> Body {
    return [=](Tensor x) {
      GradientTape tape;
      tape.watch(x);
      const Tensor y = f(x);
      return tape.gradient(y, x);
    };
  };
  const auto forward = [](const Body& f) -> Body {
    return [=](Tensor x) {
      ForwardAccumulator moved(x, ones_like(x));
      const Tensor y = f(x);
      return moved.jvp(y);
    };
  };
  const Body body = [](Tensor x) { return first_three(exp(x)), square(first_three(x)); };
  const Function f{body, unknown_sizes()};
  for (const auto& way : {Body(around(f)), Body(forward(f))}) {
    EXPECT_EQ(outcome(way, kShort), outcome(body, kShort));
    EXPECT_NO_THROW(way(kLong));
  }
  EXPECT_EQ(outcome(around(f), kLong), outcome(around(body), kLong));
  EXPECT_EQ(outcome(forward(f), kLong), outcome(forward(body), kLong));
}

// SEMANTICS 151: also of sizes that were not known while tracing
TEST(FunctionRules, DeadCallsHideNothingAndCostNothing) {
  const auto body = [](Tensor a, Tensor b) {
    matmul(exp(a), b);
    return a * 2;
  };
  const Spec square{f32, {kUnknown, kUnknown}};
  Function f{body, {.signature = {square, square}}};
  f(ones({2, 3}), ones({3, 2}));
  const FunctionReport::Trace trace = f.explain().traces[0];
  EXPECT_EQ(trace.ops, 1u);
  ASSERT_EQ(trace.steps.size(), 1u);
  EXPECT_EQ(trace.steps[0].ops, std::vector<std::string>{"multiply"});
  try {
    f(ones({2, 3}), ones({2, 2}));
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.op(), "matmul");
  }
}

TEST(FunctionRules, AreNotKeptOfSizesThatAreKnown) {
  Function f = [](Tensor x) { return first_three(x) + first_three(exp(x)), x * 2; };
  f(kLong);
  EXPECT_EQ(f.graph().str().find("check"), std::string::npos) << f.graph().str();
  Function g{[](Tensor x) { return first_three(x) + first_three(x); }, unknown_sizes()};
  g(kLong);
  const std::string text = g.graph().str();
  const std::size_t first = text.find("check slice(%0, begin=[0], size=[3])");
  EXPECT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("check", first + 1), std::string::npos) << text;  // the second is the same
  EXPECT_EQ(g.explain().traces[0].ops, 2u);
  EXPECT_NE(g.graph().html().find("2 ops, 2 steps"), std::string::npos);
}

TEST(FunctionRules, AreAppliedWhereValuesDecideSizes) {
  const auto body = [](Tensor x) { return first_three(boolean_mask(x, x > 0.f)) * 2; };
  Function f = body;
  EXPECT_EQ(f(kThree).str(), body(kThree).str());
  EXPECT_EQ(outcome(f, kTwo), outcome(body, kTwo));
  EXPECT_NE(outcome(f, kTwo).find("slice: begin 0 and size 3"), std::string::npos);
  EXPECT_EQ(f(kThree).str(), body(kThree).str());
  EXPECT_NE(f.explain().str().find("4 ops in 4 steps"), std::string::npos) << f.explain();
  EXPECT_NE(f.graph().html().find("4 ops, 4 steps"), std::string::npos);
  f.profile(1);
  f(kThree);
  const FunctionReport report = f.explain();
  EXPECT_EQ(report.traces[0].steps.size(), 4u);
  for (const FunctionReport::Step& step : report.traces[0].steps) EXPECT_GT(step.microseconds, 0) << step.ops[0];
}

TEST(FunctionRules, OnSizesThatValuesDecideHoldForCallsThatNobodyNeeds) {
  const auto positive = [](Tensor x) { return boolean_mask(x, x > 0.f); };
  const std::vector<std::pair<const char*, Body>> bodies = {
      {"at once", [=](Tensor x) { return first_three(positive(x)), x; }},
      {"behind other calls", [=](Tensor x) { return first_three(exp(positive(x) * 2)), x; }},
      {"beside what nobody computes", [=](Tensor x) { return first_three(positive(x)) + exp(x(range(0, 3))), x; }},
      {"of sizes twice decided", [=](Tensor x) { return first_three(positive(positive(x) - 0.5f)), x; }},
      {"beside one that is needed", [=](Tensor x) {
         const Tensor y = positive(x);
         return first_three(exp(y)), y;
       }},
      {"in a branch", [=](Tensor x) { return cond(sum(x) > -9.f, [&] { return first_three(positive(x)), x; }, [&] { return x; }); }},
      {"of a branch", [=](Tensor x) { return first_three(cond(sum(x) > -9.f, [&] { return positive(x); }, [&] { return x; })), x; }},
      {"in a loop", [=](Tensor x) { return fold([&](Tensor s, Tensor row) { return first_three(exp(positive(x * row))), s + row; }, Tensor(0.f), Tensor{1.f, 2.f}); }},
      {"under a tape", [=](Tensor x) {
         GradientTape tape;
         tape.watch(x);
         const Tensor y = sum(square(x));
         first_three(positive(x));
         return tape.gradient(y, x);
       }},
  };
  for (const auto& [what, body] : bodies) {
    const std::string wanted = outcome(body, kTwo);
    EXPECT_NE(wanted.find("slice: begin 0 and size 3"), std::string::npos) << what << ": " << wanted;
    const auto around = [](const Body& f) -> Body {
      return [=](Tensor x) {
        GradientTape tape;
        tape.watch(x);
        const Tensor y = f(x);
        return tape.gradient(y, x, {.unconnected = Unconnected::kZeros});
      };
    };
    for (const FunctionOptions& options : {FunctionOptions(), unknown_sizes()}) {
      for (const Pass& pass : passes()) {
        FunctionOptions without = options;
        without.without = {pass.name};
        Function f{body, without};
        EXPECT_EQ(outcome(f, kThree), outcome(body, kThree)) << what << ", without " << pass.name;
        EXPECT_EQ(outcome(f, kTwo), wanted) << what << ", without " << pass.name;
      }
      Function f{body, options};
      EXPECT_EQ(outcome(around(f), kThree), outcome(around(body), kThree)) << what;
      EXPECT_EQ(outcome(around(f), kTwo), wanted) << what;
    }
  }
}

// What a rule reads only for its size, which is known, stays in the tile that makes it.
TEST(FunctionRules, MakeNoRoomForWhatTheyRead) {
  const auto body = [](Tensor x, bool looks) {
    const Tensor part = exp(x), mask = x > 0.f;
    if (looks) part + boolean_mask(x, mask);
    return std::pair(part * 2, boolean_mask(x, mask));
  };
  Function looks = [=](Tensor x) { return body(x, true); }, plain = [=](Tensor x) { return body(x, false); };
  const Tensor x = ones({4096});
  looks(x), plain(x);
  EXPECT_THROW(looks(arange(0.f, 4096.f, 1.f)), ShapeError);
  const FunctionReport::Trace with = looks.explain().traces[0], without = plain.explain().traces[0];
  EXPECT_EQ(with.arena_bytes, without.arena_bytes) << looks.explain();
  EXPECT_EQ(with.steps.size(), without.steps.size()) << looks.explain();
}

// Whoever else sees the calls on their way to the graph.
TEST(FunctionRules, HoldInGraphsOfTheOldWay) {
  namespace v1 = compat::v1;
  const Function f{[](Tensor x) { return std::pair(first_three(x) * 2, x + 1); }, unknown_sizes()};
  Variable calls{0.f, {.name = "calls"}};
  const Function g{[&](Tensor x) { return calls.assign_add(1.f), first_three(x); }, unknown_sizes()};
  const std::vector<std::pair<const char*, Body>> ways = {
      {"alone", first_three},
      {"in a row of parts", [](Tensor x) { return mean(first_three(x)); }},
      {"under a tape", [](Tensor x) {
         GradientTape tape;
         tape.watch(x);
         return first_three(x);
       }},
      {"under two", [](Tensor x) {
         GradientTape outer, tape;
         outer.watch(x), tape.watch(x);
         return first_three(x);
       }},
      {"for its gradient", [](Tensor x) {
         GradientTape tape;
         tape.watch(x);
         const Tensor y = sum(square(first_three(x)));
         return tape.gradient(y, x);
       }},
      {"under an accumulator", [](Tensor x) {
         ForwardAccumulator forward(x, ones_like(x));
         return first_three(x);
       }},
      {"for a derivative", [](Tensor x) {
         ForwardAccumulator forward(x, ones_like(x));
         const Tensor y = square(first_three(x));
         return forward.jvp(y);
       }},
      {"in a Jacobian", [](Tensor x) {
         const auto own = custom_gradient([](Tensor y) {
           return std::pair(stack({sum(y), sum(y)}), [=](Tensor dy) { return y * sum(first_three(y * sum(dy))); });
         });
         GradientTape tape;
         tape.watch(x);
         const Tensor y = own(x);
         return tape.jacobian(y, x);
       }},
      {"in a Function", [=](Tensor x) { return f(x).first; }},
      {"for another result of a Function", [=](Tensor x) { return f(x).second; }},
      {"in a Function under a tape", [=](Tensor x) {
         GradientTape tape;
         tape.watch(x);
         return f(x).first;
       }},
      {"in a Function that writes", [=](Tensor x) { return g(x); }},
  };
  for (const auto& [what, way] : ways) {
    SCOPED_TRACE(what);
    const std::string wanted = way(kLong).str();
    v1::Graph graph;
    v1::Session session(graph);
    const v1::GraphScope scope = graph.as_default();
    const Tensor x = v1::placeholder(f32, {kUnknown}), part = way(x), other = x * 2;
    session.run(v1::global_variables_initializer());
    EXPECT_EQ(session.run(part, {{x, kLong}}).str(), wanted);
    EXPECT_THROW(session.run(part, {{x, kShort}}), IndexError);
    EXPECT_NO_THROW(session.run(other, {{x, kShort}}));  // who does not want it does not run it
  }
}

}  // namespace
}  // namespace weft::test
