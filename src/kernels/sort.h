// Sorting and searching. NaN counts as larger than every number, so that the order is total and -0 equals 0.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <numeric>
#include <vector>

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

template <class T>
void sort_lanes(const T* x, Lanes lanes, Before<T> before, T* y) {
  std::vector<T> lane(lanes.inner == 1 ? 0 : static_cast<std::size_t>(lanes.count));
  for (std::int64_t o = 0; o < lanes.outer; ++o, x += lanes.count * lanes.inner, y += lanes.count * lanes.inner) {
    if (lanes.inner == 1) {
      std::copy_n(x, lanes.count, y);
      std::stable_sort(y, y + lanes.count, before);
      continue;
    }
    for (std::int64_t i = 0; i < lanes.inner; ++i) {
      for (std::int64_t k = 0; k < lanes.count; ++k) lane[static_cast<std::size_t>(k)] = x[k * lanes.inner + i];
      std::stable_sort(lane.begin(), lane.end(), before);
      for (std::int64_t k = 0; k < lanes.count; ++k) y[k * lanes.inner + i] = lane[static_cast<std::size_t>(k)];
    }
  }
}

/// The positions along the lane in the order that sort_lanes makes. REQUIRES: count fits i32.
template <class T>
void argsort_lanes(const T* x, Lanes lanes, Before<T> before, std::int32_t* y) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(lanes.count));
  for (std::int64_t o = 0; o < lanes.outer; ++o, x += lanes.count * lanes.inner, y += lanes.count * lanes.inner)
    for (std::int64_t i = 0; i < lanes.inner; ++i) {
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return before(x[a * lanes.inner + i], x[b * lanes.inner + i]); });
      for (std::int64_t k = 0; k < lanes.count; ++k) y[k * lanes.inner + i] = order[static_cast<std::size_t>(k)];
    }
}

/// The k largest of each row, largest first, of equal ones the lower position first. REQUIRES: k <= count, which fits i32.
template <class T>
void top_k_rows(const T* x, std::int64_t rows, std::int64_t count, std::int64_t k, T* values, std::int32_t* positions) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  for (std::int64_t r = 0; r < rows; ++r, x += count, values += k, positions += k) {
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](std::int32_t a, std::int32_t b) {
      if (is_less(x[b], x[a])) return true;
      return !is_less(x[a], x[b]) && a < b;
    });
    for (std::int64_t i = 0; i < k; ++i) {
      positions[i] = order[static_cast<std::size_t>(i)];
      values[i] = x[positions[i]];
    }
  }
}

/// Gives equal elements (NaN equals nothing) a common number, in the order of their first appearance. Returns the positions of the
/// first ones. REQUIRES: count fits i32.
template <class T>
std::vector<std::int32_t> number_distinct(const T* x, std::int64_t count, std::int32_t* numbers) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(count)), firsts;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return is_less(x[a], x[b]); });
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

/// How many elements of the ascending row come before each value: those below it, or (after_equal) not above it.
template <class T>
void search_rows(const T* sorted, std::int64_t rows, std::int64_t count, const T* values, std::int64_t wanted, bool after_equal, std::int32_t* y) {
  for (std::int64_t r = 0; r < rows; ++r, sorted += count)
    for (std::int64_t i = 0; i < wanted; ++i, ++values, ++y) {
      std::int64_t low = 0, high = count;
      while (low < high) {
        const std::int64_t middle = low + (high - low) / 2;
        if (after_equal ? !is_less(*values, sorted[middle]) : is_less(sorted[middle], *values)) low = middle + 1;
        else high = middle;
      }
      *y = static_cast<std::int32_t>(low);
    }
}

}  // namespace weft::inline v0::kernels
