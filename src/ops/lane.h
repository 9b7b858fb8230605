// Arithmetic on single lanes, for tile bodies. Row files open with `using namespace lane;`-like declarations through
// ops/row.h, so that `exp(x)` means a lane in a tile body and a Tensor op in `.grad` (found by argument-dependent lookup).
#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>

namespace weft::inline v0::rows {

template <class T>
concept Lane = std::is_arithmetic_v<T>;
template <class T>
concept FloatLane = std::floating_point<T>;

// Integer arithmetic wraps, at every width: it is done in an unsigned type wide enough not to be promoted to int.
template <class T>
using Wrapping = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<std::conditional_t<std::same_as<T, bool>, int, T>>>;

template <Lane T>
T lane_add(T a, T b) {
  if constexpr (std::floating_point<T>) return a + b;
  else return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
}
template <Lane T>
T lane_sub(T a, T b) {
  if constexpr (std::floating_point<T>) return a - b;
  else return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
}
template <Lane T>
T lane_mul(T a, T b) {
  if constexpr (std::floating_point<T>) return a * b;
  else return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
}

template <FloatLane T> T exp(T x) { return std::exp(x); }
template <FloatLane T> T expm1(T x) { return std::expm1(x); }
template <FloatLane T> T log(T x) { return std::log(x); }
template <FloatLane T> T log1p(T x) { return std::log1p(x); }
template <FloatLane T> T sqrt(T x) { return std::sqrt(x); }
template <FloatLane T> T sin(T x) { return std::sin(x); }
template <FloatLane T> T cos(T x) { return std::cos(x); }
template <FloatLane T> T tan(T x) { return std::tan(x); }
template <FloatLane T> T tanh(T x) { return std::tanh(x); }
template <FloatLane T> T erf(T x) { return std::erf(x); }
template <FloatLane T> T floor(T x) { return std::floor(x); }

}  // namespace weft::inline v0::rows
