// Forward mode through Functions, branches and loops: around them and inside.
#include <cmath>

#include <gtest/gtest.h>

#include "tests/counted_row.h"
#include "tests/support.h"
#include <weft/weft.h>

namespace weft::test {
namespace {

const Tensor kRow({1.f, 2.f, 3.f, 4.f}), kDirection({0.5f, -1.f, 0.25f, 2.f});

using Program = std::function<Tensor(Tensor)>;

Tensor tangent(const Program& f, Tensor x, Tensor dx) {
  ForwardAccumulator forward{x, dx};
  return forward.jvp(f(x));
}

Tensor gradient(const Program& f, Tensor x, Tensor dy) {
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  return tape.gradient(y, x, {.output_gradients = {dy}});
}

void expect_near(const Tensor& got, const Tensor& wanted, const char* what) {
  const std::vector<float> a = floats(got), b = floats(wanted);
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-5 * (1 + std::abs(b[i]))) << what << " at " << i;
}

// The tangent is the same around a call, inside a trace and with sizes that are not known there, weighs what the gradient weighs, and moves and
// is differentiated itself.
void expect_tangents(Program f) {
  Function whole = f, open(f, {.signature = {Spec{f32, {kUnknown}}}});
  Function inside = [&](Tensor x, Tensor dx) { return tangent(f, x, dx); };
  Function inside_open([&](Tensor x, Tensor dx) { return tangent(f, x, dx); }, {.signature = {Spec{f32, {kUnknown}}, Spec{f32, {kUnknown}}}});
  const Program around = [&](Tensor x) { return whole(x); };
  const Tensor dy = tangent(f, kRow, kDirection);
  for (int call = 0; call < 2; ++call) {
    expect_near(tangent(around, kRow, kDirection), dy, "around a call");
    expect_near(tangent([&](Tensor x) { return open(x); }, kRow, kDirection), dy, "around a call with unknown sizes");
    expect_near(inside(kRow, kDirection), dy, "inside");
    expect_near(inside_open(kRow, kDirection), dy, "inside, with unknown sizes");
  }
  const Tensor weights = sin(dy * 3.f + 1.f);
  const float ahead = number(sum(weights * dy)), back = number(sum(gradient(f, kRow, weights) * kDirection));
  EXPECT_NEAR(ahead, back, 1e-4 * (1 + std::abs(back)));

  const Program slope = [&](Tensor x) { return gradient(f, x, weights); };
  const auto twice = [&](const Program& g) {  // backward over backward
    GradientTape tape;
    tape.watch(kRow);
    const Tensor first = gradient(g, kRow, weights);
    return tape.gradient(sum(first * kDirection), kRow, {.unconnected = Unconnected::kZeros});
  };
  const Tensor product = twice(f);
  const auto forward_over_backward = [&](const Program& g) {
    ForwardAccumulator forward{kRow, kDirection};
    return forward.jvp(gradient(g, kRow, weights), {.unconnected = Unconnected::kZeros});
  };
  const auto backward_over_forward = [&](const Program& g) {
    GradientTape tape;
    tape.watch(kRow);
    const Tensor along = tangent(g, kRow, kDirection);
    return tape.gradient(sum(along * weights), kRow, {.unconnected = Unconnected::kZeros});
  };
  expect_near(forward_over_backward(f), product, "forward over backward");
  expect_near(backward_over_forward(f), product, "backward over forward");
  expect_near(forward_over_backward(around), product, "forward over backward, around a call");
  expect_near(backward_over_forward(around), product, "backward over forward, around a call");
  Function traced = [&](Tensor x, Tensor dx) {
    ForwardAccumulator forward{x, dx};
    return forward.jvp(gradient(f, x, weights), {.unconnected = Unconnected::kZeros});
  };
  expect_near(traced(kRow, kDirection), product, "forward over backward, inside");
}

// SEMANTICS 89, 90
TEST(ForwardControl, ThroughFunctions) {
  expect_tangents([](Tensor x) { return tanh(x * x) * sum(x) + exp(x * 0.1f); });
  Function inner = [](Tensor x) { return sin(x) * x; };
  expect_tangents([&](Tensor x) { return inner(inner(x)) + x; });
}
// SEMANTICS 89, 90
TEST(ForwardControl, ThroughBranches) {
  expect_tangents([](Tensor x) { return cond(sum(x) > 0.f, [&] { return x * x * x; }, [&] { return x; }); });
  expect_tangents([](Tensor x) { return cond(sum(x) < 0.f, [&] { return x * x * x; }, [&] { return sin(x); }); });
  expect_tangents([](Tensor x) {
    return map([&](Tensor row) { return cond(row > 2.f, [&] { return row * row * row; }, [&] { return ones_like(row); }) * row; }, x);
  });
}
// SEMANTICS 89, 90
TEST(ForwardControl, ThroughLoops) {
  expect_tangents([](Tensor x) {
    return std::get<1>(while_loop([](Tensor i, Tensor) { return i < 3; }, [&](Tensor i, Tensor t) { return std::tuple{i + 1, tanh(t * x) + sin(t)}; },
                                  std::tuple{0, x}));
  });
  expect_tangents([](Tensor x) {  // of three carried values the second moves after a turn, the third after two
    return std::get<3>(while_loop([](Tensor i, Tensor, Tensor, Tensor) { return i < 4; },
                                  [&](Tensor i, Tensor still, Tensor a, Tensor b) { return std::tuple{i + 1, still * 0.5f, x * still + a, a * a + b * still}; },
                                  std::tuple{0, 1.f, zeros_like(x), zeros_like(x)}));
  });
}
// SEMANTICS 89, 90
TEST(ForwardControl, ThroughScanMapAndFold) {
  expect_tangents([](Tensor x) { return scan([](Tensor a, Tensor b) { return a * b * 0.5f + sin(b); }, 1.f, x); });
  expect_tangents([](Tensor x) { return scan([&](Tensor a, Tensor b) { return sin(a) * b + x; }, x, x, {.reverse = true}); });
  expect_tangents([](Tensor x) { return fold([](Tensor a, Tensor b) { return a * b * 0.5f + sin(b); }, 1.f, x) * x; });
  expect_tangents([](Tensor x) { return map([&](Tensor row) { return row * sum(x * row); }, x); });
}

// SEMANTICS 90
TEST(ForwardControl, VariablesThatFunctionsReadMove) {
  Variable w{2.f}, b{0.5f};
  const auto f = [&](Tensor x) { return fold([&](Tensor a, Tensor row) { return a * w + row * b; }, cond(x > 0.f, [&] { return w * x; }, [&] { return b * x; }), kRow); };
  Function call = f;
  Function inside = [&](Tensor x) {
    ForwardAccumulator forward{{w, b}, {Tensor(1.f), Tensor(-2.f)}};
    return forward.jvp(f(x));
  };
  for (const float x : {3.f, -3.f}) {
    ForwardAccumulator forward{{w, b}, {Tensor(1.f), Tensor(-2.f)}};
    const float plain = number(forward.jvp(f(x)));
    EXPECT_EQ(number(forward.jvp(call(x))), plain);
    EXPECT_EQ(number(inside(x)), plain);
  }
}

TEST(ForwardControl, AnAssignmentCutsInFunctionsAndParts) {
  Variable v{3.f}, u{3.f};
  const auto f = [](Variable& of, Tensor up) {
    const Tensor y = cond(up, [&] { return of.assign(of * 2.f), of * of; }, [&] { return of * 1.f; });
    return fold([&](Tensor a, Tensor x) {
      of.assign(of + x);
      return a + of * x;
    }, y, kRow);
  };
  Function call = [&](Tensor up) { return f(u, up); };
  Function inside = [&](Tensor up) {
    ForwardAccumulator forward{u, Tensor(1.f)};
    return forward.jvp(f(u, up));
  };
  for (const bool up : {true, false, true}) {
    const float start = number(v);
    float wanted, slope;
    {
      ForwardAccumulator forward{v, Tensor(1.f)};
      wanted = number(forward.jvp(f(v, up)));
    }
    v.assign(start);
    {
      GradientTape tape;
      slope = number(tape.gradient(f(v, up), v));
    }
    EXPECT_EQ(wanted, slope);
    u.assign(start);
    EXPECT_EQ(number(inside(up)), wanted);
    u.assign(start);
    ForwardAccumulator forward{u, Tensor(1.f)};
    EXPECT_EQ(number(forward.jvp(call(up))), wanted);
  }
}

TEST(ForwardControl, ACallIsDerivedOnceAndRunsAsAPlan) {
  int runs = 0;
  Function f = [&](Tensor x) { return ++runs, std::tuple{sum(tanh(x) * x), cast(x, i32), x * 2.f, floor(x)}; };
  for (int i = 0; i < 3; ++i) {
    ForwardAccumulator forward{kRow, kDirection};
    const auto [a, n, b, c] = f(kRow);
    EXPECT_EQ(floats(forward.jvp(b)), floats(kDirection * 2.f));
    EXPECT_EQ(number(forward.jvp(a)), number(forward.jvp(sum(tanh(kRow) * kRow))));
    EXPECT_FALSE(forward.jvp(c, {.unconnected = Unconnected::kNone}).defined());
    EXPECT_FALSE(forward.jvp(n, {.unconnected = Unconnected::kNone}).defined());
  }
  EXPECT_EQ(runs, 1);

  Function g = [](Tensor x) { return counted_square(x); };
  int derived = 0;
  for (int i = 0; i < 3; ++i) {
    ForwardAccumulator forward{kRow, kDirection};
    EXPECT_EQ(floats(forward.jvp(g(kRow))), floats(kRow * 2.f * kDirection));
    if (i == 0) derived = std::exchange(counted_gradients, 0);
  }
  EXPECT_GT(derived, 0);
  EXPECT_EQ(counted_gradients, 0) << "it is derived anew";
}

TEST(ForwardControl, GoesThroughGradientsThatABodyGives) {
  const auto tripled = custom_gradient([](Tensor a) { return std::pair(a * a, [=](Tensor dy) { return dy * a * 3.f; }); });
  Function f = [&](Tensor x) { return tripled(x) + x; };
  Function inside = [&](Tensor x, Tensor dx) { return tangent([&](Tensor a) { return tripled(a) + a; }, x, dx); };
  f(kRow);
  const std::vector<float> wanted = floats(kRow * kDirection * 3.f + kDirection);
  EXPECT_EQ(floats(tangent([&](Tensor x) { return f(x); }, kRow, kDirection)), wanted);
  EXPECT_EQ(floats(inside(kRow, kDirection)), wanted);
}

TEST(ForwardControl, AnErrorInABodyIsThatOfItsValue) {
  Function f = [](Tensor x) { return std::tuple{prevent_gradient(x, "not this one."), x * 2.f}; };
  Function tanh_of = [](Tensor x) { return tanh(x); };
  ForwardAccumulator forward{kRow, kDirection};
  const auto [refused, fine] = f(kRow);
  EXPECT_TEXT(GradientError, forward.jvp(refused), "prevent_gradient: not this one.");
  EXPECT_TEXT(GradientError, forward.jvp(tanh_of(refused)), "prevent_gradient: not this one.");
  EXPECT_EQ(floats(forward.jvp(fine)), floats(kDirection * 2.f));
}

TEST(ForwardControl, TensorsThatABodyHasCapturedMove) {
  const Tensor x({1.f, 2.f});
  Function f = [&](Tensor y) { return sum(x * 2.f * y); };
  f(3.f);
  ForwardAccumulator forward{x, Tensor({1.f, 0.5f})};
  EXPECT_EQ(number(forward.jvp(f(3.f))), 9);
}

// SEMANTICS 91: a traced loop carries its tangents along and keeps those of no turn
TEST(ForwardControl, ALoopNeedsNoMemoryForItsTurns) {
  constexpr std::int64_t kSize = 1 << 16, kBytes = kSize * 4;
  Function f = [](Tensor x, Tensor dx) {
    ForwardAccumulator forward{x, dx};
    const Tensor y = std::get<1>(while_loop([](Tensor i, Tensor) { return i < 200; }, [](Tensor i, Tensor t) { return std::tuple{i + 1, sin(t) * 1.01f}; },
                                            std::tuple{0, x}));
    return forward.jvp(y);
  };
  const Tensor x = ones({kSize});
  const MemoryStats at_first = memory_stats();  // its peak is that of all tests before this one
  f(x, x);
  const MemoryStats before = memory_stats();
  EXPECT_LT(before.peak, std::max(at_first.peak + 1, at_first.in_use + 100 * kBytes));
  f(x, x);
  EXPECT_LT(std::max(memory_stats().peak - before.peak, memory_stats().in_use - before.in_use), 16 * kBytes);
}

}  // namespace
}  // namespace weft::test
