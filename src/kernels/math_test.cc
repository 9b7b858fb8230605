// For every lane function: the largest error over the floats, what it makes of special numbers, and that vector code of every kind
// gives the bits of scalar code; all of it once more for those that can use fused multiply-add.
//
// WEFT_TEST_SCALE=long goes through all 2^32 floats (about two minutes for each function), small through 2^16.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <numbers>
#include <random>
#include <string_view>
#include <vector>

// From here on the options with which the library compiles its lanes: what g++ inlines must have them, too, or loops stay scalar.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "no-math-errno", "no-trapping-math")
#endif
#include "kernels/math.h"

namespace weft::kernels {
namespace {

template <class T>
struct Wider;
template <>
struct Wider<float> {
  using type = double;
};
template <>
struct Wider<double> {
  using type = long double;
};

template <class T>
using Loop = void (*)(const T* x, const T* y, T* out, std::size_t n);

// Lanes are computed as L, which is T or Fused.
template <int arity, class F, class L, class T>
[[gnu::always_inline]] inline void loop(const T* x, const T* y, T* out, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) {
    if constexpr (lane::kFuses<L>) out[k] = F{}(L(x[k])).number;
    else if constexpr (arity == 1) out[k] = F{}(x[k]);
    else out[k] = F{}(x[k], y[k]);
  }
}
template <int arity, class F, class L, class T>
[[gnu::flatten, gnu::noinline]] void loop_baseline(const T* x, const T* y, T* out, std::size_t n) {
  loop<arity, F, L>(x, y, out, n);
}
#if defined(__x86_64__)
#if defined(__clang__)
#define WEFT_V4 "fma,avx512f,avx512dq,avx512bw,avx512vl"
#else
#define WEFT_V4 "fma,avx512f,avx512dq,avx512bw,avx512vl,prefer-vector-width=512"
#endif
template <int arity, class F, class L, class T>
[[gnu::flatten, gnu::noinline, gnu::target("avx2,fma")]] void loop_v3(const T* x, const T* y, T* out, std::size_t n) {
  loop<arity, F, L>(x, y, out, n);
}
template <int arity, class F, class L, class T>
[[gnu::flatten, gnu::noinline, gnu::target(WEFT_V4)]]
void loop_v4(const T* x, const T* y, T* out, std::size_t n) {
  loop<arity, F, L>(x, y, out, n);
}
#endif

template <class T>
struct Row {
  using Wide = typename Wider<T>::type;
  std::string_view name;
  double bound;  // the largest error found among all inputs, rounded up; in units in the last place
  std::function<Wide(Wide, Wide)> exact;
  int arity;
  std::vector<Loop<T>> loops{};  // all give the same bits
};

// One row for every way to round, each with the loops of all instruction sets that run here.
template <class T>
struct Rows : std::vector<Row<T>> {
  using Wide = typename Wider<T>::type;

  template <int arity, class F>
  void add(std::string_view name, double bound, F, std::function<Wide(Wide, Wide)> exact) {
    this->push_back({name, bound, exact, arity, {loop_baseline<arity, F, T>}});
    add_vectors<arity, F, T>();
  }
  template <class F>
  void add_fused(std::string_view name, double bound, F f, std::function<Wide(Wide, Wide)> exact) {
    add<1>(name, bound, f, exact);
    if constexpr (std::is_same_v<T, float>) {
      this->push_back({name, bound, exact, 1});
      add_vectors<1, F, lane::Fused>();
      if (this->back().loops.empty()) this->pop_back();
    }
  }

 private:
  template <int arity, class F, class L>
  void add_vectors() {
    [[maybe_unused]] std::vector<Loop<T>>& loops = this->back().loops;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) loops.push_back(loop_v3<arity, F, L, T>);
    if (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
      loops.push_back(loop_v4<arity, F, L, T>);
#endif
  }
};

#define WEFT_ROW1(f, bound, ...) \
  rows.template add<1>(#f, bound, [](T x) { return lane::f(x); }, [](Wide x, Wide) -> Wide { return __VA_ARGS__; })
#define WEFT_ROW2(f, bound, ...) \
  rows.template add<2>(#f, bound, [](T x, T y) { return lane::f(x, y); }, [](Wide x, Wide y) -> Wide { return __VA_ARGS__; })
#define WEFT_FUSED(f, bound, ...) \
  rows.add_fused(#f, bound, [](auto x) { return lane::f(x); }, [](Wide x, Wide) -> Wide { return __VA_ARGS__; })

constexpr double kTanhForm = 1.5957691216057307117;

// x times the share of numbers below it, also where that is 0 and x is infinite.
template <class Wide>
Wide gated_limit(Wide x, Wide share) {
  return share == 0 ? Wide(0) : x * share;
}

Rows<float> float_rows() {
  using T = float;
  using Wide = double;
  Rows<T> rows;
  WEFT_FUSED(exp, 0.91, std::exp(x));
  WEFT_FUSED(expm1, 1.3, std::expm1(x));
  WEFT_FUSED(log, 0.97, std::log(x));
  WEFT_FUSED(log1p, 0.95, std::log1p(x));
  WEFT_FUSED(tanh, 1.85, std::tanh(x));
  WEFT_FUSED(sigmoid, 1.7, x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)));
  WEFT_FUSED(erf, 1.55, std::erf(x));
  WEFT_ROW1(sin, 1.0, std::sin(x));
  WEFT_ROW1(cos, 1.0, std::cos(x));
  WEFT_ROW1(tan, 0.6, std::tan(x));
  WEFT_ROW1(asin, 0.6, std::asin(x));
  WEFT_ROW1(acos, 0.6, std::acos(x));
  WEFT_ROW1(atan, 1.65, std::atan(x));
  WEFT_ROW2(atan2, 2.0, std::atan2(x, y));
  WEFT_ROW1(sinh, 1.65, std::sinh(x));
  WEFT_ROW1(cosh, 1.5, std::cosh(x));
  WEFT_ROW1(asinh, 0.6, std::asinh(x));
  WEFT_ROW1(acosh, 0.6, std::acosh(x));
  WEFT_ROW1(atanh, 0.6, std::atanh(x));
  WEFT_ROW1(erfc, 1.1, std::erfc(x));
  WEFT_FUSED(softplus, 1.75, std::fmax(x, Wide(0)) + std::log1p(std::exp(-std::abs(x))));
  WEFT_ROW2(pow, 0.6, std::pow(x, y));
  WEFT_FUSED(silu, 53, gated_limit(x, 1 / (1 + std::exp(-x))));  // 3.5 where the result is not denormal
  WEFT_FUSED(gelu_tanh, 145, gated_limit(x, 1 / (1 + std::exp(-kTanhForm * x * (1 + 0.044715 * x * x)))));  // 15 from -3.5 on
  return rows;
}

Rows<double> double_rows() {
  using T = double;
  using Wide = long double;
  Rows<T> rows;
  WEFT_FUSED(exp, 0.91, std::exp(x));
  WEFT_FUSED(expm1, 1.3, std::expm1(x));
  WEFT_FUSED(log, 1.0, std::log(x));
  WEFT_FUSED(log1p, 1.0, std::log1p(x));
  WEFT_FUSED(tanh, 2.0, std::tanh(x));
  WEFT_FUSED(sigmoid, 1.8, x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)));
  WEFT_ROW1(sinh, 2.0, std::sinh(x));
  WEFT_ROW1(cosh, 1.5, std::cosh(x));
  WEFT_FUSED(softplus, 2.0, std::fmax(x, Wide(0)) + std::log1p(std::exp(-std::abs(x))));
  return rows;
}

// |y - exact| in units in the last place of T at `exact`; infinite if one is NaN, or infinite by definition, or -0, and the other is not.
template <class T>
double error_in_ulp(T y, typename Wider<T>::type exact) {
  using Wide = typename Wider<T>::type;
  using Limits = std::numeric_limits<T>;
  constexpr double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(exact) || std::isnan(y)) return std::isnan(exact) && std::isnan(y) ? 0 : wrong;
  if (std::isinf(exact) || exact == 0) return static_cast<Wide>(y) == exact && std::signbit(y) == std::signbit(exact) ? 0 : wrong;
  // Infinity stands for the number that would come after the largest, and for all beyond.
  const Wide next = std::ldexp(Wide(1), Limits::max_exponent);
  const Wide got = std::isinf(y) ? std::copysign(next, static_cast<Wide>(y)) : static_cast<Wide>(y);
  exact = std::clamp(exact, -next, next);
  int exponent;
  std::frexp(std::min(std::abs(exact), static_cast<Wide>(Limits::max())), &exponent);
  exponent = std::max(exponent, Limits::min_exponent) - Limits::digits;
  return static_cast<double>(std::abs(got - exact) / std::ldexp(Wide(1), exponent));
}

template <class T>
std::vector<T> special_numbers() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> result;
  for (const T x : {T(0), Limits::denorm_min(), Limits::min() / 2, Limits::min(), Limits::epsilon() / 4, Limits::epsilon(), T(1e-3),
                    T(0.25), T(0.5), T(0.75), T(1), T(1.5), T(2), T(3), T(4), T(10), T(16), T(17), T(88.72284), T(88.722846), T(89),
                    T(103.97208), T(103.97209), T(709.78271289338397), T(709.782712893384), T(745.1332191019411), T(745.1332191019412),
                    T(1e6), T(1e30), Limits::max(), Limits::infinity(), Limits::quiet_NaN()}) {
    for (const T y : {x, std::nextafter(x, T(0)), std::nextafter(x, Limits::infinity())}) {
      result.push_back(y);
      result.push_back(-y);
    }
  }
  return result;
}

template <class T>
struct Worst {
  double error = 0;
  T x{}, y{}, got{};

  void see(const Row<T>& row, const std::vector<T>& xs, const std::vector<T>& ys) {
    std::vector<T> out(xs.size());
    row.loops.back()(xs.data(), ys.data(), out.data(), xs.size());
    for (std::size_t k = 0; k < xs.size(); ++k) {
      const double now = error_in_ulp(out[k], row.exact(xs[k], ys[k]));
      if (now > error) *this = {now, xs[k], ys[k], out[k]};
    }
  }
};
std::string_view scale() {
  const char* text = std::getenv("WEFT_TEST_SCALE");
  return text == nullptr ? "" : text;
}

template <class T>
void expect_within(const Row<T>& row, const Worst<T>& worst) {
  if (scale() == "long") std::cout << row.name << ": " << worst.error << " ULP at " << worst.x << ", " << worst.y << std::endl;
  EXPECT_LE(worst.error, row.bound) << row.name << " of " << std::hexfloat << worst.x << ", " << worst.y << " gave " << worst.got;
  testing::Test::RecordProperty(std::string(row.name), std::to_string(worst.error));
}

constexpr std::size_t kBlock = 4096;

// Numbers of every magnitude, and many near those where functions change.
template <class T>
std::vector<T> random_numbers(std::mt19937_64& random) {
  std::vector<T> result(kBlock);
  for (std::size_t k = 0; k < kBlock; ++k) {
    const std::uint64_t bits = random();
    const T unit = static_cast<T>(bits >> 11) * T(0x1p-53);
    switch (k % 8) {
      case 0: {
        const auto own = static_cast<lane::Bits<T>>(bits >> 8);
        std::memcpy(&result[k], &own, sizeof own);
        break;
      }
      case 1: result[k] = (unit - T(0.5)) * T(1500); break;
      case 2: result[k] = (unit - T(0.5)) * T(200); break;
      case 3: result[k] = (unit - T(0.5)) * T(40); break;
      case 4: result[k] = (unit - T(0.5)) * T(4); break;
      case 5: result[k] = T(0.5) + unit; break;
      case 6: result[k] = std::ldexp(unit - T(0.5), -static_cast<int>(bits & 31)); break;
      default: result[k] = std::round((unit - T(0.5)) * T(20)); break;
    }
  }
  return result;
}

TEST(Math, FloatErrorsAreBounded) {
  const std::uint64_t stride = scale() == "long" ? 1 : scale() == "small" ? 65537 : 4099;
  std::mt19937_64 random(7);
  for (const Row<float>& row : float_rows()) {
    Worst<float> worst;
    if (row.arity == 2) {
      for (std::uint64_t done = 0; done < (std::uint64_t{1} << 31) / stride; done += kBlock)
        worst.see(row, random_numbers<float>(random), random_numbers<float>(random));
    } else {
      std::vector<float> xs(kBlock);
      for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32);) {
        for (float& x : xs) {
          const auto own = static_cast<std::uint32_t>(bits);  // the last block wraps around
          std::memcpy(&x, &own, sizeof own);
          bits += stride;
        }
        worst.see(row, xs, xs);
      }
    }
    expect_within(row, worst);
  }
}

TEST(Math, DoubleErrorsAreBounded) {
  const int blocks = scale() == "long" ? 20000 : scale() == "small" ? 4 : 50;
  std::mt19937_64 random(7);
  for (const Row<double>& row : double_rows()) {
    Worst<double> worst;
    for (int k = 0; k < blocks; ++k) worst.see(row, random_numbers<double>(random), random_numbers<double>(random));
    expect_within(row, worst);
  }
}

// gelu and its derivative have the errors of numbers near 1: what is lost on the left is lost on the right, too. `bound` is absolute.
Rows<float> gelu_rows() {
  using Wide = double;
  const auto below = [](Wide x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  Rows<float> rows;
  rows.add_fused("gelu", 2e-7, [](auto x) { return lane::gelu(x); }, [below](Wide x, Wide) { return gated_limit(x, below(x)); });
  rows.add_fused("gelu_slope", 2e-7, [](auto x) { return lane::gelu_slope(x); }, [below](Wide x, Wide) {
    const Wide density = std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
    return below(x) + (density == 0 ? 0 : x * density);
  });
  return rows;
}
TEST(Math, GeluIsNearTheIntegral) {
  std::mt19937_64 random(5);
  for (const Row<float>& row : gelu_rows()) {
    for (int block = 0; block < (scale() == "small" ? 4 : 100); ++block) {
      const std::vector<float> xs = random_numbers<float>(random);
      std::vector<float> out(kBlock);
      row.loops.back()(xs.data(), xs.data(), out.data(), kBlock);
      for (std::size_t k = 0; k < kBlock; ++k) {
        const double x = static_cast<double>(xs[k]), y = static_cast<double>(out[k]), exact = row.exact(x, x);
        if (exact == y || (std::isnan(exact) && std::isnan(y))) continue;
        // Near 0 the function is x / 2, and keeps the digits of x.
        const double size = std::max(row.name == "gelu" ? std::min(1.0, std::abs(x)) : 1.0, std::abs(exact));
        ASSERT_LE(std::abs(y - exact), row.bound * size + 0x1p-149)
            << row.name << " of " << x << " gave " << y;
      }
    }
  }
}

template <class T>
void expect_right_specials(const Rows<T>& rows) {
  const std::vector<T> special = special_numbers<T>();
  std::vector<T> xs, ys;
  for (const T x : special)
    for (const T y : special) xs.push_back(x), ys.push_back(y);
  for (const Row<T>& row : rows) {
    Worst<T> worst;
    if (row.arity == 2) worst.see(row, xs, ys);
    else worst.see(row, special, special);
    EXPECT_LE(worst.error, row.bound) << row.name << " of " << worst.x << ", " << worst.y << " gave " << worst.got;
  }
}
TEST(Math, SpecialNumbersGiveWhatTheyDoInC) {
  expect_right_specials(float_rows());
  expect_right_specials(double_rows());
}

// Results of lanes one by one, in vectors, and in the tails of loops that start and end anywhere.
template <class T>
void expect_same_bits(const Rows<T>& rows) {
  std::mt19937_64 random(11);
  const std::vector<T> special = special_numbers<T>();
  for (const Row<T>& row : rows) {
    std::vector<T> xs = random_numbers<T>(random), ys = random_numbers<T>(random), one_by_one(kBlock);
    for (std::size_t k = 0; k < special.size(); ++k) xs[k * 5] = special[k], ys[k * 7] = special[k];
    for (std::size_t k = 0; k < kBlock; ++k) row.loops.front()(&xs[k], &ys[k], &one_by_one[k], 1);
    for (std::size_t which = 0; which < row.loops.size(); ++which) {
      for (std::size_t trial = 0; trial < 300; ++trial) {
        const std::size_t start = trial == 0 ? 0 : random() % 64;
        const std::size_t n = trial == 0 ? kBlock : trial < 70 ? trial : random() % (kBlock - start);
        std::vector<T> out(n + 1, T(77));
        row.loops[which](&xs[start], &ys[start], out.data(), n);
        ASSERT_EQ(out[n], T(77));
        for (std::size_t k = 0; k < n; ++k) {
          if (std::isnan(out[k]) && std::isnan(one_by_one[start + k])) continue;  // which NaN is not promised
          ASSERT_EQ(lane::bits_of(out[k]), lane::bits_of(one_by_one[start + k]))
              << row.name << " of " << xs[start + k] << ", " << ys[start + k] << " in loop " << which << ", " << k << " of " << n;
        }
      }
    }
  }
}
TEST(Math, VectorsAndTailsGiveTheBitsOfScalars) {
  expect_same_bits(float_rows());
  expect_same_bits(gelu_rows());
  expect_same_bits(double_rows());
}

// The plain form has the same bits wherever the lane is not extreme, and the usual ones are not.
template <class T>
void expect_plain_forms() {
  using Number = lane::Number<T>;
  std::mt19937_64 random(13);
  for (int block = 0; block < 20; ++block) {
    for (const Number x : block == 0 ? special_numbers<Number>() : random_numbers<Number>(random)) {
      const auto is = [](lane::Bits<T> extreme) { return extreme >> (8 * sizeof extreme - 1) != 0; };
      const bool exp = !is(lane::is_extreme_for_exp(T(x))), log = !is(lane::is_extreme_for_log(T(x)));
      ASSERT_EQ(exp, std::abs(x) <= lane::Format<T>::exp_plain) << x;
      ASSERT_EQ(log, x > 0 && std::isnormal(x)) << x;
      ASSERT_TRUE(!exp || lane::bits_of(lane::exp_plain(T(x))) == lane::bits_of(lane::exp(T(x)))) << x;
      ASSERT_TRUE(!log || lane::bits_of(lane::log_plain(T(x))) == lane::bits_of(lane::log(T(x)))) << x;
    }
  }
}
TEST(Math, PlainFormsGiveTheSameBits) {
  expect_plain_forms<float>();
  expect_plain_forms<lane::Fused>();
  expect_plain_forms<double>();
}

}  // namespace
}  // namespace weft::kernels
