// What the table cannot derive about gather, scatter, segments and sorting: sparse gradients through the tape, duplicates,
// texts of errors, NaN.
#include <gtest/gtest.h>

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

Ints32 ints(const Tensor& x) { return x.to_vector<int>(); }

Tensor table() { return Tensor({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}}); }

// --- sparse gradients ---

TEST(SparseGradient, OfGatherNamesRowsAndKeepsDuplicates) {
  const Tensor x = table(), at = Tensor({{2, 0}, {2, 1}});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = gather(x, at) * 3;
  const Grad dx = tape.gradients({y}, {x})[0];
  ASSERT_TRUE(dx.sparse());
  EXPECT_EQ(ints(dx.slices().indices), (Ints32{2, 0, 2, 1}));
  EXPECT_EQ(dx.slices().values.shape(), (Shape{4, 2}));
  EXPECT_EQ(floats(dx.dense()), (Floats{3, 3, 3, 3, 6, 6}));
}

TEST(SparseGradient, OfAScalarIndexHasOneRow) {
  const Tensor x = table();
  GradientTape tape;
  tape.watch(x);
  const Grad dx = tape.gradients({gather(x, Tensor(1))}, {x})[0];
  ASSERT_TRUE(dx.sparse());
  EXPECT_EQ(dx.slices().values.shape(), (Shape{1, 2}));
  EXPECT_EQ(dx.slices().indices.shape(), (Shape{1}));
  EXPECT_EQ(floats(dx.dense()), (Floats{0, 0, 1, 1, 0, 0}));
}

TEST(SparseGradient, OfNoIndicesIsEmpty) {
  const Tensor x = table();
  GradientTape tape;
  tape.watch(x);
  const Tensor y = gather(x, zeros({0}, {.dtype = i64}));
  EXPECT_EQ(y.shape(), (Shape{0, 2}));
  const Grad dx = tape.gradients({y}, {x})[0];
  ASSERT_TRUE(dx.sparse());
  EXPECT_EQ(dx.slices().values.shape(), (Shape{0, 2}));
  EXPECT_EQ(floats(dx.dense()), (Floats(6, 0)));
}

TEST(SparseGradient, PlusSparseConcatenates) {
  const Tensor x = table();
  GradientTape tape;
  tape.watch(x);
  const Tensor a = gather(x, Tensor({0, 1})), b = gather_nd(x, Tensor({{1}}));
  const Grad dx = tape.gradients({a, b * 2}, {x})[0];
  ASSERT_TRUE(dx.sparse());
  EXPECT_EQ(dx.slices().indices.shape(), (Shape{3}));
  EXPECT_EQ(dx.slices().indices.dtype(), i32);
  EXPECT_EQ(floats(dx.dense()), (Floats{1, 1, 3, 3, 0, 0}));
}

TEST(SparseGradient, OfTwoIndexTypesWidens) {
  const Tensor x = table();
  GradientTape tape;
  tape.watch(x);
  const Grad dx = tape.gradients({gather(x, Tensor{0}), gather(x, Tensor({0, 2}, i64))}, {x})[0];
  ASSERT_TRUE(dx.sparse());
  EXPECT_EQ(dx.slices().indices.dtype(), i64);
  EXPECT_EQ(floats(dx.dense()), (Floats{2, 2, 0, 0, 1, 1}));
}

TEST(SparseGradient, PlusDenseDensifies) {
  for (const bool dense_first : {false, true}) {
    const Tensor x = table();
    GradientTape tape;
    tape.watch(x);
    const Tensor whole = x * 10, rows = gather(x, Tensor({1, 1}));
    const Grad dx = tape.gradients(dense_first ? std::vector{whole, rows} : std::vector{rows, whole}, {x})[0];
    EXPECT_FALSE(dx.sparse());
    EXPECT_EQ(floats(dx.dense()), (Floats{10, 10, 12, 12, 10, 10}));
  }
}

TEST(SparseGradient, IsDenseForAnInnerValueAndForOtherAxes) {
  const Tensor x = table();
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor through = gather(x * 2, Tensor({0, 0}));
  const Grad dx = tape.gradients({through}, {x})[0];
  EXPECT_FALSE(dx.sparse());
  EXPECT_EQ(floats(dx.dense()), (Floats{4, 4, 0, 0, 0, 0}));
  const Grad columns = tape.gradients({gather(x, Tensor({1, 1}), {.axis = -1})}, {x})[0];
  EXPECT_FALSE(columns.sparse());
  EXPECT_EQ(floats(columns.dense()), (Floats{0, 2, 0, 2, 0, 2}));
  EXPECT_FALSE(tape.gradients({gather_nd(x, Tensor({{1, 1}}))}, {x})[0].sparse());
}

TEST(SparseGradient, HasASecondOrder) {
  const Tensor x = table(), at = Tensor({1, 1, 2});
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor rows = gather(x, at);
  const Tensor dx = inner.gradient(sum(rows * rows * rows), x);  // 3 x^2 for each time a row is named
  EXPECT_EQ(floats(dx), (Floats{0, 0, 54, 96, 75, 108}));
  EXPECT_EQ(floats(outer.gradient(dx, x)), (Floats{0, 0, 36, 48, 30, 36}));
}

// --- indices ---

TEST(Indices, OutOfRangeNameTheElementAndTheRange) {
  const Tensor x = table();
  EXPECT_EQ(message<IndexError>([&] { gather(x, Tensor({{0, 1}, {3, 0}})); }), "gather: indices[1,0] is 3; axis 0 of x f32[3,2] takes indices from 0 to 2.");
  EXPECT_EQ(message<IndexError>([&] { gather(x, Tensor(-1)); }), "gather: indices is -1; axis 0 of x f32[3,2] takes indices from 0 to 2.");
  EXPECT_EQ(message<IndexError>([&] { gather(x, Tensor({2}), {.axis = 1}); }), "gather: indices[0] is 2; axis 1 of x f32[3,2] takes indices from 0 to 1.");
  EXPECT_EQ(message<IndexError>([&] { gather(zeros({0, 2}), Tensor{0}); }), "gather: indices[0] is 0; axis 0 of x f32[0,2] is empty, so that no index is in range.");
  EXPECT_EQ(message<IndexError>([&] { gather_nd(x, Tensor({{0, 1}, {1, 2}})); }), "gather_nd: indices[1,1] is 2; axis 1 of x f32[3,2] takes indices from 0 to 1.");
  EXPECT_EQ(message<IndexError>([&] { scatter_nd(Tensor({{5}}), Tensor({1.f}), {5}); }), "scatter_nd: indices[0,0] is 5; axis 0 of shape [5] takes indices from 0 to 4.");
  EXPECT_EQ(message<IndexError>([&] { tensor_scatter_nd_add(x, Tensor({{-1}}), zeros({1, 2})); }),
            "tensor_scatter_nd_add: indices[0,0] is -1; axis 0 of x f32[3,2] takes indices from 0 to 2.");
  EXPECT_EQ(message<IndexError>([&] { scatter_rows(Tensor({0, 7}), zeros({2, 2}), x); }), "scatter_rows: indices[1] is 7; axis 0 of like f32[3,2] takes indices from 0 to 2.");
  EXPECT_EQ(message<IndexError>([&] { take_along_axis(x, Tensor({{0}, {1}, {2}})); }), "take_along_axis: indices[2,0] is 2; axis 1 of x f32[3,2] takes indices from 0 to 1.");
  EXPECT_EQ(message<IndexError>([&] { confusion_matrix(Tensor{0}, Tensor{3}, 3); }),
            "confusion_matrix: predictions[0] is 3; num_classes is 3, so that it must be 0 or more and below that.");
  EXPECT_EQ(message<IndexError>([&] { in_top_k(Tensor({2}), zeros({1, 2}), 1); }), "in_top_k: targets[0] is 2; axis 1 of predictions f32[1,2] takes indices from 0 to 1.");
}

TEST(Indices, OfAnyWidthReachFar) {
  const std::int64_t far = (std::int64_t{1} << 32) + 1;  // 1 if it were cut to 32 bits
  for (const std::int64_t bad : {far, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_THROW(gather(table(), Tensor({bad}, i64)), IndexError);
    EXPECT_THROW(gather_nd(table(), Tensor({{bad}}, i64)), IndexError);
    EXPECT_THROW(take_along_axis(Tensor({1.f}), Tensor({bad}, i64)), IndexError);
    EXPECT_THROW(tensor_scatter_nd_update(table(), Tensor({{bad, 0}}, i64), Tensor({1.f})), IndexError);
  }
  EXPECT_THROW(unsorted_segment_sum(Tensor({1.f}), Tensor({far}, i64), 2), IndexError);
  EXPECT_EQ(floats(unsorted_segment_sum(Tensor({1.f}), Tensor({std::numeric_limits<std::int64_t>::min()}, i64), 1)), (Floats{0}));
}

TEST(Gather, RefusesBatchAxesThatDoNotFit) {
  EXPECT_EQ(message<ValueError>([] { gather(table(), Tensor({{0}, {1}, {2}}), {.axis = 0, .batch_dims = 1}); }),
            "gather: axis is 0 and batch_dims 1; axis must come after the batch axes.");
  EXPECT_EQ(message<ValueError>([] { gather(table(), Tensor{0}, {.axis = 1, .batch_dims = 2}); }), "gather: batch_dims is 2; it must be from -1 to 1, the rank of indices.");
  EXPECT_THROW(gather(table(), Tensor({{0}, {1}}), {.axis = 1, .batch_dims = 1}), ShapeError);
  EXPECT_THROW(gather(Tensor(1.f), Tensor{0}), ShapeError);
  EXPECT_THROW(gather_nd(table(), Tensor({{0, 0, 0}})), ShapeError);
  EXPECT_THROW(gather_nd(table(), Tensor({{0, 0}}), {.depth = 1}), ShapeError);
}

TEST(GatherNd, OfEmptyTuplesRepeatsTheWhole) {
  EXPECT_EQ(floats(gather_nd(Tensor({1.f, 2.f}), zeros({2, 0}, {.dtype = i32}))), (Floats{1, 2, 1, 2}));
  EXPECT_EQ(gather_nd(table(), zeros({0, 2}, {.dtype = i32})).shape(), (Shape{0}));
}

// --- scatter ---

TEST(TensorScatter, KeepsTheLastOfDuplicatesAndGivesItTheGradient) {
  const Tensor x = zeros({3}), at = Tensor({{1}, {1}, {0}}), updates = Tensor({5.f, 6.f, 7.f});
  GradientTape tape;
  tape.watch(x);
  tape.watch(updates);
  const Tensor y = tensor_scatter_nd_update(x, at, updates);
  EXPECT_EQ(floats(y), (Floats{7, 6, 0}));
  const std::vector<Tensor> d = tape.gradient(y, std::vector{x, updates});
  EXPECT_EQ(floats(d[0]), (Floats{0, 0, 1}));
  EXPECT_EQ(floats(d[1]), (Floats{0, 1, 1}));
}

TEST(TensorScatter, SharesTheGradientOfEqualMaxima) {
  const Tensor x = Tensor({2.f, 1.f}), at = Tensor({{0}, {0}, {1}}), updates = Tensor({2.f, 2.f, 5.f});
  GradientTape tape;
  tape.watch(x);
  tape.watch(updates);
  const std::vector<Tensor> d = tape.gradient(tensor_scatter_nd_max(x, at, updates) * 3, std::vector{x, updates});
  EXPECT_EQ(floats(d[0]), (Floats{1, 0}));
  EXPECT_EQ(floats(d[1]), (Floats{1, 1, 3}));
}

TEST(TensorScatter, LetsNanWin) {
  const Tensor y = tensor_scatter_nd_max(Tensor({kNan, 1.f}), Tensor({{0}, {1}}), Tensor({1.f, kNan}));
  EXPECT_TRUE(std::isnan(floats(y)[0]) && std::isnan(floats(y)[1]));
}

TEST(ScatterNd, WithoutUpdatesIsZero) {
  EXPECT_EQ(floats(scatter_nd(zeros({0, 1}, {.dtype = i32}), zeros({0, 2}), {2, 2})), (Floats{0, 0, 0, 0}));
  EXPECT_THROW(scatter_nd(Tensor({{0}}), zeros({1, 3}), {2, 2}), ShapeError);
  EXPECT_THROW(scatter_nd(Tensor({{0}}), zeros({1}), {std::int64_t{1} << 62, std::int64_t{1} << 62}), ShapeError);
}

TEST(BooleanMask, AndItsInverseAgree) {
  const Tensor mask = Tensor({true, false, true});
  EXPECT_EQ(floats(boolean_mask(table(), mask)), (Floats{1, 2, 5, 6}));
  EXPECT_EQ(floats(boolean_unmask(boolean_mask(table(), mask), mask)), (Floats{1, 2, 0, 0, 5, 6}));
  EXPECT_EQ(boolean_mask(table(), Tensor({false, false, false})).shape(), (Shape{0, 2}));
  EXPECT_EQ(floats(boolean_mask(table(), Tensor({false, true}), {.axis = 1})), (Floats{2, 4, 6}));
  EXPECT_EQ(message<ShapeError>([&] { boolean_unmask(table(), mask); }),
            "boolean_unmask: x has 3 slices along axis, but mask holds at 2 places; give one slice for each.");
}

// 2^40 times nothing is nothing, and takes no time.
TEST(BooleanMask, OfAnEmptyMaskDoesNotWalkTheOtherAxes) {
  const std::int64_t many = std::int64_t{1} << 40;
  const Tensor mask = zeros({0, 2}, {.dtype = bool_});
  EXPECT_EQ(boolean_mask(zeros({many, 0, 2}), mask, {.axis = 1}).shape(), (Shape{many, 0}));
  EXPECT_EQ(boolean_unmask(zeros({many, 0}), mask, {.axis = 1}).shape(), (Shape{many, 0, 2}));
}

TEST(Nonzero, FindsNanAndTakesScalars) {
  EXPECT_EQ(nonzero(Tensor({0.f, kNan, -0.f})).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(nonzero(Tensor(1.f)).shape(), (Shape{1, 0}));
  EXPECT_EQ(nonzero(Tensor(0.f)).shape(), (Shape{0, 0}));
}

}  // namespace
}  // namespace weft
