// Conversion between element types.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>

#include <weft/dtype.h>

namespace weft::inline v0 {

/// Every conversion between element types goes through here. Float to integer truncates toward zero; what does not fit
/// saturates, and NaN gives 0, so that no input is undefined behaviour. Integer to integer wraps.
template <class To, class From>
To convert(From from) {
  if constexpr (std::same_as<From, float16> || std::same_as<From, bfloat16>) {
    return convert<To>(static_cast<float>(from));
  } else if constexpr (std::same_as<To, float16> || std::same_as<To, bfloat16>) {
    return To(static_cast<float>(from));
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
