#include "kernels/reduce.h"

#include <algorithm>

#include "kernels/accumulate.h"
#include "kernels/fold.h"
#include "kernels/parts.h"
#include "kernels/scratch.h"

namespace weft::inline v0::kernels {
namespace {

// All of these are part of what a result is: they fix the order of its sums.
constexpr std::int64_t kSlab = 65536;     // elements of a matrix whose columns are folded on their own, and
constexpr std::int64_t kSlabRows = 128;   // rows, at least
constexpr std::int64_t kNarrow = 64;      // a matrix of fewer columns is folded as one with 16 or more rows in each of its rows
constexpr std::int64_t kMaxWide = 16 * kNarrow;

constexpr std::int64_t kBatch = 64;       // runs that the inner loop gets at a time

std::int64_t product(const FoldAxes& axes) {
  std::int64_t total = 1;
  for (int axis = 0; axis < axes.rank; ++axis) total *= axes.sizes[axis];
  return total;
}

// The offset of the index-th position of the axes in row-major order.
std::int64_t offset_of(const FoldAxes& axes, std::int64_t index) {
  std::int64_t offset = 0;
  for (int axis = axes.rank - 1; axis >= 0; --axis) {
    offset += index % axes.sizes[axis] * axes.strides[axis];
    index /= axes.sizes[axis];
  }
  return offset;
}

// Calls f(offset, how many, stride) for runs of positions first, first + 1, ..., end - 1 of the axes that are evenly spaced, at most
// `most` at a time.
template <class F>
void for_runs(const FoldAxes& axes, std::int64_t first, std::int64_t end, std::int64_t most, const F& f) {
  const std::int64_t last = axes.rank == 0 ? 1 : axes.sizes[axes.rank - 1], stride = axes.rank == 0 ? 0 : axes.strides[axes.rank - 1];
  while (first < end) {
    const std::int64_t count = std::min({end - first, last - first % last, most});
    f(offset_of(axes, first), count, stride);
    first += count;
  }
}

// --- words: word w of fold i of several lies at words[w * pitch + i] ---

template <class Pass>
struct WordsOf {
  typename Pass::Word at[Pass::kWords];
};
template <class Pass>
WordsOf<Pass> words_of(const typename Pass::Word* words, std::int64_t pitch) {
  WordsOf<Pass> own;
  for (int w = 0; w < Pass::kWords; ++w) own.at[w] = words[w * pitch];
  return own;
}
template <class Pass>
void start(typename Pass::Word* words, std::int64_t folds, std::int64_t pitch) {
  for (int w = 0; w < Pass::kWords; ++w) std::fill_n(words + w * pitch, folds, Pass::kStart);
}
template <class Pass>
void merge(typename Pass::Word* words, std::int64_t pitch, const typename Pass::Word* other, std::int64_t other_pitch) {
  WordsOf<Pass> own = words_of<Pass>(words, pitch);
  Pass::merge(own.at, words_of<Pass>(other, other_pitch).at);
  for (int w = 0; w < Pass::kWords; ++w) words[w * pitch] = own.at[w];
}
// Elements as the pass takes them: without their sign where it does not matter.
template <class Pass, class T>
const typename Pass::Element* bits(const T* x) {
  return reinterpret_cast<const typename Pass::Element*>(x);
}

// --- the two kinds of folds ---
//
// Results are folded in batches, batch by batch and part by part: fold(batch, part) leaves the words of the batch's results; `given` has
// a number for each of those.

/// The innermost axis is folded: each result folds runs.
struct Runs {
  const FoldPlan& plan;
  Parts parts;
  std::int64_t batch;  // results; short runs only, so that a second pass finds them in the cache

  explicit Runs(const FoldPlan& p)
      : plan(p), parts(product(p.folded), p.inner, kBlock), batch(std::clamp<std::int64_t>(8192 / p.count, 1, kBatch)) {}
  std::int64_t batches() const { return (plan.results + batch - 1) / batch; }
  std::int64_t begin(std::int64_t b) const { return b * batch; }
  std::int64_t size(std::int64_t b) const { return std::min(batch, plan.results - begin(b)); }

  template <class Pass>
  void fold(std::int64_t b, std::int64_t part, const typename Pass::Element* x, const double* given, typename Pass::Word* words, std::int64_t pitch) const {
    const auto& loops = fold_table().of<FoldLoops<Pass>>();
    const ScratchOf<typename Pass::Element> own(plan.make == nullptr ? 0 : kBlock);
    if (parts.runs == 1 && parts.per_run == 1) {
      for_runs(plan.kept, begin(b), begin(b) + size(b), kBatch, [&](std::int64_t offset, std::int64_t count, std::int64_t stride) {
        const auto* rows = made(x, offset, count, stride, plan.inner, own.get());
        loops.rows(rows, count, stride, plan.inner, given, words, pitch);
        given += count, words += count;
      });
      return;
    }
    for (std::int64_t i = 0; i < size(b); ++i) fold_one<Pass>(x, offset_of(plan.kept, begin(b) + i), part, given[i], own.get(), words + i, pitch);
  }

  // The first of `count` runs of `length`, `stride` apart: where they lie, or, made for this purpose, one after the other in `own`. A part
  // has no more elements than there is room for.
  template <class E>
  const E* made(const E* x, std::int64_t offset, std::int64_t count, std::int64_t& stride, std::int64_t length, E* own) const {
    if (plan.make == nullptr) return x + offset;
    if (stride == length) {
      (*plan.make)(offset, count * length, own);
    } else {
      for (std::int64_t i = 0; i < count; ++i) (*plan.make)(offset + i * stride, length, own + i * length);
      stride = length;
    }
    return own;
  }

  template <class Pass>
  void fold_one(const typename Pass::Element* x, std::int64_t start_of, std::int64_t part, double given, typename Pass::Element* own, typename Pass::Word* words,
                std::int64_t pitch) const {
    const auto& loops = fold_table().of<FoldLoops<Pass>>();
    double of_each[kBatch];
    std::fill_n(of_each, kBatch, given);
    typename Pass::Word each[kBatch * Pass::kWords];
    start<Pass>(words, 1, pitch);
    parts.in(part, [&](std::int64_t first, std::int64_t end, std::int64_t from, std::int64_t length) {
      for_runs(plan.folded, first, end, kBatch, [&](std::int64_t offset, std::int64_t count, std::int64_t stride) {
        const auto* runs = made(x, start_of + offset + from, count, stride, length, own);
        loops.rows(runs, count, stride, length, of_each, each, kBatch);
        for (std::int64_t i = 0; i < count; ++i) merge<Pass>(words, pitch, each + i, kBatch);
      });
    });
  }
};

/// The innermost axis is kept: results are the columns of matrices [rows, inner].
struct Columns {
  const FoldPlan& plan;
  FoldAxes matrices;  // that are folded into the same results
  std::int64_t inner, blocks;
  Parts parts;

  explicit Columns(const FoldPlan& p)
      : plan(p), matrices(without_last(p.folded)), inner(p.inner), blocks((inner + kColumns - 1) / kColumns),
        parts(product(matrices), p.folded.rank == 0 ? 1 : p.folded.sizes[p.folded.rank - 1], std::max(kSlabRows, kSlab / inner)) {}
  static FoldAxes without_last(FoldAxes axes) {
    axes.rank = std::max(0, axes.rank - 1);
    return axes;
  }
  std::int64_t batches() const { return plan.results / inner * blocks; }
  std::int64_t begin(std::int64_t b) const { return b / blocks * inner + b % blocks * kColumns; }
  std::int64_t size(std::int64_t b) const { return std::min(kColumns, inner - b % blocks * kColumns); }

  template <class Pass>
  void fold(std::int64_t b, std::int64_t part, const typename Pass::Element* x, const double* given, typename Pass::Word* words, std::int64_t pitch) const {
    start<Pass>(words, size(b), pitch);
    x += offset_of(plan.kept, b / blocks) + b % blocks * kColumns;
    parts.in(part, [&](std::int64_t first, std::int64_t end, std::int64_t row, std::int64_t rows) {
      for (std::int64_t matrix = first; matrix < end; ++matrix) {
        const auto* from = x + offset_of(matrices, matrix) + row * inner;
        if (inner < kNarrow && rows >= kNarrow) fold_narrow<Pass>(from, rows, given, words, pitch);
        else fold_table().of<FoldLoops<Pass>>().columns(from, rows, inner, size(b), given, words, pitch);
      }
    });
  }

  // Several rows are taken as one, and the folds of a column merged in the end.
  template <class Pass>
  void fold_narrow(const typename Pass::Element* x, std::int64_t rows, const double* given, typename Pass::Word* words, std::int64_t pitch) const {
    const auto& loops = fold_table().of<FoldLoops<Pass>>();
    const std::int64_t times = inner < 4 ? 32 : 16, wide = times * inner;
    typename Pass::Word of_wide[kMaxWide * Pass::kWords];
    double given_wide[kMaxWide];
    if constexpr (Pass::kGiven)
      for (std::int64_t c = 0; c < wide; ++c) given_wide[c] = given[c % inner];
    start<Pass>(of_wide, wide, wide);
    loops.columns(x, rows / times, wide, wide, given_wide, of_wide, wide);
    for (std::int64_t c = 0; c < wide; ++c) merge<Pass>(words + c % inner, pitch, of_wide + c, wide);
    loops.columns(x + rows / times * wide, rows % times, inner, inner, given, words, pitch);
  }
};

// --- both ---

// The words of all results, folded in parts: result r at words[r], its parts, which are merged into it, `results` apart.
template <class Pass, class Folds>
void fold_parts(const Folds& folds, const typename Pass::Element* x, const double* given, typename Pass::Word* words) {
  const std::int64_t parts = folds.parts.count, results = folds.plan.results, pitch = parts * results;
  in_parallel(folds.batches() * parts, folds.plan.count / parts * folds.size(0), [&](std::int64_t unit) {
    const std::int64_t b = unit / parts, part = unit % parts, first = folds.begin(b);
    folds.template fold<Pass>(b, part, x, given + first, words + part * results + first, pitch);
  });
  for (std::int64_t part = 1; part < parts; ++part)
    for (std::int64_t r = 0; r < results; ++r) merge<Pass>(words + r, pitch, words + part * results + r, pitch);
}

template <class Recipe, class Folds, class T>
void run_folds(const Folds& folds, const T* x, typename Recipe::Result* y) {
  using Last = typename Recipe::Last;
  using First = std::conditional_t<std::is_void_v<typename Recipe::First>, Last, typename Recipe::First>;
  constexpr bool two_passes = !std::is_void_v<typename Recipe::First>;
  const double count = static_cast<double>(folds.plan.count);
  if (folds.parts.count == 1) {
    in_parallel(folds.batches(), folds.plan.count * folds.size(0), [&](std::int64_t b) {
      const std::int64_t first = folds.begin(b), results = folds.size(b);
      double given[kColumns];
      std::fill_n(given, std::max<std::int64_t>(1, results), Recipe::kNothing);
      if constexpr (two_passes) {
        typename First::Word before[kColumns * First::kWords];
        folds.template fold<First>(b, 0, bits<First>(x), given, before, results);
        for (std::int64_t i = 0; i < results; ++i) given[i] = Recipe::between(words_of<First>(before + i, results).at, count);
      }
      typename Last::Word words[kColumns * Last::kWords];
      folds.template fold<Last>(b, 0, bits<Last>(x), given, words, results);
      for (std::int64_t i = 0; i < results; ++i) y[first + i] = Recipe::result(words_of<Last>(words + i, results).at, count, given[i]);
    });
    return;
  }
  const std::int64_t results = folds.plan.results, pitch = results * folds.parts.count;
  using Largest = std::conditional_t<(sizeof(typename First::Word) * First::kWords > sizeof(typename Last::Word) * Last::kWords), First, Last>;
  const std::int64_t words_size = Scratch::size<typename Largest::Word>(pitch * Largest::kWords);
  Scratch memory(Scratch::size<double>(results) + Scratch::size<char>(words_size));
  double* given = memory.take<double>(results);
  void* words = memory.take<char>(words_size);
  std::fill_n(given, results, Recipe::kNothing);
  if constexpr (two_passes) {
    auto* before = static_cast<typename First::Word*>(words);
    fold_parts<First>(folds, bits<First>(x), given, before);
    for (std::int64_t r = 0; r < results; ++r) given[r] = Recipe::between(words_of<First>(before + r, pitch).at, count);
  }
  auto* last = static_cast<typename Last::Word*>(words);
  fold_parts<Last>(folds, bits<Last>(x), given, last);
  for (std::int64_t r = 0; r < results; ++r) y[r] = Recipe::result(words_of<Last>(last + r, pitch).at, count, given[r]);
}

template <class Recipe, class T>
void run(const FoldPlan& plan, const T* x, typename Recipe::Result* y) {
  if (plan.results == 0) return;
  if (plan.count == 0) {
    typename Recipe::Last::Word nothing[Recipe::Last::kWords];
    start<typename Recipe::Last>(nothing, 1, 1);
    std::fill_n(y, plan.results, Recipe::result(nothing, 0, Recipe::kNothing));
    return;
  }
  if (plan.inner_folded) run_folds<Recipe>(Runs(plan), x, y);
  else run_folds<Recipe>(Columns(plan), x, y);
}

template <class T>
void subtract_means(const FoldPlan& plan, const T* x, T* y) {
  if (plan.results == 0 || plan.count == 0) return;
  Scratch memory(Scratch::size<double>(plan.results));
  double* const means = memory.take<double>(plan.results);
  run<ExactMeanOf<T>>(plan, x, means);
  const std::int64_t kept = product(plan.kept), folded = product(plan.folded);
  in_parallel(kept * folded, plan.inner, [&](std::int64_t unit) {
    const std::int64_t k = unit / folded, at = offset_of(plan.kept, k) + offset_of(plan.folded, unit % folded);
    const double* mean = means + (plan.inner_folded ? k : k * plan.inner);
    if (plan.inner_folded)
      for (std::int64_t i = 0; i < plan.inner; ++i) y[at + i] = static_cast<T>(static_cast<double>(x[at + i]) - *mean);
    else
      for (std::int64_t i = 0; i < plan.inner; ++i) y[at + i] = static_cast<T>(static_cast<double>(x[at + i]) - mean[i]);
  });
}

template <class T>
void fold_numbers(Fold what, const FoldPlan& plan, const T* x, void* y) {
  T* results = static_cast<T*>(y);
  switch (what) {
    case Fold::kSum: return run<SumOf<T>>(plan, x, results);
    case Fold::kMean: return run<MeanOf<T>>(plan, x, results);
    case Fold::kProd: return run<ProductOf<T>>(plan, x, results);
    case Fold::kMax: return run<ExtremeOf<T, true>>(plan, x, results);
    case Fold::kMin: return run<ExtremeOf<T, false>>(plan, x, results);
    case Fold::kCountNonzero: return run<CountOf<T>>(plan, x, static_cast<std::int64_t*>(y));
    default: break;
  }
  if constexpr (std::floating_point<T>) {
    switch (what) {
      case Fold::kLogSumExp: return run<LogSumExpOf<T>>(plan, x, results);
      case Fold::kVariance: return run<VarianceOf<T, false>>(plan, x, results);
      case Fold::kStandardDeviation: return run<VarianceOf<T, true>>(plan, x, results);
      case Fold::kEuclideanNorm: return run<NormOf<T>>(plan, x, results);
      default: break;
    }
  }
  throw InternalError("a reduction that does not take its dtype");
}

}  // namespace

FoldPlan plan_fold(const std::int64_t* sizes, int rank, const bool* folded) {
  FoldPlan plan;
  bool empty = false;
  for (int axis = 0; axis < rank; ++axis) empty = empty || sizes[axis] == 0;
  if (empty) {  // the products of an empty tensor's other sizes need not fit: take only those that were asked for
    for (int axis = 0; axis < rank; ++axis)
      if (!folded[axis] && sizes[axis] == 0) plan.results = 0;
    for (int axis = 0; axis < rank && plan.results != 0; ++axis)
      if (!folded[axis]) plan.results *= sizes[axis];
    plan.count = 0;
    return plan;
  }
  // From the inside out; an axis of size 1 belongs to either kind.
  FoldAxes reversed[2];  // kept, folded
  std::int64_t stride = 1;
  int previous = -1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    if (sizes[axis] == 1) continue;
    const int kind = folded[axis] ? 1 : 0;
    (folded[axis] ? plan.count : plan.results) *= sizes[axis];
    FoldAxes& axes = reversed[kind];
    if (previous == -1 || (previous == kind && axes.rank == 0)) {
      plan.inner *= sizes[axis];
      plan.inner_folded = folded[axis];
      if (previous == -1) previous = kind;
    } else if (previous == kind) {
      axes.sizes[axes.rank - 1] *= sizes[axis];
    } else {
      axes.strides[axes.rank] = stride;
      axes.sizes[axes.rank++] = sizes[axis];
      previous = kind;
    }
    stride *= sizes[axis];
  }
  for (int kind = 0; kind < 2; ++kind) {
    FoldAxes& to = kind == 0 ? plan.kept : plan.folded;
    to.rank = reversed[kind].rank;
    std::reverse_copy(reversed[kind].sizes, reversed[kind].sizes + to.rank, to.sizes);
    std::reverse_copy(reversed[kind].strides, reversed[kind].strides + to.rank, to.strides);
  }
  return plan;
}

void fold(Fold what, DType dtype, const FoldPlan& plan, const void* x, void* y) {
  if (plan.make != nullptr && !plan.inner_folded) {  // columns are not folded element by element: all of it is made first
    const auto size = static_cast<std::int64_t>(size_of(dtype));
    const ScratchOf<char> all(plan.results * plan.count * size);
    parallel_ranges(plan.results * plan.count, kBlock, [&](std::int64_t begin, std::int64_t end) { (*plan.make)(begin, end - begin, all.get() + begin * size); });
    FoldPlan lying = plan;
    lying.make = nullptr;
    return fold(what, dtype, lying, all.get(), y);
  }
  if (dtype == DType::bool_) {
    const bool* truths = static_cast<const bool*>(x);
    if (what == Fold::kAny) return run<TruthOf<false>>(plan, truths, static_cast<bool*>(y));
    if (what == Fold::kAll) return run<TruthOf<true>>(plan, truths, static_cast<bool*>(y));
    return run<CountOf<bool>>(plan, truths, static_cast<std::int64_t*>(y));
  }
  with_number(dtype, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    fold_numbers(what, plan, static_cast<const T*>(x), y);
  });
}

void center(DType dtype, const FoldPlan& plan, const void* x, void* y) {
  if (dtype == DType::f64) subtract_means(plan, static_cast<const double*>(x), static_cast<double*>(y));
  else subtract_means(plan, static_cast<const float*>(x), static_cast<float*>(y));
}

}  // namespace weft::inline v0::kernels
