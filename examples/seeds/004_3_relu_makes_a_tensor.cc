// An operation makes a new Tensor and leaves the one it was given alone; its gradient is 1 where the input was positive.
#include <weft/weft.h>

using namespace weft;

int main() {
  Tensor initial_value = {-1.f, 2.f, -3.f, 4.f};
  GradientTape tape;
  tape.watch(initial_value);

  Tensor activated_value = relu(initial_value);
  print("After ReLU: {}", activated_value);
  print("Before ReLU: {}", initial_value);
  print("Gradient: {}", tape.gradient(activated_value, initial_value));
}

/* prints:
After ReLU: [0. 2. 0. 4.] f32[4]
Before ReLU: [-1.  2. -3.  4.] f32[4]
Gradient: [0. 1. 0. 1.] f32[4]
*/
