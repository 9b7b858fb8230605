// Random numbers from a key and a counter.
//
// A state is i64[3]: the counter's low and high half, and the key; exactly the state of TensorFlow's Philox generator. Ops
// that draw leave it alone; random_skip gives the state from which the next call draws.
#include <cmath>

#include "base/convert.h"
#include "kernels/philox.h"
#include "ops/families.h"
#include "ops/row.h"

namespace weft::inline v0::rows {
namespace {

constexpr DTypes kState = bit(DType::i64);

kernels::PhiloxState state_of(const KernelCall& call) {
  const std::int64_t* words = call.in<std::int64_t>(0);
  return {static_cast<std::uint64_t>(words[0]), static_cast<std::uint64_t>(words[1]), static_cast<std::uint64_t>(words[2])};
}

void put_state(KernelCall& call, kernels::PhiloxState state) {
  std::int64_t* words = call.out<std::int64_t>();
  words[0] = static_cast<std::int64_t>(state.counter_low);
  words[1] = static_cast<std::int64_t>(state.counter_high);
  words[2] = static_cast<std::int64_t>(state.key);
}

void require_length(const Infer& in, std::int64_t length, const char* meaning) {
  if (in.rank(0) != 1 || !infer::compatible(in.shape(0).dim(0), length))
    in.shape_error(in.named(0) + " must have the shape [" + std::to_string(length) + "]: " + meaning + ".");
}

void require_state(const Infer& in) { require_length(in, 3, "the counter's low and high half, and the key"); }

Specs drawn(const Infer& in, DTypes dtypes) {
  require_state(in);
  const DType dtype = in.dtype_attr("dtype");
  if (!(dtypes & bit(dtype))) in.dtype_error("dtype is " + std::string(name_of(dtype)) + "; it must be " + dtypes_text(dtypes) + ".");
  const Shape shape(in.ints("shape"));
  if (!shape.known()) in.shape_error("shape " + shape.str() + " has an unknown size; name every size.");
  infer::count(in, shape);
  return {{dtype, shape}};
}

// The number rounded to the dtype of the result.
double rounded(const Infer& in, double value) {
  return with_element(in.dtype_attr("dtype"), [&](auto* tag) -> double {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (std::is_integral_v<T>) return value;
    else return convert<double>(convert<T>(value));
  });
}

void require_finite(const Infer& in, const char* what, double value) {
  if (!std::isfinite(rounded(in, value)))
    in.value_error(std::string(what) + " is not finite in " + std::string(name_of(in.dtype_attr("dtype"))) + "; give smaller numbers.");
}

Specs infer_normal(const Infer& in) {
  const Specs specs = drawn(in, kFloats);
  require_finite(in, "mean", in.real("mean"));
  require_finite(in, "stddev", in.real("stddev"));
  return specs;
}

Specs infer_uniform(const Infer& in) {
  const Specs specs = drawn(in, kFloats);
  const double low = in.real("low"), high = in.real("high");
  if (!(low < high)) in.value_error("low must be less than high.");
  require_finite(in, "low", low);
  require_finite(in, "high", high);
  require_finite(in, "high - low", rounded(in, high) - rounded(in, low));
  if (!(rounded(in, low) < rounded(in, high)))
    in.value_error("low and high are the same number in " + std::string(name_of(in.dtype_attr("dtype"))) + "; give a wider range.");
  return specs;
}

Specs infer_integers(const Infer& in) {
  const Specs specs = drawn(in, kInts);
  const std::int64_t low = in.integer("low"), high = in.integer("high");
  if (low >= high) in.value_error("low is " + std::to_string(low) + " and high is " + std::to_string(high) + "; low must be less than high.");
  const bool fits = with_element(specs[0].dtype, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (std::is_integral_v<T> && !std::same_as<T, bool>) return std::in_range<T>(low) && std::in_range<T>(high - 1);
    else return false;
  });
  if (!fits)
    in.value_error("the integers from " + std::to_string(low) + " up to " + std::to_string(high) + " do not all fit " +
                   std::string(name_of(specs[0].dtype)) + "; give another dtype or a smaller range.");
  return specs;
}

// Calls fill(T*) with the output's element type, for floating outputs.
template <class Fill>
void fill_floats(KernelCall& call, const Fill& fill) {
  with_element(call.out_dtype(), [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (!std::is_integral_v<T>) fill(call.out<T>());
  });
}

// The same with the unsigned counterpart of an integer output's element type.
template <class Fill>
void fill_integers(KernelCall& call, const Fill& fill) {
  with_element(call.out_dtype(), [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (std::is_integral_v<T> && !std::same_as<T, bool>) fill(call.out<std::make_unsigned_t<T>>());
  });
}

}  // namespace

std::vector<Op> random() {
  const auto state = [] { return i64({3}).exactly({7, 0, 3}); };
  const Ints shape{5, 3};
  return {
      {.name = "random_bits",
       .doc = "Random integers over the whole range of an integer dtype, drawn at a generator state: 32-bit words of Philox 4x32-10, two for 64 bits.",
       .inputs = {"state"},
       .attrs = {attr::shape("shape"), attr::dtype("dtype", DType::u32)},
       .dtypes = kState,
       .infer = [](const Infer& in) -> Specs { return drawn(in, kInts); },
       .kernel = [](KernelCall& call) {
         fill_integers(call, [&](auto* out) { kernels::philox_bits(state_of(call), call.out_shape().num_elements(), out); });
       },
       .traits = kMoves | kNoGradient,
       .samples = {{{state()}, {{"shape", shape}}}, {{state()}, {{"shape", Ints{}}, {"dtype", DType::i64}}}}},

      {.name = "random_uniform",
       .doc = "Floats evenly distributed over low <= y < high, drawn at a generator state.",
       .inputs = {"state"},
       .attrs = {attr::shape("shape"), attr::real("low", 0.0), attr::real("high", 1.0), attr::dtype("dtype", DType::f32)},
       .dtypes = kState,
       .infer = infer_uniform,
       .kernel = [](KernelCall& call) {
         fill_floats(call, [&](auto* out) {
           kernels::philox_uniform(state_of(call), call.out_shape().num_elements(), call.real("low"), call.real("high"), out);
         });
       },
       .traits = kMoves | kNoGradient,
       .samples = {{{state()}, {{"shape", shape}}}, {{state()}, {{"shape", shape}, {"low", -2.0}, {"high", 3.0}, {"dtype", DType::bf16}}}}},

      {.name = "random_normal",
       .doc = "Normally distributed floats of the given mean and standard deviation, drawn at a generator state.",
       .inputs = {"state"},
       .attrs = {attr::shape("shape"), attr::real("mean", 0.0), attr::real("stddev", 1.0).at_least(0), attr::dtype("dtype", DType::f32)},
       .dtypes = kState,
       .infer = infer_normal,
       .kernel = [](KernelCall& call) {
         fill_floats(call, [&](auto* out) {
           kernels::philox_normal(state_of(call), call.out_shape().num_elements(), call.real("mean"), call.real("stddev"), out);
         });
       },
       .traits = kMoves | kNoGradient,
       .samples = {{{state()}, {{"shape", shape}}}, {{state()}, {{"shape", shape}, {"mean", 5.0}, {"stddev", 0.5}, {"dtype", DType::f64}}}}},

      {.name = "random_truncated_normal",
       .doc = "Normally distributed floats that lie within two standard deviations of the mean, drawn at a generator state.",
       .inputs = {"state"},
       .attrs = {attr::shape("shape"), attr::real("mean", 0.0), attr::real("stddev", 1.0).at_least(0), attr::dtype("dtype", DType::f32)},
       .dtypes = kState,
       .infer = infer_normal,
       .kernel = [](KernelCall& call) {
         fill_floats(call, [&](auto* out) {
           kernels::philox_truncated_normal(state_of(call), call.out_shape().num_elements(), call.real("mean"), call.real("stddev"), out);
         });
       },
       .traits = kMoves | kNoGradient,
       .samples = {{{state()}, {{"shape", shape}}}, {{state()}, {{"shape", shape}, {"mean", 5.0}, {"stddev", 0.5}, {"dtype", DType::f16}}}}},

      {.name = "random_integers",
       .doc = "Integers from low up to, but not including, high, drawn at a generator state. Each is as likely as any other up to range / 2^32 (2^64 for 64-bit dtypes).",
       .inputs = {"state"},
       .attrs = {attr::shape("shape"), attr::integer("low"), attr::integer("high"), attr::dtype("dtype", DType::i32)},
       .dtypes = kState,
       .infer = infer_integers,
       .kernel = [](KernelCall& call) {
         const auto low = static_cast<std::uint64_t>(call.integer("low")), high = static_cast<std::uint64_t>(call.integer("high"));
         fill_integers(call, [&](auto* out) {
           using T = std::remove_pointer_t<decltype(out)>;
           kernels::philox_integers(state_of(call), call.out_shape().num_elements(), static_cast<T>(low), high - low, out);
         });
       },
       .traits = kMoves | kNoGradient,
       .samples = {{{state()}, {{"shape", shape}, {"low", std::int64_t{0}}, {"high", std::int64_t{100}}}},
                   {{state()}, {{"shape", shape}, {"low", std::int64_t{-128}}, {"high", std::int64_t{128}}, {"dtype", DType::i8}}}}},

      {.name = "random_skip",
       .doc = "The generator state after `count` values of any distribution have been drawn at `state`; each reserves 256 blocks of the stream.",
       .inputs = {"state"},
       .attrs = {attr::integer("count").at_least(0)},
       .dtypes = kState,
       .infer = [](const Infer& in) -> Specs {
         require_state(in);
         return {{DType::i64, {3}}};
       },
       .kernel = [](KernelCall& call) {
         put_state(call, state_of(call).after(static_cast<std::uint64_t>(call.integer("count")), kernels::kPhiloxReserveShift));
       },
       .traits = kMoves | kNoGradient,
       .samples = {{{state()}, {{"count", std::int64_t{10}}}}}},

      {.name = "stateless_state",
       .doc = "The generator state that belongs to a pair of seeds: what TensorFlow's stateless_random ops draw from.",
       .inputs = {"seed:index"},
       .infer = [](const Infer& in) -> Specs {
         require_length(in, 2, "a pair of seeds");
         return {{DType::i64, {3}}};
       },
       .kernel = [](KernelCall& call) {
         const auto seed = [&](std::size_t i) {
           return static_cast<std::uint64_t>(call.dtype() == DType::i32 ? call.in<std::int32_t>(0)[i] : call.in<std::int64_t>(0)[i]);
         };
         put_state(call, kernels::philox_from_seeds(seed(0), seed(1)));
       },
       .traits = kMoves | kNoGradient,
       .samples = {{{i64({2}).exactly({1, 2})}}, {{i32({2}).exactly({-7, 0})}}}},
  };
}

}  // namespace weft::inline v0::rows
