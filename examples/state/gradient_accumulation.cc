// Four small batches make one step, with the mean of their gradients: by hand, and by an option of the optimizer. Both are traced once.
#include <weft/weft.h>

using namespace weft;

struct ByHand {
  Variable weight{1.f, {.name = "weight"}};
  Variable sum{0.f, {.name = "sum", .trainable = false}};
  Variable batches{0, {.name = "batches"}};

  void step(Tensor x) {
    GradientTape tape;
    Tensor loss = weight * x;
    sum.assign_add(tape.gradient(loss, weight));
    batches.assign_add(1);
    cond(batches % 4 == 0, [&] { weight.assign_sub(0.125f * sum / 4), sum.assign(0); }, [] {});
  }
};

struct ByOption {
  Variable weight{1.f, {.name = "weight"}};
  SGD sgd{{.learning_rate = 0.125f, .gradient_accumulation_steps = 4}};

  void step(Tensor x) {
    GradientTape tape;
    Tensor loss = weight * x;
    sgd.apply({tape.gradient(loss, weight)}, {weight});
  }
};

int main() {
  ByHand by_hand;
  ByOption by_option;
  Function first{[&](Tensor x) { by_hand.step(x); }, {.name = "first", .args = {"x"}}};
  Function second{[&](Tensor x) { by_option.step(x); }, {.name = "second", .args = {"x"}}};

  for (int batch = 1; batch <= 8; ++batch) {
    first(static_cast<float>(batch));
    second(static_cast<float>(batch));
    print("batch {}: {} {}", batch, by_hand.weight.value(), by_option.weight.value());
  }
  print("steps: {}, traces: {} {}", by_option.sgd.steps(), first.explain().traced, second.explain().traced);
}

/* prints:
batch 1: 1.0 1.0
batch 2: 1.0 1.0
batch 3: 1.0 1.0
batch 4: 0.6875 0.6875
batch 5: 0.6875 0.6875
batch 6: 0.6875 0.6875
batch 7: 0.6875 0.6875
batch 8: -0.125 -0.125
steps: 2, traces: 1 1
*/
