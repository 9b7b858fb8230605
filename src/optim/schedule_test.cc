// Every schedule of tests/data/schedules.json, and what makes no sense.
#include <weft/schedule.h>

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "tests/support.h"
#include <weft/weft.h>

namespace weft {
namespace {

using Json = nlohmann::json;
using Schedule = std::function<Tensor(Tensor)>;

Schedule schedule_of(const std::string& name, const Json& a) {
  const auto number = [&](const char* key, double otherwise) { return a.value(key, otherwise); };
  const double initial = number("initial_learning_rate", 0), steps = number("decay_steps", 0);
  if (name == "ExponentialDecay") return ExponentialDecay{initial, steps, a.at("decay_rate"), a.value("staircase", false)};
  if (name == "PiecewiseConstantDecay") return PiecewiseConstantDecay{a.at("boundaries"), a.at("values")};
  if (name == "PolynomialDecay")
    return PolynomialDecay{initial, steps, number("end_learning_rate", 0.0001), number("power", 1), a.value("cycle", false)};
  if (name == "InverseTimeDecay") return InverseTimeDecay{initial, steps, a.at("decay_rate"), a.value("staircase", false)};
  if (name == "CosineDecay") {
    CosineDecay decay{.initial_learning_rate = initial, .decay_steps = steps, .alpha = number("alpha", 0)};
    if (a.contains("warmup_target")) decay.warmup_target = a.at("warmup_target"), decay.warmup_steps = a.at("warmup_steps");
    return decay;
  }
  if (name == "CosineDecayRestarts")
    return CosineDecayRestarts{initial, a.at("first_decay_steps"), number("t_mul", 2), number("m_mul", 1), number("alpha", 0)};
  return nullptr;
}

TEST(Schedules, AreThoseOfKeras) {
  const Json golden = Json::parse(std::ifstream(WEFT_SOURCE_DIR "/tests/data/schedules.json"));
  ASSERT_EQ(golden.size(), 9u);
  for (const Json& entry : golden) {
    const Schedule schedule = schedule_of(entry.at("schedule"), entry.at("arguments"));
    ASSERT_TRUE(schedule) << entry.at("schedule");
    for (const auto& [step, value] : entry.at("values").items()) {
      const double want = value;
      for (const Tensor& at : {Tensor(std::stoi(step)), Tensor(std::stoi(step), i64), Tensor(std::stof(step))}) {
        const Tensor rate = schedule(at);
        EXPECT_EQ(rate.spec().str(), "f32[]");
        EXPECT_NEAR(rate.item<double>(), want, 1e-6 + 1e-5 * want) << entry.at("schedule") << entry.at("arguments") << " at " << step;
      }
    }
  }
}

TEST(Schedules, TellLateStepsApart) {
  const PiecewiseConstantDecay rate{.boundaries = {100'000'000}, .values = {1, 2}};
  EXPECT_EQ(rate(100'000'000).item<float>(), 1);
  EXPECT_EQ(rate(100'000'001).item<float>(), 2);
}

TEST(Schedules, RestartExactlyWhereAWaveEnds) {
  const CosineDecayRestarts rate{.initial_learning_rate = 1, .first_decay_steps = 7, .t_mul = 3};
  for (double start = 0, length = 7; start < 1e6; start += length, length *= 3) {
    EXPECT_FLOAT_EQ(rate(Tensor(start, f64)).item<float>(), 1) << start;
    EXPECT_LT(rate(Tensor(start + length - 1, f64)).item<float>(), 0.2f) << start;
  }
}

TEST(Schedules, RefuseWhatMakesNoSense) {
  const auto message = [](const auto& schedule) { return test::message<ValueError>([&] { schedule(1); }); };
  EXPECT_EQ(message(ExponentialDecay{.decay_steps = 0}), "ExponentialDecay: decay_steps is 0; give more than 0 steps.");
  EXPECT_EQ(message(InverseTimeDecay{.decay_steps = -1}), "InverseTimeDecay: decay_steps is -1; give more than 0 steps.");
  EXPECT_EQ(message(PolynomialDecay{.decay_steps = 0}), "PolynomialDecay: decay_steps is 0; give more than 0 steps.");
  EXPECT_EQ(message(CosineDecay{.decay_steps = 0}), "CosineDecay: decay_steps is 0; give more than 0 steps.");
  EXPECT_EQ(message(CosineDecayRestarts{.first_decay_steps = 0}), "CosineDecayRestarts: first_decay_steps is 0; give more than 0 steps.");
  EXPECT_EQ(message(CosineDecayRestarts{.t_mul = 0.5}), "CosineDecayRestarts: t_mul is 0.5; give 1 or more.");
  EXPECT_EQ(message(PiecewiseConstantDecay{.boundaries = {1}, .values = {1}}),
            "PiecewiseConstantDecay: there are 1 values for 1 boundaries; give one value more than boundaries.");
}

}  // namespace
}  // namespace weft
