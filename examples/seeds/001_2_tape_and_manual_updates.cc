// A gradient is taken, then the Variable is changed by hand. What the tape has answered stays as it is.
#include <weft/weft.h>

using namespace weft;

int main() {
  Variable var_b{5.f};
  const auto function_b = [&](Tensor x) { return x * var_b; };

  GradientTape tape;
  Tensor result = function_b(3.f);
  Tensor gradient = tape.gradient(result, var_b);
  print("{}", gradient);

  var_b.assign(var_b + 2);
  print("{}", var_b.value());

  var_b.assign_add(2.f);
  print("{}", var_b.value());
}

/* prints:
3.0
7.0
9.0
*/
