// Small programs with traced functions and state, as people write them, with what they must print.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/suite_rows.h"
#include "tests/support.h"
#include <weft/weft.h>

namespace weft {
namespace {

using test::floats;
using test::number;
using Floats = std::vector<float>;

// --- state that is passed ---

struct HyperParams {
  Variable lr_param{0.01f};
};
struct ModelParams {
  HyperParams hparams;
};

TEST(SeedArguments, ANestedMemberOfAStruct) {
  ModelParams params;
  Function update_lr = [](ModelParams& p, Tensor new_lr) {
    p.hparams.lr_param.assign(new_lr);
    return p;
  };
  const ModelParams returned = update_lr(params, 0.1f);
  EXPECT_EQ(number(params.hparams.lr_param), 0.1f);
  EXPECT_EQ(number(returned.hparams.lr_param), 0.1f);
}

TEST(SeedArguments, AVariable) {
  Variable lr{0.01f};
  Function update_lr = [](Variable& v, Tensor new_lr) { return v.assign(new_lr); };
  const Variable returned = update_lr(lr, 0.1f);
  EXPECT_EQ(number(lr), 0.1f);
  EXPECT_EQ(number(returned), 0.1f);
  EXPECT_TRUE(returned.same_slot(lr));
}

TEST(SeedArguments, AMapOfVariables) {
  std::map<std::string, Variable> params;
  params.emplace("lr", Variable{0.01f});
  Function update_lr = [](std::map<std::string, Variable>& p, Tensor new_lr) {
    p.at("lr").assign(new_lr);
    return p;
  };
  const std::map<std::string, Variable> returned = update_lr(params, 0.1f);
  EXPECT_EQ(number(params.at("lr")), 0.1f);
  EXPECT_EQ(number(returned.at("lr")), 0.1f);
}

// --- state that is captured ---

TEST(SeedCaptures, TracedThenOutsideThenTraced) {
  Variable counter{1.f};
  Function increment = [&] { counter.assign_add(1.f); };
  increment();
  EXPECT_EQ(number(counter), 2);
  counter.assign(3.f);
  EXPECT_EQ(number(counter), 3);
  increment();
  EXPECT_EQ(number(counter), 4);
  EXPECT_EQ(increment.explain().traced, 1u);
}

TEST(SeedCaptures, ASignatureAndAGlobalVariable) {
  Variable total{1.f};
  Function add{[&](Tensor value) { return total.assign_add(value); }, {.signature = {Spec{f32, {}}}}};
  add(2.f);
  EXPECT_EQ(number(total), 3);
  add(2.f);
  EXPECT_EQ(number(total), 5);
  EXPECT_EQ(add.explain().traced, 1u);
}

TEST(SeedCaptures, TwoVariablesFromAVector) {
  Variable a{1.f}, b{2.f};
  Function update{[&](Tensor values) {
                    a.assign_add(values[0]);
                    b.assign_add(values[1]);
                    return stack({a, b});
                  },
                  {.signature = {Spec{f32, {2}}}}};
  EXPECT_EQ(floats(update({2.f, 3.f})), (Floats{3, 5}));
  EXPECT_EQ(floats(update({2.f, 3.f})), (Floats{5, 8}));
}

TEST(SeedCaptures, ClippingSgdAndAssignSub) {
  Variable my_var{1.f};
  SGD optimizer{{.learning_rate = 0.01f}};
  Function step = [&] {
    GradientTape tape;
    const Tensor loss = pow(my_var, 2.f);
    const Tensor clipped = clip_by_value(tape.gradient(loss, my_var), -0.5f, 0.5f);
    optimizer.apply({clipped}, {my_var});
    my_var.assign_sub(0.1f);
  };
  for (const float expected : {0.895f, 0.79f, 0.685f, 0.58f, 0.475f, 0.37f, 0.265f, 0.16f, 0.05679997f, -0.04433603f}) {
    step();
    EXPECT_NEAR(number(my_var), expected, 1e-6f);
  }
}

// --- under stress ---

TEST(SeedStress, AStepThatFailsInTheMiddleChangesNothing) {
  Variable a{zeros({4})}, b{zeros({4})};
  Function step = [&](Tensor x, Tensor index) {
    a.assign(x);
    const Tensor checked = gather(x, index);
    b.assign(x + checked);
  };
  step(ones({4}), Tensor(0));
  EXPECT_THROW(step(fill({4}, 7.f), Tensor(9)), IndexError);
  EXPECT_EQ(floats(a), Floats(4, 1));
  EXPECT_EQ(floats(b), Floats(4, 2));
}

// One thread steps two large Variables, others read both in one call: nobody sees a torn or a mixed state.
TEST(SeedStress, ReadsInOneCallSeeOneStep) {
  constexpr std::int64_t kSize = 200'000;
  Variable a{zeros({kSize})}, b{zeros({kSize})};
  Function step = [&](Tensor x) { a.assign(a + x), b.assign(b + x); };
  Function look = [&] { return std::tuple(min(a), max(a), min(b), max(b)); };
  std::atomic<bool> done = false;
  std::atomic<int> reads = 0, wrong = 0;
  std::vector<std::thread> readers;
  for (int t = 0; t < 2; ++t)
    readers.emplace_back([&] {
      while (!done) {
        const auto [low_a, high_a, low_b, high_b] = look();
        const float x = number(low_a);
        if (number(high_a) != x || number(low_b) != x || number(high_b) != x) ++wrong;
        ++reads;
      }
    });
  const Tensor one = fill({kSize}, 1.f);
  int steps = 0;
  const int wanted = test::small_scale() ? 300 : 10'000;
  while (steps < 300 || reads < wanted) step(one), ++steps;
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0) << "of " << reads << " reads";
  EXPECT_EQ(number(a[0]), static_cast<float>(steps));
}

TEST(SeedStress, NoIncrementIsLost) {
  Variable c{0.f};
  Function increment = [&] { c.assign(c + 1.f); };
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) increment();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(number(c), 4000);
}

}  // namespace
}  // namespace weft
