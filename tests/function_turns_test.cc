// Traces and turns: a body may wait for turns while it is traced, so nobody who holds turns waits for a trace, or for turns out of their order.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <mutex>
#include <thread>

#include "tests/support.h"
#include <weft/compat/v1.h>
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

// `waits` comes upon a first call, of the Function that it is given, in a block that holds v, while another thread traces and wants v.
template <class F>
void expect_no_deadlock(const F& waits) {
  const Watchdog watchdog;
  Variable v{0.f};
  std::latch holds(1), traces(1);
  Function doubled = [](Tensor x) { return x * 2.f; };
  std::thread block([&] {
    add_holding(v, [&](int runs) {
      if (runs == 4) holds.count_down(), traces.wait();
      waits(doubled);
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

TEST(TurnsAndTraces, ABlockAroundOtherTracesGivesBackItsTurns) {
  expect_no_deadlock([](auto& f) { f(1.f); });
  expect_no_deadlock([](auto& f) { map([&](Tensor x) { return f(x); }, zeros({0})); });  // of no rows, so that the body is only traced
  expect_no_deadlock([](auto& f) {
    compat::v1::Graph graph;
    const auto scope = graph.as_default();
    init_scope([&] { f(1.f); });
  });
}

TEST(TurnsAndTraces, ABlockAroundATraceWaitsForNoTurnWithTurnsInHand) {
  const Watchdog watchdog;
  Variable first{0.f}, second{0.f};
  std::latch both(2);
  std::thread other([&] {
    add_holding(first, [&](int runs) {
      if (runs == 4) both.arrive_and_wait();
      init_scope([&] { second.assign_add(10.f); });
    });
  });
  add_holding(second, [&](int runs) {
    if (runs == 4) both.arrive_and_wait();
    map([&](Tensor x) {
      init_scope([&] { first.assign_add(10.f); });
      return x;
    }, zeros({0}));
  });
  other.join();
}

TEST(TurnsAndTraces, AnUpdateRefusesToWaitForATrace) {
  const Watchdog watchdog;
  Variable v{0.f, {.name = "v"}};
  std::latch holds(1), traces(1);
  Function doubled{[](Tensor x) { return x * 2.f; }, {.name = "doubled"}};
  std::string sentence;
  std::thread updates([&] {
    update_together({&v, 1}, [&](std::span<Tensor> values) {
      holds.count_down(), traces.wait();
      sentence = message<StateError>([&] { map([&](Tensor x) { return doubled(x); }, zeros({0})); });
      values[0] = values[0] + 10.f;
    });
  });
  holds.wait();
  Function adds = [&](Tensor x) {
    traces.count_down();
    init_scope([&] { v.assign_add(1.f); });
    return x;
  };
  adds(1.f);
  updates.join();
  EXPECT_EQ(sentence, "doubled: it is to be traced in an update, which holds Variable \"v\", and another thread, which traces now, may wait for that; call "
                      "it, or `trace`, once before.");
  EXPECT_EQ(number(v), 11);
  update_together({&v, 1}, [&](std::span<Tensor> values) { values[0] = doubled(values[0]); });
  EXPECT_EQ(number(v), 22) << "nobody else traces";
}

TEST(TurnsAndTraces, AnUpdateRefusesToWaitForItself) {
  const Watchdog watchdog;
  Variable early{0.f, {.name = "early"}}, v{0.f, {.name = "v"}}, late{0.f};
  Variable* written = nullptr;
  const auto adds = [&] {
    Function f = [&](Tensor x) {
      init_scope([&] { written->assign_add(1.f); });
      return x;
    };
    update_together({&v, 1}, [&](std::span<Tensor> values) { values[0] = f(values[0]) + 10.f; });
  };
  written = &v;
  EXPECT_EQ(message<StateError>(adds), "assign_add: Variable \"v\" is being changed, and the update around, which holds Variable \"v\", cannot wait for that; "
                                       "write it before or after the update.");
  std::latch holds(1), tried(1);
  std::thread other([&] {
    update_together({&early, 1}, [&](std::span<Tensor>) { holds.count_down(), tried.wait(); });
  });
  holds.wait();
  written = &early;
  EXPECT_EQ(message<StateError>(adds), "assign_add: Variable \"early\" is being changed, and the update around, which holds Variable \"v\", cannot wait for "
                                       "that; write it before or after the update.");
  tried.count_down();
  other.join();
  EXPECT_EQ(number(v), 0);
  adds();
  written = &late;
  adds();
  EXPECT_EQ(number(early) + number(late), 2) << "that are free";
  EXPECT_EQ(number(v), 20);
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
