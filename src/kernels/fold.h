// The inner loops of reductions, for each instruction set.
#pragma once

#include <cstdint>

#include "kernels/isa.h"
#include "kernels/recipes.h"

namespace weft::inline v0::kernels {

/// How a pass is run. The words of several folds lie pass-word after pass-word: word w of fold i at words[w * pitch + i].
template <class Pass>
struct FoldLoops {
  using Element = typename Pass::Element;
  using Word = typename Pass::Word;
  /// Folds `count` runs of n contiguous elements, `stride` apart, each into words of its own. `given` has a number a run if the pass
  /// takes one.
  void (*rows)(const Element* x, std::int64_t count, std::int64_t stride, std::int64_t n, const double* given, Word* words, std::int64_t pitch);
  /// Folds each of `columns` neighbouring columns, rows of them `stride` apart, on into its words: one row after the other.
  void (*columns)(const Element* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, const double* given, Word* words, std::int64_t pitch);
};

/// Where the first of the most extreme elements is, and what.
template <class T, bool largest>
struct FindLoops {
  /// In one run. REQUIRES: n > 0.
  void (*row)(const T* x, std::int64_t n, T* best, std::int64_t* position);
  /// In each column. REQUIRES: rows > 0.
  void (*columns)(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, T* best, std::int64_t* position);
};

/// Is x to be taken in the place of `best`? A NaN always is, and then stays.
template <bool largest, class T>
[[gnu::always_inline]] inline bool replaces(T x, T best) {
  const bool beyond = largest ? x > best : x < best;
  if constexpr (std::floating_point<T>) return (best == best) & (beyond | (x != x));
  else return beyond;
}

/// The loops of every pass: `of<FoldLoops<Pass>>()`.
template <class... Loops>
struct LoopTable : Loops... {
  template <class One>
  const One& of() const { return *this; }
};

template <class... T>
struct OfNumbers {
  template <class... More>
  using Table = LoopTable<FoldLoops<Extreme<T, true>>..., FoldLoops<Extreme<T, false>>..., FindLoops<T, true>..., FindLoops<T, false>..., FoldLoops<More>...>;
};
using FoldTable = OfNumbers<float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>::Table<
    AddUp<float>, AddUp<double>, AddUp<std::uint8_t>, AddUp<std::uint16_t>, AddUp<std::uint32_t>, AddUp<std::uint64_t>,
    AddUp<std::int8_t, std::uint64_t>, AddUp<std::int16_t, std::uint64_t>, AddUp<std::int32_t, std::uint64_t>, AddUp<std::int64_t, std::uint64_t>,
    AddUp<std::uint8_t, std::uint64_t>, AddUp<std::uint16_t, std::uint64_t>, AddUp<std::uint32_t, std::uint64_t>,
    Multiply<float>, Multiply<double>, Multiply<std::uint8_t>, Multiply<std::uint16_t>, Multiply<std::uint32_t>, Multiply<std::uint64_t>,
    Count<float>, Count<double>, Count<std::uint8_t>, Count<std::uint16_t>, Count<std::uint32_t>, Count<std::uint64_t>, Truth<false>, Truth<true>,
    AddExp<float>, AddExp<double>, AddSquaredDistance<float>, AddSquaredDistance<double>, AddScaledSquare<double>, LargestMagnitude<double>>;
WEFT_ISA_TABLE(FoldTable, fold_table)

}  // namespace weft::inline v0::kernels
