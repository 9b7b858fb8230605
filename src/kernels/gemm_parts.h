// What the products of gemm.cc and gemm_integers.cc have in common.
#pragma once

#include <concepts>
#include <type_traits>

#include <weft/dtype.h>

#include "kernels/gemm.h"

namespace weft::inline v0::kernels {

template <class T>
constexpr bool kIsHalf = std::same_as<T, float16> || std::same_as<T, bfloat16>;

/// Narrow integers would be promoted to int, whose overflow is undefined: they add up in 32 bits and are cut once. 16-bit floats add up in
/// 32 bits and are rounded once.
template <class T>
using Sum = std::conditional_t<kIsHalf<T>, float, std::conditional_t<(sizeof(T) < 4), std::uint32_t, T>>;

inline std::int64_t parts_of(std::int64_t size, std::int64_t step) { return (size + step - 1) / step; }
inline std::int64_t round_up(std::int64_t size, std::int64_t step) { return parts_of(size, step) * step; }

/// gemm for integers. REQUIRES: m and n are not 0.
template <class T>
void integer_gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c);

}  // namespace weft::inline v0::kernels
