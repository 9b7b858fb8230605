// Activation functions.
#include <numbers>

#include "ops/families.h"
#include "ops/row.h"

namespace weft::inline v0::rows {
namespace {

// Chosen so that activations keep mean 0 and variance 1 (Klambauer et al., 2017).
constexpr double kSeluScale = 1.0507009873554804934193349852946;
constexpr double kSeluAlpha = 1.6732632423543772848170429916717;

// The tanh form of gelu is 0.5 x (1 + tanh(kGeluSlope (x + kGeluCubic x^3))).
constexpr double kGeluSlope = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
constexpr double kGeluCubic = 0.044715;

namespace lane = kernels::lane;

// The gradients of dx = dy * slope(x), from that of dx: `dx_of_g` is the row applied to it, `curvature` the derivative of the slope.
Grads slope_grads(const Backward& b, const Tensor& dx_of_g, Tensor (*curvature)(const Tensor& x)) {
  return {b.needs(0) ? Grad(b.dy() * b.x(1) * curvature(b.x(0))) : Grad(), dx_of_g};
}

}  // namespace

std::vector<Op> activation() {
  return {
      {.name = "relu",
       .doc = "Elementwise max(x, 0); NaN stays NaN. Its gradient at 0 is 0.",
       .tf = "tf.nn.relu(features=x)",
       .inputs = {"x"},
       .tile = lanes<1, Numbers>(Rectified{}),
       .grad = [](const Backward& b) -> Grads { return {relu_backward(b.y(), b.dy())}; },
       .samples = {{{f32({3, 4}).range(0.1, 2)}}, {{f32({5}).range(-2, -0.1)}}, {{i32({4})}}}},

      {.name = "relu_backward",
       .doc = "dy where x is above 0, else 0: the gradient of relu.",
       .inputs = {"x", "dy"},
       .tile = lanes<2, Numbers>([](auto x, auto dy) { return x > decltype(x)(0) ? dy : decltype(x)(0); }),
       .grad = [](const Backward& b) -> Grads { return {Grad(), relu_backward(b.x(0), b.dy())}; },
       .samples = {{{f32({3, 4}).range(0.1, 2), f32({3, 4})}}, {{f32({5}).range(-2, -0.1), f32({})}}, {{i32({4}), i32({4})}}}},

      {.name = "relu6",
       .doc = "Elementwise min(max(x, 0), 6); NaN stays NaN. Its gradient at 0 and 6 is 0.",
       .tf = "tf.nn.relu6(features=x)",
       .inputs = {"x"},
       .tile = lanes<1, Numbers>([](auto x) {
         using T = decltype(x);
         return x < T(0) ? T(0) : x > T(6) ? T(6) : x;
       }),
       .grad = [](const Backward& b) -> Grads { return {where((b.x() > 0) & (b.x() < 6), b.dy(), zeros_like(b.dy()))}; },
       .samples = {{{f32({3, 4}).range(0.1, 5.9)}}, {{f32({4}).exactly({-3, 7.5, -0.5, 6.2})}}, {{i32({4})}}}},

      {.name = "leaky_relu",
       .doc = "Elementwise x, and alpha x below 0.",
       .tf = "tf.nn.leaky_relu(features=x, alpha)",
       .inputs = {"x"},
       .attrs = {attr::real("alpha", 0.2)},
       .tile = lanes<2, Floats>([](auto x, auto alpha) { return x < decltype(x)(0) ? alpha * x : x; }),
       .grad = [](const Backward& b) -> Grads { return {where(b.x() > 0, b.dy(), b.dy() * b.real("alpha"))}; },
       .samples = {{{f32({4}).exactly({-1.5, 0.7, -0.2, 2})}}, {{f32({2, 2}).exactly({0.4, -1.1, 0.9, -2})}, {{"alpha", 0.3}}}}},

      {.name = "elu",
       .doc = "Elementwise x, and alpha (exp(x) - 1) below 0.",
       .tf = "tf.nn.elu(features=x)",
       .inputs = {"x"},
       .attrs = {attr::real("alpha", 1)},
       .tile = fused_lanes<2>([](auto x, auto alpha) { return lane::choose(x < decltype(x)(0), alpha * expm1(x), x); }),
       .grad = [](const Backward& b) -> Grads { return {where(b.x() < 0, b.dy() * (b.y() + b.real("alpha")), b.dy())}; },
       .samples = {{{f32({4}).exactly({-1.5, 0.7, -0.2, 2})}}, {{f32({2, 2}).exactly({0.4, -1.1, 0.9, -2})}, {{"alpha", 0.5}}}}},

      {.name = "selu",
       .doc = "Elementwise scaled elu, whose constants keep mean 0 and variance 1 through layers.",
       .tf = "tf.nn.selu(features=x)",
       .inputs = {"x"},
       .tile = fused_lanes<1>([](auto x) {
         using T = decltype(x);
         return lane::choose(x < T(0), T(kSeluScale * kSeluAlpha) * expm1(x), T(kSeluScale) * x);
       }),
       .grad = [](const Backward& b) -> Grads {
         return {where(b.x() < 0, b.dy() * (b.y() + kSeluScale * kSeluAlpha), b.dy() * kSeluScale)};
       },
       .samples = {{{f32({4}).exactly({-1.5, 0.7, -0.2, 2})}}}},

      {.name = "gelu",
       .doc = "Elementwise x times the probability that a standard normal number is below x; approximate uses its tanh form.",
       .tf = "tf.nn.gelu(features=x, approximate)",
       .inputs = {"x"},
       .attrs = {attr::flag("approximate", false)},
       .dtypes = kFloats,
       .infer = infer::same,
       .expand = [](const Expand& in) -> Tensors { return {in.flag("approximate") ? gelu_tanh(in[0]) : gelu_erf(in[0])}; },
       .samples = {{{f32({3, 4})}}, {{f32({3, 4})}, {{"approximate", true}}}}},

      {.name = "gelu_erf",
       .doc = "Elementwise gelu, exact.",
       .inputs = {"x"},
       .tile = fused_lanes<1>([](auto x) { return lane::gelu(x); }),
       .grad = [](const Backward& b) -> Grads { return {gelu_erf_backward(b.x(), b.dy(), b.at)}; },
       .samples = {{{f32({3, 4})}}}},

      {.name = "gelu_erf_backward",
       .doc = "The gradient of gelu_erf: dy times its derivative at x.",
       .inputs = {"x", "dy"},
       .tile = fused_lanes<2>([](auto x, auto dy) { return dy * lane::gelu_slope(x); }),
       .grad = [](const Backward& b) -> Grads {
         return slope_grads(b, gelu_erf_backward(b.x(0), b.dy(), b.at), [](const Tensor& x) {
           const Tensor squared = square(x);
           return multiply_no_nan(2 - squared, exp(-0.5 * squared) * (0.5 * kGeluSlope));
         });
       },
       .samples = {{{f32({3, 4}), f32({3, 4})}}, {{f32({3}), f32({2, 1})}}}},

      {.name = "gelu_tanh",
       .doc = "Elementwise gelu in its tanh form.",
       .inputs = {"x"},
       .tile = fused_lanes<1>([](auto x) { return lane::gelu_tanh(x); }),
       .grad = [](const Backward& b) -> Grads { return {gelu_tanh_backward(b.x(), b.dy(), b.at)}; },
       .samples = {{{f32({3, 4})}}}},

      {.name = "gelu_tanh_backward",
       .doc = "The gradient of gelu_tanh: dy times its derivative at x.",
       .inputs = {"x", "dy"},
       .tile = fused_lanes<2>([](auto x, auto dy) { return dy * lane::gelu_tanh_slope(x); }),
       .grad = [](const Backward& b) -> Grads {
         return slope_grads(b, gelu_tanh_backward(b.x(0), b.dy(), b.at), [](const Tensor& x) {
           // With a the argument of tanh: x (1 + tanh(a)) / 2 twice differentiated.
           const Tensor cubic = kGeluCubic * square(x), t = tanh(kGeluSlope * x * (1 + cubic)), slope = kGeluSlope * (1 + 3 * cubic);
           return multiply_no_nan(slope + x * (3 * kGeluSlope * kGeluCubic * x - t * square(slope)), 1 - square(t));
         });
       },
       .samples = {{{f32({3, 4}), f32({3, 4})}}, {{f32({3}), f32({2, 1})}}}},

      {.name = "silu",
       .doc = "Elementwise x sigmoid(x), also called swish.",
       .tf = "tf.nn.silu(features=x) | tf.nn.swish(features=x)",
       .inputs = {"x"},
       .tile = fused_lanes<1>([](auto x) { return lane::silu(x); }),
       .grad = [](const Backward& b) -> Grads { return {silu_backward(b.x(), b.dy(), b.at)}; },
       .samples = {{{f32({3, 4})}}, {{f32({4}).range(-1e4, 1e4)}}}},

      {.name = "silu_backward",
       .doc = "The gradient of silu: dy times its derivative at x.",
       .inputs = {"x", "dy"},
       .tile = fused_lanes<2>([](auto x, auto dy) { return dy * lane::silu_slope(x); }),
       .grad = [](const Backward& b) -> Grads {
         return slope_grads(b, silu_backward(b.x(0), b.dy(), b.at), [](const Tensor& x) {
           const Tensor s = sigmoid(x);
           return multiply_no_nan(2 + x * (1 - 2 * s), s * (1 - s));
         });
       },
       .samples = {{{f32({3, 4}), f32({3, 4})}}, {{f32({3}), f32({2, 1})}}}},

      {.name = "softsign",
       .doc = "Elementwise x / (1 + |x|).",
       .tf = "tf.nn.softsign(features=x)",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) {
         using T = decltype(x);
         return std::isinf(x) ? std::copysign(T(1), x) : x / (T(1) + std::abs(x));
       }),
       .grad = [](const Backward& b) -> Grads {
         const Tensor size = 1 + abs(b.x());
         return {b.dy() / size / size};
       },
       .samples = {{{f32({3, 4}).range(0.1, 3)}}, {{f32({4}).range(-3, -0.1)}}}},
  };
}

}  // namespace weft::inline v0::rows
