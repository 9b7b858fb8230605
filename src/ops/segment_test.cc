// What the table cannot derive about segments: that they do not disturb each other.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <weft/weft.h>

namespace weft {
namespace {

using Floats = std::vector<float>;
constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();

// Dropped rows belong to no segment; what is in them, or in other segments, does not matter.
TEST(Segments, GradientsOfProductsStayInTheirSegment) {
  const Tensor x(Floats{2, kInfinity, 3, kNaN, 5, kNaN}), ids = {1, 0, 1, 0, 1, -1};
  GradientTape tape;
  tape.watch(x);
  const auto dx = tape.gradient(unsorted_segment_prod(x, ids, 3), x).to_vector<float>();
  EXPECT_EQ((Floats{dx[0], dx[2], dx[4], dx[5]}), (Floats{15, 10, 6, 0}));
  EXPECT_TRUE(std::isnan(dx[1]));
  EXPECT_EQ(dx[3], kInfinity);

  const Tensor z(Floats{kNaN, 2, 3, 5, kInfinity});
  GradientTape sorted;
  sorted.watch(z);
  const auto dz = sorted.gradient(segment_prod(z, {0, 1, 1, 1, 2}), z).to_vector<float>();
  EXPECT_EQ(dz, (Floats{1, 15, 10, 6, 1}));
}

TEST(Recurrence, AZeroStartsAnew) {
  EXPECT_EQ(linear_recurrence(Tensor(Floats{7, 2, 0, 2}), Tensor(Floats{kInfinity, 1, 3, 1})).to_vector<float>(), (Floats{kInfinity, kInfinity, 3, 7}));
}

}  // namespace
}  // namespace weft
