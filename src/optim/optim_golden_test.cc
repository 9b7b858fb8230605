// Every case of tests/data/optimizers.json: what Keras 3.15 leaves in the Variables after up to 30 steps.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include <weft/optim.h>
#include <weft/weft.h>

namespace weft {
namespace {

using Json = nlohmann::json;

const Json& golden() {
  static const Json data = Json::parse(std::ifstream(WEFT_SOURCE_DIR "/tests/data/optimizers.json"));
  return data;
}

Tensor tensor_of(const Json& entry) {
  Shape shape;
  for (const Json& size : entry.at("shape")) shape.append(size.get<std::int64_t>());
  return Tensor(entry.at("data").get<std::vector<float>>(), shape);
}

// Takes arguments one by one, so that none is overlooked.
class Arguments {
 public:
  explicit Arguments(const Json& case_) : left_(case_.at("arguments")) {
    if (case_.contains("learning_rate")) left_["learning_rate"] = case_.at("learning_rate");
  }
  template <class T>
  void take(const char* name, T& into) {
    if (!left_.contains(name)) return;
    if constexpr (std::is_same_v<T, std::optional<double>>) into = left_.at(name).get<double>();
    else into = left_.at(name).get<T>();
    left_.erase(name);
  }
  template <class Options>
  Options common(Options o) {
    if (left_.contains("learning_rate")) {
      const double rate = left_.at("learning_rate");
      std::destroy_at(&o.learning_rate);
      std::construct_at(&o.learning_rate, rate);
      left_.erase("learning_rate");
    }
    take("weight_decay", o.weight_decay);
    take("clipnorm", o.clipnorm);
    take("global_clipnorm", o.global_clipnorm);
    take("clipvalue", o.clipvalue);
    take("use_ema", o.use_ema);
    take("ema_momentum", o.ema_momentum);
    take("ema_overwrite_frequency", o.ema_overwrite_frequency);
    take("loss_scale_factor", o.loss_scale_factor);
    take("gradient_accumulation_steps", o.gradient_accumulation_steps);
    EXPECT_TRUE(left_.empty()) << left_;
    return o;
  }

 private:
  Json left_;
};

std::unique_ptr<Optimizer> optimizer_of(const Json& case_) {
  const std::string name = case_.at("optimizer");
  Arguments a(case_);
  const auto betas = [&](auto& o) { a.take("beta_1", o.beta_1), a.take("beta_2", o.beta_2), a.take("epsilon", o.epsilon); };
  const auto make = [&]<class O>(O o) -> std::unique_ptr<Optimizer> { return std::make_unique<BuiltIn<O>>(a.common(std::move(o))); };
  if (name == "SGD") {
    SGDOptions o;
    a.take("momentum", o.momentum), a.take("nesterov", o.nesterov);
    return make(o);
  }
  if (name == "Adam") {
    AdamOptions o;
    betas(o), a.take("amsgrad", o.amsgrad);
    return make(o);
  }
  if (name == "AdamW") return make(AdamWOptions{});
  if (name == "Adamax") return make(AdamaxOptions{});
  if (name == "Nadam") return make(NadamOptions{});
  if (name == "Adagrad") return make(AdagradOptions{});
  if (name == "Adadelta") return make(AdadeltaOptions{});
  if (name == "RMSprop") {
    RMSpropOptions o;
    a.take("momentum", o.momentum), a.take("centered", o.centered);
    return make(o);
  }
  if (name == "Ftrl") {
    FtrlOptions o;
    a.take("l1_regularization_strength", o.l1_regularization_strength), a.take("l2_regularization_strength", o.l2_regularization_strength);
    a.take("l2_shrinkage_regularization_strength", o.l2_shrinkage_regularization_strength), a.take("beta", o.beta);
    return make(o);
  }
  if (name == "Lion") return make(LionOptions{});
  if (name == "Lamb") return make(LambOptions{});
  if (name == "Muon") return make(MuonOptions{});
  if (name == "ScheduleFreeAdamW") return make(ScheduleFreeAdamWOptions{});
  if (name == "Adafactor") {
    AdafactorOptions o;
    a.take("relative_step", o.relative_step);
    return make(o);
  }
  return nullptr;
}

// The gradients that the file describes in words.
std::vector<Grad> gradients_at(const Json& case_, const Tensor& step, const std::vector<Variable>& variables) {
  const auto arange_f32 = [](int n) { return cast(arange(0, n, 1), f32); };
  const std::string text = case_.at("gradients");
  if (text.starts_with("g1 = cos(arange(3) + 0.7*step)"))
    return {cos(arange_f32(3) + 0.7f * step), reshape(sin(arange_f32(4) * 1.3f + 0.3f * step) * 0.5f, {2, 2})};
  EXPECT_EQ(text, "indexed slices: rows [1, 3, 1] of [4, 2], values reshape(cos(arange(6) + step), [3, 2])");
  return {IndexedSlices{reshape(cos(arange_f32(6) + step), {3, 2}), Tensor{1, 3, 1}, variables[0].value()}};
}

class OptimizerGolden : public testing::TestWithParam<std::size_t> {};

void expect_keras(const Json& case_, bool traced) {
  const std::unique_ptr<Optimizer> optimizer = optimizer_of(case_);
  ASSERT_NE(optimizer, nullptr) << case_.at("optimizer");
  std::vector<Variable> variables;
  for (const Json& initial : case_.at("initial"))
    variables.emplace_back(tensor_of(initial), VariableOptions{.name = "v" + std::to_string(variables.size())});
  const Json& values = case_.at("values_after_step");
  const int last = case_.contains("iterations") ? 30 : 5;
  int compared = 0;
  const auto apply = [&](Tensor step) { optimizer->apply(gradients_at(case_, step, variables), variables); };
  Function apply_traced = apply;
  for (int step = 1; step <= last; ++step) {
    if (traced) apply_traced(static_cast<float>(step));
    else apply(static_cast<float>(step));
    const std::string key = std::to_string(step);
    if (!values.contains(key)) continue;
    ++compared;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const auto got = variables[i].value().to_vector<float>(), want = tensor_of(values.at(key)[i]).to_vector<float>();
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t k = 0; k < got.size(); ++k)
        EXPECT_NEAR(got[k], want[k], 1e-6 + 1e-5 * std::abs(want[k]))
            << case_.at("optimizer") << case_.at("arguments") << " after step " << step << ", v" << i << "[" << k << "]";
    }
  }
  EXPECT_EQ(compared, static_cast<int>(values.size()));
  if (case_.contains("iterations")) {
    EXPECT_EQ(optimizer->steps(), case_.at("iterations").get<std::int64_t>());
  }
  EXPECT_EQ(apply_traced.explain().traced, traced ? 1u : 0u);
}

TEST_P(OptimizerGolden, IsKeras) { expect_keras(golden()[GetParam()], false); }
TEST_P(OptimizerGolden, IsKerasInATracedStep) { expect_keras(golden()[GetParam()], true); }

std::string case_name(const testing::TestParamInfo<std::size_t>& info) {
  const Json& case_ = golden()[info.param];
  std::string name = std::to_string(info.param) + "_" + case_.at("optimizer").get<std::string>();
  for (const auto& [argument, value] : case_.at("arguments").items()) name += "_" + argument;
  return case_.contains("iterations") ? name : name + "_sparse";
}

INSTANTIATE_TEST_SUITE_P(All, OptimizerGolden, testing::Range<std::size_t>(0, golden().size()), case_name);

}  // namespace
}  // namespace weft
