// A traced function changes a learning rate that lies two structs deep, and returns the struct.
//
// A widely read explanation says that such an assignment is lost, because a trace sees values and not the object that holds them. In truth the trace holds an
// assignment to the Variable itself, wherever it lies: the struct that was passed and the one that was returned both say 0.1.
#include <weft/weft.h>

using namespace weft;

struct HyperparameterContainer {
  Variable lr_param{0.01f};
};

struct ModelParams {
  HyperparameterContainer hparams;
};

int main() {
  Function update_lr{[](ModelParams& params, Tensor new_lr) {
                       params.hparams.lr_param.assign(new_lr);
                       return params;
                     },
                     {.name = "update_lr", .args = {"params", "new_lr"}}};

  ModelParams params;
  print("Initial LR: {}", params.hparams.lr_param.value());

  ModelParams new_params = update_lr(params, 0.1f);
  print("Post-function LR: {}", params.hparams.lr_param.value());
  print("Post-function (returned): {}", new_params.hparams.lr_param.value());

  print("{}", update_lr.explain());
}

/* prints:
Initial LR: 0.01
Post-function LR: 0.1
Post-function (returned): 0.1
update_lr: 1 trace
trace 0: first call; 0 ops, 1 call, traced in ... ms
  takes params.hparams.lr_param Variable f32[]
  takes new_lr f32[]
  reads nothing
  writes params.hparams.lr_param
  pass fold_constants: 0 -> 0 ops in ... us
  pass simplify: 0 -> 0 ops in ... us
  pass share_equal: 0 -> 0 ops in ... us
  pass drop_dead: 0 -> 0 ops in ... us
  pass count_turns: 0 -> 0 ops in ... us
  pass fuse: 0 -> 0 ops in ... us
  pass overlap: 0 -> 0 ops in ... us
*/
