#include "tests/samples.h"

#include <gtest/gtest.h>

#include <set>

namespace weft::test {
namespace {

// Streams that are shifted against each other would give the suites the same values again.
TEST(Samples, SeedsOfRunsGiveUnrelatedStreams) {
  std::set<std::uint64_t> seen;
  for (const char* run : {"0", "1", "2", "3", "1000"}) {
    Numbers64 numbers(seed_of("add") + seed_of_run(run));
    for (int k = 0; k < 2000; ++k) ASSERT_TRUE(seen.insert(numbers.next()).second) << "run " << run << ", number " << k << " is known from another run";
  }
}

TEST(Samples, WithoutASeedTheRunIsRunZero) {
  EXPECT_EQ(seed_of_run(nullptr), 0u);
  EXPECT_EQ(seed_of_run("0"), 0u);
}

}  // namespace
}  // namespace weft::test
