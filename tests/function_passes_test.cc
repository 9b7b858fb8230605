// Passes that a Function leaves out are left out of all that is made of it.
#include <gtest/gtest.h>

#include "graph/passes.h"
#include "graph/tracer.h"
#include "state/derive.h"
#include "tests/support.h"
#include <weft/weft.h>

namespace weft::test {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(FunctionPasses, AreLeftOutOfBranchesLoopsAndTheirGradients) {
  const auto body = [](Tensor x, Tensor rows) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = cond(sum(x) > 0.f, [&] { return exp(x) + exp(x); }, [&] { return x; });
    const Tensor z = fold([](Tensor s, Tensor row) { return sin(s * row) * sin(s * row); }, sum(y), rows);
    return tape.gradient(z, x);
  };
  const Tensor x{0.5f, 0.25f}, rows{0.75f, 1.5f};
  Function all = body;
  const Tensor wanted = all(x, rows), eager = body(x, rows);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(floats(wanted)[i], floats(eager)[i], 1e-6);
  for (const Pass& pass : passes()) {
    Function f{body, {.without = {pass.name}}};
    EXPECT_EQ(floats(f(x, rows)), floats(wanted)) << pass.name;
    if (std::string(pass.name) != "share_equal") continue;
    const std::string few = all.graph().str(), many = f.graph().str();
    EXPECT_EQ(count(few, " = exp("), 2u) << few;  // there, and gone through again for the gradient
    EXPECT_GE(count(many, " = exp("), 4u) << many;
    EXPECT_EQ(count(few, " = sin("), 2u) << few;
    EXPECT_GE(count(many, " = sin("), 4u) << many;
  }
}

TEST(FunctionPasses, AreLeftOutOfDerivedGraphs) {
  const auto nodes = [](std::vector<std::string> without, bool& fuses) {
    Graph graph;
    graph.without = std::move(without);
    Tracer tracer(graph);
    const Tensor x = tracer.input({f32, {3}}, {});
    tracer.install();
    const Tensor y = exp(x) * exp(x);
    tracer.remove();
    graph.outputs.push_back(tracer.value_of(y, nullptr, {}));
    const Runner runner(graph);
    const std::shared_ptr<const Derived> way = derived(runner, {true}, kAllResults);
    const std::shared_ptr<const Derived> whole = derived_whole(runner, {true});
    fuses = way->forward->graph().fuses && way->backward->graph().fuses && whole->backward->graph().fuses;
    return way->forward->graph().nodes.size();
  };
  bool fuses = false;
  const std::size_t few = nodes({}, fuses);
  EXPECT_TRUE(fuses);
  EXPECT_GT(nodes({"share_equal"}, fuses), few);
  EXPECT_TRUE(fuses);
  nodes({"fuse"}, fuses);
  EXPECT_FALSE(fuses);
}

}  // namespace
}  // namespace weft::test
