#include <algorithm>
#include <memory>
#include <vector>

#include <weft/dtype.h>

#include "base/pool.h"
#include "kernels/gemm.h"

namespace weft::inline v0::kernels {
namespace {

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
  bool in_place() const { return copy_ == nullptr; }
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

// Products of numbers from which several threads are worth it, and from which a single product employs them itself.
constexpr std::int64_t kParallel = 64 * 64 * 64, kLarge = 160 * 160 * 160;

// Calls run(offset in a, in b, in c) for every combination of the outer indices; `work` is the cost of one call in products.
template <class Run>
void for_each_outer(const Indices& outer, std::int64_t work, bool parallel, const Run& run) {
  const std::int64_t count = product(outer);
  const auto one = [&](std::int64_t i) {
    std::int64_t a = 0, b = 0, c = 0;
    for (std::size_t axis = outer.size(); axis-- > 0; i /= outer[axis].size) {
      const std::int64_t at = i % outer[axis].size;
      a += at * outer[axis].a, b += at * outer[axis].b, c += at * outer[axis].c;
    }
    run(a, b, c);
  };
  const auto some = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) one(i);
  };
  if (!parallel || work >= kLarge || count * work < kParallel) return some(0, count);
  parallel_ranges(count, std::max<std::int64_t>(1, kParallel / std::max<std::int64_t>(1, work)), some);
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
  const T one = static_cast<T>(1.0f);
  Operand<T> left(a, rows, along, &Index::a), right(b == nullptr ? &one : b, cols, along, &Index::b);
  const std::int64_t m = product(rows), n = product(cols), k = product(along);
  const std::int64_t c_row = rows.empty() ? 0 : rows.back().c, c_col = cols.empty() ? 0 : cols.back().c;
  for_each_outer(outer, m * n * k, left.in_place() && right.in_place(), [&](std::int64_t at_a, std::int64_t at_b, std::int64_t at_c) {
    gemm<T>(m, n, k, {left.at(at_a), left.line(), left.along()}, {right.at(at_b), right.along(), right.line()}, {c + at_c, c_row, c_col});
  });
}

}  // namespace

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
  const T zero = static_cast<T>(0.0f);
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

template void contract(std::span<const Index>, const float*, const float*, float*);
template void contract(std::span<const Index>, const double*, const double*, double*);
template void contract(std::span<const Index>, const float16*, const float16*, float16*);
template void contract(std::span<const Index>, const bfloat16*, const bfloat16*, bfloat16*);
template void contract(std::span<const Index>, const std::uint8_t*, const std::uint8_t*, std::uint8_t*);
template void contract(std::span<const Index>, const std::uint16_t*, const std::uint16_t*, std::uint16_t*);
template void contract(std::span<const Index>, const std::uint32_t*, const std::uint32_t*, std::uint32_t*);
template void contract(std::span<const Index>, const std::uint64_t*, const std::uint64_t*, std::uint64_t*);

}  // namespace weft::inline v0::kernels
