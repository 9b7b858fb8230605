// What may stand between the parentheses of `x(...)`.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>

#include <weft/location.h>

namespace weft::inline v0 {

struct All {};
struct Ellipsis {};
struct NewAxis {};
inline constexpr All all;             ///< the whole axis, Python's `:`
inline constexpr Ellipsis ellipsis;   ///< as many whole axes as are missing, Python's `...`
inline constexpr NewAxis newaxis;     ///< a new axis of size 1
inline constexpr std::nullopt_t none = std::nullopt;  ///< an open end: `range(1, none)` is Python's `1:`

/// Python's `start:stop:step`. Negative positions count from the end; ends beyond the axis are cut, as in NumPy.
struct Range {
  std::optional<std::int64_t> start, stop;
  std::int64_t step = 1;
};
constexpr Range range(std::optional<std::int64_t> start, std::optional<std::int64_t> stop, std::int64_t step = 1) {
  return {start, stop, step};
}

/// One position of an index expression. A plain integer drops its axis; out of range is an IndexError, also for an unsigned
/// number above 2^63 - 1.
struct Index {
  enum class What : std::uint8_t { kPosition, kRange, kAll, kEllipsis, kNewAxis } what;
  std::int64_t position = 0;
  Range bounds{};
  Location where{};  ///< of the line that wrote it

  template <std::integral A>
    requires(!std::same_as<A, bool>)
  constexpr Index(A at, Location here = Location::here())
      : what(What::kPosition), position(std::unsigned_integral<A> && at > static_cast<A>(INT64_MAX) ? INT64_MAX : static_cast<std::int64_t>(at)), where(here) {}
  constexpr Index(Range r, Location here = Location::here()) : what(What::kRange), bounds(r), where(here) {}
  constexpr Index(All, Location here = Location::here()) : what(What::kAll), where(here) {}
  constexpr Index(Ellipsis, Location here = Location::here()) : what(What::kEllipsis), where(here) {}
  constexpr Index(NewAxis, Location here = Location::here()) : what(What::kNewAxis), where(here) {}
  constexpr Index(const Index& same, Location) : Index(same) {}  ///< x(0, i) with an Index i, which knows its line
};

}  // namespace weft::inline v0
