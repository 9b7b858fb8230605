#include <weft/small_vector.h>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace weft {
namespace {

// Counts its living objects, and knows whether it was moved from.
struct Counted {
  static inline int alive = 0;
  int value = 0;
  Counted(int v = 0) : value(v) { ++alive; }
  Counted(const Counted& other) : value(other.value) { ++alive; }
  Counted(Counted&& other) noexcept : value(std::exchange(other.value, -1)) { ++alive; }
  Counted& operator=(const Counted&) = default;
  Counted& operator=(Counted&&) = default;
  ~Counted() { --alive; }
  friend bool operator==(const Counted& a, const Counted& b) { return a.value == b.value; }
};

using Small = SmallVector<Counted, 3>;

Small make(int count) {
  Small v;
  for (int i = 0; i < count; ++i) v.push_back(i);
  return v;
}

// Sizes on both sides of the inline room.
class SmallVectorSizes : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(, SmallVectorSizes, testing::Values(0, 1, 3, 4, 6, 7, 100));

TEST_P(SmallVectorSizes, KeepsItsElements) {
  {
    const Small v = make(GetParam());
    ASSERT_EQ(v.size(), static_cast<std::size_t>(GetParam()));
    for (int i = 0; i < GetParam(); ++i) EXPECT_EQ(v[static_cast<std::size_t>(i)].value, i);
    EXPECT_EQ(Counted::alive, GetParam());
  }
  EXPECT_EQ(Counted::alive, 0);
}

TEST_P(SmallVectorSizes, CopiesAreIndependent) {
  {
    const Small v = make(GetParam());
    Small copy = v;
    EXPECT_EQ(copy, v);
    copy.push_back(7);
    EXPECT_EQ(v, make(GetParam()));
    Small other = make(5);
    other = v;
    EXPECT_EQ(other, v);
  }
  EXPECT_EQ(Counted::alive, 0);
}

TEST_P(SmallVectorSizes, MovesLeaveAnEmptyUsableVector) {
  for (const int before : {0, 2, 9}) {
    Small from = make(GetParam());
    Small to = make(before);
    to = std::move(from);
    EXPECT_EQ(to, make(GetParam()));
    EXPECT_TRUE(from.empty());
    for (int i = 0; i < 5; ++i) from.push_back(i);
    EXPECT_EQ(from, make(5));
    const Small third(std::move(to));
    EXPECT_EQ(third, make(GetParam()));
  }
  EXPECT_EQ(Counted::alive, 0);
}

TEST_P(SmallVectorSizes, SelfAssignmentKeepsTheElements) {
  Small v = make(GetParam());
  Small& same = v;
  v = same;
  EXPECT_EQ(v, make(GetParam()));
  v = std::move(same);
  EXPECT_EQ(v, make(GetParam()));
}

TEST_P(SmallVectorSizes, ResizesBothWays) {
  {
    Small v = make(GetParam());
    v.resize(2, Counted(9));
    EXPECT_EQ(v.size(), 2u);
    v.resize(10, Counted(9));
    EXPECT_EQ(v[9].value, 9);
    v.clear();
    EXPECT_TRUE(v.empty());
    EXPECT_EQ(Counted::alive, 0);
  }
  EXPECT_EQ(Counted::alive, 0);
}

TEST_P(SmallVectorSizes, AppendsItsOwnElements) {
  SmallVector<std::string, 3> v;
  const std::string text = "longer than what a string keeps inside itself";
  v.push_back(text);
  for (int i = 0; i < GetParam(); ++i) v.emplace_back(v[0]);
  v.resize(v.size() * 2 + 1, v[0]);
  for (const std::string& s : v) EXPECT_EQ(s, text);
}

TEST_P(SmallVectorSizes, StaysWhereItIsWithinItsRoom) {
  Small v = make(GetParam());
  const std::size_t room = v.size() + 20;
  v.reserve(room);
  const Counted* const first = v.data();
  while (v.size() < room) v.emplace_back(1);
  EXPECT_EQ(v.data(), first);
  for (int i = 0; i < GetParam(); ++i) EXPECT_EQ(v[static_cast<std::size_t>(i)].value, i);
  v.reserve(1);
  EXPECT_EQ(v.size(), room);
}

TEST(SmallVector, HoldsMoveOnlyAndAligned) {
  SmallVector<std::unique_ptr<int>, 1> owners;
  for (int i = 0; i < 4; ++i) owners.emplace_back(std::make_unique<int>(i));
  EXPECT_EQ(*owners[3], 3);
  owners.resize(6);
  EXPECT_EQ(*owners[3], 3);
  EXPECT_EQ(owners[5], nullptr);
  struct alignas(64) Wide {
    double x = 1;
  };
  SmallVector<Wide, 2> wide(5);
  for (const Wide& w : wide) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&w) % 64, 0u);
}

TEST(SmallVector, ComparesAndSpans) {
  const SmallVector<int, 2> a = {1, 2, 3}, b = {1, 2, 3}, c = {1, 2};
  EXPECT_EQ(a, b);
  EXPECT_FALSE(a == c);
  const std::span<const int> span = a;
  EXPECT_EQ(span.size(), 3u);
  EXPECT_EQ(span[2], 3);
}

// Throws at the copy that makes `left` zero.
struct Fragile : Counted {
  static inline int left = 0;
  Fragile() = default;
  Fragile(const Fragile& other) : Counted(other) {
    if (left-- == 0) throw std::runtime_error("copy");
  }
  Fragile(Fragile&&) noexcept = default;
};

TEST(SmallVector, AConstructorThatThrowsLeavesNothing) {
  const SmallVector<Fragile, 2> five = [] {
    SmallVector<Fragile, 2> v;
    for (int i = 0; i < 5; ++i) v.emplace_back();
    return v;
  }();
  ASSERT_EQ(Counted::alive, 5);
  for (int at = 0; at < 5; ++at) {
    Fragile::left = at;
    EXPECT_THROW((SmallVector<Fragile, 2>(five)), std::runtime_error);
    Fragile::left = at;
    EXPECT_THROW((SmallVector<Fragile, 2>(five.begin(), five.end())), std::runtime_error);
    Fragile::left = at;
    EXPECT_THROW((SmallVector<Fragile, 2>(5, five[0])), std::runtime_error);
    EXPECT_EQ(Counted::alive, 5);
  }
}

}  // namespace
}  // namespace weft
