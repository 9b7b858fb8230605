#include "kernels/scan.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/accumulate.h"
#include "kernels/parts.h"

namespace weft::inline v0::kernels {
namespace {

constexpr std::int64_t kSideBySide = 1024;  // running totals that advance together
constexpr std::int64_t kRows = 4;           // rows that advance together: each alone would wait for its last sum

// A strip of neighbouring columns of one [n, inner], or some rows of n elements if inner is 1. Strips are independent of each other.
struct Strip {
  std::int64_t start, count, pitch, n, step;  // the first elements are at start + i * pitch, i < count; along the axis they are `step` apart
};

// Calls f(strip) for all strips, on the pool.
template <class F>
void for_strips(const ScanAxis& axis, const F& f) {
  if (axis.n == 0 || axis.outer == 0 || axis.inner == 0) return;
  const bool rows = axis.inner == 1;
  const std::int64_t most = rows ? kRows : kSideBySide, columns = rows ? axis.outer : axis.inner, strips = (columns + most - 1) / most;
  in_parallel((rows ? 1 : axis.outer) * strips, axis.n * std::min(most, columns), [&](std::int64_t unit) {
    const std::int64_t first = unit % strips * most, count = std::min(most, columns - first), pitch = rows ? axis.n : 1;
    const std::int64_t start = unit / strips * axis.n * axis.inner + first * pitch, last = (axis.n - 1) * axis.inner;
    f(Strip{axis.reverse ? start + last : start, count, pitch, axis.n, axis.reverse ? -axis.inner : axis.inner});
  });
}

// Calls f(total, k, offset of element k of its row or column); all are at element k before any is at the next. `most` bounds the count.
template <std::int64_t most, class Total, class F>
void walk_totals(const Strip& s, const F& f) {
  Total totals[most] = {};
  for (std::int64_t k = 0, at = s.start; k < s.n; ++k, at += s.step) {
    if (s.pitch == 1) {
      for (std::int64_t i = 0; i < s.count; ++i) f(totals[i], k, at + i);
    } else if (s.count == kRows) {  // a known number stays in registers
      for (std::int64_t i = 0; i < kRows; ++i) f(totals[i], k, at + i * s.pitch);
    } else {
      for (std::int64_t i = 0; i < s.count; ++i) f(totals[i], k, at + i * s.pitch);
    }
  }
}
template <class Total, class F>
void walk(const Strip& s, const F& f) {
  if (s.count <= kRows) walk_totals<kRows, Total>(s, f);
  else walk_totals<kSideBySide, Total>(s, f);
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
  for_strips(axis, [&](const Strip& strip) {
    if (exclusive) {
      walk<Running>(strip, [&](Running& total, std::int64_t, std::int64_t at) {
        const T element = x[at];
        y[at] = total.now();
        total.step(element);
      });
    } else {
      walk<Running>(strip, [&](Running& total, std::int64_t, std::int64_t at) {
        total.step(x[at]);
        y[at] = total.now();
      });
    }
  });
}

template <class T>
void recur(const ScanAxis& axis, const T* a, const T* b, T* y) {
  for_strips(axis, [&](const Strip& strip) {
    walk<double>(strip, [&](double& total, std::int64_t k, std::int64_t at) {
      const double added = static_cast<double>(b[at]);
      const double factor = k == 0 ? 0 : static_cast<double>(a[at]);
      total = factor == 0 ? added : factor * total + added;
      y[at] = static_cast<T>(total);
    });
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
  in_parallel(axis.outer, axis.n * axis.inner, [&](std::int64_t o) {
    const char* from = static_cast<const char*>(x) + static_cast<std::size_t>(o) * (row + moved);
    char* to = static_cast<char*>(y) + static_cast<std::size_t>(o) * (row + moved);
    std::memcpy(axis.reverse ? to : to + row, axis.reverse ? from + row : from, moved);
    std::memset(axis.reverse ? to + moved : to, 0, row);
  });
}

}  // namespace weft::inline v0::kernels
