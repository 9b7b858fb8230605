// Products of matrices, and the contraction of two tensors over shared indices that reduces to them.
//
// Element types: float, double, float16 and bfloat16, which add up in 32 bits and are rounded once, and the unsigned integers, which
// wrap; signed integers are passed as their unsigned counterparts. The order in which products are added depends on sizes and strides
// only, never on the number of threads, and no element is ever multiplied by a zero of padding. Strides are in elements and may be zero.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/blocks.h"
#include "kernels/isa.h"

namespace weft::inline v0::kernels {

template <class T>
struct Matrix {
  T* data;
  std::int64_t row, col;  // strides
};

/// c[i,j] = sum over p of a[i,p] * b[p,j] for i < m, j < n, p < k. c may not overlap a or b, nor itself. If c is dense, `done` may be told
/// of its parts.
template <class T>
void gemm(Isa isa, std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c, const BlockDone* done = nullptr);
template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c, const BlockDone* done = nullptr) {
  gemm<T>(isa(), m, n, k, a, b, c, done);
}

/// The same by the definition, p in order. Floats of both lie within k * epsilon * sum over p of |a[i,p] * b[p,j]| of the exact product,
/// but differ in their last bits; integers are equal.
template <class T>
void gemm_reference(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c);

/// One index of a contraction: its size, and the stride with which it moves through a, b and c; 0 where it does not.
struct Index {
  std::int64_t size, a, b, c;
};

/// c = the sum of a * b over the indices that do not move c, for every value of those that do. An index may move any of the
/// three; where it moves c alone the values repeat. Without b (null) the factor is 1. Elements of c that no combination of
/// indices reaches are left alone. For 16-bit floats no index may move one factor and nothing else: its sums would be rounded twice.
template <class T>
void contract(std::span<const Index> indices, const T* a, const T* b, T* c);

}  // namespace weft::inline v0::kernels
