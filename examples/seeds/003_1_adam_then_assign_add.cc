// Between two steps of Adam the Variable is moved by hand: first as written, then as one traced step. The values are the same bits.
#include <weft/weft.h>

using namespace weft;

struct Training {
  Variable my_variable{0.f, {.name = "my_variable"}};
  Adam optimizer{{.learning_rate = 0.1f}};

  void step() {
    GradientTape tape;
    Tensor loss = pow(my_variable, 2.f);
    optimizer.apply({tape.gradient(loss, my_variable)}, {my_variable});
    my_variable.assign_add(0.5f);                 // after the gradient update
  }
};

int main() {
  Training training;
  for (int i = 0; i < 10; ++i) {
    training.step();
    print("Iteration {}: Variable value = {:.7f}", i + 1, training.my_variable.value());
  }

  Training again;
  Function step{[&] { again.step(); }, {.name = "step"}};
  for (int i = 0; i < 10; ++i) step();
  print("Ten traced steps: {:.7f}", again.my_variable.value());
  print("{}", step.explain());
}

/* prints:
Iteration 1: Variable value = 0.5000000
Iteration 2: Variable value = 0.9255873
Iteration 3: Variable value = 1.3420478
Iteration 4: Variable value = 1.7541013
Iteration 5: Variable value = 2.1631794
Iteration 6: Variable value = 2.5698943
Iteration 7: Variable value = 2.9745646
Iteration 8: Variable value = 3.3773775
Iteration 9: Variable value = 3.7784560
Iteration 10: Variable value = 4.1778870
Ten traced steps: 4.1778870
step: 1 trace
trace 0: first call; 8 ops in 7 steps, 256 bytes of working memory, 10 calls, traced in ... ms
  reads Variable "my_variable", Variable "iterations", Variable "my_variable.momentum", Variable "my_variable.velocity", Variable "learning_rate"
  writes Variable "my_variable", Variable "iterations", Variable "my_variable.momentum", Variable "my_variable.velocity"
  has frozen the number 2.0, read by pow at 003_1_adam_then_assign_add.cc:12
  has frozen the number 0.5, read by add at 003_1_adam_then_assign_add.cc:14
  pass fold_constants: 10 -> 9 ops in ... us
  pass simplify: 9 -> 8 ops in ... us
  pass share_equal: 8 -> 8 ops in ... us
  pass drop_dead: 8 -> 8 ops in ... us
  pass count_turns: 8 -> 8 ops in ... us
  pass fuse: 8 -> 8 ops in ... us
  pass overlap: 8 -> 8 ops in ... us
  step 3: fused multiply_no_nan, multiply -> f32[] (4 bytes) at 003_1_adam_then_assign_add.cc:12
*/
