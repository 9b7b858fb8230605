// What numbers the options of optimizers may be.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include <weft/print.h>

namespace weft::inline v0 {

/// Where an option means something.
struct Limit {
  enum Within : std::uint8_t { kUnit, kUnitWithoutOne, kUnitWithoutZero, kNotNegative, kPositive, kNotPositive, kFinite, kBound, kCount, kCountFromOne };
  const char* option;
  double value;
  Within within;

  bool holds() const {
    if (!std::isfinite(value)) return within == kBound && value > 0;
    switch (within) {
      case kUnit: return value >= 0 && value <= 1;
      case kUnitWithoutOne: return value >= 0 && value < 1;
      case kUnitWithoutZero: return value > 0 && value <= 1;
      case kNotNegative: return value >= 0;
      case kPositive:
      case kBound: return value > 0;
      case kNotPositive: return value <= 0;
      case kFinite: return std::isfinite(static_cast<float>(value));
      case kCount: return value >= 0 && value == std::floor(value);
      case kCountFromOne: return value >= 1 && value == std::floor(value);
    }
    return false;
  }
  /// "a number from 0 to 1"
  const char* rule() const {
    switch (within) {
      case kUnit: return "a number from 0 to 1";
      case kUnitWithoutOne: return "a number from 0 up to, but not, 1";
      case kUnitWithoutZero: return "a number above 0, up to 1";
      case kNotNegative: return "a finite number, 0 or more";
      case kPositive: return "a finite number above 0";
      case kNotPositive: return "a finite number, 0 or less";
      case kFinite: return "a finite number";
      case kBound: return "more than 0";
      case kCount: return "a whole number, 0 or more";
      case kCountFromOne: return "1 or more";
    }
    return "";
  }
};
using Limits = std::vector<Limit>;

/// Throws ValueError, in the name of the optimizer, for the first option that is outside.
inline void require(const char* name, const Limits& limits, Location at) {
  for (const Limit& limit : limits)
    if (!limit.holds()) throw ValueError(name, format("{} is {}; give {}.", limit.option, limit.value, limit.rule()), at);
}

}  // namespace weft::inline v0
