// Passes and recipes (kernels/recipes.h) behind pointers, so that the loops around them are compiled once for all of them.
//
// Words lie as in kernels/fold.h: word w of fold i at words[w * pitch + i], all pitches in words.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/fold.h"

namespace weft::inline v0::kernels {

inline constexpr std::int64_t kMostWordBytes = 16;  // of all words of one fold

struct PassSteps {
  std::int64_t element, word;  // bytes of one
  bool takes_given;
  void (*rows)(const void* x, std::int64_t count, std::int64_t stride, std::int64_t n, const double* given, void* words, std::int64_t pitch);
  void (*columns)(const void* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, const double* given, void* words, std::int64_t pitch);
  void (*start)(void* words, std::int64_t folds, std::int64_t pitch);
  /// Merges fold i of `count` others into fold i % folds, one after the other. REQUIRES: folds divides count.
  void (*merge)(void* words, std::int64_t folds, std::int64_t pitch, const void* others, std::int64_t count, std::int64_t others_pitch);
};

struct RecipeSteps {
  const PassSteps *first, *last;  // first and between: null where there is but one
  double nothing;
  std::int64_t result;  // bytes
  /// What the last pass is given for each of `folds`, from the words of the first.
  void (*between)(const void* words, std::int64_t folds, std::int64_t pitch, double count, double* given);
  void (*results)(const void* words, std::int64_t folds, std::int64_t pitch, double count, const double* given, void* y);
};

template <class Pass>
struct StepsOfPass {
  using Element = typename Pass::Element;
  using Word = typename Pass::Word;
  static_assert(sizeof(Word) * Pass::kWords <= kMostWordBytes);

  static void rows(const void* x, std::int64_t count, std::int64_t stride, std::int64_t n, const double* given, void* words, std::int64_t pitch) {
    fold_table().of<FoldLoops<Pass>>().rows(static_cast<const Element*>(x), count, stride, n, given, static_cast<Word*>(words), pitch);
  }
  static void columns(const void* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, const double* given, void* words, std::int64_t pitch) {
    fold_table().of<FoldLoops<Pass>>().columns(static_cast<const Element*>(x), rows, stride, columns, given, static_cast<Word*>(words), pitch);
  }
  static void start(void* words, std::int64_t folds, std::int64_t pitch) {
    for (int w = 0; w < Pass::kWords; ++w) std::fill_n(static_cast<Word*>(words) + w * pitch, folds, Pass::kStart);
  }
  // A fold's words side by side, as `merge` and `result` of a recipe take them.
  struct Own {
    Word at[Pass::kWords];
    Own(const void* words, std::int64_t fold, std::int64_t pitch) {
      for (int w = 0; w < Pass::kWords; ++w) at[w] = static_cast<const Word*>(words)[w * pitch + fold];
    }
  };
  static void merge(void* words, std::int64_t folds, std::int64_t pitch, const void* others, std::int64_t count, std::int64_t others_pitch) {
    for (std::int64_t begin = 0; begin < count; begin += folds)
      for (std::int64_t i = 0; i < folds; ++i) {
        Own own(words, i, pitch);
        Pass::merge(own.at, Own(others, begin + i, others_pitch).at);
        for (int w = 0; w < Pass::kWords; ++w) static_cast<Word*>(words)[w * pitch + i] = own.at[w];
      }
  }
};

template <class Pass>
inline constexpr PassSteps kStepsOfPass = {sizeof(typename Pass::Element), sizeof(typename Pass::Word), Pass::kGiven, StepsOfPass<Pass>::rows,
                                           StepsOfPass<Pass>::columns, StepsOfPass<Pass>::start, StepsOfPass<Pass>::merge};

template <class Recipe>
struct StepsOfRecipe {
  static void between(const void* words, std::int64_t folds, std::int64_t pitch, double count, double* given) {
    for (std::int64_t i = 0; i < folds; ++i) given[i] = Recipe::between(typename StepsOfPass<typename Recipe::First>::Own(words, i, pitch).at, count);
  }
  static void results(const void* words, std::int64_t folds, std::int64_t pitch, double count, const double* given, void* y) {
    auto* const results = static_cast<typename Recipe::Result*>(y);
    for (std::int64_t i = 0; i < folds; ++i) results[i] = Recipe::result(typename StepsOfPass<typename Recipe::Last>::Own(words, i, pitch).at, count, given[i]);
  }
};

template <class Recipe>
inline constexpr RecipeSteps kStepsOfRecipe = {&kStepsOfPass<typename Recipe::First>, &kStepsOfPass<typename Recipe::Last>, Recipe::kNothing, sizeof(typename Recipe::Result),
                                               StepsOfRecipe<Recipe>::between, StepsOfRecipe<Recipe>::results};
template <class Recipe>
  requires std::is_void_v<typename Recipe::First>
inline constexpr RecipeSteps kStepsOfRecipe<Recipe> = {nullptr, &kStepsOfPass<typename Recipe::Last>, Recipe::kNothing, sizeof(typename Recipe::Result), nullptr,
                                                       StepsOfRecipe<Recipe>::results};

}  // namespace weft::inline v0::kernels
