// Linear algebra.
//
// Derived from the op table by ./scripts/generate; do not edit.
#pragma once

#include <weft/ops/types.h>

namespace weft::inline v0 {

WEFT_API Tensor diag(Tensor x, Location at = Location::here());  ///< Square matrices with the last axis of x on their diagonals and zeros elsewhere.
WEFT_API Tensor diag_part(Tensor x, Location at = Location::here());  ///< The diagonals of the matrices in the last two axes, which need not be square.
WEFT_API Tensor diag_like(Tensor x, Tensor like, Location at = Location::here());  ///< Zeros of the shape of like with x on the diagonals of its last two axes: the transpose of diag_part.
WEFT_API Tensor trace(Tensor x, Location at = Location::here());  ///< The sum of the diagonal of the matrices in the last two axes.
WEFT_API Tensor band_part(Tensor x, std::int64_t lower, std::int64_t upper, Location at = Location::here());  ///< The matrices in the last two axes with zeros outside a band: `lower` diagonals are kept below the main one and `upper` above it; -1 keeps all.
struct NormOptions { double ord = 2.0; Axes axis = {}; bool keepdims = false; };
WEFT_API Tensor norm(Tensor x, NormOptions options = {}, Location at = Location::here());  ///< The norm of the elements over axes, all of them by default: the root of order `ord` of the sum of |x|^ord; for ord inf the largest |x|.
struct L2NormalizeOptions { Axes axis = {}; double epsilon = 1e-12; };
WEFT_API Tensor l2_normalize(Tensor x, L2NormalizeOptions options = {}, Location at = Location::here());  ///< x divided by its Euclidean norm over axes, all of them by default; the square of the norm counts as epsilon if it is smaller.
WEFT_API Tensor cholesky(Tensor x, Location at = Location::here());  ///< The lower triangular matrix l with l l^T = x for symmetric positive definite matrices in the last two axes; of others the symmetric part is taken.
struct InvOptions { bool adjoint = false; };
WEFT_API Tensor inv(Tensor x, InvOptions options = {}, Location at = Location::here());  ///< The inverse of the matrices in the last two axes, or its transpose.
WEFT_API Tensor det(Tensor x, Location at = Location::here());  ///< The determinant of the matrices in the last two axes. Its gradient needs them invertible.
struct SlogdetResult { Tensor sign, log_abs_det; };
WEFT_API SlogdetResult slogdet(Tensor x, Location at = Location::here());  ///< The sign of the determinant of the matrices in the last two axes and the logarithm of its absolute value; 0 and -inf for singular ones. Its gradient needs them invertible.
WEFT_API Tensor logdet(Tensor x, Location at = Location::here());  ///< The logarithm of the determinant of symmetric positive definite matrices in the last two axes.
struct SolveOptions { bool adjoint = false; };
WEFT_API Tensor solve(Tensor a, Tensor b, SolveOptions options = {}, Location at = Location::here());  ///< The x with a x = b (a^T x = b if adjoint) for matrices in the last two axes; the axes before them broadcast.
struct TriangularSolveOptions { bool lower = true; bool adjoint = false; };
WEFT_API Tensor triangular_solve(Tensor a, Tensor b, TriangularSolveOptions options = {}, Location at = Location::here());  ///< The x with a x = b (a^T x = b if adjoint) for lower or upper triangular matrices in the last two axes, whose other triangle is not read; the axes before broadcast.

}  // namespace weft::inline v0
