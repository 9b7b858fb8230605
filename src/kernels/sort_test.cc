// Numbers of distinct elements against the reference.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace weft::kernels
