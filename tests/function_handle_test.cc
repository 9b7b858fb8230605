// Functions as values: those that were moved from, and bodies that are nothing.
#include <gtest/gtest.h>

#include "tests/support.h"
#include <weft/weft.h>

namespace weft {
namespace {

using test::message;
using test::number;

TEST(FunctionHandle, OneThatWasMovedFromIsRefused) {
  Function f = [](Tensor x) { return x * 2.f; };
  Function g = std::move(f);
  const std::string sentence = "Function: this handle is empty: another one was made or assigned from it by a move; use that one.";
  EXPECT_EQ(message<StateError>([&] { f(1.f); }), sentence);
  EXPECT_EQ(message<StateError>([&] { f.explain(); }), sentence);
  EXPECT_EQ(message<StateError>([&] { f.graph(); }), sentence);
  EXPECT_EQ(message<StateError>([&] { f.profile(1); }), sentence);
  EXPECT_EQ(message<StateError>([&] { f.trace(Spec{f32, {}}); }), sentence);
  const Function copy = f;
  EXPECT_EQ(message<StateError>([&] { copy(1.f); }), sentence);
  EXPECT_EQ(number(g(2.f)), 4);
  f = g;
  EXPECT_EQ(number(f(2.f)), 4);
}

TEST(FunctionHandle, AConcreteFunctionThatWasMovedFromIsRefused) {
  Function f = [](Tensor x) { return x * 2.f; };
  ConcreteFunction a = f.trace(Spec{f32, {}});
  ConcreteFunction b = std::move(a);
  const std::string sentence = "ConcreteFunction: this handle is empty: another one was made or assigned from it by a move; use that one.";
  EXPECT_EQ(message<StateError>([&] { a(1.f); }), sentence);
  EXPECT_EQ(message<StateError>([&] { a.inputs(); }), sentence);
  EXPECT_EQ(message<StateError>([&] { a.outputs(); }), sentence);
  EXPECT_EQ(message<StateError>([&] { a.variables(); }), sentence);
  EXPECT_EQ(message<StateError>([&] { a.explain(); }), sentence);
  EXPECT_EQ(message<StateError>([&] { static_cast<void>(a.str()); }), sentence);
  EXPECT_EQ(message<StateError>([&] { a.call_flat({1.f}); }), sentence);
  EXPECT_EQ(number(b(2.f)), 4);
}

TEST(FunctionHandle, ABodyThatIsNothingIsRefusedAtOnce) {
  const std::string sentence = "Function: the body is an empty std::function or a null pointer; give something that can be called.";
  EXPECT_EQ(message<ValueError>([] { Function f = std::function<Tensor(Tensor)>(); }), sentence);
  EXPECT_EQ(message<ValueError>([] { Function f = static_cast<Tensor (*)(Tensor)>(nullptr); }), sentence);
  EXPECT_EQ(message<ValueError>([] { Function<Tensor(Tensor)> f = std::function<Tensor(Tensor)>(); }), sentence);
}

}  // namespace
}  // namespace weft
