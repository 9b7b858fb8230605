// A traced function changes the Variable that it is given, and returns it.
#include <weft/weft.h>

using namespace weft;

int main() {
  Function update_lr{[](Variable& lr_param, Tensor new_lr) { return lr_param.assign(new_lr); },
                     {.name = "update_lr", .args = {"lr_param", "new_lr"}}};

  Variable lr_var{0.01f};
  print("Initial LR (variable): {}", lr_var.value());

  Variable updated_lr_var = update_lr(lr_var, 0.1f);
  print("Post-function LR (variable): {}", lr_var.value());
  print("Post-function (returned) LR (variable): {}", updated_lr_var.value());
  print("The same Variable: {}", updated_lr_var.same_slot(lr_var));

  print("{}", update_lr.explain());
}

/* prints:
Initial LR (variable): 0.01
Post-function LR (variable): 0.1
Post-function (returned) LR (variable): 0.1
The same Variable: true
update_lr: 1 trace
trace 0: first call; 0 ops, 1 call, traced in ... ms
  takes lr_param Variable f32[]
  takes new_lr f32[]
  reads nothing
  writes lr_param
  pass fold_constants: 0 -> 0 ops in ... us
  pass simplify: 0 -> 0 ops in ... us
  pass share_equal: 0 -> 0 ops in ... us
  pass drop_dead: 0 -> 0 ops in ... us
  pass count_turns: 0 -> 0 ops in ... us
  pass fuse: 0 -> 0 ops in ... us
  pass overlap: 0 -> 0 ops in ... us
*/
