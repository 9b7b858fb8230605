#include "kernels/pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <weft/runtime.h>

namespace weft::kernels {
namespace {

std::int64_t outputs(const ConvAxis& axis, std::int64_t after) { return (axis.in + axis.before + after - axis.window) / axis.stride + 1; }

// Windows of any size, stride and padding, few channels and many; 2 x 2 the most often.
PoolShape random_shape(std::mt19937& random) {
  const auto up_to = [&](std::int64_t most) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most)) + 1; };
  PoolShape s;
  s.batch = up_to(3), s.channels = up_to(40);
  const bool usual = random() % 2 == 0;
  for (int i = random() % 4 == 0 ? 0 : 1; i < 3; ++i) {
    ConvAxis& axis = s.axis[i];
    axis.in = up_to(9) + 1;
    axis.window = usual ? 2 : up_to(axis.in);
    axis.stride = usual ? 2 : up_to(3);
    axis.before = usual ? 0 : up_to(axis.window) - 1;
    axis.out = outputs(axis, usual ? 0 : up_to(axis.window) - 1);
  }
  return s;
}

std::size_t size(const PoolShape& s, bool result) {
  std::int64_t n = s.batch * s.channels;
  for (const ConvAxis& axis : s.axis) n *= result ? axis.out : axis.in;
  return static_cast<std::size_t>(n);
}

// Few different numbers, so that many maxima are not the only ones, and some that are no numbers. Sums of such dy are exact.
std::vector<float> elements(std::size_t n, bool special, std::mt19937& random) {
  std::vector<float> x(n);
  for (float& e : x) {
    e = static_cast<float>(random() % 9) - 4;
    if (special && random() % 16 == 0) e = random() % 2 == 0 ? std::numeric_limits<float>::quiet_NaN() : -std::numeric_limits<float>::infinity();
  }
  return x;
}

void expect_same(const std::vector<float>& got, const std::vector<double>& want) {
  for (std::size_t k = 0; k < got.size(); ++k)
    ASSERT_TRUE(std::isnan(want[k]) ? std::isnan(got[k]) : got[k] == want[k]) << k << ": " << got[k] << " " << want[k];
}

// Doubles take the plain loops.
TEST(PoolKernels, LinesOfFloatsAgreeWithWindowsOfDoubles) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const PoolShape s = random_shape(random);
    const auto x = elements(size(s, false), round % 2 == 0, random), dy = elements(size(s, true), false, random);
    const std::vector<double> wide_x(x.begin(), x.end()), wide_dy(dy.begin(), dy.end());
    std::vector<double> want_y(dy.size()), want_dx(x.size());
    max_pool(s, wide_x.data(), want_y.data());
    max_pool_backward(s, wide_x.data(), wide_dy.data(), want_dx.data());
    for (const Isa set : {Isa::kBaseline, Isa::kV3, Isa::kV4}) {
      if (set > best_isa()) continue;
      std::vector<float> y(dy.size(), 7.0f), dx(x.size(), 7.0f);
      max_pool(s, x.data(), y.data(), set);
      max_pool_backward(s, x.data(), dy.data(), dx.data(), set);
      expect_same(y, want_y);
      expect_same(dx, want_dx);
      ASSERT_FALSE(HasFatalFailure()) << round << " " << name_of(set) << " " << s.channels << " channels, window " << s.axis[2].window;
    }
  }
}

TEST(PoolKernels, AnyNumberOfThreadsGivesTheSameBits) {
  std::mt19937 random(2);
  const int before = num_threads();
  const PoolShape s{.batch = 9, .channels = 13, .axis = {{}, {40, 20, 3, 2, 1, 1}, {40, 20, 3, 2, 1, 1}}};
  std::vector<float> x(size(s, false)), dy(size(s, true));
  for (float& e : x) e = std::uniform_real_distribution<float>(-1, 1)(random);
  for (float& e : dy) e = std::uniform_real_distribution<float>(-1, 1)(random);
  const auto run = [&](int threads) {
    set_num_threads(threads);
    std::vector<float> dx(x.size());
    max_pool_backward(s, x.data(), dy.data(), dx.data());
    return dx;
  };
  const auto alone = run(1);
  for (const int threads : {2, 3, 8}) EXPECT_EQ(std::memcmp(run(threads).data(), alone.data(), alone.size() * sizeof(float)), 0) << threads;
  set_num_threads(before);
}

}  // namespace
}  // namespace weft::kernels
