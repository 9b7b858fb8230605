// What each reduction does with its elements; kernels/reduce.cc decides in which order, kernels/isa/fold.cc runs it.
//
// A pass folds elements into kWords words, which all begin as kStart: `step` takes one more element, `merge` the words of another
// fold. W is Word or a vector of Words: one text serves single elements and lanes side by side, so both have the same bits. A recipe
// makes a result from one or two passes: `Last` is the pass whose words give it; `First`, if not void, goes before, and what `between`
// makes of its words is given to every step of `Last`. Over no elements `Last` alone is asked, with kNothing.
//
// Everything here is always inlined: the files in kernels/isa may not leave copies behind.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace weft::inline v0::kernels {

// --- passes ---

/// Sums of f32 run in double; sums of integers wrap, so that any width from T's up gives the same digits.
template <class T, class Accumulator = T>
struct AddUp {
  using Element = T;
  using Word = std::conditional_t<std::floating_point<T>, double, Accumulator>;
  static constexpr int kWords = 1;
  static constexpr Word kStart = 0;
  static constexpr bool kGiven = false;
  template <class W>
  [[gnu::always_inline]] static void step(W* s, W x, W) { s[0] = static_cast<W>(s[0] + x); }
  template <class W>
  [[gnu::always_inline]] static void merge(W* s, const W* other) { step(s, other[0], other[0]); }
  [[gnu::always_inline]] static Word value(const Word* s) { return s[0]; }
};

/// The sum of doubles and, apart from it, the sum of the rounding errors made so far (Knuth's exact addition).
template <>
struct AddUp<double> {
  using Element = double;
  using Word = double;
  static constexpr int kWords = 2;
  static constexpr Word kStart = 0;
  static constexpr bool kGiven = false;
  template <class W>
  [[gnu::always_inline]] static void step(W* s, W x, W) {
    const W next = s[0] + x, part = next - s[0];
    s[1] += (s[0] - (next - part)) + (x - part);
    s[0] = next;
  }
  template <class W>
  [[gnu::always_inline]] static void merge(W* s, const W* other) {
    step(s, other[0], other[0]);
    s[1] += other[1];
  }
  // At infinity the errors are NaN and mean nothing.
  [[gnu::always_inline]] static double value(const double* s) { return __builtin_isfinite(s[0]) ? s[0] + s[1] : s[0]; }
};

template <class T>
struct Multiply {
  using Element = T;
  using Word = std::conditional_t<std::floating_point<T>, double, T>;
  static constexpr int kWords = 1;
  static constexpr Word kStart = 1;
  static constexpr bool kGiven = false;
  template <class W>
  [[gnu::always_inline]] static void step(W* s, W x, W) {
    if constexpr (std::unsigned_integral<W>) s[0] = static_cast<W>(std::uint64_t{s[0]} * x);  // 16 bits would multiply as int
    else s[0] = s[0] * x;
  }
  template <class W>
  [[gnu::always_inline]] static void merge(W* s, const W* other) { step(s, other[0], other[0]); }
};

template <class T, bool largest>
constexpr T least_extreme() {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::floating_point<T>) return largest ? -Limits::infinity() : Limits::infinity();
  else return largest ? Limits::lowest() : Limits::max();
}

/// A NaN always takes the place of what was found so far, and then stays.
template <class T, bool largest>
struct Extreme {
  using Element = T;
  using Word = T;
  static constexpr int kWords = 1;
  static constexpr Word kStart = least_extreme<T, largest>();
  static constexpr bool kGiven = false;
  template <class W>
  [[gnu::always_inline]] static void step(W* s, W x, W) {
    if constexpr (std::integral<W>) s[0] = (largest ? x > s[0] : x < s[0]) ? x : s[0];
    else if constexpr (largest) s[0] = ((x > s[0]) | (x != x)) ? x : s[0];
    else s[0] = ((x < s[0]) | (x != x)) ? x : s[0];
  }
  template <class W>
  [[gnu::always_inline]] static void merge(W* s, const W* other) { step(s, other[0], other[0]); }
};

/// Of truth values as bytes of 0 and 1.
template <bool all>
struct Truth {
  using Element = std::uint8_t;
  using Word = std::uint8_t;
  static constexpr int kWords = 1;
  static constexpr Word kStart = all ? 1 : 0;
  static constexpr bool kGiven = false;
  template <class W>
  [[gnu::always_inline]] static void step(W* s, W x, W) { s[0] = static_cast<W>(all ? s[0] & x : s[0] | x); }
  template <class W>
  [[gnu::always_inline]] static void merge(W* s, const W* other) { step(s, other[0], other[0]); }
};

/// How many are not zero.
template <class T>
struct Count {
  using Element = T;
  using Word = std::int64_t;
  static constexpr int kWords = 1;
  static constexpr Word kStart = 0;
  static constexpr bool kGiven = false;
  [[gnu::always_inline]] static Word word_of(T x) { return x != T(0) ? 1 : 0; }
  [[gnu::always_inline]] static void step(Word* s, Word x, Word) { s[0] += x; }
  [[gnu::always_inline]] static void merge(Word* s, const Word* other) { s[0] += other[0]; }
};

/// The sum of exp(x - given), where the exponentials are made beforehand, in a loop of their own (isa/fold.cc).
template <class T>
struct AddExp : AddUp<T> {
  static constexpr bool kGiven = true;
};

template <class T>
struct AddSquaredDistance : AddUp<T> {
  static constexpr bool kGiven = true;
  template <class W>
  [[gnu::always_inline]] static void step(W* s, W x, W from) {
    const W distance = x - from;
    AddUp<T>::step(s, distance * distance, from);
  }
};

template <class T>
struct AddScaledSquare : AddUp<T> {
  static constexpr bool kGiven = true;
  template <class W>
  [[gnu::always_inline]] static void step(W* s, W x, W scale) {
    const W scaled = x * scale;
    AddUp<T>::step(s, scaled * scaled, scale);
  }
};

template <class T>
struct LargestMagnitude : Extreme<T, true> {
  template <class W>
  [[gnu::always_inline]] static void step(W* s, W x, W) {
    const W magnitude = x < 0 ? -x : x;
    Extreme<T, true>::step(s, magnitude, magnitude);
  }
};

// --- recipes ---

template <class Pass, class T>
struct OnePass {
  using First = void;
  using Last = Pass;
  using Result = T;
  static constexpr double kNothing = 0;
};

// Integers of one width wrap alike with and without a sign.
template <class T>
struct Bits { using Type = std::make_unsigned_t<T>; };
template <std::floating_point T>
struct Bits<T> { using Type = T; };
template <>
struct Bits<bool> { using Type = std::uint8_t; };
template <class T>
using BitsOf = typename Bits<T>::Type;

template <class T>
struct SumOf : OnePass<AddUp<BitsOf<T>>, T> {
  static T result(const typename SumOf::Last::Word* s, double, double) { return static_cast<T>(SumOf::Last::value(s)); }
};

// The mean of integers adds in 64 bits, so that only sums beyond those wrap.
template <class T>
struct MeanOf : OnePass<std::conditional_t<std::floating_point<T>, AddUp<T>, AddUp<T, std::uint64_t>>, T> {
  static T result(const typename MeanOf::Last::Word* s, double count, double) {
    const auto sum = MeanOf::Last::value(s);
    if constexpr (std::floating_point<T>) return static_cast<T>(sum / count);
    else if constexpr (std::is_signed_v<T>) return static_cast<T>(static_cast<std::int64_t>(sum) / static_cast<std::int64_t>(count));
    else return static_cast<T>(sum / static_cast<std::uint64_t>(count));
  }
};

/// Not rounded to T.
template <class T>
struct ExactMeanOf : OnePass<AddUp<T>, double> {
  static double result(const double* s, double count, double) { return AddUp<T>::value(s) / count; }
};

template <class T>
struct ProductOf : OnePass<Multiply<BitsOf<T>>, T> {
  static T result(const typename ProductOf::Last::Word* s, double, double) { return static_cast<T>(s[0]); }
};

template <class T, bool largest>
struct ExtremeOf : OnePass<Extreme<T, largest>, T> {
  static T result(const T* s, double, double) { return s[0]; }
};

template <bool all>
struct TruthOf : OnePass<Truth<all>, bool> {
  static bool result(const std::uint8_t* s, double, double) { return s[0] != 0; }
};

template <class T>
struct CountOf : OnePass<Count<BitsOf<T>>, std::int64_t> {
  static std::int64_t result(const std::int64_t* s, double, double) { return s[0]; }
};

// Subtracting the largest element keeps exp in range; an infinite one cannot be subtracted and is left to exp itself.
template <class T>
struct LogSumExpOf {
  using First = Extreme<T, true>;
  using Last = AddExp<T>;
  using Result = T;
  static constexpr double kNothing = 0;
  static double between(const T* s, double) { return __builtin_isfinite(s[0]) ? static_cast<double>(s[0]) : 0; }
  static T result(const double* s, double, double shift) { return static_cast<T>(__builtin_log(AddUp<T>::value(s)) + shift); }
};

template <class T, bool root>
struct VarianceOf {
  using First = AddUp<T>;
  using Last = AddSquaredDistance<T>;
  using Result = T;
  static constexpr double kNothing = 0;
  static double between(const double* s, double count) { return AddUp<T>::value(s) / count; }
  static T result(const double* s, double count, double) {
    const double variance = AddUp<T>::value(s) / count;
    return static_cast<T>(root ? __builtin_sqrt(variance) : variance);
  }
};

// Squares of f32 always fit a double; those of f64 only once they are scaled by a power of two near the largest magnitude.
template <class T>
struct NormOf {
  using First = std::conditional_t<std::same_as<T, double>, LargestMagnitude<T>, void>;
  using Last = std::conditional_t<std::same_as<T, double>, AddScaledSquare<T>, AddSquaredDistance<T>>;
  using Result = T;
  static constexpr double kNothing = std::same_as<T, double> ? 1 : 0;
  static double between(const double* s, double) {
    if (!__builtin_isfinite(s[0]) || s[0] == 0) return 1;
    const int exponent = __builtin_ilogb(s[0]);
    return __builtin_ldexp(1.0, -(exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent));
  }
  static T result(const double* s, double, double scale) {
    const double norm = __builtin_sqrt(AddUp<T>::value(s));
    return static_cast<T>(std::same_as<T, double> ? norm / scale : norm);
  }
};

}  // namespace weft::inline v0::kernels
