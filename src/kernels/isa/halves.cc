#include "kernels/halves.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace weft::inline v0::kernels::WEFT_ISA {
namespace {

void widen_f16(const float16* from, float* to, std::size_t n) {
  std::size_t k = 0;
#if defined(__F16C__)
  for (; k + 8 <= n; k += 8)
    _mm256_storeu_ps(to + k, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + k))));
#endif
  for (; k < n; ++k) to[k] = static_cast<float>(from[k]);
}

void narrow_f16(const float* from, float16* to, std::size_t n) {
  std::size_t k = 0;
#if defined(__F16C__)
  for (; k + 8 <= n; k += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + k), _mm256_cvtps_ph(_mm256_loadu_ps(from + k), _MM_FROUND_TO_NEAREST_INT));
#endif
  for (; k < n; ++k) to[k] = float16(from[k]);
}

void widen_bf16(const bfloat16* from, float* to, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) to[k] = __builtin_bit_cast(float, static_cast<std::uint32_t>(from[k].bits) << 16);
}

// Adding just under half of the last place, and one more if the kept part is odd, carries where rounding must go up.
void narrow_bf16(const float* from, bfloat16* to, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) {
    const auto bits = __builtin_bit_cast(std::uint32_t, from[k]);
    const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const std::uint32_t quiet = (bits >> 16) | 0x40u;
    to[k].bits = static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
  }
}

}  // namespace

extern const HalfKernels half_kernels = {widen_f16, widen_bf16, narrow_f16, narrow_bf16};

}  // namespace weft::inline v0::kernels::WEFT_ISA
