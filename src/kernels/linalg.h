// Dense linear algebra on one matrix at a time, float or double. Matrices are row-major and dense unless strides are given.
#pragma once

#include <cstdint>

namespace weft::inline v0::kernels {

/// LU with partial pivoting, in place: rows of `a` (n x n) are exchanged so that P a = L U; L has a unit diagonal. `pivots[k]`
/// is the row exchanged with row k. Returns the first k whose pivot is zero (the matrix is singular), or -1.
template <class T>
std::int64_t lu_factor(std::int64_t n, T* a, std::int64_t* pivots);

/// Solves a x = b (n x m, in place) with what lu_factor left. REQUIRES: no zero pivot.
template <class T>
void lu_solve(std::int64_t n, std::int64_t m, const T* lu, const std::int64_t* pivots, T* b);

/// The determinant is sign * exp(log_abs); a zero pivot gives 0 and -infinity.
template <class T>
struct LogDet {
  T sign, log_abs;
};
template <class T>
LogDet<T> lu_log_det(std::int64_t n, const T* lu, const std::int64_t* pivots);
/// The product of the pivots with the sign of the exchanges.
template <class T>
T lu_det(std::int64_t n, const T* lu, const std::int64_t* pivots);

/// The lower triangular l with l l^T = (a + a^T) / 2; above the diagonal l is zero. Returns the first row whose pivot is
/// not positive (the matrix is not positive definite), or -1.
template <class T>
std::int64_t cholesky(std::int64_t n, const T* a, T* l);

/// Solves a x = b (n x m, in place) for a lower or upper triangular a of the given strides; the other triangle is not read.
/// Returns the first row whose diagonal is zero, or -1; b is unchanged then.
template <class T>
std::int64_t triangular_solve(std::int64_t n, std::int64_t m, const T* a, std::int64_t row, std::int64_t col, bool lower, T* b);

}  // namespace weft::inline v0::kernels
