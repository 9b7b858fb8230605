// Training runs in a thread of its own, and its learning rate is changed from outside. The rate is a Variable that the optimizer, the
// traced step and everybody else share: at 0 nothing moves, at 1.1 the loss grows, and the step halves the rate whenever it does.
#include <thread>

#include <weft/weft.h>

using namespace weft;

struct Line {
  Variable slope{0.f}, offset{0.f};
};

int main() {
  Line line;
  Variable rate{0.f, {.name = "rate", .trainable = false}};
  Variable best{1e9f, {.name = "best", .trainable = false}};
  SGD sgd{{.learning_rate = rate}};
  Tensor x = {-1.f, 0.f, 1.f, 2.f}, y = 2 * x + 1;

  Function step{[&] {
                  GradientTape tape;
                  Tensor loss = mean(square(line.slope * x + line.offset - y));
                  sgd.apply(tape.gradient(loss, line), line);
                  rate.assign(where(loss <= best, rate, rate / 2));
                  best.assign(minimum(loss, best));
                  return loss;
                },
                {.name = "step"}};

  print("loss {}", step());
  std::jthread training([&] {
    while (step().item<float>() > 1e-9f) {}       // goes on for as long as it takes
  });
  print("nothing moves: {} {}", line.slope.value(), line.offset.value());
  rate.assign(1.1f);                              // from outside, while training runs
  training.join();

  print("slope {:.3f}, offset {:.3f}, the rate fell: {}", line.slope.value(), line.offset.value(), rate < 1.1f);
  print("traces: {}", step.explain().traced);
}

/* prints:
loss 9.0
nothing moves: 0.0 0.0
slope 2.000, offset 1.000, the rate fell: true
traces: 1
*/
