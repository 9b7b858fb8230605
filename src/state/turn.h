// The two locks of a Variable: one for a moment, one for a call.
//
// Every word that threads share is guarded by a SlotLock, held for some dozen instructions (or, marked as long, for one kernel that works
// in place). A Turn lasts as long as the call that writes: calls that write the same Variable come one after the other, readers do not
// notice. A Turn has no lock of its own: its words belong to the SlotLock of its slot.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::inline v0 {

/// Spins, then yields; a holder that says so beforehand is waited for without using the processor. Not fair, not recursive.
class SlotLock {
 public:
  void lock() {
    std::uint32_t free = kFree;
    if (!word_.compare_exchange_weak(free, kHeld, std::memory_order_acquire, std::memory_order_relaxed)) lock_slowly();
  }
  void unlock() { word_.store(kFree, std::memory_order_release); }
  /// From here on this holder may take its time. REQUIRES: locked by the caller, who will call unlock_long.
  void stay_long() { word_.store(kLong, std::memory_order_relaxed); }
  void unlock_long();

 private:
  static constexpr std::uint32_t kFree = 0, kHeld = 1, kLong = 2, kLongAwaited = 3;
  void lock_slowly();
  std::atomic<std::uint32_t> word_{kFree};
};

/// Who may change a Variable's value. Fair: a waiting thread that was woken and lost the turn to a passer-by is handed it the next time, so
/// at most two calls pass it (short ones may pass while it is still waking up). Waiting threads sleep.
class Turn {
 public:
  /// REQUIRES: `lock` guards this turn and is not held by the caller, here and below. May wait.
  void take(SlotLock& lock);
  bool try_take(SlotLock& lock);
  void give(SlotLock& lock);
  bool awaited(SlotLock& lock) const;  // somebody is in line

  /// The parts of take and give for whoever holds the lock already.
  bool taken() const { return taken_.load(std::memory_order_relaxed); }
  void take_free() { taken_.store(true, std::memory_order_relaxed); }  // REQUIRES: !taken()
  void give_locked();                                                  // REQUIRES: the caller has the turn

 private:
  struct Waiter {
    static constexpr std::uint32_t kSleeps = 0, kMayTry = 1, kHasTurn = 2;
    std::atomic<std::uint32_t> word{kSleeps};
    bool lost = false;  // was woken and found the turn taken: the next one is its own
    Waiter* next = nullptr;
  };
  void wait_in_line(SlotLock& lock);
  void leave_line();  // the first one goes

  std::atomic<bool> taken_{false};  // written under the lock; a thread that considers to wait looks at it without
  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
};

}  // namespace weft::inline v0
