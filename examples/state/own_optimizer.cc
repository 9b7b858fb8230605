// An optimizer of one's own: what it keeps beside each Variable, and how one Variable moves, in ordinary ops. Everything else comes with it:
// slots, clipping, schedules, traced steps, one transaction for all Variables.
#include <weft/weft.h>

using namespace weft;

// Each number has a step size of its own, which grows while its gradient keeps its sign and shrinks when that changes.
struct SignSteps : Optimizer {
  explicit SignSteps(OptimizerOptions options = {}) : Optimizer("SignSteps", options, {"size", "last"}) {}

  Tensor update(const Tensor& x, const Tensor& g, std::span<Tensor> kept, const Moment& now) override {
    Tensor &size = kept[0], &last = kept[1];      // zeros at first
    Tensor agreement = g * last;
    size = where(size == 0.f, now.learning_rate, where(agreement > 0.f, size * 1.2f, where(agreement < 0.f, size * 0.5f, size)));
    last = g;
    return x - sign(g) * size;
  }
};

struct Net {
  Variable weight{{5.f, -3.f}}, bias{1.f};
};

int main() {
  Net net;
  SignSteps optimizer{{.learning_rate = 0.1f}};
  Function step{[&] {
                  GradientTape tape;
                  Tensor loss = sum(square(net.weight)) + square(net.bias - 2);
                  optimizer.apply(tape.gradient(loss, net), net);
                  return loss;
                },
                {.name = "step"}};

  for (int i = 0; i <= 60; ++i) {
    Tensor loss = step();
    if (i % 20 == 0) print("step {:>2}: loss {:.5f}", i, loss);
  }
  print("kept beside weight: {} and {}", optimizer.slots.at("weight").at("size").spec(), optimizer.slots.at("weight").at("last").spec());
  print("traces: {}", step.explain().traced);
}

/* prints:
step  0: loss 35.00000
step 20: loss 0.00636
step 40: loss 0.00000
step 60: loss 0.00000
kept beside weight: f32[2] and f32[2]
traces: 1
*/
