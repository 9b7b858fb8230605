#include "base/pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace weft {
namespace {

class ThreadPool : public testing::Test {
 protected:
  void TearDown() override { set_num_threads(before_); }
  const int before_ = num_threads();
};

TEST_F(ThreadPool, RunsEveryChunkOnce) {
  for (const int threads : {1, 2, 3, 4, 8}) {
    set_num_threads(threads);
    EXPECT_EQ(num_threads(), threads);
    for (const std::int64_t chunks : {0, 1, 2, 3, 100, 5000}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(chunks));
      parallel_for(chunks, [&](std::int64_t chunk) { ++runs[static_cast<std::size_t>(chunk)]; });
      for (const auto& count : runs) ASSERT_EQ(count, 1) << chunks << " chunks on " << threads << " threads";
    }
  }
}

TEST_F(ThreadPool, UsesItsThreads) {
  set_num_threads(3);
  // Every chunk waits until all three run: that ends only if three threads are at work.
  std::atomic<int> arrived = 0;
  parallel_for(3, [&](std::int64_t) {
    ++arrived;
    while (arrived < 3) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 3);
}

TEST_F(ThreadPool, RangesCoverTheWhole) {
  std::vector<std::atomic<int>> seen(1003);
  parallel_ranges(1003, 10, [&](std::int64_t begin, std::int64_t end) {
    EXPECT_EQ(begin % 10, 0);
    EXPECT_LE(end - begin, 10);
    for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
  });
  for (const auto& count : seen) ASSERT_EQ(count, 1);
  parallel_ranges(0, 10, [](std::int64_t, std::int64_t) { FAIL() << "there is nothing to do"; });
}

TEST_F(ThreadPool, RegionsInsideChunksRunThere) {
  set_num_threads(4);
  std::atomic<int> runs = 0;
  parallel_for(8, [&](std::int64_t) {
    const auto outer = std::this_thread::get_id();
    parallel_for(8, [&](std::int64_t) {
      EXPECT_EQ(std::this_thread::get_id(), outer);
      ++runs;
    });
  });
  EXPECT_EQ(runs, 64);
}

TEST_F(ThreadPool, ManyCallersAtOnce) {
  set_num_threads(4);
  std::vector<std::thread> callers;
  std::atomic<std::int64_t> total = 0;
  for (int t = 0; t < 8; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) parallel_for(16, [&](std::int64_t chunk) { total += chunk; });
    });
  for (int i = 0; i < 20; ++i) set_num_threads(1 + i % 4);
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 8 * 200 * (15 * 16 / 2));
}

TEST_F(ThreadPool, TheLowestChunksExceptionComesOutAndAllRan) {
  for (const int threads : {1, 2, 8}) {
    set_num_threads(threads);
    for (int repeat = 0; repeat < 50; ++repeat) {
      std::atomic<int> runs = 0;
      try {
        parallel_for(40, [&](std::int64_t chunk) {
          ++runs;
          if (chunk % 7 == 3) throw std::runtime_error(std::to_string(chunk));
        });
        FAIL() << "nothing was thrown";
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "3");
      }
      EXPECT_EQ(runs, 40);
    }
  }
}

TEST_F(ThreadPool, RefusesSenselessNumbers) {
  for (const int threads : {0, -1, 1025}) {
    try {
      set_num_threads(threads);
      FAIL() << threads;
    } catch (const ValueError& error) {
      EXPECT_EQ(error.message(), "set_num_threads: threads is " + std::to_string(threads) + "; it must be from 1 to 1024.");
    }
  }
  EXPECT_EQ(num_threads(), before_);
}

TEST_F(ThreadPool, AForkedChildHasItsOwn) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer refuses to start threads after a fork of a program with threads";
#endif
  set_num_threads(2);
  parallel_for(4, [](std::int64_t) {});
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    std::atomic<int> arrived = 0;
    parallel_for(2, [&](std::int64_t) {
      ++arrived;
      while (arrived < 2) std::this_thread::yield();
    });
    _exit(arrived == 2 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(ThreadPool, ExitsCleanlyWithAwakeAndSleepingWorkers) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, not a copy of this one and its threads
  for (const int pause_us : {0, 3000}) {
    EXPECT_EXIT(
        {
          set_num_threads(3);
          parallel_for(64, [](std::int64_t) {});
          usleep(static_cast<useconds_t>(pause_us));
          std::exit(7);
        },
        testing::ExitedWithCode(7), "");
  }
}

}  // namespace
}  // namespace weft
