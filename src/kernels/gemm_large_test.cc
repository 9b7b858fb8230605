// Products too large for a reference loop: sums of small integers are exact in any order, and so is a check by random vectors, c v = a (b v).
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/gemm.h"
#include "tests/suite_rows.h"
#include <weft/runtime.h>

namespace weft {
namespace {

using kernels::Isa;
using kernels::Matrix;
using Size = std::int64_t;

template <class T>
std::vector<T> small_integers(Size count, std::mt19937& random) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& v : values) v = static_cast<T>(static_cast<float>(random() % 5) - 2);
  return values;
}

template <class T>
std::vector<std::int64_t> times(Matrix<const T> x, Size rows, Size cols, const std::vector<std::int64_t>& v) {
  std::vector<std::int64_t> y(static_cast<std::size_t>(rows));
  for (Size i = 0; i < rows; ++i)
    for (Size j = 0; j < cols; ++j)
      y[static_cast<std::size_t>(i)] += static_cast<std::int64_t>(static_cast<float>(x.data[i * x.row + j * x.col])) * v[static_cast<std::size_t>(j)];
  return y;
}

// Between the rows of c lie `gap` elements that nobody may touch. Where there are none each part must be complete when it is told of, told of once, and left
// alone from then on.
template <class T>
void expect_exact(Isa isa, Size m, Size n, Size k, bool a_by_rows, bool b_by_rows, Size gap) {
  SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k));
  std::mt19937 random(static_cast<unsigned>(m + n + k));
  const std::vector<T> a = small_integers<T>(m * k, random), b = small_integers<T>(k * n, random);
  const T behind = static_cast<T>(77.f);
  std::vector<T> c(static_cast<std::size_t>(m * (n + gap)), behind);
  std::vector<T> seen(c);
  std::vector<int> told(c.size());
  const Matrix<const T> x{a.data(), a_by_rows ? k : 1, a_by_rows ? 1 : m}, y{b.data(), b_by_rows ? n : 1, b_by_rows ? 1 : k};
  const auto note = [&](const kernels::DoneBlock& block) {
    const Size at = static_cast<const T*>(block.data) - c.data();
    for (Size i = 0; i < block.rows; ++i)
      for (Size j = 0; j < block.cols; ++j) {
        const auto e = static_cast<std::size_t>(at + i * block.apart + j);
        ++told[e], seen[e] = std::exchange(c[e], behind);
      }
  };
  const kernels::BlockDone done(note);
  kernels::gemm<T>(isa, m, n, k, x, y, {c.data(), n + gap, 1}, gap == 0 ? &done : nullptr);
  if (gap == 0) {
    EXPECT_TRUE(told == std::vector<int>(c.size(), 1));
    EXPECT_TRUE(c == std::vector<T>(c.size(), behind));
    c = seen;
  }

  std::vector<std::int64_t> v(static_cast<std::size_t>(n));
  for (std::int64_t& each : v) each = static_cast<std::int64_t>(random() % 100'003);
  EXPECT_TRUE(times<T>({c.data(), n + gap, 1}, m, n, v) == times<T>(x, m, k, times<T>(y, k, n, v)));
  for (Size i = 0; i < m; ++i)
    for (Size j = n; j < n + gap; ++j) ASSERT_EQ(c[static_cast<std::size_t>(i * (n + gap) + j)], behind) << i << ", " << j;
}

TEST(GemmLarge, SumsOfSmallIntegersAreExact) {
  struct Case {
    Size m, n, k;
    bool a_by_rows, b_by_rows;
    Size gap;
  };
  std::vector<Case> cases = {{516, 2060, 1030, true, true, 0}, {513, 2110, 1000, true, true, 3}, {513, 700, 3001, false, true, 0}, {530, 1024, 2050, true, false, 3}};
  if (!test::small_scale()) cases.push_back({4110, 513, 4100, true, true, 0});  // rows in two parts, each of them in two tasks
  for (const Case& each : cases)
    for (const Isa isa : {Isa::kBaseline, Isa::kV3, Isa::kV4}) {
      if (isa > kernels::best_isa()) continue;
      expect_exact<float>(isa, each.m, each.n, each.k, each.a_by_rows, each.b_by_rows, each.gap);
    }
  expect_exact<double>(kernels::best_isa(), 520, 1100, 2100, true, true, 0);
  expect_exact<float16>(kernels::best_isa(), 520, 1100, 2100, true, true, 3);
  expect_exact<float>(kernels::best_isa(), 2100, 600, 3600, false, false, 0);
}

TEST(GemmLarge, HasTheSameBitsForAnyNumberOfThreads) {
  const Size m = 519, n = 1000, k = 2200;
  std::mt19937 random(1);
  std::uniform_real_distribution<float> number(-1, 1);
  std::vector<float> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(k * n)), first;
  for (float& each : a) each = number(random);
  for (float& each : b) each = number(random);
  const int before = num_threads();
  for (const int threads : {1, 2, 3, 8}) {
    set_num_threads(threads);
    std::vector<float> c(static_cast<std::size_t>(m * n));
    kernels::gemm<float>(m, n, k, {a.data(), k, 1}, {b.data(), n, 1}, {c.data(), n, 1});
    if (threads == 1) first = c;
    EXPECT_EQ(std::memcmp(c.data(), first.data(), c.size() * sizeof(float)), 0) << threads << " threads";
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace weft
