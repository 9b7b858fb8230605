// A hyperparameter three structs deep, changed inside the traced training step that also trains with it.
#include <weft/weft.h>

using namespace weft;

struct Schedule {
  Variable rate{0.4f, {.trainable = false}}, decay{0.9f, {.trainable = false}};
};
struct Hyper {
  Schedule schedule;
};
struct Model {
  Variable weight{{4.f, -2.f}};
  Hyper hyper;
};

int main() {
  Function train{[](Model& model) {
                   GradientTape tape;
                   Tensor loss = sum(square(model.weight));
                   Tensor gradient = tape.gradient(loss, model.weight);
                   Schedule& schedule = model.hyper.schedule;
                   model.weight.assign_sub(gradient * schedule.rate);
                   schedule.rate.assign(schedule.rate * schedule.decay);
                   return loss;
                 },
                 {.name = "train", .args = {"model"}}};

  Model model;
  for (int i = 0; i < 3; ++i) {
    Tensor loss = train(model);
    print("loss {:.4f}, the next rate {:.4f}", loss, model.hyper.schedule.rate.value());
  }
  model.hyper.schedule.decay.assign(1.f);         // from outside: the same trace goes on with it
  print("loss {:.4f}", train(model));
  print("the rate stays {:.4f}", model.hyper.schedule.rate.value());
  print("{}", train.explain());
}

/* prints:
loss 20.0000, the next rate 0.3600
loss 0.8000, the next rate 0.3240
loss 0.0627, the next rate 0.2916
loss 0.0078
the rate stays 0.2916
train: 1 trace
trace 0: first call; 10 ops in 6 steps, 256 bytes of working memory, 4 calls, traced in ... ms
  takes model.weight Variable f32[2]
  takes model.hyper.schedule.rate Variable f32[]
  takes model.hyper.schedule.decay Variable f32[]
  reads model.weight, model.hyper.schedule.rate, model.hyper.schedule.decay
  writes model.weight, model.hyper.schedule.rate
  pass fold_constants: 11 -> 11 ops in ... us
  pass simplify: 11 -> 10 ops in ... us
  pass share_equal: 10 -> 10 ops in ... us
  pass drop_dead: 10 -> 10 ops in ... us
  pass count_turns: 10 -> 10 ops in ... us
  pass fuse: 10 -> 10 ops in ... us
  pass overlap: 10 -> 10 ops in ... us
  step 4: fused multiply, multiply, multiply, subtract -> f32[2] (8 bytes) at nested_hyperparameter.cc:20, nested_hyperparameter.cc:23
*/
