// What the table cannot derive about softmax, the losses and clipping: extreme values and error texts.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <weft/weft.h>

namespace weft {
namespace {

using Floats = std::vector<float>;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Softmax, IsStableForLargeAndInfiniteLogits) {
  EXPECT_EQ(softmax(Tensor(Floats{1e4f, -1e4f, 1e4f, -kInfinity})).to_vector<float>(), (Floats{0.5f, 0, 0.5f, 0}));
  const auto y = log_softmax(Tensor(Floats{1e4f, 0, -kInfinity})).to_vector<float>();
  EXPECT_EQ(y, (Floats{0, -1e4f, -kInfinity}));
}

TEST(CrossEntropy, ALabelOfZeroOutweighsAnImpossibleClass) {
  const Tensor logits(Floats{1, -kInfinity}, {1, 2}), labels(Floats{1, 0}, {1, 2});
  GradientTape tape;
  tape.watch(logits);
  const Tensor loss = softmax_cross_entropy(labels, logits);
  EXPECT_EQ(loss.to_vector<float>(), Floats{0});
  EXPECT_EQ(tape.gradient(loss, logits).to_vector<float>(), (Floats{0, 0}));
  EXPECT_EQ(sigmoid_cross_entropy(Tensor(Floats{1, 0, 0}), Tensor(Floats{kInfinity, -kInfinity, kInfinity})).to_vector<float>(), (Floats{0, 0, kInfinity}));
}

// Labels need not sum to 1: the gradient is that of the formula.
TEST(CrossEntropy, GradientOfUnnormalisedLabels) {
  const Tensor logits(Floats{0, 0}, {1, 2}), labels(Floats{2, 0}, {1, 2});
  GradientTape tape;
  tape.watch(logits);
  EXPECT_EQ(tape.gradient(softmax_cross_entropy(labels, logits), logits).to_vector<float>(), (Floats{-1, 1}));
}

TEST(CrossEntropy, RefusesLabelsThatNameNoClass) {
  const Tensor logits = zeros({2, 3});
  for (const int label : {-1, 3}) {
    try {
      sparse_softmax_cross_entropy(Tensor(std::vector<int>{0, label}), logits);
      ADD_FAILURE() << "nothing thrown";
    } catch (const IndexError& error) {
      const std::string expected = "sparse_softmax_cross_entropy: labels has " + std::to_string(label) + " at position 1, but logits has 3 classes; it must be from 0 to 2.";
      EXPECT_EQ(std::string(error.what()).substr(0, expected.size()), expected);
    }
  }
  EXPECT_THROW(sparse_softmax_cross_entropy(Tensor(std::vector<int>{0, 0, 0}), logits), ShapeError);
  EXPECT_THROW(sparse_softmax_cross_entropy(Tensor(std::vector<int>{0, 0}), zeros({2, 0})), IndexError);
  EXPECT_THROW(sigmoid_cross_entropy(zeros({2}), zeros({2, 1})), ShapeError);  // would broadcast to [2,2] unnoticed
}

TEST(Clip, NormsDoNotOverflowInF32) {
  EXPECT_FLOAT_EQ(global_norm({Tensor(Floats{3e30f}), Tensor(Floats{4e30f})}).item<float>(), 5e30f);
}

TEST(Clip, AnInfiniteGlobalNormGivesNaN) {
  const auto ys = clip_by_global_norm({Tensor(Floats{1, kInfinity}), Tensor(Floats{2})}, 1.0);
  ASSERT_EQ(ys.size(), 3u);
  EXPECT_TRUE(std::isnan(ys[1].to_vector<float>()[0]));
  EXPECT_EQ(ys[2].item<float>(), kInfinity);
}

TEST(Clip, ZeroHasAGradient) {
  const Tensor x = zeros({3});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor clipped = clip_by_norm(x, 1.0), norm = global_norm({x});
  EXPECT_EQ(tape.gradient(clipped, x).to_vector<float>(), (Floats{1, 1, 1}));
  EXPECT_EQ(tape.gradient(norm, x).to_vector<float>(), (Floats{0, 0, 0}));
}

// The squares of these are beyond f32.
TEST(Clip, GradientsOfLargeVectorsDoNotVanish) {
  const Tensor x(Floats{3e25f, 4e25f});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = clip_by_norm(x, 1.0);
  const auto dx = tape.gradient(y, x, {.output_gradients = {Tensor(Floats{1, 0})}}).to_vector<float>();
  EXPECT_FLOAT_EQ(dx[0], 1.28e-26f);
  EXPECT_FLOAT_EQ(dx[1], -0.96e-26f);
}

TEST(Clip, InfinitelyLargeVectorsHaveNoGradient) {
  const Tensor x(Floats{1, kInfinity});
  GradientTape tape;
  tape.watch(x);
  EXPECT_TRUE(std::isnan(tape.gradient(clip_by_norm(x, 1.0), x).to_vector<float>()[1]));
}

// The default epsilon is 0 in f16.
TEST(Normalize, ZerosStayZerosInEveryDtype) {
  for (const DType dtype : {f16, bf16, f32, f64}) {
    const Tensor x = zeros({3}, {.dtype = dtype});
    GradientTape tape;
    tape.watch(x);
    const Tensor y = l2_normalize(x);
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_EQ(y.to_vector<float>(), (Floats{0, 0, 0})) << name_of(dtype);
    const auto dx = tape.gradient(y, x).to_vector<float>();
    for (const float d : dx) EXPECT_FALSE(std::isnan(d)) << name_of(dtype);
  }
  EXPECT_EQ(l2_normalize(Tensor({300.f, 400.f}, f16)).to_vector<float>(), cast(Tensor({0.6f, 0.8f}), f16).to_vector<float>());
}

}  // namespace
}  // namespace weft
