#include "base/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "base/buffer.h"
#include <weft/runtime.h>

namespace weft {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCaches = false;
#else
constexpr bool kCaches = true;
#endif

class Memory : public testing::Test {
 protected:
  void SetUp() override { trim_memory(); }
  void TearDown() override { trim_memory(); }
};

TEST_F(Memory, ClassesHoldWhatWasAskedAndWasteAQuarterAtMost) {
  for (std::size_t bytes = 1; bytes < (std::size_t{1} << 33); bytes += bytes / 3 + 1) {
    std::size_t size = 0;
    for (std::uint8_t c = 0; (size = class_bytes(c)) < bytes; ++c) {}
    EXPECT_LE(size, std::max<std::size_t>(128, bytes + bytes / 4 + 1)) << bytes;
    if (bytes > (std::size_t{1} << 24)) continue;
    const Block block = allocate_block(bytes);
    ASSERT_NE(block.start, nullptr);
    EXPECT_EQ(class_bytes(block.size_class), size) << bytes;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.start) % (size >= (2u << 20) ? 2u << 20 : 64u), 0u) << bytes;
    std::memset(block.start, 1, bytes);
    free_block(block);
  }
}

TEST_F(Memory, KeepsFreedBlocks) {
  if (!kCaches) GTEST_SKIP() << "instrumented builds keep nothing";
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{40000}, std::size_t{5} << 20}) {
    const Block first = allocate_block(bytes);
    free_block(first);
    const Block second = allocate_block(bytes);
    EXPECT_EQ(first.start, second.start) << bytes;
    free_block(second);
  }
}

TEST_F(Memory, CountsUseCacheAndPeak) {
  const MemoryStats before = memory_stats();
  const Block block = allocate_block(3 << 20);
  const MemoryStats during = memory_stats();
  EXPECT_EQ(during.in_use - before.in_use, 3 << 20);
  EXPECT_GE(during.peak, during.in_use);
  free_block(block);
  const MemoryStats after = memory_stats();
  EXPECT_EQ(after.in_use, before.in_use);
  EXPECT_EQ(after.cached - before.cached, kCaches ? 3 << 20 : 0);
  trim_memory();
  EXPECT_EQ(memory_stats().cached, 0);
}

TEST_F(Memory, TheLimitHolds) {
  const std::int64_t half_of_memory = std::int64_t{1} << 40;
  set_memory_cache_limit(4 << 20);
  std::vector<Block> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(allocate_block(1 << 20));
  for (const Block& block : blocks) free_block(block);
  EXPECT_LE(memory_stats().cached, 4 << 20);
  EXPECT_EQ(memory_stats().cached > 0, kCaches);
  set_memory_cache_limit(0);
  EXPECT_EQ(memory_stats().cached, 0);
  free_block(allocate_block(1000));
  EXPECT_EQ(memory_stats().cached, 0);
  EXPECT_THROW(set_memory_cache_limit(-1), ValueError);
  set_memory_cache_limit(half_of_memory);
}

TEST_F(Memory, LargeBuffersStartAtDifferentPlacesInAPage) {
  const BufferRef a(Buffer::allocate(4 << 20)), b(Buffer::allocate(4 << 20)), c(Buffer::allocate(4 << 20));
  const auto offset = [](const BufferRef& x) { return reinterpret_cast<std::uintptr_t>(x->data()) % 4096; };
  EXPECT_FALSE(offset(a) == offset(b) && offset(b) == offset(c));
  for (const BufferRef* x : {&a, &b, &c}) std::memset((*x)->data(), 1, 4 << 20);
}

TEST_F(Memory, BlocksMayBeFreedByOtherThreads) {
  std::vector<Block> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(allocate_block(static_cast<std::size_t>(64 + 97 * i)));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < blocks.size(); i += 4) {
        free_block(blocks[i]);
        const Block again = allocate_block(class_bytes(blocks[i].size_class));
        std::memset(again.start, static_cast<int>(t), class_bytes(again.size_class));
        free_block(again);
      }
    });
  for (std::thread& thread : threads) thread.join();
  trim_memory();
  EXPECT_EQ(memory_stats().cached, 0) << "threads give back what they kept when they end";
}

TEST_F(Memory, RefusesMoreThanTheMachineHas) {
  EXPECT_EQ(allocate_block(std::size_t{1} << 47).start, nullptr);
  const Block some = allocate_block(1 << 20);
  EXPECT_NE(some.start, nullptr);
  free_block(some);
}

}  // namespace
}  // namespace weft
