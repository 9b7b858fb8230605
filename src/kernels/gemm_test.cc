#include "kernels/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "tests/hard_numbers.h"
#include "tests/suite_rows.h"
#include <weft/dtype.h>
#include <weft/runtime.h>

namespace weft {
namespace {

using kernels::Isa;
using kernels::Matrix;
using Size = std::int64_t;

// Numbers that look random and are the same everywhere.
template <class T>
std::vector<T> noise(Size count, std::uint64_t seed) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& v : values) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    if constexpr (std::floating_point<T>) v = static_cast<T>(static_cast<double>(seed >> 40) / (1 << 23) - 1);
    else v = static_cast<T>(seed >> 33);
  }
  return values;
}

std::vector<Isa> isas() {
  std::vector<Isa> all;
  for (const Isa isa : {Isa::kBaseline, Isa::kV3, Isa::kV4})
    if (isa <= kernels::best_isa()) all.push_back(isa);
  return all;
}

// How a matrix of rows x cols lies: by rows, by columns, by rows with a gap, with gaps both ways, all rows or all columns the same.
enum Layout { kByRows, kByColumns, kGap, kGaps, kOneRow, kOneColumn };
constexpr Layout kLayouts[] = {kByRows, kByColumns, kGap, kGaps, kOneRow, kOneColumn};

template <class T>
Matrix<T> laid_out(Layout layout, T* data, Size rows, Size cols) {
  switch (layout) {
    case kByColumns: return {data, 1, rows};
    case kGap: return {data, cols + 3, 1};
    case kGaps: return {data, 2 * cols + 5, 2};
    case kOneRow: return {data, 0, 1};
    case kOneColumn: return {data, 1, 0};
    default: return {data, cols, 1};
  }
}
Size room_for(Size rows, Size cols) { return (rows + 1) * (2 * cols + 5) + rows; }

// Within the stated bound of the exact product, with every instruction set.
template <class T>
void check(Size m, Size n, Size k, Layout la, Layout lb, Layout lc, const std::vector<T>& a, const std::vector<T>& b) {
  SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k) + ", layouts " + std::to_string(la) + " " + std::to_string(lb) + " " +
               std::to_string(lc));
  using Wide = std::conditional_t<std::same_as<T, float>, double, long double>;
  struct Exact {
    Wide value = 0, bound = 0;
  };
  std::vector<T> slow(static_cast<std::size_t>(room_for(m, n)), T(7));
  const std::vector<T> untouched = slow;
  const Matrix<const T> x = laid_out(la, a.data(), m, k), y = laid_out(lb, b.data(), k, n);
  const Matrix<T> d = laid_out(lc, slow.data(), m, n);
  kernels::gemm_reference<T>(m, n, k, x, y, d);
  std::vector<Exact> exact(std::floating_point<T> ? static_cast<std::size_t>(m * n) : 0);
  if constexpr (std::floating_point<T>)
    for (Size i = 0; i < m; ++i)
      for (Size j = 0; j < n; ++j) {
        Exact& at = exact[static_cast<std::size_t>(i * n + j)];
        for (Size p = 0; p < k; ++p) {
          const Wide term = static_cast<Wide>(x.data[i * x.row + p * x.col]) * y.data[p * y.row + j * y.col];
          at.value += term;
          at.bound += std::abs(term);
        }
        at.bound *= static_cast<Wide>(k) * std::numeric_limits<T>::epsilon();
        ASSERT_LE(std::abs(d.data[i * d.row + j * d.col] - at.value), at.bound) << i << ", " << j;
      }
  for (const Isa isa : isas()) {
    SCOPED_TRACE(name_of(isa));
    std::vector<T> fast = untouched;
    const Matrix<T> c = laid_out(lc, fast.data(), m, n);
    kernels::gemm<T>(isa, m, n, k, x, y, c);
    if constexpr (std::floating_point<T>)
      for (Size i = 0; i < m; ++i)
        for (Size j = 0; j < n; ++j) {
          T& at = c.data[i * c.row + j * c.col];
          const Exact& wanted = exact[static_cast<std::size_t>(i * n + j)];
          ASSERT_LE(std::abs(at - wanted.value), wanted.bound) << i << ", " << j;
          at = d.data[i * d.row + j * d.col];
        }
    ASSERT_EQ(fast, slow);  // of floats: nothing else was written
  }
}
template <class T>
void check(Size m, Size n, Size k, Layout la, Layout lb, Layout lc) {
  check<T>(m, n, k, la, lb, lc, noise<T>(room_for(m, k), 1), noise<T>(room_for(k, n), 2));
}

template <class T>
void check_layouts(Size m, Size n, Size k) {
  for (const Layout la : kLayouts)
    for (const Layout lb : kLayouts)
      for (const Layout lc : {kByRows, kByColumns, kGap, kGaps}) {
        check<T>(m, n, k, la, lb, lc);
        if (testing::Test::HasFatalFailure()) return;
      }
}

constexpr Size kOddSizes[][3] = {{1, 1, 1},  {1, 1, 0},  {3, 5, 0},   {0, 3, 4},    {3, 0, 4},    {1, 1, 100}, {1, 70, 17},
                                 {70, 1, 17}, {2, 3, 257}, {4, 8, 16}, {6, 16, 255}, {7, 13, 31}, {17, 33, 65}, {13, 7, 300},
                                 {3, 77, 9}, {25, 49, 5}, {48, 64, 48}};

TEST(Gemm, FloatsLieWithinTheBoundForOddSizesAndLayouts) {
  for (const auto& [m, n, k] : kOddSizes) {
    check_layouts<float>(m, n, k);
    check_layouts<double>(m, n, k);
  }
}

TEST(Gemm, IntegersEqualTheReferenceForOddSizesAndLayouts) {
  for (const auto& [m, n, k] : kOddSizes) {
    check_layouts<std::uint8_t>(m, n, k);
    check_layouts<std::uint16_t>(m, n, k);
    check_layouts<std::uint32_t>(m, n, k);
    check_layouts<std::uint64_t>(m, n, k);
  }
}

TEST(Gemm, LargerProductsLieWithinTheBound) {
  const Size cases[][3] = {{65, 130, 259}, {131, 67, 130}, {61, 200, 90}, {200, 18, 300}, {14, 200, 513}, {1, 2100, 260}, {2100, 1, 260},
                           {50, 330, 300}, {11, 1100, 260}, {9, 1100, 260},  // b is copied on the way; b is streamed by strips, one or more,
                           {5, 1090, 270}, {23, 1048, 515}, {8, 4099, 64}, {3, 5, 54000},  // in parts along k, or along n, or narrower than a vector
                           {4, 1030, 270}, {2, 1090, 261}, {760, 50, 300},  // so few rows that those of b are read whole; many pieces of rows
                           {13, 1050, 320}, {60, 1060, 400},  // beside many panels rows of a are read as they lie; of a larger product they are packed
                           {37, 90, 1024},  // rows of a compete for places of the cache
                           {29, 700, 260}, {8, 1040, 520}, {8, 300, 16500}};  // a b by columns is multiplied from the other side, at once or in parts
  for (const auto& [m, n, k] : cases)
    for (const Layout la : {kByRows, kByColumns, kGaps})
      for (const Layout lb : {kByRows, kByColumns, kGaps}) {
        check<float>(m, n, k, la, lb, kByRows);
        if (la == kByRows) check<double>(m, n, k, la, lb, kByRows);
        if (HasFatalFailure()) return;
      }
}

// A thousand products of random sizes, then a hundred whose terms differ by dozens of magnitudes or nearly cancel.
template <class T>
void check_random(std::mt19937& random, int rounds) {
  for (int round = 0; round < rounds + rounds / 10; ++round) {
    const auto up_to = [&](Size most) { return 1 + static_cast<Size>(random() % static_cast<std::uint64_t>(most)); };
    const bool large = round % 32 == 0;
    const Size m = up_to(large ? 90 : 24), n = up_to(large ? 150 : 40), k = up_to(large ? 300 : 60);
    const bool hard = round >= rounds;
    const auto layout = [&] { return kLayouts[random() % (hard ? 2 : std::size(kLayouts))]; };
    const Layout la = layout(), lb = layout(), lc = kLayouts[random() % 4];
    std::vector<T> a, b;
    if (!hard || round % 2 == 0) {
      a = noise<T>(room_for(m, k), random()), b = noise<T>(room_for(k, n), random());
    } else {
      a = test::scaled_numbers<T>(room_for(m, k), random), b = test::scaled_numbers<T>(room_for(k, n), random);
    }
    if (hard && round % 4 < 2) {
      la == kByRows ? test::pair_up(a, m, k, 1, -1, random) : test::pair_up(a, 1, k, m, -1, random);
      lb == kByRows ? test::pair_up(b, 1, k, n, 1, random) : test::pair_up(b, n, k, 1, 1, random);
    }
    check<T>(m, n, k, la, lb, lc, a, b);
    if (testing::Test::HasFatalFailure()) FAIL() << "round " << round;
  }
}

TEST(Gemm, RandomAndIllConditionedProductsLieWithinTheBound) {
  std::mt19937 random(1);
  check_random<float>(random, test::small_scale() ? 100 : 1000);
  check_random<double>(random, test::small_scale() ? 100 : 1000);
}

// Runs f with each number of threads and leaves the number as it was.
template <class F>
void with_thread_counts(F&& f) {
  const int before = num_threads();
  for (const int threads : {1, 2, 3, 4, 8}) {
    set_num_threads(threads);
    f(threads);
  }
  set_num_threads(before);
}

template <class T>
void check_threads(Size m, Size n, Size k, Layout la, Layout lb) {
  const std::vector<T> a = noise<T>(room_for(m, k), 1), b = noise<T>(room_for(k, n), 2);
  std::vector<T> first;
  with_thread_counts([&](int threads) {
    std::vector<T> c(static_cast<std::size_t>(m * n));
    kernels::gemm<T>(m, n, k, laid_out(la, a.data(), m, k), laid_out(lb, b.data(), k, n), {c.data(), n, 1});
    if (threads == 1) first = c;
    EXPECT_EQ(std::memcmp(c.data(), first.data(), c.size() * sizeof(T)), 0) << threads << " threads, " << m << " x " << n << " x " << k;
  });
}

TEST(Gemm, HasTheSameBitsForAnyNumberOfThreads) {
  const Size cases[][3] = {{150, 170, 190}, {257, 263, 515}, {8, 1030, 700},  {900, 16, 400}, {64, 64, 64}, {50, 330, 300},
                           {1, 3001, 1000}, {3001, 1, 1000}, {1, 7, 300000}, {29, 700, 260}, {70, 61, 1024},
                           {3, 1090, 970}, {760, 50, 300}, {7, 4100, 70}, {21, 1100, 2100}, {4, 3, 90000}};
  for (const auto& [m, n, k] : cases)
    for (const Layout la : {kByRows, kByColumns})
      for (const Layout lb : {kByRows, kByColumns}) {
        check_threads<float>(m, n, k, la, lb);
        check_threads<double>(m, n, k, la, lb);
      }
}

// Each element is complete when it is told of, and told of once. The last product is turned in two pieces.
TEST(Gemm, TellsOfEveryPartOnce) {
  const Size cases[][3] = {{5, 7, 3},      {1, 900, 300},  {3, 1090, 270},  {760, 50, 300},   {150, 170, 190},
                           {29, 700, 260}, {8, 1040, 520}, {8, 300, 16500}, {32, 135000, 64}, {6, 1030, 530}};
  for (const auto& [m, n, k] : cases)
    for (const Layout lb : {kByRows, kByColumns}) {
      const std::vector<float> a = noise<float>(m * k, 1), b = noise<float>(k * n, 2);
      std::vector<float> c(static_cast<std::size_t>(m * n)), seen(c), slow(c);
      std::vector<int> times(c.size());
      const auto note = [&](const kernels::DoneBlock& block) {
        for (Size i = 0; i < block.rows; ++i)
          for (Size j = 0; j < block.cols; ++j) {
            const auto at = static_cast<std::size_t>(static_cast<const float*>(block.data) + i * block.apart + j - c.data());
            ++times[at], seen[at] = std::exchange(c[at], -77.f);  // which nobody may read, or write over
          }
      };
      const kernels::BlockDone done(note);
      kernels::gemm<float>(m, n, k, {a.data(), k, 1}, laid_out(lb, b.data(), k, n), {c.data(), n, 1}, &done);
      EXPECT_TRUE(times == std::vector<int>(c.size(), 1)) << m << " x " << n << " x " << k;
      EXPECT_TRUE(c == std::vector<float>(c.size(), -77.f)) << m << " x " << n << " x " << k;
      kernels::gemm_reference<float>(m, n, k, {a.data(), k, 1}, laid_out(lb, b.data(), k, n), {slow.data(), n, 1});
      float most = 0;
      for (std::size_t i = 0; i < c.size(); ++i) most = std::max(most, std::abs(seen[i] - slow[i]));
      EXPECT_LT(most, 1e-6f * static_cast<float>(k)) << m << " x " << n << " x " << k;
    }
}

// Many small products, of which one factor is the same for all, side by side.
TEST(Contract, HasTheSameBitsForAnyNumberOfThreads) {
  const Size batch = 37, m = 30, n = 50, k = 70;
  const std::vector<float> a = noise<float>(batch * m * k, 1), b = noise<float>(k * n, 2);
  const kernels::Index indices[] = {{batch, k, 0, m * n}, {m, batch * k, 0, n}, {n, 0, 1, 1}, {k, 1, n, 0}};
  std::vector<float> first;
  with_thread_counts([&](int threads) {
    std::vector<float> c(static_cast<std::size_t>(batch * m * n));
    kernels::contract<float>(indices, a.data(), b.data(), c.data());
    if (threads == 1) first = c;
    EXPECT_EQ(std::memcmp(c.data(), first.data(), c.size() * sizeof(float)), 0) << threads << " threads";
  });
  for (const Size at : {Size{0}, Size{17}, batch - 1}) {
    std::vector<float> one(static_cast<std::size_t>(m * n));
    kernels::gemm<float>(m, n, k, {a.data() + at * k, batch * k, 1}, {b.data(), n, 1}, {one.data(), n, 1});
    EXPECT_EQ(std::memcmp(one.data(), first.data() + at * m * n, one.size() * sizeof(float)), 0) << at;
  }
}

// 16-bit floats give what their widened values give, rounded once.
template <class H>
void check_halves(Isa isa, Size m, Size n, Size k, Layout la, Layout lb, Layout lc) {
  std::vector<H> a, b;
  std::vector<float> wide_a, wide_b;
  for (const float x : noise<float>(room_for(m, k), 1)) a.push_back(H(x)), wide_a.push_back(static_cast<float>(a.back()));
  for (const float x : noise<float>(room_for(k, n), 2)) b.push_back(H(x)), wide_b.push_back(static_cast<float>(b.back()));
  std::vector<H> c(static_cast<std::size_t>(room_for(m, n)), H(7.0f));
  std::vector<float> wide_c(c.size(), 7.0f);
  kernels::gemm<H>(isa, m, n, k, laid_out<const H>(la, a.data(), m, k), laid_out<const H>(lb, b.data(), k, n),
                   laid_out(lc, c.data(), m, n));
  kernels::gemm<float>(isa, m, n, k, laid_out<const float>(la, wide_a.data(), m, k), laid_out<const float>(lb, wide_b.data(), k, n),
                       laid_out(lc, wide_c.data(), m, n));
  const float step = std::same_as<H, float16> ? 0x1p-10f : 0x1p-7f;
  for (std::size_t i = 0; i < c.size(); ++i) {
    const float rounded = static_cast<float>(H(wide_c[i]));
    // A vector times a matrix adds in another order in 32 bits, which may round another way.
    const float slack = m > 1 && n > 1 ? 0 : step * std::max(0.01f, std::abs(rounded));
    ASSERT_NEAR(static_cast<float>(c[i]), rounded, slack) << m << " " << n << " " << k << " at " << i;
  }
}

TEST(Gemm, HalvesAreWidenedExactlyAndRoundedOnce) {
  const Size cases[][3] = {{1, 1, 3}, {3, 5, 0}, {1, 40, 33}, {40, 1, 33}, {7, 9, 19}, {13, 70, 45}, {70, 5, 65}, {68, 70, 400}};
  for (const auto& [m, n, k] : cases)
    for (const Isa isa : isas())
      for (const Layout la : kLayouts)
        for (const Layout lb : kLayouts)
          for (const Layout lc : {kByRows, kByColumns}) {
            check_halves<float16>(isa, m, n, k, la, lb, lc);
            check_halves<bfloat16>(isa, m, n, k, la, lb, lc);
            if (HasFatalFailure()) return;
          }
}

// Every 16-bit float, subnormals and infinities among them, times one.
TEST(Gemm, EveryHalfKeepsItsValue) {
  std::vector<float16> all(65536), same(65536);
  for (unsigned bits = 0; bits < 65536; ++bits) std::memcpy(static_cast<void*>(&all[bits]), &bits, 2);
  const float16 one(1.0f);
  for (const Isa isa : isas())
    for (const bool lie_by_rows : {true, false}) {
      kernels::gemm<float16>(isa, 4096, 16, 1, {all.data(), lie_by_rows ? 16 : 1, 0}, {&one, 0, 0}, {same.data(), 16, 1});
      for (Size i = 0; i < 4096; ++i) {
        const float expected = static_cast<float>(all[static_cast<std::size_t>(i * (lie_by_rows ? 16 : 1))]);
        const float actual = static_cast<float>(same[static_cast<std::size_t>(i * 16)]);
        ASSERT_TRUE(actual == expected || (std::isnan(actual) && std::isnan(expected))) << i << ": " << actual << " " << expected;
      }
      kernels::gemm<float16>(isa, 1, 65536, 1, {&one, 0, 0}, {all.data(), 0, 1}, {same.data(), 65536, 1});
      for (std::size_t i = 0; i < 65536; ++i) {
        const float expected = static_cast<float>(all[i]), actual = static_cast<float>(same[i]);
        ASSERT_TRUE(actual == expected || (std::isnan(actual) && std::isnan(expected))) << i << ": " << actual << " " << expected;
      }
    }
}

// An infinite or undefined element shows where the definition has it, and nowhere else: padding never meets it.
TEST(Gemm, InfinitiesAndNaNsShowWhereTheyBelong) {
  const Size cases[][3] = {{1, 1, 3}, {1, 9, 5}, {9, 1, 5}, {5, 7, 9}, {7, 17, 11}, {13, 19, 270}, {67, 70, 71}};
  for (const auto& [m, n, k] : cases)
    for (const Isa isa : isas())
      for (const Layout la : {kByRows, kByColumns, kGaps})
        for (const Layout lb : {kByRows, kByColumns, kGaps})
          for (const float odd : {INFINITY, -INFINITY, NAN}) {
            std::vector<float> a = noise<float>(room_for(m, k), 5), b = noise<float>(room_for(k, n), 6);
            const Matrix<float> x = laid_out(la, a.data(), m, k), y = laid_out(lb, b.data(), k, n);
            x.data[(m - 1) * x.row + (k - 1) * x.col] = odd;
            y.data[(k / 2) * y.row + (n - 1) * y.col] = odd;
            y.data[(k - 1) * y.row] = 0;
            std::vector<float> fast(static_cast<std::size_t>(m * n)), slow(fast);
            kernels::gemm<float>(isa, m, n, k, {x.data, x.row, x.col}, {y.data, y.row, y.col}, {fast.data(), n, 1});
            kernels::gemm_reference<float>(m, n, k, {x.data, x.row, x.col}, {y.data, y.row, y.col}, {slow.data(), n, 1});
            for (std::size_t i = 0; i < fast.size(); ++i) {
              ASSERT_EQ(std::isnan(fast[i]), std::isnan(slow[i])) << m << " " << n << " " << k << " at " << i;
              ASSERT_EQ(std::isinf(fast[i]), std::isinf(slow[i])) << m << " " << n << " " << k << " at " << i;
            }
          }
}

// Contraction by its definition: every combination of indices in turn.
std::vector<double> contract_slowly(const std::vector<kernels::Index>& indices, const double* a, const double* b, std::size_t size) {
  std::vector<double> c(size, 0);
  std::vector<bool> written(size);
  std::vector<std::int64_t> at(indices.size(), 0);
  for (const auto& index : indices)
    if (index.size == 0) return c;
  for (;;) {
    std::int64_t i = 0, j = 0, k = 0;
    for (std::size_t n = 0; n < at.size(); ++n) i += at[n] * indices[n].a, j += at[n] * indices[n].b, k += at[n] * indices[n].c;
    c[static_cast<std::size_t>(k)] += a[i] * (b == nullptr ? 1 : b[j]);
    std::size_t n = 0;
    while (n < at.size() && ++at[n] == indices[n].size) at[n++] = 0;
    if (n == at.size()) return c;
  }
}

TEST(Contract, EqualsTheDefinitionForEveryUseOfFourIndices) {
  const auto a = noise<double>(10000, 3), b = noise<double>(10000, 4);
  const std::int64_t sizes[] = {2, 3, 4, 5};
  int checked = 0;
  // Every index is in some of a, b, c (bits 1, 2, 4), at least in a or b; strides go up or down with the index.
  for (int code = 0; code < 7 * 7 * 7 * 7 * 2; ++code) {
    std::vector<kernels::Index> indices(4);
    int rest = code / 2;
    std::int64_t sa = 1, sb = 1, sc = 1;
    for (std::size_t n = 0; n < 4; ++n, rest /= 7) {
      const int use = rest % 7 + 1;
      const std::size_t place = code % 2 ? n : 3 - n;
      const std::int64_t size = sizes[n];
      indices[place] = {size, use & 1 ? sa : 0, use & 2 ? sb : 0, use & 4 ? sc : 0};
      if (use & 1) sa *= size;
      if (use & 2) sb *= size + 1;
      if (use & 4) sc *= size;
    }
    for (const double* factor : {b.data(), static_cast<const double*>(nullptr)}) {
      if (factor == nullptr)
        for (auto& index : indices)
          if (index.b != 0) index.b = 0, index.a = index.a == 0 && index.c == 0 ? 0 : index.a;
      bool proper = true;  // an index of no operand at all has no meaning
      for (const auto& index : indices) proper = proper && (index.a != 0 || index.b != 0 || index.c != 0);
      if (!proper) continue;
      std::vector<double> c(static_cast<std::size_t>(sc), -1);
      kernels::contract<double>(indices, a.data(), factor, c.data());
      const auto expected = contract_slowly(indices, a.data(), factor, c.size());
      for (std::size_t i = 0; i < c.size(); ++i) ASSERT_NEAR(c[i], expected[i], 1e-12) << "code " << code << " at " << i;
      ++checked;
    }
  }
  EXPECT_GT(checked, 5000);
}

}  // namespace
}  // namespace weft
