// What calls of a traced Function allocate, from the second on: memory for what leaves the call, and no other.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/failing_memory.h"
#include "tests/support.h"
#include <weft/weft.h>

namespace weft::test {
namespace {

struct Allocated {
  std::int64_t blocks, tensors, kept;  // tensors: blocks for lists, too; kept: bytes of tensors that are in use afterwards and were not before
};

template <class F>
Allocated allocated_by(const F& f, bool cold = true) {
  const std::int64_t before = memory_stats().in_use;
  const CountedMemory memory(cold);
  f();
  return {memory.blocks(), memory.tensors(), memory_stats().in_use - before};
}

class FunctionMemory : public testing::Test {  // one thread: others have counts of their own
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers see every allocation: nothing is kept";
#endif
    set_num_threads(1);
  }
  void TearDown() override { set_num_threads(before_); }
  const int before_ = num_threads();
};

TEST_F(FunctionMemory, ACallAllocatesItsResultAlone) {
  const Tensor x = fill({64, 100}, 1.f), a = fill({100, 50}, 0.1f), b = fill({50, 30}, 0.1f);
  Function f = [](Tensor input, Tensor first, Tensor second) { return sum(matmul(relu(matmul(input, first)), second), {.axis = 0}); };
  Tensor model;
  const std::int64_t result_bytes = allocated_by([&] { model = fill({30}, 0.f); }).kept;
  std::vector<Tensor> held(4);
  for (Tensor& y : held) {
    const Allocated made = allocated_by([&] { y = f(x, a, b); });
    if (&y == &held[0]) continue;  // it traced and planned, and the plan keeps an arena
    EXPECT_EQ(made.kept, result_bytes);
    EXPECT_EQ(made.tensors, 1);    // the Buffer
    EXPECT_LE(made.blocks, 1);     // the Node, unless the thread has one left
    EXPECT_EQ(floats(y), floats(held[0]));
  }
  for (int i = 0; i < 2; ++i) {
    held.back() = Tensor();
    const Allocated made = allocated_by([&] { held.back() = f(x, a, b); });
    EXPECT_EQ(made.blocks, 0);
    EXPECT_EQ(made.tensors, 1);
  }
}

TEST_F(FunctionMemory, EachResultHasABufferUnlessItsNodeHoldsIt) {
  const Tensor x = fill({40, 30}, 2.f), w = fill({30, 20}, 0.5f);
  Function f = [](Tensor a, Tensor b) {
    const Tensor y = matmul(a, b);
    return std::tuple(y, sum(y, {.axis = 0}), sum(y), a);  // the third has one element, the last has its Buffer already
  };
  f(x, w);
  Tensor product, sums;
  const std::int64_t two_buffers = allocated_by([&] { product = fill({40, 20}, 0.f), sums = fill({20}, 0.f); }).kept;
  for (int i = 0; i < 2; ++i) {
    std::tuple<Tensor, Tensor, Tensor, Tensor> results;
    EXPECT_EQ(allocated_by([&] { results = f(x, w); }).kept, two_buffers);
    results = {};
    EXPECT_EQ(allocated_by([&] { results = f(x, w); }, false).tensors, 0);
  }
}

// From the second call on: lists, and what kernels need for a while, are there from the call before, however much the thread has kept already.
template <class F>
void expect_nothing(const F& f) {
  std::vector<Tensor> many(200);
  for (Tensor& x : many) x = fill({2000}, 1.f);
  many.clear();
  f();
  for (int i = 0; i < 3; ++i) {
    const Allocated made = allocated_by(f, false);
    EXPECT_EQ(made.blocks, 0);
    EXPECT_EQ(made.tensors, 0);
    EXPECT_EQ(made.kept, 0);
  }
}

TEST_F(FunctionMemory, AStepThatUpdatesInPlaceAllocatesNothing) {
  for (const int layers : {2, 20}) {
    std::vector<Variable> weights;
    for (int i = 0; i < layers; ++i) weights.emplace_back(fill({30, 30}, 0.01f));
    Adam adam;
    Function step = [&](Tensor x) {
      GradientTape tape;
      for (const Variable& w : weights) x = matmul(x, w);
      const Tensor loss = sum(x);
      adam.apply(tape.gradient(loss, weights), weights);
      return loss;
    };
    const Tensor x = fill({16, 30}, 1.f);
    expect_nothing([&] { step(x); });
    const float* const place = weights[0].value().data<float>();
    const std::vector<float> before = floats(weights[0]);
    step(x);
    EXPECT_EQ(weights[0].value().data<float>(), place);
    EXPECT_NE(floats(weights[0]), before);
  }
}

TEST_F(FunctionMemory, CallsThatWriteVariablesAllocateNothing) {
  Variable a{1.f}, b{2.f};
  Function both = [&](Tensor by) {
    a.assign_add(by);
    b.assign_sub(by);
    return a + b;
  };
  const Tensor one = 1.f;
  expect_nothing([&] { both(one); });
  expect_nothing([&] { atomically([&] { both(one), both(one); }); });
}

struct Layer {
  Variable weight, bias;
};
struct Net {
  std::vector<Layer> layers;
  std::map<std::string, Variable> scales;
};

TEST_F(FunctionMemory, CallsOnStructsAllocateNothing) {
  Net net;
  for (int i = 0; i < 6; ++i) net.layers.push_back({Variable{fill({8, 8}, 0.1f)}, Variable{fill({8}, 0.f)}});
  net.scales.try_emplace("out", 2.f);
  Function read = [](Net& n, Tensor x) {
    for (const Layer& layer : n.layers) x = relu(matmul(x, layer.weight) + layer.bias);
    return x * n.scales.at("out");
  };
  Function write = [](Net& n, Tensor by) {
    for (Layer& layer : n.layers) layer.bias.assign_add(by);
    return by;
  };
  Function swap = [](std::pair<Tensor, Tensor> p) { return std::pair(p.second, p.first); };
  const Tensor x = fill({4, 8}, 1.f), by = fill({8}, 1.f);
  expect_nothing([&] { read(net, x); });
  expect_nothing([&] { write(net, by); });
  expect_nothing([&] { swap(std::pair(x, by)); });
}

// Only what it refuses needs words for them, and what the body could change behind its back.
TEST_F(FunctionMemory, AnEagerCallMakesNoWordsOfItsArguments) {
  std::vector<Variable> many;
  for (int i = 0; i < 100; ++i) many.emplace_back(1.f);
  Function f{[](std::vector<Variable>& list) { list[0].assign_add(1.f); }, {.run_eagerly = true}};
  f(many);
  const CountedMemory memory(false);
  f(many);
  EXPECT_LT(memory.blocks(), 100);
}

}  // namespace
}  // namespace weft::test
