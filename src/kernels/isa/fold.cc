#include "kernels/fold.h"

#include "kernels/isa/lanes.h"
#include "kernels/math.h"

namespace weft::inline v0::kernels::WEFT_ISA {
namespace {

constexpr std::int64_t kTile = 512;  // exponentials that are made at a time
constexpr std::int64_t kGroup = 8;   // rows that are added to the columns' words while those are in registers

template <class Pass>
void fold_rows(const typename Pass::Element* x, std::int64_t count, std::int64_t stride, std::int64_t n, const double* given, typename Pass::Word* words,
               std::int64_t pitch) {
  for (std::int64_t i = 0; i < count; ++i) {
    typename Pass::Word own[Pass::kWords];
    fold_run<Pass>(x + i * stride, n, Pass::kGiven ? given[i] : 0, own);
    for (int w = 0; w < Pass::kWords; ++w) words[w * pitch + i] = own[w];
  }
}

// Folds `rows` rows of columns on into the words of the columns: word w of column c at words[w * pitch + c].
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

template <class Pass>
void fold_columns(const typename Pass::Element* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, const double* given, typename Pass::Word* words,
                  std::int64_t pitch) {
  std::int64_t r = 0;
  for (; r + kGroup <= rows; r += kGroup) fold_group<Pass, kGroup>(x + r * stride, stride, columns, given, words, pitch);
  for (; r < rows; ++r) fold_group<Pass, 1>(x + r * stride, stride, columns, given, words, pitch);
}

template <class T>
void exp_rows(const T* x, std::int64_t count, std::int64_t stride, std::int64_t n, const double* given, double* words, std::int64_t pitch) {
  using Sum = AddUp<T>;
  T powers[kTile];
  for (std::int64_t i = 0; i < count; ++i, x += stride) {
    const T shift = static_cast<T>(given[i]);
    double total[Sum::kWords] = {};
    for (std::int64_t start = 0; start < n; start += kTile) {
      const std::int64_t length = n - start < kTile ? n - start : kTile;
      for (std::int64_t k = 0; k < length; ++k) powers[k] = lane::exp(x[start + k] - shift);
      double part[Sum::kWords];
      fold_run<Sum>(powers, length, 0, part);
      Sum::merge(total, part);
    }
    for (int w = 0; w < Sum::kWords; ++w) words[w * pitch + i] = total[w];
  }
}

template <class T>
void exp_columns(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, const double* given, double* words, std::int64_t pitch) {
  T powers[kTile], shifts[kTile];
  for (std::int64_t start = 0; start < columns; start += kTile) {
    const std::int64_t length = columns - start < kTile ? columns - start : kTile;
    for (std::int64_t c = 0; c < length; ++c) shifts[c] = static_cast<T>(given[start + c]);
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* row = x + r * stride + start;
      for (std::int64_t c = 0; c < length; ++c) powers[c] = lane::exp(row[c] - shifts[c]);
      fold_group<AddUp<T>, 1>(powers, 0, length, nullptr, words + start, pitch);
    }
  }
}

// Which one it is, is known only when all have been seen: the extreme is found first, and then the first element that equals it.
template <class T, bool largest>
void find_in_row(const T* x, std::int64_t n, T* best, std::int64_t* position) {
  T found;
  fold_run<Extreme<T, largest>>(x, n, 0, &found);
  std::int64_t k = 0;
  if (found == found) {
    while (x[k] != found) ++k;
  } else {
    while (x[k] == x[k]) ++k;
  }
  *best = found;
  *position = k;
}

template <class T, bool largest>
void find_in_columns(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, T* __restrict best, std::int64_t* __restrict position) {
  for (std::int64_t c = 0; c < columns; ++c) best[c] = x[c], position[c] = 0;
  for (std::int64_t r = 1; r < rows; ++r) {
    const T* __restrict row = x + r * stride;
    for (std::int64_t c = 0; c < columns; ++c) {
      const bool take = replaces<largest>(row[c], best[c]);
      best[c] = take ? row[c] : best[c];
      position[c] = take ? r : position[c];
    }
  }
}

template <class Pass>
consteval FoldLoops<Pass> loops(const FoldLoops<Pass>*) { return {fold_rows<Pass>, fold_columns<Pass>}; }
template <class T>
consteval FoldLoops<AddExp<T>> loops(const FoldLoops<AddExp<T>>*) { return {exp_rows<T>, exp_columns<T>}; }
template <class T, bool largest>
consteval FindLoops<T, largest> loops(const FindLoops<T, largest>*) { return {find_in_row<T, largest>, find_in_columns<T, largest>}; }

template <class... Loops>
consteval LoopTable<Loops...> table(const LoopTable<Loops...>*) { return {loops(static_cast<const Loops*>(nullptr))...}; }

}  // namespace

extern const FoldTable fold_table = table(static_cast<const FoldTable*>(nullptr));

}  // namespace weft::inline v0::kernels::WEFT_ISA
