// A Tensor has no `assign`: it is made with its values and keeps them. What is to change goes into a Variable.
#include <weft/weft.h>

using namespace weft;

template <class T>
concept HasAssign = requires(T x, Tensor value) { x.assign(value); };
static_assert(HasAssign<Variable> && !HasAssign<Tensor>);

int main() {
  Generator random{42};
  Variable weight{random.uniform({5, 10})};
  Variable bias{zeros({10})};

  print("Initial weights:\n{}", weight.value());
  print("Initial biases: {}", bias.value());
  print("Ones: {}", ones({3}));
}

/* prints:
Initial weights:
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
Initial biases: [0. 0. 0. 0. 0. 0. 0. 0. 0. 0.] f32[10]
Ones: [1. 1. 1.] f32[3]
*/
