#include <weft/print.h>

#include <gtest/gtest.h>

#include <iostream>
#include <limits>

namespace weft {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

TEST(Format, SignsNumbersAsStdFormatDoes) {
  EXPECT_EQ(format("{:+} {:+} {:+}", 1.5, -1.5, 2), "+1.5 -1.5 +2");
  EXPECT_EQ(format("{: }|{: }", 1.5, 2), " 1.5| 2");
  EXPECT_EQ(format("{:+.1f} {:+e}", 1.5, 1.0), "+1.5 +1.000000e+00");
  EXPECT_EQ(format("{:x} {:x} {:+x}", 255, -1, 255), "ff -1 +ff");
  EXPECT_EQ(format("{:x}", std::numeric_limits<std::int64_t>::min()), "-8000000000000000");
  EXPECT_EQ(format("{:x} {:+}", std::numeric_limits<std::uint64_t>::max(), std::numeric_limits<std::uint64_t>::max()), "ffffffffffffffff +18446744073709551615");
}

TEST(Format, PadsNumbersWithZerosButNothingElse) {
  EXPECT_EQ(format("{:05} {:05} {:08.3f}", 3, -3, -3.14159), "00003 -0003 -003.142");
  EXPECT_EQ(format("{:05}|{:06.1f}|{:+05}", kNan, -kInf, kInf), "  nan|  -inf| +inf");
}

TEST(Format, ShowsAFloatAsShortAsItIs) {
  EXPECT_EQ(format("{} {} {}", 0.1f, 0.1, 3e38f), "0.1 0.1 3e+38");
}

TEST(Format, AppliesToTheOneElementOfATensor) {
  EXPECT_EQ(format("{:.2f} {:.2f} {:.2f}", Tensor(3.14159), Tensor{3.14159}, Tensor{{2}}), "3.14 3.14 2.00");
  EXPECT_EQ(format("{} {}", Tensor(0.5), Tensor{0.5}), "0.5 [0.5] f32[1]");
}

// A format that cannot be followed is not dropped in silence.
TEST(Format, RefusesNumberFormatsForManyElements) {
  const auto text = [](const Tensor& x) {
    try {
      return format("{:.2f}", x);
    } catch (const ValueError& error) {
      return error.message();
    }
  };
  EXPECT_EQ(text({1.f, 2.f}), "format: a tensor f32[2] cannot be shown as \".2f\"; only one element can, use {} for the whole.");
  EXPECT_EQ(text(Tensor()), "<empty>");
  EXPECT_EQ(format("{:>15}", Tensor({1.f, 2.f})), " [1. 2.] f32[2]");
}

TEST(Print, IsInOrderWithStreams) {
  testing::internal::CaptureStdout();
  for (int i = 0; i < 3; ++i) {
    print("print {}", i);
    std::cout << "cout " << i << "\n";
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "print 0\ncout 0\nprint 1\ncout 1\nprint 2\ncout 2\n");
}

}  // namespace
}  // namespace weft
