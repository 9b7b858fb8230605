// LibTorch as a contestant: the same C++ program as ours, written for it. Built by install_peers.py.
#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>

#include "protocol.h"

namespace {

using bench::Workload;
using torch::Tensor;
using Tensors = std::vector<Tensor>;
using Op = std::function<Workload(Tensors)>;

const bool best_effort = std::getenv("WEFT_BENCH_VARIANT") != nullptr && std::string(std::getenv("WEFT_BENCH_VARIANT")) == "best effort";

std::vector<std::vector<float>> results(const Tensors& ys) {
  std::vector<std::vector<float>> all;
  for (const Tensor& y : ys) {
    const Tensor dense = y.detach().contiguous();
    all.emplace_back(dense.data_ptr<float>(), dense.data_ptr<float>() + dense.numel());
  }
  return all;
}
std::vector<std::vector<float>> results(const Tensor& y) { return results(Tensors{y}); }

// `restore` brings results into the layout of the protocol; it is no part of the time.
template <class F, class Restore>
Op op(F f, Restore restore) {
  return [=](Tensors x) -> Workload {
    return {[=](long count) {
              const torch::NoGradGuard no_gradients;
              const c10::InferenceMode inference(best_effort);
              for (long i = 0; i < count; ++i) bench::keep(f(x));
            },
            [=] { return results(restore(f(x))); }};
  };
}
template <class F>
Op op(F f) {
  return op(f, [](const auto& y) { return y; });
}

template <class F>
Op both_ways(F f) {
  return [=](Tensors x) -> Workload {
    Tensors sources;
    for (std::size_t i = 0; i + 1 < x.size(); ++i)
      if (x[i].is_floating_point()) sources.push_back(x[i].requires_grad_());
    const auto once = [=] {
      const Tensor y = f(x);
      Tensors all = torch::autograd::grad({y}, sources, {x.back()});
      all.insert(all.begin(), y);
      return all;
    };
    return {[=](long count) {
              for (long i = 0; i < count; ++i) bench::keep(once());
            },
            [=] { return results(once()); }};
  };
}

Workload recorded_add(Tensors x) {
  x[0].requires_grad_();
  return {[x](long count) {
            for (long i = 0; i < count; ++i) bench::keep(x[0] + x[1]);
          },
          [x] { return results(x[0] + x[1]); }};
}

// In one thread only: nothing is promised about several that change one Tensor.
Workload assign_add(Tensors x) {
  const auto add_ones = [](const Tensor& v, long count) {
    const torch::NoGradGuard no_gradients;
    const c10::InferenceMode inference(best_effort);
    for (long i = 0; i < count; ++i) v.add_(1);
  };
  return {[=, v = x[0].clone()](long count) { add_ones(v, count); },
          [=] {
            const Tensor v = x[0].clone();
            add_ones(v, 800);
            return results(v);
          }};
}

// One pass back for each of the outputs, of the sum over the batch: nothing here goes back for many at once.
Workload batch_jacobian(Tensors x) {
  const auto once = [=] {
    const Tensor in = x[0].detach().requires_grad_(), out = torch::tanh(torch::tanh(in.matmul(x[1])).matmul(x[2]));
    Tensors rows;
    for (std::int64_t i = 0; i < out.size(1); ++i) rows.push_back(torch::autograd::grad({out.select(1, i).sum()}, {in}, {}, true)[0]);
    return torch::stack(rows, 1);
  };
  return {[=](long count) {
            for (long i = 0; i < count; ++i) bench::keep(once());
          },
          [=] { return results(once()); }};
}

// 100,000 turns of a loop over two scalars.
Tensor while_turns(const Tensors& x) {
  Tensor turn = torch::zeros({}, torch::kInt), value = x[0];
  for (; (turn < 100'000).item<bool>(); turn = turn + 1) value = value * 0.9999;
  return value;
}

Tensor layer_norm(const Tensors& x) { return torch::layer_norm(x[0], {x[0].size(-1)}, x[1], x[2], 1e-3); }
Tensor cross_entropy(const Tensors& x) {
  return torch::cross_entropy_loss(x[1], x[0].to(torch::kLong), {}, at::Reduction::None);
}
Tensor softmax(const Tensors& x) { return torch::softmax(x[0], -1); }
Tensor gelu(const Tensors& x) { return torch::gelu(x[0]); }

// Images are NHWC and filters HWIO in the protocol; here they are NCHW and OIHW, stored channels last with best effort.
Tensor stored(const Tensor& x) { return x.contiguous(best_effort ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous); }
Tensor image(const Tensor& x) { return stored(x.permute({0, 3, 1, 2})); }
Tensor filter(const Tensor& x) { return stored(x.permute({3, 2, 0, 1})); }
Tensor nhwc(const Tensor& x) { return x.permute({0, 2, 3, 1}); }
Tensor hwio(const Tensor& x) { return x.permute({2, 3, 1, 0}); }

// Two streams of batches, then the parameters, as `stored` makes them; the loss of one batch; an optimizer. The result is the losses of the
// first 20 steps.
using Loss = Tensor (*)(const Tensors& parameters, const Tensor& inputs, const Tensor& labels);
using Rule = std::unique_ptr<torch::optim::Optimizer> (*)(const Tensors& parameters);

class Training {
 public:
  Training(const Tensors& x, Tensors (*stored)(Tensors), Loss loss, Rule rule)
      : inputs_(x[0].unbind()), labels_(x[1].unbind()), loss_(loss) {
    for (const Tensor& parameter : stored({x.begin() + 2, x.end()})) parameters_.push_back(parameter.clone().requires_grad_());
    rule_ = rule(parameters_);
  }

  Tensor step() {
    const std::size_t i = step_++;
    const Tensor loss = loss_(parameters_, inputs_[i % inputs_.size()], labels_[i % labels_.size()]);
    for (const Tensor& parameter : parameters_) parameter.mutable_grad().reset();
    loss.backward();
    rule_->step();
    return loss.detach();
  }

 private:
  Tensors inputs_, labels_, parameters_;
  Loss loss_;
  std::unique_ptr<torch::optim::Optimizer> rule_;
  std::size_t step_ = 0;
};

template <class Make>
Workload steps(Make begin) {
  return {[all = begin()](long count) {
            for (long i = 0; i < count; ++i) bench::keep(all->step());
          },
          [begin] {
            const auto all = begin();
            Tensors losses;
            for (int i = 0; i < 20; ++i) losses.push_back(all->step());
            return results(torch::stack(losses));
          }};
}
Workload training(const Tensors& x, Tensors (*stored)(Tensors), Loss loss, Rule rule) {
  return steps([=] { return std::make_shared<Training>(x, stored, loss, rule); });
}

// Weights of dense layers are [outputs, inputs] here.
Tensors dense(Tensors x) {
  for (Tensor& v : x)
    if (v.dim() == 2) v = v.t().contiguous();
  return x;
}

Tensor layers(Tensor x, const Tensor* p, const Tensor* end) {
  for (; p + 2 < end; p += 2) x = torch::relu(torch::linear(x, p[0], p[1]));
  return torch::linear(x, p[0], p[1]);
}

template <int exponent>  // of epsilon
std::unique_ptr<torch::optim::Optimizer> adam(const Tensors& parameters) {
  return std::make_unique<torch::optim::Adam>(parameters, torch::optim::AdamOptions(1e-3).eps(std::pow(10, exponent)));
}
std::unique_ptr<torch::optim::Optimizer> adamw(const Tensors& parameters) {
  return std::make_unique<torch::optim::AdamW>(parameters, torch::optim::AdamWOptions(1e-3).eps(1e-8).weight_decay(0.01));
}
std::unique_ptr<torch::optim::Optimizer> sgd(const Tensors& parameters) {
  return std::make_unique<torch::optim::SGD>(parameters, torch::optim::SGDOptions(0.01).momentum(0.9));
}

// Adam on the first half with the second half as gradients; the result is that of the first step.
Workload adam_steps(Tensors x) {
  struct Steps {
    explicit Steps(const Tensors& inputs) {
      for (std::size_t i = 0; i < inputs.size() / 2; ++i) {
        parameters.push_back(inputs[i].clone().requires_grad_());
        parameters.back().mutable_grad() = inputs[inputs.size() / 2 + i];
      }
      rule = adam<-7>(parameters);
    }
    Tensors parameters;
    std::unique_ptr<torch::optim::Optimizer> rule;
  };
  return {[steps = std::make_shared<Steps>(x)](long count) {
            for (long i = 0; i < count; ++i) steps->rule->step();
          },
          [x] {
            Steps steps(x);
            steps.rule->step();
            return results(steps.parameters);
          }};
}

Workload mlp(Tensors x) {
  return training(x, dense, [](const Tensors& p, const Tensor& images, const Tensor& labels) {
    return torch::cross_entropy_loss(layers(images, p.data(), p.data() + p.size()), labels);
  }, adam<-7>);
}

Tensors cnn_parameters(Tensors x) {
  for (std::size_t i = 0; i < 8; i += 2) x[i] = filter(x[i]);
  x[8] = x[8].reshape({8, 8, 64, -1}).permute({2, 0, 1, 3}).reshape({8 * 8 * 64, -1});  // pixels come in another order
  return dense(x);
}
Tensor cnn_loss(const Tensors& p, const Tensor& images, const Tensor& labels) {
  const auto conv = [&](const Tensor& x, std::size_t i) { return torch::relu(torch::conv2d(x, p[2 * i], p[2 * i + 1], 1, 1)); };
  Tensor x = torch::max_pool2d(conv(conv(images, 0), 1), 2);
  x = torch::max_pool2d(conv(conv(x, 2), 3), 2);
  return torch::cross_entropy_loss(layers(x.flatten(1), p.data() + 8, p.data() + p.size()), labels);
}
Workload cnn(Tensors x) {
  x[0] = x[0].permute({0, 1, 4, 2, 3});  // still stored channels last
  if (!best_effort) x[0] = x[0].contiguous();
  return training(x, cnn_parameters, cnn_loss, sgd);
}

// Numbers, ids of rows and labels, eight tables, then the layers. By default the tables have sparse gradients; with best effort only the rows that are
// named take part, as in torch_models.py.
class Recommender {
 public:
  explicit Recommender(const Tensors& x) : numbers_(x[0].unbind()), ids_(x[1].unbind()), clicked_(x[2].to(torch::kFloat).unbind()) {
    for (std::size_t i = 3; i < 11; ++i) tables_.push_back(x[i].clone().requires_grad_(!best_effort));
    for (const Tensor& v : dense({x.begin() + 11, x.end()})) layers_.push_back(v.clone().requires_grad_());
    Tensors all = layers_;
    if (!best_effort) all.insert(all.end(), tables_.begin(), tables_.end());
    else for (const Tensor& table : tables_) squares_.push_back(torch::full_like(table, 0.1));
    rule_ = std::make_unique<torch::optim::Adagrad>(all, torch::optim::AdagradOptions(0.01).initial_accumulator_value(0.1).eps(1e-7));
  }

  Tensor step() {
    const std::size_t i = step_++;
    const Tensors ids = ids_[i % ids_.size()].unbind();
    Tensors parts{numbers_[i % numbers_.size()]};
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      if (best_effort) parts.push_back(tables_[t].index_select(0, ids[t]).requires_grad_());
      else parts.push_back(torch::embedding(tables_[t], ids[t], -1, false, true));
    }
    const Tensor scores = layers(torch::cat(parts, 1), layers_.data(), layers_.data() + layers_.size()).select(1, 0);
    const Tensor loss = torch::binary_cross_entropy_with_logits(scores, clicked_[i % clicked_.size()]);
    rule_->zero_grad();
    loss.backward();
    if (best_effort) change(ids, parts);
    rule_->step();
    return loss.detach();
  }

 private:
  void change(const Tensors& ids, const Tensors& parts) {
    const torch::NoGradGuard no_gradients;
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      const Tensor& g = parts[t + 1].grad();
      squares_[t].index_add_(0, ids[t], g * g);
      tables_[t].index_add_(0, ids[t], g * torch::rsqrt(squares_[t].index_select(0, ids[t]) + 1e-7), -0.01);
    }
  }

  Tensors numbers_, ids_, clicked_, tables_, layers_, squares_;
  std::unique_ptr<torch::optim::Optimizer> rule_;
  std::size_t step_ = 0;
};
Workload recommender(Tensors x) {
  return steps([=] { return std::make_shared<Recommender>(x); });
}

Tensor lstm_loss(const Tensors& p, const Tensor& sequences, const Tensor& labels) {
  const Tensor start = torch::zeros({1, sequences.size(1), p[1].size(1)});
  const auto all = torch::lstm(sequences, {start, start}, {p[0], p[1], p[2], torch::zeros_like(p[2])}, true, 1, 0.0, true, false, false);
  return torch::cross_entropy_loss(torch::linear(std::get<1>(all)[0], p[3], p[4]), labels);
}
Workload lstm(Tensors x) { return training(x, dense, lstm_loss, adam<-8>); }

Tensors gpt_parameters(Tensors x) {
  Tensors all = dense({x.begin() + 2, x.end()});
  all.insert(all.begin(), x.begin(), x.begin() + 2);
  return all;
}
Tensor gpt_loss(const Tensors& p, const Tensor& text, const Tensor& following) {
  constexpr std::int64_t kHeads = 4;
  const std::int64_t batch = text.size(0), time = text.size(1), width = p[0].size(1);
  const auto norm = [&](const Tensor& x, const Tensor* of) { return torch::layer_norm(x, {width}, of[0], of[1], 1e-5); };
  const Tensor mask = torch::full({time, time}, -1e9f).triu(1);
  Tensor x = torch::embedding(p[0], text) + p[1];
  std::size_t i = 2;
  for (; i + 3 < p.size(); i += 12) {
    const Tensor* of = &p[i];
    const Tensors qkv = torch::linear(norm(x, of), of[2], of[3]).view({batch, time, 3, kHeads, -1}).permute({2, 0, 3, 1, 4}).unbind();
    const Tensor scores = torch::matmul(qkv[0], qkv[1].transpose(-1, -2)) * (1 / std::sqrt(static_cast<double>(width / kHeads))) + mask;
    const Tensor seen = torch::matmul(torch::softmax(scores, -1), qkv[2]).transpose(1, 2).reshape({batch, time, width});
    x = x + torch::linear(seen, of[4], of[5]);
    x = x + torch::linear(torch::gelu(torch::linear(norm(x, of + 6), of[8], of[9]), "tanh"), of[10], of[11]);
  }
  return torch::cross_entropy_loss(torch::linear(norm(x, &p[i]), p[i + 2]).view({batch * time, -1}), following.reshape(-1));
}
Workload gpt(Tensors x) { return training(x, gpt_parameters, gpt_loss, adamw); }

Tensor conv_backward(const Tensor& dy, const Tensor& x, const Tensor& w, bool to_input) {
  const auto all = at::convolution_backward(dy, x, w, c10::nullopt, {1, 1}, {1, 1}, {1, 1}, false, {0, 0}, 1, {to_input, !to_input, false});
  return to_input ? std::get<0>(all) : std::get<1>(all);
}

template <class Prepare>
Op prepared(Prepare prepare, Op then) {
  return [=](Tensors x) { return then(prepare(x)); };
}

std::map<std::string, Op> ops() {
  const auto forward = [](const Tensors& x) { return Tensors{image(x[0]), filter(x[1])}; };
  const auto to_input = [](const Tensors& x) { return Tensors{image(x[0]), filter(x[1]), image(x[2])}; };
  const auto to_filter = [](const Tensors& x) { return Tensors{image(x[0]), image(x[1]), filter(x[2])}; };
  return {
      {"eager_add", op([](const Tensors& x) { return x[0] + x[1]; })},
      {"add", op([](const Tensors& x) { return x[0] + x[1]; })},
      {"recorded_add", recorded_add},
      {"assign_add", assign_add},
      {"while_turns", op(while_turns)},
      {"batch_jacobian", batch_jacobian},
      {"adam", adam_steps},
      {"mlp", mlp},
      {"traced_mlp", mlp},
      {"cnn", cnn},
      {"recommender", recommender},
      {"lstm", lstm},
      {"gpt", gpt},
      {"multiply", op([](const Tensors& x) { return x[0] * x[1]; })},
      {"relu", op([](const Tensors& x) { return torch::relu(x[0]); })},
      {"expression", op([](const Tensors& x) { return torch::relu(x[0] * x[3] + x[1]) * x[3] + x[2] * x[4]; })},
      {"exp", op([](const Tensors& x) { return torch::exp(x[0]); })},
      {"log", op([](const Tensors& x) { return torch::log(x[0]); })},
      {"tanh", op([](const Tensors& x) { return torch::tanh(x[0]); })},
      {"erf", op([](const Tensors& x) { return torch::erf(x[0]); })},
      {"gelu", op(gelu)},
      {"gelu_both", both_ways(gelu)},
      {"softmax", op(softmax)},
      {"softmax_both", both_ways(softmax)},
      {"softmax_backward", op([](const Tensors& x) { return at::_softmax_backward_data(x[1], x[0], -1, torch::kFloat); })},
      {"layer_norm", op(layer_norm)},
      {"layer_norm_both", both_ways(layer_norm)},
      {"cross_entropy", op(cross_entropy)},
      {"cross_entropy_both", both_ways(cross_entropy)},
      {"sum_axis_0", op([](const Tensors& x) { return x[0].sum(0); })},
      {"sum_axis_1", op([](const Tensors& x) { return x[0].sum(1); })},
      {"sum_all", op([](const Tensors& x) { return x[0].sum(); })},
      {"matmul", op([](const Tensors& x) { return torch::matmul(x[0], x[1]); })},
      {"conv", prepared(forward, op([](const Tensors& x) { return torch::conv2d(x[0], x[1], {}, 1, 1); }, nhwc))},
      {"conv_input", prepared(to_input, op([](const Tensors& x) { return conv_backward(x[0], x[2], x[1], true); }, nhwc))},
      {"conv_filter", prepared(to_filter, op([](const Tensors& x) { return conv_backward(x[1], x[0], x[2], false); }, hwio))},
  };
}

Workload make(const std::string& name, const std::vector<std::string>& words) {
  static const std::map<std::string, Op> table = ops();
  if (name == "start") return bench::start_this_program();
  if (name == "once") return bench::start_once(words);
  const auto found = table.find(name);
  if (found == table.end()) throw std::runtime_error("there is no workload " + name);
  Tensors inputs;
  unsigned seed = 0;
  for (const bench::Input& input : bench::parse_inputs(words)) {
    ++seed;
    if (input.is_float()) {
      inputs.push_back(torch::tensor(input.floats(seed)).reshape(input.shape));
    } else {
      inputs.push_back(torch::tensor(input.integers(seed), torch::kInt).reshape(input.shape).to(torch::kLong));
    }
  }
  return found->second(inputs);
}

}  // namespace

int main(int argc, char** argv) {
  at::set_num_threads(std::atoi(std::getenv("OMP_NUM_THREADS") ? std::getenv("OMP_NUM_THREADS") : "2"));
  if (best_effort) at::globalContext().setFlushDenormal(true);
  return bench::serve(argc, argv, TORCH_VERSION, make);
}
