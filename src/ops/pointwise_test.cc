// What the op table cannot derive about arithmetic: literals, wrapping, division, special values, operators.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "tests/support.h"
#include <weft/operators.h>
#include <weft/ops.h>
#include <weft/tape.h>

namespace weft {
namespace {

using test::message;

constexpr float kInf = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();

Tensor gradient_of(const auto& f, const Tensor& x) {
  GradientTape tape;
  tape.watch(x);
  return tape.gradient(f(x), x);
}

void expect_has(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << '"' << part << "\" is not in: " << text;
}

// NaN equals NaN here, and 0 does not equal -0.
void expect_same(const Tensor& x, const std::vector<double>& want) {
  const std::vector<double> have = cast(x, f64).to_vector<double>();
  ASSERT_EQ(have.size(), want.size());
  for (std::size_t k = 0; k < want.size(); ++k) {
    if (std::isnan(want[k])) EXPECT_TRUE(std::isnan(have[k])) << "element " << k << " is " << have[k];
    else EXPECT_TRUE(have[k] == want[k] && std::signbit(have[k]) == std::signbit(want[k])) << "element " << k << " is " << have[k] << ", not " << want[k];
  }
}

void expect_near(const Tensor& x, const std::vector<double>& want, double relative) {
  const std::vector<double> have = cast(x, f64).to_vector<double>();
  ASSERT_EQ(have.size(), want.size());
  for (std::size_t k = 0; k < want.size(); ++k) EXPECT_NEAR(have[k], want[k], relative * std::abs(want[k])) << "element " << k;
}

TEST(Literals, KeepTheirDigitsBesideWiderTensors) {
  const Tensor x(std::vector<double>{3});
  EXPECT_EQ((x * 0.1).item<double>(), 3 * 0.1);
  EXPECT_EQ((0.1 - x).item<double>(), 0.1 - 3);
  EXPECT_EQ(maximum(x, 3.1).item<double>(), 3.1);
  EXPECT_EQ((x * 0.1f).item<double>(), 3 * static_cast<double>(0.1f));
}

TEST(Literals, TakeTheTensorsDtype) {
  EXPECT_EQ((Tensor({1, 2}, i8) + 1).dtype(), i8);
  EXPECT_EQ((Tensor({1, 2}, u64) * 18446744073709551615ull).dtype(), u64);
  EXPECT_EQ((Tensor({1.f}, bf16) * 0.1).dtype(), bf16);
  EXPECT_EQ((2 * Tensor({1.f, 2.f})).dtype(), f32);
  EXPECT_EQ((Tensor({1, 2}, i16) + true).dtype(), i16);
}

TEST(Literals, OfAHigherKindAreRefused) {
  const Tensor x({1, 2, 3}, i32), flags({true, false});
  expect_has(message<DtypeError>([&] { x + 0.5; }), {"add: the number 0.5 for b is of a higher kind than a i32[3]", "cast"});
  expect_has(message<DtypeError>([&] { 0.5 * x; }), {"multiply: the number 0.5 for a is of a higher kind than b i32[3]", "cast"});
  expect_has(message<DtypeError>([&] { x / 2.5; }), {"divide: the number 2.5 for b is of a higher kind than a i32[3]", "cast"});
  expect_has(message<DtypeError>([&] { flags & 1; }), {"the number 1 for b is of a higher kind than a bool[2]", "cast"});
}

TEST(Literals, MustFit) {
  const Tensor x({1, 2}, u8);
  expect_has(message<DtypeError>([&] { x + 300; }), {"add: the number 300 for b does not fit u8", "cast a"});
  expect_has(message<DtypeError>([&] { x + -1; }), {"add: the number -1 for b does not fit u8"});
  EXPECT_EQ((x + 255).to_vector<int>(), (std::vector<int>{0, 1}));
}

TEST(Literals, NamedTensorsDoNotAdapt) {
  const Tensor x(std::vector<double>{1, 2});
  const Tensor tenth = 0.1f, one = 1;
  expect_has(message<DtypeError>([&] { x * tenth; }), {"multiply: a is f64[2] and b is f32[]", "never mix", "cast"});
  expect_has(message<DtypeError>([&] { add(one, x); }), {"add: a is i32[] and b is f64[2]", "never mix", "cast"});
}

TEST(Integers, Wrap) {
  const Tensor least({std::numeric_limits<std::int32_t>::min()}, i32), most({std::numeric_limits<std::int32_t>::max()}, i32);
  EXPECT_EQ((most + 1).item<int>(), std::numeric_limits<int>::min());
  EXPECT_EQ((least - 1).item<int>(), std::numeric_limits<int>::max());
  EXPECT_EQ((most * 2).item<int>(), -2);
  EXPECT_EQ((-least).item<int>(), std::numeric_limits<int>::min());
  EXPECT_EQ(abs(least).item<int>(), std::numeric_limits<int>::min());
  EXPECT_EQ(square(Tensor({16}, i8)).item<int>(), 0);
  EXPECT_EQ(squared_difference(Tensor({100}, u8), Tensor({104}, u8)).item<int>(), 16);
  EXPECT_EQ((Tensor({200}, u8) * Tensor({2}, u8)).item<int>(), 144);
  EXPECT_EQ((Tensor({65535}, u16) * Tensor({65535}, u16)).item<int>(), 1);  // must not become int on the way
  EXPECT_EQ((Tensor({std::numeric_limits<std::int64_t>::min()}, i64) * -1).item<std::int64_t>(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(add_n({most, most, least}).item<int>(), std::numeric_limits<int>::max() - 1);
}

TEST(Integers, DivideWithEverySign) {
  const Tensor a({7, -7, 7, -7, 6, -6}, i32), b({2, 2, -2, -2, 3, 3}, i32);
  EXPECT_EQ(floordiv(a, b).to_vector<int>(), (std::vector<int>{3, -4, -4, 3, 2, -2}));
  EXPECT_EQ(floormod(a, b).to_vector<int>(), (std::vector<int>{1, 1, -1, -1, 0, 0}));
  EXPECT_EQ((a % b).to_vector<int>(), floormod(a, b).to_vector<int>());
  EXPECT_EQ(truncatediv(a, b).to_vector<int>(), (std::vector<int>{3, -3, -3, 3, 2, -2}));
  EXPECT_EQ(truncatemod(a, b).to_vector<int>(), (std::vector<int>{1, -1, 1, -1, 0, 0}));
}

TEST(Integers, LeastByMinusOneWraps) {
  for (const DType dtype : {i8, i16, i32, i64}) {
    const std::int64_t least = -(std::int64_t{1} << (size_of(dtype) * 8 - 2)) * 2;
    const Tensor a(least, dtype), b(-1, dtype);
    EXPECT_EQ(floordiv(a, b).item<std::int64_t>(), least);
    EXPECT_EQ(truncatediv(a, b).item<std::int64_t>(), least);
    EXPECT_EQ(floormod(a, b).item<std::int64_t>(), 0);
    EXPECT_EQ(truncatemod(a, b).item<std::int64_t>(), 0);
  }
}

TEST(Integers, DivisionByZeroIsAnError) {
  const Tensor a({{1, 2}, {3, 4}}, i32), b({{1, 2}, {0, 1}}, i32);
  expect_has(message<ValueError>([&] { floordiv(a, b); }), {"floordiv: b is 0 at [1,0]; integers cannot be divided by zero"});
  expect_has(message<ValueError>([&] { a % 0; }), {"floormod: b is 0; integers cannot be divided by zero"});
  expect_has(message<ValueError>([&] { truncatediv(a, b); }), {"truncatediv: b is 0 at [1,0]"});
  expect_has(message<ValueError>([&] { truncatemod(cast(a, u8), cast(b, u8)); }), {"truncatemod: b is 0 at [1,0]"});
  EXPECT_EQ(floordiv(Tensor(std::vector<int>{}), 0).size(), 0);  // nothing is divided
  expect_same(divide(a, b), {1, 1, HUGE_VAL, 4});
}

TEST(Integers, OperatorDivisionNamesTheAlternatives) {
  const Tensor a({4, 6}, i32), b({2, 3}, i32), c({2.f, 3.f});
  for (const std::string& text : {message<DtypeError>([&] { a / b; }), message<DtypeError>([&] { a / 2; }), message<DtypeError>([&] { 2 / a; })})
    expect_has(text, {"operator/: a is i32", "floordiv", "truncatediv", "divide"});
  expect_has(message<DtypeError>([&] { a / c; }), {"divide: a is i32[2] and b is f32[2]", "cast"});
  expect_has(message<DtypeError>([&] { Tensor({true}) / Tensor({true}); }), {"divide: a is bool[1]", "cast"});
  EXPECT_EQ((c / 2).to_vector<float>(), (std::vector<float>{1, 1.5f}));
  EXPECT_EQ((6 / c).to_vector<float>(), (std::vector<float>{3, 2}));
}

TEST(Integers, Powers) {
  EXPECT_EQ(pow(Tensor({-5, 0, 2, 3}, i32), Tensor({3, 0, 31, 4}, i32)).to_vector<int>(), (std::vector<int>{-125, 1, std::numeric_limits<int>::min(), 81}));
  EXPECT_EQ(pow(Tensor({2}, u8), Tensor({8}, u8)).item<int>(), 0);
  expect_has(message<ValueError>([&] { pow(Tensor({2, 2}, i32), Tensor({1, -1}, i32)); }), {"pow: y is -1 at [1]; integers have powers of 0 and more only"});
}

TEST(Integers, ShiftsAreDefinedForEveryCount) {
  const Tensor x({1, -8, 5, 7}, i32), by({-3, 1, 31, 40}, i32);
  EXPECT_EQ(left_shift(x, by).to_vector<int>(), (std::vector<int>{1, -16, std::numeric_limits<int>::min(), std::numeric_limits<int>::min()}));
  EXPECT_EQ(right_shift(x, by).to_vector<int>(), (std::vector<int>{1, -4, 0, 0}));
  EXPECT_EQ(right_shift(Tensor({-1}, i64), Tensor({64}, i64)).item<std::int64_t>(), -1);
  EXPECT_EQ(right_shift(Tensor({128, 255}, u8), Tensor({7, 200}, u8)).to_vector<int>(), (std::vector<int>{1, 1}));
  EXPECT_EQ(left_shift(Tensor({255, 3, 2}, u8), Tensor({4, 8, 255}, u8)).to_vector<int>(), (std::vector<int>{240, 128, 0}));
}

TEST(SpecialValues, NaNGoesThrough) {
  const Tensor a({kNaN, 1.f, kNaN}), b({1.f, kNaN, kNaN});
  for (const Tensor& y : {maximum(a, b), minimum(a, b), a + b, floormod(a, b)}) expect_same(y, {kNaN, kNaN, kNaN});
  const Tensor x({kNaN});
  for (const Tensor& y : {relu(x), relu6(x), leaky_relu(x), elu(x), selu(x), gelu(x), gelu(x, {.approximate = true}), silu(x), softsign(x), softplus(x),
                          log_sigmoid(x), sigmoid(x), sign(x), abs(x), clip_by_value(x, -1, 1), erfinv(x), lgamma(x), digamma(x), polygamma(x, 2), round(x)})
    expect_same(y, {kNaN});
  expect_same(clip_by_value(0, x, 1), {kNaN});
  expect_same(clip_by_value(0, -1, x), {kNaN});
}

TEST(SpecialValues, FarOut) {
  const Tensor x({-kInf, -1e4f, 1e4f, kInf});
  expect_same(sigmoid(x), {0, 0, 1, 1});
  expect_same(softplus(x), {0, 0, 1e4, HUGE_VAL});
  expect_same(log_sigmoid(x), {-HUGE_VAL, -1e4, -0.0, -0.0});
  expect_same(silu(x), {0, 0, 1e4, HUGE_VAL});
  expect_same(gelu(x), {0, 0, 1e4, HUGE_VAL});
  expect_same(gelu(x, {.approximate = true}), {0, 0, 1e4, HUGE_VAL});
  expect_same(elu(x), {-1, -1, 1e4, HUGE_VAL});
  expect_same(relu(x), {0, 0, 1e4, HUGE_VAL});
  expect_same(relu6(x), {0, 0, 6, 6});
  expect_same(cast(softsign(x) * 2, i32), {-2, -1, 1, 2});
  expect_same(clip_by_value(x, -5, 5), {-5, -5, 5, 5});
  expect_near(sigmoid(Tensor({-100.f})), {3.783505853677006e-44}, 0.03);  // the spacing of denormals
}

TEST(SpecialValues, GradientsFarOut) {
  for (const DType dtype : {f32, f16}) {
    const Tensor x({-kInf, -1e4f, 1e4f, kInf}, dtype);
    using Function = Tensor (*)(Tensor);
    for (const Function f : std::initializer_list<Function>{[](Tensor v) { return sigmoid(v); }, [](Tensor v) { return tanh(v); }})
      expect_near(abs(gradient_of(f, x)), {0, 0, 0, 0}, 0);
    for (const Function f : std::initializer_list<Function>{[](Tensor v) { return softplus(v); }, [](Tensor v) { return silu(v); }, [](Tensor v) { return gelu(v); },
                                                            [](Tensor v) { return gelu(v, {.approximate = true}); }, [](Tensor v) { return relu(v); }})
      expect_near(gradient_of(f, x), {0, 0, 1, 1}, 0);
    expect_near(gradient_of([](Tensor v) { return log_sigmoid(v); }, x), {1, 1, 0, 0}, 0);
    expect_near(gradient_of([](Tensor v) { return softsign(v); }, x) + 1, {1, 1, 1, 1}, 1e-6);
  }
}

TEST(SpecialValues, RoundingGoesToEven) {
  expect_same(round(Tensor({-2.5f, -1.5f, -0.5f, 0.5f, 1.5f, 2.5f, 1e30f, kInf})), {-2, -2, -0.0, 0, 2, 2, static_cast<double>(1e30f), HUGE_VAL});
  expect_same(floor(Tensor({-0.5f, 0.5f, -kInf})), {-1, 0, -HUGE_VAL});
  expect_same(ceil(Tensor({-0.5f, 0.5f, kInf})), {-0.0, 1, HUGE_VAL});
}

TEST(SpecialValues, FloatingDivision) {
  const Tensor a({1.f, -1.f, 0.f, -7.f, -1.f}), b({0.f, 0.f, 0.f, 2.f, kInf});
  expect_same(a / b, {HUGE_VAL, -HUGE_VAL, kNaN, -3.5, -0.0});
  expect_same(floordiv(a, b), {HUGE_VAL, -HUGE_VAL, kNaN, -4, -0.0});
  expect_same(floormod(a, b), {kNaN, kNaN, kNaN, 1, HUGE_VAL});
  expect_same(truncatediv(a, b), {HUGE_VAL, -HUGE_VAL, kNaN, -3, -0.0});
  expect_same(truncatemod(a, b), {kNaN, kNaN, kNaN, -1, -1});
  expect_same(divide_no_nan(a, b), {0, 0, 0, -3.5, -0.0});
}

TEST(SpecialValues, ZeroBeatsInfinity) {
  const Tensor zero({0.f, 0.f}), wild({kInf, kNaN});
  expect_same(multiply_no_nan(wild, zero), {0, 0});
  expect_same(xlogy(zero, zero), {0, 0});
  expect_same(xlogy(zero, wild), {0, 0});
  expect_same(xlog1py(zero, wild), {0, 0});
  expect_same(xdivy(zero, zero), {0, 0});
  expect_same(gradient_of([&](const Tensor& x) { return xlogy(x, zero); }, zero), {0, 0});
  expect_same(gradient_of([&](const Tensor& y) { return xlogy(zero, y); }, zero), {0, 0});
  expect_same(gradient_of([&](const Tensor& y) { return xlog1py(zero, y); }, Tensor({-1.f, -1.f})), {0, 0});
  expect_near(gradient_of([&](const Tensor& y) { return divide_no_nan(Tensor({3.f, 3.f}), y); }, zero), {0, 0}, 0);
}

TEST(Gradients, TiesGoToTheFirst) {
  const Tensor a({1.f, 2.f, 3.f}), b({1.f, 3.f, 2.f});
  for (const auto& [f, da, db] : {std::tuple{&maximum, std::vector<double>{1, 0, 1}, std::vector<double>{0, 1, 0}},
                                  std::tuple{&minimum, std::vector<double>{1, 1, 0}, std::vector<double>{0, 0, 1}}}) {
    GradientTape tape;
    tape.watch(a);
    tape.watch(b);
    const std::vector<Grad> grads = tape.gradients({f(a, b, Location::here())}, {a, b});
    expect_same(grads[0].dense(), da);
    expect_same(grads[1].dense(), db);
  }
}

TEST(Gradients, AtKinks) {
  const Tensor x({0.f, -0.f, 6.f});
  expect_near(gradient_of([](const Tensor& v) { return abs(v); }, x), {0, 0, 1}, 0);
  expect_same(gradient_of([](const Tensor& v) { return relu(v); }, x), {0, 0, 1});
  expect_same(gradient_of([](const Tensor& v) { return relu6(v); }, x), {0, 0, 0});
  expect_same(gradient_of([](const Tensor& v) { return sign(v); }, x), {0, 0, 0});
}

TEST(Gradients, OfClipping) {
  const Tensor x({-2.f, -1.f, 0.f, 1.f, 2.f}), low = Tensor({-1.f}), high = Tensor({1.f});
  const auto gradients = [&](const Tensor& lo, const Tensor& hi) {
    GradientTape tape;
    for (const Tensor& t : {x, lo, hi}) tape.watch(t);
    return tape.gradients({clip_by_value(x, lo, hi)}, {x, lo, hi});
  };
  std::vector<Grad> grads = gradients(low, high);
  expect_same(grads[0].dense(), {0, 1, 1, 1, 0});  // the bounds themselves pass
  expect_same(grads[1].dense(), {1});
  expect_same(grads[2].dense(), {1});
  grads = gradients(high, low);  // crossed: the result is low everywhere, so low alone matters
  expect_same(clip_by_value(x, high, low), {1, 1, 1, 1, 1});
  expect_same(grads[0].dense(), {0, 0, 0, 0, 0});
  expect_same(grads[1].dense(), {5});
  expect_same(grads[2].dense(), {0});
}

TEST(Gradients, OfPowersAtAndBelowZero) {
  const Tensor x({0.f, 0.f, 0.f, -2.f}), y({0.f, 1.f, 2.f, 3.f});
  GradientTape tape;
  tape.watch(x);
  tape.watch(y);
  const std::vector<Grad> grads = tape.gradients({pow(x, y)}, {x, y});
  expect_same(grads[0].dense(), {0, 1, 0, 12});
  expect_near(grads[1].dense(), {0, 0, 0, 0}, 0);
}

TEST(SpecialFunctions, AreAccurateInDouble) {
  // Reference values to 20 digits, from arbitrary-precision arithmetic.
  const double e = 4e-15;
  expect_near(lgamma(Tensor({0.5, -0.5, -2.6, 100.0}, f64)), {0.57236494292470008707, 1.2655121234846453965, -0.11801163280539747556, 359.13420536957539878}, e);
  expect_near(digamma(Tensor({0.5, 1.0, -0.4, -2.6, 1e-3}, f64)),
              {-1.9635100260214234794, -0.57721566490153286061, 0.95938078610680936572, 0.11489750669693419559, -1000.5755719318102797}, e);
  expect_near(polygamma(Tensor({0.5, 1.0, -0.4, 30.0}, f64), 1), {4.9348022005446793094, 1.6449340668482264365, 9.8862096709023572033, 0.033895060357739944214}, e);
  expect_near(polygamma(Tensor({0.5, 1.0, 30.0}, f64), 4), {-771.47424982666722519, -24.886266123440878232, -7.9149413401810240419e-6}, e);
  expect_near(erfinv(Tensor({0.5, -0.9, 1e-10, 0.9999999999}, f64)), {0.47693627620446987338, -1.1630871536766741628, 8.8622692545275804594e-11, 4.5728249585449249378}, e);
}

TEST(SpecialFunctions, AtTheirPoles) {
  const Tensor x({0.f, -0.f, -1.f, -2.f});
  expect_same(lgamma(x), {HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL});
  expect_same(digamma(x), {-HUGE_VAL, HUGE_VAL, kNaN, kNaN});
  expect_same(polygamma(x, 1), {HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL});
  expect_same(polygamma(x, 2), {-HUGE_VAL, HUGE_VAL, kNaN, kNaN});
  expect_same(erfinv(Tensor({-1.f, 1.f, 1.5f, -0.f})), {-HUGE_VAL, HUGE_VAL, kNaN, -0.0});
  expect_same(polygamma(Tensor({kInf, -kInf}), 1), {0, kNaN});
  expect_has(message<ValueError>([&] { polygamma(x, -1); }), {"polygamma: order is -1; it must be from 0"});
}

TEST(SpecialFunctions, LgammaIsThreadSafe) {
  const Tensor negative(std::vector<double>(1000, -0.5)), positive(std::vector<double>(1000, 0.5));
  const std::vector<double> want[2] = {lgamma(negative).to_vector<double>(), lgamma(positive).to_vector<double>()};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) EXPECT_EQ(lgamma(t % 2 ? positive : negative).to_vector<double>(), want[t % 2]);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Operators, OnBoolsAreLogic) {
  const Tensor a({true, true, false}), b({true, false, false});
  expect_same(a & b, {1, 0, 0});
  expect_same(a | b, {1, 1, 0});
  expect_same(a ^ b, {0, 1, 0});
  expect_same(~a, {0, 0, 1});
  expect_same(!a, {0, 0, 1});
  expect_same(a & true, {1, 1, 0});
}

TEST(Operators, OnIntegersAreBits) {
  const Tensor a({12, 10}, i32), b({10, 3}, i32);
  EXPECT_EQ((a & b).to_vector<int>(), (std::vector<int>{8, 2}));
  EXPECT_EQ((a | b).to_vector<int>(), (std::vector<int>{14, 11}));
  EXPECT_EQ((a ^ b).to_vector<int>(), (std::vector<int>{6, 9}));
  EXPECT_EQ((~a).to_vector<int>(), (std::vector<int>{-13, -11}));
  EXPECT_EQ((~Tensor({0}, u16)).item<int>(), 65535);
  expect_has(message<DtypeError>([&] { !a; }), {"logical_not: x is i32[2]; it must be bool"});
  expect_has(message<DtypeError>([&] { Tensor({1.f}) & Tensor({1.f}); }), {"bitwise_and: a is f32[1]"});
  expect_has(message<DtypeError>([&] { ~Tensor({1.f}); }), {"invert: x is f32[1]"});
}

TEST(Operators, CompareElementwise) {
  const Tensor a({1, 2, 3}, i32);
  EXPECT_EQ((a == 2).to_vector<bool>(), (std::vector<bool>{false, true, false}));
  EXPECT_EQ((a != 2).to_vector<bool>(), (std::vector<bool>{true, false, true}));
  EXPECT_EQ((2 < a).to_vector<bool>(), (std::vector<bool>{false, false, true}));
  EXPECT_EQ((a <= 2).to_vector<bool>(), (std::vector<bool>{true, true, false}));
  EXPECT_EQ((a > 1).to_vector<bool>(), (std::vector<bool>{false, true, true}));
  EXPECT_EQ((a >= 3).to_vector<bool>(), (std::vector<bool>{false, false, true}));
  EXPECT_FALSE((Tensor({kNaN}) == Tensor({kNaN})).item<bool>());
}

TEST(Operators, AssigningOnesRebind) {
  Tensor x({1.f, 2.f});
  const Tensor before = x;
  x += 1;
  x *= Tensor({2.f, 3.f});
  x -= 1;
  x /= 2;
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1.5f, 4}));
  EXPECT_EQ(before.to_vector<float>(), (std::vector<float>{1, 2}));
  x += x;
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{3, 8}));
  Tensor n({13, 6}, i32);
  n %= 4;
  (n |= 8) ^= 1;
  n &= 9;
  EXPECT_EQ(n.to_vector<int>(), (std::vector<int>{8, 9}));
}

TEST(Operators, ReportTheCallersLine) {
  const Tensor x({true});
  const auto line_of = [](auto f) {
    try {
      return f(), 0;
    } catch (const Error& error) {
      return error.location().line;
    }
  };
  EXPECT_EQ(line_of([&] { -x; }), __LINE__);
  EXPECT_EQ(line_of([&] { ~Tensor({1.f}); }), __LINE__);
  EXPECT_EQ(line_of([&] { x + Tensor({1}); }), __LINE__);
  EXPECT_EQ(line_of([&] { Tensor({1}) / Tensor({1}); }), __LINE__);
}

TEST(Operators, EmptyHandlesReachTheOpsOwnCheck) {
  const Tensor none, x({1.f});
  expect_has(message<ValueError>([&] { none / x; }), {"divide: a is an empty Tensor handle"});
  expect_has(message<ValueError>([&] { x / none; }), {"divide: b is an empty Tensor handle"});
  expect_has(message<ValueError>([&] { 1 / none; }), {"divide: b is an empty Tensor handle"});
  expect_has(message<ValueError>([&] { none & none; }), {"bitwise_and: a is an empty Tensor handle"});
  expect_has(message<ValueError>([&] { ~none; }), {"invert: x is an empty Tensor handle"});
  expect_has(message<ValueError>([&] { -none; }), {"negative: x is an empty Tensor handle"});
  expect_has(message<ValueError>([&] { none + 1; }), {"add: a is an empty Tensor handle"});
}

TEST(Polyval, ConstantHasTheShapeOfX) {
  const Tensor x({1.f, 2.f, 3.f});
  expect_same(polyval({Tensor({5.f})}, x), {5, 5, 5});
  expect_same(polyval({Tensor(2.f), Tensor(0.f), Tensor(-1.f)}, x), {1, 7, 17});
  expect_has(message<ValueError>([&] { polyval({}, x); }), {"polyval: coeffs is an empty list"});
}

}  // namespace
}  // namespace weft
