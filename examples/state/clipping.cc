// Gradients are clipped by value, each by its norm, or all together by their global norm; by hand, or by an option of the optimizer.
#include <weft/weft.h>

using namespace weft;

struct Net {
  Variable weight{{3.f, 4.f}, {.name = "weight"}};
  Variable bias{12.f, {.name = "bias"}};

  Tensor loss() const { return (sum(square(weight)) + square(bias)) / 2; }  // its gradients are the values themselves
};

int main() {
  Net net;
  GradientTape tape;
  std::vector<Tensor> gradients = tape.gradient(net.loss(), {net.weight, net.bias});
  print("gradients:      {}, {}", gradients[0], gradients[1]);
  print("by value:       {}, {}", clip_by_value(gradients[0], -3.5f, 3.5f), clip_by_value(gradients[1], -3.5f, 3.5f));
  print("by norm:        {}, {}", clip_by_norm(gradients[0], 2.5), clip_by_norm(gradients[1], 2.5));
  std::vector<Tensor> together = clip_by_global_norm(gradients, 6.5);
  print("by global norm: {}, {}; it was {}", together[0], together[1], together[2]);

  for (SGDOptions options : {SGDOptions{.learning_rate = 1.f, .clipvalue = 3.5}, SGDOptions{.learning_rate = 1.f, .clipnorm = 2.5},
                             SGDOptions{.learning_rate = 1.f, .global_clipnorm = 6.5}}) {
    Net own;
    SGD sgd{options};
    Function step{[&] {
                    auto [loss, own_gradients] = value_and_gradient([&] { return own.loss(); }, own);
                    sgd.apply(own_gradients, own);
                  },
                  {.name = "step"}};
    step();
    print("after a traced step: {}, {}", own.weight.value(), own.bias.value());
  }
}

/* prints:
gradients:      [3. 4.] f32[2], 12.0
by value:       [3.  3.5] f32[2], 3.5
by norm:        [1.5 2. ] f32[2], 2.5
by global norm: [1.5 2. ] f32[2], 6.0; it was 13.0
after a traced step: [0.  0.5] f32[2], 8.5
after a traced step: [1.5 2. ] f32[2], 9.5
after a traced step: [1.5 2. ] f32[2], 6.0
*/
