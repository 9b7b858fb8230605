// Functions whose Variables are each other's, and Functions in Functions: small programs that once meant something else when traced.
#include <gtest/gtest.h>

#include "tests/support.h"
#include <weft/weft.h>

namespace weft {
namespace {

using test::number;

// The inner body is given a Variable that it also holds, and one that stands in for an argument only while the outer body is traced.
TEST(FunctionAliases, AnInnerFunctionHoldsWhatItIsGiven) {
  Variable held{1.f}, other{2.f};
  Function inner = [&](Variable a, Variable b) { return held.assign_add(1.f).value() + a + b; };
  Function outer = [&](Variable a, Tensor x) { return inner(a, held) + sum(x); };
  EXPECT_EQ(number(outer(other, zeros({1}))), 6);
  EXPECT_EQ(number(outer(other, zeros({2}))), 8);
  EXPECT_EQ(number(outer(other, zeros({3}))), 10);
}

TEST(FunctionAliases, AnInnerFunctionWritesTheValueThatWasThere) {
  Variable v{1.f};
  Function inner = [&] { v.assign(v); };
  Function outer = [&] { inner(); };
  outer();
  EXPECT_EQ(v.version(), 1u);
  atomically([&] { inner(); });
  EXPECT_EQ(v.version(), 2u);
}

// What is read behind a write is followed like any other read.
TEST(FunctionAliases, ATapeAroundACallSeesReadsBehindWrites) {
  Variable v{3.f};
  const auto body = [&](Tensor x) {
    v.assign(x);
    return v * v;
  };
  Function traced = body;
  for (int call = 0; call < 2; ++call) {
    GradientTape eager;
    const Tensor by_hand = eager.gradient(body(5.f), v);
    GradientTape tape;
    EXPECT_EQ(number(tape.gradient(traced(5.f), v)), number(by_hand)) << call;
    EXPECT_EQ(number(by_hand), 10);
  }
  Function outer = [&](Tensor x) {
    GradientTape tape;
    return tape.gradient(traced(x), v);
  };
  EXPECT_EQ(number(outer(7.f)), 14);
}

// The trace for two Variables has no use for what it has read of the captured one; for one Variable it is everything.
TEST(FunctionAliases, ACapturedVariableIsPassedLater) {
  Variable held{3.f}, other{2.f};
  Function slope = [&](Variable v) {
    GradientTape tape;
    return tape.gradient(held * held, v, {.unconnected = Unconnected::kZeros});
  };
  EXPECT_EQ(number(slope(other)), 0);
  EXPECT_EQ(number(slope(held)), 6);
  Function reversed = [&](Variable v) {
    GradientTape tape;
    const std::vector<Grad> grads = tape.gradients({v * v}, {held}, {.unconnected = Unconnected::kNone});
    return grads[0].present() ? grads[0].dense() : Tensor(0.f);
  };
  EXPECT_EQ(number(reversed(other)), 0);
  EXPECT_EQ(number(reversed(held)), 6);
}

TEST(FunctionAliases, AVariableThatAnInnerFunctionHoldsIsPassedLater) {
  Variable held{3.f}, other{2.f};
  Function inner = [&](Variable v) {
    GradientTape tape;
    return tape.gradient(held * held, v, {.unconnected = Unconnected::kZeros});
  };
  Function between = [](Variable a, Variable b) {
    GradientTape tape;
    return tape.gradient(a * a, b, {.unconnected = Unconnected::kZeros});
  };
  Function outer = [&](Variable v) { return inner(v) + between(held, v); };
  EXPECT_EQ(number(outer(other)), 0);
  EXPECT_EQ(number(outer(held)), 12);
}

// Nothing is left of the write but what was read behind it.
TEST(FunctionAliases, AnUndoneWriteIsSeenByWhoeverReadsMeanwhile) {
  struct Undo {};
  Variable held{3.f}, other{2.f};
  const auto body = [&](Tensor x, Variable given) {
    Tensor read;
    try {
      atomically([&] {
        held.assign(-x);
        read = given;
        throw Undo{};
      });
    } catch (const Undo&) {
    }
    return read;
  };
  Function traced = body;
  EXPECT_EQ(number(atomically([&] { return body(5.f, held); })), -5);
  EXPECT_EQ(number(traced(5.f, other)), 2);  // the trace for this one does not fit the next call
  EXPECT_EQ(number(traced(5.f, held)), -5);
  Function first = body;
  EXPECT_EQ(number(first(5.f, held)), -5);
  Function in_branch = [&](Tensor x, Variable given) {
    return cond(x > 0.f, [&] { return body(x, given); }, [&] { return x; });
  };
  EXPECT_EQ(number(in_branch(5.f, held)), -5);
  Function outer = [&](Tensor x) { return first(x, held); };
  EXPECT_EQ(number(outer(5.f)), -5);
  EXPECT_EQ(number(held), 3);
  EXPECT_EQ(held.version(), 0u);
}

}  // namespace
}  // namespace weft
