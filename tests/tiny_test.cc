// The whole public surface in two hundred lines and well under a second. If something is badly broken, this says so first.
#include <gtest/gtest.h>

#include <sstream>
#include <thread>

#include <weft/weft.h>

using namespace weft;
using Floats = std::vector<float>;

TEST(Tiny, ValuesGoInAndOut) {
  const Tensor scalar = 2.f, list = {{1, 2}, {3, 4}}, vector = std::vector<double>{1, 2, 3};
  EXPECT_EQ(scalar.spec(), (Spec{f32, {}}));
  EXPECT_EQ(list.spec(), (Spec{i32, {2, 2}}));
  EXPECT_EQ(vector.dtype(), f64);
  EXPECT_EQ(list.to_vector<int>(), std::vector<int>({1, 2, 3, 4}));
  EXPECT_EQ(scalar.item<double>(), 2.0);
  EXPECT_EQ(vector.data<double>()[2], 3.0);
  double memory[] = {1, 2};
  bool released = false;
  EXPECT_EQ(sum(Tensor::from_memory(memory, {f64, {2}}, [&] { released = true; })).item<double>(), 3.0);
  EXPECT_TRUE(released);
}

TEST(Tiny, OperatorsBroadcastAndLiteralsAdapt) {
  const Tensor x = {{1.f, 2.f}, {3.f, 4.f}};
  EXPECT_EQ((x * 2 + Tensor{10.f, 20.f}).to_vector<float>(), Floats({12, 24, 16, 28}));
  EXPECT_EQ((1 / x - x % 2).to_vector<float>()[1], 0.5f);
  EXPECT_EQ(((x > 1) & (x != 4)).to_vector<bool>(), std::vector<bool>({false, true, true, false}));
  EXPECT_EQ((Tensor({1, 2}, f16) * 0.5).dtype(), f16);
  Tensor y = x;
  y -= 1;
  EXPECT_EQ(x.to_vector<float>()[0], 1.f);
  EXPECT_EQ((-y).to_vector<float>()[3], -3.f);
}

TEST(Tiny, ShapesJoinAndReduce) {
  const Tensor x = {{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}};
  EXPECT_EQ(sum(x, {.axis = 1, .keepdims = true}).shape(), Shape({2, 1}));
  EXPECT_EQ(sum(x, {.axis = {0, -1}}).item<float>(), 21.f);
  EXPECT_EQ(concat({x, zeros({1, 3})}, 0).shape(), Shape({3, 3}));
  EXPECT_EQ(reshape(x, {3, -1}).shape(), Shape({3, 2}));
  EXPECT_EQ(expand_dims(x, {0, -1}).shape(), Shape({1, 2, 3, 1}));
  EXPECT_EQ(broadcast_to(Tensor{7}, {2, 2}).to_vector<int>(), std::vector<int>({7, 7, 7, 7}));
  EXPECT_EQ(where(x > 2, x, 0).to_vector<float>(), Floats({0, 0, 3, 4, 5, 6}));
  EXPECT_EQ(cast(x / 2, i32).to_vector<int>(), std::vector<int>({0, 1, 1, 2, 2, 3}));
}

TEST(Tiny, IndexingFollowsNumPy) {
  const Tensor x = {{1, 2, 3}, {4, 5, 6}};
  EXPECT_EQ(x[-1].to_vector<int>(), std::vector<int>({4, 5, 6}));
  EXPECT_EQ(x(all, range(none, none, -2)).to_vector<int>(), std::vector<int>({3, 1, 6, 4}));
  EXPECT_EQ(x(ellipsis, 0, newaxis).shape(), Shape({2, 1}));
  int rows = 0;
  for (const Tensor& row : x) rows += row.rank();
  EXPECT_EQ(rows, 2);
}

TEST(Tiny, GradientsOfEveryOrder) {
  const Tensor x = 2.f;
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor dy = inner.gradient(x * x * x, x);
  EXPECT_EQ(dy.item<float>(), 12.f);
  EXPECT_EQ(outer.gradient(dy, x).item<float>(), 12.f);
}

TEST(Tiny, Learns) {
  const Tensor x = {0.f, 1.f, 2.f, 3.f}, y = x * 3 + 1;
  Tensor slope = 0.f, offset = 0.f;
  for (int step = 0; step < 300; ++step) {
    GradientTape tape;
    tape.watch(slope);
    tape.watch(offset);
    const Tensor error = x * slope + offset - y;
    const std::vector<Tensor> d = tape.gradient(sum(error * error), std::vector<Tensor>{slope, offset});
    slope -= d[0] * 0.03f;
    offset -= d[1] * 0.03f;
  }
  EXPECT_NEAR(slope.item<float>(), 3.f, 1e-3f);
  EXPECT_NEAR(offset.item<float>(), 1.f, 1e-3f);
}

TEST(Tiny, VariablesChangeAndRemember) {
  Variable total{1.f, {.name = "total"}}, table{zeros({3, 2})};
  const Tensor before = total;
  EXPECT_EQ(total.assign_add(2.f).assign_sub(0.5f).value().item<float>(), 2.5f);
  EXPECT_EQ(before.item<float>(), 1.f);
  Variable same = total, own = total.clone();
  same.assign(7);
  EXPECT_EQ((total + own).item<float>(), 9.5f);
  table(0, all).assign({1, 2});
  table.scatter_add(Tensor{2, 2}, 1.f);
  EXPECT_EQ(table.value().to_vector<float>(), Floats({1, 2, 0, 0, 2, 2}));
  EXPECT_EQ(format("{}", total), "Variable \"total\" f32[] = 7.0");
  EXPECT_EQ(total.version(), 3u);
  EXPECT_STREQ(total.history().back().by, "assign");
}

struct TinyLayer {
  Variable weight, bias;
  TinyLayer(int in, int out, Generator& random) : weight{glorot_uniform({in, out}, random)}, bias{zeros({out})} {}
  Tensor operator()(Tensor x) const { return matmul(x, weight) + bias; }
  WEFT_FIELDS(weight, bias)
};
struct TinyNet {
  Variable epoch{0, {.trainable = false}};
  std::vector<TinyLayer> layers;
  Tensor operator()(Tensor x) const { return layers[1](tanh(layers[0](x))); }
};

TEST(Tiny, StructsAreModules) {
  Generator random{1};
  TinyNet net{.layers = {TinyLayer(2, 3, random), TinyLayer(3, 1, random)}};
  EXPECT_EQ(variables(net).size(), 5u);
  EXPECT_EQ(trainable_variables(net).size(), 4u);
  EXPECT_TRUE(named_variables(net).at("layers.1.bias").same_slot(net.layers[1].bias));
  EXPECT_EQ(summary(net).trainable_elements, 6 + 3 + 3 + 1);
  const Snapshot now = snapshot(net);
  net.layers[1].bias.assign({5});
  EXPECT_EQ(now.at("layers.1.bias").item<float>(), 0.f);
}

TEST(Tiny, ManyChangesAreOne) {
  Variable from{100.f}, to{0.f};
  const auto move = [&](float amount) {
    atomically([&] {
      from.assign_sub(amount);
      if (static_cast<bool>(from < 0)) throw std::runtime_error("not enough");
      to.assign_add(amount);
    });
  };
  move(30);
  EXPECT_THROW(move(80), std::runtime_error);
  EXPECT_EQ(from.value().item<float>(), 70.f);
  EXPECT_EQ(to.value().item<float>(), 30.f);
  const Variable both[] = {from, to};
  update_together(both, [](std::span<Tensor> values) { std::swap(values[0], values[1]); });
  EXPECT_EQ(from.value().item<float>(), 30.f);
}

TEST(Tiny, ANetLearns) {
  Generator random{7};
  TinyNet net{.layers = {TinyLayer(2, 8, random), TinyLayer(8, 1, random)}};
  const Tensor x = random.normal({64, 2}), y = x(all, range(0, 1)) * x(all, range(1, 2));
  Adam adam{{.learning_rate = 0.05f}};
  float first = 0, last = 0;
  for (int step = 0; step < 150; ++step) {
    GradientTape tape;
    const Tensor loss = mean(square(net(x) - y));
    adam.apply(tape.gradient(loss, net), net);
    (step == 0 ? first : last) = loss.item<float>();
  }
  EXPECT_LT(last, first / 4);
  EXPECT_EQ(adam.steps(), 150);
  EXPECT_EQ(adam.slots.at("layers.0.weight").at("momentum").shape(), Shape({2, 8}));
}

TEST(Tiny, RandomNumbersAreStateToo) {
  Generator a{42}, b{42};
  const Tensor x = a.uniform({3});
  EXPECT_EQ(x.to_vector<float>(), b.uniform({3}).to_vector<float>());
  EXPECT_THROW(atomically([&] { a.normal({3}), throw std::runtime_error("undone"); }), std::runtime_error);
  EXPECT_EQ(a.normal({3}).to_vector<float>(), b.normal({3}).to_vector<float>());
}

TEST(Tiny, FunctionsBringGradientsOfTheirOwn) {
  const auto clipped = custom_gradient([](Tensor x) { return std::pair(x * x, [](Tensor dy) { return clip_by_value(dy, -1.f, 1.f); }); });
  const auto [y, dx] = value_and_gradient([&](Tensor x) { return clipped(x) * 10; }, Tensor(3.f));
  EXPECT_EQ(y.item<float>(), 90.f);
  EXPECT_EQ(dx.item<float>(), 1.f);
}

TEST(Tiny, MistakesAreTypedErrorsWithALine) {
  try {
    Tensor({1.f, 2.f}) + Tensor({1.f, 2.f, 3.f});
    FAIL();
  } catch (const ShapeError& e) {
    EXPECT_EQ(e.op(), "add");
    EXPECT_NE(std::string(e.what()).find("tiny_test.cc"), std::string::npos);
  }
  EXPECT_THROW(Tensor({1}) + 0.5, DtypeError);
  EXPECT_THROW(sum(Tensor{1}, {.axis = 3}), IndexError);
  EXPECT_THROW(Tensor() + 1, ValueError);
  EXPECT_THROW(GradientTape().watch(Tensor(1)), GradientError);
  Variable counter{0, {.name = "counter"}};
  try {
    counter.assign(Tensor{1.f, 2.f});
    FAIL();
  } catch (const DtypeError& e) {
    EXPECT_EQ(e.message(), "assign: Variable \"counter\" is i32[] and the value f32[2]; a Variable keeps its dtype, cast the value.");
  }
  GradientTape tape;
  EXPECT_THROW(tape.gradient(counter * 2, counter), GradientError);
  EXPECT_EQ(counter.version(), 0u);
}

TEST(Tiny, PrintsAndRunsInThreads) {
  const Tensor x = {1.f, 2.f};
  EXPECT_EQ(format("{} {:.2f}", 3, 0.5), "3 0.50");
  std::ostringstream out;
  out << x;
  EXPECT_FALSE(out.str().empty());
  Tensor elsewhere;
  std::thread([&] { elsewhere = x + x; }).join();
  EXPECT_EQ(elsewhere.to_vector<float>(), Floats({2, 4}));
}
