// Giving a name to something else is not changing a Variable. `var_a = Tensor(20.f)` would look like a change and be none, so it does not compile.
#include <weft/weft.h>

using namespace weft;

static_assert(!std::is_assignable_v<Variable&, Tensor>);

int main() {
  Variable var_a{10.f};
  Variable the_variable = var_a;                  // a second handle to the same Variable

  var_a = Variable{20.f};                         // the name now stands for another Variable
  print("Value after standard assignment: {}", var_a.value());
  print("The Variable itself: {}", the_variable.value());

  var_a = Variable{10.f};                         // reset
  var_a.assign(30.f);
  print("Value after .assign(): {}", var_a.value());
}

/* prints:
Value after standard assignment: 20.0
The Variable itself: 10.0
Value after .assign(): 30.0
*/
