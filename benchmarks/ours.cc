// weft_bench: Weft as a contestant. This file has the table of its workloads and those that are a single op.
#include "ours.h"

#include <map>
#include <stdexcept>

namespace {

using namespace ours;

auto softmax_last = [](const Tensors& x) { return softmax(x[0]); };
auto norm_last = [](const Tensors& x) { return layer_norm(x[0], x[1], x[2]); };
auto cross_entropy = [](const Tensors& x) { return sparse_softmax_cross_entropy(x[0], x[1]); };
auto gelu_exact = [](const Tensors& x) { return gelu(x[0]); };

const std::map<std::string, Op>& ops() {
  static const std::map<std::string, Op> table = {
      {"eager_add", op([](const Tensors& x) { return x[0] + x[1]; })},
      {"add", op([](const Tensors& x) { return x[0] + x[1]; })},
      {"recorded_add", recorded_add},
      {"read_variable", read_variable},
      {"assign_add", assign_add(1)},
      {"assign_add_by_8_threads", assign_add(8)},
      {"traced_assign_add", traced_assign_add},
      {"traced_identity", traced_identity},
      {"traced_chain", traced_chain},
      {"traced_sum_of_variables", traced_sum(true)},
      {"traced_sum_of_input", traced_sum(false)},
      {"first_call_of_chain", first_call_of_chain},
      {"first_call_of_tree", first_call_of_tree},
      {"snapshot_of_list", snapshot_of_list},
      {"snapshot_of_tree", snapshot_of_tree},
      {"mlp", mlp(false)},
      {"traced_mlp", mlp(true)},
      {"cnn", cnn},
      {"recommender", recommender},
      {"lstm", lstm},
      {"gpt", gpt},
      {"while_turns", while_turns},
      {"batch_jacobian", batch_jacobian},
      {"traced_expression", traced_expression},
      {"multiply", op([](const Tensors& x) { return x[0] * x[1]; })},
      {"relu", op([](const Tensors& x) { return relu(x[0]); })},
      {"expression", op([](const Tensors& x) { return relu(x[0] * x[3] + x[1]) * x[3] + x[2] * x[4]; })},
      {"exp", op([](const Tensors& x) { return exp(x[0]); })},
      {"log", op([](const Tensors& x) { return log(x[0]); })},
      {"tanh", op([](const Tensors& x) { return tanh(x[0]); })},
      {"erf", op([](const Tensors& x) { return erf(x[0]); })},
      {"gelu", op(gelu_exact)},
      {"gelu_both", both_ways(gelu_exact)},
      {"softmax", op(softmax_last)},
      {"softmax_both", both_ways(softmax_last)},
      {"softmax_backward", op([](const Tensors& x) { return softmax_backward(x[0], x[1]); })},
      {"layer_norm", op(norm_last)},
      {"layer_norm_both", both_ways(norm_last)},
      {"cross_entropy", op(cross_entropy)},
      {"cross_entropy_both", both_ways(cross_entropy)},
      {"sum_axis_0", op([](const Tensors& x) { return sum(x[0], {.axis = 0}); })},
      {"sum_axis_1", op([](const Tensors& x) { return sum(x[0], {.axis = 1}); })},
      {"sum_all", op([](const Tensors& x) { return sum(x[0]); })},
      {"adam", adam_steps},
      {"matmul", op([](const Tensors& x) { return matmul(x[0], x[1]); })},
      {"conv", op([](const Tensors& x) { return conv2d(x[0], x[1], {.padding = Padding::kSame}); })},
      {"conv_input", op([](const Tensors& x) { return conv_backward_input(x[0], x[1], x[2], {.padding = Padding::kSame}); })},
      {"conv_filter", op([](const Tensors& x) { return conv_backward_filter(x[0], x[1], x[2], {.padding = Padding::kSame}); })},
  };
  return table;
}

Workload make(const std::string& name, const std::vector<std::string>& words) {
  if (name == "start") return bench::start_this_program();
  if (name == "once") return bench::start_once(words);
  const auto found = ops().find(name);
  if (found == ops().end()) throw std::runtime_error("there is no workload " + name);
  Tensors inputs;
  unsigned seed = 0;
  for (const bench::Input& input : bench::parse_inputs(words)) {
    Shape shape;
    for (const std::int64_t size : input.shape) shape.append(size);
    ++seed;
    inputs.push_back(input.is_float() ? Tensor(input.floats(seed), shape) : Tensor(input.integers(seed), shape));
  }
  return found->second(inputs);
}

}  // namespace

int main(int argc, char** argv) { return bench::serve(argc, argv, "this tree", make); }
