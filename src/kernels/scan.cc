#include "kernels/scan.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/accumulate.h"

namespace weft::inline v0::kernels {
namespace {

constexpr std::int64_t kColumns = 256;  // running totals that advance side by side

// Calls f(offset of a row of columns, columns, is it the first along the axis) in the order of the scan; `first` starts new totals.
template <class F>
void for_each_row(const ScanAxis& axis, F&& f) {
  if (axis.n == 0) return;
  for (std::int64_t o = 0; o < axis.outer; ++o)
    for (std::int64_t start = 0; start < axis.inner; start += kColumns) {
      const std::int64_t columns = std::min(kColumns, axis.inner - start);
      for (std::int64_t k = 0; k < axis.n; ++k) {
        const std::int64_t at = axis.reverse ? axis.n - 1 - k : k;
        f((o * axis.n + at) * axis.inner + start, columns, k == 0);
      }
    }
}

template <class T>
struct RunningSum : Total<T> {
  void step(T x) { this->add(x); }
  T now() const { return static_cast<T>(this->value()); }
};

template <class T>
struct RunningProduct : Product<T> {
  void step(T x) { this->multiply(x); }
  T now() const { return this->value(); }
};

// log(sum) + largest, where `sum` adds exp(x - largest). NaN makes `sum` NaN for good.
template <class T>
struct RunningLogSumExp {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  void step(T element) {
    const double x = static_cast<double>(element);
    if (x == largest) {  // also two infinities, whose difference is NaN
      sum += std::isinf(x) && x < 0 ? 0 : 1;
    } else if (x < largest) {
      sum += std::exp(x - largest);
    } else {
      sum = sum * std::exp(largest - x) + 1;
      largest = x;
    }
  }
  T now() const { return static_cast<T>(std::log(sum) + largest); }
};

template <class Running, class T>
void run(const ScanAxis& axis, bool exclusive, const T* x, T* y) {
  Running totals[kColumns];
  for_each_row(axis, [&](std::int64_t row, std::int64_t columns, bool first) {
    if (first) std::fill_n(totals, columns, Running());
    for (std::int64_t c = 0; c < columns; ++c) {
      const T element = x[row + c];
      if (exclusive) y[row + c] = totals[c].now();
      totals[c].step(element);
      if (!exclusive) y[row + c] = totals[c].now();
    }
  });
}

template <class T>
void recur(const ScanAxis& axis, const T* a, const T* b, T* y) {
  double totals[kColumns];
  for_each_row(axis, [&](std::int64_t row, std::int64_t columns, bool first) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const double added = static_cast<double>(b[row + c]);
      const double factor = first ? 0 : static_cast<double>(a[row + c]);
      totals[c] = factor == 0 ? added : factor * totals[c] + added;
      y[row + c] = static_cast<T>(totals[c]);
    }
  });
}

}  // namespace

void scan(Scan what, DType dtype, const ScanAxis& axis, bool exclusive, const void* x, void* y) {
  with_number(dtype, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    const T* from = static_cast<const T*>(x);
    T* to = static_cast<T*>(y);
    if (what == Scan::kSum) return run<RunningSum<T>>(axis, exclusive, from, to);
    if (what == Scan::kProd) return run<RunningProduct<T>>(axis, exclusive, from, to);
    if constexpr (std::floating_point<T>) run<RunningLogSumExp<T>>(axis, exclusive, from, to);
    else throw InternalError("a running logsumexp of integers");
  });
}

void linear_recurrence(DType dtype, const ScanAxis& axis, const void* a, const void* b, void* y) {
  if (dtype == DType::f64) recur(axis, static_cast<const double*>(a), static_cast<const double*>(b), static_cast<double*>(y));
  else recur(axis, static_cast<const float*>(a), static_cast<const float*>(b), static_cast<float*>(y));
}

void shift_one(std::size_t element_size, const ScanAxis& axis, const void* x, void* y) {
  const std::size_t row = element_size * static_cast<std::size_t>(axis.inner);
  const std::size_t moved = row * static_cast<std::size_t>(axis.n > 0 ? axis.n - 1 : 0);
  if (axis.n == 0 || row == 0) return;
  const char* from = static_cast<const char*>(x);
  char* to = static_cast<char*>(y);
  for (std::int64_t o = 0; o < axis.outer; ++o, from += row + moved, to += row + moved) {
    std::memcpy(axis.reverse ? to : to + row, axis.reverse ? from + row : from, moved);
    std::memset(axis.reverse ? to + moved : to, 0, row);
  }
}

}  // namespace weft::inline v0::kernels
