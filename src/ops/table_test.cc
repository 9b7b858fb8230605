#include "ops/table.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include <weft/operators.h>
#include <weft/ops.h>

namespace weft {
namespace {

void (*at_the_very_end)() = nullptr;

// Made before every other object of the program, so that it dies after them.
struct Last {
  ~Last() {
    if (at_the_very_end != nullptr) at_the_very_end();
  }
};
__attribute__((init_priority(101))) const Last last;

// Objects with static lifetime, and threads that nobody joined, may call ops while the process ends.
TEST(Table, OutlivesStaticObjects) {
  const auto leave = [] {
    at_the_very_end = [] {
      const bool right = find_row("add") != nullptr && sum(ones({3}) + Tensor{1.f, 2.f, 3.f}).item<float>() == 9.f;
      std::_Exit(right ? 0 : 1);
    };
    std::exit(2);
  };
  EXPECT_EXIT(leave(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace weft
