// A traced call and a block of atomically are the same thing: random programs are run as both, and nobody can tell which was which.
#include <gtest/gtest.h>

#include "tests/fuzz/compare.h"
#include "tests/fuzz/generate.h"
#include "tests/suite_rows.h"

namespace weft::fuzz {
namespace {

// WEFT_TEST_SCALE=long: a million programs, half an hour; in blocks, each a test, so that processes can share them.
int blocks() { return test::long_scale() ? 100 : 1; }
int programs_of_a_block() { return test::small_scale() ? 500 : 10'000; }

class FuzzBlock : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Fuzz, FuzzBlock, testing::Range(0, blocks()));

TEST_P(FuzzBlock, TracedIsEager) {
  const int first = GetParam() * programs_of_a_block(), end = first + programs_of_a_block();
  std::array<int, kFeatures> counts{};
  int failures = 0;
  for (int seed = first; seed < end && failures < 3; ++seed) {
    const Program program = generate(static_cast<std::uint64_t>(seed));
    Features seen;
    if (difference(program, &seen).empty()) {
      for (std::size_t f = 0; f < kFeatures; ++f) counts[f] += seen[f];
      continue;
    }
    ++failures;
    const Program smaller = shrunk(program);
    ADD_FAILURE() << smaller.str() << difference(smaller);
  }
  if (failures > 0) return;
  for (std::size_t f = 0; f < kFeatures; ++f) {
    const int percent = static_cast<Feature>(f) == Feature::kThrowsAfterWrite ? 20 : 10;
    EXPECT_GE(counts[f] * 100LL, programs_of_a_block() * static_cast<long long>(percent)) << "programs with " << name_of(static_cast<Feature>(f));
  }
}

// The same seed means the same program with every compiler and library.
TEST(Fuzz, ProgramsAreReproducible) {
  std::uint64_t hash = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    for (const char c : generate(seed).str()) hash = hash * 1099511628211ull + static_cast<unsigned char>(c);
  EXPECT_EQ(hash, 9580461544213463381u);
}

}  // namespace
}  // namespace weft::fuzz
