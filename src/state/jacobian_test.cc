#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "core/apply.h"
#include "tests/support.h"
#include <weft/weft.h>

namespace weft {
namespace {

using test::floats;
using test::number;
using Floats = std::vector<float>;

// Counts the calls that reach it.
class Counting final : public Interpreter {
 public:
  Counting() { install(); }
  ~Counting() override { remove(); }
  void apply(Call call, Tensors& outputs) override {
    ++calls;
    delegate(call, outputs);
  }
  int calls = 0;
};

Tensor ramp(Shape shape, float step = 0.1f) {
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = step * static_cast<float>(i % 17) - 0.5f;
  return Tensor(values, shape);
}

// Row by row, with gradients.
Tensor looped(GradientTape& tape, const Tensor& target, const Tensor& source) {
  std::vector<Tensor> rows;
  for (std::int64_t k = 0; k < target.size(); ++k)
    rows.push_back(tape.gradient(target, source, {Unconnected::kZeros, {reshape(one_hot(Tensor(k, i64), target.size(), {.dtype = target.dtype()}), target.shape())}}));
  Ints sizes(target.shape().begin(), target.shape().end());
  for (const std::int64_t size : source.shape()) sizes.push_back(size);
  return reshape(stack(rows), Shape(sizes));
}

// Rows may be added up in another order than one by one: a few roundings, of each number or of 1.
void expect_near(const Tensor& got, const Tensor& want, double allowed = 1e-6) {
  ASSERT_EQ(got.spec(), want.spec());
  const Floats a = floats(got), b = floats(want);
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], allowed * std::max(1.f, std::abs(b[i]))) << "at " << i;
}

// SEMANTICS 74
TEST(Jacobian, HasTheAxesOfTheTargetThenOfTheSource) {
  const Tensor x = ramp({2, 3}), w = ramp({3, 4});
  GradientTape tape({.persistent = true});
  tape.watch({x, w});
  const Tensor y = tanh(matmul(x, w));
  const Tensor by_x = tape.jacobian(y, x), by_w = tape.jacobian(y, w);
  EXPECT_EQ(by_x.shape(), (Shape{2, 4, 2, 3}));
  EXPECT_EQ(by_w.shape(), (Shape{2, 4, 3, 4}));
  expect_near(by_x, looped(tape, y, x));
  expect_near(by_w, looped(tape, y, w));
  const std::vector<Tensor> both = tape.jacobian(y, {x, w});
  expect_near(both[0], by_x, 0);
  expect_near(both[1], by_w, 0);
}

TEST(Jacobian, OfScalarsIsAGradient) {
  const Tensor x = 3.f, v({1.f, 2.f});
  GradientTape tape({.persistent = true});
  tape.watch({x, v});
  EXPECT_EQ(number(tape.jacobian(x * x, x)), 6.f);
  EXPECT_EQ(floats(tape.jacobian(sum(v * v), v)), (Floats{2, 4}));
  EXPECT_EQ(floats(tape.jacobian(x * v, x)), (Floats{1, 2}));
  EXPECT_EQ(floats(tape.jacobian(v, v)), (Floats{1, 0, 0, 1}));
}

// SEMANTICS 75: one answer, in however many parts
TEST(Jacobian, IsOneAnswerOfTheTape) {
  const Tensor x({1.f, 2.f, 3.f});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  EXPECT_EQ(floats(tape.jacobian(y, x, {.chunk = 1})), (Floats{2, 0, 0, 0, 4, 0, 0, 0, 6}));
  EXPECT_FALSE(tape.recording());
  EXPECT_TEXT(StateError, tape.jacobian(y, x), "jacobian: this tape has already answered once; make it persistent to ask again.");
  EXPECT_TEXT(StateError, tape.gradient(y, x), "gradient: this tape has already answered once; make it persistent to ask again.");
}

TEST(Jacobian, ThatFailsLeavesTheTapeAsItWas) {
  const Tensor x({1.f, 2.f}), other = 3.f;
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  EXPECT_TEXT(GradientError, tape.jacobian(y, other),
              "jacobian: the target does not depend on source f32[], which this tape does not watch; call watch on it before computing.");
  EXPECT_TRUE(tape.recording());
  EXPECT_EQ(Interpreter::top() != nullptr, true);
  EXPECT_EQ(floats(tape.jacobian(y, x)), (Floats{2, 0, 0, 4}));
  EXPECT_EQ(Interpreter::top(), nullptr);
}

TEST(Jacobian, OfUnconnectedSources) {
  const Tensor x({1.f, 2.f}), other({1.f, 1.f, 1.f});
  GradientTape tape({.persistent = true});
  tape.watch({x, other});
  const Tensor y = x * x;
  EXPECT_THROW(tape.jacobian(y, other), GradientError);
  EXPECT_FALSE(tape.jacobian(y, other, {.unconnected = Unconnected::kNone}).defined());
  const Tensor zeros = tape.jacobian(y, other, {.unconnected = Unconnected::kZeros});
  EXPECT_EQ(zeros.shape(), (Shape{2, 3}));
  EXPECT_EQ(floats(zeros), Floats(6, 0.f));
  EXPECT_EQ(floats(tape.jacobian(stop_gradient(y) + 0 * x, x, {.unconnected = Unconnected::kZeros})), Floats(4, 0.f));
}

struct Net {
  Variable w{ramp({3, 2})}, b{Tensor({0.1f, 0.2f})}, unused{1.f};
};

TEST(Jacobian, OfVariablesAndTrees) {
  Net net;
  const Tensor x = ramp({4, 3});
  GradientTape tape({.persistent = true});
  const Tensor y = tanh(matmul(x, net.w) + net.b) * net.b;
  EXPECT_EQ(tape.jacobian(y, net.w).shape(), (Shape{4, 2, 3, 2}));
  const Gradients all = tape.jacobian(y, net);
  EXPECT_FALSE(all[net.unused].present());
  for (std::int64_t k = 0; k < y.size(); ++k) {
    const Tensor seed = reshape(one_hot(Tensor(k, i64), y.size()), y.shape());
    expect_near(reshape(all[net.b].dense(), {8, 2})[k], tape.gradient(y, net.b, {.output_gradients = {seed}}));
    expect_near(reshape(all.at("w").dense(), {8, 3, 2})[k], tape.gradient(y, net.w, {.output_gradients = {seed}}));
  }
}

TEST(Jacobian, OfLookupsIsDense) {
  const Tensor table = ramp({4, 2});
  GradientTape tape({.persistent = true});
  tape.watch(table);
  const Tensor y = gather(table, Tensor({1, 3, 1})) * gather(table, Tensor({0, 1, 2}));
  expect_near(tape.jacobian(y, table), looped(tape, y, table));
}

// SEMANTICS 76
TEST(BatchJacobian, KeepsTheBatch) {
  const Tensor x = ramp({5, 3}), w = ramp({3, 4});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = tanh(matmul(x, w));
  const Tensor got = tape.batch_jacobian(y, x), whole = tape.jacobian(y, x);
  ASSERT_EQ(got.shape(), (Shape{5, 4, 3}));
  for (int i = 0; i < 5; ++i) expect_near(got[i], whole(i, all, i));
  expect_near(tape.batch_jacobian(y, x, {.chunk = 3}), got);
  const Tensor images = ramp({2, 3, 3, 1});
  tape.watch(images);
  const Tensor deep = conv2d(images, ramp({2, 2, 1, 2}));
  EXPECT_EQ(tape.batch_jacobian(deep, images).shape(), (Shape{2, 2, 2, 2, 3, 3, 1}));
  expect_near(tape.batch_jacobian(deep, images)[1], tape.jacobian(deep, images)(1, all, all, all, 1));
}

// SEMANTICS 76
TEST(BatchJacobian, NeedsABatch) {
  const Tensor x = ramp({5, 3}), flat({1.f, 2.f, 3.f, 4.f, 5.f}), six = ramp({6, 3});
  GradientTape tape({.persistent = true});
  tape.watch({x, flat, six});
  const Tensor y = x * 2, vector = flat * 2;
  EXPECT_TEXT(ShapeError, tape.batch_jacobian(vector, flat),
              "batch_jacobian: target is f32[5]; it needs a batch axis and at least one more, or ask for a jacobian.");
  EXPECT_TEXT(ShapeError, tape.batch_jacobian(y, flat), "batch_jacobian: source f32[5] needs a batch axis and at least one more; ask for a jacobian.");
  EXPECT_TEXT(ShapeError, tape.batch_jacobian(y, six),
              "batch_jacobian: target is f32[5,3] and source f32[6,3]; their first axes are the batch and must agree.");
  const Variable any{x, {.name = "any", .shape = Shape{kUnknown, 3}}};  // what counts is the value
  EXPECT_THROW(tape.batch_jacobian(concat({any * 2, x}, 0), any), ShapeError);
  EXPECT_EQ(tape.batch_jacobian(any * 2, any).shape(), (Shape{5, 3, 3}));
}

// SEMANTICS 77
TEST(Jacobian, OfEmptyTensorsIsEmpty) {
  const Tensor none = zeros({0, 3}), x = ramp({2, 3});
  GradientTape tape({.persistent = true});
  tape.watch({none, x});
  const Tensor y = none * none, joined = concat({y, x}, 0);
  for (const std::int64_t chunk : {0, 1}) {
    EXPECT_EQ(tape.jacobian(y, none, {.chunk = chunk}).shape(), (Shape{0, 3, 0, 3}));
    EXPECT_EQ(tape.jacobian(joined, none, {.chunk = chunk}).shape(), (Shape{2, 3, 0, 3}));
    EXPECT_EQ(tape.batch_jacobian(y, none, {.chunk = chunk}).shape(), (Shape{0, 3, 3}));
    EXPECT_EQ(tape.jacobian(slice(x, {0, 0}, {0, 3}), x, {.chunk = chunk}).shape(), (Shape{0, 3, 2, 3}));
  }
  const Tensor narrow = zeros({2, 0});
  tape.watch(narrow);
  EXPECT_EQ(tape.batch_jacobian(narrow * 2, narrow).shape(), (Shape{2, 0, 0}));
  EXPECT_THROW(tape.jacobian(y, x), GradientError);
  EXPECT_EQ(tape.jacobian(y, x, {.unconnected = Unconnected::kZeros}).shape(), (Shape{0, 3, 2, 3}));
}

// SEMANTICS 78
TEST(Jacobian, CrossesConditionsAndLoops) {
  const auto branches = [](Tensor x) {
    return cond(sum(x) > 0, [&] { return x * x * x; }, [&] { return exp(x) * sum(x); });
  };
  const auto folds = [](Tensor x) {
    return fold([&](Tensor so_far, Tensor row) { return tanh(so_far * row + x[0]); }, ones({2}), x);
  };
  const auto whiles = [](Tensor x) {
    return while_loop([](Tensor y) { return sum(y) < 20.f; }, [&](Tensor y) { return y * (1.5f + x * x); }, x + 1);
  };
  const auto scans = [](Tensor x) { return scan([](Tensor so_far, Tensor row) { return so_far * row + 1; }, ones({2}), x); };
  const std::vector<std::function<Tensor(Tensor)>> programs{branches, folds, whiles, scans};
  for (std::size_t p = 0; p < programs.size(); ++p)
    for (const float shift : {0.2f, -0.6f}) {
      SCOPED_TRACE("program " + std::to_string(p));
      const Tensor x = ramp({3, 2}) + shift;
      Tensor want;
      {
        GradientTape tape({.persistent = true});
        tape.watch(x);
        const Tensor y = programs[p](x);
        want = looped(tape, y, x);
        expect_near(tape.jacobian(y, x), want, 2e-6);
      }
      Function inside = [&](Tensor z) {
        GradientTape tape;
        tape.watch(z);
        const Tensor y = programs[p](z);
        return tape.jacobian(y, z);
      };
      expect_near(inside(x), want, 2e-6);
      Function whole = programs[p];
      GradientTape around;
      around.watch(x);
      const Tensor y = whole(x);
      expect_near(around.jacobian(y, x), want, 2e-6);
    }
}

TEST(Jacobian, IsTracedWithUnknownSizes) {
  const Tensor w = ramp({3, 4});
  Function batch{[&](Tensor x) {
                   GradientTape tape;
                   tape.watch(x);
                   const Tensor y = softmax(matmul(x, w) + sum(x, {.axis = 1, .keepdims = true}));
                   return tape.batch_jacobian(y, x);
                 },
                 {.signature = {Spec{f32, {kUnknown, 3}}}}};
  for (const int rows : {2, 5}) {
    const Tensor x = ramp({rows, 3});
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Tensor y = softmax(matmul(x, w) + sum(x, {.axis = 1, .keepdims = true}));
    expect_near(batch(x), tape.batch_jacobian(y, x));
  }
  Function whole{[&](Tensor x) {
                   GradientTape tape;
                   tape.watch(x);
                   return tape.jacobian(x * x, x);
                 },
                 {.signature = {Spec{f32, {kUnknown}}}}};
  EXPECT_TEXT(ShapeError, whole(Tensor({1.f})),
              "jacobian: target is f32[?] while tracing; its Jacobian has a row for each element, so declare its sizes.");
}

TEST(Jacobian, IsDifferentiatedByTheTapeAround) {
  const Tensor x({0.3f, -0.2f, 0.5f}), w = ramp({3, 3});
  const auto energy = [&](const Tensor& z, bool vectorised) {
    GradientTape tape({.persistent = true});
    tape.watch(z);
    const Tensor y = tanh(matvec(w, z)) * z;
    return sum(square(vectorised ? tape.jacobian(y, z) : looped(tape, y, z)));
  };
  Tensor got, want;
  for (const bool vectorised : {true, false}) {
    GradientTape outer;
    outer.watch(x);
    const Tensor e = energy(x, vectorised);
    (vectorised ? got : want) = outer.gradient(e, x);
  }
  expect_near(got, want);
  GradientTape outer;  // a Hessian, as a Jacobian of a gradient
  outer.watch(x);
  Tensor dx;
  {
    GradientTape tape;
    tape.watch(x);
    dx = tape.gradient(sum(x * x * x), x);
  }
  expect_near(outer.jacobian(dx, x), diag(6 * x));
}

TEST(Jacobian, GoesThroughCustomGradients) {
  const Tensor x({1.f, 2.f, 3.f});
  const auto scaled = custom_gradient([](Tensor y) { return std::pair(y * 2, [y](Tensor dy) { return dy * y * 10; }); });
  GradientTape tape({.persistent = true});
  tape.watch(x);
  EXPECT_EQ(floats(tape.jacobian(scaled(x), x)), (Floats{10, 0, 0, 0, 20, 0, 0, 0, 30}));
  const auto again = recompute_grad([](Tensor y) { return tanh(y * sum(y)); });
  const Tensor y = again(x * 0.1f);
  expect_near(tape.jacobian(y, x), looped(tape, y, x));
}

// SEMANTICS 78: a condition, and the end of a loop, that differ from row to row
TEST(Jacobian, CrossesConditionsThatDifferFromRowToRow) {
  const auto branches = [](Tensor dy) {
    return cond(sum(dy * Tensor({1.f, -1.f, 1.f})) > 0, [&] { return dy * 10; }, [&] { return dy - 1; });
  };
  const auto loops = [](Tensor dy) {
    return while_loop([](Tensor y) { return sum(y) < 20.f; }, [](Tensor y) { return y * 2 + 1; }, dy * Tensor({1.f, 5.f, 30.f}));
  };
  const auto cases = [](Tensor dy) {
    return switch_case(argmax(dy, {.dtype = i32}), [&] { return dy; }, [&] { return dy * 2; }, [&] { return dy * 3 + 1; });
  };
  const std::vector<std::function<Tensor(Tensor)>> ways{branches, loops, cases};
  for (std::size_t p = 0; p < ways.size(); ++p) {
    SCOPED_TRACE("way " + std::to_string(p));
    const Function<Tensor(Tensor)> jacobian = [&](Tensor x) {
      const auto f = custom_gradient([&](Tensor y) { return std::pair(y * 2, [&](Tensor dy) { return ways[p](dy); }); });
      GradientTape tape;
      tape.watch(x);
      return tape.jacobian(f(x), x);
    };
    std::vector<Tensor> rows;
    for (int k = 0; k < 3; ++k) rows.push_back(ways[p](one_hot(Tensor(k), 3)));
    expect_near(jacobian(Tensor({1.f, 2.f, 3.f})), stack(rows));
  }
}

// PAIN 17
TEST(Jacobian, MakesAsManyCallsForManyRowsAsForFew) {
  const auto calls = [](std::int64_t outputs, std::int64_t chunk) {
    const Tensor x = ramp({8}), w = ramp({8, outputs});
    GradientTape tape;
    tape.watch(x);
    const Tensor y = softmax(tanh(matmul(expand_dims(x, 0), w)))[0];
    Counting counting;
    const Tensor j = tape.jacobian(y, x, {.chunk = chunk});
    EXPECT_EQ(j.shape(), (Shape{outputs, 8}));
    return counting.calls;
  };
  EXPECT_EQ(calls(4, 0), calls(64, 0));
  EXPECT_GT(calls(64, 16), calls(64, 0));
  EXPECT_LT(calls(64, 16), 5 * calls(64, 0));
  EXPECT_EQ(calls(64, 1000), calls(64, 0));
}

// PAIN 17
TEST(Jacobian, NeedsLessMemoryInChunks) {
  const auto bytes = [](std::int64_t chunk) {
    Function f = [chunk](Tensor x) {
      GradientTape tape;
      tape.watch(x);
      const Tensor wide = tanh(matmul(tanh(matmul(x, ramp({4, 256}))), ramp({256, 256})));
      return tape.batch_jacobian(matmul(wide, ramp({256, 64})), x, {.chunk = chunk});
    };
    f(ramp({4, 4}));
    return f.explain().traces.at(0).live_bytes;
  };
  EXPECT_LT(2 * bytes(4), bytes(0));
}

TEST(Jacobian, RefusesBadInput) {
  const Tensor x({1.f, 2.f});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x;
  EXPECT_TEXT(ValueError, tape.jacobian(y, x, {.chunk = -1}), "jacobian: chunk is -1; it must be 0, for all elements at once, or more.");
  EXPECT_TEXT(ValueError, tape.jacobian(Tensor(), x), "jacobian: target is an empty Tensor handle; assign a value to it first.");
  EXPECT_TEXT(ValueError, tape.jacobian(y, Tensor()), "jacobian: source is an empty Tensor handle; assign a value to it first.");
  EXPECT_TEXT(GradientError, tape.jacobian(cast(y, i32), x), "jacobian: target is i32[2]; only floating values have gradients, cast it.");
  EXPECT_TEXT(GradientError, tape.batch_jacobian(y, Tensor({1, 2})), "batch_jacobian: source is i32[2]; only floating values have gradients, cast it.");
  EXPECT_TEXT(ValueError, tape.jacobian(y, x, {.unconnected = static_cast<Unconnected>(9)}),
              "jacobian: unconnected is not one of Unconnected's values; name one of those.");
}

}  // namespace
}  // namespace weft
