// What the table cannot derive about reductions: accuracy, order, empty and infinite cases, ties, zeros and error texts.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tests/support.h"
#include <weft/operators.h>
#include <weft/ops.h>
#include <weft/tape.h>

namespace weft {
namespace {

using test::message;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <class F>
void expect_refused(F&& f, const std::string& sentence) {
  const std::string got = message<Error>(f);
  EXPECT_NE(got.find(sentence), std::string::npos) << got;
}

std::vector<float> gradient_of(const std::function<Tensor(Tensor)>& f, const Tensor& x) {
  GradientTape tape;
  tape.watch(x);
  return tape.gradient(f(x), x).to_vector<float>();
}

std::vector<double> random_values(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double& v : values) v = normal(generator);
  return values;
}

// --- accuracy and order ---

TEST(Reduce, TenMillionTenthsInF32) {
  const std::size_t n = 10'000'000;
  const Tensor x(std::vector<float>(n, 0.1f));
  const double exact = static_cast<double>(0.1f) * static_cast<double>(n);
  EXPECT_EQ(sum(x).item<float>(), static_cast<float>(exact));
  EXPECT_EQ(mean(x).item<float>(), 0.1f);
  EXPECT_EQ(sum(reshape(x, {-1, 5}), {.axis = 0}).to_vector<float>(), std::vector<float>(5, static_cast<float>(exact / 5)));
  EXPECT_EQ(variance(x).item<float>(), 0.f);
  const std::vector<float> running = cumsum(x).to_vector<float>();
  EXPECT_EQ(running.back(), static_cast<float>(exact));
}

TEST(Reduce, HalvesRoundOnce) {
  const Tensor x = cast(Tensor(std::vector<float>(100'000, 0.1f)), f16);
  const float tenth = cast(x[0], f32).item<float>();
  EXPECT_EQ(cast(sum(reshape(x, {10, 10'000}), {.axis = 1}), f32).to_vector<float>(), std::vector<float>(10, static_cast<float>(float16(tenth * 10'000))));
  EXPECT_EQ(cast(mean(x), f32).item<float>(), tenth);
  EXPECT_EQ(cast(sum(x), f32).item<float>(), static_cast<float>(float16(tenth * 100'000)));
}

TEST(Reduce, MeanOfManyHalvesHasAGradient) {  // the number of elements is beyond f16
  const Tensor x = cast(Tensor(std::vector<float>(100'000, 1.f)), f16);
  GradientTape tape;
  tape.watch(x);
  const Tensor dx = cast(tape.gradient(mean(x), x), f32);
  EXPECT_EQ(max(dx).item<float>(), static_cast<float>(float16(1e-5f)));
}

TEST(Reduce, SumsOfF64CarryTheirErrors) {
  std::vector<double> values = random_values(100'003, 1);
  for (std::size_t i = 0; i < values.size(); i += 2) values[i] *= 1e12;
  long double exact = 0, magnitude = 0;
  for (double v : values) exact += v, magnitude += std::abs(v);
  const double bound = static_cast<double>(magnitude) * 0x1p-52;
  EXPECT_NEAR(sum(Tensor(values)).item<double>(), static_cast<double>(exact), bound);
  const Tensor columns = sum(reshape(Tensor(values), {-1, 1}), {.axis = 0});
  EXPECT_NEAR(columns.item<double>(), static_cast<double>(exact), bound);
  EXPECT_EQ(sum(Tensor(std::vector<double>{1e16, 1, -1e16})).item<double>(), 1);
}

TEST(Reduce, CancellationInF32) {
  std::vector<float> values = {3e38f, 3e38f, -3e38f, -3e38f, 1.f};
  EXPECT_EQ(sum(Tensor(values)).item<float>(), 1.f);
}

TEST(Reduce, VarianceFarFromZero) {
  std::vector<double> values = random_values(10'000, 2), shifted;
  for (double v : values) shifted.push_back(v + 1e9);
  EXPECT_NEAR(variance(Tensor(shifted)).item<double>(), variance(Tensor(values)).item<double>(), 1e-6);
  std::vector<float> narrow;
  for (std::size_t i = 0; i < values.size(); ++i) narrow.push_back(1e6f + static_cast<float>(i % 2));
  EXPECT_EQ(variance(Tensor(narrow)).item<float>(), 0.25f);
  EXPECT_EQ(stddev(Tensor(narrow)).item<float>(), 0.5f);
  EXPECT_EQ(center(Tensor(narrow)).to_vector<float>()[1], 0.5f);
}

TEST(Reduce, NormsNeitherOverflowNorVanish) {
  EXPECT_EQ(euclidean_norm(Tensor(std::vector<double>{3e300, 4e300})).item<double>(), 5e300);
  EXPECT_NEAR(euclidean_norm(Tensor(std::vector<double>{3e-300, 4e-300})).item<double>() / 5e-300, 1, 1e-15);
  EXPECT_EQ(euclidean_norm(Tensor{3e30f, 4e30f}).item<float>(), 5e30f);
  EXPECT_EQ(euclidean_norm(Tensor(std::vector<double>{0, 0})).item<double>(), 0);
  EXPECT_EQ(euclidean_norm(Tensor(std::vector<double>{})).item<double>(), 0);
  const double smallest = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(euclidean_norm(Tensor(std::vector<double>{smallest})).item<double>(), smallest);
  EXPECT_TRUE(std::isinf(euclidean_norm(Tensor(std::vector<double>{1, HUGE_VAL})).item<double>()));
}

TEST(Reduce, IsRepeatableToTheBit) {
  const Tensor x = cast(Tensor(random_values(1 << 18, 3)), f32);
  const Tensor grid = reshape(x, {64, 64, 64});
  for (const Axes& axis : {Axes{}, Axes{0}, Axes{1}, Axes{2}, Axes{0, 2}, Axes{1, 2}}) {
    const std::vector<float> once = logsumexp(grid, {.axis = axis}).to_vector<float>();
    const std::vector<float> again = logsumexp(grid + 0.f, {.axis = axis, .keepdims = true}).to_vector<float>();
    ASSERT_EQ(once.size(), again.size());
    EXPECT_EQ(std::memcmp(once.data(), again.data(), once.size() * sizeof(float)), 0);
  }
  EXPECT_EQ(sum(x).item<float>(), sum(grid).item<float>());  // the order follows the elements, not the axes they are cut into
}

// Every set of axes of a shape with axes of size 1, against sums over the plain indices.
TEST(Reduce, AnySetOfAxes) {
  const std::vector<std::int64_t> sizes = {2, 3, 1, 5, 2};
  std::vector<std::int64_t> values(60);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i * i % 47) - 20;
  const Tensor x(values, Shape(sizes));
  for (unsigned set = 0; set < 32; ++set) {
    Ints axes;
    std::vector<std::int64_t> strides(5, 0);
    std::int64_t results = 1;
    for (int axis = 4; axis >= 0; --axis) {
      if (set >> axis & 1) {
        axes.push_back(axis);
      } else {
        strides[static_cast<std::size_t>(axis)] = results;
        results *= sizes[static_cast<std::size_t>(axis)];
      }
    }
    const auto count = static_cast<std::size_t>(results);
    std::vector<std::int64_t> total(count, 0), largest(count, std::numeric_limits<std::int64_t>::min());
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::size_t rest = i, at = 0;
      for (std::size_t axis = 5; axis-- > 0; rest /= static_cast<std::size_t>(sizes[axis]))
        at += rest % static_cast<std::size_t>(sizes[axis]) * static_cast<std::size_t>(strides[axis]);
      total[at] += values[i];
      largest[at] = std::max(largest[at], values[i]);
    }
    EXPECT_EQ(sum(x, {.axis = axes}).to_vector<std::int64_t>(), total) << set;
    EXPECT_EQ(max(x, {.axis = axes, .keepdims = true}).to_vector<std::int64_t>(), largest) << set;
    EXPECT_EQ(cast(sum(center(cast(x, f64), {.axis = axes}), {.axis = axes}) * 1e6, i64).to_vector<std::int64_t>(), std::vector<std::int64_t>(count, 0)) << set;
  }
}

TEST(Reduce, LongRunsAndManyColumns) {  // beyond the blocks and column groups of the kernels
  std::vector<std::int32_t> ramp(600 * 70);
  for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<std::int32_t>(i);
  const Tensor x(ramp, Shape{70, 600});
  EXPECT_EQ(sum(cast(x, i64)).item<std::int64_t>(), 881'979'000);
  EXPECT_EQ(max(x, {.axis = 0}).to_vector<std::int32_t>()[599], 41'999);
  EXPECT_EQ(argmin(x, {.axis = 0}).to_vector<std::int64_t>(), std::vector<std::int64_t>(600, 0));
  EXPECT_EQ(argmax(x, {.axis = 1}).to_vector<std::int64_t>(), std::vector<std::int64_t>(70, 599));
  EXPECT_EQ(cumsum(x, {.axis = 0}).to_vector<std::int32_t>().back(), 599 * 70 + 600 * (69 * 70 / 2));
}

TEST(Reduce, IntegersWrap) {
  EXPECT_EQ(sum(Tensor(std::vector<std::int8_t>{100, 100})).item<std::int8_t>(), -56);
  EXPECT_EQ(prod(Tensor(std::vector<std::int8_t>{16, 17})).item<std::int8_t>(), 16);
  EXPECT_EQ(cumsum(Tensor(std::vector<std::uint8_t>{200, 100})).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{200, 44}));
  EXPECT_EQ(mean(Tensor(std::vector<std::int8_t>{100, 100})).item<std::int8_t>(), 100);
  EXPECT_EQ(mean(Tensor(std::vector<std::int32_t>{-3, -4})).item<std::int32_t>(), -3);
}

// --- nothing, infinity, NaN ---

TEST(Reduce, OfNothing) {
  const Tensor x = zeros({0, 3});
  const auto is = [](const Tensor& y, float value) { EXPECT_EQ(y.to_vector<float>(), std::vector<float>(3, value)); };
  is(sum(x, {.axis = 0}), 0);
  is(prod(x, {.axis = 0}), 1);
  is(max(x, {.axis = 0}), -kInf);
  is(min(x, {.axis = 0}), kInf);
  is(logsumexp(x, {.axis = 0}), -kInf);
  is(euclidean_norm(x, {.axis = 0}), 0);
  for (const Tensor& y : {mean(x, {.axis = 0}), variance(x, {.axis = 0}), stddev(x, {.axis = 0})})
    for (float v : y.to_vector<float>()) EXPECT_TRUE(std::isnan(v));
  EXPECT_EQ(max(zeros({0}, {.dtype = i8})).item<std::int8_t>(), -128);
  EXPECT_EQ(min(zeros({0}, {.dtype = u16})).item<std::uint16_t>(), 65535);
  EXPECT_FALSE(any_true(zeros({0}, {.dtype = bool_})).item<bool>());
  EXPECT_TRUE(all_true(zeros({0}, {.dtype = bool_})).item<bool>());
  EXPECT_EQ(count_nonzero(x).item<std::int64_t>(), 0);
  EXPECT_EQ(sum(x, {.axis = 1}).shape(), Shape({0}));
  EXPECT_EQ(argmax(x, {.axis = 1}).shape(), Shape({0}));
  // Sizes beside an empty axis need not multiply to anything.
  EXPECT_EQ(sum(zeros({std::int64_t{1} << 30, 0, std::int64_t{1} << 30})).item<float>(), 0);
}

TEST(Reduce, NaNWins) {
  const Tensor x = {{1.f, kNaN, 3.f}, {kNaN, kNaN, -kInf}, {0.f, 1.f, 2.f}};
  const std::vector<float> largest = max(x, {.axis = 1}).to_vector<float>(), smallest = min(x, {.axis = 0}).to_vector<float>();
  EXPECT_TRUE(std::isnan(largest[0]) && std::isnan(largest[1]));
  EXPECT_EQ(largest[2], 2.f);
  EXPECT_TRUE(std::isnan(smallest[0]) && std::isnan(smallest[1]));
  EXPECT_EQ(smallest[2], -kInf);
  EXPECT_EQ(argmax(x, {.axis = 1}).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 0, 2}));
  EXPECT_EQ(argmin(x, {.axis = 1}).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 0, 0}));
  EXPECT_EQ(argmin(x, {.axis = 0}).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 0, 1}));
  std::vector<float> last(1000, 5.f);
  last.back() = kNaN;
  EXPECT_TRUE(std::isnan(max(Tensor(last)).item<float>()));
  EXPECT_TRUE(std::isnan(sum(Tensor(last)).item<float>()));
  EXPECT_EQ(count_nonzero(Tensor{kNaN, 0.f, -0.f}).item<std::int64_t>(), 1);
}

TEST(Reduce, InfinitySumsToInfinity) {
  for (DType dtype : {f32, f64}) {
    const Tensor x = cast(Tensor{1.f, kInf, 2.f}, dtype);
    EXPECT_EQ(cast(sum(x), f32).item<float>(), kInf);
    EXPECT_EQ(cast(cumsum(x), f32).to_vector<float>(), (std::vector<float>{1, kInf, kInf}));
    EXPECT_TRUE(std::isnan(cast(sum(concat({x, -x}, 0)), f32).item<float>()));
  }
}

TEST(Reduce, LogSumExpAtTheEdges) {
  EXPECT_EQ(logsumexp(Tensor{-kInf, -kInf}).item<float>(), -kInf);
  EXPECT_EQ(logsumexp(Tensor{kInf, 1.f}).item<float>(), kInf);
  EXPECT_EQ(logsumexp(Tensor{kInf, -kInf}).item<float>(), kInf);
  EXPECT_TRUE(std::isnan(logsumexp(Tensor{kNaN, kInf}).item<float>()));
  EXPECT_FLOAT_EQ(logsumexp(Tensor{1e4f, 1e4f}).item<float>(), 1e4f + std::log(2.f));
  EXPECT_FLOAT_EQ(logsumexp(Tensor{-1e4f, -kInf}).item<float>(), -1e4f);
  const std::vector<float> running = cumulative_logsumexp(Tensor{-kInf, 1.f, -kInf, kInf, kInf, 2.f}).to_vector<float>();
  EXPECT_EQ(running, (std::vector<float>{-kInf, 1.f, 1.f, kInf, kInf, kInf}));
  EXPECT_TRUE(std::isnan(cumulative_logsumexp(Tensor{0.f, kNaN, 1.f}).to_vector<float>()[2]));
}

// --- gradients ---

TEST(Reduce, TiesShareTheGradient) {
  const auto largest = [](const Tensor& x) { return max(x); };
  EXPECT_EQ(gradient_of(largest, Tensor{2.f, 2.f, 1.f, 2.f, 2.f}), (std::vector<float>{0.25f, 0.25f, 0, 0.25f, 0.25f}));
  for (float v : gradient_of(largest, Tensor{1.f, kNaN})) EXPECT_TRUE(std::isnan(v));
}

TEST(Reduce, ProductsWithZeros) {
  const auto product = [](const Tensor& x) { return prod(x); };
  EXPECT_EQ(gradient_of(product, Tensor{2.f, 3.f, 4.f}), (std::vector<float>{12, 8, 6}));
  EXPECT_EQ(gradient_of(product, Tensor{2.f, 0.f, 4.f}), (std::vector<float>{0, 8, 0}));
  EXPECT_EQ(gradient_of(product, Tensor{0.f, 0.f, 4.f}), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(gradient_of(product, Tensor{{2.f, 0.f}, {4.f, 1.f}}), (std::vector<float>{0, 8, 0, 0}));
  const auto running = [](const Tensor& x) { return cumprod(x); };
  EXPECT_EQ(gradient_of(running, Tensor{2.f, 0.f, 3.f}), (std::vector<float>{1, 8, 0}));
  const auto before = [](const Tensor& x) { return cumprod(x, {.exclusive = true}); };
  EXPECT_EQ(gradient_of(before, Tensor{0.f, 5.f, 3.f}), (std::vector<float>{6, 0, 0}));
}

TEST(Reduce, SecondDerivativesOfProductsWithZeros) {
  const Tensor x = {0.f, 0.f, 4.f};
  GradientTape outer;
  outer.watch(x);
  Tensor first;
  {
    GradientTape inner;
    inner.watch(x);
    first = inner.gradient(prod(x), x);
  }
  // The Hessian is 4 between the two zeros, 0 elsewhere.
  const Tensor rows = outer.gradient(first, x, {.output_gradients = {Tensor{1.f, 0.f, 0.f}}});
  EXPECT_EQ(rows.to_vector<float>(), (std::vector<float>{0, 4, 0}));
}

TEST(Reduce, NoSpreadHasNoSlope) {  // as TensorFlow: 0 / 0
  for (float v : gradient_of([](const Tensor& x) { return stddev(x); }, Tensor{2.f, 2.f})) EXPECT_TRUE(std::isnan(v));
  for (float v : gradient_of([](const Tensor& x) { return variance(x); }, Tensor{2.f, 2.f})) EXPECT_EQ(v, 0.f);
}

TEST(Reduce, RunningLogSumExpGradientsStayFinite) {
  // y[k] = log(exp(x[0]) + ... + exp(x[k])); each dy spreads as a softmax over its past.
  const auto plain = [](const Tensor& x) { return cumulative_logsumexp(x); };
  const std::vector<float> huge = gradient_of(plain, Tensor{1000.f, 1000.f, -1000.f});
  // A result near 1000 is known to half of 2^-14, and so is the logarithm of each weight.
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(huge[i], (std::vector<float>{2, 1, 0})[i], 0x1p-14f);
  const auto before = [](const Tensor& x) { return cumulative_logsumexp(x, {.exclusive = true}); };
  const std::vector<float> past = gradient_of(before, Tensor{1000.f, 1000.f, -1000.f});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(past[i], (std::vector<float>{1.5f, 0.5f, 0})[i], 0x1p-14f);
  const auto after = [](const Tensor& x) { return cumulative_logsumexp(x, {.exclusive = true, .reverse = true}); };
  EXPECT_EQ(gradient_of(after, Tensor{-7.f, 3.f, 3.f}), (std::vector<float>{0, 0.5f, 1.5f}));
}

// --- sizes and refusals ---

TEST(Reduce, SizesAsNumbers) {
  const Tensor x = zeros({2, 3, 4});
  EXPECT_EQ(size(x, {.axis = {0, -1}, .dtype = f16}).dtype(), f16);
  EXPECT_EQ(cast(size(x, {.axis = {0, -1}, .dtype = f16}), i32).item<int>(), 8);
  EXPECT_EQ(size(x, {.axis = Ints{}}).item<int>(), 1);
  EXPECT_EQ(shape_of(x, {.dtype = u8}).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{2, 3, 4}));
  EXPECT_EQ(rank_of(1.f).item<int>(), 0);
  EXPECT_THROW(size(zeros({128}), {.dtype = i8}), ValueError);
  EXPECT_EQ(size(zeros({127}), {.dtype = i8}).item<std::int8_t>(), 127);
  EXPECT_THROW(size(zeros({70'000}), {.dtype = f16}), ValueError);
  EXPECT_THROW(size(x, {.dtype = bool_}), DtypeError);
  EXPECT_THROW(shape_of(zeros({0, std::int64_t{1} << 40})), ValueError);
}

TEST(Reduce, Refusals) {
  const Tensor x = zeros({2, 0}), n = zeros({2, 0}, {.dtype = i32});
  EXPECT_THROW(sum(x, {.axis = 2}), IndexError);
  EXPECT_THROW(sum(x, {.axis = {0, -2}}), ValueError);
  EXPECT_THROW(sum(zeros({2}, {.dtype = bool_})), DtypeError);
  EXPECT_THROW(variance(n), DtypeError);
  EXPECT_THROW(any_true(x), DtypeError);
  EXPECT_THROW(cumsum(1.f), IndexError);
  EXPECT_THROW(argmax(zeros({2}), {.dtype = f32}), DtypeError);
  expect_refused([&] { argmax(x, {.axis = 1}); }, "argmax: axis 1 of x f32[2,0] is empty and has no extreme; give at least one element.");
  expect_refused([&] { mean(n, {.axis = 1}); }, "mean: axis 1 of x i32[2,0] is empty, and integers have no value for the mean of nothing; cast x to a float.");
  expect_refused([&] { size(zeros({300}), {.dtype = u8}); }, "size: the size of x f32[300] is 300, which does not fit u8; ask for another dtype.");
  expect_refused([&] { linear_recurrence(zeros({2}), zeros({3})); }, "linear_recurrence: b f32[3] must have the shape of a f32[2].");
}

}  // namespace
}  // namespace weft
