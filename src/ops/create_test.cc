// What the table cannot derive about creation and conversion: extreme arguments, exact ends and error texts.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support.h"
#include <weft/operators.h>
#include <weft/ops.h>
#include <weft/tape.h>

namespace weft {
namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <class F>
void expect_refused(F&& f, const std::string& sentence) {
  const std::string got = test::message<Error>(f);
  EXPECT_NE(got.find(sentence), std::string::npos) << got;
}

TEST(Create, Ranges) {
  EXPECT_EQ(arange(2, 11, 3).to_vector<int>(), (std::vector<int>{2, 5, 8}));
  EXPECT_EQ(arange(3, -3, -2).to_vector<int>(), (std::vector<int>{3, 1, -1}));
  EXPECT_EQ(arange(1, 1, 5).shape(), Shape({0}));
  EXPECT_EQ(arange(0.f, 1.f, 0.25f).to_vector<float>(), (std::vector<float>{0, 0.25f, 0.5f, 0.75f}));
  EXPECT_EQ(cast(arange(Tensor(0, f16), Tensor(3, f16), Tensor(1, f16)), f32).to_vector<float>(), (std::vector<float>{0, 1, 2}));
  const auto scalar = [](auto v) { return Tensor(std::vector<decltype(v)>{v}, Shape{}); };
  // The distances do not fit the dtype; the values do.
  EXPECT_EQ(arange(scalar(std::int8_t{-128}), scalar(std::int8_t{127}), scalar(std::int8_t{100})).to_vector<std::int8_t>(), (std::vector<std::int8_t>{-128, -28, 72}));
  EXPECT_EQ(arange(scalar(-kHuge - 1), scalar(kHuge), scalar(kHuge)).to_vector<std::int64_t>(), (std::vector<std::int64_t>{-kHuge - 1, -1, kHuge - 1}));
  EXPECT_EQ(arange(scalar(kHuge), scalar(-kHuge - 1), scalar(-kHuge - 1)).to_vector<std::int64_t>(), (std::vector<std::int64_t>{kHuge, -1}));
  const std::uint64_t top = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(arange(scalar(top - 2), scalar(top), scalar(std::uint64_t{1})).to_vector<std::uint64_t>(), (std::vector<std::uint64_t>{top - 2, top - 1}));
}

TEST(Create, RangesThatCannotBe) {
  EXPECT_THROW(arange(0.f, kInf, 1.f), ValueError);
  EXPECT_THROW(arange(0.f, 1.f, kNaN), ValueError);
  EXPECT_THROW(arange(0.f, 3e38f, 1e-38f), ShapeError);
  EXPECT_THROW(arange(-3e38f, 3e38f, 1.f), ShapeError);  // the distance overflows
  EXPECT_THROW(arange(Tensor(-kHuge), Tensor(kHuge), Tensor(1, i64)), ShapeError);
  EXPECT_THROW(arange(Tensor(0, i64), Tensor(std::int64_t{1} << 58), Tensor(1, i64)), OutOfMemoryError);
  expect_refused([] { arange(0, 5, 0); }, "arange: delta is 0; a range needs a step.");
  expect_refused([] { arange(5, 0, 1); }, "arange: start is above limit and delta positive, which never gets there; change the sign of delta.");
  expect_refused([] { arange(Tensor{1, 2}, 3, 1); }, "arange: start i32[2] must be a scalar; reshape it to [].");
}

TEST(Create, LinspaceEndsExactly) {
  const std::vector<float> y = linspace(0.1f, 0.7f, 7).to_vector<float>();
  EXPECT_EQ(y.front(), 0.1f);
  EXPECT_EQ(y.back(), 0.7f);
  EXPECT_EQ(linspace(3.f, 9.f, 1).to_vector<float>(), std::vector<float>{3.f});
  EXPECT_EQ(linspace(-3e38f, 3e38f, 3).to_vector<float>()[1], 0.f);
  EXPECT_THROW(linspace(0.f, 1.f, 0), ValueError);
  EXPECT_THROW(linspace(0.f, 1.f, kHuge), ShapeError);
  EXPECT_THROW(linspace(zeros({2}), zeros({3}), 4), ShapeError);
}

TEST(Create, OneHot) {
  const Tensor y = one_hot(Tensor(std::vector<std::int64_t>{-kHuge - 1, 1, kHuge}), 2);
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(one_hot(Tensor(std::vector<std::uint64_t>{~std::uint64_t{0}, 0}), 1, {.dtype = bool_}).to_vector<bool>(), (std::vector<bool>{false, true}));
  EXPECT_EQ(one_hot(1, 3, {.axis = 0}).to_vector<float>(), (std::vector<float>{0, 1, 0}));
  EXPECT_EQ(one_hot(Tensor{0, 1}, 0).shape(), Shape({2, 0}));
  EXPECT_THROW(one_hot(Tensor{0, 1}, -1), ValueError);
  EXPECT_THROW(one_hot(Tensor{0, 1}, kHuge), ShapeError);
  EXPECT_THROW(one_hot(Tensor{0, 1}, 2, {.axis = 2}), IndexError);
  EXPECT_THROW(one_hot(Tensor{0.f}, 2), DtypeError);
  expect_refused([] { one_hot(0, 2, {.on_value = 0.5, .dtype = i32}); }, "one_hot: on_value is 0.5, which is no i32; give such a number or ask for another dtype.");
  expect_refused([] { one_hot(0, 2, {.off_value = -1, .dtype = u8}); }, "one_hot: off_value is -1, which is no u8; give such a number or ask for another dtype.");
}

TEST(Create, MasksClampTheirLengths) {
  const Tensor lengths(std::vector<std::int64_t>{-kHuge, 2, kHuge});
  EXPECT_EQ(sequence_mask(lengths, 3, {.dtype = i32}).to_vector<int>(), (std::vector<int>{0, 0, 0, 1, 1, 0, 1, 1, 1}));
  EXPECT_EQ(sequence_mask(lengths, 0).shape(), Shape({3, 0}));
  EXPECT_THROW(sequence_mask(lengths, kHuge), ShapeError);
}

TEST(Create, EyeAndFill) {
  EXPECT_EQ(eye(2, {.columns = 3, .batch_shape = {2}, .dtype = i32}).to_vector<int>(), (std::vector<int>{1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(eye(3, {.columns = 0}).shape(), Shape({3, 0}));
  EXPECT_THROW(eye(-1), ValueError);
  EXPECT_THROW(eye(kHuge), ShapeError);
  EXPECT_THROW(eye(2, {.batch_shape = {-1}}), ShapeError);
  EXPECT_THROW(eye(2, {.batch_shape = {-5}}), ShapeError);
  EXPECT_EQ(fill({2, 2}, 3).to_vector<int>(), std::vector<int>(4, 3));
  EXPECT_THROW(fill({2}, Tensor{1.f}), ShapeError);
  EXPECT_THROW(fill({kUnknown}, 1.f), ShapeError);
  EXPECT_THROW(fill({kHuge, 4}, 1.f), ShapeError);
  EXPECT_THROW(zeros({kHuge / 4}), Error);
  const Tensor value = 2.f;
  GradientTape tape;
  tape.watch(value);
  EXPECT_EQ(tape.gradient(fill({2, 3}, value), value).item<float>(), 6.f);
}

TEST(Create, CastsOfWhatDoesNotFit) {
  const Tensor x = {1e30f, -1e30f, kInf, -kInf, kNaN, -1.9f};
  EXPECT_EQ(cast(x, i32).to_vector<int>(), (std::vector<int>{2147483647, -2147483647 - 1, 2147483647, -2147483647 - 1, 0, -1}));
  EXPECT_EQ(cast(x, u8).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{255, 0, 255, 0, 0, 0}));
  EXPECT_EQ(cast(Tensor{kNaN, 0.f, -0.f}, bool_).to_vector<bool>(), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(cast(Tensor{256, -1}, u8).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{0, 255}));
}

TEST(Create, CastThroughAnIntegerStopsTheGradient) {
  const Tensor x = {1.5f};
  GradientTape tape;
  tape.watch(x);
  const Tensor y = cast(cast(x, i32), f32);
  EXPECT_THROW(tape.gradient(y, x), GradientError);
}

TEST(Create, Meshgrid) {
  const std::vector<Tensor> xy = meshgrid({Tensor{1, 2}, Tensor{3, 4, 5}});
  EXPECT_EQ(xy[0].shape(), Shape({3, 2}));
  EXPECT_EQ(xy[1].to_vector<int>(), (std::vector<int>{3, 3, 4, 4, 5, 5}));
  const std::vector<Tensor> ij = meshgrid({Tensor{1, 2}, Tensor(7), zeros({0}, {.dtype = i32})}, {.indexing = Indexing::kIj});
  EXPECT_EQ(ij[2].shape(), Shape({2, 1, 0}));
  EXPECT_THROW(meshgrid({zeros({2, 2})}), ShapeError);
  EXPECT_THROW(meshgrid({}), ValueError);
  EXPECT_THROW(meshgrid(std::vector<Tensor>(40, Tensor{1.f})), ShapeError);
}

}  // namespace
}  // namespace weft
