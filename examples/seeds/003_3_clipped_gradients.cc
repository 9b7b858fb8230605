// A training loop of one's own: gradients are clipped before the step, and the Variable is moved by hand after it; as written, then as one traced step.
#include <weft/weft.h>

using namespace weft;

struct Training {
  Variable my_var{1.f, {.name = "my_var"}};
  SGD optimizer{{.learning_rate = 0.01f}};

  void step() {
    GradientTape tape;
    Tensor loss = pow(my_var, 2.f);
    Tensor grad = tape.gradient(loss, my_var);
    Tensor clipped_grad = clip_by_value(grad, -0.5f, 0.5f);
    optimizer.apply({clipped_grad}, {my_var});
    my_var.assign_sub(0.1f);                      // after clipping and the gradient update
  }
};

int main() {
  Training training;
  for (int epoch = 0; epoch < 10; ++epoch) {
    training.step();
    print("Epoch {}: Variable value = {:.7f}", epoch + 1, training.my_var.value());
  }

  Training again;
  Function step{[&] { again.step(); }, {.name = "step"}};
  for (int epoch = 0; epoch < 10; ++epoch) step();
  print("Ten traced steps: {:.7f}", again.my_var.value());
  print("{}", step.explain());
}

/* prints:
Epoch 1: Variable value = 0.8950000
Epoch 2: Variable value = 0.7900000
Epoch 3: Variable value = 0.6849999
Epoch 4: Variable value = 0.5799999
Epoch 5: Variable value = 0.4749999
Epoch 6: Variable value = 0.3699999
Epoch 7: Variable value = 0.2650000
Epoch 8: Variable value = 0.1600000
Epoch 9: Variable value = 0.0568000
Epoch 10: Variable value = -0.0443360
Ten traced steps: -0.0443360
step: 1 trace
trace 0: first call; 9 ops in 7 steps, 320 bytes of working memory, 10 calls, traced in ... ms
  reads Variable "my_var", Variable "iterations", Variable "learning_rate"
  writes Variable "my_var", Variable "iterations"
  has frozen the number 2.0, read by pow at 003_3_clipped_gradients.cc:12
  has frozen the number -0.5, read by clip_by_value at 003_3_clipped_gradients.cc:14
  has frozen the number 0.5, read by clip_by_value at 003_3_clipped_gradients.cc:14
  has frozen the number 0.1, read by subtract at 003_3_clipped_gradients.cc:16
  pass fold_constants: 11 -> 10 ops in ... us
  pass simplify: 10 -> 9 ops in ... us
  pass share_equal: 9 -> 9 ops in ... us
  pass drop_dead: 9 -> 9 ops in ... us
  pass count_turns: 9 -> 9 ops in ... us
  pass fuse: 9 -> 9 ops in ... us
  pass overlap: 9 -> 9 ops in ... us
  step 3: fused multiply_no_nan, multiply, clip_by_value -> f32[] (4 bytes) at 003_3_clipped_gradients.cc:12, 003_3_clipped_gradients.cc:14
*/
