// An optimizer is asked to change an integer counter, which is reset every other time.
//
// A widely read explanation prints a counter that goes on like this. In truth an integer has no gradient, so there is nothing to step along: that is an error
// at `gradient`, nothing has changed, and a floating counter does what was meant.
#include <weft/weft.h>

using namespace weft;

int main() {
  Variable counter{0, {.name = "counter"}};
  try {
    GradientTape tape;
    Tensor loss = counter * 2;
    SGD optimizer{{.learning_rate = 0.01f}};
    optimizer.apply({tape.gradient(loss, counter)}, {counter});
  } catch (const GradientError& error) {
    print("{}", error.what());
  }
  print("Counter value = {}, writes = {}", counter.value(), counter.version());

  Variable floating{0.f, {.name = "floating"}};
  for (int i = 0; i < 5; ++i) {
    GradientTape tape;
    Tensor loss = floating * 2;
    SGD optimizer{{.learning_rate = 0.01f}};
    optimizer.apply({tape.gradient(loss, floating)}, {floating});

    if (i % 2 == 0) floating.assign(0);           // reset every two iterations
    print("Iteration {}: Counter value = {}", i + 1, floating.value());
  }
}

/* prints:
gradient: source Variable "counter" i32[] holds integers, and multiply at 003_2_integer_counter.cc:13 uses it; only floating values have gradients, make it a floating Variable, such as Variable{0.f}. (003_2_integer_counter.cc:15)
Counter value = 0, writes = 0
Iteration 1: Counter value = 0.0
Iteration 2: Counter value = -0.02
Iteration 3: Counter value = 0.0
Iteration 4: Counter value = -0.02
Iteration 5: Counter value = 0.0
*/
