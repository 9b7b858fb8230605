#include "kernels/gemm.h"

#include <algorithm>
#include <memory>
#include <type_traits>
#include <vector>

namespace weft::inline v0::kernels {
namespace {

// Narrow integers would be promoted to int, whose overflow is undefined: they add up in 32 bits and are cut once.
template <class T>
using Sum = std::conditional_t<(sizeof(T) < 4), std::uint32_t, T>;

constexpr std::int64_t kRows = 4, kCols = 8;  // the tile that stays in registers
constexpr std::int64_t kColBlock = 256;       // columns of b packed at a time: with kGemmBlock rows they fit the second-level cache
constexpr std::int64_t kSmall = 512;          // products below which packing costs more than it saves

std::int64_t round_up(std::int64_t size, std::int64_t step) { return (size + step - 1) / step * step; }

// out[panel][p][0..W): `count` lines of k elements in panels of W lines; the last panel is filled up with zeros.
template <std::int64_t W, class T>
void pack(const T* from, std::int64_t line, std::int64_t along, std::int64_t count, std::int64_t k, Sum<T>* out) {
  for (std::int64_t first = 0; first < count; first += W, out += W * k) {
    const std::int64_t width = std::min(W, count - first);
    const T* panel = from + first * line;
    if (width < W) std::fill_n(out, W * k, Sum<T>(0));
    if (line == 1) {
      for (std::int64_t p = 0; p < k; ++p)
        for (std::int64_t w = 0; w < width; ++w) out[p * W + w] = panel[p * along + w];
    } else {
      for (std::int64_t w = 0; w < width; ++w)
        for (std::int64_t p = 0; p < k; ++p) out[p * W + w] = panel[w * line + p * along];
    }
  }
}

// A tile of R rows: a is packed [k][R], b is packed [k][kCols].
template <std::int64_t R, class T>
void tile(std::int64_t k, const Sum<T>* a, const Sum<T>* b, Matrix<T> c, std::int64_t cols, bool first_block) {
  Sum<T> sums[R][kCols] = {};
  for (std::int64_t p = 0; p < k; ++p)
    for (std::int64_t r = 0; r < R; ++r)
      for (std::int64_t j = 0; j < kCols; ++j) sums[r][j] += a[p * R + r] * b[p * kCols + j];
  for (std::int64_t r = 0; r < R; ++r)
    for (std::int64_t j = 0; j < cols; ++j) {
      T& to = c.data[r * c.row + j * c.col];
      to = static_cast<T>(first_block ? sums[r][j] : to + sums[r][j]);
    }
}

template <std::int64_t R, class T>
void row_of_tiles(std::int64_t n, std::int64_t k, Matrix<const T> a, const Sum<T>* packed_b, Matrix<T> c, bool first_block) {
  Sum<T> packed_a[R * kGemmBlock];
  pack<R>(a.data, a.row, a.col, R, k, packed_a);
  for (std::int64_t j = 0; j < n; j += kCols)
    tile<R>(k, packed_a, packed_b + j * k, Matrix<T>{c.data + j * c.col, c.row, c.col}, std::min(kCols, n - j), first_block);
}

// --- contraction ---

struct Step {
  std::int64_t size, from, to;
};

// Calls run(from, to) for every combination of the steps, the last step fastest.
template <class Run>
void for_each(std::span<const Step> steps, std::int64_t from, std::int64_t to, const Run& run) {
  if (steps.empty()) return run(from, to);
  for (std::int64_t i = 0; i < steps[0].size; ++i)
    for_each(steps.subspan(1), from + i * steps[0].from, to + i * steps[0].to, run);
}

template <class T>
void copy(std::span<const Step> steps, const T* from, T* to) {
  if (steps.empty()) {
    *to = *from;
    return;
  }
  const Step inner = steps.back();
  for_each(steps.first(steps.size() - 1), 0, 0, [&](std::int64_t f, std::int64_t t) {
    for (std::int64_t i = 0; i < inner.size; ++i) to[t + i * inner.to] = from[f + i * inner.from];
  });
}

using Indices = std::vector<Index>;
using Stride = std::int64_t Index::*;

std::int64_t product(const Indices& group) {
  std::int64_t total = 1;
  for (const Index& index : group) total *= index.size;
  return total;
}

bool follows(const Index& outer, const Index& inner, Stride s) { return outer.*s == inner.*s * inner.size; }

// Does the group move through its operand as one index?
bool dense(const Indices& group, Stride s) {
  for (std::size_t i = 1; i < group.size(); ++i)
    if (!follows(group[i - 1], group[i], s)) return false;
  return true;
}

// Leaves in `group` the inner indices that move through both operands as one; the others go to `outer`.
void keep_inner_run(Indices& group, Stride s, Stride t, Indices& outer) {
  std::size_t start = group.size();
  while (start > 1 && follows(group[start - 2], group[start - 1], s) && follows(group[start - 2], group[start - 1], t)) --start;
  const std::size_t moved = start > 0 ? start - 1 : 0;
  outer.insert(outer.end(), group.begin(), group.begin() + static_cast<std::ptrdiff_t>(moved));
  group.erase(group.begin(), group.begin() + static_cast<std::ptrdiff_t>(moved));
}

void sort_by(Indices& group, Stride s) {
  std::stable_sort(group.begin(), group.end(), [s](const Index& x, const Index& y) { return x.*s > y.*s; });
}

// One operand as a matrix of lines x k: in place if its indices allow, otherwise through a dense copy, made anew only
// when the outer indices have moved it.
template <class T>
class Operand {
 public:
  Operand(const T* data, const Indices& lines, const Indices& along, Stride s) : data_(data) {
    line_ = lines.empty() ? 0 : lines.back().*s;
    if (dense(along, s)) {
      along_ = along.empty() ? 0 : along.back().*s;
      return;
    }
    const std::int64_t k = product(along), count = product(lines);
    if (!lines.empty()) steps_.push_back({count, line_, k});
    std::int64_t to = k;
    for (const Index& index : along) steps_.push_back({index.size, index.*s, to /= index.size});
    copy_ = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(count * k));
    line_ = k;
    along_ = 1;
  }
  const T* at(std::int64_t offset) {
    if (copy_ == nullptr) return data_ + offset;
    if (offset != copied_) copy<T>(steps_, data_ + offset, copy_.get());
    copied_ = offset;
    return copy_.get();
  }
  std::int64_t line() const { return line_; }
  std::int64_t along() const { return along_; }

 private:
  const T* data_;
  std::int64_t line_ = 0, along_ = 0, copied_ = -1;
  std::vector<Step> steps_;
  std::unique_ptr<T[]> copy_;
};

template <class T>
void for_each_outer(std::span<const Index> outer, const T* a, const T* b, T* c, auto&& run) {
  if (outer.empty()) return run(a, b, c);
  for (std::int64_t i = 0; i < outer[0].size; ++i)
    for_each_outer<T>(outer.subspan(1), a + i * outer[0].a, b + i * outer[0].b, c + i * outer[0].c, run);
}

// Sums out the indices that move the operand `s` and nothing else, so that they do not multiply the work of the product.
template <class T>
std::unique_ptr<T[]> sum_alone(Indices& indices, Stride s, Stride other, const T* operand) {
  const auto alone = [&](const Index& index) { return index.*s != 0 && index.*other == 0 && index.c == 0; };
  if (std::none_of(indices.begin(), indices.end(), alone)) return nullptr;
  std::int64_t count = 1;
  Indices parts, rest;
  for (Index index : indices) {
    if (alone(index)) {
      parts.push_back({index.size, index.*s, 0, 0});
      continue;
    }
    if (index.*s != 0) {
      parts.push_back({index.size, index.*s, 0, count});
      index.*s = count;
      count *= index.size;
    }
    rest.push_back(index);
  }
  auto sums = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(count));
  contract<T>(parts, operand, nullptr, sums.get());
  indices = std::move(rest);
  return sums;
}

template <class T>
void contract_parts(Indices indices, const T* a, const T* b, T* c) {
  std::unique_ptr<T[]> a_sums, b_sums;
  if (b != nullptr) {
    if ((a_sums = sum_alone(indices, &Index::a, &Index::b, a)) != nullptr) a = a_sums.get();
    if ((b_sums = sum_alone(indices, &Index::b, &Index::a, b)) != nullptr) b = b_sums.get();
  }
  Indices outer, rows, cols, along;
  for (const Index& index : indices)
    (index.c == 0 ? along : index.b == 0 ? rows : index.a == 0 ? cols : outer).push_back(index);
  if (b == nullptr && along.empty()) {
    std::vector<Step> steps;
    for (const Index& index : rows) steps.push_back({index.size, index.a, index.c});
    return copy<T>(steps, a, c);
  }
  sort_by(outer, &Index::c);
  sort_by(rows, &Index::c);
  sort_by(cols, &Index::c);
  sort_by(along, &Index::a);
  keep_inner_run(rows, &Index::a, &Index::c, outer);
  keep_inner_run(cols, &Index::b, &Index::c, outer);
  const T one = 1;
  Operand<T> left(a, rows, along, &Index::a), right(b == nullptr ? &one : b, cols, along, &Index::b);
  const std::int64_t m = product(rows), n = product(cols), k = product(along);
  const std::int64_t c_row = rows.empty() ? 0 : rows.back().c, c_col = cols.empty() ? 0 : cols.back().c;
  const T *a0 = a, *b0 = b == nullptr ? &one : b;
  for_each_outer<T>(outer, a0, b0, c, [&](const T* at_a, const T* at_b, T* at_c) {
    gemm<T>(m, n, k, {left.at(at_a - a0), left.line(), left.along()}, {right.at(at_b - b0), right.along(), right.line()}, {at_c, c_row, c_col});
  });
}

}  // namespace

template <class T>
void gemm_reference(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      Sum<T> total = 0;
      for (std::int64_t block = 0; block < k; block += kGemmBlock) {
        Sum<T> sum = 0;
        for (std::int64_t p = block; p < std::min(k, block + kGemmBlock); ++p)
          sum += static_cast<Sum<T>>(a.data[i * a.row + p * a.col]) * b.data[p * b.row + j * b.col];
        total = block == 0 ? sum : static_cast<Sum<T>>(total + sum);
      }
      c.data[i * c.row + j * c.col] = static_cast<T>(total);
    }
}

template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
  if (m == 0 || n == 0) return;
  if (k == 0 || (m == 1 && n == 1) || m * n <= kSmall / k) return gemm_reference(m, n, k, a, b, c);
  if (n < kCols && n < m)  // a tile is wider than high: the transposed product wastes less of it
    return gemm<T>(n, m, k, {b.data, b.col, b.row}, {a.data, a.col, a.row}, {c.data, c.col, c.row});
  const std::int64_t room = std::min(k, kGemmBlock) * round_up(std::min(n, kColBlock), kCols);
  const auto packed_b = std::make_unique_for_overwrite<Sum<T>[]>(static_cast<std::size_t>(room));
  for (std::int64_t j = 0; j < n; j += kColBlock) {
    const std::int64_t cols = std::min(kColBlock, n - j);
    for (std::int64_t p = 0; p < k; p += kGemmBlock) {
      const std::int64_t depth = std::min(kGemmBlock, k - p);
      pack<kCols>(b.data + p * b.row + j * b.col, b.col, b.row, cols, depth, packed_b.get());
      const auto part = [&](std::int64_t i) { return Matrix<const T>{a.data + i * a.row + p * a.col, a.row, a.col}; };
      const auto result = [&](std::int64_t i) { return Matrix<T>{c.data + i * c.row + j * c.col, c.row, c.col}; };
      std::int64_t i = 0;
      for (; i + kRows <= m; i += kRows) row_of_tiles<kRows>(cols, depth, part(i), packed_b.get(), result(i), p == 0);
      for (; i < m; ++i) row_of_tiles<1>(cols, depth, part(i), packed_b.get(), result(i), p == 0);
    }
  }
}

template <class T>
void contract(std::span<const Index> indices, const T* a, const T* b, T* c) {
  Indices parts;
  std::vector<Step> repeats, written;  // c alone; everything that moves c
  bool no_terms = false;
  for (const Index& index : indices) {
    if (index.size == 0 && index.c != 0) return;
    no_terms = no_terms || index.size == 0;
    if (index.size == 1) continue;
    if (index.c != 0) written.push_back({index.size, 0, index.c});
    if (index.c != 0 && index.a == 0 && index.b == 0) repeats.push_back({index.size, 0, index.c});
    else parts.push_back(index);
  }
  const T zero = 0;
  if (no_terms) return copy<T>(written, &zero, c);
  contract_parts(parts, a, b, c);
  if (repeats.empty()) return;
  std::vector<Step> each;
  for (const Index& index : parts)
    if (index.c != 0) each.push_back({index.size, index.c, index.c});
  for_each(each, 0, 0, [&](std::int64_t at, std::int64_t) {
    const T value = c[at];
    copy<T>(repeats, &value, c + at);
  });
}

template void gemm(std::int64_t, std::int64_t, std::int64_t, Matrix<const float>, Matrix<const float>, Matrix<float>);
template void gemm_reference(std::int64_t, std::int64_t, std::int64_t, Matrix<const float>, Matrix<const float>, Matrix<float>);
template void contract(std::span<const Index>, const float*, const float*, float*);
template void gemm(std::int64_t, std::int64_t, std::int64_t, Matrix<const double>, Matrix<const double>, Matrix<double>);
template void gemm_reference(std::int64_t, std::int64_t, std::int64_t, Matrix<const double>, Matrix<const double>, Matrix<double>);
template void contract(std::span<const Index>, const double*, const double*, double*);
template void gemm(std::int64_t, std::int64_t, std::int64_t, Matrix<const std::uint8_t>, Matrix<const std::uint8_t>, Matrix<std::uint8_t>);
template void gemm_reference(std::int64_t, std::int64_t, std::int64_t, Matrix<const std::uint8_t>, Matrix<const std::uint8_t>, Matrix<std::uint8_t>);
template void contract(std::span<const Index>, const std::uint8_t*, const std::uint8_t*, std::uint8_t*);
template void gemm(std::int64_t, std::int64_t, std::int64_t, Matrix<const std::uint16_t>, Matrix<const std::uint16_t>, Matrix<std::uint16_t>);
template void gemm_reference(std::int64_t, std::int64_t, std::int64_t, Matrix<const std::uint16_t>, Matrix<const std::uint16_t>, Matrix<std::uint16_t>);
template void contract(std::span<const Index>, const std::uint16_t*, const std::uint16_t*, std::uint16_t*);
template void gemm(std::int64_t, std::int64_t, std::int64_t, Matrix<const std::uint32_t>, Matrix<const std::uint32_t>, Matrix<std::uint32_t>);
template void gemm_reference(std::int64_t, std::int64_t, std::int64_t, Matrix<const std::uint32_t>, Matrix<const std::uint32_t>, Matrix<std::uint32_t>);
template void contract(std::span<const Index>, const std::uint32_t*, const std::uint32_t*, std::uint32_t*);
template void gemm(std::int64_t, std::int64_t, std::int64_t, Matrix<const std::uint64_t>, Matrix<const std::uint64_t>, Matrix<std::uint64_t>);
template void gemm_reference(std::int64_t, std::int64_t, std::int64_t, Matrix<const std::uint64_t>, Matrix<const std::uint64_t>, Matrix<std::uint64_t>);
template void contract(std::span<const Index>, const std::uint64_t*, const std::uint64_t*, std::uint64_t*);

}  // namespace weft::inline v0::kernels
