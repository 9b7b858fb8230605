#include <weft/loss_scale.h>

#include <gtest/gtest.h>

#include <limits>

#include <weft/weft.h>

namespace weft {
namespace {

struct Model {
  Variable x{1.f};
};

void leaves_out_infinities_and_halves(bool traced) {
  Model model;
  SGD sgd{{.learning_rate = 1.f}};
  LossScale scale{{.initial_scale = 8, .growth_steps = 2}};
  EXPECT_EQ(scale.scaled(3.f).item<float>(), 24);
  EXPECT_EQ(scale.scaled(Tensor(3.f, f16)).dtype(), f16);
  const auto body = [&](Tensor g) { return scale.apply(sgd, named_variables(model).with(std::vector<Grad>{g}), model); };
  Function step_traced = body;
  const auto step = [&](float g) { return static_cast<bool>(traced ? step_traced(g) : body(g)); };
  EXPECT_TRUE(step(4));
  EXPECT_EQ(model.x.value().item<float>(), 0.5f);
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) EXPECT_FALSE(step(bad));
  EXPECT_EQ(model.x.value().item<float>(), 0.5f);
  EXPECT_EQ(sgd.steps(), 1);
  EXPECT_EQ(scale.scale.value().item<float>(), 2);
  EXPECT_TRUE(step(1));
  EXPECT_TRUE(step(1));
  EXPECT_EQ(scale.scale.value().item<float>(), 4);
  EXPECT_EQ(scale.good_steps.value().item<std::int64_t>(), 0);
  EXPECT_EQ(model.x.value().item<float>(), -0.5f);
  EXPECT_EQ(step_traced.explain().traced, traced ? 1u : 0u);
}

// SEMANTICS 184
TEST(LossScale, LeavesOutInfinitiesAndHalves) { leaves_out_infinities_and_halves(false); }
TEST(LossScale, DoesSoInATracedStep) { leaves_out_infinities_and_halves(true); }

TEST(LossScale, IsUndoneWithAFailedStep) {
  Model model;
  SGD sgd;
  LossScale scale{{.initial_scale = 8, .growth_steps = 1}};
  EXPECT_THROW(scale.apply(sgd, named_variables(model).with(std::vector<Grad>{Tensor{1.f, 2.f}}), model), ShapeError);
  EXPECT_EQ(scale.scale.value().item<float>(), 8);
  EXPECT_THROW(LossScale({.initial_scale = 0}), ValueError);
  EXPECT_THROW(LossScale({.growth_steps = 0}), ValueError);
}

}  // namespace
}  // namespace weft
