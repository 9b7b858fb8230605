// Blocks of atomically: transactions that run until they fit.
#include "base/planted.h"
#include "state/transaction.h"

namespace weft::inline v0 {
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
