// A traced function with a signature changes a global Variable.
//
// A widely read explanation calls this wrong: the Variable is no part of the signature, so it would stay 1.0. In truth the signature says what the arguments are
// and nothing about Variables: the values are 3.0 and 5.0, with one trace.
#include <weft/weft.h>

using namespace weft;

Variable variable{1.f, {.name = "variable"}};

Function incorrect_update{[](Tensor value) { return variable.assign_add(value); },
                          {.name = "incorrect_update", .args = {"value"}, .signature = {Spec{f32, {}}}}};

int main() {
  print("Initial value: {}", variable.value());
  incorrect_update(2.f);
  print("Value after incorrect update: {}", variable.value());
  incorrect_update(2.f);
  print("Value after another incorrect update: {}", variable.value());

  print("{}", incorrect_update.explain());
}

/* prints:
Initial value: 1.0
Value after incorrect update: 3.0
Value after another incorrect update: 5.0
incorrect_update: 1 trace
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
*/
