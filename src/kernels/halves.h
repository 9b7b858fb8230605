// Runs of 16-bit floats to and from f32.
#pragma once

#include <cstddef>

#include "kernels/isa.h"
#include <weft/dtype.h>

namespace weft::inline v0::kernels {

struct HalfKernels {
  void (*widen_f16)(const float16* from, float* to, std::size_t n);
  void (*widen_bf16)(const bfloat16* from, float* to, std::size_t n);
  // To nearest, ties to even; a NaN stays a NaN.
  void (*narrow_f16)(const float* from, float16* to, std::size_t n);
  void (*narrow_bf16)(const float* from, bfloat16* to, std::size_t n);
};
WEFT_ISA_TABLE(HalfKernels, half_kernels)

}  // namespace weft::inline v0::kernels
