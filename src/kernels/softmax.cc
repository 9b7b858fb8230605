#include "kernels/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::inline v0::kernels {
namespace {

// The sum of term(i) for begin <= i < end.
template <class T, class Term>
T sum_of(std::int64_t begin, std::int64_t end, const Term& term) {
  constexpr std::int64_t leaf = 128;
  const std::int64_t count = end - begin;
  if (count > leaf) {
    const std::int64_t middle = begin + (count / 2 + leaf - 1) / leaf * leaf;
    return sum_of<T>(begin, middle, term) + sum_of<T>(middle, end, term);
  }
  T sums[4] = {};
  std::int64_t i = begin;
  for (; i + 4 <= end; i += 4)
    for (int k = 0; k < 4; ++k) sums[k] += term(i + k);
  for (; i < end; ++i) sums[0] += term(i);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Calls each(offset of the row's first element, the row's number).
template <class Each>
void for_each_row(const RowShape& s, const Each& each) {
  for (std::int64_t o = 0; o < s.outer; ++o)
    for (std::int64_t i = 0; i < s.inner; ++i) each(o * s.n * s.inner + i, o * s.inner + i);
}

template <class T>
T max_of(const T* x, std::int64_t n, std::int64_t step) {
  T best = -std::numeric_limits<T>::infinity();
  for (std::int64_t k = 0; k < n; ++k) best = std::max(best, x[k * step]);  // a NaN shows in the sums
  return best;
}

// The maximum m of a row of logits, and the logarithm of the sum of exp(x - m): their sum would lose digits for large logits.
template <class T>
struct Logits {
  T max, log_sum;
  Logits(const T* x, std::int64_t n, std::int64_t step) : max(max_of(x, n, step)) {
    log_sum = std::log(sum_of<T>(0, n, [&](std::int64_t k) { return std::exp(x[k * step] - max); }));
  }
  T log_probability(T x) const { return (x - max) - log_sum; }
};

template <class T>
struct Moments {
  T mean, scale;
  Moments(const T* x, std::int64_t n, double epsilon) {
    const T count = static_cast<T>(n);
    mean = sum_of<T>(0, n, [&](std::int64_t k) { return x[k]; }) / count;
    const T variance = sum_of<T>(0, n, [&](std::int64_t k) { return (x[k] - mean) * (x[k] - mean); }) / count;
    scale = T(1) / std::sqrt(variance + static_cast<T>(epsilon));
  }
};

}  // namespace

template <class T>
void softmax(const RowShape& s, const T* x, T* y) {
  const std::int64_t step = s.inner;
  for_each_row(s, [&](std::int64_t at, std::int64_t) {
    const T *from = x + at, max = max_of(from, s.n, step);
    T* to = y + at;
    for (std::int64_t k = 0; k < s.n; ++k) to[k * step] = std::exp(from[k * step] - max);
    const T sum = sum_of<T>(0, s.n, [&](std::int64_t k) { return to[k * step]; });
    for (std::int64_t k = 0; k < s.n; ++k) to[k * step] /= sum;
  });
}

template <class T>
void softmax_backward(const RowShape& s, const T* y, const T* dy, T* dx) {
  const std::int64_t step = s.inner;
  for_each_row(s, [&](std::int64_t at, std::int64_t) {
    const T sum = sum_of<T>(0, s.n, [&](std::int64_t k) { return dy[at + k * step] * y[at + k * step]; });
    for (std::int64_t k = 0; k < s.n; ++k) dx[at + k * step] = y[at + k * step] * (dy[at + k * step] - sum);
  });
}

template <class T>
void log_softmax(const RowShape& s, const T* x, T* y) {
  for_each_row(s, [&](std::int64_t at, std::int64_t) {
    const Logits<T> row(x + at, s.n, s.inner);
    for (std::int64_t k = 0; k < s.n; ++k) y[at + k * s.inner] = row.log_probability(x[at + k * s.inner]);
  });
}

template <class T>
void log_softmax_backward(const RowShape& s, const T* y, const T* dy, T* dx) {
  const std::int64_t step = s.inner;
  for_each_row(s, [&](std::int64_t at, std::int64_t) {
    const T sum = sum_of<T>(0, s.n, [&](std::int64_t k) { return dy[at + k * step]; });
    for (std::int64_t k = 0; k < s.n; ++k) dx[at + k * step] = dy[at + k * step] - std::exp(y[at + k * step]) * sum;
  });
}

template <class T>
void cross_entropy(const RowShape& s, const T* labels, const T* logits, T* loss) {
  for_each_row(s, [&](std::int64_t at, std::int64_t row_number) {
    const Logits<T> row(logits + at, s.n, s.inner);
    loss[row_number] = sum_of<T>(0, s.n, [&](std::int64_t k) {
      const T label = labels[at + k * s.inner], surprise = -row.log_probability(logits[at + k * s.inner]);
      return label == T(0) && std::isinf(surprise) ? T(0) : label * surprise;
    });
  });
}

template <class T>
void cross_entropy_backward(const RowShape& s, const T* labels, const T* logits, const T* dy, T* dx) {
  for_each_row(s, [&](std::int64_t at, std::int64_t row_number) {
    const Logits<T> row(logits + at, s.n, s.inner);
    const T total = sum_of<T>(0, s.n, [&](std::int64_t k) { return labels[at + k * s.inner]; });
    for (std::int64_t k = 0; k < s.n; ++k) {
      const std::int64_t i = at + k * s.inner;
      dx[i] = dy[row_number] * (std::exp(row.log_probability(logits[i])) * total - labels[i]);
    }
  });
}

template <class T, class I>
void sparse_cross_entropy(std::int64_t rows, std::int64_t n, const I* labels, const T* logits, T* loss) {
  for (std::int64_t r = 0; r < rows; ++r, logits += n) loss[r] = -Logits<T>(logits, n, 1).log_probability(logits[labels[r]]);
}

template <class T, class I>
void sparse_cross_entropy_backward(std::int64_t rows, std::int64_t n, const I* labels, const T* logits, const T* dy, T* dx) {
  for (std::int64_t r = 0; r < rows; ++r, logits += n, dx += n) {
    const Logits<T> row(logits, n, 1);
    for (std::int64_t k = 0; k < n; ++k) dx[k] = dy[r] * (std::exp(row.log_probability(logits[k])) - (k == labels[r] ? T(1) : T(0)));
  }
}

template <class T>
void sigmoid_cross_entropy(std::int64_t n, const T* labels, const T* logits, T* loss) {
  for (std::int64_t k = 0; k < n; ++k) {
    // A line with the slope of the wrong share, exactly 0 if the label agrees with an infinite logit, and its bend near 0.
    const T x = logits[k], wrong = x < T(0) ? labels[k] : T(1) - labels[k], distance = std::abs(x);
    loss[k] = (wrong == T(0) ? T(0) : wrong * distance) + std::log1p(std::exp(-distance));
  }
}

template <class T>
void standardize(std::int64_t rows, std::int64_t n, double epsilon, const T* x, T* y) {
  for (std::int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const Moments<T> row(x, n, epsilon);
    for (std::int64_t k = 0; k < n; ++k) y[k] = (x[k] - row.mean) * row.scale;
  }
}

template <class T>
void standardize_backward(std::int64_t rows, std::int64_t n, double epsilon, const T* x, const T* dy, T* dx) {
  for (std::int64_t r = 0; r < rows; ++r, x += n, dy += n, dx += n) {
    const Moments<T> row(x, n, epsilon);
    const T count = static_cast<T>(n);
    const T mean = sum_of<T>(0, n, [&](std::int64_t k) { return dy[k]; }) / count;
    const T slope = sum_of<T>(0, n, [&](std::int64_t k) { return dy[k] * ((x[k] - row.mean) * row.scale); }) / count;
    for (std::int64_t k = 0; k < n; ++k) dx[k] = (dy[k] - mean - (x[k] - row.mean) * row.scale * slope) * row.scale;
  }
}

template <class T>
double sum_of_squares(std::int64_t n, const T* x) {
  return sum_of<double>(0, n, [&](std::int64_t k) { return static_cast<double>(x[k]) * static_cast<double>(x[k]); });
}

template void softmax(const RowShape&, const float*, float*);
template void softmax(const RowShape&, const double*, double*);
template void softmax_backward(const RowShape&, const float*, const float*, float*);
template void softmax_backward(const RowShape&, const double*, const double*, double*);
template void log_softmax(const RowShape&, const float*, float*);
template void log_softmax(const RowShape&, const double*, double*);
template void log_softmax_backward(const RowShape&, const float*, const float*, float*);
template void log_softmax_backward(const RowShape&, const double*, const double*, double*);
template void cross_entropy(const RowShape&, const float*, const float*, float*);
template void cross_entropy(const RowShape&, const double*, const double*, double*);
template void cross_entropy_backward(const RowShape&, const float*, const float*, const float*, float*);
template void cross_entropy_backward(const RowShape&, const double*, const double*, const double*, double*);
template void sparse_cross_entropy(std::int64_t, std::int64_t, const std::int32_t*, const float*, float*);
template void sparse_cross_entropy(std::int64_t, std::int64_t, const std::int32_t*, const double*, double*);
template void sparse_cross_entropy(std::int64_t, std::int64_t, const std::int64_t*, const float*, float*);
template void sparse_cross_entropy(std::int64_t, std::int64_t, const std::int64_t*, const double*, double*);
template void sparse_cross_entropy_backward(std::int64_t, std::int64_t, const std::int32_t*, const float*, const float*, float*);
template void sparse_cross_entropy_backward(std::int64_t, std::int64_t, const std::int32_t*, const double*, const double*, double*);
template void sparse_cross_entropy_backward(std::int64_t, std::int64_t, const std::int64_t*, const float*, const float*, float*);
template void sparse_cross_entropy_backward(std::int64_t, std::int64_t, const std::int64_t*, const double*, const double*, double*);
template void sigmoid_cross_entropy(std::int64_t, const float*, const float*, float*);
template void sigmoid_cross_entropy(std::int64_t, const double*, const double*, double*);
template void standardize(std::int64_t, std::int64_t, double, const float*, float*);
template void standardize(std::int64_t, std::int64_t, double, const double*, double*);
template void standardize_backward(std::int64_t, std::int64_t, double, const float*, const float*, float*);
template void standardize_backward(std::int64_t, std::int64_t, double, const double*, const double*, double*);
template double sum_of_squares(std::int64_t, const float*);
template double sum_of_squares(std::int64_t, const double*);

}  // namespace weft::inline v0::kernels
