#include "state/turn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <thread>
#include <vector>

namespace weft {
namespace {

// --- every interleaving of the line ---

// Three threads that take and give the turn four times each. One step is what happens under the lock, or waking up.
enum class Fault { kNone, kGiveWakesNobody, kLoserIsForgotten, kHandedButFree, kFirstStaysInLine, kLoserDoesNotSleep };

struct Line {
  enum At : std::uint8_t { kOutside, kWaits, kInside };
  enum Word : std::uint8_t { kSleeps, kMayTry, kHasTurn };
  static constexpr std::size_t kThreads = 3, kRounds = 4;
  bool taken = false;
  std::array<At, kThreads> at{};
  std::array<std::uint8_t, kThreads> rounds{}, woken_in_vain{};
  std::array<Word, kThreads> word{};
  std::array<bool, kThreads> lost{};
  std::vector<std::uint8_t> waiting;
  auto operator<=>(const Line&) const = default;

  // False if the thread cannot move.
  bool step(std::size_t t, Fault fault, std::string& wrong) {
    const auto enters = [&] {
      if (std::count(at.begin(), at.end(), kInside) != 0) wrong = "two have the turn";
      // First in line, woken and beaten: the next turn is its own.
      if (!waiting.empty() && lost[waiting[0]] && waiting[0] != t && word[waiting[0]] == kSleeps) wrong = "a loser was passed again";
      at[t] = kInside;
      lost[t] = false;
      woken_in_vain[t] = 0;
    };
    switch (at[t]) {
      case kOutside:
        if (rounds[t] == kRounds) return false;
        if (!taken) {
          taken = true;
          enters();
        } else {
          waiting.push_back(static_cast<std::uint8_t>(t));
          word[t] = kSleeps;
          at[t] = kWaits;
        }
        return true;
      case kWaits:
        if (word[t] == kSleeps) return false;
        if (word[t] == kHasTurn) {
          enters();
        } else if (!taken) {
          taken = true;
          if (fault != Fault::kFirstStaysInLine) waiting.erase(waiting.begin());
          enters();
        } else {
          if (fault != Fault::kLoserIsForgotten) lost[t] = true;
          if (fault != Fault::kLoserDoesNotSleep) word[t] = kSleeps;
          if (++woken_in_vain[t] > 2) wrong = "woken in vain again and again";
        }
        return true;
      case kInside:
        at[t] = kOutside;
        ++rounds[t];
        if (waiting.empty()) {
          taken = false;
        } else if (const std::uint8_t next = waiting[0]; lost[next]) {
          waiting.erase(waiting.begin());
          word[next] = kHasTurn;
          taken = fault != Fault::kHandedButFree;
        } else {
          taken = false;
          if (fault != Fault::kGiveWakesNobody) word[next] = kMayTry;
        }
        return true;
    }
    return false;
  }
};

std::string explore(Fault fault) {
  std::set<Line> seen;
  std::vector<Line> open{Line()};
  std::string wrong;
  while (!open.empty() && wrong.empty()) {
    const Line line = open.back();
    open.pop_back();
    if (!seen.insert(line).second) continue;
    bool moved = false, done = true;
    for (std::size_t t = 0; t < Line::kThreads && wrong.empty(); ++t) {
      done = done && line.rounds[t] == Line::kRounds;
      Line next = line;
      if (!next.step(t, fault, wrong)) continue;
      moved = true;
      open.push_back(next);
    }
    if (!moved && !done && wrong.empty()) wrong = "everybody sleeps";
  }
  return wrong;
}

TEST(Turn, LosesNobodyInAnyInterleaving) { EXPECT_EQ(explore(Fault::kNone), ""); }

TEST(Turn, FaultsAreFound) {
  for (Fault fault : {Fault::kGiveWakesNobody, Fault::kLoserIsForgotten, Fault::kHandedButFree, Fault::kFirstStaysInLine,
      Fault::kLoserDoesNotSleep})
    EXPECT_NE(explore(fault), "") << static_cast<int>(fault);
}

// --- the real one ---

TEST(Turn, BelongsToOneAtATime) {
  SlotLock lock;
  Turn turn;
  std::int64_t counter = 0;  // guarded by the turn alone
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        turn.take(lock);
        const std::int64_t before = counter;
        if (i % 64 == 0) std::this_thread::yield();
        counter = before + 1;
        turn.give(lock);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, 8 * 2000);
  EXPECT_FALSE(turn.taken());
  EXPECT_FALSE(turn.awaited(lock));
}

// One thread makes calls without a pause; another, once in line, must not see many of them pass. (An unfair lock lets hundreds.)
TEST(Turn, IsFair) {
  SlotLock lock;
  Turn turn;
  for (int round = 0; round < 5; ++round) {
    turn.take(lock);
    std::atomic<bool> had_turn{false};
    std::thread other([&] {
      turn.take(lock);
      had_turn = true;
      turn.give(lock);
    });
    while (!turn.awaited(lock)) std::this_thread::yield();
    int passed = 0;
    for (;; ++passed) {
      turn.give(lock);
      turn.take(lock);
      if (had_turn) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));  // a call
    }
    turn.give(lock);
    other.join();
    EXPECT_LE(passed, 20);
  }
}

TEST(Turn, IsTriedWithoutWaiting) {
  SlotLock lock;
  Turn turn;
  EXPECT_TRUE(turn.try_take(lock));
  EXPECT_FALSE(turn.try_take(lock));
  turn.give(lock);
  EXPECT_TRUE(turn.try_take(lock));
  turn.give(lock);
}

TEST(SlotLock, WaitsForLongHolders) {
  SlotLock lock;
  std::int64_t counter = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        lock.lock();
        const bool takes_long = (i + t) % 50 == 0;
        if (takes_long) lock.stay_long();
        const std::int64_t before = counter;
        if (takes_long) std::this_thread::sleep_for(std::chrono::microseconds(200));
        counter = before + 1;
        if (takes_long) lock.unlock_long();
        else lock.unlock();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, 4 * 500);
}

}  // namespace
}  // namespace weft
