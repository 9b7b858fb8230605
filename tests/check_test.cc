// Checks that a program asks for: eagerly, traced, and as a guard behind every op.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/support.h"
#include <weft/weft.h>

namespace weft::test {
namespace {

TEST(Check, ThrowsItsMessageInEveryMode) {
  EXPECT_TRUE(check(Tensor(true), "never").item<bool>());
  EXPECT_TEXT(CheckError, check(Tensor(false), "x must be positive"), "check: x must be positive.");
  EXPECT_TEXT(CheckError, check(Tensor({true, false, false}), "rows"), "check: rows (2 of 3 elements).");
  EXPECT_TEXT(CheckError, check(Tensor(false), ""), "check: the check does not hold.");
  Function f = [](Tensor x) { return check(x > 0.f, "x must be positive"), x * 2.f; };
  EXPECT_EQ(number(f(1.f)), 2);
  EXPECT_TEXT(CheckError, f(-1.f), "check: x must be positive.");
  EXPECT_EQ(number(f(2.f)), 4);
}

TEST(Check, AFailureAfterWritesChangesNothing) {
  Variable a{1.f}, b{1.f};
  Function f = [&](Tensor x) {
    a.assign_add(x);
    b.assign(a * 2.f);
    check(b < 10.f, "b");
    b.assign_add(1.f);
  };
  f(1.f);
  EXPECT_THROW(f(9.f), CheckError);
  EXPECT_EQ(number(a), 2);
  EXPECT_EQ(number(b), 5);
}

TEST(Check, NamesTheLineOfTheProgram) {
  Function f = [](Tensor x) {
    return cond(x > 0.f, [&] { return check(x < 1.f, "small"), x; }, [&] { return x; });  // the line
  };
  f(0.5f);
  const int line = __LINE__ - 3;
  try {
    f(2.f);
    FAIL();
  } catch (const CheckError& error) {
    EXPECT_EQ(error.location().line, line);
  }
}

TEST(CheckNumerics, FindsNanAndInfinity) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(floats(check_numerics(Tensor({1.f, 2.f}), "x")), (std::vector<float>{1, 2}));
  EXPECT_TEXT(NumericError, check_numerics(Tensor({1.f, kNan, -kInf}), "loss"),
              "check_numerics: loss f32[3] has 1 NaN and 1 infinite elements, the first at position 1; look at what went into it.");
  EXPECT_TEXT(NumericError, check_numerics(cast(Tensor({kInf}), f16), ""),
              "check_numerics: x f16[1] has 0 NaN and 1 infinite elements, the first at position 0; look at what went into it.");
  Variable v{1.f};
  GradientTape tape;
  const Tensor y = check_numerics(v * 3.f, "y");
  EXPECT_EQ(number(tape.gradient(y, v)), 3);
}

TEST(CheckNumerics, GuardsEveryOpOfAFunction) {
  Variable total{0.f};
  const auto body = [&](Tensor x) {
    total.assign_add(1.f);
    return fold([](Tensor a, Tensor row) { return a + sqrt(row); }, 0.f, x) + sum(x * 2.f);  // the line
  };
  const int line = __LINE__ - 2;
  Function plain = body;
  Function guarded{body, {.check_numerics = true}};
  EXPECT_EQ(number(guarded(Tensor({1.f, 4.f}))), number(plain(Tensor({1.f, 4.f}))));
  EXPECT_TRUE(std::isnan(number(plain(Tensor({1.f, -4.f})))));
  EXPECT_EQ(number(total), 3);
  try {
    guarded(Tensor({1.f, -4.f}));
    FAIL();
  } catch (const NumericError& error) {
    EXPECT_EQ(error.message(), "check_numerics: the result of sqrt f32[] has 1 NaN and 0 infinite elements, the first at position 0; look at what went into it.");
    EXPECT_EQ(error.location().line, line);
  }
  EXPECT_EQ(number(total), 3) << "the call that failed has written nothing";
}

TEST(CheckNumerics, AGuardMindsWhatOpsMakeNotWhatLoopsCarry) {
  Function f{[](Tensor x) { return fold([](Tensor a, Tensor row) { return minimum(a, row); }, std::numeric_limits<float>::infinity(), x); },
             {.check_numerics = true}};
  EXPECT_EQ(number(f(Tensor({3.f, 2.f}))), 2);
}

}  // namespace
}  // namespace weft::test
