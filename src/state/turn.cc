#include "state/turn.h"

#include <sched.h>

namespace weft::inline v0 {
namespace {

constexpr int kSpins = 64;         // of some 20 to 40 ns: longer than any short hold that has not lost its processor
constexpr int kTurnSpins = 32;     // before a thread goes to sleep: a lone write is over by then

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

void SlotLock::lock_slowly() {
  for (int spins = 0;; ++spins) {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    if (seen == kFree) {
      if (word_.compare_exchange_weak(seen, kHeld, std::memory_order_acquire, std::memory_order_relaxed)) return;
    } else if (seen == kHeld) {
      if (spins < kSpins) pause();
      else sched_yield();  // the holder may need this processor
    } else {
      if (seen == kLong && !word_.compare_exchange_strong(seen, kLongAwaited, std::memory_order_relaxed)) continue;
      word_.wait(kLongAwaited, std::memory_order_relaxed);
    }
  }
}

void SlotLock::unlock_long() {
  if (word_.exchange(kFree, std::memory_order_release) == kLongAwaited) word_.notify_all();
}

void Turn::take(SlotLock& lock) {
  for (int spins = 0; spins < kTurnSpins; ++spins) {
    if (!taken() && try_take(lock)) return;
    pause();
  }
  wait_in_line(lock);
}

bool Turn::try_take(SlotLock& lock) {
  lock.lock();
  const bool free = !taken();
  if (free) take_free();
  lock.unlock();
  return free;
}

void Turn::give(SlotLock& lock) {
  lock.lock();
  give_locked();
  lock.unlock();
}

bool Turn::awaited(SlotLock& lock) const {
  lock.lock();
  const bool any = first_ != nullptr;
  lock.unlock();
  return any;
}

// A woken thread leaves only with the lock in its hands, so whoever wakes it (under the lock) is done with its Waiter by then.
void Turn::wait_in_line(SlotLock& lock) {
  Waiter self;
  lock.lock();
  if (!taken()) {
    take_free();
    return lock.unlock();
  }
  (first_ == nullptr ? first_ : last_->next) = &self;
  last_ = &self;
  for (;;) {
    lock.unlock();
    self.word.wait(Waiter::kSleeps, std::memory_order_relaxed);
    lock.lock();
    const std::uint32_t word = self.word.load(std::memory_order_relaxed);
    if (word == Waiter::kHasTurn) return lock.unlock();
    if (word == Waiter::kSleeps) continue;
    if (!taken()) {
      take_free();
      leave_line();
      return lock.unlock();
    }
    self.lost = true;
    self.word.store(Waiter::kSleeps, std::memory_order_relaxed);
  }
}

void Turn::leave_line() {
  first_ = first_->next;
  if (first_ == nullptr) last_ = nullptr;
}

void Turn::give_locked() {
  Waiter* const next = first_;
  if (next == nullptr) return taken_.store(false, std::memory_order_relaxed);
  if (next->lost) {  // the turn goes from hand to hand and is never free
    leave_line();
    next->word.store(Waiter::kHasTurn, std::memory_order_relaxed);
    next->word.notify_one();
    return;
  }
  taken_.store(false, std::memory_order_relaxed);
  if (next->word.load(std::memory_order_relaxed) != Waiter::kSleeps) return;  // is waking up already
  next->word.store(Waiter::kMayTry, std::memory_order_relaxed);
  next->word.notify_one();
}

}  // namespace weft::inline v0
