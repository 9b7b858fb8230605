// A step of gradient descent by hand on a sum in which a bias of 10 numbers is added to each of 5 rows.
//
// A widely read explanation prints updated biases after such a step, but its gradient of the bias is [5,10] and cannot be taken from a bias of [10]: it is never
// summed over the rows. In truth a gradient has the shape of its source, and each bias, which was added to five rows, has a gradient of five.
#include <weft/weft.h>

using namespace weft;

int main() {
  Generator random{42};
  Variable weight{random.uniform({5, 10})};
  Variable bias{zeros({10})};
  const float learning_rate = 0.1f;

  GradientTape tape;
  Tensor output = weight + bias;
  print("Output:\n{}", output);
  print("Initial loss: {:.5f}", sum(square(output)));

  std::vector<Tensor> gradients = tape.gradient(output, {weight, bias});
  print("Weight gradients:\n{}", gradients[0]);
  print("Bias gradients: {}", gradients[1]);

  weight.assign_sub(learning_rate * gradients[0]);
  bias.assign_sub(learning_rate * gradients[1]);
  print("Updated weights:\n{}", weight.value());
  print("Updated biases: {}", bias.value());
}

/* prints:
Output:
[[0.7493447  0.73561966 0.45230794 0.49039817 0.1889317  0.52027524
  0.8736881  0.46921718 0.63932586 0.6467117 ]
 [0.96246755 0.41009164 0.86540747 0.8862978  0.27795732 0.8857763 
  0.2179842  0.29115117 0.03953862 0.8136791 ]
 [0.8139852  0.52180684 0.12496924 0.5488483  0.7755773  0.6184403 
  0.24936223 0.89341843 0.28422844 0.70332646]
 [0.2622137  0.4432162  0.466465   0.05981874 0.40098202 0.69292355
  0.1284684  0.22770369 0.33691216 0.5329138 ]
 [0.5914326  0.21738243 0.5322075  0.05148339 0.03951418 0.41866875
  0.78939915 0.04384279 0.96955836 0.49116182]] f32[5,10]
Initial loss: 15.88216
Weight gradients:
[[1. 1. 1. 1. 1. 1. 1. 1. 1. 1.]
 [1. 1. 1. 1. 1. 1. 1. 1. 1. 1.]
 [1. 1. 1. 1. 1. 1. 1. 1. 1. 1.]
 [1. 1. 1. 1. 1. 1. 1. 1. 1. 1.]
 [1. 1. 1. 1. 1. 1. 1. 1. 1. 1.]] f32[5,10]
Bias gradients: [5. 5. 5. 5. 5. 5. 5. 5. 5. 5.] f32[10]
Updated weights:
[[ 0.6493447   0.63561964  0.35230795  0.39039817  0.0889317   0.42027524
   0.7736881   0.3692172   0.53932583  0.5467117 ]
 [ 0.8624675   0.31009164  0.76540744  0.7862978   0.17795733  0.78577626
   0.1179842   0.19115117 -0.06046138  0.7136791 ]
 [ 0.7139852   0.42180684  0.02496924  0.44884828  0.6755773   0.51844025
   0.14936224  0.7934184   0.18422845  0.60332644]
 [ 0.16221371  0.3432162   0.366465   -0.04018126  0.30098203  0.5929235 
   0.02846839  0.1277037   0.23691216  0.4329138 ]
 [ 0.49143258  0.11738243  0.4322075  -0.04851661 -0.06048582  0.31866875
   0.6893991  -0.05615721  0.86955833  0.39116183]] f32[5,10]
Updated biases: [-0.5 -0.5 -0.5 -0.5 -0.5 -0.5 -0.5 -0.5 -0.5 -0.5] f32[10]
*/
