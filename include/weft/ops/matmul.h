// Products of matrices and tensors.
//
// Derived from the op table by ./scripts/generate; do not edit.
#pragma once

#include <weft/ops/types.h>

namespace weft::inline v0 {

struct MatmulOptions { bool transpose_a = false; bool transpose_b = false; };
WEFT_API Tensor matmul(Tensor a, Tensor b, MatmulOptions options = {}, Location at = Location::here());  ///< The product of matrices in the last two axes, either transposed first if asked; the axes before them broadcast. A sum of no products is 0; integers wrap.
struct MatvecOptions { bool transpose_a = false; };
WEFT_API Tensor matvec(Tensor a, Tensor b, MatvecOptions options = {}, Location at = Location::here());  ///< The product of matrices in the last two axes of a with vectors in the last axis of b; the axes before them broadcast.
WEFT_API Tensor einsum(std::string equation, std::vector<Tensor> xs, Location at = Location::here());  ///< The sum of products that an equation such as "ij,jk->ik" describes: labels name axes, those missing in the result are summed over, a label twice in one operand takes its diagonal, "..." stands for axes that broadcast. Without "->" the result has the labels that occur once, in alphabetical order.
WEFT_API Tensor einsum_like(std::string equation, Tensor like, std::vector<Tensor> xs, Location at = Location::here());  ///< The einsum of xs laid out in the shape of like: labels of the result may repeat (zeros off that diagonal) or be missing in xs (the values repeat along them), and an axis of size 1 stands for the sum over its label. The transpose of einsum in one of its operands.
WEFT_API Tensor tensordot(Tensor a, Tensor b, IntList axes, Location at = Location::here());  ///< Sums products over pairs of axes of a and b. One number n in axes pairs the last n axes of a with the first n of b; otherwise its first half names axes of a and its second half the axes of b that they meet. The result has the other axes of a, then those of b.

}  // namespace weft::inline v0
