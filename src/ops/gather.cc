// Gathering and scattering.
#include <algorithm>

#include "ops/families.h"
#include "ops/row.h"

namespace weft::inline v0::rows {

std::vector<Op> gather() {
  return {
      {.name = "scatter_rows",
       .doc = "Zeros of like's shape to whose rows the rows of values are added: y[indices[k]] += values[k].",
       .inputs = {"indices:index", "values", "like:any"},
       .dtypes = kNumbers,
       .infer = [](const Infer& in) -> Specs {
         in.require_rank(0, 1);
         in.require_rank_at_least(2, 1);
         Shape expected = in.shape(2);
         expected.set(0, in.shape(0)[0]);
         if (!infer::compatible(in.shape(1), expected))
           in.shape_error(in.named(1) + " must be " + expected.str() + ": one row of " + in.named(2) + " for each of " + in.named(0) + ".");
         return {{in.dtype(1), in.shape(2)}};
       },
       .kernel = [](KernelCall& call) {
         const Shape& shape = call.out_shape();
         const std::int64_t rows = shape[0], count = call.shape(0)[0];
         const std::int64_t width = rows == 0 ? 0 : shape.num_elements() / rows;
         with_element(call.dtype(1), [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           if constexpr (std::is_arithmetic_v<T> && !std::same_as<T, bool>) {
             T* y = call.out<T>();
             std::fill_n(y, shape.num_elements(), T(0));
             for (std::int64_t k = 0; k < count; ++k) {
               const std::int64_t row = call.dtype(0) == DType::i32 ? call.in<std::int32_t>(0)[k] : call.in<std::int64_t>(0)[k];
               if (row < 0 || row >= rows)
                 call.index_error("indices[" + std::to_string(k) + "] is " + std::to_string(row) + "; it must be from 0 to " + std::to_string(rows - 1) + ".");
               for (std::int64_t c = 0; c < width; ++c) y[row * width + c] = lane_add(y[row * width + c], call.in<T>(1)[k * width + c]);
             }
           }
         });
       },
       .traits = kMayFail,
       .samples = {{{i32({3}).range(0, 3), f32({3, 2}), f32({4, 2})}}}},
  };
}

}  // namespace weft::inline v0::rows
