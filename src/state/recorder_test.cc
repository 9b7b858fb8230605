#include "state/recorder.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "tests/support.h"
#include <weft/function.h>
#include <weft/operators.h>
#include <weft/ops.h>

namespace weft {
namespace {

using test::message;
using test::number;

using Floats = std::vector<float>;

// SEMANTICS 85
TEST(Tape, AnExceptionLeavesTheTapeUsableAndTheStackClean) {
  const Tensor x = {1.f, 2.f};
  {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = x * x;
    EXPECT_THROW(y + Tensor({1.f, 2.f, 3.f}), ShapeError);
    EXPECT_THROW(y + Tensor({1, 2}), DtypeError);
    EXPECT_EQ(tape.gradient(y, x).to_vector<float>(), Floats({2, 4}));
  }
  try {
    GradientTape outer;
    outer.watch(x);
    GradientTape inner;
    inner.watch(x);
    reshape(x, {3});
  } catch (const ShapeError&) {
  }
  EXPECT_EQ(Interpreter::top(), nullptr);
}

TEST(Tape, AnExceptionInAGradientLeavesTheStackClean) {
  static const Op bad{.name = "bad", .doc = "Test.", .inputs = {"x"}, .dtypes = kFloats, .infer = [](const Infer& in) -> Specs { return {in.spec(0)}; },
                      .kernel = [](KernelCall& call) { *call.out<float>() = *call.in<float>(0); },
                      .grad = [](const Backward& b) -> Grads { return {b.dy() + Tensor({1.f, 2.f}) + Tensor({1.f, 2.f, 3.f})}; }};
  const Tensor x = 3.f;
  GradientTape outer({.persistent = true});
  outer.watch(x);
  {
    GradientTape inner;
    inner.watch(x);
    Tensors inputs = {x};
    const Tensor y = apply_one(bad, inputs, {}, Location::here());
    EXPECT_THROW(inner.gradient(y, x), ShapeError);
  }
  EXPECT_EQ(number(outer.gradient(x * x, x)), 6.f);
}

TEST(Tape, TapesEndInAnyOrder) {
  const Tensor x = 3.f;
  std::optional<GradientTape> a(std::in_place), b(std::in_place), c(std::in_place);
  a->watch(x);
  c->watch(x);
  b.reset();
  const Tensor y = x * x;
  a.reset();
  const Tensor z = y * x;
  EXPECT_EQ(number(c->gradient(z, x)), 27.f);
  c.reset();
  EXPECT_EQ(Interpreter::top(), nullptr);
}

TEST(Tape, BelongsToItsThread) {
  const Tensor x = 3.f;
  GradientTape tape;
  tape.watch(x);
  Tensor elsewhere;
  std::thread([&] {
    elsewhere = x * x;
    GradientTape own;
    own.watch(x);
    EXPECT_EQ(number(own.gradient(x * x * x, x)), 27.f);
  }).join();
  EXPECT_FALSE(tape.gradient(elsewhere, x, {.unconnected = Unconnected::kNone}).defined());
}

// Asked elsewhere it refuses, and is as usable as before.
TEST(Tape, RefusesOtherThreads) {
  const Tensor x = 3.f;
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  std::thread([&] {
    EXPECT_THROW(tape.gradient(y, x), StateError);
    EXPECT_THROW(tape.watch(x), StateError);
  }).join();
  EXPECT_EQ(number(tape.gradient(y, x)), 6.f);
}

TEST(Tape, MayOutliveItsThread) {
  const Tensor x = 3.f;
  std::unique_ptr<GradientTape> tape;
  Tensor y;
  std::thread([&] {
    tape = std::make_unique<GradientTape>();
    tape->watch(x);
    y = x * x;
  }).join();
  EXPECT_EQ(number(tape->gradient(y, x)), 6.f);
}

TEST(Tape, MayEndOnAnotherThread) {
  const Tensor x = 3.f;
  std::thread([&] {
    auto tape = std::make_unique<GradientTape>();
    tape->watch(x);
    std::thread([&] { tape.reset(); }).join();
    EXPECT_EQ(number(x * x), 9.f);
  }).join();
}

// A thread that lives on lets go of what such a tape held when it makes its next one.
TEST(Tape, WhatAnEndedTapeHeldIsReleasedByTheNext) {
  float number_of_x = 3;
  bool released = false;
  Tensor x = Tensor::from_memory(&number_of_x, {f32, {}}, [&] { released = true; });
  auto tape = std::make_unique<GradientTape>();
  tape->watch(x);
  std::thread([&] { tape.reset(); }).join();
  x = Tensor();
  EXPECT_FALSE(released);  // only this thread may touch its stack
  const GradientTape next;
  EXPECT_TRUE(released);
}

// Errors leave everything as it was.
TEST(Tape, AFailedQuestionMayBeAskedAgain) {
  const Tensor x = 3.f, other = 4.f;
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  EXPECT_THROW(tape.gradient(y, other), GradientError);
  const Tensor z = y * x;  // still recorded
  EXPECT_EQ(number(tape.gradient(z, x)), 27.f);
  EXPECT_THROW(tape.gradient(z, x), StateError);
  EXPECT_EQ(Interpreter::top(), nullptr);
}

// What a gradient's ops refuse is said about the op that the program called, at the line where it did.
TEST(Tape, ErrorsInAGradientNameTheOpAndItsLine) {
  const Tensor x = {{1.f, 2.f}, {2.f, 4.f}};
  GradientTape tape;
  tape.watch(x);
  const int line = __LINE__ + 1;
  const Tensor y = det(x);
  try {
    tape.gradient(y, x);
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_EQ(error.op(), "det");
    EXPECT_EQ(error.message(), "det: in its gradient inv: x is singular: pivot 1 is 0; it must be invertible.");
    EXPECT_EQ(error.location().line, line);
  }
}

// The tape holds the values it needs: they outlive the handles of the program.
TEST(Tape, HoldsWhatItNeeds) {
  Tensor x = {1.f, 2.f, 3.f, 4.f, 5.f};
  GradientTape tape;
  tape.watch(x);
  const Tensor source = x;
  Tensor y = x * x;
  y = y * y;
  x = 0.f;
  EXPECT_EQ(tape.gradient(y, source).to_vector<float>(), Floats({4, 32, 108, 256, 500}));
}

// An optimizer that follows may then change Variables in place.
TEST(Tape, LetsGoOfWhatItHeldWhenItHasAnswered) {
  float memory[] = {3.f};
  bool released = false;
  Tensor x = Tensor::from_memory(memory, {f32, {}}, [&] { released = true; });
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  EXPECT_EQ(number(tape.gradient(y, x)), 6.f);
  EXPECT_FALSE(released);
  x = Tensor();
  EXPECT_TRUE(released);
  EXPECT_THROW(tape.gradient(y, y), StateError);
}

// Nodes that die and whose address is used again are not mistaken for what the tape follows.
TEST(Tape, DoesNotConfuseNewValuesWithDeadOnes) {
  const Tensor x = 2.f;
  GradientTape tape({.persistent = true});
  tape.watch(x);
  for (int i = 0; i < 200; ++i) {
    const Tensor stranger = Tensor{1.f} + Tensor{2.f};
    EXPECT_FALSE(tape.gradient(stranger * 2, x, {.unconnected = Unconnected::kNone}).defined());
  }
}

TEST(Tape, LongChainsAndWideSumsAreRight) {
  const Tensor x = 1.f;
  GradientTape tape;
  tape.watch(x);
  Tensor y = x, total = x * 0;
  for (int i = 0; i < 2000; ++i) {
    y = y + x;
    total = total + x;
  }
  EXPECT_EQ(number(tape.gradient(y + total, x)), 4001.f);
}

TEST(Tape, BroadcastInputsReceiveSums) {
  const Tensor a = {{1.f}, {2.f}}, b = {1.f, 10.f, 100.f};
  GradientTape tape({.persistent = true});
  tape.watch(a);
  tape.watch(b);
  const Tensor y = a * b;
  EXPECT_EQ(tape.gradient(y, a).spec(), a.spec());
  EXPECT_EQ(tape.gradient(y, a).to_vector<float>(), Floats({111, 111}));
  EXPECT_EQ(tape.gradient(y, b).to_vector<float>(), Floats({3, 3, 3}));
}

TEST(Tape, GradientsKeepTheDtypeOfTheirSource) {
  const Tensor x = Tensor({1, 2}, f16);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = cast(x, f64) * 3;
  EXPECT_EQ(tape.gradient(y, x).spec(), x.spec());
}

// The order in which gradients add up is fixed by the tape.
TEST(Tape, IsDeterministic) {
  const Tensor x = {0.1f, 0.2f, 0.3f};
  Floats before;
  for (int i = 0; i < 3; ++i) {
    GradientTape tape;
    tape.watch(x);
    const Floats now = tape.gradient(exp(x) * x + x / exp(x) + x * 1e-7, x).to_vector<float>();
    EXPECT_TRUE(i == 0 || now == before);
    before = now;
  }
}

// Rows without a gradient of their own are recorded as their parts; what they refuse, they refuse under a tape, too.
TEST(Tape, ExpandedRowsAreDifferentiatedThroughTheirParts) {
  static const Op square{.name = "square_sum", .doc = "Test.", .inputs = {"x"}, .dtypes = kFloats, .infer = [](const Infer& in) -> Specs { return {{in.dtype(0), {}}}; },
                         .validate = [](const KernelCall& call) { if (call.in<float>(0)[0] < 0) call.value_error("x is negative."); },
                         .expand = [](const Expand& e) -> Tensors { return {sum(e[0] * e[0])}; }};
  const auto apply_it = [](const Tensor& x) {
    Tensors inputs = {x};
    return apply_one(square, inputs, {}, Location::here());
  };
  const Tensor x = {1.f, 2.f}, negative = {-1.f, 2.f};
  EXPECT_THROW(apply_it(negative), ValueError);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(negative);
  EXPECT_EQ(tape.gradient(apply_it(x), x).to_vector<float>(), Floats({2, 4}));
  EXPECT_THROW(apply_it(negative), ValueError);
}

TEST(Tape, WatchesNoSymbolOfATraceThatHasEnded) {
  Tensor leaked;
  Function f = [&](Tensor x) {
    GradientTape tape;
    tape.watch(leaked = x * 2);
    return tape.gradient(leaked * leaked, leaked);
  };
  EXPECT_EQ(f(1.f).item<float>(), 4);
  const std::string refused = "watch: x f32[] was made while tracing and has no value outside; return it from the traced function.";
  GradientTape tape;
  EXPECT_EQ(message<TraceError>([&] { tape.watch(leaked); }), refused);
  Function g = [&](Tensor x) {
    GradientTape inner;
    inner.watch({x, leaked});
    return x;
  };
  EXPECT_EQ(message<TraceError>([&] { g(1.f); }), refused);
}

}  // namespace
}  // namespace weft
