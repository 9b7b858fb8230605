// What the table cannot derive about segments, counting and sorting: ties, zeros, NaN, long sums, refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support.h"
#include <weft/operators.h>
#include <weft/ops.h>
#include <weft/tape.h>

namespace weft {
namespace {

using test::floats;
using test::message;

using Floats = std::vector<float>;
using Ints32 = std::vector<int>;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Ints32 ints(const Tensor& x) { return x.to_vector<int>(); }

template <class F>
Floats gradient_of(const F& f, const Tensor& x) {
  GradientTape tape;
  tape.watch(x);
  return floats(tape.gradient(f(x), x));
}

// --- segments ---

TEST(Segment, RefusesIdsThatDecreaseOrAreNegative) {
  const Tensor x = zeros({3});
  EXPECT_EQ(message<ValueError>([&] { segment_sum(x, Tensor({0, 2, 1})); }),
            "segment_sum: segment_ids[2] is 1 after 2; segment ids must not decrease, use the unsorted_segment ops for others.");
  EXPECT_EQ(message<ValueError>([&] { segment_max(x, Tensor({-1, 0, 1})); }), "segment_max: segment_ids[0] is -1; segment ids must be 0 or more.");
  EXPECT_THROW(segment_prod(x, Tensor({0, 1, std::numeric_limits<std::int64_t>::max()}, i64)), ValueError);
  EXPECT_THROW(segment_sum(x, Tensor({std::int64_t{0}, std::int64_t{1}, std::int64_t{1} << 60}, i64)), Error);
  EXPECT_EQ(message<IndexError>([&] { unsorted_segment_max(x, Tensor({0, 4, -7}), 4); }),
            "unsorted_segment_max: segment_ids[1] is 4; num_segments is 4, so that it must be below that (negative ones are dropped).");
  EXPECT_THROW(unsorted_segment_sum(x, Tensor({0, 0, 0}), -1), ValueError);
  EXPECT_THROW(unsorted_segment_sum(zeros({3, 4}), Tensor({0, 0, 0}), std::int64_t{1} << 62), ShapeError);
}

TEST(Segment, WithoutRowsTakesItsOwnValue) {
  const Tensor none = zeros({0}, {.dtype = i32}), x = zeros({0, 2});
  EXPECT_EQ(segment_sum(x, none).shape(), (Shape{0, 2}));
  EXPECT_EQ(floats(unsorted_segment_prod(x, none, 1)), (Floats{1, 1}));
  EXPECT_EQ(floats(unsorted_segment_mean(x, none, 1)), (Floats{0, 0}));
  EXPECT_EQ(floats(unsorted_segment_max(cast(x, f16), none, 1)), (Floats{-65504, -65504}));
  EXPECT_EQ(unsorted_segment_min(cast(x, u8), none, 1).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{255, 255}));
}

TEST(Segment, SharesTheGradientOfEqualExtremes) {
  const Tensor x = Tensor({2.f, 2.f, 1.f, 4.f}), ids = Tensor({0, 0, 0, 2});
  EXPECT_EQ(gradient_of([&](const Tensor& t) { return segment_max(t, ids); }, x), (Floats{0.5, 0.5, 0, 1}));
  EXPECT_EQ(gradient_of([&](const Tensor& t) { return unsorted_segment_min(-t, ids, 3); }, x), (Floats{-0.5, -0.5, 0, -1}));
  EXPECT_EQ(gradient_of([&](const Tensor& t) { return unsorted_segment_max(t, Tensor({-1, 0, 0, -1}), 1); }, zeros({4})), (Floats{0, 0.5, 0.5, 0}));
}

TEST(Segment, ProductsOfZerosHaveTheirGradient) {
  const Tensor ids = Tensor({0, 0, 0});
  for (const bool sorted : {true, false}) {
    const auto product = [&](const Tensor& t) { return sorted ? segment_prod(t, ids) : unsorted_segment_prod(t, ids, 2); };
    EXPECT_EQ(gradient_of(product, Tensor({2.f, 3.f, 4.f})), (Floats{12, 8, 6}));
    EXPECT_EQ(gradient_of(product, Tensor({2.f, 0.f, 4.f})), (Floats{0, 8, 0}));
    EXPECT_EQ(gradient_of(product, Tensor({0.f, 0.f, 4.f})), (Floats{0, 0, 0}));
  }
}

TEST(Segment, LongSumsStayAccurate) {
  const std::size_t n = 1 << 20;
  const Tensor x = Tensor(Floats(n, 0.1f)), ids = zeros({n}, {.dtype = i32});
  EXPECT_NEAR(floats(segment_sum(x, ids))[0] / (0.1 * static_cast<double>(n)), 1, 1e-6);
  EXPECT_NEAR(floats(segment_mean(x, ids))[0], 0.1, 1e-7);
  std::vector<int> alternating(n);
  for (std::size_t k = 0; k < n; ++k) alternating[k] = static_cast<int>(k % 3) - 1;
  EXPECT_NEAR(floats(unsorted_segment_mean(x, Tensor(alternating), 2))[1], 0.1, 1e-7);
  const Tensor half = cast(ones({5000}), f16);
  EXPECT_EQ(floats(segment_mean(half, zeros({5000}, {.dtype = i32})))[0], 1);
  EXPECT_NEAR(gradient_of([](const Tensor& t) { return segment_mean(t, zeros({5000}, {.dtype = i32})) * 100; }, half)[0], 0.02, 1e-4);
}

TEST(Segment, OfFewRowsAndManySegmentsIsRight) {
  const Tensor y = unsorted_segment_sum(Tensor({1.f, 2.f, 4.f}), Tensor({90000, 5, 90000}), 100000);
  EXPECT_EQ(floats(gather(y, Tensor({5, 90000, 6}))), (Floats{2, 5, 0}));
}

// --- counting ---

TEST(Bincount, RefusesWhatCannotBeCounted) {
  EXPECT_EQ(message<ValueError>([] { bincount(Tensor({1, -2})); }), "bincount: x[1] is -2; only values of 0 or more can be counted.");
  EXPECT_THROW(bincount(Tensor({std::numeric_limits<std::int64_t>::max()}, i64)), ValueError);
  EXPECT_THROW(bincount(Tensor({std::numeric_limits<std::uint64_t>::max()}, u64)), ValueError);
  EXPECT_THROW(bincount(Tensor({std::int64_t{1} << 61}, i64)), Error);
  EXPECT_THROW(bincount(Tensor{0}, {.minlength = std::int64_t{1} << 50}), Error);
  EXPECT_EQ(ints(bincount(Tensor({std::int64_t{1} << 61, std::int64_t{1}}, i64), {.maxlength = 3})), (Ints32{0, 1, 0}));
  EXPECT_EQ(bincount(zeros({0}, {.dtype = i32})).shape(), (Shape{0}));
  EXPECT_EQ(ints(bincount(Tensor({1, 1}, u8), {.minlength = 3})), (Ints32{0, 2, 0}));
}

TEST(InTopK, CountsTiesAndRefusesToJudgeNan) {
  const Tensor p = Tensor({{1.f, 3.f, 3.f}, {1.f, kNan, 0.f}, {2.f, 1.f, 0.f}});
  EXPECT_EQ(in_top_k(Tensor({2, 0, 1}), p, 1).to_vector<bool>(), (std::vector<bool>{true, false, false}));
}

// --- sorting ---

TEST(Sort, PutsNanAtTheUpperEnd) {
  const Tensor x = Tensor({kNan, 2.f, -kInf, kNan, kInf, 1.f});
  const Floats up = floats(sort(x)), down = floats(sort(x, {.direction = SortDirection::kDescending}));
  EXPECT_EQ(Floats(up.begin(), up.begin() + 4), (Floats{-kInf, 1, 2, kInf}));
  EXPECT_TRUE(std::isnan(up[4]) && std::isnan(up[5]));
  EXPECT_TRUE(std::isnan(down[0]) && std::isnan(down[1]));
  EXPECT_EQ(Floats(down.begin() + 2, down.end()), (Floats{kInf, 2, 1, -kInf}));
  EXPECT_EQ(ints(argsort(x)), (Ints32{2, 5, 1, 4, 0, 3}));
  EXPECT_EQ(ints(argsort(x, {.direction = SortDirection::kDescending})), (Ints32{0, 3, 4, 1, 5, 2}));
  EXPECT_EQ(ints(top_k(x, 3).indices), (Ints32{0, 3, 4}));
}

TEST(Sort, OfManyNansIsStillAnOrder) {
  Floats values;
  for (int i = 0; i < 2000; ++i) values.push_back(i % 3 == 0 ? kNan : static_cast<float>((i * 7919) % 101));
  const Floats y = floats(sort(Tensor(values)));
  const auto nans = std::find_if(y.begin(), y.end(), [](float v) { return std::isnan(v); });
  EXPECT_EQ(nans - y.begin(), 2000 - 667);
  EXPECT_TRUE(std::is_sorted(y.begin(), nans));
}

TEST(Sort, KeepsEqualElementsInPlace) {
  const Tensor x = Tensor({1, 0, 1, 0});
  EXPECT_EQ(ints(argsort(x)), (Ints32{1, 3, 0, 2}));
  EXPECT_EQ(ints(argsort(x, {.direction = SortDirection::kDescending})), (Ints32{0, 2, 1, 3}));
  EXPECT_EQ(ints(top_k(x, 3).indices), (Ints32{0, 2, 1}));
  EXPECT_EQ(gradient_of([](const Tensor& t) { return sort(t) * Tensor({1.f, 2.f, 4.f}); }, zeros({3})), (Floats{1, 2, 4}));
}

TEST(Sort, TakesEmptyLanesAndRefusesScalars) {
  EXPECT_EQ(sort(zeros({2, 0})).shape(), (Shape{2, 0}));
  EXPECT_EQ(argsort(zeros({0, 2}), {.axis = 0}).shape(), (Shape{0, 2}));
  EXPECT_EQ(top_k(zeros({2, 0}), 0).values.shape(), (Shape{2, 0}));
  EXPECT_THROW(sort(Tensor(1.f)), IndexError);
  EXPECT_EQ(message<ValueError>([] { top_k(zeros({2, 3}), 4); }), "top_k: k is 4, but x f32[2,3] has only 3 elements along its last axis.");
}

TEST(Unique, TakesEveryNanAsNewAndZerosAsOne) {
  const auto [values, index, count] = unique_with_counts(Tensor({kNan, 0.f, -0.f, kNan, 0.f}));
  EXPECT_EQ(ints(index), (Ints32{0, 1, 1, 2, 1}));
  EXPECT_EQ(ints(count), (Ints32{1, 3, 1}));
  EXPECT_FALSE(std::signbit(floats(values)[1]));
  EXPECT_EQ(unique(zeros({0})).values.shape(), (Shape{0}));
  EXPECT_EQ(unique(Tensor({true, false, true})).values.to_vector<bool>(), (std::vector<bool>{true, false}));
}

TEST(Unique, SharesTheGradientOfEqualElements) {
  const auto weighted = [](const Tensor& t) { return unique(t).values * Tensor({4.f, 3.f}); };
  EXPECT_EQ(gradient_of(weighted, Tensor({7.f, 1.f, 7.f})), (Floats{2, 3, 2}));
}

TEST(Searchsorted, AgreesWithTheOrderOfNan) {
  const Tensor row = Tensor({1.f, 3.f, kNan});
  EXPECT_EQ(ints(searchsorted(row, Tensor({kNan, kInf, 3.f}))), (Ints32{2, 2, 1}));
  EXPECT_EQ(ints(searchsorted(row, Tensor({kNan, kInf, 3.f}), {.side = SearchSide::kRight})), (Ints32{3, 2, 2}));
  EXPECT_EQ(ints(searchsorted(zeros({0}), Tensor({1.f}))), (Ints32{0}));
  EXPECT_THROW(searchsorted(zeros({2, 3}), zeros({1, 3})), ShapeError);
}

}  // namespace
}  // namespace weft
