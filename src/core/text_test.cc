// Tensors as text. What NumPy prints is the reference.
#include <gtest/gtest.h>

#include <limits>

#include <weft/ops.h>
#include <weft/tensor.h>

namespace weft {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

TEST(Text, LinesUpColumns) {
  EXPECT_EQ(Tensor({{1.f, 2.5f}, {10.f, 0.25f}}).str(), "[[ 1.    2.5 ]\n [10.    0.25]] f32[2,2]");
  EXPECT_EQ(Tensor({-1, 128}).str(), "[ -1 128] i32[2]");
  EXPECT_EQ(Tensor({kNan, kInf, -kInf, -0.f, 1.f}).str(), "[ nan  inf -inf  -0.   1.] f32[5]");
  EXPECT_EQ(Tensor({1e-45f, 3e38f}).str(), "[1.e-45 3.e+38] f32[2]");
}

// One pair of brackets, whatever the other sizes are: [2^40,0] has as little to show as [0].
TEST(Text, OfEmptyTensorsIsShort) {
  EXPECT_EQ(zeros({0}).str(), "[] f32[0]");
  EXPECT_EQ(zeros({2, 0}).str(), "[] f32[2,0]");
  EXPECT_EQ(zeros({std::int64_t{1} << 40, 0}).str(), "[] f32[1099511627776,0]");
  EXPECT_EQ(zeros({3, 0, std::int64_t{1} << 40}).str(), "[] f32[3,0,1099511627776]");
  EXPECT_EQ(Tensor().str(), "<empty>");
}

}  // namespace
}  // namespace weft
