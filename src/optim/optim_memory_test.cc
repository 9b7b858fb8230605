// The n-th allocation of a step fails, for every n: Variables and the optimizer's state are bitwise as they were, or as after the step, and
// nothing is lost.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <stdexcept>

#include "tests/failing_memory.h"
#include <weft/weft.h>

namespace weft {
namespace {

struct Training {
  std::vector<Variable> variables;
  std::vector<Grad> gradients;
  std::unique_ptr<Optimizer> optimizer;
  std::vector<Tensor> held;  // by somebody who has read
  std::function<void(Training&)> change = [](Training& t) { t.step(); };

  explicit Training(std::unique_ptr<Optimizer> made) : optimizer(std::move(made)) {
    for (const std::int64_t size : {1, 3, 40, 1000, 17000}) {
      variables.emplace_back(fill({size, 2}, static_cast<float>(size)));
      gradients.emplace_back(fill({size, 2}, 0.5f));
    }
  }
  void step() { optimizer->apply(gradients, variables); }
  std::vector<std::vector<double>> contents() const {
    std::vector<std::vector<double>> all;
    const auto add = [&](const Variable& v) { all.push_back(cast(v.read_latest(), f64).to_vector<double>()); };
    for (const Variable& v : variables) add(v);
    for (const auto& [key, slots] : optimizer->slots)
      for (const auto& [name, slot] : slots) add(slot);
    add(optimizer->iterations);
    return all;
  }
};

using Make = std::function<std::unique_ptr<Training>()>;

// Runs a step on a new thread, where allocation n fails. Returns whether there was an n-th one.
bool try_with(std::int64_t n, const Make& make, const std::vector<std::vector<double>>& after, bool first, std::string& wrong) {
  const std::unique_ptr<Training> training = make();
  const auto before = training->contents();
  auto [failed, threw] = test::attempt(n, [&] { training->change(*training); }, first, wrong);
  if (threw && first) {  // slots may be there now; a second try is the first step
    training->step();
    threw = false;
  }
  if (training->contents() != (threw ? before : after)) wrong = threw ? "something has changed" : "the step is another one";
  return failed;
}

std::string try_every_allocation(const Make& make, bool first = false) {
  constexpr std::int64_t kMost = 5000;
  const std::unique_ptr<Training> whole = make();
  whole->change(*whole);
  const auto after = whole->contents();
  std::string wrong;
  std::int64_t n = 0;
  while (n < kMost && wrong.empty() && try_with(n, make, after, first, wrong)) ++n;
  if (!wrong.empty()) return "allocation " + std::to_string(n) + ": " + wrong;
  return n == 0 ? "nothing was allocated" : n == kMost ? "there is no end of it" : "";
}

template <class Options>
Make after_one_step(const Options& options, bool read = false) {
  return [=] {
    auto training = std::make_unique<Training>(std::make_unique<BuiltIn<Options>>(options));
    training->step();
    if (read)
      for (const Variable& v : training->variables) training->held.push_back(v.value());
    return training;
  };
}

TEST(OptimizerMemory, HalfDoneChangesAreFound) {
  EXPECT_NE(try_every_allocation([] {
    auto training = after_one_step(AdamOptions{})();
    training->change = [](Training& t) { t.step(), t.step(); };
    return training;
  }), "");
}

TEST(OptimizerMemory, OfAStepInPlace) {
  EXPECT_EQ(try_every_allocation(after_one_step(AdamOptions{})), "");
  EXPECT_EQ(try_every_allocation(after_one_step(SGDOptions{.momentum = 0.9, .weight_decay = 0.1})), "");
}

TEST(OptimizerMemory, OfAStepBesideReaders) { EXPECT_EQ(try_every_allocation(after_one_step(AdamOptions{}, true)), ""); }

TEST(OptimizerMemory, OfAStepWithEverything) {
  EXPECT_EQ(try_every_allocation(after_one_step(AdamOptions{.global_clipnorm = 1.0, .use_ema = true, .loss_scale_factor = 2})), "");
  EXPECT_EQ(try_every_allocation(after_one_step(SGDOptions{.gradient_accumulation_steps = 2})), "");
}

TEST(OptimizerMemory, OfAStepMadeOfOps) { EXPECT_EQ(try_every_allocation(after_one_step(LambOptions{})), ""); }

TEST(OptimizerMemory, OfAStepOnRows) {
  EXPECT_EQ(try_every_allocation([] {
    auto training = after_one_step(AdagradOptions{})();
    for (std::size_t i = 1; i < training->gradients.size(); ++i)
      training->gradients[i] = IndexedSlices{ones({3, 2}), Tensor{2, 0, 2}, training->gradients[i].dense()};
    return training;
  }), "");
}

TEST(OptimizerMemory, OfTheFirstStep) {
  EXPECT_EQ(try_every_allocation([] { return std::make_unique<Training>(std::make_unique<Adam>()); }, true), "");
}

// Traced or not, they are made once.
TEST(OptimizerMemory, AFirstStepThatThrowsLeavesSlotsWithFirstValues) {
  Variable w{1.f, {.name = "w"}}, other{1.f, {.name = "w"}};
  Adam adam, fresh;
  bool fails = true;
  Function step = [&](Tensor g) {
    adam.apply(g, w);
    if (fails) throw std::runtime_error("later");
  };
  EXPECT_THROW(step(2.f), std::runtime_error);
  EXPECT_EQ(adam.steps(), 0);
  EXPECT_EQ(adam.slots.at("w").at("momentum").value().item<float>(), 0);
  fails = false;
  step(2.f), step(3.f);
  fresh.apply(Tensor(2.f), other), fresh.apply(Tensor(3.f), other);
  EXPECT_EQ(w.value().item<float>(), other.value().item<float>());
  EXPECT_EQ(adam.slots.at("w").at("velocity").value().item<float>(), fresh.slots.at("w").at("velocity").value().item<float>());
  EXPECT_EQ(adam.slots.size(), 1u);
}

}  // namespace
}  // namespace weft
