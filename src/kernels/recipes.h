// What each reduction does with its elements; kernels/reduce.cc decides in which order.
//
// A pass folds elements into a State: `step` takes one more element, `merge` another State. A recipe makes a result from one
// or two passes: `Last` is the pass whose State gives it; `First`, if not void, goes before, and what `between` makes of its
// State is given to every step of `Last`. Over no elements `Last` alone is asked, with kNothing.
#pragma once

#include <algorithm>
#include <limits>
#include <type_traits>

#include "kernels/accumulate.h"

namespace weft::inline v0::kernels {

// --- passes ---

template <class T>
struct AddUp {
  using State = Total<T>;
  static void step(State& s, T x, double) { s.add(x); }
  static void merge(State& s, const State& other) { s.merge(other); }
};

// The mean of integers adds in 64 bits, so that only sums beyond those wrap.
template <class T>
struct AddWide {
  using State = Total<std::conditional_t<std::floating_point<T>, T, std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>>;
  static void step(State& s, T x, double) { s.add(x); }
  static void merge(State& s, const State& other) { s.merge(other); }
};

template <class T>
struct Multiply {
  using State = Product<T>;
  static void step(State& s, T x, double) { s.multiply(x); }
  static void merge(State& s, const State& other) { s.merge(other); }
};

template <class T, bool largest>
constexpr T least_extreme() {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::floating_point<T>) return largest ? -Limits::infinity() : Limits::infinity();
  else return largest ? Limits::lowest() : Limits::max();
}

// Is x to be taken in the place of `best`? A NaN always is, and then stays.
template <bool largest, class T>
bool replaces(T x, T best) {
  const bool beyond = largest ? x > best : x < best;
  if constexpr (std::floating_point<T>) return beyond || x != x;
  else return beyond;
}

template <class T, bool largest>
struct Extreme {
  struct State { T best = least_extreme<T, largest>(); };
  static void step(State& s, T x, double) { s.best = replaces<largest>(x, s.best) ? x : s.best; }
  static void merge(State& s, const State& other) { step(s, other.best, 0); }
};

template <bool all>
struct Truth {
  struct State { bool holds = all; };
  static void step(State& s, bool x, double) { s.holds = all ? (s.holds && x) : (s.holds || x); }
  static void merge(State& s, const State& other) { step(s, other.holds, 0); }
};

template <class T>
struct Count {
  struct State { std::int64_t count = 0; };
  static void step(State& s, T x, double) { s.count += x != T(0) ? 1 : 0; }
  static void merge(State& s, const State& other) { s.count += other.count; }
};

template <class T>
struct AddExp {
  using State = Total<T>;
  static void step(State& s, T x, double shift) { s.add(std::exp(static_cast<double>(x) - shift)); }
  static void merge(State& s, const State& other) { s.merge(other); }
};

template <class T>
struct AddSquaredDistance {
  using State = Total<T>;
  static void step(State& s, T x, double from) {
    const double distance = static_cast<double>(x) - from;
    s.add(distance * distance);
  }
  static void merge(State& s, const State& other) { s.merge(other); }
};

template <class T>
struct AddScaledSquare {
  using State = Total<T>;
  static void step(State& s, T x, double scale) {
    const double scaled = static_cast<double>(x) * scale;
    s.add(scaled * scaled);
  }
  static void merge(State& s, const State& other) { s.merge(other); }
};

template <class T>
struct LargestMagnitude {
  using State = typename Extreme<T, true>::State;
  static void step(State& s, T x, double) { Extreme<T, true>::step(s, std::abs(x), 0); }
  static void merge(State& s, const State& other) { Extreme<T, true>::step(s, other.best, 0); }
};

// --- recipes ---

template <class Pass, class T>
struct OnePass {
  using First = void;
  using Last = Pass;
  using Result = T;
  static constexpr double kNothing = 0;
};

template <class T>
struct SumOf : OnePass<AddUp<T>, T> {
  static T result(const Total<T>& s, double, double) { return static_cast<T>(s.value()); }
};

template <class T>
struct MeanOf : OnePass<AddWide<T>, T> {
  static T result(const typename AddWide<T>::State& s, double count, double) {
    if constexpr (std::floating_point<T>) return static_cast<T>(s.value() / count);
    else return static_cast<T>(s.value() / static_cast<decltype(s.value())>(count));
  }
};

template <class T>
struct ProductOf : OnePass<Multiply<T>, T> {
  static T result(const Product<T>& s, double, double) { return s.value(); }
};

template <class T, bool largest>
struct ExtremeOf : OnePass<Extreme<T, largest>, T> {
  static T result(const typename Extreme<T, largest>::State& s, double, double) { return s.best; }
};

template <bool all>
struct TruthOf : OnePass<Truth<all>, bool> {
  static bool result(const typename Truth<all>::State& s, double, double) { return s.holds; }
};

template <class T>
struct CountOf : OnePass<Count<T>, std::int64_t> {
  static std::int64_t result(const typename Count<T>::State& s, double, double) { return s.count; }
};

// Subtracting the largest element keeps exp in range; an infinite one cannot be subtracted and is left to exp itself.
template <class T>
struct LogSumExpOf {
  using First = Extreme<T, true>;
  using Last = AddExp<T>;
  using Result = T;
  static constexpr double kNothing = 0;
  static double between(const typename First::State& s, double) { return std::isfinite(s.best) ? static_cast<double>(s.best) : 0; }
  static T result(const Total<T>& s, double, double shift) { return static_cast<T>(std::log(s.value()) + shift); }
};

template <class T, bool root>
struct VarianceOf {
  using First = AddUp<T>;
  using Last = AddSquaredDistance<T>;
  using Result = T;
  static constexpr double kNothing = 0;
  static double between(const Total<T>& s, double count) { return s.value() / count; }
  static T result(const Total<T>& s, double count, double) {
    const double variance = s.value() / count;
    return static_cast<T>(root ? std::sqrt(variance) : variance);
  }
};

// Squares of f32 always fit a double; those of f64 only once they are scaled by a power of two near the largest magnitude.
template <class T>
struct NormOf {
  using First = std::conditional_t<std::same_as<T, double>, LargestMagnitude<T>, void>;
  using Last = std::conditional_t<std::same_as<T, double>, AddScaledSquare<T>, AddSquaredDistance<T>>;
  using Result = T;
  static constexpr double kNothing = std::same_as<T, double> ? 1 : 0;
  template <class State>
  static double between(const State& s, double) {
    if (!std::isfinite(s.best) || s.best == 0) return 1;
    return std::ldexp(1.0, -std::clamp(std::ilogb(s.best), -1000, 1000));
  }
  static T result(const Total<T>& s, double, double scale) {
    const double norm = std::sqrt(s.value());
    return static_cast<T>(std::same_as<T, double> ? norm / scale : norm);
  }
};

}  // namespace weft::inline v0::kernels
