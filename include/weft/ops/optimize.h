// Steps of optimizers.
//
// Derived from the op table by ./scripts/generate; do not edit.
#pragma once

#include <weft/ops/types.h>

namespace weft::inline v0 {

struct SgdUpdateOptions { double momentum = 0.0; bool nesterov = false; double weight_decay = 0.0; bool sizes_given = false; };
WEFT_API std::vector<Tensor> sgd_update(Tensor learning_rate, std::vector<Tensor> tensors, SgdUpdateOptions options = {}, Location at = Location::here());  ///< A step of gradient descent. `tensors` holds lists of equal length one behind the other: the parameters, with a momentum the momenta, and the gradients. The result holds the new ones of all but the gradients; those that were moved into the call are changed in place. Before all else each parameter loses its product with learning_rate and weight_decay. Of sizes_given the rule makes no use.
struct AdamUpdateOptions { double beta_1 = 0.9; double beta_2 = 0.999; double epsilon = 1e-07; bool amsgrad = false; double weight_decay = 0.0; bool sizes_given = false; };
WEFT_API std::vector<Tensor> adam_update(Tensor learning_rate, Tensor iterations, std::vector<Tensor> tensors, AdamUpdateOptions options = {}, Location at = Location::here());  ///< A step of Adam; of AdamW with a weight_decay. `tensors`, as for sgd_update: parameters, momenta, velocities, with amsgrad the largest velocities so far, and gradients. `iterations` counts the steps before this one. With sizes_given the last list has what is taken for the squares of the gradients.
struct AdamaxUpdateOptions { double beta_1 = 0.9; double beta_2 = 0.999; double epsilon = 1e-07; double weight_decay = 0.0; bool sizes_given = false; };
WEFT_API std::vector<Tensor> adamax_update(Tensor learning_rate, Tensor iterations, std::vector<Tensor> tensors, AdamaxUpdateOptions options = {}, Location at = Location::here());  ///< A step of Adamax. `tensors`, as for sgd_update: parameters, momenta, norms and gradients. `iterations` counts the steps before this one. With sizes_given the last list has what is taken for the magnitudes of the gradients.
struct NadamUpdateOptions { double beta_1 = 0.9; double beta_2 = 0.999; double epsilon = 1e-07; double weight_decay = 0.0; bool sizes_given = false; };
WEFT_API std::vector<Tensor> nadam_update(Tensor learning_rate, Tensor iterations, std::vector<Tensor> tensors, NadamUpdateOptions options = {}, Location at = Location::here());  ///< A step of Adam with Nesterov's momentum. `tensors`, as for sgd_update: parameters, momenta, velocities and gradients. `iterations` counts the steps before this one. With sizes_given the last list has what is taken for the squares of the gradients.
struct AdagradUpdateOptions { double epsilon = 1e-07; double weight_decay = 0.0; bool sizes_given = false; };
WEFT_API std::vector<Tensor> adagrad_update(Tensor learning_rate, std::vector<Tensor> tensors, AdagradUpdateOptions options = {}, Location at = Location::here());  ///< A step of Adagrad. `tensors`, as for sgd_update: parameters, sums of squares and gradients. With sizes_given the last list has what is taken for the squares of the gradients.
struct AdadeltaUpdateOptions { double rho = 0.95; double epsilon = 1e-07; double weight_decay = 0.0; bool sizes_given = false; };
WEFT_API std::vector<Tensor> adadelta_update(Tensor learning_rate, std::vector<Tensor> tensors, AdadeltaUpdateOptions options = {}, Location at = Location::here());  ///< A step of Adadelta. `tensors`, as for sgd_update: parameters, mean squares of gradients, mean squares of changes, and gradients. With sizes_given the last list has what is taken for the squares of the gradients.
struct RmspropUpdateOptions { double rho = 0.9; double momentum = 0.0; double epsilon = 1e-07; bool centered = false; double weight_decay = 0.0; bool sizes_given = false; };
WEFT_API std::vector<Tensor> rmsprop_update(Tensor learning_rate, std::vector<Tensor> tensors, RmspropUpdateOptions options = {}, Location at = Location::here());  ///< A step of RMSprop. `tensors`, as for sgd_update: parameters, mean squares, with a momentum the momenta, if centered the mean gradients, and gradients. With sizes_given the last list has what is taken for the squares of the gradients.
struct FtrlUpdateOptions { double learning_rate_power = -0.5; double l1_regularization_strength = 0.0; double l2_regularization_strength = 0.0; double l2_shrinkage_regularization_strength = 0.0; double beta = 0.0; double weight_decay = 0.0; bool sizes_given = false; };
WEFT_API std::vector<Tensor> ftrl_update(Tensor learning_rate, std::vector<Tensor> tensors, FtrlUpdateOptions options = {}, Location at = Location::here());  ///< A step of FTRL. `tensors`, as for sgd_update: parameters, sums of squares, linear terms and gradients. With sizes_given the last list has what is taken for the squares of the gradients.
struct LionUpdateOptions { double beta_1 = 0.9; double beta_2 = 0.99; double weight_decay = 0.0; bool sizes_given = false; };
WEFT_API std::vector<Tensor> lion_update(Tensor learning_rate, std::vector<Tensor> tensors, LionUpdateOptions options = {}, Location at = Location::here());  ///< A step of Lion. `tensors`, as for sgd_update: parameters, momenta and gradients. Of sizes_given the rule makes no use.

}  // namespace weft::inline v0
