#include <gtest/gtest.h>

#include "graph/passes.h"
#include "graph/run.h"
#include "graph/tracer.h"
#include "tests/support.h"
#include <weft/operators.h>
#include <weft/ops.h>

namespace weft::inline v0 {
namespace {

using test::floats;
using test::message;
using test::number;

// A program of some inputs, traced.
template <class F>
Graph graph_of(std::vector<Spec> specs, const F& program) {
  Graph graph;
  Tracer tracer(graph);
  std::vector<Tensor> symbols;
  for (Spec& spec : specs) symbols.push_back(tracer.input(std::move(spec), {}));
  const Interpreter::Scope scope(&tracer);
  for (const Tensor& output : program(symbols)) graph.outputs.push_back(tracer.value_of(output, nullptr, {}));
  return graph;
}

Tensors run(const Graph& graph, std::vector<Tensor> inputs) { return Runner(graph).run(inputs); }

using Values = std::vector<Tensor>;

TEST(Graph, PrintsOneLineForEachCall) {
  const Graph graph = graph_of({{f32, {2}}}, [](Values& x) { return Values{sum(x[0] * 2.f, {.axis = 0, .keepdims = true})}; });
  const std::string text = graph.str();
  EXPECT_NE(text.find("%0 f32[2] = input\n"), std::string::npos) << text;
  EXPECT_NE(text.find("%1 f32[] = constant 2.0"), std::string::npos) << text;
  EXPECT_NE(text.find("%2 f32[2] = multiply(%0, %1)   graph_test.cc:"), std::string::npos) << text;
  EXPECT_NE(text.find("%3 f32[1] = sum(%2, axis=[0], keepdims=true)"), std::string::npos) << text;
  EXPECT_NE(text.find("return %3\n"), std::string::npos) << text;
}

TEST(Graph, VerifyFindsWhatIsBroken) {
  const Graph good = graph_of({{f32, {2}}}, [](Values& x) { return Values{-x[0] + x[0]}; });
  verify(good, "nothing");
  const auto refused = [&](const auto& damage) {
    Graph broken = good;
    damage(broken);
    EXPECT_THROW(verify(broken, "a test"), InternalError);
  };
  refused([](Graph& g) { std::swap(g.nodes[0], g.nodes[1]); });
  refused([](Graph& g) { g.nodes[1].inputs[0] = 99; });
  refused([](Graph& g) { g.values[g.nodes[0].first].spec.shape = Shape{3}; });
  refused([](Graph& g) { g.outputs.push_back(77); });
  refused([](Graph& g) { g.nodes[0].attrs.emplace_back(true); });
  refused([](Graph& g) { g.inputs.clear(); });
}

TEST(Graph, PassesKeepWhatIsNeeded) {
  Graph graph = graph_of({{f32, {2}}, {f32, {2}}, {f32, {2}}}, [](Values& x) {
    exp(x[0]);                                   // nobody needs it
    const Tensor a = x[0] * x[1], b = x[0] * x[1];
    const Tensor c = Tensor(2.f) * Tensor(3.f);  // known now
    return Values{a + b + c};
  });
  const std::vector<bool> kept = optimize(graph, 1).kept_inputs;
  EXPECT_EQ(kept, (std::vector<bool>{true, true, false}));
  EXPECT_EQ(graph.nodes.size(), 3u) << graph.str();
  EXPECT_EQ(floats(run(graph, {Tensor({1.f, 2.f}), Tensor({10.f, 20.f})})[0]), (std::vector<float>{26, 86}));
}

// SEMANTICS 151
TEST(Graph, WhatMayFailIsNotDropped) {
  Graph graph = graph_of({{i32, {}}}, [](Values& x) {
    gather(Tensor({1.f, 2.f}), x[0]);
    return Values{x[0]};
  });
  optimize(graph, 1);
  EXPECT_EQ(run(graph, {Tensor(1)})[0].item<std::int32_t>(), 1);
  EXPECT_THROW(run(graph, {Tensor(2)}), IndexError);
}

TEST(Plan, GroupsPointwiseCallsAndSharesTheArena) {
  const Graph graph = graph_of({{f32, {64, 64}}}, [](Values& x) {
    Tensor y = x[0];
    for (int i = 0; i < 8; ++i) y = matmul(tanh(y * 0.5f + 1.f), x[0]);
    return Values{y};
  });
  const Spec spec{f32, {64, 64}};
  const Plan plan(graph, {&spec, 1});
  EXPECT_EQ(plan.steps(), 9u);  // a group, seven products that go on with one, a product
  EXPECT_LE(plan.arena_bytes(), 3u * 64 * 64 * 4) << "two values are alive at a time";
}

// A running sum stays where it is: beside it there is but the product that is added.
TEST(Plan, WhatDiesMakesRoomForWhatItBecomes) {
  const Spec specs[] = {{f32, {64, 64}}, {f32, {64, 64}}};
  const std::size_t value = 64 * 64 * 4;
  const auto arena = [&](const auto& program) { return Plan(graph_of({specs[0], specs[1]}, program), specs).arena_bytes(); };
  EXPECT_EQ(arena([](Values& x) {
    Tensor y = matmul(x[0], x[1]);
    for (int i = 0; i < 4; ++i) y = y + matmul(x[0], x[1]);
    return Values{matmul(y, x[0])};
  }), 2 * value);
  // Not where a product still reads it.
  EXPECT_EQ(arena([](Values& x) {
    Tensor y = matmul(x[0], x[1]);
    for (int i = 0; i < 4; ++i) y = y + matmul(y, x[1]);
    return Values{matmul(y, x[0])};
  }), 2 * value) << "the sum lies where the product does";
  EXPECT_EQ(arena([](Values& x) {
    Tensor y = matmul(x[0], x[1]);
    for (int i = 0; i < 4; ++i) y = y + matmul(y, reshape(matmul(x[0], x[1]), {64, 64}));
    return Values{matmul(y, x[0])};
  }), 3 * value);
  // Of two results each has room of its own, where two operands die.
  EXPECT_EQ(arena([](Values& x) {
    const Tensor y = cumsum(x[0], {.axis = 0}) + cumsum(x[0], {.axis = 1});
    return Values{matmul(y, tanh(y))};
  }), 2 * value);
}

TEST(Plan, GroupsThatMeetRunTogether) {
  const Spec spec{f32, {4096}};
  const Spec specs[] = {spec, spec};
  const auto steps = [&](const auto& program) { return Plan(graph_of({spec, spec}, program), specs).steps(); };
  EXPECT_EQ(steps([](Values& x) { return Values{relu(x[0] * 2.f + 1.f) * x[0] + x[1] * 3.f}; }), 1u);
  EXPECT_EQ(steps([](Values& x) {
    const Tensor y = x[0] * 2.f, total = sum(y);  // reads y before the groups meet
    return Values{y + x[1] * 3.f + total};
  }), 3u);
  const auto viewed = [](Values& x) {
    const Tensor y = x[0] * 2.f, turned = reshape(reshape(y, {64, 64}), {4096});  // a view of what a group makes is read from memory
    return Values{x[1] * 3.f + y + turned};
  };
  EXPECT_EQ(steps(viewed), 2u);
  std::vector<float> numbers(4096);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  const Tensor x(numbers, {4096});
  Values eager{x, x};
  EXPECT_EQ(floats(run(graph_of({spec, spec}, viewed), {x, x})[0]), floats(viewed(eager)[0]));
}

TEST(Plan, ViewsOfWhatLeavesAndOfWhatComes) {
  const Graph graph = graph_of({{f32, {2, 3}}}, [](Values& x) {
    const Tensor y = x[0] + 1.f;
    return Values{reshape(y, {6}), y, reshape(x[0], {3, 2}), x[0], reshape(reshape(y, {3, 2}), {1, 6}) * 2.f};
  });
  for (int call = 0; call < 2; ++call) {
    const Tensor x({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}});
    const Tensors y = run(graph, {x});
    EXPECT_EQ(y[0].shape(), Shape{6});
    EXPECT_EQ(floats(y[0]), (std::vector<float>{2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(floats(y[1]), floats(y[0]));
    EXPECT_EQ(y[2].shape(), (Shape{3, 2}));
    EXPECT_EQ(floats(y[2]), floats(x));
    EXPECT_TRUE(y[3].same_as(x));
    EXPECT_EQ(floats(y[4]), (std::vector<float>{4, 6, 8, 10, 12, 14}));
  }
}

TEST(Plan, ResultsOfACallOutliveTheNext) {
  const Runner runner(graph_of({{f32, {1000}}}, [](Values& x) { return Values{x[0] * 2.f}; }));
  std::vector<Tensor> ones_in{fill({1000}, 1.f)}, twos_in{fill({1000}, 2.f)};
  const Tensor first = runner.run(ones_in)[0], second = runner.run(twos_in)[0];
  EXPECT_EQ(number(sum(first)), 2000);
  EXPECT_EQ(number(sum(second)), 4000);
}

TEST(Plan, EmptyAndScalarShapes) {
  const Graph graph = graph_of({{f32, {kUnknown}}}, [](Values& x) { return Values{exp(x[0]) * 2.f, sum(x[0])}; });
  const Runner runner(graph);
  std::vector<Tensor> empty{zeros({0})}, some{zeros({3})};
  EXPECT_EQ(runner.run(empty)[0].shape(), Shape{0});
  EXPECT_EQ(number(runner.run(empty)[1]), 0);
  EXPECT_EQ(floats(runner.run(some)[0]), (std::vector<float>{2, 2, 2}));
}

// Sizes that were not there before make a plan; the sixteen that were used last stay.
TEST(Plan, OfManySizesIsKeptForTheLastOnes) {
  const Runner runner(graph_of({{f32, {kUnknown}}}, [](Values& x) { return Values{exp(x[0] * 0.f) + x[0], sum(x[0])}; }));
  constexpr std::int64_t kKinds = 40;
  std::vector<std::weak_ptr<const Plan>> plans(kKinds + 1);
  const auto plan_of = [&](std::int64_t size) { return runner.plan_for(std::vector<Spec>{{f32, {size}}}); };
  for (int round = 0; round < 2; ++round)
    for (std::int64_t size = 1; size <= kKinds; ++size) {
      std::vector<Tensor> x{fill({size}, 2.f)};
      const Tensors y = runner.run(x);
      EXPECT_EQ(floats(y[0]), std::vector<float>(static_cast<std::size_t>(size), 3.f));
      EXPECT_EQ(number(y[1]), static_cast<float>(2 * size));
      plans[static_cast<std::size_t>(size)] = plan_of(size);
      EXPECT_EQ(plan_of(1), plans[1].lock()) << "what is used stays";
      std::int64_t kept = 0;
      for (const auto& plan : plans) kept += !plan.expired();
      EXPECT_EQ(kept, round == 0 ? std::min<std::int64_t>(size, 16) : 16) << size;
    }
  for (std::int64_t size = 2; size <= kKinds; ++size) EXPECT_EQ(plans[static_cast<std::size_t>(size)].expired(), size <= kKinds - 15) << size;
}

TEST(Plan, AnErrorHasTheLineThatWasTraced) {
  const Runner runner(graph_of({{i32, {2}}, {i32, {2}}}, [](Values& x) { return Values{floordiv(x[0], x[1])}; }));
  std::vector<Tensor> inputs{Tensor({1, 2}), Tensor({1, 0})};
  try {
    runner.run(inputs);
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_NE(std::string(error.what()).find("graph_test.cc"), std::string::npos) << error.what();
  }
}

TEST(Tracer, RefusesATensorOfAnotherTrace) {
  Tensor leaked;
  graph_of({{f32, {}}}, [&](Values& x) { return Values{leaked = x[0] * 2.f}; });
  EXPECT_EQ(message<TraceError>([&] { graph_of({{f32, {}}}, [&](Values& x) { return Values{x[0] + leaked}; }); }),
            "add: a tensor f32[] of another trace is used; it has no value here, pass it as an argument or return it from the function that made it.");
}

}  // namespace
}  // namespace weft::inline v0
