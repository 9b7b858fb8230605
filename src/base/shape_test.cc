#include <weft/shape.h>

#include <gtest/gtest.h>

#include <limits>

#include "base/checked.h"

namespace weft {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max(), kMin = std::numeric_limits<std::int64_t>::min();

TEST(Checked, MultipliesUpToTheLastBit) {
  EXPECT_EQ(checked_mul(kMax, 1), kMax);
  EXPECT_EQ(checked_mul(std::int64_t{1} << 31, std::int64_t{1} << 31), std::int64_t{1} << 62);
  EXPECT_FALSE(checked_mul(std::int64_t{1} << 32, std::int64_t{1} << 31));
  EXPECT_FALSE(checked_mul(kMax, 2));
  EXPECT_FALSE(checked_mul(kMin, -1));
  EXPECT_EQ(checked_mul(0, kMin), 0);
}

TEST(Checked, AddsUpToTheLastBit) {
  EXPECT_EQ(checked_add(kMax - 1, 1), kMax);
  EXPECT_FALSE(checked_add(kMax, 1));
  EXPECT_FALSE(checked_add(kMin, -1));
  EXPECT_EQ(checked_add(kMax, kMin), -1);
}

TEST(Shape, CountsElements) {
  EXPECT_EQ(Shape({}).num_elements(), 1);
  EXPECT_EQ(Shape({2, 3, 4}).num_elements(), 24);
  EXPECT_EQ(Shape({2, 0, 4}).num_elements(), 0);
  EXPECT_EQ((Shape{std::int64_t{1} << 62}).num_elements(), std::int64_t{1} << 62);
}

TEST(Shape, RefusesProductsThatWrap) {
  const std::int64_t big = std::int64_t{1} << 62;
  EXPECT_THROW((Shape{big, 2}).num_elements(), ShapeError);
  EXPECT_THROW((Shape{big, 4}).num_elements(), ShapeError);     // wraps to 0
  EXPECT_THROW((Shape{kMax, kMax}).num_elements(), ShapeError);  // wraps to 1
  // A zero does not make a wrapping product valid, wherever it stands.
  EXPECT_THROW((Shape{0, big, 4}).num_elements(), ShapeError);
  EXPECT_THROW((Shape{big, 0, 4}).num_elements(), ShapeError);
  EXPECT_THROW((Shape{big, 4, 0}).num_elements(), ShapeError);
}

TEST(Shape, RefusesNegativeSizesAndTooManyAxes) {
  EXPECT_THROW((Shape{2, -2}), ShapeError);
  EXPECT_THROW((Shape{kMin}), ShapeError);
  EXPECT_THROW(Shape(Ints(33, 1)), ShapeError);
  EXPECT_EQ(Shape(Ints(32, 1)).rank(), 32);
}

TEST(Shape, MayHaveUnknownSizes) {
  const Shape shape = {2, kUnknown, 3};
  EXPECT_FALSE(shape.known());
  EXPECT_THROW(shape.num_elements(), ShapeError);
  EXPECT_EQ(shape.str(), "[2,?,3]");
  EXPECT_TRUE(Shape({2, 3}).known());
  EXPECT_NE(shape, Shape({2, 4, 3}));
}

TEST(Shape, TakesAnyIntegerType) {
  const std::size_t n = 3;
  const std::uint8_t m = 4;
  const Shape shape = {n, m, 5L, 6};
  EXPECT_EQ(shape, Shape({3, 4, 5, 6}));
  EXPECT_EQ(shape.str(), "[3,4,5,6]");
  EXPECT_EQ(Shape{}.str(), "[]");
}

TEST(Shape, IsChangedInPlaceByItsOwnerOnly) {
  Shape shape = {2, 3};
  const Shape before = shape;
  shape.set(0, 7);
  shape.append(8);
  EXPECT_EQ(shape, Shape({7, 3, 8}));
  EXPECT_EQ(before, Shape({2, 3}));
}

TEST(Spec, ComparesAndPrints) {
  EXPECT_EQ((Spec{f32, {2, 3}}).str(), "f32[2,3]");
  EXPECT_EQ((Spec{bool_, {}}).str(), "bool[]");
  EXPECT_NE((Spec{f32, {2}}), (Spec{f64, {2}}));
  EXPECT_NE((Spec{f32, {2}}), (Spec{f32, {2, 1}}));
  EXPECT_EQ((Spec{i8, {kUnknown}}), (Spec{i8, {kUnknown}}));
}

TEST(Shape, TellsNoNumberForASizeThatIsNotKnown) {
  const Shape shape = {2, kUnknown};
  EXPECT_EQ(shape[0], 2);
  EXPECT_EQ(shape.dim(0), 2);
  EXPECT_EQ(shape.dim(1), kUnknown);
  EXPECT_THROW(shape.dim(2), IndexError);
  try {
    ADD_FAILURE() << shape[1];
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.message(), "shape: the size of axis 1 of [2,?] is not known, so it is no number; in a traced body use shape_of(x)[1], the size as a Tensor, or "
                               "trace for known sizes.");
    EXPECT_EQ(error.location().line, __LINE__ - 4);
    EXPECT_TRUE(std::string_view(error.location().file).ends_with("shape_test.cc"));
  }
}

// Whatever is asked of a Shape, it stays one.
TEST(Shape, RefusesAxesAndSizesThatItCannotHave) {
  Shape shape = {2, 3};
  for (int axis : {-1, 2, 7, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}) {
    EXPECT_THROW(shape[axis], IndexError);
    EXPECT_THROW(shape.set(axis, 1), IndexError);
  }
  EXPECT_THROW(shape.set(0, -2), ShapeError);
  EXPECT_THROW(shape.append(kMin), ShapeError);
  EXPECT_EQ(shape, Shape({2, 3}));
  shape = Shape(Ints(32, 1));
  EXPECT_THROW(shape.append(1), ShapeError);
  EXPECT_EQ(shape.rank(), 32);
  try {
    Shape({2, 3})[-1];
  } catch (const IndexError& error) {
    EXPECT_EQ(error.message(), "shape: axis -1 is outside of [2,3]; it must be from 0 to 1.");
  }
}

// size() - 1 of something empty is a huge number, not "unknown".
TEST(Shape, UnsignedSizesDoNotBecomeNegative) {
  EXPECT_TRUE((Shape{std::numeric_limits<std::size_t>::max()}).known());
  EXPECT_EQ((Shape{std::numeric_limits<std::size_t>::max() - 3})[0], kMax);
}

}  // namespace
}  // namespace weft
