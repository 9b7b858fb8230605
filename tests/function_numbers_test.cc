// Numbers that the body of a Function writes, and those that others have written.
#include <gtest/gtest.h>

#include "tests/function_types.h"

namespace weft {
namespace {

using test::number;

// A number is one of the program that has written it; for others that meet it later it is a Tensor from outside.
TEST(FunctionCaptures, ANumberOfAnotherProgramIsACapture) {
  const std::string refused = "multiply: the tensor f32[] was made outside and would be frozen; pass it as an argument, or hold it in a Variable.";
  const auto expect_captured = [&](const Tensor& half) {
    Function f = [&](Tensor x) { return x * half; };
    Function strict{[&](Tensor x) { return x * half; }, {.strict = true}};
    EXPECT_EQ(number(f(2.f)), 1);
    EXPECT_FALSE(f.explain().traces[0].constants[0].literal);
    EXPECT_TEXT(TraceError, strict(2.f), refused);
  };
  Function gives = [](Tensor) { return Tensor(0.5f); };
  expect_captured(gives(1.f));
  std::optional<Variable> made;
  Tensor kept;
  Function makes = [&](Tensor x) {
    if (!made) made.emplace(0.5f);
    kept = 0.5f;
    return x * kept;
  };
  makes(1.f);
  expect_captured(made->value());
  expect_captured(kept);
  Function only_once{[](Tensor x) {
    static const Tensor half = 0.5f;
    return x * half;
  }, {.strict = true}};
  EXPECT_EQ(number(only_once(2.f)), 1);
  EXPECT_TEXT(TraceError, only_once(Tensor{2.f, 2.f}), refused);
  // A body may run twice for one trace: here for the Variable that it captures and is given.
  Variable w{1.f};
  Function twice{[&](Variable& p, Tensor x) {
    static const Tensor half = 0.5f;
    w.assign_add(x * half);
    return p.value();
  }, {.strict = true}};
  EXPECT_EQ(number(twice(w, 2.f)), 2);
}

TEST(FunctionCaptures, NumbersOfAProgramThatIsCalledAreNumbers) {
  Function gives = [](Tensor) { return Tensor(0.5f); }, folds = [](Tensor x) { return x * (Tensor(0.25f) + 0.25f); };
  gives(1.f), folds(1.f);
  Variable v{1.f};
  const auto expect_written = [&](const auto& body) {
    Function strict{body, {.strict = true}};
    EXPECT_EQ(number(strict(2.f)), 1);
    const FunctionReport report = strict.explain();
    for (const FunctionReport::Constant& each : report.traces[0].constants) EXPECT_TRUE(each.literal) << report;
  };
  expect_written([&](Tensor x) { return x * gives(x); });
  expect_written([&](Tensor x) { return folds(x); });
  expect_written([&](Tensor x) { return cond(x > 0.f, [&] { return x * gives(x); }, [&] { return folds(x); }); });
  expect_written([&](Tensor x) {
    const Tensor half = 0.5f;
    v.assign(half);
    return x * v;
  });
}

}  // namespace
}  // namespace weft
