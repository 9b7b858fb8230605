#include "kernels/softmax.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/fold.h"
#include "kernels/parts.h"
#include "kernels/rows.h"
#include "kernels/scratch.h"

namespace weft::inline v0::kernels {
namespace {

constexpr std::int64_t kStrip = 16;               // columns that are turned into rows at a time
constexpr std::int64_t kStreamed = 16 << 20;      // bytes of a result that no cache keeps: it is written past them
constexpr std::int64_t kRowElements = 32768;      // of the rows that are worth a chunk

template <class T>
const RowLoops<T>& loops() {
  if constexpr (std::is_same_v<T, float>) return row_table().f32;
  else return row_table().f64;
}

std::int64_t rows_a_chunk(std::int64_t n) { return std::max<std::int64_t>(1, kRowElements / std::max<std::int64_t>(1, n)); }

// Calls body(rows, first, scratch) for runs of rows. REQUIRES: the rows lie one after the other.
template <class T, class Body>
void for_rows(std::int64_t count, std::int64_t n, const Body& body) {
  const bool stream = count * n * static_cast<std::int64_t>(sizeof(T)) >= kStreamed;
  parallel_ranges(count, rows_a_chunk(n), [&](std::int64_t first, std::int64_t end) {
    Scratch memory(Scratch::size<T>(2 * n));
    body(RowRun{end - first, n, stream}, first, memory.take<T>(2 * n));
  });
}

// Columns of a matrix [n, inner] from and to rows that are `pitch` apart.
template <class T>
void to_rows(const T* x, std::int64_t n, std::int64_t inner, std::int64_t columns, T* rows, std::int64_t pitch) {
  for (std::int64_t k = 0; k < n; ++k) {
    __builtin_prefetch(x + (k + 16) * inner);
    for (std::int64_t c = 0; c < columns; ++c) rows[c * pitch + k] = x[k * inner + c];
  }
}
template <class T>
void to_columns(const T* rows, std::int64_t pitch, std::int64_t n, std::int64_t inner, std::int64_t columns, T* y) {
  for (std::int64_t k = 0; k < n; ++k) {
    __builtin_prefetch(y + (k + 16) * inner, 1);
    for (std::int64_t c = 0; c < columns; ++c) y[k * inner + c] = rows[c * pitch + k];
  }
}

// y = body(a, b) row by row, where b may be null: body(rows, first row, a, b, y, scratch). Rows that are not contiguous are copied to
// some that are, and their results back. `reduced`: y has one number a row.
template <class T, class Body>
void over_rows(const RowShape& s, bool reduced, const T* a, const T* b, T* y, const Body& body) {
  if (s.inner == 1) {
    for_rows<T>(s.outer, s.n, [&](RowRun rows, std::int64_t first, T* scratch) {
      body(rows, first, a + first * s.n, b == nullptr ? nullptr : b + first * s.n, y + (reduced ? first : first * s.n), scratch);
    });
    return;
  }
  // Copies are an odd number of 64-byte lines apart: multiples of a page would share the few places of one set of the cache.
  const std::int64_t strips = (s.inner + kStrip - 1) / kStrip, pitch = (s.n + 15) / 32 * 32 + 48, block = kStrip * pitch;
  in_parallel(s.outer * strips, kStrip * s.n, [&](std::int64_t unit) {
    Scratch memory(Scratch::size<T>(3 * block + pitch));
    T *in_a = memory.take<T>(3 * block + pitch), *in_b = in_a + block, *out = in_b + block, *scratch = out + block;
    const std::int64_t o = unit / strips, column = unit % strips * kStrip, columns = std::min(kStrip, s.inner - column), at = o * s.n * s.inner + column;
    const std::int64_t first = o * s.inner + column;
    to_rows(a + at, s.n, s.inner, columns, in_a, pitch);
    if (b != nullptr) to_rows(b + at, s.n, s.inner, columns, in_b, pitch);
    for (std::int64_t c = 0; c < columns; ++c)
      body(RowRun{1, s.n, false}, first + c, in_a + c * pitch, in_b + c * pitch, reduced ? y + first + c : out + c * pitch, scratch);
    if (!reduced) to_columns(out, pitch, s.n, s.inner, columns, y + at);
  });
}

}  // namespace

template <class T>
void softmax(const RowShape& s, const T* x, T* y) {
  over_rows<T>(s, false, x, nullptr, y, [](RowRun rows, std::int64_t, const T* a, const T*, T* to, T* scratch) { loops<T>().softmax(rows, a, to, scratch); });
}

template <class T>
void softmax_backward(const RowShape& s, const T* y, const T* dy, T* dx) {
  over_rows<T>(s, false, y, dy, dx, [](RowRun rows, std::int64_t, const T* a, const T* b, T* to, T*) { loops<T>().softmax_backward(rows, a, b, to); });
}

template <class T>
void log_softmax(const RowShape& s, const T* x, T* y) {
  over_rows<T>(s, false, x, nullptr, y, [](RowRun rows, std::int64_t, const T* a, const T*, T* to, T* scratch) { loops<T>().log_softmax(rows, a, to, scratch); });
}

template <class T>
void log_softmax_backward(const RowShape& s, const T* y, const T* dy, T* dx) {
  over_rows<T>(s, false, y, dy, dx,
               [](RowRun rows, std::int64_t, const T* a, const T* b, T* to, T* scratch) { loops<T>().log_softmax_backward(rows, a, b, to, scratch); });
}

template <class T>
void cross_entropy(const RowShape& s, const T* labels, const T* logits, T* loss) {
  over_rows<T>(s, true, labels, logits, loss,
               [](RowRun rows, std::int64_t, const T* a, const T* b, T* to, T* scratch) { loops<T>().cross_entropy(rows, a, b, to, scratch); });
}

template <class T>
void cross_entropy_backward(const RowShape& s, const T* labels, const T* logits, const T* dy, T* dx) {
  over_rows<T>(s, false, labels, logits, dx, [&](RowRun rows, std::int64_t first, const T* a, const T* b, T* to, T* scratch) {
    loops<T>().cross_entropy_backward(rows, a, b, dy + first, to, scratch);
  });
}

template <class T, class I>
void sparse_cross_entropy(std::int64_t rows, std::int64_t n, const I* labels, const T* logits, T* loss) {
  for_rows<T>(rows, n, [&](RowRun some, std::int64_t first, T* scratch) {
    const std::vector<std::int64_t> positions(labels + first, labels + first + some.count);
    loops<T>().sparse_cross_entropy(some, positions.data(), logits + first * n, loss + first, scratch);
  });
}

template <class T, class I>
void sparse_cross_entropy_backward(std::int64_t rows, std::int64_t n, const I* labels, const T* logits, const T* dy, T* dx) {
  for_rows<T>(rows, n, [&](RowRun some, std::int64_t first, T* scratch) {
    const std::vector<std::int64_t> positions(labels + first, labels + first + some.count);
    loops<T>().sparse_cross_entropy_backward(some, positions.data(), logits + first * n, dy + first, dx + first * n, scratch);
  });
}

template <class T>
void sigmoid_cross_entropy(std::int64_t n, const T* labels, const T* logits, T* loss) {
  parallel_ranges(n, kRowElements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      // A line with the slope of the wrong share, exactly 0 if the label agrees with an infinite logit, and its bend near 0.
      const T x = logits[k], wrong = x < T(0) ? labels[k] : T(1) - labels[k], distance = std::abs(x);
      loss[k] = (wrong == T(0) ? T(0) : wrong * distance) + std::log1p(std::exp(-distance));
    }
  });
}

template <class T>
void standardize(std::int64_t rows, std::int64_t n, double epsilon, const T* x, const T* scale, const T* offset, T* y) {
  for_rows<T>(rows, n, [&](RowRun some, std::int64_t first, T*) { loops<T>().standardize(some, epsilon, x + first * n, scale, offset, y + first * n); });
}

template <class T>
void standardize_backward(std::int64_t rows, std::int64_t n, double epsilon, const T* x, const T* scale, const T* dy, T* dx, T* dscale, T* doffset) {
  // Rows are summed in parts, at most 32 of them, and the parts in order.
  using Sum = AddUp<T>;
  const std::int64_t step = std::max({std::int64_t{64}, rows_a_chunk(n), (rows + 31) / 32}), words = Sum::kWords * n, each = scale == nullptr ? 0 : 2 * words;
  const std::int64_t parts = std::max<std::int64_t>(1, (rows + step - 1) / step);
  const bool stream = rows * n * static_cast<std::int64_t>(sizeof(T)) >= kStreamed;
  Scratch memory(Scratch::size<double>(parts * each));
  double* const sums = memory.take<double>(parts * each);
  std::fill_n(sums, each, 0.0);
  parallel_ranges(rows, step, [&](std::int64_t first, std::int64_t end) {
    double* own = sums + first / step * each;
    std::fill_n(own, each, 0.0);
    Scratch columns(Scratch::size<T>(2 * n));
    loops<T>().standardize_backward(RowRun{end - first, n, stream}, epsilon, x + first * n, scale, dy + first * n, dx + first * n, own, own + words,
                                    columns.take<T>(2 * n));
  });
  if (scale == nullptr) return;
  const auto words_at = [&](std::int64_t part, std::int64_t column) {
    std::array<double, Sum::kWords> own;
    for (int w = 0; w < Sum::kWords; ++w) own[static_cast<std::size_t>(w)] = sums[part * each + column + w * n];
    return own;
  };
  for (const auto& [to, start] : {std::pair{dscale, std::int64_t{0}}, std::pair{doffset, words}}) {
    for (std::int64_t part = 1; part < parts; ++part)
      for (std::int64_t k = start; k < start + n; ++k) {
        auto total = words_at(0, k);
        Sum::merge(total.data(), words_at(part, k).data());
        for (int w = 0; w < Sum::kWords; ++w) sums[k + w * n] = total[static_cast<std::size_t>(w)];
      }
    for (std::int64_t k = 0; k < n; ++k) to[k] = static_cast<T>(Sum::value(words_at(0, start + k).data()));
  }
}

template <class T>
double sum_of_squares(std::int64_t n, const T* x) {
  const Parts parts(1, std::max<std::int64_t>(1, n), kBlock);
  if (n == 0) return 0;
  constexpr int words = AddUp<T>::kWords;
  Scratch memory(Scratch::size<double>(parts.count * words));
  double* const own = memory.take<double>(parts.count * words);
  const double from = 0;
  in_parallel(parts.count, kBlock, [&](std::int64_t part) {
    fold_table().of<FoldLoops<AddSquaredDistance<T>>>().rows(x + part * kBlock, 1, 0, std::min(kBlock, n - part * kBlock), &from, own + part * words, 1);
  });
  for (std::int64_t part = 1; part < parts.count; ++part) AddUp<T>::merge(own, own + part * words);
  return AddUp<T>::value(own);
}

template void softmax(const RowShape&, const float*, float*);
template void softmax(const RowShape&, const double*, double*);
template void softmax_backward(const RowShape&, const float*, const float*, float*);
template void softmax_backward(const RowShape&, const double*, const double*, double*);
template void log_softmax(const RowShape&, const float*, float*);
template void log_softmax(const RowShape&, const double*, double*);
template void log_softmax_backward(const RowShape&, const float*, const float*, float*);
template void log_softmax_backward(const RowShape&, const double*, const double*, double*);
template void cross_entropy(const RowShape&, const float*, const float*, float*);
template void cross_entropy(const RowShape&, const double*, const double*, double*);
template void cross_entropy_backward(const RowShape&, const float*, const float*, const float*, float*);
template void cross_entropy_backward(const RowShape&, const double*, const double*, const double*, double*);
template void sparse_cross_entropy(std::int64_t, std::int64_t, const std::int32_t*, const float*, float*);
template void sparse_cross_entropy(std::int64_t, std::int64_t, const std::int32_t*, const double*, double*);
template void sparse_cross_entropy(std::int64_t, std::int64_t, const std::int64_t*, const float*, float*);
template void sparse_cross_entropy(std::int64_t, std::int64_t, const std::int64_t*, const double*, double*);
template void sparse_cross_entropy_backward(std::int64_t, std::int64_t, const std::int32_t*, const float*, const float*, float*);
template void sparse_cross_entropy_backward(std::int64_t, std::int64_t, const std::int32_t*, const double*, const double*, double*);
template void sparse_cross_entropy_backward(std::int64_t, std::int64_t, const std::int64_t*, const float*, const float*, float*);
template void sparse_cross_entropy_backward(std::int64_t, std::int64_t, const std::int64_t*, const double*, const double*, double*);
template void sigmoid_cross_entropy(std::int64_t, const float*, const float*, float*);
template void sigmoid_cross_entropy(std::int64_t, const double*, const double*, double*);
template void standardize(std::int64_t, std::int64_t, double, const float*, const float*, const float*, float*);
template void standardize(std::int64_t, std::int64_t, double, const double*, const double*, const double*, double*);
template void standardize_backward(std::int64_t, std::int64_t, double, const float*, const float*, const float*, float*, float*, float*);
template void standardize_backward(std::int64_t, std::int64_t, double, const double*, const double*, const double*, double*, double*, double*);
template double sum_of_squares(std::int64_t, const float*);
template double sum_of_squares(std::int64_t, const double*);

}  // namespace weft::inline v0::kernels
