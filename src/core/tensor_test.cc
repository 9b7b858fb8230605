#include <weft/tensor.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "core/node.h"
#include "tests/support.h"
#include <weft/operators.h>
#include <weft/ops.h>

namespace weft {
namespace {

using test::message;

using Floats = std::vector<float>;

// --- construction ---

// SEMANTICS 2, 4
TEST(Tensor, FromScalars) {
  EXPECT_EQ(Tensor(1.5f).spec(), (Spec{f32, {}}));
  EXPECT_EQ(Tensor(1.5).spec(), (Spec{f32, {}}));
  EXPECT_EQ(Tensor(3).spec(), (Spec{i32, {}}));
  EXPECT_EQ(Tensor(std::int64_t{1} << 40).spec(), (Spec{i64, {}}));
  EXPECT_EQ(Tensor(std::uint64_t{1} << 63).spec(), (Spec{u64, {}}));
  EXPECT_EQ(Tensor(true).spec(), (Spec{bool_, {}}));
  EXPECT_EQ(Tensor(3, f16).item<float>(), 3.f);
  EXPECT_EQ(Tensor(2.5, f64).item<double>(), 2.5);
  EXPECT_EQ(Tensor(std::uint64_t{1} << 63).item<std::uint64_t>(), std::uint64_t{1} << 63);
  const Tensor x = 7;
  EXPECT_EQ(x.item<int>(), 7);
}

// SEMANTICS 4
TEST(Tensor, ScalarsMustFitANamedDtype) {
  EXPECT_THROW(Tensor(0.5, i32), DtypeError);
  EXPECT_THROW(Tensor(300, u8), DtypeError);
  EXPECT_THROW(Tensor(-1, u32), DtypeError);
  EXPECT_EQ(Tensor(255, u8).item<int>(), 255);
  EXPECT_THROW(Tensor(2, bool_), DtypeError);
}

TEST(Tensor, FromNestedLists) {
  const Tensor x = {{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}};
  EXPECT_EQ(x.spec(), (Spec{f32, {2, 3}}));
  EXPECT_EQ(x.to_vector<float>(), Floats({1, 2, 3, 4, 5, 6}));
  const Tensor deep = {{{{1}, {2}}}};
  EXPECT_EQ(deep.spec(), (Spec{i32, {1, 1, 2, 1}}));
  const Tensor one{3};
  EXPECT_EQ(one.spec(), (Spec{i32, {1}}));
  EXPECT_EQ(Tensor({1, 2}, f64).spec(), (Spec{f64, {2}}));
}

TEST(Tensor, TheHighestKindInAListDecides) {
  EXPECT_EQ((Tensor{1, 2.5f}).dtype(), f32);
  EXPECT_EQ((Tensor{true, 2}).dtype(), i32);
  EXPECT_EQ((Tensor{true, false}).dtype(), bool_);
  EXPECT_EQ((Tensor{1, std::int64_t{1} << 40}).dtype(), i64);
  EXPECT_EQ((Tensor{true, 2, 0.5}).to_vector<float>(), Floats({1, 2, 0.5f}));
}

// SEMANTICS 6
TEST(Tensor, RefusesRaggedLists) {
  EXPECT_THROW((Tensor{{1, 2}, {3}}), ShapeError);
  EXPECT_THROW((Tensor{{1, 2}, 3}), ShapeError);
  EXPECT_THROW((Tensor{3, {1, 2}}), ShapeError);
  EXPECT_THROW((Tensor{{{1}}, {{1, 2}}}), ShapeError);
  EXPECT_THROW(Tensor({1, 300}, u8), DtypeError);
  EXPECT_THROW(Tensor(std::vector<std::vector<int>>{{1, 2}, {3}}), ShapeError);
}

// SEMANTICS 3
TEST(Tensor, FromVectorsAndSpansKeepsTheElementType) {
  EXPECT_EQ(Tensor(std::vector<double>{1, 2}).spec(), (Spec{f64, {2}}));
  EXPECT_EQ(Tensor(std::vector<std::int16_t>{1, 2}, {2, 1}).spec(), (Spec{i16, {2, 1}}));
  EXPECT_EQ(Tensor(std::vector<bool>{true, false, true}).to_vector<bool>(), std::vector<bool>({true, false, true}));
  const std::vector<std::vector<std::vector<float>>> nested = {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}};
  const Tensor x = nested;
  EXPECT_EQ(x.spec(), (Spec{f32, {2, 2, 2}}));
  EXPECT_EQ(x.to_vector<float>(), Floats({1, 2, 3, 4, 5, 6, 7, 8}));
  const float raw[] = {1, 2, 3, 4};
  EXPECT_EQ(Tensor(std::span<const float>(raw), {2, 2}).shape(), Shape({2, 2}));
  EXPECT_EQ(Tensor(std::vector<float>{}, {0, 3}).shape(), Shape({0, 3}));
  EXPECT_EQ(Tensor(std::vector<float16>{float16(1.5f)}).dtype(), f16);
}

TEST(Tensor, VectorsMustFillTheShape) {
  EXPECT_THROW(Tensor(std::vector<int>{1, 2, 3}, {2, 2}), ShapeError);
  EXPECT_THROW(Tensor(std::vector<int>{1, 2, 3}, {kUnknown}), ShapeError);
  EXPECT_THROW(Tensor(std::vector<int>{}, {0, std::int64_t{1} << 62, 4}), ShapeError);
}

// SEMANTICS 1
TEST(Tensor, CopiesWhatItIsGiven) {
  std::vector<float> values = {1, 2, 3, 4, 5, 6, 7, 8};
  const Tensor x = values;
  values[0] = 9;
  EXPECT_EQ(x.data<float>()[0], 1.f);
  static_assert(std::is_same_v<decltype(x.data<float>()), const float*>);
  std::vector<float> out = x.to_vector<float>();
  out[1] = 9;
  EXPECT_EQ(x.to_vector<float>(), Floats({1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Tensor, WrapsForeignMemory) {
  alignas(8) double memory[3] = {1, 2, 3};
  int released = 0;
  {
    const Tensor x = Tensor::from_memory(memory, {f64, {3}}, [&] { ++released; });
    EXPECT_EQ(x.data<double>(), memory);
    const Tensor shared = reshape(x, {3, 1});
    const Tensor sum_of = x + x;
    EXPECT_EQ(sum_of.to_vector<double>(), std::vector<double>({2, 4, 6}));
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
  EXPECT_THROW(Tensor::from_memory(nullptr, {f32, {1}}, {}), ValueError);
  EXPECT_THROW(Tensor::from_memory(memory, {f32, {kUnknown}}, {}), ShapeError);
  EXPECT_THROW(Tensor::from_memory(reinterpret_cast<char*>(memory) + 1, {f32, {1}}, {}), ValueError);
  EXPECT_EQ(Tensor::from_memory(nullptr, {f32, {0}}, {}).size(), 0);
}

// A refused call owns nothing: memory that was not taken is still the caller's.
TEST(Tensor, DoesNotReleaseWhatItRefuses) {
  int released = 0;
  EXPECT_THROW(Tensor::from_memory(nullptr, {f32, {4}}, [&] { ++released; }), ValueError);
  EXPECT_EQ(released, 0);
}

// Nobody could receive what it throws: handles die in destructors.
TEST(Tensor, SurvivesAReleaseThatThrows) {
  double memory[3] = {1, 2, 3};
  int released = 0;
  const auto release = [&] {
    ++released;
    throw std::runtime_error("release");
  };
  { const Tensor x = Tensor::from_memory(memory, {f64, {3}}, release); }
  EXPECT_EQ(released, 1);
}

TEST(Tensor, RefusesDtypesOutsideTheEnumeration) {
  const auto bad = static_cast<DType>(99);
  float memory[2] = {1, 2};
  EXPECT_THROW(Tensor(1, bad), ValueError);
  EXPECT_THROW(Tensor({1, 2}, bad), ValueError);
  EXPECT_THROW(Tensor::from_memory(memory, {bad, {2}}, {}), ValueError);
}

TEST(Tensor, RefusesSpecsThatCannotExist) {
  EXPECT_THROW(make_tensor({f64, {std::int64_t{1} << 61}}), ShapeError);  // bytes wrap
  EXPECT_THROW(make_tensor({f32, {std::int64_t{1} << 50}}), OutOfMemoryError);
  EXPECT_THROW(make_tensor({f32, {kUnknown}}), ShapeError);
}

// --- handles ---

TEST(Tensor, EmptyHandlesSayWhatIsWrong) {
  const Tensor empty;
  EXPECT_FALSE(empty.defined());
  EXPECT_THROW(empty.dtype(), ValueError);
  EXPECT_THROW(empty.shape(), ValueError);
  EXPECT_THROW(empty.item<float>(), ValueError);
  EXPECT_THROW(static_cast<void>(static_cast<bool>(empty)), ValueError);
  EXPECT_THROW(empty.begin(), ValueError);
  EXPECT_NE(message<ValueError>([&] { add(empty, 1); }).find("a is an empty Tensor handle"), std::string::npos);
}

TEST(Tensor, HandlesShareAndMove) {
  Tensor a = {1.f, 2.f};
  const Tensor b = a;
  EXPECT_TRUE(a.same_as(b));
  Tensor c = std::move(a);
  EXPECT_FALSE(a.defined());
  EXPECT_TRUE(c.same_as(b));
  Tensor& same = c;
  c = same;
  c = std::move(same);
  EXPECT_TRUE(c.same_as(b));
  EXPECT_FALSE((Tensor{1.f, 2.f}).same_as(b));
}

// SEMANTICS 14
TEST(Tensor, IsFreedWithItsLastHandle) {
  int released = 0;
  float memory[1] = {1};
  Tensor x = Tensor::from_memory(memory, {f32, {1}}, [&] { ++released; });
  Tensor y = x;
  x = Tensor();
  EXPECT_EQ(released, 0);
  y = 2.f;
  EXPECT_EQ(released, 1);
  Tensor z = Tensor::from_memory(memory, {f32, {1}}, [&] { ++released; });
  Tensor w = 3.f;
  z = std::move(w);
  EXPECT_EQ(released, 2) << "a handle that was moved from must not keep the old value alive";
}

// SEMANTICS 1
TEST(Tensor, OperatorsThatAssignRebindTheHandleOnly) {
  Tensor x = {1.f, 2.f};
  const Tensor before = x;
  x += 1;
  x *= x;
  EXPECT_EQ(x.to_vector<float>(), Floats({4, 9}));
  EXPECT_EQ(before.to_vector<float>(), Floats({1, 2}));
}

TEST(Tensor, CopiesFromSeveralThreads) {
  const Tensor x = {1.f, 2.f, 3.f, 4.f, 5.f, 6.f, 7.f, 8.f};
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        const Tensor copy = x;
        const Tensor y = copy + copy;
        if (y.data<float>()[7] != 16.f) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(x.node()->count.load(), 1u);
}

// --- values out ---

// SEMANTICS 9
TEST(Tensor, ItemNeedsOneElementAndKeepsTheKind) {
  EXPECT_EQ((Tensor{{2.5f}}).item<float>(), 2.5f);
  EXPECT_EQ(Tensor(2.5f).item<double>(), 2.5);
  EXPECT_EQ(Tensor(3).item<float>(), 3.f);
  EXPECT_EQ(Tensor(true).item<int>(), 1);
  EXPECT_THROW((Tensor{1.f, 2.f}).item<float>(), ShapeError);
  EXPECT_THROW(Tensor(std::vector<float>{}).item<float>(), ShapeError);
  EXPECT_THROW(Tensor(2.5f).item<int>(), DtypeError);
  EXPECT_THROW(Tensor(2).item<bool>(), DtypeError);
  EXPECT_THROW(Tensor(300).item<std::uint8_t>(), ValueError);
  EXPECT_THROW(Tensor(-1).item<std::uint64_t>(), ValueError);
}

TEST(Tensor, ToVectorNamesTheElementThatDoesNotFit) {
  EXPECT_EQ((Tensor{1, 2}).to_vector<double>(), std::vector<double>({1, 2}));
  EXPECT_NE(message<ValueError>([] { (Tensor{1, 300}).to_vector<std::int8_t>(); }).find("element 1 is 300"), std::string::npos);
  EXPECT_TRUE(Tensor(std::vector<float>{}).to_vector<float>().empty());
}

TEST(Tensor, DataIsForItsOwnTypeOnly) {
  const Tensor x = {1.f, 2.f};
  EXPECT_EQ(x.data<float>()[1], 2.f);
  EXPECT_THROW(x.data<double>(), DtypeError);
  EXPECT_THROW(x.data<int>(), DtypeError);
}

// SEMANTICS 7
TEST(Tensor, BoolTakesAnyOneElement) {
  EXPECT_TRUE(static_cast<bool>(Tensor(true)));
  EXPECT_FALSE(static_cast<bool>(Tensor(0)));
  EXPECT_TRUE(static_cast<bool>(Tensor{{0.5f}}));
  EXPECT_TRUE(static_cast<bool>(Tensor(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_FALSE(static_cast<bool>(Tensor(-0.f)));
  EXPECT_THROW(static_cast<void>(static_cast<bool>(Tensor{1, 1})), ShapeError);
  EXPECT_THROW(static_cast<void>(static_cast<bool>(Tensor(std::vector<float>{}))), ShapeError);
}

// SEMANTICS 10
TEST(Tensor, IteratesOverAxisZero) {
  EXPECT_THROW(Tensor(1.f).begin(), ShapeError);
  const Tensor x = {{1, 2}, {3, 4}, {5, 6}};
  int expected = 1;
  for (const Tensor& row : x) {
    EXPECT_EQ(row.shape(), Shape({2}));
    EXPECT_EQ(row.to_vector<int>(), std::vector<int>({expected, expected + 1}));
    expected += 2;
  }
  EXPECT_EQ(expected, 7);
  for (const Tensor& row : Tensor(std::vector<float>{}, {0, 2})) FAIL() << row.spec().str();
}

// --- literals ---

TEST(Tensor, IndexExpressionsMayBeEmpty) {
  const Tensor x = {1.f, 2.f};
  EXPECT_EQ(x().to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(Tensor(3.f)().item<float>(), 3.f);
}

// A large unsigned number is no negative axis.
TEST(Tensor, UnsignedAxesDoNotCountFromTheEnd) {
  EXPECT_THROW(sum(Tensor{1.f, 2.f}, {.axis = std::numeric_limits<std::size_t>::max()}), IndexError);
  EXPECT_THROW(reshape(Tensor{1.f, 2.f}, {std::numeric_limits<std::size_t>::max()}), ShapeError);
}

// SEMANTICS 5
TEST(Literals, TakeTheTensorsDtype) {
  const Tensor h = Tensor({1, 2}, f16), d = Tensor({1, 2}, f64), i = Tensor({1, 2}, i8);
  EXPECT_EQ((h * 2).dtype(), f16);
  EXPECT_EQ((0.5 + d).dtype(), f64);
  EXPECT_EQ((d * true).dtype(), f64);
  EXPECT_EQ((i + 100).dtype(), i8);
  EXPECT_EQ((0.1 + d).to_vector<double>()[0], 1.1);  // the double that was written, not a float
  EXPECT_EQ(add(d, 2).dtype(), f64);
}

// SEMANTICS 5
TEST(Literals, OfAHigherKindAreRefused) {
  EXPECT_THROW((Tensor{1, 2}) + 0.5, DtypeError);
  EXPECT_THROW(static_cast<void>((Tensor{true, false}) == 1), DtypeError);
  EXPECT_THROW(Tensor({1, 2}, i8) + 200, DtypeError);
  EXPECT_THROW(Tensor({1, 2}, u8) + -1, DtypeError);
  const std::string text = message<DtypeError>([] { (Tensor{1, 2}) + 0.5; });
  EXPECT_NE(text.find("add"), std::string::npos);
  EXPECT_NE(text.find("cast"), std::string::npos);
}

TEST(Literals, AmongThemselvesTheHighestKindWins) {
  EXPECT_EQ(add(1, 2.5f).item<float>(), 3.5f);
  EXPECT_EQ(add(1, std::int64_t{1} << 40).dtype(), i64);
}

// A Tensor that somebody holds is no literal any more.
TEST(Literals, StopAdaptingOnceHeld) {
  const Tensor held = 2.f;
  EXPECT_THROW(held * Tensor({1, 2}, f64), DtypeError);
  EXPECT_EQ((held * Tensor{1.f, 2.f}).to_vector<float>(), Floats({2, 4}));
}

// SEMANTICS 5
TEST(Operators, DtypesNeverMix) {
  EXPECT_THROW((Tensor{1.f}) + (Tensor{1}), DtypeError);
  EXPECT_THROW((Tensor{4, 2}) / (Tensor{2, 2}), DtypeError);
  EXPECT_NE(message<DtypeError>([] { (Tensor{4, 2}) / 2; }).find("floordiv"), std::string::npos);
  EXPECT_EQ(divide(Tensor{4, 2}, Tensor{2, 4}).to_vector<double>(), std::vector<double>({2, 0.5}));
}

// SEMANTICS 11
TEST(Operators, CompareElementwise) {
  EXPECT_EQ(((Tensor{1, 2, 3}) == 2).to_vector<bool>(), std::vector<bool>({false, true, false}));
  EXPECT_EQ(((Tensor{1, 2}) != (Tensor{{1}, {2}})).shape(), Shape({2, 2}));
  static_assert(!std::is_default_constructible_v<std::hash<Tensor>>);
  EXPECT_EQ((!(Tensor{true, false})).to_vector<bool>(), std::vector<bool>({false, true}));
  EXPECT_EQ(((Tensor{6, 5}) & 3).to_vector<int>(), std::vector<int>({2, 1}));
  EXPECT_EQ((~Tensor{0, 5}).to_vector<int>(), std::vector<int>({-1, -6}));
}

TEST(Errors, NameOpArgumentsShapesAndLine) {
  try {
    Tensor(std::vector<float>(6), {2, 3}) + Tensor(std::vector<float>(4));
    FAIL();
  } catch (const ShapeError& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.message(), "add: cannot broadcast a f32[2,3] with b f32[4]: axis 1 is 3 and 4; sizes must match or be 1.");
    EXPECT_NE(text.find("tensor_test.cc:" + std::to_string(__LINE__ - 5)), std::string::npos) << text;
  }
}

TEST(Symbolic, HasASpecButNoValue) {
  const Tensor x = make_symbolic({f32, {kUnknown, 3}}, Location::here());
  EXPECT_FALSE(x.is_concrete());
  EXPECT_EQ(x.rank(), 2);
  EXPECT_THROW(x.to_vector<float>(), TraceError);
  EXPECT_THROW(x.data<float>(), TraceError);
  EXPECT_THROW(static_cast<void>(static_cast<bool>(x)), TraceError);
  EXPECT_THROW(x.size(), ShapeError);
  EXPECT_THROW(x + 1, TraceError);  // no trace is running: it has leaked
}

}  // namespace
}  // namespace weft
