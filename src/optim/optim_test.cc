// What optimizers promise beyond numbers: their state, their errors, threads, exceptions.
#include <weft/optim.h>

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "tests/support.h"
#include <weft/random.h>
#include <weft/transaction.h>
#include <weft/weft.h>

namespace weft {
namespace {

using test::floats;
using test::message;

struct Pair {
  Variable weight{{1.f, 2.f}, {.name = "weight"}}, bias{0.5f, {.name = "bias"}};
};

// SEMANTICS 178: for any Variable at any time, where Keras refuses those it has not seen first.
// PAIN 3
TEST(Optimizer, MakesSlotsOnDemand) {
  Adam adam;
  Variable a{{1.f, 2.f}, {.name = "a"}}, b{3.f, {.name = "b"}};
  adam.apply({Tensor{1.f, 1.f}}, {a});
  EXPECT_EQ(adam.slots.size(), 1u);
  adam.apply({Tensor(1.f), Tensor{1.f, 1.f}}, {b, a});
  EXPECT_EQ(adam.slots.size(), 2u);
  EXPECT_EQ(adam.slots.at("a").at("momentum").value().spec().str(), "f32[2]");
  EXPECT_EQ(adam.slots.at("b").at("velocity").value().spec().str(), "f32[]");
}

TEST(Optimizer, KeepsVariablesOfOneNameApart) {
  SGD sgd{{.momentum = 0.9}};
  Variable a{1.f, {.name = "same"}}, b{1.f, {.name = "same"}};
  sgd.apply({Tensor(1.f), Tensor(2.f)}, {a, b});
  EXPECT_EQ(sgd.slots.size(), 2u);
  EXPECT_FLOAT_EQ(sgd.slots.at("same").at("momentum").value().item<float>(), -0.01f);
  EXPECT_FLOAT_EQ(sgd.slots.at("same_2").at("momentum").value().item<float>(), -0.02f);
}

TEST(Optimizer, TakesOneGradientForOneVariable) {
  SGD sgd{{.learning_rate = 0.5}};
  Variable w{3.f, {.name = "w"}};
  GradientTape tape{{.persistent = true}};
  const Tensor loss = w * w;
  sgd.apply(tape.gradient(loss, w), w);
  EXPECT_EQ(w.value().item<float>(), 0);
  EXPECT_EQ(message<ValueError>([&] { sgd.apply(Grad(), w); }), "SGD: no gradient is given for w; compute the loss from them while the tape records.");
}

// SEMANTICS 179
TEST(Optimizer, CountsItsSteps) {
  SGD sgd;
  Variable x{1.f};
  EXPECT_EQ(sgd.iterations.value().spec().str(), "i64[]");
  for (int i = 0; i < 3; ++i) sgd.apply({Tensor(1.f)}, {x});
  EXPECT_EQ(sgd.iterations.value().item<std::int64_t>(), 3);
  EXPECT_EQ(sgd.steps(), 3);
}

// SEMANTICS 180
TEST(Optimizer, WithoutAnyGradientNamesTheVariables) {
  Adam adam;
  Pair p;
  EXPECT_EQ(message<ValueError>([&] { adam.apply({Grad(), Grad()}, {p.weight, p.bias}); }),
            "Adam: no gradient is given for weight, bias; compute the loss from them while the tape records.");
  EXPECT_EQ(message<ValueError>([&] { adam.apply(std::vector<Grad>{}, {}); }), "Adam: there are no trainable Variables to change.");
  EXPECT_EQ(message<ValueError>([&] {
              adam.apply({Tensor(1.f)}, {p.weight, p.bias});
            }),
            "Adam: 1 gradients are given for 2 Variables; give one for each.");
  EXPECT_EQ(adam.steps(), 0);
}

// SEMANTICS 180
TEST(Optimizer, LeavesVariablesWithoutGradientAloneAndSaysSoOnce) {
  SGD sgd{{.learning_rate = 1.f}};
  Pair p;
  testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) sgd.apply({Tensor{1.f, 1.f}, Grad()}, {p.weight, p.bias});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "weft: SGD: no gradient for bias; what has none stays as it is.\n");
  EXPECT_EQ(floats(p.weight), (std::vector<float>{-1, 0}));
  EXPECT_EQ(p.bias.value().item<float>(), 0.5f);
  EXPECT_EQ(p.bias.version(), 0u);
}

// SEMANTICS 181
TEST(Optimizer, ClipsInOneWay) {
  EXPECT_EQ(message<ValueError>([] { Adam adam{{.clipnorm = 1.0, .clipvalue = 1.0}}; }),
            "Adam: more than one of clipnorm, global_clipnorm and clipvalue is given; give one.");
  EXPECT_EQ(message<ValueError>([] { Adam adam{{.global_clipnorm = -1.0}}; }), "Adam: global_clipnorm is -1; give more than 0.");
  EXPECT_EQ(message<ValueError>([] { Adam adam{{.ema_momentum = 2}}; }), "Adam: ema_momentum is 2; give a number from 0 to 1.");
  EXPECT_EQ(message<ValueError>([] { SGD sgd{{.gradient_accumulation_steps = 0}}; }),
            "SGD: gradient_accumulation_steps is 0; give 1 or more.");
}

TEST(Optimizer, ClipsTheNormOfAllGradientsOfAllDtypes) {
  SGD sgd{{.learning_rate = 1.f, .global_clipnorm = 5.0}};
  Variable a{Tensor(0.f)}, b{Tensor(0.0, f64)};
  sgd.apply({Tensor(6.f), Tensor(8.0, f64)}, {a, b});
  EXPECT_FLOAT_EQ(a.value().item<float>(), -3);
  EXPECT_DOUBLE_EQ(b.value().item<double>(), -4);
}

// SEMANTICS 182
TEST(Optimizer, AveragesVariables) {
  SGD sgd{{.learning_rate = 1.f, .use_ema = true, .ema_momentum = 0.5}};
  Variable x{8.f, {.name = "x"}};
  EXPECT_EQ(message<StateError>([&] { sgd.average(x); }), "SGD: there is no average of x; set use_ema and apply a step first.");
  sgd.apply({Tensor(4.f)}, {x});
  sgd.apply({Tensor(2.f)}, {x});
  EXPECT_EQ(x.value().item<float>(), 2);
  EXPECT_EQ(sgd.average(x).item<float>(), 3);  // (4 + 2) / 2
  sgd.assign_averages({x});
  EXPECT_EQ(x.value().item<float>(), 3);
}

// SEMANTICS 182
TEST(Optimizer, BecomesTheAverageEverySoOften) {
  SGD sgd{{.learning_rate = 1.f, .use_ema = true, .ema_momentum = 0.5, .ema_overwrite_frequency = 2}};
  Variable x{8.f};
  sgd.apply({Tensor(4.f)}, {x});
  sgd.apply({Tensor(2.f)}, {x});
  EXPECT_EQ(x.value().item<float>(), 3);
}

// SEMANTICS 183
TEST(Optimizer, AccumulatesTheMeanOfGradients) {
  SGD sgd{{.learning_rate = 1.f, .gradient_accumulation_steps = 3}};
  Variable x{10.f};
  for (const float g : {1.f, 2.f}) sgd.apply({Tensor(g)}, {x});
  EXPECT_EQ(x.value().item<float>(), 10);
  EXPECT_EQ(sgd.steps(), 0);
  sgd.apply({Tensor(6.f)}, {x});
  EXPECT_EQ(x.value().item<float>(), 7);
  EXPECT_EQ(sgd.steps(), 1);
  EXPECT_EQ(sgd.iterations.value().item<std::int64_t>(), 3);
}

// SEMANTICS 184
TEST(Optimizer, DividesByTheScaleOfTheLoss) {
  SGD sgd{{.learning_rate = 1.f, .loss_scale_factor = 8}};
  Variable x{1.f};
  sgd.apply({Tensor(4.f)}, {x});
  EXPECT_EQ(x.value().item<float>(), 0.5f);
}

// SEMANTICS 185
TEST(Optimizer, ConstrainsAfterTheUpdate) {
  SGD sgd{{.learning_rate = 1.f}};
  Variable x{{1.f, 1.f}, {.constraint = [](const Tensor& v) { return maximum(v, 0.f); }}};
  sgd.apply({Tensor{3.f, 0.5f}}, {x});
  EXPECT_EQ(floats(x), (std::vector<float>{0, 0.5f}));
}

// SEMANTICS 186
TEST(Optimizer, TakesItsRateFromANumberAVariableOrASchedule) {
  static_assert(!std::is_convertible_v<int, LearningRate>);
  const auto change = [](Optimizer& optimizer, Variable& x) {
    const float before = x.value().item<float>();
    optimizer.apply({Tensor(1.f)}, {x});
    return before - x.value().item<float>();
  };
  Variable x{0.f};
  SGD number{{.learning_rate = 0.5}};
  EXPECT_EQ(change(number, x), 0.5f);
  number.learning_rate.assign(0.25f);
  EXPECT_EQ(change(number, x), 0.25f);
  EXPECT_EQ(number.learning_rate.value().item<float>(), 0.25f);

  Variable shared{1.f, {.trainable = false}};
  SGD with_variable{{.learning_rate = shared}};
  EXPECT_EQ(change(with_variable, x), 1);
  shared.assign(2.f);
  EXPECT_EQ(change(with_variable, x), 2);
  with_variable.learning_rate.assign(4.f);
  EXPECT_EQ(shared.value().item<float>(), 4);

  SGD scheduled{{.learning_rate = PiecewiseConstantDecay{.boundaries = {0}, .values = {8, 16}}}};
  EXPECT_EQ(change(scheduled, x), 8);
  EXPECT_EQ(change(scheduled, x), 16);
  EXPECT_EQ(message<StateError>([&] { scheduled.learning_rate.assign(1.f); }),
            "LearningRate: a schedule decides on the learning rate; make the optimizer with a number or a Variable to assign one.");
  SGD of_steps{{.learning_rate = [](Tensor step) { return cast(step, f32) + 1; }}};
  EXPECT_EQ(change(of_steps, x), 1);
  EXPECT_EQ(change(of_steps, x), 2);
}

TEST(Optimizer, ItsRateIsItsOwnEvenIfOptionsAreShared) {
  const SGDOptions options{.learning_rate = 1.f};
  SGD a{options}, b{options};
  a.learning_rate.assign(2.f);
  EXPECT_EQ(b.learning_rate.value().item<float>(), 1);
}

// SEMANTICS 187
TEST(Optimizer, SparseGradientsTouchTheirRowsOnly) {
  const auto table = [] { return Variable{ones({4, 2})}; };
  const IndexedSlices slices{Tensor{{1.f, 1.f}, {2.f, 2.f}, {1.f, 1.f}}, Tensor{2, 0, 2}, ones({4, 2})};
  Variable plain = table(), lazy = table(), dense = table();
  SGD{{.learning_rate = 0.5}}.apply({slices}, {plain});
  EXPECT_EQ(floats(plain), (std::vector<float>{0, 0, 1, 1, 0, 0, 1, 1}));
  // A second step with other rows: momenta of the first ones move them still, unless the optimizer is lazy.
  SGD moving{{.learning_rate = 0.5, .momentum = 0.5}}, resting{{.learning_rate = 0.5, .momentum = 0.5, .lazy = true}};
  const IndexedSlices other{Tensor{{4.f, 4.f}}, Tensor{3}, ones({4, 2})};
  for (const IndexedSlices& g : {slices, other}) {
    moving.apply({g}, {dense});
    resting.apply({g}, {lazy});
  }
  EXPECT_EQ(floats(dense), (std::vector<float>{-0.5f, -0.5f, 1, 1, -0.5f, -0.5f, -1, -1}));
  EXPECT_EQ(floats(lazy), (std::vector<float>{0, 0, 1, 1, 0, 0, -1, -1}));
}

TEST(Optimizer, SparseGradientsWithoutDuplicatesAreDenseOnes) {
  const Tensor rows = Tensor{{1.f, -2.f}, {0.5f, 3.f}}, at = Tensor{3, 1};
  const auto compare = [&](auto&& a, auto&& b, const char* name) {
    Variable x{ones({4, 2})}, y{ones({4, 2})};
    for (int i = 0; i < 3; ++i) {
      const IndexedSlices slices{rows, at, x.value()};
      a.apply({slices}, {x});
      b.apply({Grad(slices).dense()}, {y});
    }
    EXPECT_EQ(floats(x), floats(y)) << name;
  };
  compare(Adam{}, Adam{}, "Adam");
  compare(Adamax{}, Adamax{}, "Adamax");
  compare(Nadam{}, Nadam{}, "Nadam");
  compare(Adagrad{}, Adagrad{}, "Adagrad");
  compare(Adadelta{}, Adadelta{}, "Adadelta");
  compare(RMSprop{}, RMSprop{}, "RMSprop");
  compare(Ftrl{}, Ftrl{}, "Ftrl");
  compare(Lion{}, Lion{}, "Lion");
  compare(SGD{{.weight_decay = 0.1}}, SGD{{.weight_decay = 0.1}}, "SGD with decay");
}

// SEMANTICS 188: the state is a tree; what it held can be put back.
TEST(Optimizer, StateIsATree) {
  Pair p;
  Adam adam;
  const auto step = [&] { adam.apply({Tensor{0.3f, -0.2f}, Tensor(1.f)}, {p.weight, p.bias}); };
  step();
  const NamedVariables state = named_variables(adam);
  std::vector<std::string> paths;
  for (const auto& entry : state) paths.emplace_back(entry.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"iterations", "learning_rate.current", "slots.bias.momentum", "slots.bias.velocity",
                                             "slots.weight.momentum", "slots.weight.velocity"}));
  const Snapshot saved = snapshot(adam), values = snapshot(p);
  step();
  const std::vector<float> after = floats(p.weight);
  step();
  for (const auto& [path, variable] : state) Variable(variable).assign(saved.at(path));
  p.weight.assign(values.at("weight"));
  p.bias.assign(values.at("bias"));
  step();
  EXPECT_EQ(floats(p.weight), after);
  EXPECT_EQ(adam.steps(), 2);
}

TEST(Optimizer, AppliesGradientsOfATree) {
  Pair p;
  SGD sgd{{.learning_rate = 1.f, .momentum = 0.5}};
  const Gradients gradients = named_variables(p).with(std::vector<Grad>{Tensor{1.f, 2.f}, Grad(Tensor(0.5f))});
  sgd.apply(gradients, p);
  EXPECT_EQ(floats(p.weight), (std::vector<float>{0, 0}));
  EXPECT_EQ(p.bias.value().item<float>(), 0);
  EXPECT_TRUE(sgd.slots.contains("weight"));
}

TEST(Optimizer, RefusesGradientsThatDoNotFit) {
  Pair p;
  Adam adam;
  EXPECT_EQ(message<ShapeError>([&] { adam.apply({Tensor(1.f), Tensor(1.f)}, {p.weight, p.bias}); }),
            "Adam: the gradient of weight is f32[], but weight is f32[2]; they must agree.");
  EXPECT_EQ(message<DtypeError>([&] { adam.apply({Tensor({1, 1}, f64), Tensor(1.f)}, {p.weight, p.bias}); }),
            "Adam: the gradient of weight is f64[2], but weight is f32[2]; the dtypes must agree, cast the gradient.");
  EXPECT_THROW(adam.apply({IndexedSlices{Tensor({1.}, f64), Tensor{0}, Tensor({1., 2.}, f64)}, Tensor(1.f)}, {p.weight, p.bias}), DtypeError);
  const std::string nameless = "the Variable made at optim_test.cc:" + std::to_string(__LINE__ + 1);
  Variable without_name{1.f};
  EXPECT_EQ(message<DtypeError>([&] { adam.apply({Tensor({1.}, f16)[0]}, {without_name}); }),
            "Adam: the gradient of " + nameless + " is f16[], but " + nameless + " is f32[]; the dtypes must agree, cast the gradient.");
  EXPECT_EQ(message<ValueError>([&] { adam.apply({Tensor(1.f), Tensor(1.f)}, {p.bias, p.bias}); }),
            "Adam: bias is named twice; give one gradient for each Variable.");
  EXPECT_EQ(adam.steps(), 0);
  EXPECT_EQ(p.weight.version(), 0u);
}

TEST(Optimizer, ExcludesFromWeightDecay) {
  Pair p;
  SGD sgd{{.learning_rate = 0.5, .weight_decay = 0.5}};
  sgd.exclude_from_weight_decay({p.bias});
  sgd.apply({Tensor{0.f, 0.f}, Tensor(0.f)}, {p.weight, p.bias});
  EXPECT_EQ(floats(p.weight), (std::vector<float>{0.75f, 1.5f}));
  EXPECT_EQ(p.bias.value().item<float>(), 0.5f);
}

TEST(Optimizer, VariablesOfSeveralDtypesShareAStep) {
  Variable a{Tensor(1.f)}, b{Tensor(1.0, f64)}, c{Tensor(1.f, f16)}, d{Tensor(1.f, bf16)};
  Adam adam{{.learning_rate = 0.25}};
  adam.apply({Tensor(2.f), Tensor(2.0, f64), Tensor(2.f, f16), Tensor(2.f, bf16)}, {a, b, c, d});
  for (const Variable& v : {a, b, c, d}) EXPECT_NEAR(cast(v, f64).item<double>(), 0.75, 1e-3) << v.spec().str();
  EXPECT_EQ(adam.steps(), 1);
}

// A value that somebody read does not change, whatever is updated in place.
TEST(Optimizer, LeavesValuesThatWereRead) {
  for (const std::int64_t size : {1, 100, 200'000}) {
    Variable x{ones({size})};
    Adam adam;
    const Tensor g = ones({size});
    std::vector<Tensor> read;
    for (int i = 0; i < 4; ++i) {
      read.push_back(x.value());
      read.push_back(adam.slots.empty() ? g : adam.slots.begin()->second.at("momentum").value());
      adam.apply({g}, {x});
    }
    std::vector<float> first, momentum;
    for (std::size_t i = 0; i < read.size(); i += 2) first.push_back(read[i].data<float>()[size - 1]);
    for (std::size_t i = 3; i < read.size(); i += 2) momentum.push_back(read[i].data<float>()[0]);
    EXPECT_EQ(first[0], 1);
    for (std::size_t i = 1; i < first.size(); ++i) EXPECT_NEAR(first[i], 1 - 0.001 * static_cast<double>(i), 1e-5) << size;
    EXPECT_NEAR(momentum[0], 0.1, 1e-6);
    EXPECT_NEAR(momentum[1], 0.19, 1e-6);
  }
}

TEST(Optimizer, IsPartOfABlock) {
  Variable x{1.f};
  SGD sgd{{.learning_rate = 1.f, .momentum = 0.9}};
  try {
    atomically([&] {
      sgd.apply({Tensor(1.f)}, {x});
      EXPECT_EQ(x.value().item<float>(), 0);
      EXPECT_EQ(sgd.steps(), 1);
      throw std::runtime_error("no");
    });
    FAIL();
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(x.value().item<float>(), 1);
  EXPECT_EQ(sgd.steps(), 0);
  EXPECT_EQ(sgd.slots.begin()->second.at("momentum").value().item<float>(), 0);
  atomically([&] { sgd.apply({Tensor(1.f)}, {x}), sgd.apply({Tensor(1.f)}, {x}); });
  EXPECT_FLOAT_EQ(x.value().item<float>(), -1.9f);
  EXPECT_EQ(sgd.steps(), 2);
}

TEST(Optimizer, StepsOfThreadsComeOneAfterTheOther) {
  Variable x{zeros({1000})}, y{zeros({3})};
  SGD sgd{{.learning_rate = 1.f}};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) sgd.apply({ones({1000}), ones({3})}, {x, y});
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sgd.steps(), 400);
  EXPECT_EQ(floats(x), std::vector<float>(1000, -400));
  EXPECT_EQ(floats(y), std::vector<float>(3, -400));
}

TEST(Optimizer, RemembersWhoWrote) {
  Variable x{1.f};
  Adam adam;
  adam.apply({Tensor(1.f)}, {x});
  EXPECT_STREQ(x.history().back().by, "Adam");
}

// An optimizer of one's own.
struct Descent : Optimizer {
  explicit Descent(OptimizerOptions options = {}) : Optimizer("Descent", std::move(options), {"momentum"}) {}
  Tensor update(const Tensor& x, const Tensor& g, std::span<Tensor> kept, const Moment& now) override {
    kept[0] = kept[0] * 0.9f + g;
    return x - kept[0] * now.learning_rate;
  }
};

TEST(Optimizer, OfOnesOwnIsAFewLines) {
  Descent descent{{.learning_rate = 0.5, .weight_decay = 0.1, .clipvalue = 2.0}};
  SGD sgd{{.learning_rate = 0.5, .momentum = 0.9, .weight_decay = 0.1, .clipvalue = 2.0}};
  Pair a, b;
  for (int i = 0; i < 5; ++i) {
    const std::vector<Grad> g{Tensor{0.5f, -3.f}, Grad(Tensor(1.f))};
    descent.apply(g, {a.weight, a.bias});
    sgd.apply(g, {b.weight, b.bias});
  }
  const auto got = floats(a.weight), want = floats(b.weight);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(got[i], want[i], 1e-5);
  EXPECT_EQ(descent.slots.at("weight").size(), 1u);
}

}  // namespace
}  // namespace weft
