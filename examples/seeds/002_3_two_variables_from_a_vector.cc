// A traced function takes one vector and adds its elements to two Variables of a list that it finds outside.
#include <weft/weft.h>

using namespace weft;

int main() {
  std::vector<Variable> variables{Variable{1.f, {.name = "first"}}, Variable{2.f, {.name = "second"}}};

  Function update_multiple{[&](Tensor updates) {
                             variables[0].assign_add(updates[0]);
                             variables[1].assign_add(updates[1]);
                             return variables;
                           },
                           {.name = "update_multiple", .args = {"updates"}, .signature = {Spec{f32, {2}}}}};

  print("Initial values: {}, {}", variables[0].value(), variables[1].value());
  update_multiple({2.f, 3.f});
  print("Updated values: {}, {}", variables[0].value(), variables[1].value());
  update_multiple({2.f, 3.f});
  print("Updated values: {}, {}", variables[0].value(), variables[1].value());

  print("{}", update_multiple.explain());
}

/* prints:
Initial values: 1.0, 2.0
Updated values: 3.0, 5.0
Updated values: 5.0, 8.0
update_multiple: 1 trace
trace 0: first call; 4 ops in 4 steps, 64 bytes of working memory, 2 calls, traced in ... ms
  takes updates f32[2]
  reads Variable "first", Variable "second"
  writes Variable "first", Variable "second"
  pass fold_constants: 4 -> 4 ops in ... us
  pass simplify: 4 -> 4 ops in ... us
  pass share_equal: 4 -> 4 ops in ... us
  pass drop_dead: 4 -> 4 ops in ... us
  pass count_turns: 4 -> 4 ops in ... us
  pass fuse: 4 -> 4 ops in ... us
  pass overlap: 4 -> 4 ops in ... us
*/
