// Steps of optimizers in Functions change Variables where they lie, and nobody can tell.
#include <gtest/gtest.h>

#include "tests/support.h"
#include <weft/weft.h>

namespace weft::test {
namespace {

struct Net {
  Variable w{zeros({64, 32})}, b{zeros({32})};
};

Tensor input() { return reshape(arange(0.f, 256.f, 1.f) * 0.01f, {4, 64}); }

template <class Optimizer>
Tensor step(Optimizer& optimizer, Net& net, Tensor x) {
  GradientTape tape;
  const Tensor loss = mean(square(matmul(x, net.w) + net.b - 1.f));
  optimizer.apply(tape.gradient(loss, net), net);
  return loss;
}

const void* address(const Variable& v) { return v.value().data<float>(); }

TEST(FunctionUpdate, ChangesVariablesWhereTheyLie) {
  Net net;
  Adam adam{{.learning_rate = 0.01f}};
  Function f = [&](Tensor x) { return step(adam, net, x); };
  f(input());
  const void* const w = address(net.w);
  const std::uint64_t version = net.w.version();
  for (int i = 0; i < 3; ++i) f(input());
  EXPECT_EQ(address(net.w), w);
  EXPECT_EQ(net.w.version(), version + 3);
}

TEST(FunctionUpdate, GivesTheBitsOfEagerSteps) {
  const auto both = [](auto make) {
    Net eager, traced, passed;
    auto a = make(), b = make(), c = make();
    Function captured = [&](Tensor x) { return step(b, traced, x); };
    Function argument = [&](Net& net, Tensor x) { return step(c, net, x); };
    for (int i = 0; i < 4; ++i) {
      const Tensor x = input() + static_cast<float>(i);
      const float loss = number(step(a, eager, x));
      EXPECT_EQ(number(captured(x)), loss);
      EXPECT_EQ(number(argument(passed, x)), loss);
    }
    for (const Net* net : {&traced, &passed}) {
      EXPECT_EQ(floats(net->w), floats(eager.w));
      EXPECT_EQ(floats(net->b), floats(eager.b));
    }
    EXPECT_EQ(a.iterations.value().template item<std::int64_t>(), b.iterations.value().template item<std::int64_t>());
  };
  both([] { return Adam{{.learning_rate = 0.01f}}; });
  both([] { return SGD{{.learning_rate = 0.01f, .momentum = 0.9f}}; });
  both([] { return SGD{{.learning_rate = 0.01f}}; });
}

TEST(FunctionUpdate, AValueThatSomebodyHoldsStaysAsItIs) {
  Net net;
  Adam adam{{.learning_rate = 0.01f}};
  Function f = [&](Tensor x) {
    const Tensor before = net.b.value();
    step(adam, net, x);
    return before;
  };
  f(input());
  const Tensor held = net.w.value();
  const std::vector<float> was = floats(held), b = floats(net.b);
  EXPECT_EQ(floats(f(input())), b) << "what the body has read before the step is what it was";
  EXPECT_EQ(floats(held), was);
  EXPECT_NE(floats(net.w), was);
  EXPECT_NE(floats(net.b), b);
}

TEST(FunctionUpdate, AFailureChangesNothing) {
  Net net;
  Adam adam{{.learning_rate = 0.01f}};
  Function f = [&](Tensor x, Tensor most) {
    const Tensor loss = step(adam, net, x);
    check(loss < most, "loss");
    check(all_true(net.w < 100.f), "the new weights");  // looks at what the step has made, so it cannot wait
  };
  f(input(), 1e9f);
  const std::vector<float> w = floats(net.w);
  EXPECT_THROW(f(input(), 0.f), CheckError);
  EXPECT_EQ(floats(net.w), w);
  EXPECT_EQ(adam.iterations.value().item<std::int64_t>(), 1);
}

TEST(FunctionUpdate, IsPartOfABlock) {
  Net net;
  Adam adam{{.learning_rate = 0.01f}};
  Function f = [&](Tensor x) { return step(adam, net, x); };
  f(input());
  const std::vector<float> w = floats(net.w);
  EXPECT_THROW(atomically([&] {
    f(input());
    EXPECT_NE(floats(net.w), w);
    throw std::runtime_error("stop");
  }), std::runtime_error);
  EXPECT_EQ(floats(net.w), w);
}

}  // namespace
}  // namespace weft::test
