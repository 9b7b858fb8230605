// Accumulators: how running sums and products of each element type are kept.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>

#include <weft/dtype.h>

namespace weft::inline v0::kernels {

/// A sum of integers wraps: arithmetic modulo 2^64, cut to T at the end, is arithmetic modulo T's width.
template <class T>
struct Total {
  std::uint64_t sum = 0;
  void add(T x) { sum += static_cast<std::uint64_t>(x); }
  void merge(const Total& other) { sum += other.sum; }
  T value() const { return static_cast<T>(sum); }
};

template <>
struct Total<float> {
  double sum = 0;
  void add(double x) { sum += x; }
  void merge(const Total& other) { sum += other.sum; }
  double value() const { return sum; }
};

/// The sum of doubles and, apart from it, the sum of the rounding errors made so far (Knuth's exact addition).
template <>
struct Total<double> {
  double sum = 0, lost = 0;
  void add(double x) {
    const double next = sum + x, part = next - sum;
    lost += (sum - (next - part)) + (x - part);
    sum = next;
  }
  void merge(const Total& other) {
    add(other.sum);
    lost += other.lost;
  }
  // At infinity the errors are NaN and mean nothing.
  double value() const { return std::isfinite(sum) ? sum + lost : sum; }
};

template <class T>
struct Product {
  std::uint64_t product = 1;
  void multiply(T x) { product *= static_cast<std::uint64_t>(x); }
  void merge(const Product& other) { product *= other.product; }
  T value() const { return static_cast<T>(product); }
};

template <std::floating_point T>
struct Product<T> {
  double product = 1;
  void multiply(T x) { product *= static_cast<double>(x); }
  void merge(const Product& other) { product *= other.product; }
  T value() const { return static_cast<T>(product); }
};

/// Calls f with a null pointer to the element type of a number. 16-bit floats are not computed with.
template <class F>
void with_number(DType t, F&& f) {
  switch (t) {
    case DType::f32: return f(static_cast<float*>(nullptr));
    case DType::f64: return f(static_cast<double*>(nullptr));
    case DType::i8: return f(static_cast<std::int8_t*>(nullptr));
    case DType::i16: return f(static_cast<std::int16_t*>(nullptr));
    case DType::i32: return f(static_cast<std::int32_t*>(nullptr));
    case DType::i64: return f(static_cast<std::int64_t*>(nullptr));
    case DType::u8: return f(static_cast<std::uint8_t*>(nullptr));
    case DType::u16: return f(static_cast<std::uint16_t*>(nullptr));
    case DType::u32: return f(static_cast<std::uint32_t*>(nullptr));
    case DType::u64: return f(static_cast<std::uint64_t*>(nullptr));
    default: throw InternalError("a running total of " + std::string(name_of(t)));
  }
}

}  // namespace weft::inline v0::kernels
