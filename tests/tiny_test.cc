// The whole public surface in a hundred lines and well under a second. If something is badly broken, this says so first.
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
