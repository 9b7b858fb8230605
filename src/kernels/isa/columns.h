// Folds of columns, for files in this folder only.
#pragma once

#include "kernels/isa/lanes.h"

namespace weft::inline v0::kernels::WEFT_ISA {
namespace {

/// Folds `rows` rows of columns on into the words of the columns: word w of column c at words[w * pitch + c].
template <class Pass, int rows>
WEFT_INLINE void fold_group(const typename Pass::Element* x, std::int64_t stride, std::int64_t columns, const double* given, typename Pass::Word* words,
                            std::int64_t pitch) {
  using Word = typename Pass::Word;
  std::int64_t c = 0;
  if constexpr (std::is_floating_point_v<Word>) {
    for (; c + kWidth<Word> <= columns; c += kWidth<Word>) {
      Vec<Word> s[Pass::kWords], of_column{};
      for (int w = 0; w < Pass::kWords; ++w) s[w] = load<Word>(words + w * pitch + c);
      if constexpr (Pass::kGiven) of_column = load<Word>(given + c);
      for (int r = 0; r < rows; ++r) Pass::step(s, load<Word>(x + r * stride + c), of_column);
      for (int w = 0; w < Pass::kWords; ++w) store(words + w * pitch + c, s[w]);
    }
  }
  for (; c < columns; ++c) {
    Word s[Pass::kWords];
    for (int w = 0; w < Pass::kWords; ++w) s[w] = words[w * pitch + c];
    for (int r = 0; r < rows; ++r) Pass::step(s, word_of<Pass>(x[r * stride + c]), Pass::kGiven ? static_cast<Word>(given[c]) : Word());
    for (int w = 0; w < Pass::kWords; ++w) words[w * pitch + c] = s[w];
  }
}

}  // namespace
}  // namespace weft::inline v0::kernels::WEFT_ISA
