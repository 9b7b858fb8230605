// What the files of weft_bench share. Every workload is what a user would write.
#pragma once

#include <weft/weft.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "protocol.h"

namespace ours {

using bench::Workload;
using namespace weft;
using Tensors = std::vector<Tensor>;
using Op = std::function<Workload(const Tensors&)>;

inline std::vector<float> elements(const Tensor& x) { return x.to_vector<float>(); }
inline std::vector<std::vector<float>> results(const Tensor& y) { return {elements(y)}; }
inline std::vector<std::vector<float>> results(const Tensors& ys) {
  std::vector<std::vector<float>> all;
  for (const Tensor& y : ys) all.push_back(elements(y));
  return all;
}

// A function of the inputs as a workload. The loop is instantiated with the function, so that nothing but the call is repeated.
template <class F>
Op op(F f) {
  return [f](const Tensors& x) -> Workload {
    return {[f, x](long count) {
              for (long i = 0; i < count; ++i) bench::keep(f(x));
            },
            [f, x] { return results(f(x)); }};
  };
}

// Forward and backward: f of all inputs but the last, which is the gradient of the result. Gives the result and the gradients of the
// floating inputs.
template <class F>
Op both_ways(F f) {
  return op([f](const Tensors& x) {
    Tensors sources;
    for (std::size_t i = 0; i + 1 < x.size(); ++i)
      if (x[i].dtype() == f32) sources.push_back(x[i]);
    GradientTape tape;
    for (const Tensor& source : sources) tape.watch(source);
    const Tensor y = f(x);
    Tensors all = tape.gradient(y, sources, {.output_gradients = {x.back()}});
    all.insert(all.begin(), y);
    return all;
  });
}

struct Dense {
  Variable weight, bias;
  Tensor operator()(const Tensor& x) const { return matmul(x, weight) + bias; }
};

// ours_calls.cc: single calls, state, traced calls
Workload recorded_add(const Tensors& x);
Workload read_variable(const Tensors& x);
Op assign_add(int threads);
Workload traced_assign_add(const Tensors& x);
Workload traced_identity(const Tensors& x);
Workload traced_chain(const Tensors& x);
Op traced_sum(bool of_variables);
Workload first_call_of_chain(const Tensors& x);
Workload first_call_of_tree(const Tensors& x);
Workload snapshot_of_list(const Tensors& x);
Workload snapshot_of_tree(const Tensors& x);
Workload while_turns(const Tensors& x);
Workload batch_jacobian(const Tensors& x);
Workload traced_expression(const Tensors& x);

/// For Functions of a contestant that does without the pass which WEFT_BENCH_WITHOUT names.
inline FunctionOptions function_options() {
  FunctionOptions options;
  if (const char* const pass = std::getenv("WEFT_BENCH_WITHOUT")) options.without.push_back(pass);
  return options;
}

// ours_training.cc: steps of training. The results are the losses of the first 20.
Workload adam_steps(const Tensors& x);
Op mlp(bool traced);
Workload cnn(const Tensors& x);
Workload recommender(const Tensors& x);
Workload lstm(const Tensors& x);
Workload gpt(const Tensors& x);

}  // namespace ours
