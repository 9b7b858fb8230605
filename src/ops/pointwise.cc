// Arithmetic and elementary functions.
#include "ops/families.h"
#include "ops/row.h"

namespace weft::inline v0::rows {

std::vector<Op> pointwise() {
  return {
      {.name = "add",
       .doc = "Elementwise sum, broadcasting.",
       .tf = "tf.math.add(a, b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Numbers>([](auto a, auto b) { return lane_add(a, b); }),
       .grad = [](const Backward& b) -> Grads { return {b.dy(), b.dy()}; },
       .traits = kCommutative,
       .samples = {{{f32({2, 3}), f32({3})}}, {{f32({}), f32({2, 1})}}}},

      {.name = "subtract",
       .doc = "Elementwise difference, broadcasting.",
       .tf = "tf.math.subtract(a, b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Numbers>([](auto a, auto b) { return lane_sub(a, b); }),
       .grad = [](const Backward& b) -> Grads { return {b.dy(), -b.dy()}; },
       .samples = {{{f32({2, 3}), f32({3})}}, {{f32({}), f32({2, 1})}}}},

      {.name = "multiply",
       .doc = "Elementwise product, broadcasting.",
       .tf = "tf.math.multiply(a, b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Numbers>([](auto a, auto b) { return lane_mul(a, b); }),
       .grad = [](const Backward& b) -> Grads { return {b.dy() * b.x(1), b.dy() * b.x(0)}; },
       .traits = kCommutative,
       .samples = {{{f32({2, 3}), f32({3})}}, {{f32({}), f32({2, 1})}}}},

      {.name = "divide",
       .doc = "Elementwise true quotient, broadcasting; integers give f64, those of 8 and 16 bits f32.",
       .tf = "tf.math.divide(a, b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Numbers>([](auto a, auto b) {
         using T = decltype(a);
         using R = std::conditional_t<std::floating_point<T>, T, std::conditional_t<(sizeof(T) < 4), float, double>>;
         return static_cast<R>(a) / static_cast<R>(b);
       }),
       .grad = [](const Backward& b) -> Grads { return {b.dy() / b.x(1), -b.dy() * b.y() / b.x(1)}; },
       .samples = {{{f32({2, 3}), f32({3}).range(0.5, 2)}}, {{f32({}), f32({2, 1}).range(-2, -0.5)}}}},

      {.name = "floormod",
       .doc = "Elementwise remainder with the sign of b, as Python's %; broadcasting. An integer zero in b is a ValueError.",
       .tf = "tf.math.floormod(a, b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Floats>([](auto a, auto b) { return a - std::floor(a / b) * b; }),
       .samples = {{{f32({2, 3}), f32({3}).range(0.5, 2)}}}},

      {.name = "negative",
       .doc = "Elementwise -x; integers wrap.",
       .tf = "tf.math.negative(x)",
       .inputs = {"x"},
       .tile = lanes<1, Signed>([](auto x) { return lane_sub(decltype(x)(0), x); }),
       .grad = [](const Backward& b) -> Grads { return {-b.dy()}; },
       .samples = {{{f32({2, 3})}}}},

      {.name = "exp",
       .doc = "Elementwise e to the power x.",
       .tf = "tf.math.exp(x)",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) { return exp(x); }),
       .grad = [](const Backward& b) -> Grads { return {b.dy() * b.y()}; },
       .samples = {{{f32({2, 3})}}}},
  };
}

}  // namespace weft::inline v0::rows
