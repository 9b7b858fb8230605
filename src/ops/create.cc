// Creation and conversion.
#include <algorithm>

#include "base/convert.h"
#include "ops/families.h"
#include "ops/row.h"

namespace weft::inline v0::rows {
namespace {

template <class T>
T number(int value) {
  if constexpr (std::is_arithmetic_v<T>) return static_cast<T>(value);
  else return T(static_cast<float>(value));
}

void fill_with(KernelCall& call, int value) {
  with_element(call.out_dtype(), [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    std::fill_n(call.out<T>(), call.out_shape().num_elements(), number<T>(value));
  });
}

Specs infer_shape_attr(const Infer& in) {
  const Shape shape(in.ints("shape"));
  if (!shape.known()) in.shape_error("shape " + shape.str() + " has an unknown size; name every size.");
  infer::count(in, shape);
  return {{in.dtype_attr("dtype"), shape}};
}

}  // namespace

std::vector<Op> create() {
  return {
      {.name = "zeros",
       .doc = "A tensor of zeros.",
       .tf = "tf.zeros(shape, dtype)",
       .attrs = {attr::shape("shape"), attr::dtype("dtype", DType::f32)},
       .infer = infer_shape_attr,
       .kernel = [](KernelCall& call) { fill_with(call, 0); },
       .traits = kMoves | kNoGradient,
       .samples = {{{}, {{"shape", Ints{2, 3}}}}, {{}, {{"shape", Ints{}}, {"dtype", DType::i64}}}}},

      {.name = "ones",
       .doc = "A tensor of ones.",
       .tf = "tf.ones(shape, dtype)",
       .attrs = {attr::shape("shape"), attr::dtype("dtype", DType::f32)},
       .infer = infer_shape_attr,
       .kernel = [](KernelCall& call) { fill_with(call, 1); },
       .traits = kMoves | kNoGradient,
       .samples = {{{}, {{"shape", Ints{2, 3}}}}}},

      {.name = "zeros_like",
       .doc = "Zeros of the shape and dtype of x.",
       .tf = "tf.zeros_like(x)",
       .inputs = {"x"},
       .dtypes = kAnything,
       .infer = infer::same,
       .kernel = [](KernelCall& call) { fill_with(call, 0); },
       .traits = kMoves | kNoGradient,
       .samples = {{{f32({2, 3})}}}},

      {.name = "ones_like",
       .doc = "Ones of the shape and dtype of x.",
       .tf = "tf.ones_like(x)",
       .inputs = {"x"},
       .dtypes = kAnything,
       .infer = infer::same,
       .kernel = [](KernelCall& call) { fill_with(call, 1); },
       .traits = kMoves | kNoGradient,
       .samples = {{{f32({2, 3})}}}},

      {.name = "cast",
       .doc = "Converts to another dtype: floats truncate toward zero and saturate, NaN gives 0; integers wrap; bool is x != 0.",
       .tf = "tf.cast(x, dtype)",
       .inputs = {"x"},
       .attrs = {attr::dtype("dtype")},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs { return {{in.dtype_attr("dtype"), in.shape(0)}}; },
       .kernel = [](KernelCall& call) {
         const std::int64_t count = call.out_shape().num_elements();
         with_element(call.dtype(), [&](auto* from_tag) {
           with_element(call.out_dtype(), [&](auto* to_tag) {
             using From = std::remove_pointer_t<decltype(from_tag)>;
             using To = std::remove_pointer_t<decltype(to_tag)>;
             const From* x = call.in<From>(0);
             To* y = call.out<To>();
             for (std::int64_t i = 0; i < count; ++i) y[i] = convert<To>(x[i]);
           });
         });
       },
       .grad = [](const Backward& b) -> Grads { return {cast(b.dy(), b.x().dtype())}; },
       .traits = kMoves,
       .samples = {{{f32({2, 3})}, {{"dtype", DType::f64}}}, {{f32({2, 3})}, {{"dtype", DType::i32}}}, {{i32({4})}, {{"dtype", DType::bool_}}}}},
  };
}

}  // namespace weft::inline v0::rows
