// For every row: traced, planned and fused it gives the bits of the eager call, forward and backward, with sizes known or not while tracing.
#include <functional>

#include "graph/passes.h"
#include "graph/run.h"
#include "graph/tracer.h"
#include "tests/suite_rows.h"
#include <weft/forward.h>
#include <weft/operators.h>
#include <weft/ops.h>
#include <weft/tape.h>

namespace weft::test {
namespace {

using Program = std::function<std::vector<Tensor>(std::vector<Tensor>)>;

std::string bytes_of(const Tensor& x) { return {elements<char>(x), static_cast<std::size_t>(x.size()) * size_of(x.dtype())}; }

// The graph of a program for inputs like these.
Graph traced(const Program& program, std::span<const Tensor> inputs, bool keep_sizes) {
  Graph graph;
  Tracer tracer(graph);
  std::vector<Tensor> symbols;
  for (const Tensor& input : inputs) {
    Spec spec = input.spec();
    for (int axis = 0; !keep_sizes && axis < spec.shape.rank(); ++axis) spec.shape.set(axis, kUnknown);
    symbols.push_back(tracer.input(std::move(spec), {}));
  }
  tracer.install();
  try {
    for (const Tensor& output : program(std::move(symbols))) graph.outputs.push_back(tracer.value_of(output, nullptr, {}));
  } catch (...) {
    tracer.remove();
    throw;
  }
  tracer.remove();
  return graph;
}

// How the outputs of a program differ between eager and traced execution, or nothing.
std::string difference_when_traced(const Program& program, const std::vector<Tensor>& inputs) {
  const std::vector<Tensor> want = program(inputs);
  for (const bool keep_sizes : {true, false}) {
    Graph graph = traced(program, inputs, keep_sizes);
    verify(graph, "tracing");
    for (const bool passes : {false, true}) {
      if (passes) {
        optimize(graph, graph.inputs.size());
        verify(graph, "all passes");
      }
      const Runner runner(graph);
      for (int call = 0; call < 2; ++call) {
        std::vector<Tensor> given = inputs;
        const auto got = runner.run(given);
        for (std::size_t i = 0; i < want.size(); ++i) {
          const std::string mode = std::string(keep_sizes ? "" : "unknown sizes, ") + (passes ? "passes, " : "") + "call " + std::to_string(call) + ", output " + std::to_string(i);
          if (got[i].spec() != want[i].spec()) return mode + " is " + got[i].spec().str() + " instead of " + want[i].spec().str();
          if (bytes_of(got[i]) != bytes_of(want[i])) return mode + " has other bits:\n" + got[i].str() + "\ninstead of\n" + want[i].str() + "\n" + graph.str();
        }
      }
    }
  }
  return "";
}

// Values that others have changed may be outside of what the row takes.
bool accepts(const Program& program, const std::vector<Tensor>& inputs) {
  try {
    program(inputs);
    return true;
  } catch (const Error&) {
    return false;
  }
}

class Traced : public RowSuite {
 protected:
  // The call of the row, and what a program may do around it.
  Program call(const Arguments& arguments) const {
    return [this, attrs = arguments.attrs](std::vector<Tensor> inputs) {
      Tensors outputs;
      apply({op(), inputs, attrs, Location::here()}, outputs);
      return std::vector<Tensor>(outputs.begin(), outputs.end());
    };
  }
};

// Pointwise calls before and behind it: one group, if the row is pointwise.
Program between_others(Program call) {
  return [call](std::vector<Tensor> inputs) {
    for (Tensor& x : inputs)
      if (is_floating(x.dtype())) x = minimum(x, x * x + x);
    std::vector<Tensor> outputs = call(inputs);
    const std::size_t count = outputs.size();
    for (std::size_t i = 0; i < count; ++i)
      if (is_floating(outputs[i].dtype())) outputs.push_back(abs(outputs[i]) * 2 + outputs[i]);
    return outputs;
  };
}

Program with_gradients(Program call) {
  return [call](std::vector<Tensor> inputs) {
    GradientTape tape;
    std::vector<Source> sources;
    for (const Tensor& x : inputs)
      if (is_floating(x.dtype())) tape.watch(x), sources.emplace_back(x);
    std::vector<Tensor> outputs = call(inputs), targets;
    for (const Tensor& y : outputs)
      if (is_floating(y.dtype())) targets.push_back(y);
    if (sources.empty() || targets.empty()) return outputs;
    for (const Grad& gradient : tape.gradients(targets, sources, {.unconnected = Unconnected::kZeros})) outputs.push_back(gradient.dense());
    return outputs;
  };
}

// Every floating input moves along what is made from it.
Program with_tangents(Program call) {
  return [call](std::vector<Tensor> inputs) {
    std::vector<Source> primals;
    std::vector<Tensor> tangents;
    for (const Tensor& x : inputs)
      if (is_floating(x.dtype())) primals.emplace_back(x), tangents.push_back(abs(x) + 1);
    if (primals.empty()) return call(inputs);
    ForwardAccumulator forward(primals, tangents);
    std::vector<Tensor> outputs = call(inputs);
    const std::size_t count = outputs.size();
    for (std::size_t i = 0; i < count; ++i)
      if (is_floating(outputs[i].dtype())) outputs.push_back(forward.jvp(outputs[i], {.unconnected = Unconnected::kZeros}));
    return outputs;
  };
}

TEST_P(Traced, GivesTheSameBits) {
  for (std::size_t s = 0; s < samples().size(); ++s)
    for (const DType dtype : dtypes_of(op())) {
      const std::optional<Arguments> arguments = make_arguments(op(), samples()[s], {.dtype = dtype});
      if (!arguments) continue;
      const std::vector<Tensor> inputs(arguments->inputs.begin(), arguments->inputs.end());
      EXPECT_EQ(difference_when_traced(call(*arguments), inputs), "") << case_name(op(), s, dtype);
      counted();
      if (!is_floating(dtype)) continue;
      if (accepts(between_others(call(*arguments)), inputs)) {
        EXPECT_EQ(difference_when_traced(between_others(call(*arguments)), inputs), "") << case_name(op(), s, dtype) << "between others";
      }
      if (op().differentiable()) {
        EXPECT_EQ(difference_when_traced(with_gradients(call(*arguments)), inputs), "") << case_name(op(), s, dtype) << "gradients";
        EXPECT_EQ(difference_when_traced(with_tangents(call(*arguments)), inputs), "") << case_name(op(), s, dtype) << "tangents";
      }
      counted();
    }
}

INSTANTIATE_TEST_SUITE_P(Rows, Traced, testing::ValuesIn(all_rows()), row_name);

}  // namespace
}  // namespace weft::test
