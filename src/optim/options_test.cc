// Options of optimizers: what means nothing is refused where it is written, and what means something is not.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support.h"
#include <weft/optim.h>
#include <weft/weft.h>

namespace weft {
namespace {

using test::message;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinite = std::numeric_limits<double>::infinity();

#define EXPECT_REFUSED(text, ...) EXPECT_EQ(message<ValueError>([] { __VA_ARGS__; }), text)

// As Keras refuses it, and what it would make NaN or noise of.
TEST(OptimizerOptions, AreRefusedWhereTheyMeanNothing) {
  EXPECT_REFUSED("SGD: momentum is -1; give a number from 0 to 1.", SGD sgd{{.momentum = -1}});
  EXPECT_REFUSED("SGD: momentum is 1.5; give a number from 0 to 1.", SGD sgd{{.momentum = 1.5}});
  EXPECT_REFUSED("SGD: momentum is nan; give a number from 0 to 1.", SGD sgd{{.momentum = kNan}});
  EXPECT_REFUSED("Adam: beta_2 is 2; give a number from 0 up to, but not, 1.", Adam adam{{.beta_2 = 2}});
  EXPECT_REFUSED("Adam: beta_1 is 1; give a number from 0 up to, but not, 1.", Adam adam{{.beta_1 = 1}});
  EXPECT_REFUSED("Adam: epsilon is -1; give a finite number, 0 or more.", Adam adam{{.epsilon = -1}});
  EXPECT_REFUSED("AdamW: epsilon is inf; give a finite number, 0 or more.", AdamW adam{{.epsilon = kInfinite}});
  EXPECT_REFUSED("AdamW: beta_1 is -0.5; give a number from 0 up to, but not, 1.", AdamW adam{{.beta_1 = -0.5}});
  EXPECT_REFUSED("Adamax: beta_1 is 1; give a number from 0 up to, but not, 1.", Adamax adamax{{.beta_1 = 1}});
  EXPECT_REFUSED("Adamax: beta_2 is 3; give a number from 0 to 1.", Adamax adamax{{.beta_2 = 3}});
  EXPECT_REFUSED("Nadam: beta_2 is 1; give a number from 0 up to, but not, 1.", Nadam nadam{{.beta_2 = 1}});
  EXPECT_REFUSED("Adagrad: initial_accumulator_value is -1; give a finite number, 0 or more.", Adagrad adagrad{{.initial_accumulator_value = -1}});
  EXPECT_REFUSED("Adagrad: epsilon is nan; give a finite number, 0 or more.", Adagrad adagrad{{.epsilon = kNan}});
  EXPECT_REFUSED("Adadelta: rho is 1.5; give a number from 0 to 1.", Adadelta adadelta{{.rho = 1.5}});
  EXPECT_REFUSED("RMSprop: rho is -1; give a number from 0 to 1.", RMSprop rmsprop{{.rho = -1}});
  EXPECT_REFUSED("RMSprop: momentum is -1; give a number from 0 to 1.", RMSprop rmsprop{{.momentum = -1}});
  EXPECT_REFUSED("Ftrl: learning_rate_power is 0.5; give a finite number, 0 or less.", Ftrl ftrl{{.learning_rate_power = 0.5}});
  EXPECT_REFUSED("Ftrl: l2_regularization_strength is -1; give a finite number, 0 or more.", Ftrl ftrl{{.l2_regularization_strength = -1}});
  EXPECT_REFUSED("Ftrl: beta is -1; give a finite number, 0 or more.", Ftrl ftrl{{.beta = -1}});
  EXPECT_REFUSED("Lion: beta_1 is 0; give a number above 0, up to 1.", Lion lion{{.beta_1 = 0}});
  EXPECT_REFUSED("Lion: beta_2 is 2; give a number from 0 to 1.", Lion lion{{.beta_2 = 2}});
  EXPECT_REFUSED("Lamb: beta_2 is 1; give a number from 0 up to, but not, 1.", Lamb lamb{{.beta_2 = 1}});
  EXPECT_REFUSED("Adafactor: beta_2_decay is 0.8; give a finite number, 0 or less.", Adafactor adafactor{{.beta_2_decay = 0.8}});
  EXPECT_REFUSED("Adafactor: clip_threshold is 0; give a finite number above 0.", Adafactor adafactor{{.clip_threshold = 0}});
  EXPECT_REFUSED("Adafactor: epsilon_2 is -1; give a finite number, 0 or more.", Adafactor adafactor{{.epsilon_2 = -1}});
  EXPECT_REFUSED("Muon: momentum is 2; give a number from 0 to 1.", Muon muon{{.momentum = 2}});
  EXPECT_REFUSED("Muon: ns_steps is -1; give a whole number, 0 or more.", Muon muon{{.ns_steps = -1}});
  EXPECT_REFUSED("Muon: adam_beta_1 is 1; give a number from 0 up to, but not, 1.", Muon muon{{.adam_beta_1 = 1}});
  EXPECT_REFUSED("ScheduleFreeAdamW: beta_1 is 0; give a number above 0, up to 1.", ScheduleFreeAdamW adam{{.beta_1 = 0}});
  EXPECT_REFUSED("SGD: learning_rate is nan; give a finite number.", SGD sgd{{.learning_rate = kNan}});
  EXPECT_REFUSED("Adam: learning_rate is inf; give a finite number.", Adam adam{{.learning_rate = kInfinite}});
  EXPECT_REFUSED("Adam: learning_rate is 1e+300; give a finite number.", Adam adam{{.learning_rate = 1e300}});  // of f32
  EXPECT_REFUSED("SGD: weight_decay is inf; give a finite number, 0 or more.", SGD sgd{{.weight_decay = kInfinite}});
  EXPECT_REFUSED("SGD: weight_decay is -1; give a finite number, 0 or more.", SGD sgd{{.weight_decay = -1}});
  EXPECT_REFUSED("SGD: loss_scale_factor is inf; give a finite number above 0.", SGD sgd{{.loss_scale_factor = kInfinite}});
  EXPECT_REFUSED("SGD: loss_scale_factor is 0; give a finite number above 0.", SGD sgd{{.loss_scale_factor = 0}});
  EXPECT_REFUSED("SGD: clipnorm is nan; give more than 0.", SGD sgd{{.clipnorm = kNan}});
  EXPECT_REFUSED("SGD: clipvalue is 0; give more than 0.", SGD sgd{{.clipvalue = 0.0}});
  EXPECT_REFUSED("SGD: ema_momentum is nan; give a number from 0 to 1.", SGD sgd{{.ema_momentum = kNan}});
  EXPECT_REFUSED("SGD: ema_overwrite_frequency is -1; give a whole number, 0 or more.", SGD sgd{{.ema_overwrite_frequency = -1}});
  EXPECT_REFUSED("ScheduleFreeAdamW: warmup_steps is -1; give a whole number, 0 or more.", ScheduleFreeAdamW adam{{.warmup_steps = -1}});
}

// Three steps, after which the Variable has moved and is finite.
template <class O>
void expect_steps(O&& optimizer) {
  Variable x{{1.f, -2.f}, {.name = "x"}};
  for (int i = 0; i < 3; ++i) optimizer.apply({Tensor({0.5f, -1.f})}, {x});
  const std::vector<float> now = test::floats(x);
  EXPECT_TRUE(std::isfinite(now[0]) && std::isfinite(now[1]));
  EXPECT_NE(now[0], 1.f);
}

TEST(OptimizerOptions, MayBeAtTheEndsOfWhatMeansSomething) {
  expect_steps(SGD{{.momentum = 1}});
  expect_steps(SGD{{.learning_rate = -0.1f}});  // uphill
  expect_steps(SGD{{.clipnorm = kInfinite}});   // nothing is clipped
  expect_steps(Adam{{.beta_1 = 0, .beta_2 = 0, .epsilon = 0}});
  expect_steps(Adamax{{.beta_1 = 0, .beta_2 = 1}});
  expect_steps(Nadam{{.beta_1 = 1}});
  expect_steps(Adagrad{{.initial_accumulator_value = 0}});
  expect_steps(Adadelta{{.rho = 1}});
  expect_steps(RMSprop{{.rho = 1, .momentum = 1}});
  expect_steps(Ftrl{{.learning_rate_power = 0, .initial_accumulator_value = 0}});
  expect_steps(Lion{{.beta_1 = 1, .beta_2 = 0}});
  expect_steps(Lion{{.beta_2 = 1}});
  expect_steps(Adafactor{{.beta_2_decay = 0, .epsilon_1 = 0, .epsilon_2 = 0}});
  expect_steps(Muon{{.momentum = 0, .ns_steps = 0}});
  expect_steps(ScheduleFreeAdamW{{.beta_1 = 1}});
}

}  // namespace
}  // namespace weft
