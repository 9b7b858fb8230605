// LibTorch as a contestant: the same C++ program as ours, written for it. Built by install_peers.py.
#include <ATen/Parallel.h>
#include <torch/torch.h>

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

// Images, labels, then the weight and bias of each layer. The result is the losses of the first 20 steps.
class MlpTraining {
 public:
  explicit MlpTraining(const Tensors& x) : images_(x[0].unbind()), labels_(x[1].unbind()) {
    for (std::size_t i = 2; i < x.size(); i += 2) {
      torch::nn::Linear layer(x[i].size(0), x[i].size(1));
      const torch::NoGradGuard no_gradients;
      layer->weight.copy_(x[i].t());
      layer->bias.copy_(x[i + 1]);
      if (i > 2) net_->push_back(torch::nn::ReLU());
      net_->push_back(layer);
    }
    parameters_ = net_->parameters();
    adam_ = std::make_unique<torch::optim::Adam>(parameters_, torch::optim::AdamOptions(1e-3).eps(1e-7));
  }

  Tensor step() {
    const std::size_t i = step_++;
    const Tensor loss = torch::cross_entropy_loss(net_->forward(images_[i % images_.size()]), labels_[i % labels_.size()]);
    for (const Tensor& parameter : parameters_) parameter.mutable_grad().reset();
    loss.backward();
    adam_->step();
    return loss;
  }

 private:
  Tensors images_, labels_, parameters_;
  torch::nn::Sequential net_;
  std::unique_ptr<torch::optim::Adam> adam_;
  std::size_t step_ = 0;
};

Workload mlp(Tensors x) {
  return {[training = std::make_shared<MlpTraining>(x)](long count) {
            for (long i = 0; i < count; ++i) bench::keep(training->step());
          },
          [=] {
            MlpTraining training(x);
            Tensors losses;
            for (int i = 0; i < 20; ++i) losses.push_back(training.step().detach());
            return results(torch::stack(losses));
          }};
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
      {"mlp", mlp},
      {"traced_mlp", mlp},
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
