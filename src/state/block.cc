// Blocks of atomically: transactions that run until they fit.
#include "base/planted.h"
#include "state/transaction.h"

namespace weft::inline v0 {

// --- what a block asks of its transaction ---

void Transaction::forget() noexcept {
  give_turns();
  undo_.clear();
  conflict_ = {}, depth_ = 0;
  for (Entry& entry : entries_) entry.forget();
}

void Transaction::start_over(bool reserve_turns, bool reserve_reads) {
  forget();
  CallList<SlotRef> known;
  CallList<Slot*> reserved;
  for (Entry& entry : entries_) {
    known.push_back(entry.slot);
    if (reserve_turns && (entry.learned_write || reserve_reads)) reserved.push_back(entry.slot.get());
  }
  reserve(std::move(reserved));
  read_ahead(known);
}

std::size_t Transaction::enter() { return ++depth_, undo_.size(); }

void Transaction::leave(std::size_t mark, bool undo) noexcept {
  --depth_;
  if (undo && !(planted(Bug::kKeepsUndone) && symbols != nullptr))
    while (undo_.size() > mark) {
      Undo& last = undo_.back();
      Entry& entry = entries_[last.entry];
      std::swap(entry.pending, last.pending);
      entry.by = last.by, entry.at = last.at;
      undo_.pop_back();
    }
  if (depth_ == 0) undo_.clear();
}

namespace detail {

void run_block(void (*body)(void*), void* context, AtomicOptions options, Location at) {
  if (options.retry < -1)
    throw ValueError("atomically", "retry is " + std::to_string(options.retry) + "; it must be -1 (as often as needed) or more.", at);
  if (Transaction* outer = Transaction::current()) {
    outer->validates_reads = outer->validates_reads || options.validate_reads;
    const std::size_t mark = outer->enter();
    try {
      body(context);
    } catch (...) {
      outer->leave(mark, true);
      throw;
    }
    return outer->leave(mark, false);
  }
  constexpr int kPatience = 3;
  Transaction t;
  t.validates_reads = options.validate_reads;
  for (int failures = 0;; ++failures) {
    if (failures > 0) t.start_over(failures >= kPatience, t.validates_reads);
    try {
      const Transaction::Scope scope(&t);
      body(context);
    } catch (...) {
      if (planted(Bug::kPublishesFailure)) t.commit(false);
      if (!t.in_conflict()) throw;  // otherwise: whatever it is, it comes of a block that cannot go on
    }
    try {
      if (t.commit(t.validates_reads)) return;
    } catch (const std::bad_alloc&) {
      throw OutOfMemoryError("atomically", "there is no memory to publish what the block has written; nothing has changed.", at);
    }
    if (options.retry >= 0 && failures >= options.retry && t.in_conflict()) t.throw_conflict(at);
  }
}

}  // namespace detail
}  // namespace weft::inline v0
