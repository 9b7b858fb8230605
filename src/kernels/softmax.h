// Softmax, the losses built on it, and standardisation: fused row by row. Sums are pairwise, in an order that depends on the length only.
#pragma once

#include <cstdint>

namespace weft::inline v0::kernels {

/// A dense tensor as [outer, n, inner]: a row is what lies along n. Sums and maxima run along rows.
struct RowShape {
  std::int64_t outer, n, inner;
};

// T is float or double throughout. Arrays of [outer, inner] hold one number a row.

template <class T>
void softmax(const RowShape& shape, const T* x, T* y);
/// dx = y * (dy - sum(dy * y))
template <class T>
void softmax_backward(const RowShape& shape, const T* y, const T* dy, T* dx);

template <class T>
void log_softmax(const RowShape& shape, const T* x, T* y);
/// dx = dy - exp(y) * sum(dy)
template <class T>
void log_softmax_backward(const RowShape& shape, const T* y, const T* dy, T* dx);

/// loss = -sum(labels * log_softmax(logits)), where a label of 0 outweighs an infinite logarithm.
template <class T>
void cross_entropy(const RowShape& shape, const T* labels, const T* logits, T* loss);
/// dx = dy * (softmax(logits) * sum(labels) - labels)
template <class T>
void cross_entropy_backward(const RowShape& shape, const T* labels, const T* logits, const T* dy, T* dx);

/// The same for one label of 1 in each row: I is int32 or int64. REQUIRES: 0 <= labels < n.
template <class T, class I>
void sparse_cross_entropy(std::int64_t rows, std::int64_t n, const I* labels, const T* logits, T* loss);
template <class T, class I>
void sparse_cross_entropy_backward(std::int64_t rows, std::int64_t n, const I* labels, const T* logits, const T* dy, T* dx);

/// loss = -labels * log(sigmoid(logits)) - (1 - labels) * log(1 - sigmoid(logits)), elementwise.
template <class T>
void sigmoid_cross_entropy(std::int64_t n, const T* labels, const T* logits, T* loss);

/// y = (x - mean(x)) / sqrt(variance(x) + epsilon)
template <class T>
void standardize(std::int64_t rows, std::int64_t n, double epsilon, const T* x, T* y);
/// dx = (dy - mean(dy) - y * mean(dy * y)) / sqrt(variance(x) + epsilon)
template <class T>
void standardize_backward(std::int64_t rows, std::int64_t n, double epsilon, const T* x, const T* dy, T* dx);

/// Sum of squares, in double.
template <class T>
double sum_of_squares(std::int64_t n, const T* x);

}  // namespace weft::inline v0::kernels
