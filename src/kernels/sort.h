// Sorting and searching. NaN counts as larger than every number, so that the order is total and -0 equals 0.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

#include "base/pool.h"

namespace weft::inline v0::kernels {

template <class T>
bool is_less(T a, T b) {
  if constexpr (std::floating_point<T>) return a < b || (b != b && a == a);
  else return a < b;
}

/// Comes a before b? Elements of equal value come in neither order: sorts are stable.
template <class T>
struct Before {
  bool descending;
  bool operator()(T a, T b) const { return descending ? is_less(b, a) : is_less(a, b); }
};

/// A tensor [outer, count, inner] as lanes of `count` elements that are `inner` apart.
struct Lanes {
  std::int64_t outer, count, inner;
};

inline constexpr std::int64_t kSortSerial = 16384;  // elements that one thread sorts by itself

/// std::stable_sort, in parts that are sorted side by side and then merged. The result of a stable sort is unique, so parts do not show.
template <class It, class Compare>
void stable_sort_parts(It first, std::int64_t count, const Compare& before) {
  if (count <= 2 * kSortSerial) return std::stable_sort(first, first + count, before);
  std::int64_t parts = 2;
  while (parts < 64 && count / parts > kSortSerial) parts *= 2;
  const auto bound = [&](std::int64_t part) { return first + count * part / parts; };
  parallel_for(parts, [&](std::int64_t part) { std::stable_sort(bound(part), bound(part + 1), before); });
  for (std::int64_t width = 1; width < parts; width *= 2)
    parallel_for(parts / (2 * width), [&](std::int64_t pair) {
      const std::int64_t part = pair * 2 * width;
      std::inplace_merge(bound(part), bound(part + width), bound(part + 2 * width), before);
    });
}

/// Calls each(base, scratch) for the first element of every lane, lanes shared among threads; scratch is the thread's, of `count` elements.
template <class S, class Each>
void for_each_lane(Lanes lanes, const Each& each) {
  const std::int64_t grain = std::max<std::int64_t>(1, kSortSerial / std::max<std::int64_t>(1, lanes.count));
  parallel_ranges(lanes.outer * lanes.inner, grain, [&](std::int64_t begin, std::int64_t end) {
    std::vector<S> scratch(static_cast<std::size_t>(lanes.count));
    for (std::int64_t lane = begin; lane < end; ++lane) each(lane / lanes.inner * lanes.count * lanes.inner + lane % lanes.inner, scratch);
  });
}

template <class T>
void sort_lanes(const T* x, Lanes lanes, Before<T> before, T* y) {
  for_each_lane<T>(lanes, [&](std::int64_t base, std::vector<T>& lane) {
    for (std::int64_t k = 0; k < lanes.count; ++k) lane[static_cast<std::size_t>(k)] = x[base + k * lanes.inner];
    stable_sort_parts(lane.begin(), lanes.count, before);
    for (std::int64_t k = 0; k < lanes.count; ++k) y[base + k * lanes.inner] = lane[static_cast<std::size_t>(k)];
  });
}

/// The positions along the lane in the order that sort_lanes makes. REQUIRES: count fits i32.
template <class T>
void argsort_lanes(const T* x, Lanes lanes, Before<T> before, std::int32_t* y) {
  for_each_lane<std::int32_t>(lanes, [&](std::int64_t base, std::vector<std::int32_t>& order) {
    std::iota(order.begin(), order.end(), 0);
    stable_sort_parts(order.begin(), lanes.count, [&](std::int32_t a, std::int32_t b) { return before(x[base + a * lanes.inner], x[base + b * lanes.inner]); });
    for (std::int64_t k = 0; k < lanes.count; ++k) y[base + k * lanes.inner] = order[static_cast<std::size_t>(k)];
  });
}

/// The k largest of each row, largest first, of equal ones the lower position first. REQUIRES: k <= count, which fits i32.
template <class T>
void top_k_rows(const T* x, std::int64_t rows, std::int64_t count, std::int64_t k, T* values, std::int32_t* positions) {
  for_each_lane<std::int32_t>({rows, count, 1}, [&](std::int64_t base, std::vector<std::int32_t>& order) {
    const T* row = x + base;
    const std::int64_t r = count == 0 ? 0 : base / count;
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](std::int32_t a, std::int32_t b) {
      if (is_less(row[b], row[a])) return true;
      return !is_less(row[a], row[b]) && a < b;
    });
    for (std::int64_t i = 0; i < k; ++i) {
      positions[r * k + i] = order[static_cast<std::size_t>(i)];
      values[r * k + i] = row[order[static_cast<std::size_t>(i)]];
    }
  });
}

/// Gives equal elements (NaN equals nothing) a common number, in the order of their first appearance. Returns the positions of the
/// first ones. REQUIRES: count fits i32.
template <class T>
std::vector<std::int32_t> number_distinct_reference(const T* x, std::int64_t count, std::int32_t* numbers) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(count)), firsts;
  std::iota(order.begin(), order.end(), 0);
  stable_sort_parts(order.begin(), count, [&](std::int32_t a, std::int32_t b) { return is_less(x[a], x[b]); });
  // Equal elements now follow one another in the order of their positions: each learns the position of its first.
  for (std::size_t i = 0; i < order.size(); ++i)
    numbers[order[i]] = i > 0 && x[order[i]] == x[order[i - 1]] ? numbers[order[i - 1]] : order[i];
  for (std::int32_t k = 0; k < static_cast<std::int32_t>(count); ++k) {
    if (numbers[k] == k) {
      numbers[k] = static_cast<std::int32_t>(firsts.size());
      firsts.push_back(k);
    } else {
      numbers[k] = numbers[numbers[k]];
    }
  }
  return firsts;
}

/// Where a value is looked for first in a table of 2^bits places. Equal values have equal places.
template <class T>
std::size_t first_place(T value, int bits) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>>>;
  const std::uint64_t key = value == T(0) ? 0 : std::bit_cast<Bits>(value);  // -0 is 0
  return static_cast<std::size_t>(key * 0x9e3779b97f4a7c15u >> (64 - bits));
}

/// The same with a table of the values met so far. Values that crowd one place of it, as chosen ones can, are left to the reference.
template <class T>
std::vector<std::int32_t> number_distinct(const T* x, std::int64_t count, std::int32_t* numbers) {
  if (count == 0) return {};
  const int bits = std::bit_width(static_cast<std::uint64_t>(2 * count));
  const std::size_t last = (std::size_t{1} << bits) - 1;
  std::vector<std::int32_t> table(last + 1), firsts;  // one more than the number of the value in a place; 0 if there is none
  std::int64_t patience = 8 * count + 64;             // places that are taken by other values
  for (std::int32_t k = 0; k < static_cast<std::int32_t>(count); ++k) {
    const T value = x[k];
    std::int32_t* place = nullptr;
    if (value == value)
      for (std::size_t at = first_place(value, bits);; at = (at + 1) & last) {
        place = &table[at];
        if (*place == 0 || x[firsts[static_cast<std::size_t>(*place - 1)]] == value) break;
        if (--patience == 0) return number_distinct_reference(x, count, numbers);
      }
    if (place == nullptr || *place == 0) {
      firsts.push_back(k);
      numbers[k] = static_cast<std::int32_t>(firsts.size()) - 1;
      if (place != nullptr) *place = numbers[k] + 1;
    } else {
      numbers[k] = *place - 1;
    }
  }
  return firsts;
}

/// How many elements of the ascending row come before each value: those below it, or (after_equal) not above it.
template <class T>
void search_rows(const T* sorted, std::int64_t rows, std::int64_t count, const T* values, std::int64_t wanted, bool after_equal, std::int32_t* y) {
  parallel_ranges(rows * wanted, kSortSerial / 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T* row = sorted + i / wanted * count;
      std::int64_t low = 0, high = count;
      while (low < high) {
        const std::int64_t middle = low + (high - low) / 2;
        if (after_equal ? !is_less(values[i], row[middle]) : is_less(row[middle], values[i])) low = middle + 1;
        else high = middle;
      }
      y[i] = static_cast<std::int32_t>(low);
    }
  });
}

}  // namespace weft::inline v0::kernels
