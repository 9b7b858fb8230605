#include "kernels/reduce.h"

#include <algorithm>
#include <cstddef>

#include "kernels/accumulate.h"
#include "kernels/parts.h"
#include "kernels/scratch.h"
#include "kernels/steps.h"

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

// The bytes of `words` from the first word of a fold on.
char* at_fold(void* words, const PassSteps& pass, std::int64_t fold) { return static_cast<char*>(words) + fold * pass.word; }

// Room for the words of `folds` folds of any pass.
template <std::int64_t folds>
struct alignas(64) Words {
  std::byte bytes[folds * kMostWordBytes];
};

// --- the two kinds of folds ---
//
// Results are folded in batches, batch by batch and part by part: fold(pass, batch, part) leaves the words of the batch's results; `given`
// has a number for each of those.

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

  void fold(const PassSteps& pass, std::int64_t b, std::int64_t part, const char* x, const double* given, void* words, std::int64_t pitch) const {
    const ScratchOf<char> own(plan.make == nullptr ? 0 : kBlock * pass.element);
    if (parts.runs == 1 && parts.per_run == 1) {
      for_runs(plan.kept, begin(b), begin(b) + size(b), kBatch, [&](std::int64_t offset, std::int64_t count, std::int64_t stride) {
        const char* rows = made(pass.element, x, offset, count, stride, plan.inner, own.get());
        pass.rows(rows, count, stride, plan.inner, given, words, pitch);
        given += count, words = at_fold(words, pass, count);
      });
      return;
    }
    for (std::int64_t i = 0; i < size(b); ++i)
      fold_one(pass, x, offset_of(plan.kept, begin(b) + i), part, given[i], own.get(), at_fold(words, pass, i), pitch);
  }

  // The first of `count` runs of `length`, `stride` apart: where they lie, or, made for this purpose, one after the other in `own`. A part
  // has no more elements than there is room for.
  const char* made(std::int64_t element, const char* x, std::int64_t offset, std::int64_t count, std::int64_t& stride, std::int64_t length, char* own) const {
    if (plan.make == nullptr) return x + offset * element;
    if (stride == length) {
      (*plan.make)(offset, count * length, own);
    } else {
      for (std::int64_t i = 0; i < count; ++i) (*plan.make)(offset + i * stride, length, own + i * length * element);
      stride = length;
    }
    return own;
  }

  void fold_one(const PassSteps& pass, const char* x, std::int64_t start_of, std::int64_t part, double given, char* own, void* words, std::int64_t pitch) const {
    double of_each[kBatch];
    std::fill_n(of_each, kBatch, given);
    Words<kBatch> each;
    pass.start(words, 1, pitch);
    parts.in(part, [&](std::int64_t first, std::int64_t end, std::int64_t from, std::int64_t length) {
      for_runs(plan.folded, first, end, kBatch, [&](std::int64_t offset, std::int64_t count, std::int64_t stride) {
        const char* runs = made(pass.element, x, start_of + offset + from, count, stride, length, own);
        pass.rows(runs, count, stride, length, of_each, each.bytes, kBatch);
        pass.merge(words, 1, pitch, each.bytes, count, kBatch);
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

  void fold(const PassSteps& pass, std::int64_t b, std::int64_t part, const char* x, const double* given, void* words, std::int64_t pitch) const {
    pass.start(words, size(b), pitch);
    const std::int64_t start = offset_of(plan.kept, b / blocks) + b % blocks * kColumns;
    parts.in(part, [&](std::int64_t first, std::int64_t end, std::int64_t row, std::int64_t rows) {
      for (std::int64_t matrix = first; matrix < end; ++matrix) {
        const char* from = x + (start + offset_of(matrices, matrix) + row * inner) * pass.element;
        if (inner < kNarrow && rows >= kNarrow) fold_narrow(pass, from, rows, given, words, pitch);
        else pass.columns(from, rows, inner, size(b), given, words, pitch);
      }
    });
  }

  // Several rows are taken as one, and the folds of a column merged in the end.
  void fold_narrow(const PassSteps& pass, const char* x, std::int64_t rows, const double* given, void* words, std::int64_t pitch) const {
    const std::int64_t times = inner < 4 ? 32 : 16, wide = times * inner;
    Words<kMaxWide> of_wide;
    double given_wide[kMaxWide];
    if (pass.takes_given)
      for (std::int64_t c = 0; c < wide; ++c) given_wide[c] = given[c % inner];
    pass.start(of_wide.bytes, wide, wide);
    pass.columns(x, rows / times, wide, wide, given_wide, of_wide.bytes, wide);
    pass.merge(words, inner, pitch, of_wide.bytes, wide, wide);
    pass.columns(x + rows / times * wide * pass.element, rows % times, inner, inner, given, words, pitch);
  }
};

// --- both ---

// The words of all results, folded in parts: result r at words[r], its parts, which are merged into it, `results` apart.
template <class Folds>
void fold_parts(const PassSteps& pass, const Folds& folds, const char* x, const double* given, void* words) {
  const std::int64_t parts = folds.parts.count, results = folds.plan.results, pitch = parts * results;
  in_parallel(folds.batches() * parts, folds.plan.count / parts * folds.size(0), [&](std::int64_t unit) {
    const std::int64_t b = unit / parts, part = unit % parts, first = folds.begin(b);
    folds.fold(pass, b, part, x, given + first, at_fold(words, pass, part * results + first), pitch);
  });
  for (std::int64_t part = 1; part < parts; ++part) pass.merge(words, results, pitch, at_fold(words, pass, part * results), results, pitch);
}

template <class Folds>
void run_folds(const RecipeSteps& recipe, const Folds& folds, const char* x, char* y) {
  const PassSteps *const before = recipe.first, &last = *recipe.last;
  const double count = static_cast<double>(folds.plan.count);
  if (folds.parts.count == 1) {
    in_parallel(folds.batches(), folds.plan.count * folds.size(0), [&](std::int64_t b) {
      const std::int64_t first = folds.begin(b), results = folds.size(b);
      double given[kColumns];
      Words<kColumns> words;
      std::fill_n(given, results, recipe.nothing);
      if (before != nullptr) {
        folds.fold(*before, b, 0, x, given, words.bytes, results);
        recipe.between(words.bytes, results, results, count, given);
      }
      folds.fold(last, b, 0, x, given, words.bytes, results);
      recipe.results(words.bytes, results, results, count, given, y + first * recipe.result);
    });
    return;
  }
  const std::int64_t results = folds.plan.results, pitch = results * folds.parts.count, size = Scratch::size<char>(pitch * kMostWordBytes);
  Scratch memory(Scratch::size<double>(results) + size);
  double* given = memory.take<double>(results);
  void* words = memory.take<char>(size);
  std::fill_n(given, results, recipe.nothing);
  if (before != nullptr) {
    fold_parts(*before, folds, x, given, words);
    recipe.between(words, results, pitch, count, given);
  }
  fold_parts(last, folds, x, given, words);
  recipe.results(words, results, pitch, count, given, y);
}

void run(const RecipeSteps& recipe, const FoldPlan& plan, const void* x, void* y) {
  if (plan.results == 0) return;
  if (plan.count == 0) {
    Words<1> nothing;
    recipe.last->start(nothing.bytes, 1, 1);
    for (std::int64_t i = 0; i < plan.results; ++i) recipe.results(nothing.bytes, 1, 1, 0, &recipe.nothing, static_cast<char*>(y) + i * recipe.result);
    return;
  }
  if (plan.inner_folded) run_folds(recipe, Runs(plan), static_cast<const char*>(x), static_cast<char*>(y));
  else run_folds(recipe, Columns(plan), static_cast<const char*>(x), static_cast<char*>(y));
}

template <class T>
void subtract_means(const FoldPlan& plan, const T* x, T* y) {
  if (plan.results == 0 || plan.count == 0) return;
  Scratch memory(Scratch::size<double>(plan.results));
  double* const means = memory.take<double>(plan.results);
  run(kStepsOfRecipe<ExactMeanOf<T>>, plan, x, means);
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
const RecipeSteps& recipe_of(Fold what) {
  switch (what) {
    case Fold::kSum: return kStepsOfRecipe<SumOf<T>>;
    case Fold::kMean: return kStepsOfRecipe<MeanOf<T>>;
    case Fold::kProd: return kStepsOfRecipe<ProductOf<T>>;
    case Fold::kMax: return kStepsOfRecipe<ExtremeOf<T, true>>;
    case Fold::kMin: return kStepsOfRecipe<ExtremeOf<T, false>>;
    case Fold::kCountNonzero: return kStepsOfRecipe<CountOf<T>>;
    default: break;
  }
  if constexpr (std::floating_point<T>) {
    switch (what) {
      case Fold::kLogSumExp: return kStepsOfRecipe<LogSumExpOf<T>>;
      case Fold::kVariance: return kStepsOfRecipe<VarianceOf<T, false>>;
      case Fold::kStandardDeviation: return kStepsOfRecipe<VarianceOf<T, true>>;
      case Fold::kEuclideanNorm: return kStepsOfRecipe<NormOf<T>>;
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
  const RecipeSteps* recipe = what == Fold::kAny ? &kStepsOfRecipe<TruthOf<false>> : what == Fold::kAll ? &kStepsOfRecipe<TruthOf<true>> : &kStepsOfRecipe<CountOf<bool>>;
  if (dtype != DType::bool_) with_number(dtype, [&](auto* tag) { recipe = &recipe_of<std::remove_pointer_t<decltype(tag)>>(what); });
  if (plan.make == nullptr || (plan.inner_folded && recipe->first == nullptr)) return run(*recipe, plan, x, y);
  // Columns are not folded element by element, and no element is made twice: all of it is made first.
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  const ScratchOf<char> all(plan.results * plan.count * size);
  parallel_ranges(plan.results * plan.count, kBlock, [&](std::int64_t begin, std::int64_t end) { (*plan.make)(begin, end - begin, all.get() + begin * size); });
  FoldPlan lying = plan;
  lying.make = nullptr;
  run(*recipe, lying, all.get(), y);
}

void center(DType dtype, const FoldPlan& plan, const void* x, void* y) {
  if (dtype == DType::f64) subtract_means(plan, static_cast<const double*>(x), static_cast<double*>(y));
  else subtract_means(plan, static_cast<const float*>(x), static_cast<float*>(y));
}

}  // namespace weft::inline v0::kernels
