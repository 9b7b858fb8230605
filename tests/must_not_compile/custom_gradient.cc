// What custom_gradient and a tape refuse before the program runs.
#include <weft/custom_gradient.h>
#include <weft/ops.h>

using namespace weft;

void refused() {
  [[maybe_unused]] GradientTape tape;
  [[maybe_unused]] const Tensor x = 3.f;

// EXPECT(no_gradient): the function must return a std::pair of its value and its gradient function
#ifdef CASE_no_gradient
  custom_gradient([](Tensor a) { return exp(a); })(x);
#endif

// EXPECT(wrong_gradient): the gradient function must take the gradients of the values
#ifdef CASE_wrong_gradient
  custom_gradient([](Tensor a) { return std::pair(exp(a), [](Tensor dy, Tensor other) { return dy; }); })(x);
#endif

// EXPECT(copy_a_tape): deleted
#ifdef CASE_copy_a_tape
  GradientTape copy = tape;
#endif
}
