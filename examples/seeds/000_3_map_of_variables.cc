// A model hands out its Variables by name, and a traced function changes one of them.
#include <weft/weft.h>

using namespace weft;

struct HyperparameterContainer {
  Variable lr_param{0.01f};
};

struct ModelParams {
  HyperparameterContainer hparams;

  std::map<std::string, Variable> get_trainable_vars() const { return {{"lr_param", hparams.lr_param}}; }
};

int main() {
  Function update_lr{[](std::map<std::string, Variable>& params, Tensor new_lr) {
                       params.at("lr_param").assign(new_lr);
                       return params;
                     },
                     {.name = "update_lr", .args = {"params", "new_lr"}}};

  ModelParams params;
  print("Initial LR: {}", params.hparams.lr_param.value());

  std::map<std::string, Variable> trainable_vars = params.get_trainable_vars();
  std::map<std::string, Variable> new_vars = update_lr(trainable_vars, 0.1f);
  print("Post-function LR: {}", params.hparams.lr_param.value());
  print("Post-function (returned): {}", new_vars.at("lr_param").value());

  print("{}", update_lr.explain());
}

/* prints:
Initial LR: 0.01
Post-function LR: 0.1
Post-function (returned): 0.1
update_lr: 1 trace
trace 0: first call; 0 ops, 1 call, traced in ... ms
  takes params holds 1 elements
  takes params.lr_param Variable f32[]
  takes new_lr f32[]
  reads nothing
  writes params.lr_param
  pass fold_constants: 0 -> 0 ops in ... us
  pass simplify: 0 -> 0 ops in ... us
  pass share_equal: 0 -> 0 ops in ... us
  pass drop_dead: 0 -> 0 ops in ... us
  pass count_turns: 0 -> 0 ops in ... us
  pass fuse: 0 -> 0 ops in ... us
  pass overlap: 0 -> 0 ops in ... us
*/
