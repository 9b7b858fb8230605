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
#include "kernels/scratch.h"

namespace weft::inline v0::kernels {

template <class T>
bool is_less(T a, T b) {
  if constexpr (std::floating_point<T>) return a < b || (b != b && a == a);
  else return a < b;
}

/// A tensor [outer, count, inner] as lanes of `count` elements that are `inner` apart.
struct Lanes {
  std::int64_t outer, count, inner;
};

/// The positions of a lane's elements in order, equal ones in the order of their positions: a stable sort.
template <class T>
std::vector<std::int32_t> order_reference(const T* x, std::int64_t count, std::int64_t stride, bool descending) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return descending ? is_less(x[b * stride], x[a * stride]) : is_less(x[a * stride], x[b * stride]);
  });
  return order;
}

// Below, an element is sorted as an entry: a key, whose order as an unsigned number is that of the elements, and its position. No two
// entries are equal, so whatever sorts them is stable, and one text sorts all dtypes: two kinds of entries serve them.

/// Elements of up to 32 bits: the key above the position.
struct NarrowEntry {
  using Key = std::uint32_t;
  std::uint64_t both;
  NarrowEntry(Key key, std::int32_t position) : both(std::uint64_t{key} << 32 | static_cast<std::uint32_t>(position)) {}
  std::int32_t position() const { return static_cast<std::int32_t>(both & 0xffffffffu); }
  friend bool operator<(NarrowEntry a, NarrowEntry b) { return a.both < b.both; }
};
struct WideEntry {
  using Key = std::uint64_t;
  Key key;
  std::int32_t at;
  WideEntry(Key k, std::int32_t position) : key(k), at(position) {}
  std::int32_t position() const { return at; }
  friend bool operator<(WideEntry a, WideEntry b) { return a.key != b.key ? a.key < b.key : a.at < b.at; }
};
template <class T>
using EntryOf = std::conditional_t<sizeof(T) <= 4, NarrowEntry, WideEntry>;

/// Unsigned numbers in the order of the elements: NaN last, and -0 as 0.
template <class T>
typename EntryOf<T>::Key key_of(T x) {
  using Key = typename EntryOf<T>::Key;
  if constexpr (std::floating_point<T>) {
    constexpr Key sign = Key{1} << (8 * sizeof(T) - 1);
    if (x != x) return ~Key{0};
    const Key bits = std::bit_cast<Key>(x == 0 ? T(0) : x);
    return (bits & sign) != 0 ? ~bits : bits | sign;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<Key>(x) ^ Key{1} << (8 * sizeof(Key) - 1);
  } else {
    return x;
  }
}

/// Sorts entries on all threads, and the first k of them.
void sort_entries(NarrowEntry* entries, std::int64_t count);
void sort_entries(WideEntry* entries, std::int64_t count);
void sort_first_entries(NarrowEntry* entries, std::int64_t count, std::int64_t k);
void sort_first_entries(WideEntry* entries, std::int64_t count, std::int64_t k);

template <class T>
void write_entries(const T* x, std::int64_t count, std::int64_t stride, bool descending, EntryOf<T>* entries) {
  for (std::int64_t k = 0; k < count; ++k) {
    const auto key = key_of(x[k * stride]);
    entries[k] = {static_cast<typename EntryOf<T>::Key>(descending ? ~key : key), static_cast<std::int32_t>(k)};
  }
}

inline constexpr std::int64_t kSortSerial = 16384;  // elements that one thread sorts by itself

/// Calls each(offset of its first element, entries) for every lane, lanes shared among threads. REQUIRES: count fits i32.
template <class T, class Each>
void for_each_lane(const T* x, Lanes lanes, bool descending, const Each& each) {
  const std::int64_t grain = std::max<std::int64_t>(1, kSortSerial / std::max<std::int64_t>(1, lanes.count));
  parallel_ranges(lanes.outer * lanes.inner, grain, [&](std::int64_t begin, std::int64_t end) {
    const ScratchOf<EntryOf<T>> entries(lanes.count);
    for (std::int64_t lane = begin; lane < end; ++lane) {
      const std::int64_t base = lane / lanes.inner * lanes.count * lanes.inner + lane % lanes.inner;
      write_entries(x + base, lanes.count, lanes.inner, descending, entries.get());
      each(base, entries.get());
    }
  });
}

template <class T>
void sort_lanes(const T* x, Lanes lanes, bool descending, T* y) {
  for_each_lane(x, lanes, descending, [&](std::int64_t base, EntryOf<T>* entries) {
    sort_entries(entries, lanes.count);
    for (std::int64_t k = 0; k < lanes.count; ++k) y[base + k * lanes.inner] = x[base + entries[k].position() * lanes.inner];
  });
}

/// The positions along the lane in the order that sort_lanes makes.
template <class T>
void argsort_lanes(const T* x, Lanes lanes, bool descending, std::int32_t* y) {
  for_each_lane(x, lanes, descending, [&](std::int64_t base, EntryOf<T>* entries) {
    sort_entries(entries, lanes.count);
    for (std::int64_t k = 0; k < lanes.count; ++k) y[base + k * lanes.inner] = entries[k].position();
  });
}

/// The k largest of each row, largest first, of equal ones the lower position first. REQUIRES: k <= count, which fits i32.
template <class T>
void top_k_rows(const T* x, std::int64_t rows, std::int64_t count, std::int64_t k, T* values, std::int32_t* positions) {
  for_each_lane(x, {rows, count, 1}, true, [&](std::int64_t base, EntryOf<T>* entries) {
    sort_first_entries(entries, count, k);
    const std::int64_t to = base / count * k;
    for (std::int64_t i = 0; i < k; ++i) {
      positions[to + i] = entries[i].position();
      values[to + i] = x[base + positions[to + i]];
    }
  });
}

/// Gives equal elements (NaN equals nothing) a common number, in the order of their first appearance. Returns the positions of the
/// first ones. REQUIRES: count fits i32.
template <class T>
std::vector<std::int32_t> number_distinct_reference(const T* x, std::int64_t count, std::int32_t* numbers) {
  std::vector<std::int32_t> firsts;
  const ScratchOf<EntryOf<T>> entries(count);
  write_entries(x, count, 1, false, entries.get());
  sort_entries(entries.get(), count);
  // Equal elements now follow one another in the order of their positions: each learns the position of its first.
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t at = entries.get()[i].position(), before = i > 0 ? entries.get()[i - 1].position() : at;
    numbers[at] = i > 0 && x[at] == x[before] ? numbers[before] : at;
  }
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
