// weft_bench: Weft as a contestant. Every workload is what a user would write.
#include <weft/weft.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <thread>

#include "protocol.h"

namespace {

using bench::Workload;
using namespace weft;
using Tensors = std::vector<Tensor>;
using Op = std::function<Workload(const Tensors&)>;

std::vector<float> elements(const Tensor& x) { return x.to_vector<float>(); }
std::vector<std::vector<float>> results(const Tensor& y) { return {elements(y)}; }
std::vector<std::vector<float>> results(const Tensors& ys) {
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

// A tape in real use holds hundreds of records, not millions: each one lives for up to 1,000 adds.
Workload recorded_add(const Tensors& x) {
  return {[x](long count) {
            for (long done = 0; done < count; done += 1000) {
              GradientTape tape;
              tape.watch(x[0]);
              for (long i = done; i < std::min(done + 1000, count); ++i) bench::keep(x[0] + x[1]);
            }
          },
          [x] { return results(x[0] + x[1]); }};
}

// Steps of Adam on the first half of the inputs with the second half as their gradients. The result is that of the first step.
Workload adam_steps(const Tensors& x) {
  struct Training {
    explicit Training(const Tensors& inputs) {
      for (std::size_t i = 0; i < inputs.size() / 2; ++i) {
        variables.emplace_back(identity(inputs[i]));
        gradients.emplace_back(inputs[inputs.size() / 2 + i]);
      }
    }
    void step() { adam.apply(gradients, variables); }
    std::vector<Variable> variables;
    std::vector<Grad> gradients;
    Adam adam{{.learning_rate = 1e-3f}};
  };
  return {[training = std::make_shared<Training>(x)](long count) {
            for (long i = 0; i < count; ++i) training->step();
          },
          [x] {
            Training training(x);
            training.step();
            return results(Tensors(training.variables.begin(), training.variables.end()));
          }};
}

Workload read_variable(const Tensors& x) {
  const Variable v(x[0]);
  return {[v](long count) {
            for (long i = 0; i < count; ++i) bench::keep(v.value());
          },
          [v] { return results(v.value()); }};
}

// Adds 1 to the variable `count` times, in equal parts by some threads.
void add_ones(const Variable& variable, long count, int threads) {
  auto add = [v = variable](long times) mutable {
    for (long i = 0; i < times; ++i) v.assign_add(1.f);
  };
  if (threads == 1) return add(count);
  std::vector<std::jthread> all;
  for (int t = 0; t < threads; ++t) all.emplace_back(add, count * (t + 1) / threads - count * t / threads);
}

template <int threads>
Workload assign_add(const Tensors& x) {
  return {[v = Variable(identity(x[0]))](long count) { add_ones(v, count, threads); },
          [x] {
            const Variable v(identity(x[0]));
            add_ones(v, 800, threads);
            return results(v.value());
          }};
}

// Calls of a Function of the first input, which has been traced before.
Workload calls(Function<Tensor(Tensor)> f, const Tensor& x) {
  return {[f, x](long count) {
            for (long i = 0; i < count; ++i) bench::keep(f(x));
          },
          [f, x] { return results(f(x)); }};
}

Workload traced_assign_add(const Tensors& x) {
  struct Adding {
    explicit Adding(const Tensor& start) : total(identity(start)) {}
    Variable total;
    Function<void(Tensor)> add = [this](Tensor value) { total.assign_add(value); };
  };
  return {[adding = std::make_shared<Adding>(x[0]), one = ones({})](long count) {
            for (long i = 0; i < count; ++i) adding->add(one);
          },
          [x] {
            Adding adding(x[0]);
            for (int i = 0; i < 800; ++i) adding.add(ones({}));
            return results(adding.total.value());
          }};
}

// `count` multiplications and additions, each of what the one before gave.
Tensor chain(const Tensor& x, std::int64_t count) {
  Tensor y = x;
  for (std::int64_t i = 0; i < count; ++i) y = i % 2 == 0 ? y * x : y + x;
  return y;
}

// The sum of x / count, 2 x / count and so on as a tree of `count` calls.
Tensor tree(const Tensor& x, std::int64_t count) {
  Tensors row;
  for (std::int64_t i = 0; i < count / 2 + 1; ++i) row.push_back(x * (static_cast<float>(i) / static_cast<float>(count)));
  while (row.size() > 1) {
    Tensors above;
    for (std::size_t i = 0; i + 1 < row.size(); i += 2) above.push_back(row[i] + row[i + 1]);
    if (row.size() % 2 == 1) above.push_back(row.back());
    row = std::move(above);
  }
  return row[0];
}

// A new Function of one scalar and its first call. The program has as many calls as the second input has elements.
template <Tensor (*program)(const Tensor&, std::int64_t)>
Workload first_call(const Tensors& x) {
  const auto call = [scalar = x[0], count = x[1].size()] {
    const Function f = [count](Tensor value) { return program(value, count); };
    return f(scalar);
  };
  return {[call](long count) {
            for (long i = 0; i < count; ++i) bench::keep(call());
          },
          [call] { return results(call()); }};
}

// The first input plus all others: Variables that a Function has captured, or (the same kernels) the input itself as often.
template <bool captured>
Workload traced_sum(const Tensors& x) {
  const std::vector<Variable> others(x.begin() + 1, x.end());
  return calls([others](Tensor y) {
    const Tensor first = y;
    for (const Variable& other : others) y = captured ? y + other : y + first;
    return y;
  }, x[0]);
}

template <class Tree>
Workload snapshots(const Tree& tree) {
  return {[tree](long count) {
            for (long i = 0; i < count; ++i) bench::keep(snapshot(tree));
          },
          [tree] {
            const Snapshot now = snapshot(tree);
            return results(Tensors(now.values().begin(), now.values().end()));
          }};
}

struct Dense {
  Variable weight, bias;
  Tensor operator()(const Tensor& x) const { return matmul(x, weight) + bias; }
};
struct Pair {
  Dense first, second;
};
struct Pairs {
  std::vector<Pair> pairs;
};

Workload snapshot_of_list(const Tensors& x) { return snapshots(std::vector<Variable>(x.begin(), x.end())); }
Workload snapshot_of_tree(const Tensors& x) {
  Pairs tree;
  for (std::size_t i = 0; i + 4 <= x.size(); i += 4)
    tree.pairs.push_back({{Variable(x[i]), Variable(x[i + 1])}, {Variable(x[i + 2]), Variable(x[i + 3])}});
  return snapshots(tree);
}

struct Mlp {
  std::vector<Dense> hidden;
  Dense top;
  Tensor operator()(Tensor x) const {
    for (const Dense& layer : hidden) x = relu(layer(x));
    return top(x);
  }
};

// Training: images, labels, then the weight and bias of each layer. The result is the losses of the first 20 steps.
class MlpTraining {
 public:
  explicit MlpTraining(const Tensors& x, bool traced, std::vector<std::string> without = {})
      : options_{.without = std::move(without)}, images_(unstack(x[0])), labels_(unstack(x[1])), traced_(traced) {
    for (std::size_t i = 2; i + 2 < x.size(); i += 2) net_.hidden.push_back({own(x[i]), own(x[i + 1])});
    net_.top = {own(x[x.size() - 2]), own(x.back())};
  }

  Tensor step() {
    const std::size_t i = step_++;
    const Tensor &images = images_[i % images_.size()], &labels = labels_[i % labels_.size()];
    return traced_ ? traced_step_(images, labels) : step_on(images, labels);
  }

 private:
  static Variable own(const Tensor& x) { return Variable(identity(x)); }
  Tensor step_on(const Tensor& images, const Tensor& labels) {
    GradientTape tape;
    const Tensor loss = mean(sparse_softmax_cross_entropy(labels, net_(images)));
    adam_.apply(tape.gradient(loss, net_), net_);
    return loss;
  }
  const FunctionOptions options_;
  std::vector<Tensor> images_, labels_;
  Mlp net_{{}, {Variable(0.f), Variable(0.f)}};
  Adam adam_{{.learning_rate = 1e-3f, .epsilon = 1e-7}};
  std::size_t step_ = 0;
  const bool traced_;
  Function<Tensor(Tensor, Tensor)> traced_step_{[this](Tensor images, Tensor labels) { return step_on(images, labels); }, options_};
};

// On how many threads, and without which passes over what was traced.
Op mlp(bool traced, int threads = 2, std::vector<std::string> without = {}) {
  return [=](const Tensors& x) -> Workload {
    return {[training = std::make_shared<MlpTraining>(x, traced, without), threads](long count) {
              if (threads == 1) set_num_threads(1);
              for (long i = 0; i < count; ++i) bench::keep(training->step());
            },
            [=] {
              MlpTraining training(x, traced, without);
              std::vector<float> losses;
              for (int i = 0; i < 20; ++i) losses.push_back(training.step().item<float>());
              return std::vector<std::vector<float>>{losses};
            }};
  };
}

// 100,000 turns of a loop over two scalars, as one call.
Workload while_turns(const Tensors& x) {
  const Function<Tensor(Tensor)> f = [](Tensor start) {
    return std::get<1>(while_loop([](Tensor turn, Tensor) { return turn < 100'000; },
                                  [](Tensor turn, Tensor value) { return std::tuple{turn + 1, value * 0.9999f}; }, std::tuple{0, start}));
  };
  return calls(f, x[0]);
}

Workload traced_expression(const Tensors& x) {
  const Function<Tensor(Tensor, Tensor, Tensor, Tensor, Tensor)> f = [](Tensor a, Tensor b, Tensor c, Tensor y, Tensor z) {
    return relu(a * y + b) * y + c * z;
  };
  return {[f, x](long count) {
            for (long i = 0; i < count; ++i) bench::keep(f(x[0], x[1], x[2], x[3], x[4]));
          },
          [f, x] { return results(f(x[0], x[1], x[2], x[3], x[4])); }};
}

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
      {"assign_add", assign_add<1>},
      {"assign_add_by_8_threads", assign_add<8>},
      {"traced_assign_add", traced_assign_add},
      {"traced_identity", [](const Tensors& x) { return calls([](Tensor y) { return y; }, x[0]); }},
      {"traced_chain", [](const Tensors& x) { return calls([](Tensor y) { return chain(y, 10); }, x[0]); }},
      {"traced_sum_of_variables", traced_sum<true>},
      {"traced_sum_of_input", traced_sum<false>},
      {"first_call_of_chain", first_call<chain>},
      {"first_call_of_tree", first_call<tree>},
      {"snapshot_of_list", snapshot_of_list},
      {"snapshot_of_tree", snapshot_of_tree},
      {"mlp", mlp(false)},
      {"traced_mlp", mlp(true)},
      {"traced_mlp_on_1_thread", mlp(true, 1)},
      {"traced_mlp_with_all_passes", mlp(true)},
      {"traced_mlp_without_fold_constants", mlp(true, 2, {"fold_constants"})},
      {"traced_mlp_without_simplify", mlp(true, 2, {"simplify"})},
      {"traced_mlp_without_share_equal", mlp(true, 2, {"share_equal"})},
      {"traced_mlp_without_drop_dead", mlp(true, 2, {"drop_dead"})},
      {"traced_mlp_without_fuse", mlp(true, 2, {"fuse"})},
      {"while_turns", while_turns},
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
  const auto found = ops().find(name);
  if (found == ops().end()) throw std::runtime_error("there is no workload " + name);
  Tensors inputs;
  unsigned seed = 0;
  for (const bench::Input& input : bench::parse_inputs(words)) {
    Shape shape;
    for (const std::int64_t size : input.shape) shape.append(size);
    ++seed;
    inputs.push_back(input.is_float ? Tensor(input.floats(seed), shape) : Tensor(input.integers(seed), shape));
  }
  return found->second(inputs);
}

}  // namespace

int main(int argc, char** argv) { return bench::serve(argc, argv, "this tree", make); }
