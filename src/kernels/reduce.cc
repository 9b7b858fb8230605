#include "kernels/reduce.h"

#include <algorithm>

#include "kernels/recipes.h"

namespace weft::inline v0::kernels {
namespace {

constexpr std::int64_t kLanes = 16;     // independent chains along a contiguous run
constexpr std::int64_t kBlock = 16384;  // a run is folded in blocks of this length, each on its own
constexpr std::int64_t kColumns = 256;  // results that are folded side by side when the innermost axis is kept

// Calls f(offset) for every position of the axes in row-major order. REQUIRES: no size is 0.
template <class F>
void walk(const FoldAxes& axes, F&& f) {
  std::int64_t index[kMaxFoldAxes] = {}, offset = 0;
  for (;;) {
    f(offset);
    int axis = axes.rank - 1;
    for (; axis >= 0; --axis) {
      offset += axes.strides[axis];
      if (++index[axis] < axes.sizes[axis]) break;
      offset -= axes.strides[axis] * axes.sizes[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

template <class Pass, class T>
typename Pass::State fold_block(const T* x, std::int64_t n, double given) {
  typename Pass::State lane[kLanes];
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::int64_t l = 0; l < kLanes; ++l) Pass::step(lane[l], x[i + l], given);
  for (std::int64_t l = 0; i + l < n; ++l) Pass::step(lane[l], x[i + l], given);
  for (std::int64_t half = kLanes / 2; half > 0; half /= 2)
    for (std::int64_t l = 0; l < half; ++l) Pass::merge(lane[l], lane[l + half]);
  return lane[0];
}

template <class Pass, class T>
typename Pass::State fold_one(const FoldPlan& plan, const T* x, double given) {
  typename Pass::State total;
  walk(plan.folded, [&](std::int64_t offset) {
    const T* run = x + offset;
    if (plan.inner < kLanes) {
      for (std::int64_t i = 0; i < plan.inner; ++i) Pass::step(total, run[i], given);
      return;
    }
    for (std::int64_t start = 0; start < plan.inner; start += kBlock)
      Pass::merge(total, fold_block<Pass>(run + start, std::min(kBlock, plan.inner - start), given));
  });
  return total;
}

template <class Pass, class T>
void fold_columns(const FoldPlan& plan, const T* x, std::int64_t columns, const double* given, typename Pass::State* state) {
  std::fill_n(state, columns, typename Pass::State());
  walk(plan.folded, [&](std::int64_t offset) {
    const T* row = x + offset;
    for (std::int64_t c = 0; c < columns; ++c) Pass::step(state[c], row[c], given[c]);
  });
}

template <class Recipe, class T>
void run(const FoldPlan& plan, const T* x, typename Recipe::Result* y) {
  using Last = typename Recipe::Last;
  constexpr bool two_passes = !std::is_void_v<typename Recipe::First>;
  const double count = static_cast<double>(plan.count);
  if (plan.results == 0) return;
  if (plan.count == 0) {
    std::fill_n(y, plan.results, Recipe::result(typename Last::State(), count, Recipe::kNothing));
    return;
  }
  if (plan.inner_folded) {
    walk(plan.kept, [&](std::int64_t offset) {
      double given = 0;
      if constexpr (two_passes) given = Recipe::between(fold_one<typename Recipe::First>(plan, x + offset, 0), count);
      *y++ = Recipe::result(fold_one<Last>(plan, x + offset, given), count, given);
    });
    return;
  }
  double given[kColumns] = {};
  typename Last::State state[kColumns];
  walk(plan.kept, [&](std::int64_t offset) {
    for (std::int64_t start = 0; start < plan.inner; start += kColumns) {
      const std::int64_t columns = std::min(kColumns, plan.inner - start);
      const T* from = x + offset + start;
      if constexpr (two_passes) {
        typename Recipe::First::State first[kColumns];
        fold_columns<typename Recipe::First>(plan, from, columns, given, first);
        for (std::int64_t c = 0; c < columns; ++c) given[c] = Recipe::between(first[c], count);
      }
      fold_columns<Last>(plan, from, columns, given, state);
      for (std::int64_t c = 0; c < columns; ++c) *y++ = Recipe::result(state[c], count, given[c]);
    }
  });
}

template <class T>
void subtract_means(const FoldPlan& plan, const T* x, T* y) {
  const double count = static_cast<double>(plan.count);
  if (plan.results == 0 || plan.count == 0) return;
  double mean[kColumns] = {};
  if (plan.inner_folded) {
    walk(plan.kept, [&](std::int64_t result) {
      mean[0] = fold_one<AddUp<T>>(plan, x + result, 0).value() / count;
      walk(plan.folded, [&](std::int64_t run) {
        const std::int64_t at = result + run;
        for (std::int64_t i = 0; i < plan.inner; ++i) y[at + i] = static_cast<T>(static_cast<double>(x[at + i]) - mean[0]);
      });
    });
    return;
  }
  Total<T> total[kColumns];
  walk(plan.kept, [&](std::int64_t result) {
    for (std::int64_t start = 0; start < plan.inner; start += kColumns) {
      const std::int64_t columns = std::min(kColumns, plan.inner - start);
      fold_columns<AddUp<T>>(plan, x + result + start, columns, mean, total);
      for (std::int64_t c = 0; c < columns; ++c) mean[c] = total[c].value() / count;
      walk(plan.folded, [&](std::int64_t row) {
        const std::int64_t at = result + start + row;
        for (std::int64_t c = 0; c < columns; ++c) y[at + c] = static_cast<T>(static_cast<double>(x[at + c]) - mean[c]);
      });
    }
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

template <bool largest, class T, class Position>
void find_extreme(std::int64_t outer, std::int64_t n, std::int64_t inner, const T* x, Position* y) {
  T best[kColumns];
  for (std::int64_t o = 0; o < outer; ++o, x += n * inner)
    for (std::int64_t start = 0; start < inner; start += kColumns) {
      const std::int64_t columns = std::min(kColumns, inner - start);
      std::copy_n(x + start, columns, best);
      std::fill_n(y, columns, Position(0));
      for (std::int64_t k = 1; k < n; ++k) {
        const T* row = x + k * inner + start;
        for (std::int64_t c = 0; c < columns; ++c)
          if (best[c] == best[c] && replaces<largest>(row[c], best[c])) {
            best[c] = row[c];
            y[c] = static_cast<Position>(k);
          }
      }
      y += columns;
    }
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

void arg_extreme(DType dtype, bool largest, std::int64_t outer, std::int64_t n, std::int64_t inner, const void* x, DType out, void* y) {
  with_number(dtype, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    const auto find = [&]<class Position>(Position* to) {
      if (largest) find_extreme<true>(outer, n, inner, static_cast<const T*>(x), to);
      else find_extreme<false>(outer, n, inner, static_cast<const T*>(x), to);
    };
    if (out == DType::i32) find(static_cast<std::int32_t*>(y));
    else find(static_cast<std::int64_t*>(y));
  });
}

}  // namespace weft::inline v0::kernels
