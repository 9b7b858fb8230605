// Sources without a gradient, and a tape that is stopped, resumed and reset.
#include <gtest/gtest.h>

#include <thread>

#include "core/apply.h"
#include "tests/support.h"
#include <weft/weft.h>

namespace weft {
namespace {

using test::message;
using test::number;

std::string here(int line) { return "explain_test.cc:" + std::to_string(line); }
std::string only_through(const std::string& source, const std::string& op, int line) {
  return "gradient: the target depends on source " + source + " only through " + op + " at " + here(line);
}
const std::string kIfMeant = "ask for {.unconnected = Unconnected::kZeros} or kNone if that is meant.";
const std::string kIntegers = ", and integers have no gradient; keep the path floating, or " + kIfMeant;
const std::string kNoFlow = ", through which no gradient flows; use another op, or " + kIfMeant;
const std::string kRemedy = "; only floating values have gradients, make it a floating Variable, such as Variable{0.f}.";

// SEMANTICS 64, 65: the first call through which no gradient flows is named, with its line.
// PAIN 14
TEST(Unconnected, IntegersOnTheWayAreNamed) {
  const Tensor x = 3.7f;
  const Variable w{{1.f, 2.f}, {.name = "w"}};
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const int line = __LINE__ + 1;
  const Tensor y = cast(cast(x, i32) * 2, f32) + 1;
  const Tensor z = one_hot(argmax(w, {.axis = 0}), 2) * 3;
  EXPECT_EQ(message<GradientError>([&] { tape.gradient(y, x); }), only_through("f32[]", "cast", line) + ", which gives i32[]" + kIntegers);
  EXPECT_EQ(message<GradientError>([&] { tape.gradient(z, w); }),
            only_through("Variable \"w\" f32[2]", "argmax", line + 1) + ", which gives " + argmax(w, {.axis = 0}).spec().str() + kIntegers);
  EXPECT_FALSE(tape.gradient(y, x, {.unconnected = Unconnected::kNone}).defined());
  EXPECT_EQ(number(tape.gradient(y, x, {.unconnected = Unconnected::kZeros})), 0.f);
  EXPECT_EQ(number(tape.gradient(y * x, x)), 7.f);  // a floating way is enough
}

TEST(Unconnected, FloatingOpsWithoutAGradientAreNamed) {
  const Tensor x = 3.7f;
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor before = x * 2;
  const int line = __LINE__ + 1;
  const Tensor y = exp(floor(before) * 3);
  EXPECT_EQ(message<GradientError>([&] { tape.gradient(y, x); }), only_through("f32[]", "floor", line) + kNoFlow);
}

// SEMANTICS 70
TEST(Unconnected, StopGradientIsNamedAndHidesWhatIsBelow) {
  static int asked = 0;
  static const Op counted{.name = "counted",
                          .doc = "Test.",
                          .inputs = {"x"},
                          .dtypes = kFloats,
                          .infer = [](const Infer& in) -> Specs { return {in.spec(0)}; },
                          .kernel = [](KernelCall& call) { *call.out<float>() = *call.in<float>(0); },
                          .grad = [](const Backward& b) -> Grads { return ++asked, Grads{b.dy()}; }};
  const Tensor x = 3.f;
  GradientTape tape({.persistent = true});
  tape.watch(x);
  Tensors inputs = {x};
  const Tensor hidden = apply_one(counted, inputs, {}, Location::here());
  const int line = __LINE__ + 1;
  const Tensor y = stop_gradient(hidden);
  EXPECT_EQ(message<GradientError>([&] { tape.gradient(y, x); }), only_through("f32[]", "stop_gradient", line) + kNoFlow);
  EXPECT_EQ(number(tape.gradient(y * x, x)), 3.f);
  EXPECT_EQ(asked, 0);
}

// A value that came from a followed one without a gradient may be watched for its own sake.
TEST(Unconnected, WhatIsCutOffMayBeWatched) {
  const Tensor x = 3.f;
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor stopped = stop_gradient(x);
  EXPECT_EQ(message<GradientError>([&] { tape.gradient(stopped * 2, stopped); }),
            "gradient: the target does not depend on source f32[], which this tape does not watch; call watch on it before computing.");
  tape.watch(stopped);
  const Tensor y = stopped * stopped * x;
  EXPECT_EQ(number(tape.gradient(y, stopped)), 18.f);
  EXPECT_EQ(number(tape.gradient(y, x)), 9.f);
}

// The Variable, the op and the remedy.
// PAIN 14
TEST(Unconnected, IntegerVariablesAreNamed) {
  const Variable counter{0, {.name = "counter"}}, other{1, {.name = "other"}};
  GradientTape tape({.persistent = true});
  const int line = __LINE__ + 1;
  const Tensor loss = counter * 2;
  const std::string named = "gradient: source Variable \"counter\" i32[] holds integers, and multiply at " + here(line) + " uses it" + kRemedy;
  EXPECT_EQ(message<GradientError>([&] { tape.gradient(loss, counter); }), named);
  EXPECT_EQ(message<GradientError>([&] { tape.gradient(cast(loss, f32), counter); }), named);
  EXPECT_EQ(message<GradientError>([&] { tape.gradient(cast(loss, f32), other); }),
            "gradient: source Variable \"other\" i32[] holds integers" + kRemedy);
  EXPECT_FALSE(tape.gradient(cast(loss, f32), counter, {.unconnected = Unconnected::kNone}).defined());
  EXPECT_EQ(tape.watched_variables().size(), 0u);
  EXPECT_EQ(counter.version(), 0u);
}

struct Mixed {
  Variable weight{{1.f, 2.f}, {.name = "weight"}};
  Variable steps{0, {.name = "steps"}};
  Variable threshold{1.5f, {.name = "threshold"}};
};

// In a tree what is simply not connected is absent; what only an integer cuts off is an error.
TEST(Unconnected, OfATreeOnlyIntegersOnTheWayAreErrors) {
  const Mixed m;
  GradientTape tape({.persistent = true});
  const Tensor plain = sum(m.weight * 2);
  EXPECT_TRUE(tape.gradient(plain, m).at("weight").present());
  const Tensor stopped = plain * stop_gradient(m.threshold);
  EXPECT_FALSE(tape.gradient(stopped, m).at("threshold").present());
  const int line = __LINE__ + 1;
  const Tensor counted = plain * cast(m.steps + 1, f32);
  EXPECT_EQ(message<GradientError>([&] { tape.gradient(counted, m); }),
            "gradient: source Variable \"steps\" i32[] holds integers, and add at " + here(line) + " uses it" + kRemedy);
  const Tensor compared = sum(m.weight * cast(m.weight > m.threshold, f32));
  EXPECT_EQ(message<GradientError>([&] { tape.gradient(compared, m); }),
            only_through("Variable \"threshold\" f32[]", "greater", __LINE__ - 2) + ", which gives bool[2]" + kIntegers);
  EXPECT_TRUE(tape.gradient(counted, m, {.unconnected = Unconnected::kNone}).at("weight").present());
}

// Pain 15: why a source is not watched.
// PAIN 15: why a source is not watched.
TEST(Unconnected, UnwatchedSourcesSayWhy) {
  const Tensor x = 3.f;
  const Variable w{1.f, {.name = "w"}}, frozen{2.f, {.name = "frozen", .trainable = false}}, unread{3.f, {.name = "unread"}}, late{4.f};
  const int line_of_late = __LINE__ - 1;
  const std::string independent = "gradient: the target does not depend on source ", call_watch = "; call watch on it before computing.";
  const Tensor earlier = unread;
  GradientTape tape({.persistent = true});
  const Tensor y = w * frozen * earlier * x;
  EXPECT_EQ(message<GradientError>([&] { tape.gradient(y, x); }), independent + "f32[], which this tape does not watch" + call_watch);
  EXPECT_EQ(message<GradientError>([&] { tape.gradient(y, frozen); }),
            independent + "Variable \"frozen\" f32[], which this tape does not watch, since it is not trainable" + call_watch);
  EXPECT_EQ(message<GradientError>([&] { tape.gradient(y, unread); }),
            independent + "Variable \"unread\" f32[], which was not read while this tape recorded; read it after the tape is made, or ask for "
                          "{.unconnected = Unconnected::kZeros} or kNone if that is meant.");
  const Tensor read_now = late;
  EXPECT_EQ(message<GradientError>([&] { tape.gradient(y, late); }),
            independent + "the Variable made at " + here(line_of_late) + " f32[] through differentiable ops; " + kIfMeant);
  GradientTape told({.watch_accessed_variables = false});
  EXPECT_EQ(message<GradientError>([&] { told.gradient(w * 2, w); }),
            independent + "Variable \"w\" f32[], which this tape does not watch, since it watches only what it is told to" + call_watch);
}

// SEMANTICS 62
// PAIN 15
TEST(Unconnected, ZerosAndNothingOnRequest) {
  const Variable w{{1.f, 2.f}}, other{{{3.f}}};
  GradientTape tape({.persistent = true});
  const Tensor y = w * 2;
  EXPECT_THROW(tape.gradient(y, other), GradientError);
  EXPECT_FALSE(tape.gradient(y, other, {.unconnected = Unconnected::kNone}).defined());
  EXPECT_EQ(tape.gradient(y, other, {.unconnected = Unconnected::kZeros}).spec(), other.spec());
  EXPECT_THROW(tape.gradient(y, other, {.unconnected = static_cast<Unconnected>(9)}), ValueError);
}

// SEMANTICS 54: what is open is not opened again; what was closed goes on.
TEST(TapeStates, StopsAndResumes) {
  const Tensor x = 3.f;
  GradientTape tape({.persistent = true});
  tape.watch(x);
  EXPECT_TRUE(tape.recording());
  EXPECT_THROW(tape.resume(), StateError);
  const Tensor y = x * x;
  tape.stop();
  EXPECT_FALSE(tape.recording());
  EXPECT_THROW(tape.stop(), StateError);
  const Tensor unseen = x * x;
  EXPECT_EQ(number(tape.gradient(y, x)), 6.f);
  EXPECT_FALSE(tape.gradient(unseen, x, {.unconnected = Unconnected::kNone}).defined());
  tape.resume();
  EXPECT_EQ(number(tape.gradient(y * x, x)), 27.f);
}

TEST(TapeStates, OneThatHasAnsweredCannotResumeButBeReset) {
  const Tensor x = 3.f;
  GradientTape tape;
  tape.watch(x);
  tape.gradient(x * x, x);
  EXPECT_FALSE(tape.recording());
  EXPECT_THROW(tape.resume(), StateError);
  EXPECT_THROW(tape.stop(), StateError);
  tape.reset();
  EXPECT_TRUE(tape.recording());
  tape.watch(x);
  EXPECT_EQ(number(tape.gradient(x * x, x)), 6.f);
}

// SEMANTICS 55
TEST(TapeStates, ResetForgets) {
  const Tensor x = 3.f;
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x;
  tape.reset();
  EXPECT_FALSE(tape.gradient(y, x, {.unconnected = Unconnected::kNone}).defined());
  const Tensor z = x * x;
  EXPECT_FALSE(tape.gradient(z, x, {.unconnected = Unconnected::kNone}).defined());
  tape.watch(x);
  EXPECT_EQ(number(tape.gradient(x * x, x)), 6.f);
  std::thread([&] { EXPECT_THROW(tape.reset(), StateError); }).join();
}

// SEMANTICS 56
TEST(TapeStates, StopRecordingHidesOps) {
  const Tensor x = 3.f;
  const Variable w{2.f, {.name = "w"}};
  GradientTape outer({.persistent = true});
  outer.watch(x);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x;
  const Tensor hidden = tape.stop_recording([&] { return y * w; });
  EXPECT_TRUE(tape.recording());
  EXPECT_TRUE(tape.watched_variables().empty());
  EXPECT_FALSE(tape.gradient(hidden, x, {.unconnected = Unconnected::kNone}).defined());
  EXPECT_EQ(number(tape.gradient(hidden * x, x)), 18.f);
  EXPECT_EQ(number(outer.gradient(hidden, x)), 12.f);  // hidden from that tape only
  EXPECT_THROW(tape.stop_recording([&] { return reshape(x, {7}); }), ShapeError);
  EXPECT_TRUE(tape.recording());
  EXPECT_THROW(tape.stop_recording([&] { tape.stop(); }), StateError);
  tape.stop_recording([&] { tape.reset(); });
  EXPECT_TRUE(tape.recording());
}

}  // namespace
}  // namespace weft
