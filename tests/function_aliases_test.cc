// Functions whose Variables are each other's, and Functions in Functions: small programs that once meant something else when traced.
#include <gtest/gtest.h>

#include "tests/support.h"
#include <weft/weft.h>

namespace weft {
namespace {

using test::number;

// The inner body is given a Variable that it also holds, and one that stands in for an argument only while the outer body is traced.
TEST(FunctionAliases, AnInnerFunctionHoldsWhatItIsGiven) {
  Variable held{1.f}, other{2.f};
  Function inner = [&](Variable a, Variable b) { return held.assign_add(1.f).value() + a + b; };
  Function outer = [&](Variable a, Tensor x) { return inner(a, held) + sum(x); };
  EXPECT_EQ(number(outer(other, zeros({1}))), 6);
  EXPECT_EQ(number(outer(other, zeros({2}))), 8);
  EXPECT_EQ(number(outer(other, zeros({3}))), 10);
}

TEST(FunctionAliases, AnInnerFunctionWritesTheValueThatWasThere) {
  Variable v{1.f};
  Function inner = [&] { v.assign(v); };
  Function outer = [&] { inner(); };
  outer();
  EXPECT_EQ(v.version(), 1u);
  atomically([&] { inner(); });
  EXPECT_EQ(v.version(), 2u);
}

}  // namespace
}  // namespace weft
