#include "kernels/linalg.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::inline v0::kernels {
namespace {

// y -= factor * x
template <class T>
void subtract(std::int64_t count, T factor, const T* x, T* y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] -= factor * x[i];
}

}  // namespace

template <class T>
std::int64_t lu_factor(std::int64_t n, T* a, std::int64_t* pivots) {
  std::int64_t singular = -1;
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t best = k;
    for (std::int64_t i = k + 1; i < n; ++i)
      if (std::abs(a[i * n + k]) > std::abs(a[best * n + k])) best = i;
    pivots[k] = best;
    if (best != k) std::swap_ranges(a + k * n, a + (k + 1) * n, a + best * n);
    const T pivot = a[k * n + k];
    if (pivot == T(0)) {  // so is the whole column below: nothing to eliminate
      if (singular < 0) singular = k;
      continue;
    }
    for (std::int64_t i = k + 1; i < n; ++i) {
      const T factor = a[i * n + k] / pivot;
      a[i * n + k] = factor;
      subtract(n - k - 1, factor, a + k * n + k + 1, a + i * n + k + 1);
    }
  }
  return singular;
}

template <class T>
void lu_solve(std::int64_t n, std::int64_t m, const T* lu, const std::int64_t* pivots, T* b) {
  for (std::int64_t k = 0; k < n; ++k)
    if (pivots[k] != k) std::swap_ranges(b + k * m, b + (k + 1) * m, b + pivots[k] * m);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < i; ++j) subtract(m, lu[i * n + j], b + j * m, b + i * m);
  for (std::int64_t i = n - 1; i >= 0; --i) {
    for (std::int64_t j = i + 1; j < n; ++j) subtract(m, lu[i * n + j], b + j * m, b + i * m);
    for (std::int64_t c = 0; c < m; ++c) b[i * m + c] /= lu[i * n + i];
  }
}

template <class T>
LogDet<T> lu_log_det(std::int64_t n, const T* lu, const std::int64_t* pivots) {
  LogDet<T> result{1, 0};
  for (std::int64_t k = 0; k < n; ++k) {
    const T pivot = lu[k * n + k];
    if (pivot == T(0)) return {0, -std::numeric_limits<T>::infinity()};
    if ((pivot < T(0)) != (pivots[k] != k)) result.sign = -result.sign;
    result.log_abs += std::log(std::abs(pivot));
  }
  if (std::isnan(result.log_abs)) result.sign = result.log_abs;
  return result;
}

template <class T>
T lu_det(std::int64_t n, const T* lu, const std::int64_t* pivots) {
  T result = 1;
  for (std::int64_t k = 0; k < n; ++k) result *= pivots[k] != k ? -lu[k * n + k] : lu[k * n + k];
  return result;
}

template <class T>
std::int64_t cholesky(std::int64_t n, const T* a, T* l) {
  std::fill_n(l, n * n, T(0));
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      T sum = T(0.5) * a[i * n + j] + T(0.5) * a[j * n + i];
      for (std::int64_t k = 0; k < j; ++k) sum -= l[i * n + k] * l[j * n + k];
      if (j < i) {
        l[i * n + j] = sum / l[j * n + j];
      } else {
        if (!(sum > T(0))) return i;
        l[i * n + i] = std::sqrt(sum);
      }
    }
  }
  return -1;
}

template <class T>
std::int64_t triangular_solve(std::int64_t n, std::int64_t m, const T* a, std::int64_t row, std::int64_t col, bool lower, T* b) {
  for (std::int64_t i = 0; i < n; ++i)
    if (a[i * row + i * col] == T(0)) return i;
  for (std::int64_t step = 0; step < n; ++step) {
    const std::int64_t i = lower ? step : n - 1 - step;
    for (std::int64_t j = lower ? 0 : i + 1; j < (lower ? i : n); ++j) subtract(m, a[i * row + j * col], b + j * m, b + i * m);
    for (std::int64_t c = 0; c < m; ++c) b[i * m + c] /= a[i * row + i * col];
  }
  return -1;
}

template std::int64_t lu_factor(std::int64_t, float*, std::int64_t*);
template std::int64_t lu_factor(std::int64_t, double*, std::int64_t*);
template void lu_solve(std::int64_t, std::int64_t, const float*, const std::int64_t*, float*);
template void lu_solve(std::int64_t, std::int64_t, const double*, const std::int64_t*, double*);
template LogDet<float> lu_log_det(std::int64_t, const float*, const std::int64_t*);
template LogDet<double> lu_log_det(std::int64_t, const double*, const std::int64_t*);
template float lu_det(std::int64_t, const float*, const std::int64_t*);
template double lu_det(std::int64_t, const double*, const std::int64_t*);
template std::int64_t cholesky(std::int64_t, const float*, float*);
template std::int64_t cholesky(std::int64_t, const double*, double*);
template std::int64_t triangular_solve(std::int64_t, std::int64_t, const float*, std::int64_t, std::int64_t, bool, float*);
template std::int64_t triangular_solve(std::int64_t, std::int64_t, const double*, std::int64_t, std::int64_t, bool, double*);

}  // namespace weft::inline v0::kernels
