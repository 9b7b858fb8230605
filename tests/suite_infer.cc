// For every row: `.infer` agrees with what runs, stays right when sizes are unknown, and `.grad` and `.expand` read no size.
#include <weft/tape.h>

#include "core/infer.h"
#include "tests/abstract.h"
#include "tests/suite_rows.h"

namespace weft::test {
namespace {

Specs infer_of(const Op& op, Arguments arguments) { return check({op, arguments.inputs, arguments.attrs, Location::here()}); }

std::string specs_text(const Specs& specs) {
  std::string text;
  for (const Spec& spec : specs) text += (text.empty() ? "" : " ") + spec.str();
  return text;
}

// Every size that `partial` knows is the one of `full`.
bool agrees(const Specs& partial, const Tensors& full) {
  if (partial.size() != full.size()) return false;
  for (std::size_t i = 0; i < full.size(); ++i)
    if (!compatible(partial[i], full[i].spec())) return false;
  return true;
}

class Infers : public RowSuite {};

TEST_P(Infers, WhatRunsMakes) {
  for (std::size_t s = 0; s < samples().size(); ++s)
    for (const DType dtype : dtypes_of(op())) {
      const auto arguments = make_arguments(op(), samples()[s], {.dtype = dtype});
      if (!arguments) continue;
      const Specs specs = infer_of(op(), *arguments);
      const Tensors outputs = run(op(), *arguments);
      bool same = specs.size() == outputs.size();
      for (std::size_t i = 0; same && i < specs.size(); ++i)
        same = op().is(kValueShape) ? compatible(specs[i], outputs[i].spec()) : specs[i] == outputs[i].spec();
      EXPECT_TRUE(same) << case_name(op(), s, dtype) << ".infer says " << specs_text(specs) << ", running gives " << shapes_text(outputs);
      if (!op().list_output()) {
        EXPECT_EQ(outputs.size(), op().outputs.size()) << case_name(op(), s, dtype);
      }
      for (const Tensor& y : outputs) EXPECT_TRUE(y.is_concrete());
      counted();
    }
}

class UnknownSizes : public RowSuite {};

TEST_P(UnknownSizes, AreInferredWithout) {
  std::size_t inputs = 0;
  for (std::size_t s = 0; s < samples().size(); ++s) {
    const auto arguments = make_arguments(op(), samples()[s], {.dtype = dtypes_of(op())[0]});
    if (!arguments) continue;
    inputs += arguments->inputs.size();
    const Tensors outputs = run(op(), *arguments);
    const auto expect_agreement = [&](const Arguments& partial, const std::string& which) {
      try {
        const Specs specs = infer_of(op(), partial);
        EXPECT_TRUE(agrees(specs, outputs)) << op().name << ", sample " << s << ", " << which << " unknown: .infer of " << shapes_text(partial.inputs) << " says "
                                            << specs_text(specs) << ", running gives " << shapes_text(outputs);
      } catch (const std::exception& e) {
        ADD_FAILURE() << op().name << ", sample " << s << ", " << which << " unknown: .infer of " << shapes_text(partial.inputs) << " throws: " << e.what();
      }
      counted();
    };
    expect_agreement(symbolic(*arguments, false), "every size");
    expect_agreement(symbolic(*arguments, true), "no size");
    for (std::size_t i = 0; i < arguments->inputs.size(); ++i) {
      Arguments one_input = symbolic(*arguments, true);
      one_input.inputs[i] = symbolic(*arguments, false).inputs[i];
      expect_agreement(one_input, "input " + std::to_string(i));
      for (int axis = 0; axis < arguments->inputs[i].rank(); ++axis) {
        Arguments one_size = symbolic(*arguments, true);
        Spec spec = one_size.inputs[i].spec();
        spec.shape.set(axis, kUnknown);
        one_size.inputs[i] = make_symbolic(spec, Location::here());
        expect_agreement(one_size, "axis " + std::to_string(axis) + " of input " + std::to_string(i));
      }
    }
  }
  if (inputs == 0) not_applicable("no inputs");
}

// The row, its gradient and the gradient of that, on Specs alone. Returns the calls that were made up to the first gradient.
std::vector<std::string> differentiate_abstractly(const Op& op, const Arguments& arguments, const std::string& name) {
  const Abstract interpreter;
  std::vector<Tensor> sources, everything;
  for (const Tensor& x : arguments.inputs)
    if (is_floating(x.dtype())) sources.push_back(x);
  GradientTape outer;
  GradientTape inner;
  for (const Tensor& x : sources) {
    outer.watch(x);
    inner.watch(x);
  }
  everything = sources;
  const auto expect_fit = [&](const std::vector<Grad>& grads, const char* order) {
    std::vector<Tensor> dense;
    for (std::size_t i = 0; i < grads.size(); ++i) {
      if (!grads[i].present()) continue;
      dense.push_back(grads[i].dense());
      EXPECT_TRUE(compatible(dense.back().spec(), everything[i].spec()))
          << name << "the " << order << " gradient for " << everything[i].spec().str() << " is " << dense.back().spec().str();
    }
    return dense;
  };
  std::vector<Tensor> targets, seeds;
  for (const Tensor& y : run(op, arguments)) {
    if (!is_floating(y.dtype())) continue;
    targets.push_back(y);
    seeds.push_back(make_symbolic(y.spec(), Location::here()));
    outer.watch(seeds.back());
  }
  if (targets.empty() || sources.empty()) return interpreter.log();
  const std::vector<Tensor> first = expect_fit(inner.gradients(targets, sources, {Unconnected::kNone, seeds}), "first");
  const std::vector<std::string> calls = interpreter.log();
  if (first.empty()) return calls;
  everything.insert(everything.end(), seeds.begin(), seeds.end());
  expect_fit(outer.gradients(first, everything, {Unconnected::kNone, {}}), "second");
  return calls;
}

class Symbolic : public RowSuite {};

TEST_P(Symbolic, GradAndExpandReadNoSize) {
  if (op().grad == nullptr && op().expand == nullptr) return not_applicable(op().is(kNoGradient) ? "constant" : "no grad");
  for (std::size_t s = 0; s < samples().size(); ++s) {
    const DType dtype = !has_common_input(op()) || (op().dtypes & bit(f64)) ? f64 : dtypes_of(op())[0];
    const auto arguments = make_arguments(op(), samples()[s], {.dtype = dtype});
    if (!arguments) continue;
    const std::string name = std::string(op().name) + ", sample " + std::to_string(s) + ": ";
    std::vector<std::string> log[2];
    for (const bool known : {true, false}) {
      try {
        log[known] = differentiate_abstractly(op(), symbolic(*arguments, known), name + (known ? "sizes known: " : "sizes unknown: "));
      } catch (const std::exception& e) {
        ADD_FAILURE() << name << (known ? "with sizes known: " : "with every size unknown: ") << e.what();
        return;
      }
      // Un-broadcasting by the tape skips its sum_like where the sizes show that nothing was repeated.
      std::erase_if(log[known], [](const std::string& line) { return line.starts_with("sum_like("); });
    }
    counted();
    for (std::size_t i = 0; i < std::max(log[0].size(), log[1].size()); ++i) {
      const std::string unknown = i < log[0].size() ? log[0][i] : "nothing", known = i < log[1].size() ? log[1][i] : "nothing";
      if (unknown == known) continue;
      ADD_FAILURE() << name << "reads a size: with sizes known it calls " << known << ", otherwise " << unknown;
      break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, Infers, testing::ValuesIn(all_rows()), row_name);
INSTANTIATE_TEST_SUITE_P(Rows, UnknownSizes, testing::ValuesIn(all_rows()), row_name);
INSTANTIATE_TEST_SUITE_P(Rows, Symbolic, testing::ValuesIn(all_rows()), row_name);

}  // namespace
}  // namespace weft::test
