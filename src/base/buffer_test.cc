#include "base/buffer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include <weft/error.h>

namespace weft {
namespace {

TEST(Buffer, IsAlignedAndWritable) {
  for (const std::int64_t bytes : {0, 1, 63, 64, 65, 100000}) {
    const BufferRef buffer(Buffer::allocate(bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % 64, 0u);
    std::memset(buffer->data(), 0xab, static_cast<std::size_t>(bytes));
  }
}

TEST(Buffer, RefusesWhatTheMachineCannotHold) {
  EXPECT_THROW(Buffer::allocate(-1), OutOfMemoryError);
  EXPECT_THROW(Buffer::allocate(std::numeric_limits<std::int64_t>::max()), OutOfMemoryError);
  EXPECT_THROW(Buffer::allocate(std::int64_t{1} << 60), OutOfMemoryError);
}

TEST(Buffer, ReleasesForeignMemoryOnceAndLast) {
  int released = 0, value = 42;
  {
    BufferRef first(Buffer::wrap(&value, [&] { ++released; }));
    {
      const BufferRef second = first;
      BufferRef third = second;
      third = first;
      BufferRef& same = third;
      third = same;
      third = std::move(same);
      EXPECT_EQ(*static_cast<int*>(third->data()), 42);
    }
    EXPECT_EQ(released, 0);
    const BufferRef moved = std::move(first);
    EXPECT_FALSE(static_cast<bool>(first));
    EXPECT_TRUE(static_cast<bool>(moved));
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST(Buffer, ForeignMemoryMayHaveNoRelease) { const BufferRef buffer(Buffer::wrap(nullptr, nullptr)); }

TEST(Buffer, CountsFromManyThreads) {
  std::atomic<int> released = 0;
  {
    const BufferRef buffer(Buffer::wrap(nullptr, [&] { ++released; }));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([copy = buffer] {
        for (int i = 0; i < 10000; ++i) const BufferRef another = copy;
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

}  // namespace
}  // namespace weft
