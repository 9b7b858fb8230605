#include "graph/passes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>

#include "graph/plan.h"
#include "graph/run.h"
#include "graph/tracer.h"
#include "tests/support.h"
#include <weft/operators.h>
#include <weft/ops.h>

namespace weft::inline v0 {
namespace {

using Values = std::vector<Tensor>;
using Program = std::function<Values(Values&)>;

Graph graph_of(const std::vector<Spec>& specs, const Program& program) {
  Graph graph;
  Tracer tracer(graph);
  Values symbols;
  for (const Spec& spec : specs) symbols.push_back(tracer.input(spec, {}));
  const Interpreter::Scope scope(&tracer);
  for (const Tensor& output : program(symbols)) graph.outputs.push_back(tracer.value_of(output, nullptr, {}));
  return graph;
}

std::string bits(const Tensor& x) {
  return x.spec().str() + std::string(static_cast<const char*>(x.node()->data), static_cast<std::size_t>(bytes_of(x.spec())));
}

// Every pattern of 16 bits, and of wider dtypes zeros, ones, infinities, subnormal numbers and NaNs, quiet and signalling.
Tensor awkward(DType dtype) {
  const auto of_bits = [&](auto tag, std::vector<std::uint64_t> patterns) {
    using T = decltype(tag);
    Tensor x = make_tensor({dtype, Shape{static_cast<std::int64_t>(patterns.size())}});
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      const T pattern = static_cast<T>(patterns[i]);
      std::memcpy(static_cast<char*>(mutable_data(x)) + i * sizeof(T), &pattern, sizeof(T));
    }
    return x;
  };
  if (size_of(dtype) == 2) {
    std::vector<std::uint64_t> all_patterns(1 << 16);
    for (std::size_t i = 0; i < all_patterns.size(); ++i) all_patterns[i] = i;
    return of_bits(std::uint16_t(), all_patterns);
  }
  if (dtype == f32)
    return of_bits(std::uint32_t(), {0, 0x80000000, 0x3f800000, 0x7f800000, 0xff800000, 1, 0x80000001, 0x7fc00000, 0xffc12345, 0x7f812345,
                                     0xff800001});
  if (dtype == f64)
    return of_bits(std::uint64_t(), {0, 0x8000000000000000, 0x3ff0000000000000, 0x7ff0000000000000, 1, 0x7ff8000000000000,
                                     0x7ff0000000012345, 0xfff0000000000001});
  if (dtype == bool_) return of_bits(std::uint8_t(), {0, 1, 1, 0});
  return of_bits(std::uint32_t(), {0, 1, 0x7fffffff, 0x80000000, 0xffffffff});
}

struct Rule {
  const char* name;
  DTypes dtypes;
  std::size_t calls_after;
  Program program;
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all_rules = {
      {"identity", kAnything, 0, [](Values& x) { return Values{identity(x[0])}; }},
      {"double negative", bit(f32) | bit(f64) | bit(i32), 0, [](Values& x) { return Values{-(-x[0])}; }},
      {"three negatives", bit(f32) | bit(f64) | bit(i32), 1, [](Values& x) { return Values{-(-(-x[0]))}; }},
      {"double negative of 16 bits stays", bit(f16) | bit(bf16), 2, [](Values& x) { return Values{-(-x[0])}; }},
      {"double not", bit(bool_), 0, [](Values& x) { return Values{logical_not(logical_not(x[0]))}; }},
      {"cast to its dtype", bit(f32) | bit(f64) | bit(i32) | bit(bool_), 0, [](Values& x) { return Values{cast(x[0], x[0].dtype())}; }},
      {"cast of 16 bits stays", bit(f16) | bit(bf16), 1, [](Values& x) { return Values{cast(x[0], x[0].dtype())}; }},
      {"reshape to its shape", kAnything, 0, [](Values& x) { return Values{reshape(x[0], x[0].shape())}; }},
      {"reshape there and back", kAnything, 0, [](Values& x) { return Values{reshape(reshape(x[0], {1, -1}), {-1})}; }},
      {"reshape of reshape", kAnything, 1, [](Values& x) { return Values{reshape(reshape(x[0], {1, -1}), {-1, 1})}; }},
      {"reshape of expand_dims", kAnything, 1, [](Values& x) { return Values{reshape(expand_dims(x[0], 0), {-1, 1})}; }},
      {"reshape like itself", kAnything, 0, [](Values& x) { return Values{reshape_like(x[0], x[0])}; }},
      {"broadcast to its shape", kAnything, 0, [](Values& x) { return Values{broadcast_to(x[0], x[0].shape())}; }},
      {"broadcast of broadcast", kAnything, 1,
       [](Values& x) { return Values{broadcast_to(broadcast_to(x[0], {2, x[0].shape()[0]}), {3, 2, x[0].shape()[0]})}; }},
      {"broadcast like itself", kAnything, 0, [](Values& x) { return Values{broadcast_like(x[0], x[0])}; }},
      {"transpose of one axis", kAnything, 0, [](Values& x) { return Values{transpose(x[0])}; }},
      {"transpose there and back", kAnything, 1, [](Values& x) { return Values{transpose(transpose(expand_dims(x[0], 0)))}; }},
      {"transpose of transpose", kAnything, 2,
       [](Values& x) { return Values{transpose(transpose(expand_dims(x[0], {0, 1}), {.perm = {1, 2, 0}}), {.perm = {1, 0, 2}})}; }},
      {"integer + 0", bit(i32), 0, [](Values& x) { return Values{0 + (x[0] + 0)}; }},
      {"integer - 0", bit(i32), 0, [](Values& x) { return Values{x[0] - 0}; }},
      {"0 - integer", bit(i32), 1, [](Values& x) { return Values{0 - x[0]}; }},
      {"integer * 1", bit(i32), 0, [](Values& x) { return Values{1 * (x[0] * 1)}; }},
      {"float + 0 stays", kFloats, 1, [](Values& x) { return Values{x[0] + 0}; }},
      {"float * 1 stays", kFloats, 1, [](Values& x) { return Values{x[0] * 1}; }},
      {"float * 0 stays", kFloats, 1, [](Values& x) { return Values{x[0] * 0}; }},
      {"stop_gradient stays", kFloats, 2, [](Values& x) { return Values{reshape(stop_gradient(x[0]), {1, -1})}; }},
  };
  return all_rules;
}

TEST(Passes, RulesOfSimplifyKeepTheBits) {
  for (const Rule& rule : rules())
    for (const DType dtype : {f32, f64, f16, bf16, i32, bool_}) {
      if ((rule.dtypes & bit(dtype)) == 0) continue;
      const Tensor x = awkward(dtype);
      Graph graph = graph_of({x.spec()}, rule.program);
      Values before{x}, after{x}, eager{x};
      const Tensor expected = rule.program(eager)[0];
      EXPECT_EQ(bits(Runner(graph).run(before)[0]), bits(expected)) << rule.name;
      simplify(graph);
      verify(graph, "simplify");
      drop_dead(graph);
      EXPECT_EQ(graph.nodes.size(), rule.calls_after) << rule.name << " of " << name_of(dtype) << "\n" << graph.str();
      EXPECT_TRUE(bits(Runner(graph).run(after)[0]) == bits(expected)) << rule.name << " of " << name_of(dtype);
    }
}

TEST(Passes, WhyThereAreNoRulesForNumbersOfFloats) {
  const Tensor x = awkward(f32), h = awkward(f16);
  EXPECT_TRUE(bits(x + 0) != bits(x)) << "-0 becomes 0";
  EXPECT_TRUE(bits(x * 1) != bits(x)) << "a signalling NaN becomes quiet";
  EXPECT_TRUE(bits(-(-h)) != bits(h)) << "a NaN of 16 bits becomes another one";
}

// What a call may refuse when it knows the sizes it must still refuse.
TEST(Passes, UnknownSizesKeepWhatMayFail) {
  const auto left = [](const Program& program) {
    Graph graph = graph_of({{f32, {kUnknown, 4}}}, program);
    optimize(graph, 1);
    return graph.calls();
  };
  EXPECT_EQ(left([](Values& x) { return Values{reshape(reshape(x[0], {-1, 8}), {-1})}; }), 2u);
  EXPECT_EQ(left([](Values& x) { return Values{broadcast_to(broadcast_to(x[0], {2, 4}), {3, 2, 4})}; }), 2u);
  EXPECT_EQ(left([](Values& x) { return Values{transpose(transpose(x[0]))}; }), 0u);
  EXPECT_EQ(left([](Values& x) { return Values{-(-x[0])}; }), 0u);
}

TEST(Passes, EachCanBeLeftOutWithoutADifferenceInBits) {
  const Program program = [](Values& x) {
    const Tensor a = tanh(x[0] * 0.3f) + x[1], b = tanh(x[0] * 0.3f) + x[1], c = transpose(transpose(matmul(a, b)));
    exp(c);
    return Values{-(-c) * (Tensor(2.f) * Tensor(3.f)), sum(a * b, {.axis = 0}), c > 0.f, cumsum(x[0], {.axis = 0}), cumsum(x[0], {.axis = 1})};
  };
  Values inputs{reshape(linspace(-3.f, 3.f, 4096), {64, 64}), fill({64}, 0.7f)};
  const Values eager = program(inputs);
  std::vector<std::vector<std::string>> choices{{}, {}};
  for (const Pass& pass : passes()) choices.push_back({pass.name}), choices[1].push_back(pass.name);
  std::vector<std::size_t> counts;
  for (const std::vector<std::string>& without : choices) {
    Graph graph = graph_of({inputs[0].spec(), inputs[1].spec()}, program);
    graph.without = without;
    const std::size_t traced = graph.nodes.size();
    const Optimized done = optimize(graph, 2);
    const Spec specs[] = {inputs[0].spec(), inputs[1].spec()};
    const Plan plan(graph, specs);
    counts.push_back(graph.nodes.size() + plan.steps() + plan.describe().back().turn);
    ASSERT_EQ(done.passes.size(), passes().size() - without.size());
    for (std::size_t i = 0; i < done.passes.size(); ++i) {
      EXPECT_EQ(std::count(without.begin(), without.end(), done.passes[i].pass), 0);
      EXPECT_GE(done.passes[i].microseconds, 0);
      EXPECT_GE(done.passes[i].calls_before, done.passes[i].calls_after);
      EXPECT_EQ(done.passes[i].calls_before, i == 0 ? traced : done.passes[i - 1].calls_after);
    }
    Values given = inputs;
    const Tensors outputs = Runner(std::move(graph)).run(given);
    for (std::size_t i = 0; i < eager.size(); ++i) EXPECT_TRUE(bits(outputs[i]) == bits(eager[i])) << i;
  }
  EXPECT_GT(counts[1], counts[0]);
  for (std::size_t i = 2; i < counts.size(); ++i)  // all but the pass for loops (tests/count_turns_test.cc) have work here
    EXPECT_GE(counts[i], counts[0] + (choices[i][0] != "count_turns")) << choices[i][0];
}

TEST(Passes, AreDescribedOnThePageAboutFunctions) {
  std::ifstream file(WEFT_SOURCE_DIR "/docs/functions.md");
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (const Pass& pass : passes())
    EXPECT_NE(page.find("| `" + std::string(pass.name) + "` | " + pass.doc + " |"), std::string::npos) << pass.name;
}

TEST(Passes, EqualNumbersAreOneConstant) {
  Graph graph = graph_of({{f32, {2}}}, [](Values& x) { return Values{x[0] * 2.f, x[0] * 2.f, x[0] * -0.f, x[0] * 0.f}; });
  optimize(graph, 1);
  EXPECT_EQ(graph.nodes.size(), 3u) << graph.str();
  EXPECT_EQ(graph.constants.size(), 3u) << "0 and -0 are two";
  EXPECT_EQ(graph.outputs[0], graph.outputs[1]);
}

}  // namespace
}  // namespace weft::inline v0
