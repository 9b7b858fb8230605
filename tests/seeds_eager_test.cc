// Small programs about changing values while training, as people write them, with what they must print.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support.h"
#include <weft/weft.h>

namespace weft {
namespace {

using test::floats;
using test::message;
using test::number;
using Floats = std::vector<float>;

// --- values that are updated by hand ---

// Giving a name another value is not assigning: in C++ `var_a = tensor` does not compile (tests/must_not_compile/variable.cc), and a
// handle that is made anew leaves the Variable alone.
// PAIN 9
TEST(SeedUpdates, RebindingAgainstAssigning) {
  Variable var_a{10.f};
  const Variable same = var_a;
  static_assert(!std::is_assignable_v<Variable&, Tensor>);
  Tensor value = var_a;
  value = Tensor(20.f);
  EXPECT_EQ(number(value), 20);
  EXPECT_EQ(number(same), 10);  // untouched
  var_a = Variable{20.f};       // this handle now names another Variable
  EXPECT_EQ(number(var_a), 20);
  EXPECT_EQ(number(same), 10);

  Variable again{10.f};
  const Variable handle = again;
  again.assign(30.f);
  EXPECT_EQ(number(again), 30);
  EXPECT_EQ(number(handle), 30);
}

TEST(SeedUpdates, TapeAndManualUpdates) {
  Variable var_b{5.f};
  const auto function_b = [&](Tensor x) { return x * var_b; };
  GradientTape tape;
  const Tensor result = function_b(3.f);
  const Tensor gradient = tape.gradient(result, var_b);
  EXPECT_EQ(number(gradient), 3);
  var_b.assign(number(var_b) + 2);
  EXPECT_EQ(number(var_b), 7);
  var_b.assign_add(Tensor(2.f));
  EXPECT_EQ(number(var_b), 9);
  EXPECT_EQ(number(gradient), 3);
  EXPECT_EQ(number(result), 15);
}

// --- Variables that are changed between the steps of an optimizer ---

TEST(SeedTraining, AdamThenAssignAdd) {
  const std::vector<double> keras = {0.5,       0.9255873, 1.3420478, 1.7541013, 2.1631794,
                                     2.5698943, 2.9745646, 3.3773775, 3.7784560, 4.1778870};
  for (const bool eager : {true, false}) {
    Variable my_variable{0.f};
    Adam optimizer{{.learning_rate = 0.1f}};
    Function step{[&] {
                    GradientTape tape;
                    const Tensor loss = pow(my_variable, 2.f);
                    const Tensor gradient = tape.gradient(loss, my_variable);
                    optimizer.apply({gradient}, {my_variable});
                    my_variable.assign_add(0.5f);
                  },
                  {.run_eagerly = eager}};
    for (const double expected : keras) {
      step();
      EXPECT_NEAR(number(my_variable), expected, 1e-6);
    }
    EXPECT_EQ(optimizer.steps(), 10);
  }
}

// An integer has no gradient: that is said where the gradient is asked for, and nothing has changed.
TEST(SeedTraining, AnIntegerCounterWithAnOptimizer) {
  Variable counter{0, {.name = "counter"}};
  SGD optimizer{{.learning_rate = 0.01f}};
  const auto step = [&] {
    GradientTape tape;
    const Tensor loss = counter * 2;
    const Tensor gradient = tape.gradient(loss, counter);
    optimizer.apply({gradient}, {counter});
  };
  const std::string text = message<GradientError>(step);
  EXPECT_NE(text.find("Variable \"counter\" i32[]"), std::string::npos) << text;
  EXPECT_NE(text.find("multiply"), std::string::npos) << text;
  EXPECT_NE(text.find("Variable{0.f}"), std::string::npos) << text;
  EXPECT_EQ(counter.value().item<int>(), 0);
  EXPECT_EQ(counter.version(), 0u);
  EXPECT_EQ(optimizer.steps(), 0);
  EXPECT_TRUE(optimizer.slots.empty());

  // The remedy, with a reset at every other step.
  Variable floating{0.f};
  Floats seen;
  for (int i = 0; i < 5; ++i) {
    GradientTape tape;
    optimizer.apply({tape.gradient(floating * 2, floating)}, {floating});
    if (i % 2 == 0) floating.assign(0.f);
    seen.push_back(number(floating));
  }
  EXPECT_EQ(seen, (Floats{0, -0.02f, 0, -0.02f, 0}));
}

TEST(SeedTraining, ClippedGradientsAndAssignSub) {
  Variable my_var{1.f};
  SGD optimizer{{.learning_rate = 0.01f}};
  const Floats printed = {0.895f, 0.79f, 0.685f, 0.58f, 0.475f, 0.37f, 0.265f, 0.16f, 0.05679997f, -0.04433603f};
  for (const float expected : printed) {
    GradientTape tape;
    const Tensor loss = pow(my_var, 2.f);
    const std::vector<Tensor> gradients = tape.gradient(loss, std::vector{my_var});
    std::vector<Tensor> clipped;
    for (const Tensor& gradient : gradients) clipped.push_back(clip_by_value(gradient, -0.5f, 0.5f));
    optimizer.apply(clipped, {my_var});
    my_var.assign_sub(0.1f);
    EXPECT_NEAR(number(my_var), expected, 1e-6f);
  }
}

// --- Tensors have no assign: what stands in its place ---

TEST(SeedTensors, AreMadeWithTheirValues) {
  Generator random{42};
  const Variable weight{random.uniform({5, 10})}, bias{zeros({10})};
  EXPECT_EQ(weight.spec(), (Spec{f32, {5, 10}}));
  EXPECT_EQ(floats(bias), Floats(10, 0));
  EXPECT_EQ(floats(ones({2})), (Floats{1, 1}));
  for (const float w : floats(weight)) EXPECT_TRUE(0 <= w && w < 1) << w;
  EXPECT_EQ(floats(Generator{42}.uniform({5, 10})), floats(weight));  // the same seed, the same numbers
  EXPECT_NE(floats(random.uniform({5, 10})), floats(weight));
  [](auto tensor) { static_assert(!requires { tensor.assign(tensor); }, "hold state in a Variable"); }(Tensor(1.f));
}

TEST(SeedTensors, GradientsHaveTheShapeOfTheirSource) {
  Generator random{42};
  Variable weight{random.uniform({5, 10})}, bias{zeros({10})};
  const Floats before = floats(weight);
  GradientTape tape({.persistent = true});
  const Tensor output = weight + bias;
  const Tensor d_weight = tape.gradient(output, weight), d_bias = tape.gradient(output, bias);
  EXPECT_EQ(d_weight.shape(), Shape({5, 10}));
  EXPECT_EQ(floats(d_weight), Floats(50, 1));
  EXPECT_EQ(d_bias.shape(), Shape({10}));
  EXPECT_EQ(floats(d_bias), Floats(10, 5));  // each was added to five rows
  const float learning_rate = 0.1f;
  weight.assign_sub(learning_rate * d_weight);
  bias.assign_sub(learning_rate * d_bias);
  EXPECT_EQ(floats(bias), Floats(10, -0.5f));
  const Floats after = floats(weight);
  for (std::size_t i = 0; i < after.size(); ++i) EXPECT_EQ(after[i], before[i] - 0.1f) << i;
}

TEST(SeedTensors, ReluMakesANewTensor) {
  const Tensor initial_value = {-1.f, 2.f, -3.f, 4.f};
  GradientTape tape;
  tape.watch(initial_value);
  const Tensor activated_value = relu(initial_value);
  EXPECT_EQ(floats(activated_value), (Floats{0, 2, 0, 4}));
  EXPECT_EQ(floats(initial_value), (Floats{-1, 2, -3, 4}));
  EXPECT_EQ(floats(tape.gradient(activated_value, initial_value)), (Floats{0, 1, 0, 1}));
}

}  // namespace
}  // namespace weft
