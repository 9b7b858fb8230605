// The checks themselves: rows with a planted fault must be found.
#include <gtest/gtest.h>

#include "ops/table.h"
#include "tests/abstract.h"
#include "tests/suite_gradcheck.h"
#include <weft/operators.h>
#include <weft/ops.h>
#include <weft/tape.h>

namespace weft::test {
namespace {

Op faulty(const char* name, GradFn grad) {
  Op op = *find_row(name);
  op.grad = grad;
  return op;
}

Arguments sample_of(const Op& op) { return *make_arguments(op, op.samples[0]); }
GradientReport first_order(const Op& op) { return check_first_order(op, sample_of(op), symmetric_inputs(op.samples[0]), 1); }
GradientReport second_order(const Op& op) { return check_second_order(op, sample_of(op), symmetric_inputs(op.samples[0]), 1); }

TEST(Faults, ARightRowHasNone) {
  const Op& op = *find_row("multiply");
  EXPECT_EQ(first_order(op).failure, "");
  EXPECT_EQ(second_order(op).failure, "");
  EXPECT_GT(first_order(op).comparisons, 0u);
}

TEST(Faults, OfTheFirstOrderAreFound) {
  EXPECT_NE(first_order(faulty("multiply", [](const Backward& b) -> Grads { return {b.dy() * b.x(1), b.dy()}; })).failure, "");
  EXPECT_NE(first_order(faulty("multiply", [](const Backward& b) -> Grads { return {b.dy() * b.x(1) * 1.01, b.dy() * b.x(0)}; })).failure, "");
  EXPECT_NE(first_order(faulty("multiply", [](const Backward& b) -> Grads { return {b.dy() * b.x(1)}; })).failure, "");
}

TEST(Faults, OfTheSecondOrderAreFound) {
  const Op op = faulty("multiply", [](const Backward& b) -> Grads { return {b.dy() * stop_gradient(b.x(1)), b.dy() * b.x(0)}; });
  EXPECT_EQ(first_order(op).failure, "");
  EXPECT_NE(second_order(op).failure, "");
}

TEST(Faults, GradientsOfTheWrongShapeAreFound) {
  Op op = *find_row("multiply");
  op.traits = kNoTraits;  // nobody sums down what was repeated
  EXPECT_NE(first_order(op).failure.find("the gradient of f64[3] is f64[2,3]"), std::string::npos);
}

// Calls made by the row and its gradient on Specs.
std::vector<std::string> calls_of(const Op& op, bool known) {
  const Arguments arguments = symbolic(sample_of(op), known);
  const Abstract interpreter;
  GradientTape tape;
  tape.watch(arguments.inputs[0]);
  const Tensors outputs = run(op, arguments);
  tape.gradient(outputs[0], arguments.inputs[0]);
  return interpreter.log();
}

TEST(Faults, ReadingSizesShows) {
  const Op right = *find_row("exp");
  EXPECT_EQ(calls_of(right, true), calls_of(right, false));
  const Op silent = faulty("exp", [](const Backward& b) -> Grads { return {b.dy() * b.y() * static_cast<double>(b.x().shape().dim(0))}; });
  EXPECT_NE(calls_of(silent, true), calls_of(silent, false));
  const Op loud = faulty("exp", [](const Backward& b) -> Grads { return {b.dy() * b.y() * static_cast<double>(b.x().size())}; });
  EXPECT_THROW(calls_of(loud, false), ShapeError);
  const Op value = faulty("exp", [](const Backward& b) -> Grads { return {static_cast<bool>(sum(b.x()) > 0) ? b.dy() : b.y()}; });
  EXPECT_THROW(calls_of(value, true), TraceError);
}

TEST(Faults, AnExpansionThatDisagreesWithInferShows) {
  Op op = *find_row("exp");
  op.tile = {};
  op.grad = nullptr;
  op.dense_pointwise = false;
  op.expand = [](const Expand& e) -> Tensors { return {sum(e[0])}; };
  const Arguments arguments = symbolic(sample_of(op), false);
  const Abstract interpreter;
  EXPECT_THROW(run(op, arguments), InternalError);
}

}  // namespace
}  // namespace weft::test
