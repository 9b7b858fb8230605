// For every row: gradients of first and second order against central differences, and in every floating dtype.
#include <cmath>

#include <weft/tape.h>

#include "tests/suite_gradcheck.h"
#include "tests/suite_rows.h"

namespace weft::test {
namespace {

// The dtype that stands for exact arithmetic in this row, or nothing.
bool has_f64(const Op& op) { return !has_common_input(op) || (op.dtypes & bit(f64)) != 0; }

class GradientSuite : public RowSuite {
 protected:
  // Calls `check` for every sample whose call could have a gradient; fills the cell if there is none.
  template <class F>
  void for_each_call(const F& check) {
    if (!has_f64(op())) return not_applicable("no floats");
    bool could = false;
    for (std::size_t s = 0; s < samples().size(); ++s) {
      const auto arguments = make_arguments(op(), samples()[s], {.dtype = f64});
      if (!arguments || !could_have_gradient(*arguments, run(op(), *arguments))) continue;
      could = true;
      if (op().is(kNoGradient)) continue;
      if (op().update != nullptr) {  // a step of an optimizer: asking a tape for its gradient is an error
        EXPECT_FALSE(op().differentiable());
        continue;
      }
      ASSERT_TRUE(op().differentiable()) << op().name << " makes floating values from floating values, but has neither .grad nor kNoGradient";
      try {
        check(s, *arguments);
      } catch (const std::exception& e) {
        ADD_FAILURE() << op().name << ", sample " << s << ", " << shapes_text(arguments->inputs) << ": " << e.what();
      }
    }
    if (!could) not_applicable("no floats");
    else if (op().is(kNoGradient)) not_applicable("constant");
    else if (op().update != nullptr) not_applicable("a step");
  }
  void expect(const GradientReport& report, std::size_t s, const Arguments& arguments) {
    EXPECT_EQ(report.failure, "") << op().name << ", sample " << s << ", " << shapes_text(arguments.inputs);
    counted(std::max<std::size_t>(report.comparisons, 1));
  }
};

class Gradient1 : public GradientSuite {};
TEST_P(Gradient1, AgreesWithDifferences) {
  for_each_call([&](std::size_t s, const Arguments& a) { expect(check_first_order(op(), a, symmetric_inputs(samples()[s]), s), s, a); });
}

class Gradient2 : public GradientSuite {};
TEST_P(Gradient2, AgreesWithDifferences) {
  for_each_call([&](std::size_t s, const Arguments& a) { expect(check_second_order(op(), a, symmetric_inputs(samples()[s]), s), s, a); });
}

class ForwardMode : public GradientSuite {};
// SEMANTICS 86: of every row
TEST_P(ForwardMode, AgreesWithTheTape) {
  for_each_call([&](std::size_t s, const Arguments& a) { expect(check_forward(op(), a, s), s, a); });
}

class GradientDtypes : public GradientSuite {
 protected:
  // The same values and seeds in f64. Each op of the gradient rounds, so the error allowed is a few roundings of the largest
  // gradient, and what the gradient itself changes when the inputs change by one rounding.
  void expect_agreement(std::size_t s, DType dtype) {
    const auto arguments = make_arguments(op(), samples()[s], {.dtype = dtype});
    if (!arguments) return;
    const Tensors outputs = run(op(), *arguments);
    const std::vector<Tensor> seeds = seeds_for(outputs, s);
    const Arguments exact = converted(op(), *arguments, f64);
    const Tensors exact_outputs = run(op(), exact);
    const std::vector<Tensor> exact_seeds = seeds_for(exact_outputs, s);
    const std::vector<Tensor> got = gradients_of(op(), *arguments, seeds), want = gradients_of(op(), exact, exact_seeds);
    std::vector<std::vector<double>> moves;
    for (const Tensor& g : want) moves.emplace_back(static_cast<std::size_t>(g.size()), 0.0);
    Numbers64 numbers(s + 5);
    for (int trial = 0; trial < 4; ++trial) {
      Arguments moved = exact;
      for (Tensor& x : moved.inputs) {
        if (!is_floating(x.dtype())) continue;
        std::vector<double> v = values(x);
        for (double& e : v) e *= 1 + epsilon_of(dtype) * (numbers.integer(0, 1) == 0 ? -1.0 : 1.0);
        x = with_values(x.spec(), v);
      }
      try {
        const std::vector<Tensor> other = gradients_of(op(), moved, exact_seeds);
        for (std::size_t i = 0; i < other.size(); ++i) {
          const std::vector<double> a = values(other[i]), b = values(want[i]);
          for (std::size_t k = 0; k < a.size(); ++k)
            if (std::isfinite(a[k] - b[k])) moves[i][k] = std::max(moves[i][k], std::abs(a[k] - b[k]));
        }
      } catch (const Error&) {  // moved out of the op's domain
      }
    }
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::vector<double> reference = values(want[i]);
      double largest = 1;
      for (const double v : reference) largest = std::isfinite(v) ? std::max(largest, std::abs(v)) : largest;
      EXPECT_EQ(difference(values(got[i]), reference, [&](std::size_t k, double) { return 8 * epsilon_of(dtype) * largest + 4 * moves[i][k]; }), "")
          << case_name(op(), s, dtype) << "gradient of floating input " << i << " of " << shapes_text(arguments->inputs);
    }
    counted();
  }
};

TEST_P(GradientDtypes, AgreeWithF64) {
  for_each_call([&](std::size_t s, const Arguments&) {
    if (!has_common_input(op())) return not_applicable("no T");
    for (const DType dtype : {f32, f16, bf16})
      if (op().dtypes & bit(dtype)) expect_agreement(s, dtype);
  });
}

// The gradients of some sources, from some targets: others are neither watched nor seeded.
std::vector<Tensor> partial(const Op& op, const Arguments& arguments, const std::vector<Tensor>& sources, const std::vector<std::size_t>& wanted, const std::vector<Tensor>& seeds) {
  GradientTape tape;
  for (const Tensor& x : sources) tape.watch(x);
  std::vector<Tensor> floating, targets, chosen, result;
  for (const Tensor& y : run(op, arguments))
    if (is_floating(y.dtype())) floating.push_back(y);
  for (const std::size_t t : wanted) {
    targets.push_back(floating[t]);
    chosen.push_back(seeds[t]);
  }
  for (const Grad& grad : tape.gradients(targets, sources, {Unconnected::kZeros, chosen})) result.push_back(grad.dense());
  return result;
}

class GradientParts : public GradientSuite {};

// A gradient does not depend on which others are asked for, and what no gradient reaches counts as zero.
TEST_P(GradientParts, AgreeWithTheWhole) {
  for_each_call([&](std::size_t s, const Arguments& a) {
    const auto expect_same = [&](const Tensor& got, const Tensor& want, const std::string& which) {
      double largest = 1;
      for (const double v : values(want)) largest = std::isfinite(v) ? std::max(largest, std::abs(v)) : largest;
      EXPECT_EQ(got.spec(), want.spec()) << op().name << ", sample " << s << ", " << which;
      EXPECT_EQ(difference(values(got), values(want), [&](std::size_t, double) { return 1e-12 * largest; }), "") << op().name << ", sample " << s << ", " << which;
      counted();
    };
    const std::vector<Tensor> seeds = seeds_for(run(op(), a), s), whole = gradients_of(op(), a, seeds);
    std::vector<Tensor> sources;
    std::vector<std::size_t> all_targets;
    for (const Tensor& x : a.inputs)
      if (is_floating(x.dtype())) sources.push_back(x);
    for (std::size_t t = 0; t < seeds.size(); ++t) all_targets.push_back(t);
    for (std::size_t i = 0; i < sources.size(); ++i)
      expect_same(partial(op(), a, {sources[i]}, all_targets, seeds)[0], whole[i], "only floating input " + std::to_string(i) + " watched");
    for (std::size_t t = 0; seeds.size() > 1 && t < seeds.size(); ++t) {
      std::vector<Tensor> zeroed = seeds;
      for (std::size_t other = 0; other < seeds.size(); ++other)
        if (other != t) zeroed[other] = with_values(seeds[other].spec(), std::vector<double>(static_cast<std::size_t>(seeds[other].size()), 0.0));
      const std::vector<Tensor> got = partial(op(), a, sources, {t}, seeds), want = gradients_of(op(), a, zeroed);
      for (std::size_t i = 0; i < sources.size(); ++i)
        expect_same(got[i], want[i], "only floating output " + std::to_string(t) + " a target, floating input " + std::to_string(i));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Rows, GradientParts, testing::ValuesIn(all_rows()), row_name);
INSTANTIATE_TEST_SUITE_P(Rows, ForwardMode, testing::ValuesIn(all_rows()), row_name);
INSTANTIATE_TEST_SUITE_P(Rows, Gradient1, testing::ValuesIn(all_rows()), row_name);
INSTANTIATE_TEST_SUITE_P(Rows, Gradient2, testing::ValuesIn(all_rows()), row_name);
INSTANTIATE_TEST_SUITE_P(Rows, GradientDtypes, testing::ValuesIn(all_rows()), row_name);

}  // namespace
}  // namespace weft::test
