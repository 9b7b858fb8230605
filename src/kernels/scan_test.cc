#include "kernels/scan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include <weft/runtime.h>

namespace weft::kernels {
namespace {

// Short and odd; rows and columns, fewer and more than advance together; beyond one chunk.
std::vector<ScanAxis> axes() {
  std::vector<ScanAxis> result;
  for (const auto& [outer, n, inner] : std::vector<std::array<std::int64_t, 3>>{{1, 1, 1}, {3, 7, 1}, {8, 5, 1}, {9, 33, 1}, {2, 5, 3}, {1, 9, 257},
                                                                                {50, 1000, 1}, {3, 40, 600}, {0, 3, 2}, {2, 0, 3}, {2, 3, 0}})
    for (const bool reverse : {false, true}) result.push_back({outer, n, inner, reverse});
  return result;
}

// The reference: one row after the other, by its definition.
template <class T, class S, class Step>
std::vector<T> plainly(const ScanAxis& axis, bool exclusive, const std::vector<T>& x, S start, const Step& step) {
  std::vector<T> y(x.size());
  for (std::int64_t o = 0; o < axis.outer; ++o)
    for (std::int64_t i = 0; i < axis.inner; ++i) {
      S total = start;
      for (std::int64_t k = 0; k < axis.n; ++k) {
        const auto at = static_cast<std::size_t>((o * axis.n + (axis.reverse ? axis.n - 1 - k : k)) * axis.inner + i);
        if (exclusive) y[at] = static_cast<T>(total);
        total = step(total, static_cast<S>(x[at]));
        if (!exclusive) y[at] = static_cast<T>(total);
      }
    }
  return y;
}

template <class T>
std::vector<T> random_elements(const ScanAxis& axis, std::mt19937& random) {
  std::vector<T> x(static_cast<std::size_t>(axis.outer * axis.n * axis.inner));
  for (T& element : x) {
    if constexpr (std::floating_point<T>) element = std::uniform_real_distribution<T>(T(-1.5), T(1.5))(random);
    else element = static_cast<T>(random());
  }
  return x;
}

template <class T>
std::vector<T> scanned(Scan what, const ScanAxis& axis, bool exclusive, const std::vector<T>& x) {
  std::vector<T> y(x.size() + 1, T(77));
  scan(what, dtype_of<T>(), axis, exclusive, x.data(), y.data());
  EXPECT_EQ(y.back(), T(77));
  y.pop_back();
  return y;
}

// Bit for bit: a running total of f32 is a double.
TEST(Scan, FloatsAgreeWithTheDefinition) {
  std::mt19937 random(1);
  for (const ScanAxis& axis : axes())
    for (const bool exclusive : {false, true}) {
      const auto x = random_elements<float>(axis, random);
      EXPECT_EQ(scanned(Scan::kSum, axis, exclusive, x), plainly(axis, exclusive, x, 0.0, [](double s, double e) { return s + e; }));
      EXPECT_EQ(scanned(Scan::kProd, axis, exclusive, x), plainly(axis, exclusive, x, 1.0, [](double s, double e) { return s * e; }));
      const auto wide = random_elements<double>(axis, random);
      const auto sums = scanned(Scan::kSum, axis, exclusive, wide);
      const auto want = plainly(axis, exclusive, wide, 0.0L, [](long double s, long double e) { return s + e; });
      for (std::size_t k = 0; k < sums.size(); ++k) ASSERT_NEAR(sums[k], want[k], 1e-13);
    }
}

TEST(Scan, IntegersWrap) {
  std::mt19937 random(2);
  for (const ScanAxis& axis : axes()) {
    const auto x = random_elements<std::int16_t>(axis, random);
    using U = std::uint64_t;
    EXPECT_EQ(scanned(Scan::kSum, axis, false, x), plainly(axis, false, x, U(0), [](U s, U e) { return s + e; }));
    EXPECT_EQ(scanned(Scan::kProd, axis, true, x), plainly(axis, true, x, U(1), [](U s, U e) { return s * e; }));
  }
}

TEST(Scan, RecurrencesAgreeWithTheDefinition) {
  std::mt19937 random(3);
  for (const ScanAxis& axis : axes()) {
    const auto a = random_elements<float>(axis, random), b = random_elements<float>(axis, random);
    std::vector<float> y(b.size());
    linear_recurrence(DType::f32, axis, a.data(), b.data(), y.data());
    for (std::int64_t o = 0; o < axis.outer; ++o)
      for (std::int64_t i = 0; i < axis.inner; ++i) {
        double total = 0;
        for (std::int64_t k = 0; k < axis.n; ++k) {
          const auto at = static_cast<std::size_t>((o * axis.n + (axis.reverse ? axis.n - 1 - k : k)) * axis.inner + i);
          const double factor = k == 0 ? 0 : static_cast<double>(a[at]), added = static_cast<double>(b[at]);
          total = factor == 0 ? added : factor * total + added;
          ASSERT_EQ(y[at], static_cast<float>(total));
        }
      }
  }
}

TEST(Scan, AnyNumberOfThreadsGivesTheSameBits) {
  std::mt19937 random(4);
  const int before = num_threads();
  for (const ScanAxis& axis : {ScanAxis{50, 1000, 1, false}, ScanAxis{3, 100, 600, true}}) {
    const auto x = random_elements<double>(axis, random);
    for (const Scan what : {Scan::kSum, Scan::kProd, Scan::kLogSumExp}) {
      set_num_threads(1);
      const auto alone = scanned(what, axis, false, x);
      for (const int threads : {2, 3, 4, 8}) {
        set_num_threads(threads);
        const auto y = scanned(what, axis, false, x);
        EXPECT_EQ(std::memcmp(y.data(), alone.data(), y.size() * sizeof(double)), 0) << threads;
      }
    }
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace weft::kernels
