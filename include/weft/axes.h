// Small argument types of ops: lists of axes, and pairs.
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>

#include <weft/shape.h>

namespace weft::inline v0 {

/// A list of integers given as one integer or a braced list: `{.strides = 2}`, `{.strides = {1, 2}}`.
struct IntList {
  Ints values;
  IntList() = default;
  template <std::integral A>
    requires(!std::same_as<A, bool>)
  IntList(A one) : values{Dim(one).value} {}
  IntList(std::initializer_list<Dim> list) {
    for (const Dim& d : list) values.push_back(d.value);
  }
  IntList(Ints list) : values(std::move(list)) {}
  IntList(const Shape& shape) : values(shape.begin(), shape.end()) {}
};

/// Axes of a tensor; an axis may be negative to count from the end. Left out, the op's own default applies, which is
/// most often all of them; an empty list means no axis.
struct Axes : std::optional<IntList> {
  Axes() = default;
  Axes(std::nullopt_t) {}
  template <std::integral A>
    requires(!std::same_as<A, bool>)
  Axes(A one) : std::optional<IntList>(IntList(one)) {}
  Axes(std::initializer_list<Dim> list) : std::optional<IntList>(IntList(list)) {}
  Axes(Ints list) : std::optional<IntList>(IntList(std::move(list))) {}
};

/// Amounts before and after each axis: `pad(x, {{1, 0}, {0, 2}})`.
struct Pairs {
  Ints values;  ///< flat: before, after, before, after, ...
  struct Pair {
    Dim before, after;
  };
  Pairs() = default;
  Pairs(std::initializer_list<Pair> list) {
    for (const Pair& p : list) {
      values.push_back(p.before.value);
      values.push_back(p.after.value);
    }
  }
};

}  // namespace weft::inline v0
