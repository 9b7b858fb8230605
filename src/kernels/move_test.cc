#include "kernels/move.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace weft::kernels {
namespace {

// Parts of random widths, some of them empty, beside each other in few long rows or in many short ones; from 256 KB on threads share the work.
TEST(Move, RowsAreJoinedFromTheirPartsAndCutIntoThem) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const std::size_t count = 1 + random() % 9, rows = round % 3 == 0 ? 1 + random() % 3 : 1 + random() % 900;
    const std::size_t widest = round % 3 == 0 ? 150'000 : 200;
    std::vector<std::vector<char>> parts(count);
    std::vector<std::size_t> widths(count);
    std::vector<char> whole;
    for (std::size_t p = 0; p < count; ++p) {
      widths[p] = random() % 4 == 0 ? 0 : random() % widest;
      parts[p].resize(rows * widths[p]);
      for (char& byte : parts[p]) byte = static_cast<char>(random());
    }
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t p = 0; p < count; ++p) {
        const auto from = parts[p].begin() + static_cast<std::ptrdiff_t>(row * widths[p]);
        whole.insert(whole.end(), from, from + static_cast<std::ptrdiff_t>(widths[p]));
      }

    std::vector<char> joined(whole.size());
    std::vector<std::vector<char>> cut(count);
    std::vector<RowPart<const char>> from;
    std::vector<RowPart<char>> to;
    for (std::size_t p = 0; p < count; ++p) {
      cut[p].resize(parts[p].size());
      from.push_back({parts[p].data(), widths[p]});
      to.push_back({cut[p].data(), widths[p]});
    }
    join_rows(from, rows, joined.data());
    ASSERT_TRUE(joined == whole) << "round " << round;
    cut_rows(whole.data(), rows, to);
    ASSERT_TRUE(cut == parts) << "round " << round;
  }
}

TEST(Move, NoRowsAndNoBytesAreNothingToDo) {
  char byte = 7;
  const RowPart<const char> empty[] = {{nullptr, 0}, {nullptr, 0}};
  join_rows(empty, 5, &byte);
  const RowPart<const char> wide[] = {{&byte, SIZE_MAX}};
  join_rows(wide, 0, nullptr);
  const RowPart<char> cut[] = {{&byte, SIZE_MAX}, {nullptr, 0}};
  cut_rows(nullptr, 0, cut);
  cut_rows(&byte, 5, {cut + 1, 1});
  EXPECT_EQ(byte, 7);
}

}  // namespace
}  // namespace weft::kernels
