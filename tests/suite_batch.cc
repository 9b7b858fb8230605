// For every row: what it makes of many values at once is what it makes of each, and Jacobians do not depend on how many rows are computed at once.
#include <cmath>
#include <fstream>
#include <set>

#include "state/batcher.h"
#include "tests/suite_gradcheck.h"
#include "tests/suite_rows.h"
#include <weft/ops.h>
#include <weft/tape.h>

namespace weft::test {
namespace {

constexpr std::int64_t kSize = 3;

// The calls that differ in the inputs of a subset: those have values of their own, the others are the same for all.
struct Calls {
  std::vector<Arguments> each;
  std::vector<bool> batched;

  // Whether all can be made, with results that can be stacked.
  static std::optional<Calls> of(const Op& op, const Sample& sample, DType dtype, std::uint64_t subset) {
    Calls calls;
    for (std::uint64_t seed = 0; seed < kSize; ++seed) {
      auto arguments = make_arguments(op, sample, {.dtype = dtype, .seed = 1000 * seed});
      if (!arguments) return std::nullopt;
      calls.each.push_back(std::move(*arguments));
    }
    for (std::size_t i = 0; i < calls.each[0].inputs.size(); ++i) {
      calls.batched.push_back((subset >> i & 1) != 0);
      for (Arguments& arguments : calls.each)
        if (!calls.batched[i]) arguments.inputs[i] = calls.each[0].inputs[i];
    }
    return calls;
  }

  std::optional<std::vector<Tensors>> results(const Op& op) const {
    std::vector<Tensors> results;
    try {
      for (const Arguments& arguments : each) results.push_back(run(op, arguments));
    } catch (const Error&) {  // values that were put together from several samples may be refused
      return std::nullopt;
    }
    for (const Tensors& result : results)
      for (std::size_t i = 0; i < result.size(); ++i)
        if (result[i].spec() != results[0][i].spec()) return std::nullopt;
    return results;
  }

  // All at once, and whether the row went call by call.
  std::pair<Tensors, bool> at_once(const Op& op) const {
    Batcher batcher(kSize);
    Tensors inputs, outputs, values;
    for (std::size_t i = 0; i < batched.size(); ++i) {
      std::vector<Tensor> rows;
      for (const Arguments& arguments : each) rows.push_back(arguments.inputs[i]);
      inputs.push_back(batched[i] ? batcher.symbol(stack(rows), {}) : rows[0]);
    }
    batcher.install();
    apply({op, inputs, each[0].attrs, Location::here()}, outputs);
    batcher.remove();
    for (const Tensor& output : outputs) values.push_back(batcher.value(output));
    return {values, !batcher.looped().empty()};
  }
};

// Non-empty subsets of the inputs, as bits. Of long lists only single ones, all, and all but one.
std::vector<std::uint64_t> subsets(std::size_t inputs) {
  const std::uint64_t all = (std::uint64_t{1} << inputs) - 1;
  std::vector<std::uint64_t> result;
  if (inputs <= 4) {
    for (std::uint64_t s = 1; s <= all; ++s) result.push_back(s);
    return result;
  }
  for (std::size_t i = 0; i < inputs; ++i) {
    result.push_back(std::uint64_t{1} << i);
    result.push_back(all ^ std::uint64_t{1} << i);
  }
  result.push_back(all);
  return result;
}

class Batched : public RowSuite {};

// Where sums are taken in another order they round differently: 64 roundings of the largest result are allowed, or of 1.
TEST_P(Batched, IsWhatEachCallMakes) {
  bool floats = false;
  for (std::size_t s = 0; s < samples().size(); ++s)
    for (const DType dtype : dtypes_of(op())) {
      if (dtype != f32 && dtype != f64 && dtype != i32 && dtype != i64 && dtype != bool_) continue;
      for (const std::uint64_t subset : subsets(samples()[s].inputs.size())) {
        const auto calls = Calls::of(op(), samples()[s], dtype, subset);
        if (!calls) continue;
        const auto want = calls->results(op());
        if (!want) continue;
        floats = true;
        const std::string where = case_name(op(), s, dtype) + "inputs " + std::to_string(subset) + " of " + shapes_text(calls->each[0].inputs);
        try {
          const Tensors got = calls->at_once(op()).first;
          ASSERT_EQ(got.size(), (*want)[0].size()) << where;
          for (std::size_t i = 0; i < got.size(); ++i) {
            std::vector<double> rows;
            double largest = 1;
            for (const Tensors& one : *want)
              for (const double v : values(one[i])) {
                rows.push_back(v);
                if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
              }
            Shape shape{kSize};
            for (const std::int64_t size : (*want)[0][i].shape()) shape.append(size);
            EXPECT_EQ(got[i].spec(), (Spec{(*want)[0][i].dtype(), shape})) << where;
            const double allowed = is_floating(got[i].dtype()) ? 64 * epsilon_of(got[i].dtype()) * largest : 0;
            EXPECT_EQ(difference(values(got[i]), rows, [&](std::size_t, double) { return allowed; }), "") << where << ", output " << i;
          }
        } catch (const std::exception& e) {
          ADD_FAILURE() << where << ": " << e.what();
        }
        counted();
      }
    }
  if (!floats) not_applicable("no inputs");
}

INSTANTIATE_TEST_SUITE_P(Rows, Batched, testing::ValuesIn(all_rows()), row_name);

// Rows without a rule, or with one that does not cover all inputs: "name", or "name: inputs". A line may go, and none may come.
TEST(BatchedRows, GoCallByCallOnlyWhereListed) {
  std::set<std::string> listed, found;
  std::ifstream file(std::string(WEFT_SOURCE_DIR) + "/tests/data/call_by_call.txt");
  ASSERT_TRUE(file);
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#') listed.insert(line);
  for (const Row& row : all_rows()) {
    std::set<std::uint64_t> looped, seen;
    for (const Sample& sample : row.op->samples)
      for (const DType dtype : dtypes_of(*row.op))
        for (const std::uint64_t subset : subsets(sample.inputs.size())) {
          if (dtype == f16 || dtype == bf16) continue;
          const auto calls = Calls::of(*row.op, sample, dtype, subset);
          if (!calls || !calls->results(*row.op)) continue;
          seen.insert(subset);
          if (calls->at_once(*row.op).second) looped.insert(subset);
        }
    if (looped.empty()) continue;
    if (looped == seen) {
      found.insert(row.op->name);
      continue;
    }
    // Which inputs all of those have in common.
    std::uint64_t common = ~std::uint64_t{0};
    for (const std::uint64_t subset : looped) common &= subset;
    std::string line = std::string(row.op->name) + ":";
    for (std::size_t i = 0; i < row.op->inputs.size(); ++i)
      if (common >> i & 1) line += " " + std::string(row.op->inputs[i].name);
    found.insert(line);
  }
  for (const std::string& line : found) EXPECT_TRUE(listed.contains(line)) << line << " goes call by call; give the row a .batch (src/ops/batch.h)";
  for (const std::string& line : listed) EXPECT_TRUE(found.contains(line)) << line << " no longer goes call by call; take it out of tests/data/call_by_call.txt";
}

class Jacobians : public RowSuite {};

// SEMANTICS 74: however many rows are computed at once
TEST_P(Jacobians, IsThatOfGradientsTakenOneByOne) {
  if (has_common_input(op()) && (op().dtypes & bit(f64)) == 0) return not_applicable("no floats");
  bool could = false;
  for (std::size_t s = 0; s < samples().size(); ++s) {
    const auto arguments = make_arguments(op(), samples()[s], {.dtype = f64});
    if (!arguments || !could_have_gradient(*arguments, run(op(), *arguments)) || op().is(kNoGradient) || !op().differentiable()) continue;
    could = true;
    GradientTape tape({.persistent = true});
    std::vector<Tensor> sources;
    for (const Tensor& x : arguments->inputs)
      if (is_floating(x.dtype())) sources.push_back(x), tape.watch(x);
    const Tensors outputs = run(op(), *arguments);
    tape.stop();
    for (const Tensor& y : outputs) {
      if (!is_floating(y.dtype())) continue;
      const std::string where = std::string(op().name) + ", sample " + std::to_string(s) + ", " + shapes_text(arguments->inputs);
      const auto count = static_cast<std::size_t>(y.size());
      std::vector<std::vector<double>> want(sources.size());
      for (std::size_t k = 0; k < count; ++k) {
        std::vector<double> one(count, 0.0);
        one[k] = 1;
        const std::vector<Tensor> rows = tape.gradient(y, sources, {Unconnected::kZeros, {with_values(y.spec(), one)}});
        for (std::size_t i = 0; i < rows.size(); ++i)
          for (const double v : values(rows[i])) want[i].push_back(v);
      }
      for (const std::int64_t chunk : {0, 2}) {
        try {
          const std::vector<Tensor> got = tape.jacobian(y, sources, {.unconnected = Unconnected::kZeros, .chunk = chunk});
          for (std::size_t i = 0; i < got.size(); ++i) {
            Shape shape = y.shape();
            for (const std::int64_t size : sources[i].shape()) shape.append(size);
            EXPECT_EQ(got[i].shape(), shape) << where;
            double largest = 1;
            for (const double v : want[i]) largest = std::isfinite(v) ? std::max(largest, std::abs(v)) : largest;
            EXPECT_EQ(difference(values(got[i]), want[i], [&](std::size_t, double) { return 1e-12 * largest; }), "") << where << ", source " << i << ", chunk " << chunk;
          }
          counted();
        } catch (const std::exception& e) {
          ADD_FAILURE() << where << ", chunk " << chunk << ": " << e.what();
        }
      }
    }
  }
  if (!could) not_applicable("no gradient");
}

INSTANTIATE_TEST_SUITE_P(Rows, Jacobians, testing::ValuesIn(all_rows()), row_name);

}  // namespace
}  // namespace weft::test
