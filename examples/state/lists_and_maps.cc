// A list and a map of Variables as arguments of one traced function. Which Variables they hold does not matter to the trace, only how many.
#include <weft/weft.h>

using namespace weft;

int main() {
  Function blend{[](std::vector<Variable>& layers, std::map<std::string, Variable>& averages, Tensor share) {
                   for (Variable& layer : layers) layer.assign(layer * 2.f);
                   for (auto& [name, average] : averages) average.assign(average + (layers[0] - average) * share);
                   return averages;
                 },
                 {.name = "blend", .args = {"layers", "averages", "share"}}};

  std::vector<Variable> layers{Variable{1.f}, Variable{10.f}};
  std::map<std::string, Variable> averages{{"fast", Variable{0.f}}, {"slow", Variable{0.f}}};
  std::map<std::string, Variable> returned = blend(layers, averages, 0.5f);
  print("layers {} {}, averages {} {}", layers[0].value(), layers[1].value(), averages.at("fast").value(), returned.at("slow").value());

  std::vector<Variable> others{Variable{3.f}, Variable{4.f}};
  blend(others, averages, 0.25f);
  print("layers {} {}, averages {} {}", others[0].value(), others[1].value(), averages.at("fast").value(), averages.at("slow").value());

  print("{}", blend.explain());
}

/* prints:
layers 2.0 20.0, averages 1.0 1.0
layers 6.0 8.0, averages 2.25 2.25
blend: 1 trace
trace 0: first call; 8 ops in 2 steps, 256 bytes of working memory, 2 calls, traced in ... ms
  takes layers holds 2 elements
  takes layers.0 Variable f32[]
  takes layers.1 Variable f32[]
  takes averages holds 2 elements
  takes averages.fast Variable f32[]
  takes averages.slow Variable f32[]
  takes share f32[]
  reads layers.0, layers.1, averages.fast, averages.slow
  writes layers.0, layers.1, averages.fast, averages.slow
  has frozen the number 2.0, read by multiply at lists_and_maps.cc:8
  has frozen the number 2.0, read by multiply at lists_and_maps.cc:8
  pass fold_constants: 8 -> 8 ops in ... us
  pass simplify: 8 -> 8 ops in ... us
  pass share_equal: 8 -> 8 ops in ... us
  pass drop_dead: 8 -> 8 ops in ... us
  pass count_turns: 8 -> 8 ops in ... us
  pass fuse: 8 -> 8 ops in ... us
  pass overlap: 8 -> 8 ops in ... us
  step 0: fused multiply, subtract, multiply, add, subtract, multiply, add -> f32[], f32[], f32[] (12 bytes) at lists_and_maps.cc:8, lists_and_maps.cc:9
*/
