// The function that is given as the right one: the signature describes the value, the Variable is a global. It is the same program as 002_1, and
// the graph of its trace is here to see as well.
#include <weft/weft.h>

using namespace weft;

Variable variable{1.f, {.name = "variable"}};

Function correct_update{[](Tensor value) { return variable.assign_add(value); },
                        {.name = "correct_update", .args = {"value"}, .signature = {Spec{f32, {}}}}};

int main() {
  print("Initial value: {}", variable.value());
  correct_update(2.f);
  print("Value after correct update: {}", variable.value());
  correct_update(2.f);
  print("Value after another correct update: {}", variable.value());

  print("{}", correct_update.explain());
  print("{}", correct_update.graph());
}

/* prints:
Initial value: 1.0
Value after correct update: 3.0
Value after another correct update: 5.0
correct_update: 1 trace
trace 0: first call; 1 op in 1 step, 0 bytes of working memory, 2 calls, traced in ... ms
  takes value f32[]
  reads Variable "variable"
  writes Variable "variable"
  pass fold_constants: 1 -> 1 op in ... us
  pass simplify: 1 -> 1 op in ... us
  pass share_equal: 1 -> 1 op in ... us
  pass drop_dead: 1 -> 1 op in ... us
  pass count_turns: 1 -> 1 op in ... us
  pass fuse: 1 -> 1 op in ... us
  pass overlap: 1 -> 1 op in ... us
%0 f32[] = input value   002_2_signature_and_value.cc:14
%1 f32[] = input variable   002_2_signature_and_value.cc:9
%2 f32[] = add(%1, %0)   002_2_signature_and_value.cc:9
write %2 to variable
return

*/
