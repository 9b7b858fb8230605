// Parts of Variables as tests/data/semantics.txt describes them.
#include <gtest/gtest.h>

#include "core/node.h"
#include "tests/support.h"
#include <weft/weft.h>

namespace weft {
namespace {

using test::floats;
using test::message;

using Floats = std::vector<float>;

// SEMANTICS 28, 31
TEST(Variable, ScattersRows) {
  const auto changed = [](auto how, DType dtype) {
    Variable v{cast(Tensor({{8.f, 8.f}, {4.f, 4.f}, {2.f, 2.f}}), dtype)};
    how(v, Tensor({2, 0}), cast(Tensor({{2.f, 4.f}, {16.f, 1.f}}), dtype));
    return cast(v, f32).to_vector<float>();
  };
  for (DType dtype : {f32, f64, f16, bf16, i32, i64}) {
    EXPECT_EQ(changed([](Variable& v, Tensor i, Tensor u) { v.scatter_update(i, u); }, dtype), (Floats{16, 1, 4, 4, 2, 4}));
    EXPECT_EQ(changed([](Variable& v, Tensor i, Tensor u) { v.scatter_add(i, u); }, dtype), (Floats{24, 9, 4, 4, 4, 6}));
    EXPECT_EQ(changed([](Variable& v, Tensor i, Tensor u) { v.scatter_sub(i, u); }, dtype), (Floats{-8, 7, 4, 4, 0, -2}));
    EXPECT_EQ(changed([](Variable& v, Tensor i, Tensor u) { v.scatter_mul(i, u); }, dtype), (Floats{128, 8, 4, 4, 4, 8}));
    EXPECT_EQ(changed([](Variable& v, Tensor i, Tensor u) { v.scatter_min(i, u); }, dtype), (Floats{8, 1, 4, 4, 2, 2}));
    EXPECT_EQ(changed([](Variable& v, Tensor i, Tensor u) { v.scatter_max(i, u); }, dtype), (Floats{16, 8, 4, 4, 2, 4}));
    EXPECT_EQ(changed([](Variable& v, Tensor i, Tensor u) { v.scatter_div(i, u); }, dtype),
              is_floating(dtype) ? (Floats{0.5, 8, 4, 4, 1, 0.5}) : (Floats{0, 8, 4, 4, 1, 0}));
  }
  Variable v{zeros({3})};
  v.scatter_add(Tensor({1, 1, 1, 2}), Tensor({1.f, 2.f, 4.f, 8.f}));
  EXPECT_EQ(floats(v), (Floats{0, 7, 8}));
  v.scatter_update(Tensor({0, 0}), Tensor({1.f, 2.f}));  // the last one stays
  EXPECT_EQ(floats(v), (Floats{2, 7, 8}));
  v.scatter_mul(Tensor({{0, 0}, {2, 0}}), Tensor({{2.f, 3.f}, {5.f, 7.f}}));  // indices of any shape
  EXPECT_EQ(floats(v), (Floats{84, 7, 40}));
  EXPECT_STREQ(v.history().back().by, "scatter_mul");
}

// An Index that was made before, in any place.
TEST(Variable, IndexExpressionsTakeNamedPositions) {
  const Index last = -1, rows = range(1, none);
  const Tensor x({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}});
  EXPECT_EQ(x(0, Index(0)).item<float>(), 1);
  EXPECT_EQ(x(last, last).item<float>(), 6);
  EXPECT_EQ(floats(x(rows, last)), (Floats{6}));
  EXPECT_EQ(floats(x(all, last)), (Floats{3, 6}));
  EXPECT_EQ(x(newaxis, rows, ellipsis, last).shape(), (Shape{1, 1}));
  Variable v{x};
  v(0, last).assign(9.f);
  EXPECT_EQ(floats(v), (Floats{1, 2, 9, 4, 5, 6}));
  const Variable same = v;
  EXPECT_EQ(floats(same(all, Index(2))), (Floats{9, 6}));
  const Index beyond = 3;
  EXPECT_THROW(x(0, beyond), IndexError);
}

// SEMANTICS 29
TEST(Variable, ScalarUpdatesReachWholeRows) {
  Variable v{ones({3, 2})};
  v.scatter_add(Tensor({0, 2}), 1.f).scatter_mul(Tensor({2}), 5.f).scatter_update(Tensor({1}), Tensor({7.f})[0]);
  EXPECT_EQ(floats(v), (Floats{2, 2, 7, 7, 10, 10}));
  v.scatter_nd_add(Tensor({{0, 1}, {2, 0}}), 1.f).scatter_nd_max(Tensor({{1}}), 8.f);
  EXPECT_EQ(floats(v), (Floats{2, 3, 8, 8, 11, 10}));
}

// SEMANTICS 30
TEST(Variable, ScattersByTuples) {
  Variable v{zeros({2, 3})};
  const Tensor tuples = {{0, 1}, {1, 2}, {0, 1}};
  EXPECT_EQ(floats(v.scatter_nd_add(tuples, Tensor({1.f, 2.f, 4.f}))), (Floats{0, 5, 0, 0, 0, 2}));
  EXPECT_EQ(floats(v.scatter_nd_sub(tuples, Tensor({1.f, 1.f, 1.f}))), (Floats{0, 3, 0, 0, 0, 1}));
  EXPECT_EQ(floats(v.scatter_nd_update(Tensor({{1}}), Tensor({{7.f, 8.f, 9.f}}))), (Floats{0, 3, 0, 7, 8, 9}));
  EXPECT_EQ(floats(v.scatter_nd_min(tuples, Tensor({1.f, 2.f, 2.f}))), (Floats{0, 1, 0, 7, 8, 2}));
  EXPECT_EQ(floats(v.scatter_nd_max(tuples, Tensor({4.f, 2.f, 3.f}))), (Floats{0, 4, 0, 7, 8, 2}));
}

// SEMANTICS 32
TEST(Variable, ScattersRefuseWhatDoesNotFit) {
  Variable v{zeros({3, 2}), {.name = "v"}}, scalar{1.f};
  const Tensor before = v;
  EXPECT_THROW(v.scatter_add(Tensor({0, 1}), Tensor({{1.f, 2.f}})), ShapeError);
  EXPECT_THROW(v.scatter_mul(Tensor({0, 1}), Tensor({{1.f, 2.f}})), ShapeError);
  EXPECT_THROW(v.scatter_add(Tensor({3}), Tensor({{1.f, 2.f}})), IndexError);
  EXPECT_THROW(v.scatter_mul(Tensor({-1}), Tensor({{1.f, 2.f}})), IndexError);
  EXPECT_THROW(v.scatter_add(Tensor({0.f}), Tensor({{1.f, 2.f}})), DtypeError);
  EXPECT_THROW(v.scatter_add(Tensor{0}, Tensor({{1, 2}})), DtypeError);
  EXPECT_THROW(v.scatter_nd_add(Tensor({{0, 2}}), 1.f), IndexError);
  EXPECT_THROW(v.scatter_nd_add(Tensor({{0, 0, 0}}), 1.f), ShapeError);
  EXPECT_THROW(scalar.scatter_add(Tensor{0}, 1.f), ShapeError);
  EXPECT_THROW(v.scatter_add(Tensor(), 1.f), ValueError);
  EXPECT_THROW(v.sparse_read(Tensor({3})), IndexError);
  EXPECT_TRUE(v.value().same_as(before));
  EXPECT_EQ(message<IndexError>([&] { v.scatter_add(Tensor({0, 3}), 1.f); }),
            "scatter_add: for Variable \"v\" f32[3,2], indices[1,0] is 3; axis 0 of x f32[3,2] takes indices from 0 to 2.");
  EXPECT_EQ(message<IndexError>([&] { v.scatter_add(Tensor({{0, 3}}), 1.f); }),
            "scatter_add: for Variable \"v\" f32[3,2], indices[0,1,0] is 3; axis 0 of x f32[3,2] takes indices from 0 to 2.");
  EXPECT_EQ(message<IndexError>([&] { v.scatter_nd_add(Tensor({{3}}), ones({1, 2})); }),
            "scatter_nd_add: for Variable \"v\" f32[3,2], indices[0,0] is 3; axis 0 of x f32[3,2] takes indices from 0 to 2.");
}

// SEMANTICS 33
// PAIN 11
TEST(Variable, SlicesWriteThrough) {
  Variable v{zeros({3, 4}), {.name = "v"}};
  v[0].assign({1, 2, 3, 4});
  v(all, 3).assign(9.f);
  v(range(1, 3), range(none, none, -2)).assign_add(ones({2, 2}));
  EXPECT_EQ(floats(v), (Floats{1, 2, 3, 9, 0, 1, 0, 10, 0, 1, 0, 10}));
  v(1, 1).assign_sub(5.f).assign_add(zeros({3, 4}));
  v(ellipsis, newaxis, 0).assign({{7}, {8}, {9}});
  EXPECT_EQ(floats(v), (Floats{7, 2, 3, 9, 8, -4, 0, 10, 9, 1, 0, 10}));
  const Tensor row = v[2];  // a value
  v[2].assign(0.f);
  EXPECT_EQ(floats(row), (Floats{9, 1, 0, 10}));
  EXPECT_EQ(floats(v[2] + 1), (Floats{1, 1, 1, 1}));
  const Variable& fixed = v;
  EXPECT_EQ(floats(fixed(0, range(0, 2))), (Floats{7, 2}));
  EXPECT_TEXT(ShapeError, v[0].assign({1, 2}),
              "assign: for Variable \"v\" f32[3,4], the slice is f32[4] and the value f32[2]; they must agree, nothing but a "
              "number is repeated.");
  EXPECT_TEXT(DtypeError, v[0].assign(Tensor({1, 2, 3, 4})),
              "assign: for Variable \"v\" f32[3,4], the slice is f32[4] and the value i32[4]; they must agree, nothing but a "
              "number is repeated.");
  EXPECT_THROW(v[3].assign(1.f), IndexError);
  Variable flags{{true, false}};
  flags[1].assign(true);
  EXPECT_EQ(flags.value().to_vector<bool>(), (std::vector<bool>{true, true}));
}

// SEMANTICS 34
TEST(Variable, ReadsParts) {
  Variable v{{{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}}};
  EXPECT_EQ(floats(v.sparse_read(Tensor({2, 0, 2}))), (Floats{5, 6, 1, 2, 5, 6}));
  EXPECT_EQ(floats(v.gather_nd(Tensor({{2, 1}, {0, 0}}))), (Floats{6, 1}));
  EXPECT_EQ(floats(gather(v, Tensor({{1}, {0}, {1}}), {.axis = 1, .batch_dims = 1})), (Floats{2, 3, 6}));
}

// --- where they change ---

const void* address(const Variable& v) { return v.value().node()->data; }

template <class F>
bool stays(Variable& v, const F& change) {
  const void* const before = address(v);
  change(v);
  return address(v) == before;
}

// Also of large ones, which are swapped where other threads read them.
TEST(Variable, ScattersChangeTheNamedPlacesWhereTheyLie) {
  const Tensor rows = {7, 2, 7}, tuples = {{7, 1}, {2, 0}};
  for (const std::int64_t size : {10, 50'000})
    for (const DType dtype : {f32, f64, i32, f16}) {
      SCOPED_TRACE(std::to_string(size) + " " + std::string(name_of(dtype)));
      Variable v{cast(zeros({size, 8}), dtype)};
      const bool half = dtype == f16;  // computed in f32: made anew, except for what is only moved
      EXPECT_TRUE(stays(v, [&](Variable& x) { x.scatter_update(rows, 3); }));
      EXPECT_TRUE(stays(v, [&](Variable& x) { x.scatter_nd_update(tuples, 4); }));
      EXPECT_EQ(stays(v, [&](Variable& x) { x.scatter_add(rows, 1); }), !half);
      EXPECT_EQ(stays(v, [&](Variable& x) { x.scatter_sub(rows, 1); }), !half);
      EXPECT_EQ(stays(v, [&](Variable& x) { x.scatter_min(rows, 2); }), !half);
      EXPECT_EQ(stays(v, [&](Variable& x) { x.scatter_max(rows, 1); }), !half);
      EXPECT_EQ(stays(v, [&](Variable& x) { x.scatter_nd_add(tuples, 1); }), !half);
      EXPECT_EQ(cast(v, f32)(7, 1).item<float>(), 3);
      EXPECT_EQ(cast(v, f32)(3, 1).item<float>(), 0);
    }
}

TEST(Variable, SlicesChangeWhereTheyLie) {
  for (const std::int64_t size : {10, 50'000})
    for (const DType dtype : {f32, i64, bf16, bool_}) {
      SCOPED_TRACE(std::to_string(size) + " " + std::string(name_of(dtype)));
      Variable v{cast(zeros({size, 8}), dtype)};
      EXPECT_TRUE(stays(v, [](Variable& x) { x[3].assign(true); }));
      EXPECT_TRUE(stays(v, [&](Variable& x) { x(range(1, 9, 2), all).assign(cast(ones({4, 8}), dtype)); }));
      if (dtype != bool_) {
        EXPECT_TRUE(stays(v, [&](Variable& x) { x(all, 5).assign_add(1); }));
        EXPECT_TRUE(stays(v, [&](Variable& x) { x(ellipsis, range(0, 2)).assign_sub(1); }));
      }
      EXPECT_EQ(cast(v, f32)(3, 7).item<float>(), 1);
      EXPECT_EQ(cast(v, f32)(2, 7).item<float>(), 0);
    }
}

TEST(Variable, PlacesOfWhatSomebodyHoldsAreChangedInACopy) {
  Variable v{zeros({1000, 8})};
  const Tensor held = v;
  EXPECT_FALSE(stays(v, [](Variable& x) { x[3].assign(1.f); }));
  EXPECT_TRUE(stays(v, [](Variable& x) { x[4].assign(1.f); }));  // the copy is its own
  EXPECT_EQ(floats(held), Floats(8000, 0));
  atomically([&] { v[5].assign(1.f); });
  v.scatter_mul(Tensor({3}), 2.f);
  EXPECT_EQ(v.value()(3, 0).item<float>(), 2);
}

// Nothing of the size of a slice that is assigned is read or made.
TEST(Variable, SlicesThatAreAssignedAreNotRead) {
  constexpr std::int64_t kBytes = 64 << 20;
  Variable v{zeros({2, kBytes / 4})};
  const Tensor x = ones({kBytes / 4});
  const std::int64_t before = memory_stats().in_use, peak = memory_stats().peak;
  const Tensor most = peak > before + kBytes / 2 ? zeros({(peak - before - kBytes / 2) / 4}) : Tensor();  // so that half a slice more would be seen
  v[1].assign(x);
  EXPECT_LE(memory_stats().peak, std::max(peak, before + kBytes / 2));
  EXPECT_EQ(v.value()(1, 7).item<float>(), 1);
}

}  // namespace
}  // namespace weft
