// What numbers the options of optimizers may be.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace weft::inline v0 {

/// Where an option means something.
struct Limit {
  enum Within : std::uint8_t { kUnit, kUnitWithoutOne, kUnitWithoutZero, kNotNegative, kPositive, kNotPositive, kCount };
  const char* option;
  double value;
  Within within;

  bool holds() const {
    if (!std::isfinite(value)) return false;
    switch (within) {
      case kUnit: return value >= 0 && value <= 1;
      case kUnitWithoutOne: return value >= 0 && value < 1;
      case kUnitWithoutZero: return value > 0 && value <= 1;
      case kNotNegative:
      case kCount: return value >= 0;
      case kPositive: return value > 0;
      case kNotPositive: return value <= 0;
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
      case kCount: return "a whole number, 0 or more";
    }
    return "";
  }
};
using Limits = std::vector<Limit>;

}  // namespace weft::inline v0
