#include <gtest/gtest.h>

#include <vector>

#include <weft/weft.h>

namespace weft {
namespace {

// Beside a zero the other sizes may be larger than any memory.
TEST(Shape, PartsOfNothingMayHaveHugeSizes) {
  constexpr std::int64_t huge = std::int64_t{1} << 28;
  const Tensor nothing = zeros({0, huge, huge});
  for (const int axis : {0, 1, 2}) {
    const Tensor joined = concat({nothing, nothing}, axis);
    EXPECT_EQ(joined.size(), 0);
    EXPECT_EQ(joined.shape()[1], axis == 1 ? 2 * huge : huge);
    const std::vector<Tensor> parts = split(joined, {2}, {.axis = axis});
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(parts[1].shape(), nothing.shape());
  }
  EXPECT_EQ(unstack(zeros({3, 0, huge, huge})).at(2).shape(), nothing.shape());
}

// Parts of odd widths that are large enough for several threads.
TEST(Shape, JoiningUndoesCutting) {
  for (const int axis : {0, 1, 2}) {
    const Tensor x = reshape(arange(0.f, 168'000.f, 1.f), {60, 70, 40});
    Ints sizes{7, 0, 1, 13};
    sizes.push_back(x.shape()[axis] - 21);
    const Tensor joined = concat(split(x, IntList(sizes), {.axis = axis}), axis);
    EXPECT_TRUE(all_true(equal(joined, x)).item<bool>()) << axis;
  }
}

}  // namespace
}  // namespace weft
