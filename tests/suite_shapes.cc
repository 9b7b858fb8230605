// For every row: empty, scalar and one-element shapes run or are refused by a typed error; broadcasting means repeating.
#include <set>

#include "core/infer.h"
#include "core/strides.h"
#include "tests/suite_gradcheck.h"
#include "tests/suite_rows.h"

namespace weft::test {
namespace {

using Shapes = std::vector<Shape>;

Shapes shapes_of(const Sample& sample) {
  Shapes result;
  for (const SampleInput& input : sample.inputs) result.push_back(input.spec.shape);
  return result;
}

// Runs the call: the result is right in its Specs and, in f32, near that of f64; or the call is refused. Returns whether it ran.
bool runs_or_refuses(const Op& op, const Sample& sample, std::size_t s, Shapes shapes, DType dtype, bool differentiate) {
  const auto arguments = make_arguments(op, sample, {.dtype = dtype, .shapes = shapes});
  if (!arguments) return false;
  const std::string name = case_name(op, s, dtype) + shapes_text(arguments->inputs) + ": ";
  Specs specs;
  Tensors outputs;
  try {
    Tensors inputs = arguments->inputs;
    specs = check({op, inputs, arguments->attrs, Location::here()});
    outputs = run(op, *arguments);
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()).empty(), false);
    return false;
  } catch (const std::exception& e) {
    ADD_FAILURE() << name << "not a typed error: " << e.what();
    return false;
  }
  EXPECT_EQ(specs.size(), outputs.size()) << name;
  for (std::size_t i = 0; i < std::min(specs.size(), outputs.size()); ++i) {
    EXPECT_EQ(specs[i].dtype, outputs[i].dtype()) << name;
    EXPECT_TRUE(op.is(kValueShape) ? infer::compatible(specs[i].shape, outputs[i].shape()) : specs[i] == outputs[i].spec())
        << name << ".infer says " << specs[i].str() << ", running gives " << outputs[i].spec().str();
  }
  if (!differentiate || !op.differentiable() || op.is(kNoGradient) || !could_have_gradient(*arguments, outputs)) return true;
  try {
    std::vector<Tensor> sources;
    for (const Tensor& x : arguments->inputs)
      if (is_floating(x.dtype())) sources.push_back(x);
    const std::vector<Tensor> dxs = gradients_of(op, *arguments, seeds_for(outputs, s));
    for (std::size_t i = 0; i < dxs.size(); ++i) EXPECT_EQ(dxs[i].spec(), sources[i].spec()) << name << "gradient of floating input " << i;
  } catch (const std::exception& e) {
    ADD_FAILURE() << name << "runs, but its gradient throws: " << e.what();
  }
  return true;
}

DType floating_or_first(const Op& op) { return !has_common_input(op) || (op.dtypes & bit(f32)) ? f32 : dtypes_of(op)[0]; }

class EmptyShapes : public RowSuite {};

TEST_P(EmptyShapes, RunOrAreRefused) {
  const DType dtype = floating_or_first(op());
  bool sized = false;
  for (std::size_t s = 0; s < samples().size(); ++s) {
    const Sample& sample = samples()[s];
    const Shapes shapes = shapes_of(sample);
    std::set<std::int64_t> sizes;
    for (std::size_t i = 0; i < shapes.size(); ++i)
      for (int axis = 0; axis < shapes[i].rank(); ++axis) {
        sized = true;
        sizes.insert(shapes[i][axis]);
        Shapes one = shapes;
        one[i].set(axis, 0);
        runs_or_refuses(op(), sample, s, one, dtype, true);
        counted();
      }
    for (const std::int64_t size : sizes) {  // axes that belong together have one size
      Shapes together = shapes;
      for (Shape& shape : together)
        for (int axis = 0; axis < shape.rank(); ++axis)
          if (shape[axis] == size) shape.set(axis, 0);
      runs_or_refuses(op(), sample, s, together, dtype, true);
      counted();
    }
    Shapes nothing = shapes;
    for (Shape& shape : nothing)
      for (int axis = 0; axis < shape.rank(); ++axis) shape.set(axis, 0);
    runs_or_refuses(op(), sample, s, nothing, dtype, true);
    counted();
  }
  if (!sized && !HasFailure()) not_applicable("no sizes");
}

class SmallShapes : public RowSuite {};

TEST_P(SmallShapes, RunOrAreRefused) {
  const DType dtype = floating_or_first(op());
  if (op().inputs.empty()) return not_applicable("no inputs");
  for (std::size_t s = 0; s < samples().size(); ++s) {
    const Sample& sample = samples()[s];
    const Shapes shapes = shapes_of(sample);
    Shapes ones = shapes;
    for (Shape& shape : ones)
      for (int axis = 0; axis < shape.rank(); ++axis) shape.set(axis, 1);
    std::vector<Shapes> cases = {ones, Shapes(shapes.size(), Shape{}), Shapes(shapes.size(), Shape{1}), Shapes(shapes.size(), Shape{1, 1})};
    for (std::size_t i = 0; i < shapes.size(); ++i)
      for (const Shape& small : {Shape{}, Shape{1}, ones[i]}) {
        cases.push_back(shapes);
        cases.back()[i] = small;
      }
    bool any = false;
    for (const Shapes& shape : cases) any = runs_or_refuses(op(), sample, s, shape, dtype, true) || any;
    counted(cases.size());
    // A pointwise row takes every shape.
    EXPECT_TRUE(any || !op().tile) << op().name << " refuses scalars";
  }
}

// --- broadcasting ---

struct Pair {
  Shape a, b;
};
const std::vector<Pair>& pairs() {
  static const std::vector<Pair> list = {
      {{}, {}}, {{}, {3}}, {{2, 3}, {}}, {{1}, {4}}, {{2, 3}, {2, 3}}, {{2, 3}, {3}}, {{3}, {2, 3}}, {{2, 1}, {1, 3}}, {{2, 1, 3}, {2, 2, 3}},
      {{1, 2}, {3, 1}}, {{0}, {1}}, {{2, 0, 3}, {1, 3}}, {{2, 1, 2, 1}, {3, 1, 2}}, {{2, 1, 2, 1, 2}, {1, 3, 1, 2, 1}}, {{1, 1, 1}, {2}}, {{2, 1, 0}, {1, 3, 1}}};
  return list;
}

Shape common_shape(const Shapes& shapes) {
  int rank = 0;
  for (const Shape& shape : shapes) rank = std::max(rank, shape.rank());
  Ints sizes(static_cast<std::size_t>(rank), 1);
  for (const Shape& shape : shapes)
    for (int axis = 0; axis < shape.rank(); ++axis)
      if (shape[axis] != 1) sizes[static_cast<std::size_t>(rank - shape.rank() + axis)] = shape[axis];
  return Shape(sizes);
}

// Repeats x to `shape`, one element at a time.
Tensor repeated(const Tensor& x, const Shape& shape) {
  const std::vector<double> from = values(x);
  std::vector<double> to(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t k = 0; k < to.size(); ++k) {
    std::size_t rest = k, at = 0, stride = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const std::size_t index = rest % static_cast<std::size_t>(shape[axis]);
      rest /= static_cast<std::size_t>(shape[axis]);
      const int own = axis - (shape.rank() - x.rank());
      if (own < 0) continue;
      if (x.shape()[own] != 1) at += index * stride;
      stride *= static_cast<std::size_t>(x.shape()[own]);
    }
    to[k] = from[at];
  }
  return with_values({x.dtype(), shape}, to);
}

class Broadcast : public RowSuite {
 protected:
  // Elementwise rows take the pair itself; rows on matrices take it as batch axes before the sample's last `inner` axes.
  Shapes shapes_for(const Sample& sample, const Pair& pair, int inner, bool swapped) const {
    Shapes result;
    for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
      Shape shape = (i % 2 == 0) != swapped ? pair.a : pair.b;
      const Shape& own = sample.inputs[i].spec.shape;
      for (int axis = std::max(0, own.rank() - inner); axis < own.rank(); ++axis) shape.append(own[axis]);
      result.push_back(shape);
    }
    return result;
  }
  bool accepts(const Sample& sample, const Shapes& shapes) const {
    const auto arguments = make_arguments(op(), sample, {.dtype = dtype(), .shapes = shapes});
    if (!arguments) return false;
    try {
      Tensors inputs = arguments->inputs;
      check({op(), inputs, arguments->attrs, Location::here()});
      return true;
    } catch (const ShapeError&) {
      return false;
    }
  }
  DType dtype() const { return op().dtypes & bit(f64) ? f64 : dtypes_of(op())[0]; }

  // Each element of an elementwise result is the row applied to scalars.
  void expect_scalars_agree(const Arguments& full, const Tensors& outputs, const std::string& name) const {
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const std::vector<double> all = values(outputs[o]);
      for (std::size_t k = 0; k < all.size(); ++k) {
        Arguments one{{}, full.attrs};
        for (const Tensor& x : full.inputs) one.inputs.push_back(with_values({x.dtype(), {}}, std::vector<double>{values(x)[k]}));
        EXPECT_EQ(difference(values(run(op(), one)[o]), {all[k]}, [](std::size_t, double) { return 0.0; }), "") << name << "element " << k;
      }
    }
  }

  // How many trailing axes belong to the op itself.
  int inner_axes(const Sample& sample) const {
    for (const int inner : {0, 1, 2})
      if (accepts(sample, shapes_for(sample, pairs()[0], inner, false)) && accepts(sample, shapes_for(sample, pairs()[7], inner, false))) return inner;
    return -1;
  }
};

TEST_P(Broadcast, IsRepeating) {
  if (!op().is(kBroadcasts)) return not_applicable("no broadcast");
  ASSERT_FALSE(op().samples.empty());
  const Sample& sample = op().samples[0];
  const int inner = inner_axes(sample);
  ASSERT_GE(inner, 0) << op().name << " is kBroadcasts, but refuses [2,1] with [1,3], also as batch axes";
  std::size_t accepted = 0;
  for (std::size_t p = 0; p < pairs().size(); ++p)
    for (const bool swapped : {false, true}) {
      if (swapped && (small_scale() || p % 4 != 1)) continue;
      const Shapes shapes = shapes_for(sample, pairs()[p], inner, swapped);
      const auto arguments = make_arguments(op(), sample, {.dtype = dtype(), .seed = p, .shapes = shapes});
      ASSERT_TRUE(arguments);
      const std::string name = std::string(op().name) + " " + shapes_text(arguments->inputs) + ": ";
      try {
        const Tensors outputs = run(op(), *arguments);
        Shapes batch;
        for (const Shape& shape : shapes) batch.push_back(Shape(shape.sizes().first(static_cast<std::size_t>(shape.rank()) - std::min<std::size_t>(static_cast<std::size_t>(shape.rank()), static_cast<std::size_t>(inner)))));
        const Shape whole = common_shape(batch);
        Arguments full = *arguments;
        for (std::size_t i = 0; i < full.inputs.size(); ++i) {
          Shape to = whole;
          for (int axis = batch[i].rank(); axis < shapes[i].rank(); ++axis) to.append(shapes[i][axis]);
          full.inputs[i] = repeated(full.inputs[i], to);
        }
        const Tensors naive = run(op(), full);
        for (std::size_t o = 0; o < outputs.size(); ++o) {
          EXPECT_EQ(outputs[o].spec(), naive[o].spec()) << name;
          EXPECT_EQ(difference(values(outputs[o]), values(naive[o]), [&](std::size_t, double) { return inner == 0 ? 0.0 : 1e-12; }), "") << name;
        }
        ++accepted;
        counted();
        if (inner == 0) expect_scalars_agree(full, outputs, name);
        if (op().differentiable() && !op().is(kNoGradient) && dtype() == f64 && could_have_gradient(*arguments, outputs)) {
          EXPECT_EQ(check_first_order(op(), *arguments, symmetric_inputs(sample), p).failure, "") << name << "first order";
          EXPECT_EQ(check_second_order(op(), *arguments, symmetric_inputs(sample), p).failure, "") << name << "second order";
        }
      } catch (const std::exception& e) {
        ADD_FAILURE() << name << e.what();
      }
    }
  EXPECT_GE(accepted, 12u);
}

INSTANTIATE_TEST_SUITE_P(Rows, EmptyShapes, testing::ValuesIn(all_rows()), row_name);
INSTANTIATE_TEST_SUITE_P(Rows, SmallShapes, testing::ValuesIn(all_rows()), row_name);
INSTANTIATE_TEST_SUITE_P(Rows, Broadcast, testing::ValuesIn(all_rows()), row_name);

}  // namespace
}  // namespace weft::test
