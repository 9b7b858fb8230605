// A value decides in a traced step which Variable changes: a gradient that is too large is counted and left out.
#include <weft/weft.h>

using namespace weft;

int main() {
  Variable weight{1.f, {.name = "weight"}};
  Variable skipped{0, {.name = "skipped"}};

  Function step{[&](Tensor gradient) {
                  cond(abs(gradient) < 10.f,
                       [&] { weight.assign_sub(0.125f * gradient); },
                       [&] { skipped.assign_add(1); });
                },
                {.name = "step", .args = {"gradient"}}};

  for (float gradient : {2.f, 500.f, -1.f}) {
    step(gradient);
    print("gradient {}: weight {}, skipped {}", gradient, weight.value(), skipped.value());
  }
  print("{}", step.explain());
}

/* prints:
gradient 2: weight 0.75, skipped 0
gradient 500: weight 0.75, skipped 1
gradient -1: weight 0.875, skipped 1
step: 1 trace
trace 0: first call; 4 ops in 3 steps, 128 bytes of working memory, 3 calls, traced in ... ms
  takes gradient f32[]
  reads Variable "skipped", Variable "weight"
  writes Variable "skipped", Variable "weight"
  has frozen the number 10.0, read by less at conditional_update.cc:11
  has frozen the number 1, read by add at conditional_update.cc:13
  has frozen the number 0.125, read by multiply at conditional_update.cc:12
  pass fold_constants: 4 -> 4 ops in ... us
  pass simplify: 4 -> 4 ops in ... us
  pass share_equal: 4 -> 4 ops in ... us
  pass drop_dead: 4 -> 4 ops in ... us
  pass count_turns: 4 -> 4 ops in ... us
  pass fuse: 4 -> 4 ops in ... us
  pass overlap: 4 -> 4 ops in ... us
  step 0: fused abs, less -> bool[] (1 byte) at conditional_update.cc:11
*/
