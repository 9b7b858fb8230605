// README's trainer, written for LibTorch: what it takes to compile.
#include <torch/torch.h>

struct Line : torch::nn::Module {
  torch::Tensor slope = register_parameter("slope", torch::zeros({})), offset = register_parameter("offset", torch::zeros({}));
};

int main() {
  Line line;
  torch::optim::Adam adam(line.parameters(), torch::optim::AdamOptions(0.1));
  const auto step = [&](const torch::Tensor& x, const torch::Tensor& y) {
    adam.zero_grad();
    torch::Tensor loss = torch::mean(torch::square(line.slope * x + line.offset - y));
    loss.backward();
    adam.step();
    return loss;
  };
  const torch::Tensor x = torch::linspace(-1, 1, 100), y = 3 * x - 0.5;
  for (int i = 0; i < 300; ++i) step(x, y);
  static_cast<torch::optim::AdamOptions&>(adam.param_groups()[0].options()).lr(0.01);
  for (int i = 0; i < 100; ++i) step(x, y);
  std::cout << line.slope.item<float>() << " " << line.offset.item<float>() << "\n";
}
