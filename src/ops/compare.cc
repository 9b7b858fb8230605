// Comparisons, logic and bits.
#include <algorithm>
#include <cmath>

#include "base/convert.h"
#include "core/strides.h"
#include "ops/batch.h"
#include "ops/families.h"
#include "ops/row.h"
#include "ops/sizes.h"

namespace weft::inline v0::rows {
namespace {

template <class Bits>
void select_lanes(const void* const* in, void* out, std::size_t n) {
  const bool* condition = static_cast<const bool*>(in[0]);
  const Bits *a = static_cast<const Bits*>(in[1]), *b = static_cast<const Bits*>(in[2]);
  Bits* y = static_cast<Bits*>(out);
  for (std::size_t k = 0; k < n; ++k) y[k] = condition[k] ? a[k] : b[k];
}

// How far a shift by b goes: every count is defined, the way TensorFlow's own kernels take those outside the width.
template <IntLane T>
int shift_count(T b) {
  constexpr T last = sizeof(T) * 8 - 1;
  return b < T(0) ? 0 : static_cast<int>(b > last ? last : b);
}

void select(KernelCall& call) {
  const Shape& shape = call.out_shape();
  std::int64_t strides[3][kMaxRank];
  kernels::TileInput inputs[3];
  for (std::size_t i = 0; i < 3; ++i) {
    broadcast_strides(call.shape(i), shape, strides[i]);
    inputs[i] = {mutable_data(call.inputs[i]), strides[i], size_of(call.dtype(i)), kernels::Half::kNo};
  }
  const std::size_t size = size_of(call.out_dtype());
  const kernels::TileFn fn = size == 1 ? select_lanes<std::uint8_t> : size == 2 ? select_lanes<std::uint16_t>
                           : size == 4 ? select_lanes<std::uint32_t> : select_lanes<std::uint64_t>;
  kernels::run_tile(fn, inputs, 3, {call.out<void>(), size, kernels::Half::kNo}, shape.begin(), shape.rank());
}

void require_true(const KernelCall& call) {
  const bool* const holds = call.in<bool>(0);
  const std::int64_t size = call.inputs[0].size(), fails = size - std::count(holds, holds + size, true);
  if (fails == 0) return;
  const std::string& message = call.text("message");
  throw CheckError(call.op.name, (message.empty() ? "the check does not hold" : message) +
                                     (size == 1 ? "" : " (" + std::to_string(fails) + " of " + std::to_string(size) + " elements)") + ".", call.at);
}

void require_finite(const KernelCall& call) {
  const std::int64_t size = call.inputs[0].size();
  std::int64_t nans = 0, infinite = 0, first = -1;
  with_element(call.dtype(), [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    const T* const x = call.in<T>(0);
    for (std::int64_t i = 0; i < size; ++i) {
      const double value = convert<double>(x[i]);
      if (std::isfinite(value)) continue;
      if (first < 0) first = i;
      std::isnan(value) ? ++nans : ++infinite;
    }
  });
  if (first < 0) return;
  const std::string& message = call.text("message");
  throw NumericError(call.op.name, (message.empty() ? "x" : message) + " " + call.inputs[0].spec().str() + " has " + std::to_string(nans) + " NaN and " +
                                       std::to_string(infinite) + " infinite elements, the first at position " + std::to_string(first) +
                                       "; look at what went into it.", call.at);
}

Specs infer_ensure_shape(const Infer& in) {
  const Ints& wanted = in.ints("shape");
  for (const std::int64_t size : wanted)
    if (size < -1) in.shape_error("shape has the size " + std::to_string(size) + "; sizes are >= 0, or -1 where any will do.");
  const std::string stated = in.named(0) + " is not of the shape " + attr_text(in.op.attrs[0], wanted) + ": ";
  if (wanted.size() != static_cast<std::size_t>(in.rank(0)))
    in.shape_error(stated + "its rank is " + std::to_string(in.rank(0)) + " and not " + std::to_string(wanted.size()) + ".");
  Shape refined = in.shape(0);
  for (int axis = 0; axis < refined.rank(); ++axis) {
    const std::int64_t size = wanted[static_cast<std::size_t>(axis)];
    if (size == kUnknown) continue;
    if (!infer::compatible(refined.dim(axis), size))
      in.shape_error(stated + "axis " + std::to_string(axis) + " is " + std::to_string(refined.dim(axis)) + " and not " + std::to_string(size) + ".");
    refined.set(axis, size);
  }
  return {{in.dtype(0), shape_of(in, Ints(refined.begin(), refined.end()))}};
}

}  // namespace

std::vector<Op> compare() {
  return {
      {.name = "equal",
       .doc = "Elementwise a == b, broadcasting; NaN equals nothing.",
       .tf = "tf.math.equal(a, b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Everything>([](auto a, auto b) { return a == b; }),
       .traits = kCommutative | kNoGradient,
       .samples = {{{i32({3, 1}), i32({4})}}, {{f32({2, 3}), f32({3})}}}},

      {.name = "not_equal",
       .doc = "Elementwise a != b, broadcasting.",
       .tf = "tf.math.not_equal(a, b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Everything>([](auto a, auto b) { return a != b; }),
       .traits = kCommutative | kNoGradient,
       .samples = {{{i32({3, 1}), i32({4})}}, {{f32({2, 3}), f32({3})}}}},

      {.name = "less",
       .doc = "Elementwise a < b, broadcasting.",
       .tf = "tf.math.less(a, b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Numbers>([](auto a, auto b) { return a < b; }),
       .traits = kNoGradient,
       .samples = {{{i32({3, 1}), i32({4})}}, {{f32({2, 3}), f32({3})}}}},

      {.name = "less_equal",
       .doc = "Elementwise a <= b, broadcasting.",
       .tf = "tf.math.less_equal(a, b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Numbers>([](auto a, auto b) { return a <= b; }),
       .traits = kNoGradient,
       .samples = {{{i32({3, 1}), i32({4})}}, {{f32({2, 3}), f32({3})}}}},

      {.name = "greater",
       .doc = "Elementwise a > b, broadcasting.",
       .tf = "tf.math.greater(a, b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Numbers>([](auto a, auto b) { return a > b; }),
       .traits = kNoGradient,
       .samples = {{{i32({3, 1}), i32({4})}}, {{f32({2, 3}), f32({3})}}}},

      {.name = "greater_equal",
       .doc = "Elementwise a >= b, broadcasting.",
       .tf = "tf.math.greater_equal(a, b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Numbers>([](auto a, auto b) { return a >= b; }),
       .traits = kNoGradient,
       .samples = {{{i32({3, 1}), i32({4})}}, {{f32({2, 3}), f32({3})}}}},

      {.name = "logical_and",
       .doc = "Elementwise a and b, broadcasting.",
       .tf = "tf.math.logical_and(a, b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Booleans>([](bool a, bool b) { return a && b; }),
       .traits = kCommutative | kNoGradient,
       .samples = {{{boolean({2, 3}), boolean({3})}}}},

      {.name = "logical_or",
       .doc = "Elementwise a or b, broadcasting.",
       .tf = "tf.math.logical_or(a, b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Booleans>([](bool a, bool b) { return a || b; }),
       .traits = kCommutative | kNoGradient,
       .samples = {{{boolean({2, 3}), boolean({3})}}}},

      {.name = "logical_xor",
       .doc = "Elementwise: exactly one of a and b, broadcasting.",
       .tf = "tf.math.logical_xor(a, b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Booleans>([](bool a, bool b) { return a != b; }),
       .traits = kCommutative | kNoGradient,
       .samples = {{{boolean({2, 3}), boolean({3})}}}},

      {.name = "logical_not",
       .doc = "Elementwise not x.",
       .tf = "tf.math.logical_not(x)",
       .inputs = {"x"},
       .tile = lanes<1, Booleans>([](bool x) { return !x; }),
       .traits = kNoGradient,
       .samples = {{{boolean({4})}}}},

      {.name = "check",
       .doc = "`holds`, if all of its elements are true; otherwise a CheckError with the message.",
       .inputs = {"holds:bool"},
       .attrs = {attr::text("message")},
       .infer = infer::same,
       .validate = require_true,
       .batch = batch::carry,
       .traits = kView | kNoGradient,
       .samples = {{{boolean({2, 3}).exactly({1, 1, 1, 1, 1, 1})}, {{"message", "must hold"}}}, {{boolean({}).exactly({1})}, {{"message", ""}}}}},

      {.name = "check_numerics",
       .doc = "x, if all of its elements are finite; otherwise a NumericError with the message, which says how many are NaN or infinite and where the "
              "first one is.",
       .tf = "tf.debugging.check_numerics(x, message)",
       .inputs = {"x"},
       .attrs = {attr::text("message")},
       .dtypes = kFloats,
       .infer = infer::same,
       .validate = require_finite,
       .grad = [](const Backward& b) -> Grads { return {b.dy()}; },
       .batch = batch::carry,
       .traits = kView,
       .samples = {{{f32({2, 3})}, {{"message", "loss"}}}}},

      {.name = "ensure_shape",
       .doc = "x, if it has this shape; sizes that are -1 may be any. Sizes of x that are not known while tracing are these from here on, and a "
              "call with others fails.",
       .tf = "tf.ensure_shape(x, shape)",
       .inputs = {"x"},
       .attrs = {attr::shape("shape")},
       .dtypes = kAnything,
       .infer = infer_ensure_shape,
       .grad = [](const Backward& b) -> Grads { return {b.dy()}; },
       .batch = [](const Batch& b) -> Tensors { return batch::prefix(b, "shape", {b.size}); },
       .traits = kView | kMayFail,
       .samples = {{{f32({2, 3})}, {{"shape", Ints{2, 3}}}}, {{f32({4, 0, 2})}, {{"shape", Ints{-1, 0, 2}}}}, {{f32({})}, {{"shape", Ints{}}}}}},

      {.name = "bitwise_and",
       .doc = "Elementwise and of the bits, broadcasting.",
       .tf = "tf.bitwise.bitwise_and(a, b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Integers>([](auto a, auto b) { return static_cast<decltype(a)>(a & b); }),
       .traits = kCommutative | kNoGradient,
       .samples = {{{i32({2, 3}), i32({3})}}}},

      {.name = "bitwise_or",
       .doc = "Elementwise or of the bits, broadcasting.",
       .tf = "tf.bitwise.bitwise_or(a, b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Integers>([](auto a, auto b) { return static_cast<decltype(a)>(a | b); }),
       .traits = kCommutative | kNoGradient,
       .samples = {{{i32({2, 3}), i32({3})}}}},

      {.name = "bitwise_xor",
       .doc = "Elementwise exclusive or of the bits, broadcasting.",
       .tf = "tf.bitwise.bitwise_xor(a, b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Integers>([](auto a, auto b) { return static_cast<decltype(a)>(a ^ b); }),
       .traits = kCommutative | kNoGradient,
       .samples = {{{i32({2, 3}), i32({3})}}}},

      {.name = "left_shift",
       .doc = "Elementwise a shifted left by b bits, broadcasting; b below 0 counts as 0, beyond the width as the width less one.",
       .tf = "tf.bitwise.left_shift(a, b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Integers>([](auto a, auto b) { return static_cast<decltype(a)>(static_cast<std::uint64_t>(a) << shift_count(b)); }),
       .traits = kNoGradient,
       .samples = {{{i32({2, 3}), i32({3}).range(0, 5)}}}},

      {.name = "right_shift",
       .doc = "Elementwise a shifted right by b bits, keeping the sign; b below 0 counts as 0, beyond the width as the width less one.",
       .tf = "tf.bitwise.right_shift(a, b)",
       .inputs = {"a", "b"},
       .tile = lanes<2, Integers>([](auto a, auto b) { return static_cast<decltype(a)>(a >> shift_count(b)); }),
       .traits = kNoGradient,
       .samples = {{{i32({2, 3}), i32({3}).range(0, 5)}}}},

      {.name = "invert",
       .doc = "Elementwise complement of the bits.",
       .tf = "tf.bitwise.invert(x)",
       .inputs = {"x"},
       .tile = lanes<1, Integers>([](auto x) { return static_cast<decltype(x)>(~x); }),
       .traits = kNoGradient,
       .samples = {{{i32({2, 3})}}}},

      {.name = "is_nan",
       .doc = "Elementwise: x is not a number.",
       .tf = "tf.math.is_nan(x)",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) { return std::isnan(x); }),
       .traits = kNoGradient,
       .samples = {{{f32({4}).exactly({0.5, std::numeric_limits<double>::quiet_NaN(), -1, std::numeric_limits<double>::infinity()})}}, {{f32({2, 3})}}}},

      {.name = "is_inf",
       .doc = "Elementwise: x is plus or minus infinity.",
       .tf = "tf.math.is_inf(x)",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) { return std::isinf(x); }),
       .traits = kNoGradient,
       .samples = {{{f32({4}).exactly({0.5, std::numeric_limits<double>::quiet_NaN(), -1, -std::numeric_limits<double>::infinity()})}}, {{f32({2, 3})}}}},

      {.name = "is_finite",
       .doc = "Elementwise: x is neither infinite nor NaN.",
       .tf = "tf.math.is_finite(x)",
       .inputs = {"x"},
       .tile = lanes<1, Floats>([](auto x) { return std::isfinite(x); }),
       .traits = kNoGradient,
       .samples = {{{f32({4}).exactly({0.5, std::numeric_limits<double>::quiet_NaN(), -1, std::numeric_limits<double>::infinity()})}}, {{f32({2, 3})}}}},

      {.name = "where",
       .doc = "Elementwise a where condition holds, else b; all three broadcast.",
       .tf = "tf.where(condition, a, b)",
       .inputs = {"condition:bool", "a", "b"},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs { return {{in.dtype(1), infer::broadcast(in, 0, 2)}}; },
       .kernel = select,
       .grad = [](const Backward& b) -> Grads {
         const Tensor zero = zeros_like(b.dy());
         return {Grad(), where(b.x(0), b.dy(), zero), where(b.x(0), zero, b.dy())};
       },
       .batch = batch::broadcast,
       .traits = kBroadcasts | kMoves,
       .samples = {{{boolean({2, 3}), f32({2, 3}), f32({3})}}, {{boolean({2, 1}), f32({}), f32({3})}}}},
  };
}

}  // namespace weft::inline v0::rows
