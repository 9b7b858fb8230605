#include <weft/dtype.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/convert.h"

namespace weft {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(DType, KindsSizesAndNames) {
  EXPECT_EQ(kind_of(bool_), Kind::boolean);
  for (const DType t : {f32, f64, f16, bf16}) EXPECT_TRUE(is_floating(t));
  for (const DType t : {i8, i16, i32, i64, u8, u16, u32, u64}) EXPECT_TRUE(is_integer(t));
  EXPECT_EQ(name_of(bf16), "bf16");
  EXPECT_EQ(name_of(bool_), "bool");
  EXPECT_EQ(size_of(f16), 2u);
  EXPECT_EQ(dtype_of<long long>(), i64);
  EXPECT_EQ(dtype_of<unsigned char>(), u8);
}

// The value of a 16-bit float from its fields, by double arithmetic.
double value_of(std::uint16_t bits, int exponent_bits) {
  const int mantissa_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1), mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return mantissa == 0 ? sign * HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
}

template <class H>
struct Fields;
template <>
struct Fields<float16> {
  static constexpr int exponent = 5;
};
template <>
struct Fields<bfloat16> {
  static constexpr int exponent = 8;
};

template <class H>
class HalfTypes : public testing::Test {};
using Halves = testing::Types<float16, bfloat16>;
TYPED_TEST_SUITE(HalfTypes, Halves);

TYPED_TEST(HalfTypes, EveryPatternIsItsValueAndComesBack) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    TypeParam half;
    half.bits = static_cast<std::uint16_t>(bits);
    const double expected = value_of(half.bits, Fields<TypeParam>::exponent);
    const float wide = static_cast<float>(half);
    const TypeParam back(wide);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(wide)) << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(back))) << bits;
      ASSERT_EQ(back.bits & 0x8000u, bits & 0x8000u) << bits;
      continue;
    }
    ASSERT_EQ(static_cast<double>(wide), expected) << bits;
    ASSERT_EQ(std::signbit(wide), std::signbit(expected)) << bits;
    ASSERT_EQ(back.bits, bits);
  }
}

// Between two neighbours: the middle goes to the even one, and the floats beside the middle to the nearer one.
TYPED_TEST(HalfTypes, RoundsToNearestEven) {
  for (unsigned bits = 0; bits < 0x7fff; ++bits) {
    const double low = value_of(static_cast<std::uint16_t>(bits), Fields<TypeParam>::exponent);
    double high = value_of(static_cast<std::uint16_t>(bits + 1), Fields<TypeParam>::exponent);
    if (!std::isfinite(low)) break;
    if (std::isinf(high)) high = low + (low - value_of(static_cast<std::uint16_t>(bits - 1), Fields<TypeParam>::exponent));
    const float middle = static_cast<float>((low + high) / 2);
    if (static_cast<double>(middle) != (low + high) / 2) continue;  // below the smallest float
    const auto rounded = [](float v) { return unsigned{TypeParam(v).bits}; };
    ASSERT_EQ(rounded(middle), bits % 2 == 0 ? bits : bits + 1) << bits;
    ASSERT_EQ(rounded(std::nextafterf(middle, 0.f)), bits) << bits;
    ASSERT_EQ(rounded(std::nextafterf(middle, kInf)), bits + 1) << bits;
    ASSERT_EQ(rounded(-middle), (bits % 2 == 0 ? bits : bits + 1) | 0x8000u) << bits;
  }
}

TYPED_TEST(HalfTypes, KeepsTheSignOfZeroAndOverflowsToInfinity) {
  EXPECT_EQ(TypeParam(-0.f).bits, 0x8000u);
  EXPECT_EQ(TypeParam(std::numeric_limits<float>::denorm_min()).bits, TypeParam(0.f).bits);
  EXPECT_EQ(static_cast<float>(TypeParam(kInf)), kInf);
  EXPECT_EQ(static_cast<float>(TypeParam(-std::numeric_limits<float>::max())), -kInf);
  EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam(kNaN))));
}

// A double beside the middle of two neighbours goes to the nearer one, although the nearest float is the middle itself.
TYPED_TEST(HalfTypes, RoundsDoublesOnce) {
  for (unsigned bits = 0; bits < 0x7fff; ++bits) {
    const double low = value_of(static_cast<std::uint16_t>(bits), Fields<TypeParam>::exponent);
    double high = value_of(static_cast<std::uint16_t>(bits + 1), Fields<TypeParam>::exponent);
    if (!std::isfinite(low)) break;
    if (std::isinf(high)) high = low + (low - value_of(static_cast<std::uint16_t>(bits - 1), Fields<TypeParam>::exponent));
    const double middle = (low + high) / 2;
    const auto rounded = [](double v) { return unsigned{convert<TypeParam>(v).bits}; };
    ASSERT_EQ(rounded(middle), bits % 2 == 0 ? bits : bits + 1) << bits;
    ASSERT_EQ(rounded(std::nextafter(middle, 0.0)), bits) << bits;
    ASSERT_EQ(rounded(std::nextafter(middle, HUGE_VAL)), bits + 1) << bits;
    ASSERT_EQ(rounded(-std::nextafter(middle, HUGE_VAL)), (bits + 1) | 0x8000u) << bits;
  }
  EXPECT_EQ(static_cast<float>(convert<TypeParam>(1e300)), kInf);
  EXPECT_EQ(convert<TypeParam>(-1e-300).bits, 0x8000u);
  EXPECT_EQ(static_cast<float>(convert<TypeParam>(-HUGE_VAL)), -kInf);
  EXPECT_TRUE(std::isnan(static_cast<float>(convert<TypeParam>(std::numeric_limits<double>::quiet_NaN()))));
}

TEST(Convert, RoundsIntegersToHalvesOnce) {
  for (int shift = 0; shift < 55; ++shift) {  // 257 lies in the middle of 256 and 258, and goes to 256; one more is beyond it
    const std::int64_t middle = std::int64_t{257} << shift;
    const auto rounded = [](auto v) { return static_cast<double>(static_cast<float>(convert<bfloat16>(v))); };
    ASSERT_EQ(rounded(middle), std::ldexp(256.0, shift));
    if (shift == 0) continue;
    ASSERT_EQ(rounded(middle + 1), std::ldexp(258.0, shift)) << shift;
    ASSERT_EQ(rounded(-middle - 1), -std::ldexp(258.0, shift)) << shift;
    ASSERT_EQ(rounded(middle - 1), std::ldexp(256.0, shift)) << shift;
    ASSERT_EQ(rounded(static_cast<std::uint64_t>(middle) + 1), std::ldexp(258.0, shift)) << shift;
  }
  EXPECT_EQ(static_cast<float>(convert<bfloat16>(std::numeric_limits<std::int64_t>::min())), -0x1p63f);
  EXPECT_EQ(static_cast<float>(convert<bfloat16>(std::numeric_limits<std::uint64_t>::max())), 0x1p64f);
}

template <class T>
class IntegerTypes : public testing::Test {};
using Integers = testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(IntegerTypes, Integers);

template <class To, class From>
void expect_saturation() {
  using Limits = std::numeric_limits<To>;
  EXPECT_EQ(convert<To>(std::numeric_limits<From>::quiet_NaN()), To(0));
  EXPECT_EQ(convert<To>(std::numeric_limits<From>::infinity()), Limits::max());
  EXPECT_EQ(convert<To>(-std::numeric_limits<From>::infinity()), Limits::min());
  EXPECT_EQ(convert<To>(std::numeric_limits<From>::max()), Limits::max());
  EXPECT_EQ(convert<To>(std::numeric_limits<From>::lowest()), Limits::min());
  const From limit = std::ldexp(From(1), Limits::digits);
  EXPECT_EQ(convert<To>(limit), Limits::max());
  const From below = std::nextafter(limit, From(0));
  EXPECT_EQ(convert<To>(below), static_cast<To>(below));
  EXPECT_EQ(convert<To>(From(-0.9)), To(0));
  EXPECT_EQ(convert<To>(From(2.9)), To(2));
  if (std::is_signed_v<To>) {
    EXPECT_EQ(convert<To>(-limit), Limits::min());
    EXPECT_EQ(convert<To>(From(-2.9)), static_cast<To>(-2));
  } else {
    EXPECT_EQ(convert<To>(From(-1)), To(0));
  }
}

TYPED_TEST(IntegerTypes, SaturateFromFloats) {
  expect_saturation<TypeParam, float>();
  expect_saturation<TypeParam, double>();
  EXPECT_EQ(convert<TypeParam>(float16(kInf)), std::numeric_limits<TypeParam>::max());
  EXPECT_EQ(convert<TypeParam>(bfloat16(kNaN)), TypeParam(0));
}

TYPED_TEST(IntegerTypes, WrapFromIntegers) {
  EXPECT_EQ(convert<TypeParam>(std::int64_t{-1}), static_cast<TypeParam>(-1));
  EXPECT_EQ(convert<TypeParam>(std::uint64_t{0x123456789abcdef0u}), static_cast<TypeParam>(0x123456789abcdef0u));
  EXPECT_EQ(convert<TypeParam>(true), TypeParam(1));
}

TEST(Convert, BoolIsNotZero) {
  EXPECT_TRUE(convert<bool>(0.1f));
  EXPECT_TRUE(convert<bool>(kNaN));
  EXPECT_FALSE(convert<bool>(-0.0));
  EXPECT_FALSE(convert<bool>(float16(0.f)));
  EXPECT_EQ(convert<float>(true), 1.f);
}

TEST(DType, OutsideTheEnumerationHasAName) {
  EXPECT_EQ(name_of(static_cast<DType>(kNumDTypes)), "invalid");
  EXPECT_EQ(name_of(static_cast<DType>(255)), "invalid");
}

}  // namespace
}  // namespace weft
