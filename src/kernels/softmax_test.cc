#include "kernels/softmax.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/rows.h"
#include <weft/runtime.h>

namespace weft::kernels {
namespace {

using Reals = std::vector<long double>;

// Contiguous and strided rows; lengths around the width of vectors; long ones; more than one chunk.
std::vector<RowShape> shapes() {
  return {{1, 1, 1}, {3, 5, 1}, {7, 16, 1}, {5, 33, 1}, {128, 10, 1}, {40, 1000, 1}, {2, 20001, 1}, {2, 3, 2}, {1, 17, 40}, {3, 64, 16}, {2, 300, 100}};
}

template <class T>
std::vector<T> random_elements(std::int64_t n, T low, T high, std::mt19937& random) {
  std::vector<T> x(static_cast<std::size_t>(n));
  for (T& element : x) element = std::uniform_real_distribution<T>(low, high)(random);
  return x;
}

std::int64_t size(const RowShape& s) { return s.outer * s.n * s.inner; }

// Calls f(row number, offsets of its elements).
template <class F>
void for_each_row(const RowShape& s, const F& f) {
  for (std::int64_t r = 0; r < s.outer * s.inner; ++r) {
    std::vector<std::size_t> at;
    for (std::int64_t k = 0; k < s.n; ++k) at.push_back(static_cast<std::size_t>((r / s.inner * s.n + k) * s.inner + r % s.inner));
    f(static_cast<std::size_t>(r), at);
  }
}

// The references: each row by its definition.
struct Row {
  long double max = -INFINITY, total = 0, log_total = 0;
  template <class T>
  Row(const std::vector<T>& x, const std::vector<std::size_t>& at) {
    for (const std::size_t k : at) max = std::max<long double>(max, x[k]);
    for (const std::size_t k : at) total += std::exp(static_cast<long double>(x[k]) - max);
    log_total = std::log(total);
  }
  long double log_probability(long double x) const { return (x - max) - log_total; }
};

template <class T>
void expect_close(const std::vector<T>& got, const Reals& want, const Reals& magnitude, const char* what) {
  for (std::size_t k = 0; k < got.size(); ++k)
    ASSERT_LE(std::abs(got[k] - want[k]), 8 * std::numeric_limits<T>::epsilon() * magnitude[k] + 2 * std::numeric_limits<T>::denorm_min()) << what << " " << k;
}

template <class T>
void check(const RowShape& s, std::mt19937& random) {
  const auto x = random_elements<T>(size(s), -20, 20, random), dy = random_elements<T>(size(s), -1, 1, random), labels = random_elements<T>(size(s), 0, 1, random);
  const auto rows = static_cast<std::size_t>(s.outer * s.inner);
  const auto slopes = random_elements<T>(s.outer * s.inner, -1, 1, random);
  std::vector<T> y(x.size()), dx(x.size()), log_y(x.size()), loss(rows);
  softmax(s, x.data(), y.data());
  Reals want(x.size()), scale(x.size()), row_want(rows), row_scale(rows);
  for_each_row(s, [&](std::size_t, const auto& at) {
    const Row row(x, at);
    for (const std::size_t k : at) want[k] = std::exp(row.log_probability(x[k])), scale[k] = want[k] * (1 + (row.max - x[k]));
  });
  expect_close(y, want, scale, "softmax");

  softmax_backward(s, y.data(), dy.data(), dx.data());
  for_each_row(s, [&](std::size_t, const auto& at) {
    long double total = 0, sizes = 1;
    for (const std::size_t k : at) total += static_cast<long double>(y[k]) * dy[k];
    for (const std::size_t k : at) want[k] = y[k] * (dy[k] - total), scale[k] = y[k] * (std::abs(dy[k]) + sizes);
  });
  expect_close(dx, want, scale, "softmax_backward");

  log_softmax(s, x.data(), log_y.data());
  for_each_row(s, [&](std::size_t, const auto& at) {
    const Row row(x, at);
    for (const std::size_t k : at) want[k] = row.log_probability(x[k]), scale[k] = 1 + std::abs(want[k]);
  });
  expect_close(log_y, want, scale, "log_softmax");

  log_softmax_backward(s, log_y.data(), dy.data(), dx.data());
  for_each_row(s, [&](std::size_t, const auto& at) {
    long double total = 0;
    for (const std::size_t k : at) total += dy[k];
    for (const std::size_t k : at) want[k] = dy[k] - std::exp(static_cast<long double>(log_y[k])) * total, scale[k] = std::abs(dy[k]) + std::abs(total);
  });
  expect_close(dx, want, scale, "log_softmax_backward");

  cross_entropy(s, labels.data(), x.data(), loss.data());
  for_each_row(s, [&](std::size_t r, const auto& at) {
    const Row row(x, at);
    row_want[r] = 0, row_scale[r] = 1;
    for (const std::size_t k : at) row_want[r] -= labels[k] * row.log_probability(x[k]), row_scale[r] += labels[k] * (1 - row.log_probability(x[k]));
  });
  expect_close(loss, row_want, row_scale, "cross_entropy");

  cross_entropy_backward(s, labels.data(), x.data(), slopes.data(), dx.data());
  for_each_row(s, [&](std::size_t r, const auto& at) {
    const Row row(x, at);
    long double total = 0;
    for (const std::size_t k : at) total += labels[k];
    for (const std::size_t k : at) {
      const long double p = std::exp(row.log_probability(x[k]));
      want[k] = slopes[r] * (p * total - labels[k]), scale[k] = p * total * (1 + (row.max - x[k])) + labels[k];
    }
  });
  expect_close(dx, want, scale, "cross_entropy_backward");
  if (s.inner != 1) return;

  std::vector<std::int32_t> classes(rows);
  for (auto& c : classes) c = static_cast<std::int32_t>(random() % static_cast<std::size_t>(s.n));
  sparse_cross_entropy(s.outer, s.n, classes.data(), x.data(), loss.data());
  for_each_row(s, [&](std::size_t r, const auto& at) {
    row_want[r] = -Row(x, at).log_probability(x[at[static_cast<std::size_t>(classes[r])]]), row_scale[r] = 1 + std::abs(row_want[r]);
  });
  expect_close(loss, row_want, row_scale, "sparse_cross_entropy");
  sparse_cross_entropy_backward(s.outer, s.n, classes.data(), x.data(), slopes.data(), dx.data());
  for_each_row(s, [&](std::size_t r, const auto& at) {
    const Row row(x, at);
    for (const std::size_t k : at) {
      const bool right = k == at[static_cast<std::size_t>(classes[r])];
      const long double p = std::exp(row.log_probability(x[k]));
      want[k] = slopes[r] * (p - (right ? 1 : 0)), scale[k] = p * (1 + (row.max - x[k])) + (right ? 1 : 0);
    }
  });
  expect_close(dx, want, scale, "sparse_cross_entropy_backward");
}

TEST(SoftmaxKernels, AgreeWithTheirDefinitions) {
  std::mt19937 random(1);
  for (const RowShape& s : shapes()) {
    check<float>(s, random);
    check<double>(s, random);
    ASSERT_FALSE(HasFatalFailure()) << s.outer << " " << s.n << " " << s.inner;
  }
}

template <class T>
void check_standardize(std::int64_t rows, std::int64_t n, T centre, std::mt19937& random) {
  const double epsilon = 1e-3;
  const auto x = random_elements<T>(rows * n, centre - 2, centre + 2, random), dy = random_elements<T>(rows * n, -1, 1, random);
  const auto scale = random_elements<T>(n, -2, 2, random), offset = random_elements<T>(n, -2, 2, random);
  std::vector<T> y(x.size()), z(x.size()), dx(x.size()), dz(x.size()), dscale(scale.size()), doffset(scale.size());
  standardize<T>(rows, n, epsilon, x.data(), nullptr, nullptr, y.data());
  standardize(rows, n, epsilon, x.data(), scale.data(), offset.data(), z.data());
  standardize_backward<T>(rows, n, epsilon, x.data(), nullptr, dy.data(), dx.data(), nullptr, nullptr);
  standardize_backward(rows, n, epsilon, x.data(), scale.data(), dy.data(), dz.data(), dscale.data(), doffset.data());
  Reals columns(scale.size()), sizes(scale.size(), 1), offsets(scale.size());
  const long double bound = 40 * std::numeric_limits<T>::epsilon();
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto at = [&](std::int64_t k) { return static_cast<std::size_t>(r * n + k); };
    long double mean = 0, variance = 0;
    for (std::int64_t k = 0; k < n; ++k) mean += x[at(k)] / static_cast<long double>(n);
    for (std::int64_t k = 0; k < n; ++k) variance += (x[at(k)] - mean) * (x[at(k)] - mean) / n;
    const long double r_scale = 1 / std::sqrt(variance + epsilon);
    for (const bool affine : {false, true}) {
      long double g_mean = 0, g_slope = 0;
      for (std::int64_t k = 0; k < n; ++k) {
        const long double g = dy[at(k)] * (affine ? static_cast<long double>(scale[static_cast<std::size_t>(k)]) : 1);
        g_mean += g / n, g_slope += g * (x[at(k)] - mean) * r_scale / n;
      }
      for (std::int64_t k = 0; k < n; ++k) {
        const auto c = static_cast<std::size_t>(k);
        const long double want = (x[at(k)] - mean) * r_scale, g = dy[at(k)] * (affine ? static_cast<long double>(scale[c]) : 1);
        ASSERT_NEAR(affine ? z[at(k)] : y[at(k)], affine ? want * scale[c] + offset[c] : want, bound * (2 + std::abs(want)));
        ASSERT_NEAR(affine ? dz[at(k)] : dx[at(k)], (g - g_mean - want * g_slope) * r_scale, bound * r_scale * (4 + std::abs(want)));
        if (affine) columns[c] += dy[at(k)] * want, offsets[c] += dy[at(k)], sizes[c] += std::abs(dy[at(k)] * want) + std::abs(dy[at(k)]);
      }
    }
  }
  for (std::size_t c = 0; c < scale.size(); ++c) {
    ASSERT_NEAR(dscale[c], columns[c], bound * sizes[c]);
    ASSERT_NEAR(doffset[c], offsets[c], bound * sizes[c]);
  }
}

TEST(StandardizeKernels, AgreeWithTheirDefinitions) {
  std::mt19937 random(2);
  for (const auto& [rows, n] : std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {3, 2}, {5, 17}, {9, 64}, {130, 33}, {300, 768}, {2, 20001}}) {
    check_standardize<float>(rows, n, 0, random);
    check_standardize<double>(rows, n, 0, random);
    check_standardize<float>(rows, n, 1e3, random);
    ASSERT_FALSE(HasFatalFailure()) << rows << " " << n;
  }
}

// A row far from 0: its mean has more digits than a float.
TEST(StandardizeKernels, KeepTheDigitsOfRowsFarFromZero) {
  std::vector<float> x(64), y(64);
  for (std::size_t k = 0; k < 64; ++k) x[k] = 1e6f + static_cast<float>(k % 7);
  standardize<float>(1, 64, 0, x.data(), nullptr, nullptr, y.data());
  double mean = 0, variance = 0;
  for (const float e : x) mean += (static_cast<double>(e) - 1e6) / 64;
  for (const float e : x) variance += (static_cast<double>(e) - 1e6 - mean) * (static_cast<double>(e) - 1e6 - mean) / 64;
  for (std::size_t k = 0; k < 64; ++k) EXPECT_NEAR(y[k], (static_cast<double>(x[k]) - 1e6 - mean) / std::sqrt(variance), 4e-7);
}

// Rows whose first element lies far out, and rows whose squares are out of the range of f32.
TEST(StandardizeKernels, TakeRowsOfAnySize) {
  std::mt19937 random(5);
  for (const float size : {1.0f, 1e-25f, 1e25f})
    for (const float first : {0.5f, 1000.0f}) {
      auto x = random_elements<float>(200, -size, size, random);
      x[0] = first * size;
      std::vector<float> y(x.size());
      standardize<float>(1, 200, 0, x.data(), nullptr, nullptr, y.data());
      long double mean = 0, variance = 0;
      for (const float e : x) mean += static_cast<long double>(e) / 200;
      for (const float e : x) variance += (e - mean) * (e - mean) / 200;
      for (std::size_t k = 0; k < x.size(); ++k) {
        const long double want = (x[k] - mean) / std::sqrt(variance);
        ASSERT_NEAR(y[k], want, 4e-7L * (1 + std::abs(want))) << size << " " << first << " " << k;
      }
    }
}

// Sums of a few elements leave the range of f32; those of all of them, and what is made of them, do not.
TEST(StandardizeKernels, TakeGradientsThatAddUpToMoreThanAFloat) {
  std::mt19937 random(6);
  constexpr std::int64_t rows = 70, n = 640;
  const auto scale = random_elements<float>(n, 0.5, 1, random);
  auto x = random_elements<float>(rows * n, -2, 2, random), dy = random_elements<float>(rows * n, 4e37f, 8e37f, random);
  for (std::size_t i = 0; i < x.size() / 2; ++i) x[i + x.size() / 2] = x[i], dy[i + x.size() / 2] = -dy[i];  // columns end where they began
  std::vector<float> dx(x.size()), dz(x.size()), dscale(scale.size()), doffset(scale.size());
  standardize_backward<float>(rows, n, 1e-3, x.data(), nullptr, dy.data(), dx.data(), nullptr, nullptr);
  standardize_backward(rows, n, 1e-3, x.data(), scale.data(), dy.data(), dz.data(), dscale.data(), doffset.data());
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto at = [&](std::int64_t k) { return static_cast<std::size_t>(r * n + k); };
    long double mean = 0, variance = 1e-3L;
    for (std::int64_t k = 0; k < n; ++k) mean += static_cast<long double>(x[at(k)]) / n;
    for (std::int64_t k = 0; k < n; ++k) variance += (x[at(k)] - mean) * (x[at(k)] - mean) / n;
    for (const bool affine : {false, true}) {
      const auto g = [&](std::int64_t k) { return dy[at(k)] * (affine ? static_cast<long double>(scale[static_cast<std::size_t>(k)]) : 1); };
      const auto y = [&](std::int64_t k) { return (x[at(k)] - mean) / std::sqrt(variance); };
      long double g_mean = 0, g_slope = 0;
      for (std::int64_t k = 0; k < n; ++k) g_mean += g(k) / n, g_slope += g(k) * y(k) / n;
      for (std::int64_t k = 0; k < n; ++k) ASSERT_NEAR((affine ? dz : dx)[at(k)], (g(k) - g_mean - y(k) * g_slope) / std::sqrt(variance), 1e33L) << r << " " << k;
    }
  }
  for (std::size_t k = 0; k < scale.size(); ++k) {
    ASSERT_NEAR(dscale[k], 0, 1e25) << k;
    ASSERT_NEAR(doffset[k], 0, 1e25) << k;
  }
}

TEST(StandardizeKernels, NoRowsHaveGradientsOfZero) {
  const std::vector<float> scale(3, 1.0f);
  std::vector<float> dscale(3, 7.0f), doffset(3, 7.0f);
  standardize_backward<float>(0, 3, 1e-3, nullptr, scale.data(), nullptr, nullptr, dscale.data(), doffset.data());
  EXPECT_EQ(dscale, std::vector<float>(3));
  EXPECT_EQ(doffset, std::vector<float>(3));
}

TEST(SoftmaxKernels, SpecialRows) {
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::int64_t n : {3, 8, 40}) {
    std::vector<float> x(static_cast<std::size_t>(3 * n), 1.0f), y(x.size());
    x[0] = -inf, x[static_cast<std::size_t>(n) + 1] = nan;
    for (std::int64_t k = 0; k < n; ++k) x[static_cast<std::size_t>(2 * n + k)] = k == 0 ? 0.0f : -100.0f;
    softmax({3, n, 1}, x.data(), y.data());
    EXPECT_EQ(y[0], 0);
    EXPECT_NEAR(y[1], 1.0 / static_cast<double>(n - 1), 1e-7);
    for (std::int64_t k = 0; k < n; ++k) EXPECT_TRUE(std::isnan(y[static_cast<std::size_t>(n + k)]));
    EXPECT_EQ(y[static_cast<std::size_t>(2 * n)], 1);
    EXPECT_NEAR(y[static_cast<std::size_t>(2 * n + 1)] / 3.783505853677006e-44, 1, 0.02);  // a denormal, not 0
    std::vector<float> loss(1);
    const std::vector<float> labels{1, 0}, logits{0, -inf};
    cross_entropy({1, 2, 1}, labels.data(), logits.data(), loss.data());
    EXPECT_EQ(loss[0], 0);
  }
  float loss = 7;
  cross_entropy<float>({1, 0, 1}, nullptr, nullptr, &loss);
  EXPECT_EQ(loss, 0);
}

// Every instruction set, with results through the caches and past them, from any alignment.
template <class T>
void check_sets(const RowLoops<T>& plain, const RowLoops<T>& loops, std::mt19937& random) {
  // Streamed rows of whole vectors in aligned memory are written later than others.
  for (const auto& [n, past_line] : std::vector<std::pair<std::int64_t, std::size_t>>{{1, 1}, {7, 1}, {8, 0}, {8, 1}, {31, 0}, {48, 0}, {100, 1},
                                                                                               {112, 0}, {513, 0}, {1040, 0}}) {
    const std::int64_t count = 9;
    const auto x = random_elements<T>(count * n + 3, -5, 5, random), dy = random_elements<T>(count * n + 3, -1, 1, random);
    std::vector<T> scratch(static_cast<std::size_t>(2 * n)), plain_y(x.size() + 64), y(plain_y.size()), streamed(plain_y.size());
    const auto place = [past = past_line](std::vector<T>& v) { return v.data() + (64 - reinterpret_cast<std::uintptr_t>(v.data()) % 64) / sizeof(T) + past; };
    const auto compare = [&](const auto& run) {
      std::fill(plain_y.begin(), plain_y.end(), T(0)), y = streamed = plain_y;
      run(plain, RowRun{count, n, false}, place(plain_y));
      run(loops, RowRun{count, n, false}, place(y));
      run(loops, RowRun{count, n, true}, place(streamed));
      const T *a_y = place(y), *a_plain = place(plain_y);
      ASSERT_EQ(std::memcmp(a_y, place(streamed), static_cast<std::size_t>(count * n) * sizeof(T)), 0) << n;
      for (std::int64_t k = 0; k < count * n; ++k) ASSERT_NEAR(a_y[k], a_plain[k], 40 * std::numeric_limits<T>::epsilon() * (1 + std::abs(a_plain[k]))) << n;
    };
    const T *a = x.data() + 2, *b = dy.data() + 3;
    const std::vector<std::int64_t> labels(static_cast<std::size_t>(count), n / 2);
    compare([&](const auto& l, RowRun rows, T* to) { l.softmax(rows, a, to, scratch.data()); });
    compare([&](const auto& l, RowRun rows, T* to) { l.softmax_backward(rows, a, b, to); });
    compare([&](const auto& l, RowRun rows, T* to) { l.log_softmax(rows, a, to, scratch.data()); });
    compare([&](const auto& l, RowRun rows, T* to) { l.log_softmax_backward(rows, a, b, to, scratch.data()); });
    compare([&](const auto& l, RowRun rows, T* to) { l.cross_entropy_backward(rows, b, a, b, to, scratch.data()); });
    compare([&](const auto& l, RowRun rows, T* to) { l.sparse_cross_entropy_backward(rows, labels.data(), a, b, to, scratch.data()); });
    compare([&](const auto& l, RowRun rows, T* to) { l.standardize(rows, 1e-3, a, a, b, to); });
    compare([&](const auto& l, RowRun rows, T* to) { l.standardize_backward(rows, 1e-3, a, nullptr, b, to, nullptr, nullptr, scratch.data()); });
  }
}

TEST(SoftmaxKernels, EveryInstructionSet) {
  std::mt19937 random(3);
  for (const Isa set : {Isa::kBaseline, Isa::kV3, Isa::kV4}) {
    if (set > best_isa()) continue;
    check_sets(row_table(Isa::kBaseline).f32, row_table(set).f32, random);
    check_sets(row_table(Isa::kBaseline).f64, row_table(set).f64, random);
    ASSERT_FALSE(HasFatalFailure()) << name_of(set);
  }
}

TEST(SoftmaxKernels, AnyNumberOfThreadsGivesTheSameBits) {
  std::mt19937 random(4);
  const int before = num_threads();
  const std::int64_t rows = 900, n = 333;
  const auto x = random_elements<float>(rows * n, -5, 5, random), dy = random_elements<float>(rows * n, -1, 1, random), scale = random_elements<float>(n, -1, 1, random);
  const auto run = [&](int threads) {
    set_num_threads(threads);
    std::vector<float> all(static_cast<std::size_t>(4 * rows * n + 2 * n));
    float* y = all.data();
    softmax({rows, n, 1}, x.data(), y);
    softmax({9, n, rows / 9}, x.data(), y + rows * n);
    standardize<float>(rows, n, 1e-3, x.data(), scale.data(), scale.data(), y + 2 * rows * n);
    standardize_backward(rows, n, 1e-3, x.data(), scale.data(), dy.data(), y + 3 * rows * n, y + 4 * rows * n, y + 4 * rows * n + n);
    return all;
  };
  const auto alone = run(1);
  for (const int threads : {2, 3, 4, 8}) {
    const auto together = run(threads);
    EXPECT_EQ(std::memcmp(together.data(), alone.data(), alone.size() * sizeof(float)), 0) << threads;
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace weft::kernels
