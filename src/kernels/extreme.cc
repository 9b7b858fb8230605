#include <vector>

#include "kernels/accumulate.h"
#include "kernels/fold.h"
#include "kernels/parts.h"
#include "kernels/reduce.h"

namespace weft::inline v0::kernels {
namespace {

// The best of each part, in order.
template <bool largest, class T, class Position>
void find_in_rows(std::int64_t outer, std::int64_t n, const T* x, Position* y) {
  const Parts parts(1, n, kBlock);
  std::vector<T> best(static_cast<std::size_t>(outer * parts.count));
  std::vector<std::int64_t> position(best.size());
  in_parallel(outer * parts.count, std::min(n, kBlock), [&](std::int64_t unit) {
    parts.in(unit % parts.count, [&](std::int64_t, std::int64_t, std::int64_t start, std::int64_t length) {
      const auto u = static_cast<std::size_t>(unit);
      fold_table().of<FindLoops<T, largest>>().row(x + unit / parts.count * n + start, length, &best[u], &position[u]);
      position[u] += start;
    });
  });
  for (std::int64_t o = 0; o < outer; ++o) {
    const auto first = static_cast<std::size_t>(o * parts.count);
    std::size_t at = first;
    for (std::size_t other = first + 1; other < first + static_cast<std::size_t>(parts.count); ++other)
      if (replaces<largest>(best[other], best[at])) at = other;
    y[o] = static_cast<Position>(position[at]);
  }
}

template <bool largest, class T, class Position>
void find_in_columns(std::int64_t outer, std::int64_t n, std::int64_t inner, const T* x, Position* y) {
  const std::int64_t blocks = (inner + kColumns - 1) / kColumns;
  in_parallel(outer * blocks, n * std::min(inner, kColumns), [&](std::int64_t unit) {
    const std::int64_t first = unit % blocks * kColumns, columns = std::min(kColumns, inner - first);
    T best[kColumns];
    std::int64_t position[kColumns];
    fold_table().of<FindLoops<T, largest>>().columns(x + unit / blocks * n * inner + first, n, inner, columns, best, position);
    Position* to = y + unit / blocks * inner + first;
    for (std::int64_t c = 0; c < columns; ++c) to[c] = static_cast<Position>(position[c]);
  });
}

}  // namespace

void arg_extreme(DType dtype, bool largest, std::int64_t outer, std::int64_t n, std::int64_t inner, const void* x, DType out, void* y) {
  with_number(dtype, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    const auto find = [&]<bool max, class Position>(std::bool_constant<max>, Position* to) {
      if (inner == 1) find_in_rows<max>(outer, n, static_cast<const T*>(x), to);
      else find_in_columns<max>(outer, n, inner, static_cast<const T*>(x), to);
    };
    const auto find_either = [&](auto* to) {
      if (largest) find(std::true_type(), to);
      else find(std::false_type(), to);
    };
    if (out == DType::i32) find_either(static_cast<std::int32_t*>(y));
    else find_either(static_cast<std::int64_t*>(y));
  });
}

}  // namespace weft::inline v0::kernels
