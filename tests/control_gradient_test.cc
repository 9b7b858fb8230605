// Gradients through branches, loops and calls: of any order, in tapes around and inside.
#include <cmath>

#include <gtest/gtest.h>

#include "graph/tracer.h"
#include "state/derive.h"
#include "tests/counted_row.h"
#include "tests/support.h"
#include <weft/weft.h>

namespace weft::test {
namespace {

const Tensor kRow({1.f, 2.f, 3.f, 4.f});

using Program = Tensor (*)(Tensor);

// Derivatives of sum(f) of the first `order` orders, each through a tape of its own.
std::vector<std::vector<float>> derivatives(const std::function<Tensor(Tensor)>& f, const Tensor& x, int order) {
  if (order == 0) return {floats(f(x))};
  std::vector<std::vector<float>> all_orders{floats(f(x))};
  std::function<Tensor(Tensor)> g = f;
  for (int i = 0; i < order; ++i) {
    g = [g](Tensor y) {
      GradientTape tape;
      tape.watch(y);
      const Tensor target = sum(g(y));
      return tape.gradient(target, y);
    };
    all_orders.push_back(floats(g(x)));
  }
  return all_orders;
}

void expect_same_derivatives(Program f, int order) {
  Function whole = f;  // tapes around a call
  const auto eager = derivatives(f, kRow, order), around = derivatives([&](Tensor x) { return whole(x); }, kRow, order);
  Function inside = [&](Tensor x) {  // tapes inside a trace
    std::function<Tensor(Tensor)> g = f;
    for (int i = 0; i < order; ++i)
      g = [g](Tensor y) {
        GradientTape tape;
        tape.watch(y);
        const Tensor target = sum(g(y));
        return tape.gradient(target, y);
      };
    return g(x);
  };
  const std::vector<float> traced = floats(inside(kRow));
  for (int i = 0; i <= order; ++i)
    for (std::size_t k = 0; k < eager[0].size() && k < eager[static_cast<std::size_t>(i)].size(); ++k) {
      const float wanted = eager[static_cast<std::size_t>(i)][k];
      const double near = i == 0 ? 0 : 2e-6 * std::abs(wanted);  // what turns contribute is added up in another order
      EXPECT_NEAR(around[static_cast<std::size_t>(i)][k], wanted, near) << "order " << i << " at " << k;
      if (i == order) {
        EXPECT_NEAR(traced[k], wanted, near) << "inside, at " << k;
      }
    }
}

// SEMANTICS 163, 169
// PAIN 18
TEST(ControlGradient, OfThirdOrderThroughScan) {
  expect_same_derivatives([](Tensor x) { return scan([](Tensor a, Tensor b) { return a * b * b + sin(b); }, 1.f, x); }, 3);
  expect_same_derivatives([](Tensor x) { return scan([&](Tensor a, Tensor b) { return sin(a) * b + x; }, x, x, {.reverse = true}); }, 3);
}
// SEMANTICS 163
// PAIN 18
TEST(ControlGradient, OfSecondOrderThroughWhile) {
  expect_same_derivatives([](Tensor x) {
    return std::get<1>(while_loop([](Tensor i, Tensor) { return i < 3; }, [&](Tensor i, Tensor t) { return std::tuple{i + 1, tanh(t * x) + sin(t)}; },
                                  std::tuple{0, x}));
  }, 2);
}
// SEMANTICS 163, 168, 169
TEST(ControlGradient, OfThirdOrderThroughBranchesMapAndFold) {
  expect_same_derivatives([](Tensor x) { return cond(sum(x) > 0.f, [&] { return x * x * x * x; }, [&] { return x; }); }, 3);
  expect_same_derivatives([](Tensor x) {
    return map([&](Tensor row) { return cond(row > 2.f, [&] { return row * row * row; }, [&] { return sin(row); }); }, x);
  }, 3);
  expect_same_derivatives([](Tensor x) { return fold([](Tensor a, Tensor b) { return a * b + sin(b); }, 1.f, x); }, 3);
}

// SEMANTICS 163
TEST(ControlGradient, ReachesVariablesThatBranchesAndTurnsRead) {
  Variable w{2.f}, b{0.5f};
  const auto slopes = [&](Tensor x) {
    GradientTape tape;
    const Tensor y = cond(x > 0.f, [&] { return w * x; }, [&] { return b * x; });
    const Tensor z = fold([&](Tensor a, Tensor row) { return a * w + row * b; }, y, kRow);
    const std::vector<Tensor> g = tape.gradient(z, {w, b});
    return stack({g[0], g[1]});
  };
  Function traced = slopes;
  for (const float x : {3.f, -3.f}) EXPECT_EQ(floats(traced(x)), floats(slopes(x)));
}

TEST(ControlGradient, OfACallIsDerivedOnce) {
  int runs = 0;
  Variable w{2.f};
  Function f = [&](Tensor x) { return ++runs, sum(tanh(x * w) * w); };
  for (int i = 0; i < 3; ++i) {
    GradientTape tape;
    const Tensor y = f(kRow);
    const float slope = number(tape.gradient(y, w));
    GradientTape plain;
    const Tensor z = sum(tanh(kRow * w) * w);
    EXPECT_EQ(slope, number(plain.gradient(z, w)));
    w.assign_add(0.25f);
  }
  EXPECT_EQ(runs, 1);

  Function g = [&](Tensor x) { return sum(counted_square(x * w)); };
  counted_gradients = 0;
  for (int i = 0; i < 3; ++i) {
    GradientTape tape;
    const Tensor y = g(kRow);
    EXPECT_EQ(number(tape.gradient(y, w)), 2 * number(w) * 30);
    w.assign_add(0.25f);
    EXPECT_EQ(counted_gradients, 1) << "call " << i;
  }
}

// Every choice of inputs has a way of its own; the eight that were asked for last stay.
TEST(ControlGradient, OfManyKindsIsKeptForTheLastOnes) {
  const auto program = [](const std::vector<Tensor>& x) { return sum(x[0] * x[1] + sin(x[2]) * x[3]); };
  Graph graph;
  {
    Tracer tracer(graph);
    std::vector<Tensor> symbols;
    for (int i = 0; i < 4; ++i) symbols.push_back(tracer.input({f32, {kUnknown}}, {}));
    const Interpreter::Scope scope(&tracer);
    graph.outputs.push_back(tracer.value_of(program(symbols), nullptr, {}));
  }
  const Runner body(std::move(graph));
  const auto wanted = [](unsigned kind) { return std::vector<bool>{(kind & 1) != 0, (kind & 2) != 0, (kind & 4) != 0, (kind & 8) != 0}; };
  std::vector<std::weak_ptr<const Derived>> ways(16);
  for (unsigned kind = 1; kind < 16; ++kind) {
    ways[kind] = derived(body, wanted(kind), 1);
    EXPECT_EQ(derived(body, wanted(kind), 1), ways[kind].lock()) << "it is derived anew";
    EXPECT_EQ(derived(body, wanted(1), 1), ways[1].lock()) << "what is used stays, " << kind;
  }
  for (unsigned kind = 1; kind < 16; ++kind) EXPECT_EQ(ways[kind].expired(), kind != 1 && kind < 9) << kind;

  Function f = [&](Tensor a, Tensor b, Tensor c, Tensor d) { return program({a, b, c, d}); };
  const std::vector<Tensor> xs{kRow, kRow + 1.f, kRow * 2.f, kRow - 3.f};
  for (unsigned kind = 1; kind < 48; kind += kind % 16 == 15 ? 2 : 1) {
    const auto slopes = [&](const auto& run) {
      GradientTape tape;
      std::vector<Tensor> sources;
      for (std::size_t i = 0; i < 4; ++i)
        if (wanted(kind)[i]) sources.push_back(xs[i]), tape.watch(xs[i]);
      const Tensor y = run();
      std::vector<std::vector<float>> all;
      for (const Tensor& slope : tape.gradient(y, sources)) all.push_back(floats(slope));
      return all;
    };
    EXPECT_EQ(slopes([&] { return f(xs[0], xs[1], xs[2], xs[3]); }), slopes([&] { return program(xs); })) << kind;
  }
}

TEST(ControlGradient, CountsReadsBehindWritesOfTheSamePart) {
  Variable f{3.f}, g{3.f};
  const auto slope = [](Variable& v, Tensor up) {
    GradientTape tape;
    const Tensor y = cond(up, [&] { return v.assign(v * 2.f), v * v; }, [&] { return v * 1.f; });
    const Tensor z = fold([&](Tensor a, Tensor x) {
      v.assign(v + x);
      return cond(x > 2.f, [&] { return v.assign_add(x), a + v * x; }, [&] { return a + v * x; });
    }, y, kRow);
    return tape.gradient(z, v);
  };
  Function traced = [&](Tensor up) { return slope(g, up); };
  for (const bool up : {true, false, true}) {
    EXPECT_EQ(number(traced(up)), number(slope(f, up)));
    EXPECT_EQ(number(g), number(f));
  }
}

TEST(ControlGradient, ReachesTensorsThatABodyHasCaptured) {
  const Tensor x({1.f, 2.f});
  Function f = [&](Tensor y) { return sum(x * 2.f * y); };
  f(3.f);
  GradientTape tape;
  tape.watch(x);
  const Tensor z = f(3.f);
  EXPECT_EQ(floats(tape.gradient(z, x)), (std::vector<float>{6, 6}));
}

TEST(ControlGradient, GoesPastABranchThatOnlyChecks) {
  Function f = [](Tensor x) {
    const Tensor y = sum(x * x);
    cond(y > 0.f, [&] { check(y < 1e9f, "small"); }, [] {});
    return y;
  };
  GradientTape tape;
  const Tensor x = kRow + 0.f;
  tape.watch(x);
  EXPECT_EQ(floats(tape.gradient(f(x), x)), (std::vector<float>{2, 4, 6, 8}));
}

TEST(ControlGradient, OfAGatherStaysSparse) {
  Variable table{zeros({5, 2})};
  Function f = [&](Tensor rows) { return sum(gather(table, rows) * 3.f); };
  GradientTape tape;
  const Tensor y = f(Tensor({1, 3, 1}));
  const Grad grad = tape.gradients({y}, {table})[0];
  ASSERT_TRUE(grad.sparse());
  EXPECT_EQ(floats(grad.dense()), (std::vector<float>{0, 0, 6, 6, 0, 0, 3, 3, 0, 0}));
}

TEST(ControlGradient, OfALoopWhoseShapeChangesSaysSo) {
  Function f = [](Tensor x) {
    GradientTape tape;
    tape.watch(x);
    const auto [i, y] = while_loop([](Tensor turn, Tensor) { return turn < 2; },
                                   [](Tensor turn, Tensor rows) { return std::tuple{turn + 1, concat({rows, rows}, 0)}; }, std::tuple{0, x});
    return tape.gradient(sum(y), x);
  };
  EXPECT_EQ(message<ShapeError>([&] { f(kRow); }),
            "while_loop: two turns make f32[4] and f32[8]; values of all turns are put together here, which they can only be if their shapes agree.");
}

// Each turn of the outer loop has its own number of inner turns, and what those save has as many rows.
TEST(ControlGradient, OfALoopInALoopWithItsOwnNumberOfTurns) {
  const auto f = [](Tensor x) {
    return map([](Tensor start) { return while_loop([](Tensor a) { return a < 50.f; }, [](Tensor a) { return a * a + a; }, start); }, x);
  };
  Function traced = f;
  for (const Tensor& x : {Tensor({1.f, 2.f, 3.f, 1.f, 60.f}), Tensor({60.f, 3.f, 2.f, 1.f, 3.f})}) {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const std::vector<float> eager = floats(tape.gradient(f(x), x));
    EXPECT_EQ(eager[3], 16575);  // 3 * 5 * 13 * 85
    EXPECT_EQ(floats(tape.gradient(traced(x), x)), eager);
  }
}

TEST(ControlGradient, RowsOfALoopInALoopHaveRoomOfTheirOwn) {
  Function traced = [](Tensor sizes) {
    return map([](Tensor n) { return sum(scan([](Tensor s, Tensor i) { return s + i; }, 0, arange(0, n, 1))); }, sizes);
  };
  EXPECT_EQ(traced(Tensor({2, 1, 40, 30, 3, 0, 50})).to_vector<int>(), (std::vector<int>{1, 0, 10660, 4495, 4, 0, 20825}));
}

}  // namespace
}  // namespace weft::test
