#include "kernels/fold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/reduce.h"

namespace weft::kernels {
namespace {

template <class T>
std::vector<T> random_elements(std::size_t n, std::mt19937& random) {
  std::vector<T> x(n);
  for (T& element : x) {
    if constexpr (std::floating_point<T>) element = std::uniform_real_distribution<T>(-3, 3)(random);
    else element = static_cast<T>(random());
  }
  return x;
}

template <class T>
void expect_same_bits(const std::vector<T>& a, const std::vector<T>& b, Isa set) {
  ASSERT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(T)), 0) << name_of(set);
}

// Every instruction set folds in the same order and rounds alike.
template <class Pass>
void check_sets(std::mt19937& random) {
  const auto& plain = fold_table(Isa::kBaseline).of<FoldLoops<Pass>>();
  const auto x = random_elements<typename Pass::Element>(40000, random);
  const std::vector<double> given(2000, 0.75);
  for (const Isa set : {Isa::kV3, Isa::kV4}) {
    if (set > best_isa()) continue;
    const auto& loops = fold_table(set).of<FoldLoops<Pass>>();
    for (const std::int64_t n : {0, 1, 3, 15, 16, 17, 31, 32, 40, 127, 1000}) {
      std::vector<typename Pass::Word> a(40 * Pass::kWords), b(40 * Pass::kWords);
      plain.rows(x.data() + 1, 39, 1003, n, given.data(), a.data(), 40);
      loops.rows(x.data() + 1, 39, 1003, n, given.data(), b.data(), 40);
      expect_same_bits(a, b, set);
      std::vector<typename Pass::Word> c(1000 * Pass::kWords, Pass::kStart), d = c;
      plain.columns(x.data() + 1, 35, 1003, n, given.data(), c.data(), 1000);
      loops.columns(x.data() + 1, 35, 1003, n, given.data(), d.data(), 1000);
      expect_same_bits(c, d, set);
    }
  }
}

TEST(Fold, EveryInstructionSetGivesTheSameBits) {
  std::mt19937 random(8);
  check_sets<AddUp<float>>(random);
  check_sets<AddUp<double>>(random);
  check_sets<Multiply<float>>(random);
  check_sets<Extreme<float, true>>(random);
  check_sets<Extreme<double, false>>(random);
  check_sets<AddExp<float>>(random);
  check_sets<AddExp<double>>(random);
  check_sets<AddSquaredDistance<float>>(random);
  check_sets<AddSquaredDistance<double>>(random);
  check_sets<AddScaledSquare<double>>(random);
  check_sets<LargestMagnitude<double>>(random);
  check_sets<Count<float>>(random);
  check_sets<AddUp<std::uint16_t>>(random);
  check_sets<AddUp<std::int32_t, std::uint64_t>>(random);
}

// What elements are made of may be gone afterwards: each is asked for once, by recipes of two passes as well, and the bits are those of elements that lie.
TEST(Fold, AsksForEachElementOnce) {
  std::mt19937 random(8);
  const std::int64_t shapes[][2] = {{1, 5000}, {1, 70001}, {300, 700}, {40, 20000}};
  for (const auto& sizes : shapes)
    for (const Fold what : {Fold::kSum, Fold::kMean, Fold::kProd, Fold::kMax, Fold::kMin, Fold::kLogSumExp, Fold::kVariance, Fold::kStandardDeviation, Fold::kEuclideanNorm})
      for (const bool columns : {false, true}) {
        const bool folded[] = {columns, !columns};
        FoldPlan plan = plan_fold(sizes, 2, folded);
        const auto x = random_elements<double>(static_cast<std::size_t>(sizes[0] * sizes[1]), random);
        std::vector<double> lying(static_cast<std::size_t>(plan.results)), y(lying);
        fold(what, DType::f64, plan, x.data(), lying.data());
        std::vector<int> asked(x.size());
        const auto make = [&](std::int64_t begin, std::int64_t count, void* to) {
          std::copy_n(x.data() + begin, count, static_cast<double*>(to));
          for (std::int64_t k = begin; k < begin + count; ++k) ++asked[static_cast<std::size_t>(k)];
        };
        const MakeElements made(make);
        plan.make = &made;
        fold(what, DType::f64, plan, nullptr, y.data());
        EXPECT_TRUE(asked == std::vector<int>(x.size(), 1)) << "fold " << static_cast<int>(what) << " of " << sizes[0] << " x " << sizes[1];
        EXPECT_TRUE(y == lying) << "fold " << static_cast<int>(what) << " of " << sizes[0] << " x " << sizes[1];
      }
}

}  // namespace
}  // namespace weft::kernels
