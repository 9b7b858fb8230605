#include "kernels/fold.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

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

}  // namespace
}  // namespace weft::kernels
