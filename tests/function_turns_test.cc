// Traces and turns: a body may wait for turns while it is traced, so nobody who holds turns waits for a trace.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <mutex>
#include <thread>

#include "tests/support.h"
#include <weft/weft.h>

namespace weft::test {
namespace {

// Ends a test that would never end.
class Watchdog {
 public:
  ~Watchdog() {
    {
      const std::lock_guard guard(mutex_);
      ended_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

 private:
  void watch() {
    std::unique_lock guard(mutex_);
    if (changed_.wait_for(guard, std::chrono::seconds(60), [&] { return ended_; })) return;
    std::fputs("the test has not ended in a minute: a deadlock\n", stderr);
    std::_Exit(1);
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread thread_{[this] { watch(); }};
};

// A block that adds 1 to v, and after three failures calls f with v's turn in hand.
template <class F>
void add_holding(Variable& v, const F& f) {
  int runs = 0;
  atomically([&] {
    const Tensor now = v;
    v.assign(now + 1.f);
    if (++runs <= 3) std::thread([&] { v.assign_add(1.f); }).join();
    else f(runs);
  });
}

TEST(TurnsAndTraces, ABlockWaitsForNoTraceWithTurnsInHand) {
  const Watchdog watchdog;
  Variable v{0.f};
  std::latch holds(1), traces(1);
  Function doubled = [](Tensor x) { return x * 2.f; };
  std::thread block([&] {
    add_holding(v, [&](int runs) {
      if (runs == 4) holds.count_down(), traces.wait();
      doubled(1.f);
    });
  });
  holds.wait();
  Function adds = [&](Tensor x) {
    traces.count_down();
    init_scope([&] { v.assign_add(1.f); });
    return x;
  };
  adds(1.f);
  block.join();
  EXPECT_EQ(number(v), 5) << "three that interfere, the body that is traced, and the block, once";
  EXPECT_EQ(doubled.explain().traced, 1u);
}

TEST(TurnsAndTraces, ABodyMayWriteWhatTheBlockAroundHeld) {
  const Watchdog watchdog;
  Variable v{0.f};
  int traced = 0;
  Function adds = [&](Tensor x) {
    init_scope([&] { v.assign_add(10.f); });
    ++traced;
    return x;
  };
  add_holding(v, [&](int) { adds(1.f); });
  EXPECT_EQ(traced, 1);
  EXPECT_EQ(number(v), 14);
}

TEST(TurnsAndTraces, ABlockInATraceGivesBackItsTurnsToo) {
  const Watchdog watchdog;
  Variable v{0.f};
  Function inner = [&](Tensor x) {
    init_scope([&] { v.assign_add(10.f); });
    return x;
  };
  Function outer = [&](Tensor x) {
    init_scope([&] { add_holding(v, [&](int) { inner(1.f); }); });
    return x;
  };
  outer(1.f);
  EXPECT_EQ(number(v), 14);
}

TEST(TurnsAndTraces, WhatHasBeenTracedWaitsForNobody) {
  const Watchdog watchdog;
  Variable v{0.f};
  Function doubled = [](Tensor x) { return x * 2.f; };
  doubled(1.f);
  std::latch traces(1), published(1);
  Function slow = [&](Tensor x) {
    traces.count_down();
    published.wait();
    return x;
  };
  std::thread tracer([&] { slow(1.f); });
  traces.wait();
  int runs = 0;
  add_holding(v, [&](int run) { doubled(1.f), runs = run; });
  EXPECT_EQ(runs, 4) << "and keeps its turns";
  published.count_down();
  tracer.join();
  EXPECT_EQ(number(v), 4);
}

}  // namespace
}  // namespace weft::test
