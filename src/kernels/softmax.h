// Softmax, the losses built on it, and standardisation: fused row by row, on the pool. Sums run in double (of f64 with their rounding
// errors). Those of standardisation and its gradient begin in f32 if the elements are: up to 512 elements in 32 lanes, and the columns of up
// to eight rows, go on in double then. The order depends on the length only; what a row gives depends on nothing but the row.
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

/// y = (x - mean(x)) / sqrt(variance(x) + epsilon), times scale plus offset (n of each) unless those are null.
template <class T>
void standardize(std::int64_t rows, std::int64_t n, double epsilon, const T* x, const T* scale, const T* offset, T* y);
/// With y the standardised x and g = dy * scale (dy, if that is null): dx = (g - mean(g) - y * mean(g * y)) / sqrt(variance(x) + epsilon).
/// With a scale also dscale = the sums of dy * y, and doffset those of dy, over the rows.
template <class T>
void standardize_backward(std::int64_t rows, std::int64_t n, double epsilon, const T* x, const T* scale, const T* dy, T* dx, T* dscale, T* doffset);

/// Sum of squares, in double.
template <class T>
double sum_of_squares(std::int64_t n, const T* x);

}  // namespace weft::inline v0::kernels
