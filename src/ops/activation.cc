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
constexpr double kSqrtHalf = 1 / std::numbers::sqrt2;

// x times a weight that goes to 0 faster than x goes to -inf.
template <FloatLane T>
T weighted(T x, T weight) {
  return weight == T(0) ? T(0) : x * weight;
}

}  // namespace

std::vector<Op> activation() {
  return {
      {.name = "relu",
       .doc = "Elementwise max(x, 0); NaN stays NaN. Its gradient at 0 is 0.",
       .tf = "tf.nn.relu(features=x)",
       .inputs = {"x"},
       .tile = lanes<1, Numbers>([](auto x) { return x < decltype(x)(0) ? decltype(x)(0) : x; }),
       .grad = [](const Backward& b) -> Grads { return {where(b.x() > 0, b.dy(), zeros_like(b.dy()))}; },
       .samples = {{{f32({3, 4}).range(0.1, 2)}}, {{f32({5}).range(-2, -0.1)}}, {{i32({4})}}}},

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
       .tile = lanes<2, Floats>([](auto x, auto alpha) { return x < decltype(x)(0) ? alpha * expm1(x) : x; }),
       .grad = [](const Backward& b) -> Grads { return {where(b.x() < 0, b.dy() * (b.y() + b.real("alpha")), b.dy())}; },
       .samples = {{{f32({4}).exactly({-1.5, 0.7, -0.2, 2})}}, {{f32({2, 2}).exactly({0.4, -1.1, 0.9, -2})}, {{"alpha", 0.5}}}}},

      {.name = "selu",
       .doc = "Elementwise scaled elu, whose constants keep mean 0 and variance 1 through layers.",
       .tf = "tf.nn.selu(features=x)",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) {
         using T = decltype(x);
         return x < T(0) ? T(kSeluScale * kSeluAlpha) * expm1(x) : T(kSeluScale) * x;
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
       .tile = lanes<1, Floats>([](auto x) {
         using T = decltype(x);
         return weighted(x, T(0.5) * erfc(T(-kSqrtHalf) * x));
       }),
       .grad = [](const Backward& b) -> Grads {
         const Tensor& x = b.x();
         const Tensor density = exp(-0.5 * square(x)) * (0.5 * kGeluSlope);
         return {b.dy() * (0.5 * erfc(-kSqrtHalf * x) + multiply_no_nan(x, density))};
       },
       .samples = {{{f32({3, 4})}}}},

      {.name = "gelu_tanh",
       .doc = "Elementwise gelu in its tanh form.",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) {
         using T = decltype(x);
         return weighted(x, T(0.5) * (T(1) + tanh(T(kGeluSlope) * (x + T(kGeluCubic) * x * x * x))));
       }),
       .grad = [](const Backward& b) -> Grads {
         const Tensor& x = b.x();
         const Tensor cubic = kGeluCubic * square(x);
         const Tensor t = tanh(kGeluSlope * x * (1 + cubic));
         // Where tanh has reached 1 its argument may have overflowed.
         const Tensor slope = multiply_no_nan(kGeluSlope * x * (1 + 3 * cubic), 1 - square(t));
         return {b.dy() * (0.5 * (1 + t + slope))};
       },
       .samples = {{{f32({3, 4})}}}},

      {.name = "silu",
       .doc = "Elementwise x sigmoid(x), also called swish.",
       .tf = "tf.nn.silu(features=x) | tf.nn.swish(features=x)",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) { return weighted(x, sigmoid(x)); }),
       .grad = [](const Backward& b) -> Grads {
         const Tensor s = sigmoid(b.x());
         return {b.dy() * (s + multiply_no_nan(b.x(), s * (1 - s)))};
       },
       .samples = {{{f32({3, 4})}}, {{f32({4}).range(-1e4, 1e4)}}}},

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
