#include "kernels/sort.h"

namespace weft::inline v0::kernels {
namespace {

// In parts that are sorted side by side and then merged. No two entries are equal, so the result is unique and parts do not show.
template <class Entry>
void sort_parts(Entry* first, std::int64_t count) {
  if (count <= 2 * kSortSerial) return std::sort(first, first + count);
  std::int64_t parts = 2;
  while (parts < 64 && count / parts > kSortSerial) parts *= 2;
  const auto bound = [&](std::int64_t part) { return first + count * part / parts; };
  parallel_for(parts, [&](std::int64_t part) { std::sort(bound(part), bound(part + 1)); });
  for (std::int64_t width = 1; width < parts; width *= 2)
    parallel_for(parts / (2 * width), [&](std::int64_t pair) {
      const std::int64_t part = pair * 2 * width;
      std::inplace_merge(bound(part), bound(part + width), bound(part + 2 * width));
    });
}

}  // namespace

void sort_entries(NarrowEntry* entries, std::int64_t count) { sort_parts(entries, count); }
void sort_entries(WideEntry* entries, std::int64_t count) { sort_parts(entries, count); }
void sort_first_entries(NarrowEntry* entries, std::int64_t count, std::int64_t k) { std::partial_sort(entries, entries + k, entries + count); }
void sort_first_entries(WideEntry* entries, std::int64_t count, std::int64_t k) { std::partial_sort(entries, entries + k, entries + count); }

}  // namespace weft::inline v0::kernels
