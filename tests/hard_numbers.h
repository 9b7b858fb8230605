// Numbers that are hard to add: of all magnitudes, or such that nearly all of them cancels.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace weft::test {

/// Of both signs, with magnitudes from 1e-18 to 1e18, all equally likely. Products of two are no denormals; f32 holds the sum of 300.
template <class T>
std::vector<T> scaled_numbers(std::int64_t count, std::mt19937& random) {
  std::uniform_real_distribution<double> exponent(-18, 18);
  std::vector<T> x(static_cast<std::size_t>(count));
  for (T& value : x) value = static_cast<T>(std::pow(10.0, exponent(random)) * (random() % 2 == 0 ? 1 : -1));
  return x;
}

/// In x [outer, count, inner] each second element along the middle axis becomes `sign` times the one before it, but for its last bits.
template <class T>
void pair_up(std::vector<T>& x, std::int64_t outer, std::int64_t count, std::int64_t inner, int sign, std::mt19937& random) {
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t k = 1; k < count; k += 2)
      for (std::int64_t i = 0; i < inner; ++i) {
        const auto at = static_cast<std::size_t>((o * count + k) * inner + i), before = at - static_cast<std::size_t>(inner);
        x[at] = static_cast<T>(sign) * x[before] * (1 + static_cast<T>(random() % 9) * std::numeric_limits<T>::epsilon());
      }
}

}  // namespace weft::test
