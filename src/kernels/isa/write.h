// Results of whole rows, through the caches or past them, for files in this folder only.
#pragma once

#include "kernels/isa/lanes.h"
#include "kernels/rows.h"

namespace weft::inline v0::kernels::WEFT_ISA {
namespace {

template <class T>
WEFT_INLINE void stream(T* to, Vec<T> v) {
#if defined(WEFT_ISA_v4)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), reinterpret_cast<__m512i>(v));
#elif defined(WEFT_ISA_v3)
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(v));
#elif defined(__x86_64__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), reinterpret_cast<__m128i>(v));
#else
  store(to, v);
#endif
}
/// After the last streamed result, before anybody is told of it.
WEFT_INLINE void end_of_stream(bool streamed) {
#if defined(__x86_64__)
  if (streamed) _mm_sfence();
#endif
}

/// Reads elements one by one, or as many as a vector has.
struct One {
  template <class T>
  WEFT_INLINE T operator()(const T* x) const { return *x; }
};
struct Many {
  template <class T>
  WEFT_INLINE Vec<T> operator()(const T* x) const { return load<T>(x); }
};

/// y[k] = f(row, get, k) for k from `first` to n, where f reads what it needs of the row, at k, by get.
template <class T, class F, class Row>
WEFT_INLINE void write_row(bool streamed, std::int64_t first, std::int64_t n, T* y, const F& f, const Row& row) {
  std::int64_t k = first;
  if (streamed) {
    for (; k < n && reinterpret_cast<std::uintptr_t>(y + k) % kVectorBytes != 0; ++k) y[k] = f(row, One(), k);
    for (; k + kWidth<T> <= n; k += kWidth<T>) stream(y + k, f(row, Many(), k));
  } else {
    for (; k + kWidth<T> <= n; k += kWidth<T>) store(y + k, f(row, Many(), k));
  }
  for (; k < n; ++k) y[k] = f(row, One(), k);
}

/// All rows: f(row, get, k) as above of what read(r, meanwhile) knows of row r in the end. Stores past the caches take long, so those of a row
/// are made while the next one is read: `read` calls meanwhile(k) for the first vectors, as many as make up whole steps of `step` elements.
/// What it returns must stay valid for that long.
template <class T, class Read, class F>
WEFT_INLINE void write_rows(RowRun rows, T* y, std::int64_t step, const Read& read, const F& f) {
  const std::int64_t n = rows.n;
  const bool later = std::is_same_v<T, float> && rows.stream && n % kWidth<T> == 0 && reinterpret_cast<std::uintptr_t>(y) % kVectorBytes == 0;
  if (rows.count == 0) return;
  auto row = read(std::int64_t{0}, [](std::int64_t) {});
  for (std::int64_t r = 1; r < rows.count; ++r, y += n) {
    if (later) {
      const auto next = read(r, [&](std::int64_t k) __attribute__((always_inline)) { stream(y + k, f(row, Many(), k)); });
      write_row(true, n / step * step, n, y, f, row);
      row = next;
    } else {
      write_row(rows.stream, 0, n, y, f, row);
      row = read(r, [](std::int64_t) {});
    }
  }
  write_row(rows.stream, 0, n, y, f, row);
  end_of_stream(rows.stream);
}

}  // namespace
}  // namespace weft::inline v0::kernels::WEFT_ISA
