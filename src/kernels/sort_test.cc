// Orders and numbers of distinct elements against their references.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "kernels/sort.h"
#include "tests/support.h"

namespace weft::kernels {
namespace {

template <class T>
void check(const std::vector<T>& x) {
  const auto count = static_cast<std::int64_t>(x.size());
  std::vector<std::int32_t> numbers(x.size(), -1), want(x.size(), -1);
  const std::vector<std::int32_t> firsts = number_distinct(x.data(), count, numbers.data());
  EXPECT_EQ(firsts, number_distinct_reference(x.data(), count, want.data()));
  EXPECT_EQ(numbers, want);
}

template <class T>
void check_random() {
  std::uint64_t state = 7;
  const auto next = [&] { return state = state * 6364136223846793005u + 1442695040888963407u; };
  for (const std::size_t count : {0, 1, 2, 3, 64, 1000, 5000})
    for (const std::uint64_t distinct : {1, 7, 100, 1 << 20}) {
      std::vector<T> x(count);
      for (T& each : x) each = static_cast<T>(static_cast<std::int64_t>(next() >> 33) % static_cast<std::int64_t>(distinct));
      check(x);
    }
}

TEST(NumberDistinct, AgreesWithTheReference) {
  check_random<std::int8_t>();
  check_random<std::uint16_t>();
  check_random<std::int32_t>();
  check_random<std::int64_t>();
  check_random<float>();
  check_random<double>();
}

TEST(NumberDistinct, TakesNansApartAndZerosTogether) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  check<float>({0.f, nan, -0.f, 1.f, nan, nan, -1.f, 1.f, 0.f});
  std::vector<std::int32_t> numbers(4);
  const float x[] = {nan, -0.f, nan, 0.f};
  EXPECT_EQ(number_distinct(x, 4, numbers.data()), (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(numbers, (std::vector<std::int32_t>{0, 1, 2, 1}));
}

// Values that begin at one place of the table, each to be looked for behind all others.
TEST(NumberDistinct, IsNotSlowedByValuesThatCrowdOnePlace) {
  constexpr std::size_t kCount = 3000;
  const int bits = std::bit_width(2 * kCount);
  std::vector<std::int64_t> x;
  for (std::int64_t value = 1; x.size() < kCount; ++value)
    if (first_place(value, bits) == 5) x.push_back(value);
  check(x);
}

// Lanes of each length along the last axis and the one before it.
template <class T>
void check_order(const std::vector<T>& x) {
  for (const std::int64_t inner : {1, 3})
    for (const bool descending : {false, true}) {
      const auto count = static_cast<std::int64_t>(x.size()) / inner;
      const Lanes lanes{1, count, inner};
      std::vector<std::int32_t> order(x.size(), -1), positions(x.size(), -1);
      std::vector<T> sorted(x.size()), largest(x.size());
      argsort_lanes(x.data(), lanes, descending, order.data());
      sort_lanes(x.data(), lanes, descending, sorted.data());
      const std::int64_t k = count / 2;
      if (inner == 1 && count > 0) top_k_rows(x.data(), 1, count, k, largest.data(), positions.data());
      for (std::int64_t lane = 0; lane < inner; ++lane) {
        const std::vector<std::int32_t> want = order_reference(x.data() + lane, count, inner, descending);
        for (std::int64_t i = 0; i < count; ++i) {
          const auto at = static_cast<std::size_t>(lane + i * inner);
          const T& element = x[static_cast<std::size_t>(lane + want[static_cast<std::size_t>(i)] * inner)];
          ASSERT_EQ(order[at], want[static_cast<std::size_t>(i)]) << "place " << i << " of " << count << (descending ? ", descending" : ", ascending");
          ASSERT_EQ(std::memcmp(&sorted[at], &element, sizeof(T)), 0) << "place " << i << " of " << count;  // -0 stays what it is
          if (!descending || inner != 1 || i >= k) continue;
          ASSERT_EQ(positions[at], want[at]);
          ASSERT_EQ(std::memcmp(&largest[at], &element, sizeof(T)), 0);
        }
      }
    }
}

template <class T>
void check_orders() {
  std::uint64_t state = 11;
  const auto next = [&] { return state = state * 6364136223846793005u + 1442695040888963407u; };
  using Limits = std::numeric_limits<T>;
  std::vector<T> special = {T(0), T(1), Limits::max(), Limits::lowest(), static_cast<T>(-1)};
  if constexpr (std::floating_point<T>) {
    for (const T each : {-T(0), Limits::quiet_NaN(), -Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(), Limits::denorm_min(), -Limits::denorm_min()})
      special.push_back(each);
  }
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{99}, static_cast<std::size_t>(7 * kSortSerial)}) {
    std::vector<T> x(count);
    for (T& each : x) {
      const std::uint64_t bits = next() >> 20;
      if (bits % 4 == 0) each = special[bits / 4 % special.size()];
      else if (bits % 4 == 1) each = static_cast<T>(bits % 16);
      else std::memcpy(&each, &state, sizeof(T));
    }
    check_order(x);
  }
}

TEST(Sort, AgreesWithAStableSortForEveryDtype) {
  check_orders<float>();
  check_orders<double>();
  check_orders<std::int8_t>();
  check_orders<std::int16_t>();
  check_orders<std::int32_t>();
  check_orders<std::int64_t>();
  check_orders<std::uint8_t>();
  check_orders<std::uint16_t>();
  check_orders<std::uint32_t>();
  check_orders<std::uint64_t>();
}

}  // namespace
}  // namespace weft::kernels
