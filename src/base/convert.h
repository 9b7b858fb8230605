// Conversion between element types.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <limits>

#include <weft/dtype.h>

namespace weft::inline v0 {

/// The float nearest to a number, or if that is not the number itself, of the two around it the one whose last bit is set. Rounding this
/// once more, to fewer bits, gives what rounding the number itself would: a float in the middle of two halves is then really the middle.
inline float to_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value) || (std::bit_cast<std::uint32_t>(nearest) & 1u) != 0) return nearest;
  return std::nextafter(nearest, value > static_cast<double>(nearest) ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity());
}
template <std::integral From>
float to_odd(From value) {
  const bool negative = value < From(0);
  std::uint64_t size = negative ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  if (size >> 53 != 0) size = ((size >> 11) | ((size & 0x7ff) != 0 ? 1 : 0)) << 11;  // fits a double
  return to_odd(negative ? -static_cast<double>(size) : static_cast<double>(size));
}
inline float to_odd(float value) { return value; }

/// Every conversion between element types goes through here. Rounding happens once, also to the 16-bit floats. Float to integer truncates
/// toward zero; what does not fit saturates, and NaN gives 0, so that no input is undefined behaviour. Integer to integer wraps.
template <class To, class From>
To convert(From from) {
  if constexpr (std::same_as<From, float16> || std::same_as<From, bfloat16>) {
    return convert<To>(static_cast<float>(from));
  } else if constexpr (std::same_as<To, float16> || std::same_as<To, bfloat16>) {
    return To(to_odd(from));
  } else if constexpr (std::same_as<To, bool>) {
    return from != From(0);
  } else if constexpr (std::integral<To> && std::floating_point<From>) {
    if (std::isnan(from)) return 0;
    // 2^digits is exact in From, unlike max(); the comparison is therefore exact, too.
    const From limit = std::ldexp(From(1), std::numeric_limits<To>::digits);
    if (from >= limit) return std::numeric_limits<To>::max();
    if (from <= (std::signed_integral<To> ? -limit : From(0))) return std::numeric_limits<To>::min();
    return static_cast<To>(from);
  } else {
    return static_cast<To>(from);
  }
}

}  // namespace weft::inline v0
