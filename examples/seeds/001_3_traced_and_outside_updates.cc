// A Variable is changed by a traced function, then from outside, then by the traced function again.
//
// A widely read explanation says that the third change does not take effect, because a trace has a copy of the Variable in it. In truth a trace reads and writes
// the Variable itself at every call: the values are 2, 3 and 4, with one trace.
#include <weft/weft.h>

using namespace weft;

int main() {
  Variable var_c{1.f, {.name = "var_c"}};
  Function update_var_c{[&](Tensor val) { return var_c.assign(val); }, {.name = "update_var_c", .args = {"val"}}};

  update_var_c(2.f);
  print("Value in the function after update: {}", var_c.value());

  var_c.assign(3.f);
  print("Value outside the function after manual update: {}", var_c.value());

  update_var_c(4.f);
  print("Value after second function call: {}", var_c.value());

  print("{}", update_var_c.explain());
}

/* prints:
Value in the function after update: 2.0
Value outside the function after manual update: 3.0
Value after second function call: 4.0
update_var_c: 1 trace
trace 0: first call; 0 ops, 2 calls, traced in ... ms
  takes val f32[]
  reads nothing
  writes Variable "var_c"
  pass fold_constants: 0 -> 0 ops in ... us
  pass simplify: 0 -> 0 ops in ... us
  pass share_equal: 0 -> 0 ops in ... us
  pass drop_dead: 0 -> 0 ops in ... us
  pass count_turns: 0 -> 0 ops in ... us
  pass fuse: 0 -> 0 ops in ... us
  pass overlap: 0 -> 0 ops in ... us
*/
