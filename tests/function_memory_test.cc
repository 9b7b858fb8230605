// What calls of a traced Function allocate, from the second on: memory for what leaves the call, and no other.
#include <gtest/gtest.h>

#include <utility>

#include "tests/failing_memory.h"
#include "tests/support.h"
#include <weft/weft.h>

namespace weft::test {
namespace {

struct Allocated {
  std::int64_t blocks, tensors, kept;  // kept: bytes of tensors that are in use afterwards and were not before
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
  for (int i = 0; i < 2; ++i) {
    const Allocated made = allocated_by([&] { f(x, w); });
    EXPECT_EQ(made.tensors, 2);
    EXPECT_EQ(made.kept, 0);
  }
}

TEST_F(FunctionMemory, AStepThatUpdatesInPlaceNeedsNoneForTensors) {
  const auto blocks_of = [](std::int64_t inputs, int layers) {
    std::vector<Variable> weights;
    for (int i = 0; i < layers; ++i) weights.emplace_back(fill({inputs, inputs}, 0.01f));
    SGD sgd{{.learning_rate = 0.01f, .momentum = 0.9f}};
    Function step = [&](Tensor x) {
      GradientTape tape;
      for (const Variable& w : weights) x = matmul(x, w);
      const Tensor loss = sum(x);
      sgd.apply(tape.gradient(loss, weights), weights);
      return loss;
    };
    const Tensor x = fill({16, inputs}, 1.f);
    step(x), step(x);
    const float* const place = weights[0].value().data<float>();
    const std::vector<float> before = floats(weights[0]);
    Allocated made{}, earlier{};
    for (int i = 0; i < 3; ++i) {
      earlier = std::exchange(made, allocated_by([&] { step(x); }, false));
      EXPECT_EQ(made.tensors, 0);  // kernels have theirs from the call before
      EXPECT_EQ(made.kept, 0);
    }
    EXPECT_EQ(made.blocks, earlier.blocks);
    EXPECT_EQ(weights[0].value().data<float>(), place);
    EXPECT_NE(floats(weights[0]), before);
    return made.blocks;
  };
  // Lists of the transaction are all that is left, one entry for each Variable: they do not depend on sizes.
  EXPECT_EQ(blocks_of(12, 2), blocks_of(60, 2));
}

}  // namespace
}  // namespace weft::test
