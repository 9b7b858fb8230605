// Sums, differences, products, quotients and square roots are the exact ones, rounded once to the nearest number.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "kernels/isa.h"
#include "ops/table.h"
#include "tests/suite_rows.h"
#include <weft/operators.h>
#include <weft/ops.h>

namespace weft {
namespace {

// In double: of floats it has so many more digits that rounding its result once more gives what rounding the exact one would.
struct Arithmetic {
  const char* row;
  double (*exact)(double, double);
  Tensor (*call)(const Tensor&, const Tensor&);
};
const Arithmetic kArithmetic[] = {
    {"add", [](double a, double b) { return a + b; }, [](const Tensor& a, const Tensor& b) { return a + b; }},
    {"subtract", [](double a, double b) { return a - b; }, [](const Tensor& a, const Tensor& b) { return a - b; }},
    {"multiply", [](double a, double b) { return a * b; }, [](const Tensor& a, const Tensor& b) { return a * b; }},
    {"divide", [](double a, double b) { return a / b; }, [](const Tensor& a, const Tensor& b) { return a / b; }},
    {"sqrt", [](double a, double) { return std::sqrt(a); }, [](const Tensor& a, const Tensor&) { return sqrt(a); }},
};

// Any bits, then numbers near each other, of which more digits meet; in between those that are odd.
std::vector<float> numbers(std::size_t count, std::uint32_t seed) {
  using Limits = std::numeric_limits<float>;
  const float tiny = Limits::denorm_min(), next = Limits::epsilon(), infinity = Limits::infinity();
  const float odd[] = {0.f, -0.f, 1.f, 3.f, 10.f, 1 + next, 1 - next / 2, tiny, -3 * tiny, Limits::min(), Limits::min() - tiny, Limits::max(),
                       Limits::lowest(), infinity, -infinity, Limits::quiet_NaN()};
  std::mt19937 random(seed);
  std::vector<float> x(count);
  for (std::size_t k = 0; k < count; ++k) {
    if (random() % 16 == 0) x[k] = odd[random() % std::size(odd)];
    else if (k % 2 == 0) x[k] = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    else x[k] = std::ldexp(static_cast<float>(static_cast<std::int32_t>(random()) >> 7), static_cast<int>(random() % 24) - 30);
  }
  return x;
}

void expect_exact(const Arithmetic& one, const std::vector<float>& a, const std::vector<float>& b) {
  const Op* const op = find_row(one.row);
  for (const kernels::Isa set : {kernels::Isa::kBaseline, kernels::Isa::kV3, kernels::Isa::kV4}) {
    if (set > kernels::best_isa()) continue;
    const void* in[] = {a.data(), b.data()};
    std::vector<float> got(a.size());
    op->tile.every[static_cast<std::size_t>(f32)][set](in, got.data(), got.size());
    for (std::size_t k = 0; k < got.size(); ++k) {
      const float want = static_cast<float>(one.exact(static_cast<double>(a[k]), static_cast<double>(b[k])));
      if (std::isnan(want) && std::isnan(got[k])) continue;
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got[k]), std::bit_cast<std::uint32_t>(want))
          << one.row << " of " << a[k] << " and " << b[k] << " is " << got[k] << ", not " << want << ", on " << name_of(set);
    }
  }
}

TEST(Rounding, OfFloatsIsExactOnEveryInstructionSet) {
  const std::size_t count = test::small_scale() ? 1 << 14 : 1 << 18;
  const std::vector<float> a = numbers(count, 1), b = numbers(count, 2);
  for (const Arithmetic& one : kArithmetic) ASSERT_NO_FATAL_FAILURE(expect_exact(one, a, b));
}

// WEFT_TEST_SCALE=long: all 2^32 of them, two minutes.
TEST(Rounding, OfSquareRootsIsExactForEveryFloat) {
  const std::uint64_t stride = test::long_scale() ? 1 : test::small_scale() ? 65521 : 4093;
  std::vector<float> x(1 << 16);
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32;) {
    for (float& each : x) each = std::bit_cast<float>(static_cast<std::uint32_t>(bits)), bits += stride;  // the last block wraps around
    ASSERT_NO_FATAL_FAILURE(expect_exact(kArithmetic[4], x, x));
  }
}

// No neighbour of the result is nearer, and of two equally near ones it is the even one. They are computed in f32, where nothing is lost that could change that.
template <class H>
void expect_nearest() {
  const std::vector<float> a = numbers(1 << 14, 3), b = numbers(1 << 14, 4);
  std::vector<H> x, y;
  for (const float value : a) x.push_back(H(value));
  for (const float value : b) y.push_back(H(value));
  for (const Arithmetic& one : kArithmetic) {
    const std::vector<H> got = one.call(Tensor(x), Tensor(y)).template to_vector<H>();
    for (std::size_t k = 0; k < got.size(); ++k) {
      const double exact = one.exact(static_cast<double>(static_cast<float>(x[k])), static_cast<double>(static_cast<float>(y[k])));
      const auto value = static_cast<double>(static_cast<float>(got[k]));
      if (std::isnan(exact)) {
        ASSERT_TRUE(std::isnan(value)) << one.row;
        continue;
      }
      if (std::isinf(value)) {  // the largest number, and half of a step beyond
        H largest = got[k];
        --largest.bits;
        H before = largest;
        --before.bits;
        const double end = static_cast<double>(static_cast<float>(largest)), step = end - static_cast<double>(static_cast<float>(before));
        ASSERT_GE(std::abs(exact), std::abs(end + step / 2)) << one.row;
        continue;
      }
      for (const int side : {-1, 1}) {
        H neighbour = got[k];
        neighbour.bits = static_cast<std::uint16_t>(neighbour.bits + side);
        const auto other = static_cast<double>(static_cast<float>(neighbour));
        if (!std::isfinite(other)) continue;  // also what comes before 0
        const double beyond = std::abs(other - exact) - std::abs(value - exact);
        ASSERT_TRUE(beyond > 0 || (beyond == 0 && got[k].bits % 2 == 0))
            << one.row << " of " << static_cast<float>(x[k]) << " and " << static_cast<float>(y[k]) << " is " << value;
      }
    }
  }
}
TEST(Rounding, OfHalvesIsExact) {
  expect_nearest<float16>();
  expect_nearest<bfloat16>();
}

}  // namespace
}  // namespace weft
