// An assignment ends the way of a gradient to where the value came from: eagerly, in a trace, and for a tape around a traced call.
#include <gtest/gtest.h>

#include <functional>

#include "tests/support.h"
#include <weft/weft.h>

namespace weft::test {
namespace {

using Body = std::function<Tensor(Tensor)>;

struct Way {
  bool trainable, accessed, watched;  // of the Variable; by the tape, as all that are read; by name
  std::string str() const { return std::string(trainable ? "trainable" : "fixed") + (accessed ? ", accessed" : "") + (watched ? ", watched" : ""); }
};

std::vector<Way> ways() {
  std::vector<Way> all;
  for (const bool trainable : {true, false})
    for (const bool accessed : {true, false})
      for (const bool watched : {true, false}) all.push_back({trainable, accessed, watched});
  return all;
}

std::string text_of(const Tensor& gradient) { return gradient.defined() ? gradient.str() : "none"; }

// The gradients with respect to x and to the Variable.
std::vector<std::string> gradients(const Body& f, const Variable& v, const Way& way, const Tensor& x) {
  GradientTape tape({.persistent = true, .watch_accessed_variables = way.accessed});
  tape.watch(x);
  if (way.watched) tape.watch(v);
  const Tensor y = f(x);
  const GradientOptions none{.unconnected = Unconnected::kNone};
  return {text_of(tape.gradient(y, x, none)), text_of(tape.gradient(y, v, none))};
}

// Programs that assign to v what they make of x, and read it.
std::vector<std::pair<const char*, std::function<Tensor(Variable&, Tensor)>>> programs() {
  return {
      {"once", [](Variable& v, Tensor x) { return v.assign(x * 2), v * v + x; }},
      {"after a read", [](Variable& v, Tensor x) {
         const Tensor before = v * x;
         v.assign_add(x);
         return before + v * v * x;
       }},
      {"in a branch", [](Variable& v, Tensor x) {
         return cond(x > 0.f, [&] { return v.assign(x * 2), v * v + x; }, [&] { return x + v; });
       }},
      {"for a branch", [](Variable& v, Tensor x) {
         v.assign(x * 2);
         return cond(x > 0.f, [&] { return v * v + x; }, [&] { return x + v; });
       }},
      {"in a loop", [](Variable& v, Tensor x) {
         return fold([&](Tensor s, Tensor row) { return v.assign_add(x * row), s + v * v * x; }, Tensor(0.f), Tensor{1.f, 2.f});
       }},
  };
}

TEST(FunctionCut, ATapeAroundACallSeesWhatItSeesEagerly) {
  const Tensor x = fill({}, 3.f);
  for (const auto& [what, program] : programs())
    for (const Way& way : ways()) {
      Variable v{1.f, {.trainable = way.trainable}};
      const Body body = [&, run = program](Tensor t) { return run(v, t); };
      const auto outcome = [&](const Body& f) {
        v.assign(1.f);
        return gradients(f, v, way, x);
      };
      const Function f{body}, around{[&](Tensor t) { return f(t); }};
      const std::vector<std::string> wanted = outcome(body);
      EXPECT_EQ(outcome(f), wanted) << what << ", " << way.str();
      EXPECT_EQ(outcome(f), wanted) << what << ", again, " << way.str();
      EXPECT_EQ(outcome(around), wanted) << what << ", in another Function, " << way.str();
    }
}

TEST(FunctionCut, ATapeInATraceSeesWhatItSeesEagerly) {
  const Tensor x = fill({}, 3.f);
  for (const auto& [what, program] : programs())
    for (const Way& way : ways()) {
      Variable v{1.f, {.trainable = way.trainable}};
      const auto body = [&, run = program](Tensor t) {
        GradientTape tape({.persistent = true, .watch_accessed_variables = way.accessed});
        tape.watch(t);
        if (way.watched) tape.watch(v);
        const Tensor y = run(v, t);
        const GradientOptions none{.unconnected = Unconnected::kNone};
        const Tensor dx = tape.gradient(y, t, none), dv = tape.gradient(y, v, none), missing = fill({}, -1.f);
        return std::pair(dx.defined() ? dx : missing, dv.defined() ? dv : missing);
      };
      const auto outcome = [&](const auto& f) {
        v.assign(1.f);
        const auto [dx, dv] = f(x);
        return dx.str() + " " + dv.str();
      };
      const Function f{body};
      EXPECT_EQ(outcome(f), outcome(body)) << what << ", " << way.str();
    }
}

TEST(FunctionCut, AnAccumulatorAroundACallSeesWhatItSeesEagerly) {
  const Tensor x = fill({}, 3.f);
  for (const auto& [what, program] : programs())
    for (const bool trainable : {true, false}) {
      Variable v{1.f, {.trainable = trainable}};
      const Body body = [&, run = program](Tensor t) { return run(v, t); };
      const auto outcome = [&](const Body& f) {
        v.assign(1.f);
        ForwardAccumulator forward(x, fill({}, 1.f));
        const Tensor y = f(x);
        return forward.jvp(y).str();
      };
      const Function f{body};
      EXPECT_EQ(outcome(f), outcome(body)) << what << (trainable ? ", trainable" : ", fixed");
    }
}

// What is not trainable and not watched needs no body at each call.
TEST(FunctionCut, ATracedCallStaysOne) {
  int runs = 0;
  Variable mean{0.f, {.trainable = false}};
  const Function f{[&](Tensor x) { return ++runs, mean.assign(mean * 0.5f + x * 0.5f), x * mean; }};
  const Tensor x = fill({}, 2.f);
  for (const float wanted : {1.f, 1.5f, 1.75f}) {
    GradientTape tape;
    tape.watch(x);
    EXPECT_EQ(number(tape.gradient(f(x), x)), wanted);
  }
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace weft::test
