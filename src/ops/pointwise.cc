// Arithmetic and rounding.
#include <algorithm>

#include "ops/families.h"
#include "ops/row.h"

namespace weft::inline v0::rows {
namespace {

// The gradients of a row with two inputs, each made only where it is needed.
template <class A, class B>
Grads needed(const Backward& b, A da, B db) {
  return {b.needs(0) ? Grad(da()) : Grad(), b.needs(1) ? Grad(db()) : Grad()};
}

// Refuses a call whose integer input 1 has an element for which `bad` holds, unless nothing is computed at all.
template <class Bad>
void refuse_integers(const KernelCall& call, Bad bad, const char* rule) {
  if (!is_integer(call.dtype(1)) || call.specs[0].shape.num_elements() == 0) return;
  with_element(call.dtype(1), [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (IntLane<T>) {
      const T* values = call.in<T>(1);
      const Shape& shape = call.shape(1);
      const std::int64_t count = shape.num_elements(), at = std::find_if(values, values + count, bad) - values;
      if (at == count) return;
      std::string place;
      for (std::int64_t axis = shape.rank() - 1, rest = at; axis >= 0; --axis) {
        const std::int64_t size = shape.dim(static_cast<int>(axis));
        place = std::to_string(rest % size) + (place.empty() ? "" : ",") + place;
        rest /= size;
      }
      call.value_error(call.name(1) + " is " + std::to_string(values[at]) + (shape.rank() == 0 ? "" : " at [" + place + "]") + "; " + rule);
    }
  });
}

void refuse_zero_divisors(const KernelCall& call) {
  refuse_integers(call, [](auto v) { return v == 0; }, "integers cannot be divided by zero, replace it or cast to a floating dtype.");
}

void refuse_negative_powers(const KernelCall& call) {
  refuse_integers(call, [](auto v) { return v < decltype(v)(0); }, "integers have powers of 0 and more only, cast to a floating dtype.");
}

Specs infer_add_n(const Infer& in) {
  Spec result = in.spec(0);
  for (std::size_t i = 1; i < in.count(); ++i) {
    infer::require_same_shape(in, i);
    for (int axis = 0; axis < result.shape.rank(); ++axis) result.shape.set(axis, infer::merge(result.shape.dim(axis), in.shape(i).dim(axis)));
  }
  return {result};
}

void add_n_kernel(KernelCall& call) {
  with_element(call.dtype(), [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (Lane<T> && !std::same_as<T, bool>) {
      const std::int64_t count = call.out_shape().num_elements();
      T* y = call.out<T>();
      std::copy_n(call.in<T>(0), count, y);
      for (std::size_t i = 1; i < call.inputs.size(); ++i)
        for (std::int64_t k = 0; k < count; ++k) y[k] = lane_add(y[k], call.in<T>(i)[k]);
    }
  });
}

}  // namespace

std::vector<Op> pointwise() {
  return {
      {.name = "add",
       .doc = "Elementwise sum, broadcasting; integers wrap.",
       .tf = "tf.math.add(x=a, y=b) | tf.add(x=a, y=b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Numbers>(Sum{}),
       .grad = [](const Backward& b) -> Grads { return {b.dy(), b.dy()}; },
       .traits = kCommutative,
       .samples = {{{f32({2, 3}), f32({3})}}, {{f32({}), f32({2, 1})}}}},

      {.name = "subtract",
       .doc = "Elementwise difference, broadcasting; integers wrap.",
       .tf = "tf.math.subtract(x=a, y=b) | tf.subtract(x=a, y=b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Numbers>(Difference{}),
       .grad = [](const Backward& b) -> Grads {
         return needed(b, [&] { return b.dy(); }, [&] { return -b.dy(); });
       },
       .samples = {{{f32({2, 3}), f32({3})}}, {{f32({}), f32({2, 1})}}}},

      {.name = "multiply",
       .doc = "Elementwise product, broadcasting; integers wrap.",
       .tf = "tf.math.multiply(x=a, y=b) | tf.multiply(x=a, y=b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Numbers>(Product{}),
       .grad = [](const Backward& b) -> Grads {
         return needed(b, [&] { return b.dy() * b.x(1); }, [&] { return b.dy() * b.x(0); });
       },
       .traits = kCommutative,
       .samples = {{{f32({2, 3}), f32({3})}}, {{f32({}), f32({2, 1})}}}},

      {.name = "divide",
       .doc = "Elementwise true quotient, broadcasting; integers give f64, those of 8 and 16 bits f32.",
       .tf = "tf.math.divide(x=a, y=b) | tf.divide(x=a, y=b) | tf.math.truediv(x=a, y=b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Numbers>(Quotient{}),
       .grad = [](const Backward& b) -> Grads {
         return needed(b, [&] { return b.dy() / b.x(1); }, [&] { return -b.dy() * b.y() / b.x(1); });
       },
       .samples = {{{f32({2, 3}), f32({3}).range(0.5, 2)}}, {{f32({}), f32({2, 1}).range(-2, -0.5)}}, {{i32({2, 3}), i32({3}).range(1, 9)}}}},

      {.name = "floordiv",
       .doc = "Elementwise quotient rounded toward minus infinity, broadcasting. An integer zero in b is a ValueError; the least integer by -1 wraps.",
       .tf = "tf.math.floordiv(x=a, y=b)",
       .inputs = {"a", "b"},
       .validate = refuse_zero_divisors,
       .tile = lanes<2, Numbers>([](auto a, auto b) { return lane_floordiv(a, b); }),
       .traits = kNoGradient,
       .samples = {{{f32({2, 3}), f32({3}).range(0.5, 2)}}, {{i32({2, 3}), i32({3}).range(1, 9)}}, {{i32({2, 1}), i32({3}).range(-9, -1)}}}},

      {.name = "floormod",
       .doc = "Elementwise remainder of floordiv, which has the sign of b as Python's %; broadcasting. An integer zero in b is a ValueError.",
       .tf = "tf.math.floormod(x=a, y=b) | tf.math.mod(x=a, y=b)",
       .inputs = {"a", "b"},
       .validate = refuse_zero_divisors,
       .tile = lanes<2, Numbers>([](auto a, auto b) { return lane_floormod(a, b); }),
       .grad = [](const Backward& b) -> Grads {
         return needed(b, [&] { return b.dy(); }, [&] { return -b.dy() * floordiv(b.x(0), b.x(1)); });
       },
       .samples = {{{f32({6}).exactly({1.3, -0.8, 2.9, 0.2, -1.7, -2.6}), f32({6}).exactly({0.53, 0.71, 1.17, 1.13, -0.93, -0.83})}},
                   {{i32({2, 3}), i32({3}).range(1, 9)}},
                   {{i32({2, 1}), i32({3}).range(-9, -1)}}}},

      {.name = "truncatediv",
       .doc = "Elementwise quotient rounded toward zero, as C's /; broadcasting. An integer zero in b is a ValueError; the least integer by -1 wraps.",
       .tf = "tf.truncatediv(x=a, y=b)",
       .inputs = {"a", "b"},
       .validate = refuse_zero_divisors,
       .tile = lanes<2, Numbers>([](auto a, auto b) { return lane_truncatediv(a, b); }),
       .traits = kNoGradient,
       .samples = {{{f32({2, 3}), f32({3}).range(0.5, 2)}}, {{i32({2, 3}), i32({3}).range(1, 9)}}, {{i32({2, 1}), i32({3}).range(-9, -1)}}}},

      {.name = "truncatemod",
       .doc = "Elementwise remainder of truncatediv, which has the sign of a as C's %; broadcasting. An integer zero in b is a ValueError.",
       .tf = "tf.truncatemod(x=a, y=b)",
       .inputs = {"a", "b"},
       .validate = refuse_zero_divisors,
       .tile = lanes<2, Numbers>([](auto a, auto b) { return lane_truncatemod(a, b); }),
       .grad = [](const Backward& b) -> Grads {
         return needed(b, [&] { return b.dy(); }, [&] { return -b.dy() * truncatediv(b.x(0), b.x(1)); });
       },
       .samples = {{{f32({6}).exactly({1.3, -0.8, 2.9, 0.2, -1.7, -2.6}), f32({6}).exactly({0.53, 0.71, 1.17, 1.13, -0.93, -0.83})}},
                   {{i32({2, 3}), i32({3}).range(1, 9)}},
                   {{i32({2, 1}), i32({3}).range(-9, -1)}}}},

      {.name = "divide_no_nan",
       .doc = "Elementwise quotient, and 0 wherever b is 0; broadcasting.",
       .tf = "tf.math.divide_no_nan(x=a, y=b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Floats>([](auto a, auto b) { return b == decltype(b)(0) ? decltype(a)(0) : a / b; }),
       .grad = [](const Backward& b) -> Grads {
         return needed(b, [&] { return divide_no_nan(b.dy(), b.x(1)); }, [&] { return -b.dy() * divide_no_nan(b.y(), b.x(1)); });
       },
       .samples = {{{f32({2, 3}), f32({3}).range(0.5, 2)}}, {{f32({}), f32({2, 1}).range(-2, -0.5)}}}},

      {.name = "multiply_no_nan",
       .doc = "Elementwise product, and 0 wherever b is 0 even if a is infinite or NaN; broadcasting.",
       .tf = "tf.math.multiply_no_nan(x=a, y=b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Floats>([](auto a, auto b) { return b == decltype(b)(0) ? decltype(a)(0) : a * b; }),
       .grad = [](const Backward& b) -> Grads {
         return needed(b, [&] { return multiply_no_nan(b.dy(), b.x(1)); }, [&] { return multiply_no_nan(b.x(0), b.dy()); });
       },
       .samples = {{{f32({2, 3}), f32({3}).range(0.5, 2)}}, {{f32({}), f32({2, 1}).range(-2, -0.5)}}}},

      {.name = "pow",
       .doc = "Elementwise x to the power y, broadcasting; integers wrap, and a negative integer in y is a ValueError. Where x <= 0 no gradient flows to y.",
       .tf = "tf.math.pow(x, y) | tf.pow(x, y)",
       .inputs = {"x", "y"},
       .validate = refuse_negative_powers,
       .tile = lanes<2, Numbers>([](auto x, auto y) { return lane_pow(x, y); }),
       .grad = [](const Backward& b) -> Grads {
         // y * x^(y - 1) is 0 for y = 0, whatever the power is.
         const auto dx = [&] { return b.dy() * multiply_no_nan(pow(b.x(0), b.x(1) - 1), b.x(1)); };
         const auto dy = [&] {
           const Tensor x = b.x(0), positive = x > 0;
           // The inner where keeps the logarithm's own gradient finite where it is not used.
           return b.dy() * b.y() * where(positive, log(where(positive, x, ones_like(x))), zeros_like(x));
         };
         return needed(b, dx, dy);
       },
       .samples = {{{f32({2, 3}).range(0.5, 3), f32({3}).range(0, 3)}}, {{f32({}).range(0.3, 0.9), f32({2, 1})}}}},

      {.name = "maximum",
       .doc = "Elementwise larger one of a and b, broadcasting; NaN if either is. Of equal ones a gets the gradient.",
       .tf = "tf.math.maximum(x=a, y=b) | tf.maximum(x=a, y=b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Numbers>([](auto a, auto b) { return lane_max(a, b); }),
       .grad = [](const Backward& b) -> Grads {
         const Tensor dy = b.dy(), zero = zeros_like(dy), first = b.x(0) >= b.x(1);
         return needed(b, [&] { return where(first, dy, zero); }, [&] { return where(first, zero, dy); });
       },
       .samples = {{{f32({2, 3}).distinct(), f32({3}).distinct()}}, {{f32({}).distinct(), f32({2, 1}).distinct()}}, {{i32({2, 3}), i32({3})}}}},

      {.name = "minimum",
       .doc = "Elementwise smaller one of a and b, broadcasting; NaN if either is. Of equal ones a gets the gradient.",
       .tf = "tf.math.minimum(x=a, y=b) | tf.minimum(x=a, y=b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Numbers>([](auto a, auto b) { return lane_min(a, b); }),
       .grad = [](const Backward& b) -> Grads {
         const Tensor dy = b.dy(), zero = zeros_like(dy), first = b.x(0) <= b.x(1);
         return needed(b, [&] { return where(first, dy, zero); }, [&] { return where(first, zero, dy); });
       },
       .samples = {{{f32({2, 3}).distinct(), f32({3}).distinct()}}, {{f32({}).distinct(), f32({2, 1}).distinct()}}, {{i32({2, 3}), i32({3})}}}},

      {.name = "clip_by_value",
       .doc = "Elementwise x, but at least low and at most high; broadcasting. NaN stays NaN. Where low is above high the result is low.",
       .tf = "tf.clip_by_value(t=x, clip_value_min=low, clip_value_max=high)",
       .inputs = {"x", "low", "high"},
       .tile = lanes<3, Numbers>([](auto x, auto low, auto high) { return lane_max(lane_min(x, high), low); }),
       .grad = [](const Backward& b) -> Grads {
         const Tensor &x = b.x(0), &low = b.x(1), &high = b.x(2), dy = b.dy(), zero = zeros_like(dy);
         const Tensor below = minimum(x, high) < low, above = x > high;
         const Tensor rest = where(below, zero, dy);  // what low does not take
         return {where(above, zero, rest), where(below, dy, zero), where(above, rest, zero)};
       },
       .samples = {{{f32({2, 3}).distinct(), f32({3}).range(-1.3, -0.7), f32({}).range(0.7, 1.3)}},
                   {{f32({}).range(0.2, 0.6), f32({2, 1}).range(-1, -0.5), f32({3}).range(1, 2)}},
                   {{i32({2, 3}), i32({}).range(1, 3), i32({3}).range(4, 6)}}}},

      {.name = "squared_difference",
       .doc = "Elementwise (a - b) squared, broadcasting; integers wrap.",
       .tf = "tf.math.squared_difference(x=a, y=b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Numbers>([](auto a, auto b) {
         const auto difference = lane_sub(a, b);
         return lane_mul(difference, difference);
       }),
       .grad = [](const Backward& b) -> Grads {
         const Tensor da = 2 * (b.x(0) - b.x(1)) * b.dy();
         return needed(b, [&] { return da; }, [&] { return -da; });
       },
       .traits = kCommutative,
       .samples = {{{f32({2, 3}), f32({3})}}, {{f32({}), f32({2, 1})}}}},

      {.name = "add_n",
       .doc = "Elementwise sum of tensors of one shape, in the order of the list; integers wrap.",
       .tf = "tf.math.add_n(inputs=xs) | tf.add_n(inputs=xs) | tf.math.accumulate_n(inputs=xs)",
       .inputs = {"xs..."},
       .dtypes = kNumbers,
       .infer = infer_add_n,
       .kernel = add_n_kernel,
       .grad = [](const Backward& b) -> Grads {
         Grads result;
         for (std::size_t i = 0; i < b.inputs.size(); ++i) result.push_back(b.dy());
         return result;
       },
       .batch = batch::carry,
       .samples = {{{f32({2, 3}), f32({2, 3}), f32({2, 3})}}, {{f32({})}}}},

      {.name = "polyval",
       .doc = "Elementwise polynomial coeffs[0] x^(n-1) + ... + coeffs[n-1] by Horner's rule; x and the coefficients broadcast.",
       .tf = "tf.math.polyval(coeffs, x)",
       .inputs = {"x", "coeffs..."},
       .order = "coeffs x",
       .dtypes = kNumbers,
       .infer = infer::pointwise,
       .expand = [](const Expand& in) -> Tensors {
         const Tensor& x = in[0];
         if (in.inputs.size() == 2) return {in[1] * ones_like(x)};  // a constant, in the shape of x
         Tensor y = in[1];
         for (std::size_t i = 2; i < in.inputs.size(); ++i) y = y * x + in[i];
         return {y};
       },
       .samples = {{{f32({3}), f32({3}), f32({3})}}, {{f32({2, 1}), f32({}), f32({3}), f32({2, 3})}}, {{f32({2}), f32({})}}}},

      {.name = "abs",
       .doc = "Elementwise magnitude; the least integer wraps to itself. Its gradient at 0 is 0.",
       .tf = "tf.math.abs(x) | tf.abs(x)",
       .inputs = {"x"},
       .tile = lanes<1, Signed>([](auto x) {
         if constexpr (std::floating_point<decltype(x)>) return std::abs(x);
         else return x < decltype(x)(0) ? lane_negative(x) : x;
       }),
       .grad = [](const Backward& b) -> Grads { return {b.dy() * sign(b.x())}; },
       .samples = {{{f32({2, 3}).range(-2, -0.2)}}, {{f32({4}).range(0.2, 2)}}}},

      {.name = "sign",
       .doc = "Elementwise -1, 0 or 1 by the sign of x; NaN stays NaN. Its gradient is 0 everywhere.",
       .tf = "tf.math.sign(x) | tf.sign(x)",
       .inputs = {"x"},
       .tile = lanes<1, Signed>([](auto x) {
         using T = decltype(x);
         return x > T(0) ? T(1) : x < T(0) ? T(-1) : x == T(0) ? T(0) : x;
       }),
       .grad = [](const Backward& b) -> Grads { return {zeros_like(b.dy())}; },
       .samples = {{{f32({2, 3}).range(-2, -0.2)}}, {{f32({4}).range(0.2, 2)}}}},

      {.name = "negative",
       .doc = "Elementwise -x; integers wrap.",
       .tf = "tf.math.negative(x) | tf.negative(x)",
       .inputs = {"x"},
       .tile = lanes<1, Signed>(Negated{}),
       .grad = [](const Backward& b) -> Grads { return {-b.dy()}; },
       .samples = {{{f32({2, 3})}}}},

      {.name = "square",
       .doc = "Elementwise x squared; integers wrap.",
       .tf = "tf.math.square(x) | tf.square(x)",
       .inputs = {"x"},
       .tile = lanes<1, Numbers>(Squared{}),
       .grad = [](const Backward& b) -> Grads { return {b.dy() * (2 * b.x())}; },
       .samples = {{{f32({2, 3})}}}},

      {.name = "reciprocal",
       .doc = "Elementwise 1 / x.",
       .tf = "tf.math.reciprocal(x)",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) { return decltype(x)(1) / x; }),
       .grad = [](const Backward& b) -> Grads { return {-b.dy() * square(b.y())}; },
       .samples = {{{f32({2, 3}).range(0.5, 2)}}, {{f32({4}).range(-2, -0.5)}}}},

      {.name = "sqrt",
       .doc = "Elementwise square root; NaN below 0.",
       .tf = "tf.math.sqrt(x) | tf.sqrt(x)",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) { return sqrt(x); }),
       .grad = [](const Backward& b) -> Grads { return {b.dy() * 0.5 / b.y()}; },
       .samples = {{{f32({2, 3}).range(0.5, 2)}}}},

      {.name = "rsqrt",
       .doc = "Elementwise 1 / sqrt(x); NaN below 0.",
       .tf = "tf.math.rsqrt(x)",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) { return decltype(x)(1) / sqrt(x); }),
       .grad = [](const Backward& b) -> Grads { return {b.dy() * -0.5 * b.y() / b.x()}; },
       .samples = {{{f32({2, 3}).range(0.5, 2)}}}},

      {.name = "floor",
       .doc = "Elementwise largest whole number that is at most x.",
       .tf = "tf.math.floor(x) | tf.floor(x)",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) { return floor(x); }),
       .traits = kNoGradient,
       .samples = {{{f32({2, 3})}}}},

      {.name = "ceil",
       .doc = "Elementwise smallest whole number that is at least x.",
       .tf = "tf.math.ceil(x)",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) { return ceil(x); }),
       .traits = kNoGradient,
       .samples = {{{f32({2, 3})}}}},

      {.name = "round",
       .doc = "Elementwise nearest whole number; halves go to the even one, integers stay.",
       .tf = "tf.math.round(x) | tf.round(x)",
       .inputs = {"x"},
       .tile = lanes<1, Numbers>([](auto x) {
         if constexpr (std::floating_point<decltype(x)>) return std::nearbyint(x);
         else return x;
       }),
       .traits = kNoGradient,
       .samples = {{{f32({2, 3})}}, {{f32({6}).exactly({-2.5, -1.5, -0.5, 0.5, 1.5, 2.5})}}}},
  };
}

}  // namespace weft::inline v0::rows
