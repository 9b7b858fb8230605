// Rules in graphs that are made of others: split, gone through again under a tape, by a tracer, for many values at once.
#include <gtest/gtest.h>

#include "graph/passes.h"
#include "graph/run.h"
#include "graph/split.h"
#include "graph/tracer.h"
#include "state/batcher.h"
#include "tests/support.h"
#include <weft/weft.h>

namespace weft::test {
namespace {

const Tensor kShort = ones({2}), kLong = ones({4});

// A graph of x and dy that is to be split: what the program makes of them is y and dx.
struct Joint {
  template <class Program>
  Joint(Spec x, Spec dy, const Program& program) {
    Tracer tracer(graph);
    const Tensor in = tracer.input(x, {}), back = tracer.input(dy, {});
    tracer.install();
    const auto [y, dx] = program(in, back);
    tracer.remove();
    graph.outputs = {tracer.value_of(y, nullptr, {}), tracer.value_of(dx, nullptr, {})};
    optimize(graph, 2);
  }
  SplitGraph split() const {
    SplitGraph parts = split_graph(graph, 1, 1);
    verify(parts.forward, "split_graph");
    verify(parts.backward, "split_graph");
    return parts;
  }
  Graph graph;
};

// The second side infers again what its rules read: nothing is saved for them.
TEST(GraphRules, SaveNothingForASplitGraph) {
  const Joint joint({f32, {kUnknown}}, {f32, {kUnknown}}, [](Tensor x, Tensor dy) {
    static_cast<void>(dy + exp(x));
    return std::pair(x * 2, dy * 3);
  });
  const SplitGraph parts = joint.split();
  EXPECT_EQ(parts.saved, 0u);
  EXPECT_EQ(parts.forward.calls(), 1u);
  EXPECT_EQ(parts.backward.calls(), 1u);
  const Runner backward(parts.backward);
  std::vector<Tensor> equal{kLong, kLong}, unequal{kLong, kShort};
  EXPECT_EQ(backward.run(equal)[0].str(), (kLong * 3).str());
  EXPECT_THROW(backward.run(unequal), ShapeError);
}

// Of two results one is saved, since a call reads it; the other one is inferred again.
TEST(GraphRules, LeaveWhatIsSavedForASplitGraph) {
  const Joint joint({f32, {kUnknown, 4}}, {f32, {kUnknown, 2}}, [](Tensor x, Tensor dy) {
    const std::vector<Tensor> halves = weft::split(x, 2, {.axis = 1});
    static_cast<void>(dy + halves[0]);
    return std::pair(x * 2, dy * halves[1]);
  });
  const SplitGraph parts = joint.split();
  EXPECT_EQ(parts.saved, 1u);
  EXPECT_EQ(parts.forward.calls(), 2u);
  EXPECT_EQ(parts.backward.calls(), 1u);
  const Tensor x = reshape(arange(0.f, 12.f, 1.f), {3, 4}), saved = x(all, range(2, 4)), dy = ones({3, 2});
  std::vector<Tensor> given{x, saved, dy};
  EXPECT_EQ(Runner(parts.backward).run(given)[0].str(), saved.str());

  Variable w{Tensor({2.f, 3.f})};
  const auto body = [&](Tensor h, Tensor labels) {
    const std::vector<Tensor> p = weft::split(h, 2, {.axis = 1});
    return mean(sigmoid_cross_entropy(labels, p[0])) + mean(p[1] * w);
  };
  Function f{body, {.signature = {Spec{f32, {kUnknown, 4}}, Spec{f32, {kUnknown, 2}}}}};
  const auto gradients = [&](const auto& loss) {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Tensor y = loss(x, ones({3, 2}));
    return tape.gradient(y, x).str() + tape.gradient(y, w).str();
  };
  EXPECT_EQ(gradients(f), gradients(body));
}

// Sizes that values decide are not inferred again: of those the values are saved.
TEST(GraphRules, SaveWhatDecidesSizesForASplitGraph) {
  const Joint joint({f32, {kUnknown}}, {f32, {kUnknown}}, [](Tensor x, Tensor dy) {
    static_cast<void>(dy + exp(boolean_mask(x, x > 0.f)));
    return std::pair(x * 2, dy * 3);
  });
  const SplitGraph parts = joint.split();
  EXPECT_EQ(parts.saved, 1u);
  const Runner backward(parts.backward);
  std::vector<Tensor> equal{kLong, ones({3}), ones({3})}, unequal{kLong, ones({3}), ones({2})};
  EXPECT_EQ(backward.run(equal)[0].str(), (ones({3}) * 3).str());
  EXPECT_THROW(backward.run(unequal), ShapeError);
}

// Names the calls that are made above it.
struct Log : Interpreter {
  Log() { install(); }
  ~Log() override { remove(); }
  void apply(Call call, Tensors& outputs) override {
    calls.emplace_back(call.op.name);
    delegate(call, outputs);
  }
  std::vector<std::string> calls;
};

// None becomes a call.
TEST(GraphRules, StayRulesWhereAGraphIsGoneThroughAgain) {
  const auto trace = [](const auto& program) {
    Graph graph;
    Tracer tracer(graph);
    const Tensor a = tracer.input({f32, {kUnknown, kUnknown}}, {}), b = tracer.input({f32, {kUnknown, kUnknown}}, {});
    tracer.install();
    const Tensor y = program(a, b);
    tracer.remove();
    graph.outputs = {tracer.value_of(y, nullptr, {})};
    return graph;
  };
  Graph graph = trace([](Tensor a, Tensor b) { return matmul(exp(a), b), a * 2; });
  optimize(graph, 2);
  const Runner runner(graph);
  const Tensor wide = ones({2, 3}), tall = ones({3, 2});
  {
    const Log log;
    std::vector<Tensor> inputs{wide, tall};
    EXPECT_EQ(runner.run(inputs)[0].str(), (wide * 2).str());
    EXPECT_EQ(log.calls, (std::vector<std::string>{"multiply", "multiply"})) << "the first by the graph, the second here";
    std::vector<Tensor> wrong{wide, wide};
    EXPECT_THROW(runner.run(wrong), ShapeError);
  }
  const auto again = [&](Tensor a, Tensor b) {
    std::vector<Tensor> inputs{a, b};
    return runner.run(inputs)[0];
  };
  Graph copy = trace(again);
  EXPECT_EQ(copy.calls(), 1u) << copy.str();
  optimize(copy, 2);
  EXPECT_EQ(copy.str(), graph.str());
  std::vector<Tensor> wrong{wide, wide};
  EXPECT_THROW(Runner(copy).run(wrong), ShapeError);

  const Joint joint({f32, {kUnknown}}, {f32, {kUnknown}}, [](Tensor x, Tensor dy) {
    static_cast<void>(dy + gather(x, {0, 1, 0, 1}));
    return std::pair(x * 2, dy * 3);
  });
  const SplitGraph parts = joint.split();
  ASSERT_EQ(parts.saved, 0u) << parts.backward.str();
  const Graph many = batched(parts.backward, {false, true}, {true}, 5);
  EXPECT_EQ(many.calls(), 1u) << many.str();
  const Runner backward(many);
  std::vector<Tensor> fits{kShort, ones({5, 4})}, not_so{kShort, ones({5, 2})};
  EXPECT_EQ(backward.run(fits)[0].str(), fill({5, 4}, 3.f).str());
  EXPECT_THROW(backward.run(not_so), ShapeError);
}

}  // namespace
}  // namespace weft::test
