// Elementary and special functions.
#include <numbers>

#include "ops/families.h"
#include "ops/row.h"

namespace weft::inline v0::rows {
namespace {

constexpr double kTwoOverSqrtPi = 2 * std::numbers::inv_sqrtpi;

void polygamma_kernel(KernelCall& call) {
  with_element(call.dtype(), [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (FloatLane<T>) {
      const std::int64_t count = call.out_shape().num_elements(), order = call.integer("order");
      for (std::int64_t k = 0; k < count; ++k) call.out<T>()[k] = static_cast<T>(kernels::polygamma(order, static_cast<double>(call.in<T>(0)[k])));
    }
  });
}

struct Exp {
  auto operator()(auto x) const { return exp(x); }
  static auto plain(auto x) { return kernels::lane::exp_plain(x); }
  static auto extreme(auto x) { return kernels::lane::is_extreme_for_exp(x); }
  static constexpr std::size_t kMadeAgain = 16;
};
struct Log {
  auto operator()(auto x) const { return log(x); }
  static auto plain(auto x) { return kernels::lane::log_plain(x); }
  static auto extreme(auto x) { return kernels::lane::is_extreme_for_log(x); }
  static constexpr std::size_t kMadeAgain = 64;  // its constants take most registers: those of the other form come in between
};

// 1 where x is not 0, else 0: the factor with which functions that are 0 at x = 0 by definition depend on x.
Tensor not_zero(const Tensor& x) { return cast(x != 0, x.dtype()); }

}  // namespace

std::vector<Op> elementary() {
  return {
      {.name = "exp",
       .doc = "Elementwise e to the power x.",
       .tf = "tf.math.exp(x) | tf.exp(x)",
       .inputs = {"x"},
       .tile = fused_lanes<1>(Exp{}),
       .grad = [](const Backward& b) -> Grads { return {b.dy() * b.y()}; },
       .samples = {{{f32({2, 3})}}}},

      {.name = "expm1",
       .doc = "Elementwise exp(x) - 1, accurate near 0.",
       .tf = "tf.math.expm1(x)",
       .inputs = {"x"},
       .tile = fused_lanes<1>([](auto x) { return expm1(x); }),
       .grad = [](const Backward& b) -> Grads { return {b.dy() * exp(b.x())}; },
       .samples = {{{f32({2, 3})}}}},

      {.name = "log",
       .doc = "Elementwise natural logarithm; -inf at 0, NaN below.",
       .tf = "tf.math.log(x)",
       .inputs = {"x"},
       .tile = fused_lanes<1>(Log{}),
       .grad = [](const Backward& b) -> Grads { return {b.dy() / b.x()}; },
       .samples = {{{f32({2, 3}).range(0.2, 3)}}}},

      {.name = "log1p",
       .doc = "Elementwise log(1 + x), accurate near 0; -inf at -1, NaN below.",
       .tf = "tf.math.log1p(x)",
       .inputs = {"x"},
       .tile = fused_lanes<1>([](auto x) { return log1p(x); }),
       .grad = [](const Backward& b) -> Grads { return {b.dy() / (1 + b.x())}; },
       .samples = {{{f32({2, 3}).range(-0.8, 3)}}}},

      {.name = "xlogy",
       .doc = "Elementwise x log(y), and 0 wherever x is 0; broadcasting.",
       .tf = "tf.math.xlogy(x, y)",
       .inputs = {"x", "y"},
       .tile = lanes<2, Floats>([](auto x, auto y) { return x == decltype(x)(0) ? decltype(x)(0) : x * log(y); }),
       .grad = [](const Backward& b) -> Grads { return {b.dy() * xlogy(not_zero(b.x(0)), b.x(1)), b.dy() * xdivy(b.x(0), b.x(1))}; },
       .samples = {{{f32({2, 3}).range(0.2, 2), f32({3}).range(0.2, 3)}}, {{f32({}).range(-2, -0.2), f32({2, 1}).range(0.2, 3)}}}},

      {.name = "xlog1py",
       .doc = "Elementwise x log(1 + y), and 0 wherever x is 0; broadcasting.",
       .tf = "tf.math.xlog1py(x, y)",
       .inputs = {"x", "y"},
       .tile = lanes<2, Floats>([](auto x, auto y) { return x == decltype(x)(0) ? decltype(x)(0) : x * log1p(y); }),
       .grad = [](const Backward& b) -> Grads { return {b.dy() * xlog1py(not_zero(b.x(0)), b.x(1)), b.dy() * xdivy(b.x(0), 1 + b.x(1))}; },
       .samples = {{{f32({2, 3}).range(0.2, 2), f32({3}).range(-0.8, 3)}}, {{f32({}).range(-2, -0.2), f32({2, 1}).range(0.2, 3)}}}},

      {.name = "xdivy",
       .doc = "Elementwise x / y, and 0 wherever x is 0; broadcasting.",
       .tf = "tf.math.xdivy(x, y)",
       .inputs = {"x", "y"},
       .tile = lanes<2, Floats>([](auto x, auto y) { return x == decltype(x)(0) ? decltype(x)(0) : x / y; }),
       .grad = [](const Backward& b) -> Grads { return {b.dy() * xdivy(not_zero(b.x(0)), b.x(1)), -b.dy() * xdivy(b.y(), b.x(1))}; },
       .samples = {{{f32({2, 3}).range(0.2, 2), f32({3}).range(0.2, 3)}}, {{f32({}).range(-2, -0.2), f32({2, 1}).range(-3, -0.2)}}}},

      {.name = "sin",
       .doc = "Elementwise sine.",
       .tf = "tf.math.sin(x) | tf.sin(x)",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) { return sin(x); }),
       .grad = [](const Backward& b) -> Grads { return {b.dy() * cos(b.x())}; },
       .samples = {{{f32({2, 3})}}}},

      {.name = "cos",
       .doc = "Elementwise cosine.",
       .tf = "tf.math.cos(x) | tf.cos(x)",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) { return cos(x); }),
       .grad = [](const Backward& b) -> Grads { return {-b.dy() * sin(b.x())}; },
       .samples = {{{f32({2, 3})}}}},

      {.name = "tan",
       .doc = "Elementwise tangent.",
       .tf = "tf.math.tan(x) | tf.tan(x)",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) { return tan(x); }),
       .grad = [](const Backward& b) -> Grads { return {b.dy() * (1 + square(b.y()))}; },
       .samples = {{{f32({2, 3}).range(-1.2, 1.2)}}}},

      {.name = "asin",
       .doc = "Elementwise inverse sine; NaN outside [-1, 1].",
       .tf = "tf.math.asin(x) | tf.asin(x)",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) { return asin(x); }),
       .grad = [](const Backward& b) -> Grads { return {b.dy() * rsqrt((1 - b.x()) * (1 + b.x()))}; },
       .samples = {{{f32({2, 3}).range(-0.9, 0.9)}}}},

      {.name = "acos",
       .doc = "Elementwise inverse cosine; NaN outside [-1, 1].",
       .tf = "tf.math.acos(x) | tf.acos(x)",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) { return acos(x); }),
       .grad = [](const Backward& b) -> Grads { return {-b.dy() * rsqrt((1 - b.x()) * (1 + b.x()))}; },
       .samples = {{{f32({2, 3}).range(-0.9, 0.9)}}}},

      {.name = "atan",
       .doc = "Elementwise inverse tangent.",
       .tf = "tf.math.atan(x) | tf.atan(x)",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) { return atan(x); }),
       .grad = [](const Backward& b) -> Grads { return {b.dy() / (1 + square(b.x()))}; },
       .samples = {{{f32({2, 3})}}}},

      {.name = "atan2",
       .doc = "Elementwise angle of the point (x, y) in [-pi, pi], broadcasting.",
       .tf = "tf.math.atan2(y, x) | tf.atan2(y, x)",
       .inputs = {"y", "x"},
       .tile = lanes<2, Floats>([](auto y, auto x) { return atan2(y, x); }),
       .grad = [](const Backward& b) -> Grads {
         const Tensor share = b.dy() / (square(b.x(0)) + square(b.x(1)));
         return {share * b.x(1), -share * b.x(0)};
       },
       .samples = {{{f32({2, 3}).range(0.3, 2), f32({3})}}, {{f32({}).range(-2, -0.3), f32({2, 1})}}}},

      {.name = "sinh",
       .doc = "Elementwise hyperbolic sine.",
       .tf = "tf.math.sinh(x) | tf.sinh(x)",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) { return sinh(x); }),
       .grad = [](const Backward& b) -> Grads { return {b.dy() * cosh(b.x())}; },
       .samples = {{{f32({2, 3})}}}},

      {.name = "cosh",
       .doc = "Elementwise hyperbolic cosine.",
       .tf = "tf.math.cosh(x) | tf.cosh(x)",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) { return cosh(x); }),
       .grad = [](const Backward& b) -> Grads { return {b.dy() * sinh(b.x())}; },
       .samples = {{{f32({2, 3})}}}},

      {.name = "tanh",
       .doc = "Elementwise hyperbolic tangent.",
       .tf = "tf.math.tanh(x) | tf.tanh(x) | tf.nn.tanh(x)",
       .inputs = {"x"},
       .tile = fused_lanes<1>([](auto x) { return tanh(x); }),
       .grad = [](const Backward& b) -> Grads { return {tanh_backward(b.y(), b.dy(), b.at)}; },
       .samples = {{{f32({2, 3})}}}},

      {.name = "tanh_backward",
       .doc = "The gradient of tanh from its result y: dy * (1 - y^2).",
       .inputs = {"y", "dy"},
       .tile = lanes<2, Floats>([](auto y, auto dy) { return dy * (decltype(y)(1) - y * y); }),
       .grad = [](const Backward& b) -> Grads {
         return {b.needs(0) ? Grad(b.dy() * (-2 * b.x(1) * b.x(0))) : Grad(), tanh_backward(b.x(0), b.dy(), b.at)};
       },
       .samples = {{{f32({2, 3}).range(-1, 1), f32({2, 3})}}, {{f32({3}).range(-1, 1), f32({2, 1})}}}},

      {.name = "asinh",
       .doc = "Elementwise inverse hyperbolic sine.",
       .tf = "tf.math.asinh(x) | tf.asinh(x)",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) { return asinh(x); }),
       .grad = [](const Backward& b) -> Grads { return {b.dy() / cosh(b.y())}; },
       .samples = {{{f32({2, 3})}}}},

      {.name = "acosh",
       .doc = "Elementwise inverse hyperbolic cosine; NaN below 1.",
       .tf = "tf.math.acosh(x) | tf.acosh(x)",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) { return acosh(x); }),
       .grad = [](const Backward& b) -> Grads { return {b.dy() / sinh(b.y())}; },
       .samples = {{{f32({2, 3}).range(1.2, 3)}}}},

      {.name = "atanh",
       .doc = "Elementwise inverse hyperbolic tangent; +-inf at +-1, NaN beyond.",
       .tf = "tf.math.atanh(x) | tf.atanh(x)",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) { return atanh(x); }),
       .grad = [](const Backward& b) -> Grads { return {b.dy() / ((1 - b.x()) * (1 + b.x()))}; },
       .samples = {{{f32({2, 3}).range(-0.9, 0.9)}}}},

      {.name = "erf",
       .doc = "Elementwise error function.",
       .tf = "tf.math.erf(x)",
       .inputs = {"x"},
       .tile = fused_lanes<1>([](auto x) { return erf(x); }),
       .grad = [](const Backward& b) -> Grads { return {b.dy() * (kTwoOverSqrtPi * exp(-square(b.x())))}; },
       .samples = {{{f32({2, 3})}}}},

      {.name = "erfc",
       .doc = "Elementwise 1 - erf(x), accurate for large x.",
       .tf = "tf.math.erfc(x)",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) { return erfc(x); }),
       .grad = [](const Backward& b) -> Grads { return {b.dy() * (-kTwoOverSqrtPi * exp(-square(b.x())))}; },
       .samples = {{{f32({2, 3})}}}},

      {.name = "erfinv",
       .doc = "Elementwise inverse of erf; +-inf at +-1, NaN beyond.",
       .tf = "tf.math.erfinv(x)",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) { return erfinv(x); }),
       .grad = [](const Backward& b) -> Grads { return {b.dy() * (exp(square(b.y())) / kTwoOverSqrtPi)}; },
       .samples = {{{f32({2, 3}).range(-0.9, 0.9)}}}},

      {.name = "lgamma",
       .doc = "Elementwise logarithm of the magnitude of the gamma function; +inf at 0 and the negative integers.",
       .tf = "tf.math.lgamma(x)",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) { return lgamma(x); }),
       .grad = [](const Backward& b) -> Grads { return {b.dy() * digamma(b.x())}; },
       .samples = {{{f32({2, 3}).range(0.3, 4)}}, {{f32({4}).exactly({-0.4, -1.3, -2.6, -7.2})}}}},

      {.name = "digamma",
       .doc = "Elementwise derivative of lgamma; NaN at the negative integers.",
       .tf = "tf.math.digamma(x)",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) { return digamma(x); }),
       .grad = [](const Backward& b) -> Grads { return {b.dy() * polygamma(b.x(), 1)}; },
       .samples = {{{f32({2, 3}).range(0.3, 4)}}, {{f32({4}).exactly({-0.4, -1.3, -2.6, -7.2})}}}},

      {.name = "polygamma",
       .doc = "Elementwise derivative of digamma of the given order; 0 is digamma itself.",
       .tf = "tf.math.polygamma(a=order, x=x)",
       .inputs = {"x"},
       .attrs = {attr::integer("order").between(0, std::numeric_limits<std::int32_t>::max())},
       .dtypes = kFloats,
       .infer = infer::same,
       .kernel = polygamma_kernel,
       .grad = [](const Backward& b) -> Grads { return {b.dy() * polygamma(b.x(), b.integer("order") + 1)}; },
       .batch = batch::carry,
       .samples = {{{f32({2, 3}).range(0.5, 4)}, {{"order", std::int64_t{1}}}},
                   {{f32({4}).exactly({-0.4, -1.3, -2.6, -7.3})}, {{"order", std::int64_t{2}}}},
                   {{f32({2}).range(1, 3)}, {{"order", std::int64_t{0}}}}}},

      {.name = "sigmoid",
       .doc = "Elementwise 1 / (1 + exp(-x)), without overflow.",
       .tf = "tf.math.sigmoid(x) | tf.sigmoid(x) | tf.nn.sigmoid(x)",
       .inputs = {"x"},
       .tile = fused_lanes<1>([](auto x) { return sigmoid(x); }),
       .grad = [](const Backward& b) -> Grads { return {sigmoid_backward(b.y(), b.dy(), b.at)}; },
       .samples = {{{f32({2, 3})}}, {{f32({4}).range(-1e4, 1e4)}}}},

      {.name = "sigmoid_backward",
       .doc = "The gradient of sigmoid from its result y: dy * y * (1 - y).",
       .inputs = {"y", "dy"},
       .tile = lanes<2, Floats>([](auto y, auto dy) { return dy * y * (decltype(y)(1) - y); }),
       .grad = [](const Backward& b) -> Grads {
         return {b.needs(0) ? Grad(b.dy() * b.x(1) * (1 - 2 * b.x(0))) : Grad(), sigmoid_backward(b.x(0), b.dy(), b.at)};
       },
       .samples = {{{f32({2, 3}).range(0, 1), f32({2, 3})}}, {{f32({3}).range(0, 1), f32({2, 1})}}}},

      {.name = "log_sigmoid",
       .doc = "Elementwise log(sigmoid(x)), without overflow.",
       .tf = "tf.math.log_sigmoid(x)",
       .inputs = {"x"},
       .tile = fused_lanes<1>([](auto x) { return -softplus(-x); }),
       .grad = [](const Backward& b) -> Grads { return {b.dy() * sigmoid(-b.x())}; },
       .samples = {{{f32({2, 3})}}, {{f32({4}).range(-1e4, 1e4)}}}},

      {.name = "softplus",
       .doc = "Elementwise log(1 + exp(x)), without overflow.",
       .tf = "tf.math.softplus(features=x) | tf.nn.softplus(features=x)",
       .inputs = {"x"},
       .tile = fused_lanes<1>([](auto x) { return softplus(x); }),
       .grad = [](const Backward& b) -> Grads { return {b.dy() * sigmoid(b.x())}; },
       .samples = {{{f32({2, 3})}}, {{f32({4}).range(-1e4, 1e4)}}}},
  };
}

}  // namespace weft::inline v0::rows
