#include "kernels/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "tests/hard_numbers.h"
#include "tests/suite_rows.h"
#include <weft/runtime.h>

namespace weft::kernels {
namespace {

using Sizes = std::vector<std::int64_t>;

std::int64_t product(const Sizes& sizes) {
  std::int64_t total = 1;
  for (const std::int64_t size : sizes) total *= size;
  return total;
}

// Which result each element belongs to.
std::vector<std::size_t> results_of(const Sizes& sizes, const std::vector<bool>& folded) {
  std::vector<std::size_t> result(static_cast<std::size_t>(product(sizes)));
  for (std::size_t k = 0; k < result.size(); ++k) {
    std::size_t rest = k, stride = 1;
    for (std::size_t axis = sizes.size(); axis-- > 0;) {
      const auto size = static_cast<std::size_t>(sizes[axis]);
      if (!folded[axis]) {
        result[k] += rest % size * stride;
        stride *= size;
      }
      rest /= size;
    }
  }
  return result;
}

FoldPlan plan_of(const Sizes& sizes, const std::vector<bool>& folded) {
  bool flags[kMaxFoldAxes] = {};
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) flags[axis] = folded[axis];
  return plan_fold(sizes.data(), static_cast<int>(sizes.size()), flags);
}

struct Case {
  Sizes sizes;
  std::vector<bool> folded;
};

// Ranks 0 to 4; short, odd and long axes; both kinds of innermost axis; a few empty ones.
Case random_case(std::mt19937& random, std::int64_t limit) {
  static constexpr std::int64_t choices[] = {1, 2, 3, 5, 8, 10, 15, 16, 17, 31, 33, 63, 64, 65, 100, 257, 1023, 1025, 2049};
  Case c{Sizes(random() % 5), {}};
  std::int64_t total = 1;
  for (std::int64_t& size : c.sizes) {
    size = choices[random() % std::size(choices)];
    if (total * size > limit) size = 1 + static_cast<std::int64_t>(random() % 2);
    total *= size;
    c.folded.push_back(random() % 2 == 0);
  }
  if (random() % 16 == 0 && !c.sizes.empty()) c.sizes[random() % c.sizes.size()] = 0;
  return c;
}

// What goes beyond one block, slab or chunk.
std::vector<Case> large_cases() {
  return {{{70001}, {true}},
          {{3, 40000}, {false, true}},
          {{300, 700}, {false, true}},
          {{300, 700}, {true, false}},
          {{9000, 7}, {true, false}},
          {{40000, 3}, {true, false}},
          {{20000, 10}, {false, true}},
          {{600, 1500}, {true, false}},
          {{40, 50, 60}, {true, false, true}},
          {{40, 50, 60}, {false, true, false}},
          {{2000, 5, 7, 3}, {true, false, true, false}},
          {{3, 17, 4001}, {true, false, true}}};
}

template <class T>
std::vector<T> random_elements(std::size_t n, std::mt19937& random) {
  std::vector<T> x(n);
  for (T& element : x) {
    if constexpr (std::floating_point<T>) element = std::uniform_real_distribution<T>(-3, 3)(random);
    else element = static_cast<T>(random());
  }
  return x;
}

template <class R, class T>
std::vector<R> folded(Fold what, const Case& c, const std::vector<T>& x) {
  const FoldPlan plan = plan_of(c.sizes, c.folded);
  std::vector<R> y(static_cast<std::size_t>(plan.results) + 1, R(77));
  fold(what, dtype_of<T>(), plan, x.data(), y.data());
  EXPECT_EQ(y.back(), R(77));
  y.pop_back();
  return y;
}

// The reference: one element after the other, in long double or in 64 bits.
template <class T, class S, class Step>
std::vector<S> plainly(const Case& c, const std::vector<T>& x, S start, const Step& step) {
  std::size_t results = 1;
  for (std::size_t axis = 0; axis < c.sizes.size(); ++axis) results *= c.folded[axis] ? 1 : static_cast<std::size_t>(c.sizes[axis]);
  std::vector<S> y(results, start);
  const std::vector<std::size_t> result = results_of(c.sizes, c.folded);
  for (std::size_t k = 0; k < x.size(); ++k) step(y[result[k]], x[k], result[k]);
  return y;
}

template <class T>
void expect_near(const std::vector<T>& got, const std::vector<long double>& want, const std::vector<long double>& magnitude, long double units) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_LE(std::abs(static_cast<long double>(got[i]) - want[i]), units * std::numeric_limits<T>::epsilon() * magnitude[i])
        << i << ": " << got[i] << " for " << static_cast<double>(want[i]);
}

template <class T>
void check_floats(const Case& c, std::mt19937& random) {
  using L = long double;
  const auto x = random_elements<T>(static_cast<std::size_t>(product(c.sizes)), random);
  const auto sums = plainly(c, x, L(0), [](L& s, T e, std::size_t) { s += e; });
  const auto sizes = plainly(c, x, L(0), [](L& s, T e, std::size_t) { s += std::abs(e); });
  const L count = static_cast<L>(plan_of(c.sizes, c.folded).count);
  expect_near(folded<T>(Fold::kSum, c, x), sums, sizes, 1);

  const auto largest = plainly(c, x, -std::numeric_limits<T>::infinity(), [](T& s, T e, std::size_t) { s = std::max(s, e); });
  EXPECT_EQ(folded<T>(Fold::kMax, c, x), largest);
  EXPECT_EQ(folded<T>(Fold::kMin, c, x), plainly(c, x, std::numeric_limits<T>::infinity(), [](T& s, T e, std::size_t) { s = std::min(s, e); }));
  EXPECT_EQ(folded<std::int64_t>(Fold::kCountNonzero, c, x), plainly(c, x, std::int64_t{0}, [](std::int64_t& s, T e, std::size_t) { s += e != 0; }));
  if (count == 0) return;

  const auto products = plainly(c, x, L(1), [](L& s, T e, std::size_t) { s *= e; });
  const auto got = folded<T>(Fold::kProd, c, x);
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!(std::abs(products[i]) < 1e30L && std::abs(products[i]) > 1e-30L)) continue;
    ASSERT_NEAR(static_cast<double>(got[i] / products[i]), 1, count * 3e-16 + std::numeric_limits<T>::epsilon());
  }

  auto means = sums, variances = sums, deviations = sums, norms = sums, exps = sums, ones = sums;
  for (std::size_t i = 0; i < sums.size(); ++i) means[i] = sums[i] / count;
  auto mean_sizes = sizes;
  for (L& size : mean_sizes) size /= count;
  expect_near(folded<T>(Fold::kMean, c, x), means, mean_sizes, 1);
  variances = plainly(c, x, L(0), [&](L& s, T e, std::size_t r) { s += (e - means[r]) * (e - means[r]) / count; });
  expect_near(folded<T>(Fold::kVariance, c, x), variances, variances, count > 1 ? 4 : 0);
  for (std::size_t i = 0; i < sums.size(); ++i) deviations[i] = std::sqrt(variances[i]);
  expect_near(folded<T>(Fold::kStandardDeviation, c, x), deviations, deviations, count > 1 ? 4 : 0);
  norms = plainly(c, x, L(0), [](L& s, T e, std::size_t) { s += static_cast<L>(e) * e; });
  for (L& norm : norms) norm = std::sqrt(norm);
  expect_near(folded<T>(Fold::kEuclideanNorm, c, x), norms, norms, 2);
  exps = plainly(c, x, L(0), [&](L& s, T e, std::size_t r) { s += std::exp(static_cast<L>(e) - largest[r]); });
  for (std::size_t i = 0; i < sums.size(); ++i) exps[i] = std::log(exps[i]) + largest[i], ones[i] = 1 + std::abs(exps[i]);
  expect_near(folded<T>(Fold::kLogSumExp, c, x), exps, ones, 4);

  const FoldPlan plan = plan_of(c.sizes, c.folded);
  std::vector<T> centred(x.size());
  center(dtype_of<T>(), plan, x.data(), centred.data());
  const auto result = results_of(c.sizes, c.folded);
  for (std::size_t k = 0; k < x.size(); ++k) ASSERT_NEAR(centred[k], static_cast<double>(x[k] - means[result[k]]), 6 * std::numeric_limits<T>::epsilon());
}

TEST(Reduce, FloatsOfAnyShape) {
  std::mt19937 random(1);
  for (int round = 0; round < (test::small_scale() ? 100 : 1000); ++round) {
    const Case c = random_case(random, round % 5 == 0 ? 6000 : 1000);
    check_floats<float>(c, random);
    check_floats<double>(c, random);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

// Terms that differ by dozens of magnitudes, or nearly cancel, or both.
template <class T>
void check_hard_floats(const Case& c, int round, std::mt19937& random) {
  using L = long double;
  const std::int64_t total = product(c.sizes);
  auto x = round % 3 == 0 ? random_elements<T>(static_cast<std::size_t>(total), random) : test::scaled_numbers<T>(total, random);
  std::int64_t outer = 1;
  for (std::size_t axis = 0; axis < c.sizes.size(); outer *= c.sizes[axis++])
    if (c.folded[axis] && round % 3 != 1 && total != 0) {
      test::pair_up(x, outer, c.sizes[axis], total / (outer * c.sizes[axis]), -1, random);
      break;
    }
  const L count = static_cast<L>(plan_of(c.sizes, c.folded).count);
  const auto sums = plainly(c, x, L(0), [](L& s, T e, std::size_t) { s += e; });
  auto sizes = plainly(c, x, L(0), [](L& s, T e, std::size_t) { s += std::abs(e); }), means = sums, norms = sums;
  expect_near(folded<T>(Fold::kSum, c, x), sums, sizes, 1);
  if (count == 0) return;
  for (std::size_t i = 0; i < sums.size(); ++i) means[i] /= count, sizes[i] /= count;
  expect_near(folded<T>(Fold::kMean, c, x), means, sizes, 1);
  norms = plainly(c, x, L(0), [](L& s, T e, std::size_t) { s += static_cast<L>(e) * e; });
  for (L& norm : norms) norm = std::sqrt(norm);
  expect_near(folded<T>(Fold::kEuclideanNorm, c, x), norms, norms, 2);
}

TEST(Reduce, IllConditionedSumsLieWithinTheBound) {
  std::mt19937 random(8);
  for (int round = 0; round < (test::small_scale() ? 20 : 100); ++round) {
    const Case c = random_case(random, 6000);
    check_hard_floats<float>(c, round, random);
    check_hard_floats<double>(c, round, random);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

TEST(Reduce, FloatsBeyondOneBlock) {
  std::mt19937 random(2);
  for (const Case& c : large_cases()) {
    check_floats<float>(c, random);
    check_floats<double>(c, random);
    if (HasFatalFailure()) FAIL();
  }
}

template <class T>
void check_integers(const Case& c, std::mt19937& random) {
  using U = std::uint64_t;
  const auto x = random_elements<T>(static_cast<std::size_t>(product(c.sizes)), random);
  const auto narrowed = [](const std::vector<U>& wide) {
    std::vector<T> y(wide.size());
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<T>(wide[i]);
    return y;
  };
  EXPECT_EQ(folded<T>(Fold::kSum, c, x), narrowed(plainly(c, x, U(0), [](U& s, T e, std::size_t) { s += static_cast<U>(e); })));
  EXPECT_EQ(folded<T>(Fold::kProd, c, x), narrowed(plainly(c, x, U(1), [](U& s, T e, std::size_t) { s *= static_cast<U>(e); })));
  EXPECT_EQ(folded<T>(Fold::kMax, c, x), plainly(c, x, std::numeric_limits<T>::lowest(), [](T& s, T e, std::size_t) { s = std::max(s, e); }));
  EXPECT_EQ(folded<T>(Fold::kMin, c, x), plainly(c, x, std::numeric_limits<T>::max(), [](T& s, T e, std::size_t) { s = std::min(s, e); }));
  EXPECT_EQ(folded<std::int64_t>(Fold::kCountNonzero, c, x), plainly(c, x, std::int64_t{0}, [](std::int64_t& s, T e, std::size_t) { s += e != 0; }));
  const FoldPlan plan = plan_of(c.sizes, c.folded);
  if (plan.count == 0) return;
  auto means = plainly(c, x, U(0), [](U& s, T e, std::size_t) { s += static_cast<U>(e); });
  for (U& mean : means) mean = std::is_signed_v<T> ? static_cast<U>(static_cast<std::int64_t>(mean) / plan.count) : mean / static_cast<U>(plan.count);
  EXPECT_EQ(folded<T>(Fold::kMean, c, x), narrowed(means));
}

TEST(Reduce, IntegersOfAnyShape) {
  std::mt19937 random(3);
  std::vector<Case> cases = large_cases();
  for (int round = 0; round < 40; ++round) cases.push_back(random_case(random, 6000));
  for (const Case& c : cases) {
    check_integers<std::int8_t>(c, random);
    check_integers<std::int16_t>(c, random);
    check_integers<std::int32_t>(c, random);
    check_integers<std::int64_t>(c, random);
    check_integers<std::uint8_t>(c, random);
    check_integers<std::uint16_t>(c, random);
    check_integers<std::uint32_t>(c, random);
    check_integers<std::uint64_t>(c, random);
    ASSERT_FALSE(HasFailure());
  }
}

TEST(Reduce, TruthsOfAnyShape) {
  std::mt19937 random(4);
  std::vector<Case> cases = large_cases();
  for (int round = 0; round < 40; ++round) cases.push_back(random_case(random, 6000));
  for (const Case& c : cases) {
    const auto n = static_cast<std::size_t>(product(c.sizes));
    const FoldPlan plan = plan_of(c.sizes, c.folded);
    const auto x = std::make_unique<bool[]>(n + 1), y = std::make_unique<bool[]>(static_cast<std::size_t>(plan.results) + 1);
    std::vector<int> bits(n);
    for (const int rare : {0, 1}) {
      for (std::size_t k = 0; k < n; ++k) bits[k] = x[k] = (random() % 500 == 0) == (rare == 1);
      const auto any = plainly(c, bits, 0, [](int& s, int e, std::size_t) { s |= e; });
      const auto all = plainly(c, bits, 1, [](int& s, int e, std::size_t) { s &= e; });
      fold(Fold::kAny, DType::bool_, plan, x.get(), y.get());
      for (std::size_t i = 0; i < any.size(); ++i) ASSERT_EQ(y[i], any[i] != 0);
      fold(Fold::kAll, DType::bool_, plan, x.get(), y.get());
      for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(y[i], all[i] != 0);
    }
  }
}

template <class T>
void check_positions(std::int64_t outer, std::int64_t n, std::int64_t inner, std::mt19937& random) {
  std::vector<T> x(static_cast<std::size_t>(outer * n * inner));
  for (T& element : x) element = static_cast<T>(random() % 50);  // ties
  if constexpr (std::floating_point<T>)
    for (int k = 0; k < 3; ++k) x[random() % x.size()] = random() % 2 == 0 ? std::numeric_limits<T>::quiet_NaN() : T(-0.0);
  for (const bool largest : {true, false}) {
    std::vector<std::int64_t> y(static_cast<std::size_t>(outer * inner));
    std::vector<std::int32_t> narrow(y.size());
    arg_extreme(dtype_of<T>(), largest, outer, n, inner, x.data(), DType::i64, y.data());
    arg_extreme(dtype_of<T>(), largest, outer, n, inner, x.data(), DType::i32, narrow.data());
    for (std::int64_t i = 0; i < outer * inner; ++i) {
      const T* from = x.data() + i / inner * n * inner + i % inner;
      std::int64_t best = 0;
      for (std::int64_t k = 1; k < n; ++k) {
        const T e = from[k * inner], b = from[best * inner];
        if (b == b && (e != e || (largest ? e > b : e < b))) best = k;
      }
      ASSERT_EQ(y[static_cast<std::size_t>(i)], best) << outer << " " << n << " " << inner;
      ASSERT_EQ(narrow[static_cast<std::size_t>(i)], best);
    }
  }
}

TEST(Reduce, PositionsOfExtremes) {
  std::mt19937 random(5);
  for (const auto& [outer, n, inner] : std::vector<std::array<std::int64_t, 3>>{
           {1, 1, 1}, {3, 5, 1}, {2, 33, 1}, {7, 100, 1}, {1, 50001, 1}, {2, 16384, 1}, {4, 3, 2}, {2, 17, 1030}, {1, 300, 300}}) {
    check_positions<float>(outer, n, inner, random);
    check_positions<double>(outer, n, inner, random);
    check_positions<std::int32_t>(outer, n, inner, random);
    check_positions<std::int8_t>(outer, n, inner, random);
    check_positions<std::uint64_t>(outer, n, inner, random);
    ASSERT_FALSE(HasFatalFailure());
  }
}

TEST(Reduce, ANaNAnywhereIsTheExtreme) {
  for (const std::int64_t n : {1, 7, 31, 32, 33, 64, 100, 1000})
    for (std::int64_t at = 0; at < n; ++at)
      for (const bool rows : {true, false}) {
        const Case c = rows ? Case{{2, n}, {false, true}} : Case{{n, 2}, {true, false}};
        std::vector<float> x(static_cast<std::size_t>(2 * n), 1.0f);
        x[static_cast<std::size_t>(rows ? n + at : 2 * at + 1)] = std::numeric_limits<float>::quiet_NaN();
        for (const Fold what : {Fold::kMax, Fold::kMin, Fold::kSum, Fold::kVariance, Fold::kLogSumExp, Fold::kEuclideanNorm}) {
          const auto y = folded<float>(what, c, x);
          ASSERT_FALSE(std::isnan(y[0]));
          ASSERT_TRUE(std::isnan(y[1])) << static_cast<int>(what) << " " << n << " " << at;
        }
      }
}

TEST(Reduce, Infinities) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const Case c{{2, 40}, {false, true}};
  std::vector<float> x(80, 1.0f);
  x[3] = inf, x[43] = -inf;
  EXPECT_EQ(folded<float>(Fold::kSum, c, x), (std::vector<float>{inf, -inf}));
  EXPECT_EQ(folded<float>(Fold::kEuclideanNorm, c, x), (std::vector<float>{inf, inf}));
  const auto logs = folded<float>(Fold::kLogSumExp, c, x);
  EXPECT_EQ(logs[0], inf);
  EXPECT_NEAR(logs[1], 1 + std::log(39.0), 1e-6);
  EXPECT_EQ(folded<float>(Fold::kLogSumExp, c, std::vector<float>(80, -inf)), (std::vector<float>{-inf, -inf}));
  std::vector<double> wide(80, 1e300);
  EXPECT_NEAR(folded<double>(Fold::kEuclideanNorm, c, wide)[0], std::sqrt(40.0) * 1e300, 1e286);
  wide[3] = inf;
  EXPECT_EQ(folded<double>(Fold::kSum, c, wide)[0], inf);
}

template <class T>
void expect_same_bits(const std::vector<T>& a, const std::vector<T>& b, const char* what) {
  ASSERT_EQ(a.size(), b.size());
  if (a.empty()) return;
  ASSERT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(T)), 0) << what;
}

template <class T>
void check_threads(std::mt19937& random) {
  const int before = num_threads();
  for (const Case& c : large_cases()) {
    const auto x = random_elements<T>(static_cast<std::size_t>(product(c.sizes)), random);
    for (const Fold what : {Fold::kSum, Fold::kMean, Fold::kProd, Fold::kMax, Fold::kLogSumExp, Fold::kVariance, Fold::kEuclideanNorm}) {
      set_num_threads(1);
      const auto alone = folded<T>(what, c, x);
      for (const int threads : {2, 3, 4, 8}) {
        set_num_threads(threads);
        expect_same_bits(folded<T>(what, c, x), alone, "threads");
      }
    }
  }
  set_num_threads(before);
}

TEST(Reduce, AnyNumberOfThreadsGivesTheSameBits) {
  std::mt19937 random(6);
  check_threads<float>(random);
  check_threads<double>(random);
}

// Sums of f32 in the order that is written down: blocks, lanes within a block, halves of the lanes.
TEST(Reduce, TheOrderOfASum) {
  std::mt19937 random(7);
  for (const std::size_t n : {5u, 15u, 16u, 100u, 16384u, 16391u, 50000u}) {
    const auto x = random_elements<float>(n, random);
    double total = 0;
    for (std::size_t start = 0; start < n; start += 16384) {
      const std::size_t length = std::min<std::size_t>(16384, n - start);
      double lane[16] = {};
      for (std::size_t k = 0; k < length; ++k) lane[length < 16 ? 0 : k % 16] += static_cast<double>(x[start + k]);
      for (std::size_t half = 8; half > 0; half /= 2)
        for (std::size_t l = 0; l < half; ++l) lane[l] += lane[l + half];
      total += lane[0];
    }
    EXPECT_EQ(folded<float>(Fold::kSum, {{static_cast<std::int64_t>(n)}, {true}}, x)[0], static_cast<float>(total)) << n;
  }
}

}  // namespace
}  // namespace weft::kernels
