// Allocations that fail on request.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace weft::test {

/// While it lives, allocation number `nth` (from 0) that this thread makes fails: one of operator new, or of memory for tensors that
/// comes from the system. Threads keep freed memory; a new thread has none, so there every allocation counts.
class FailingMemory {
 public:
  explicit FailingMemory(std::int64_t nth);
  ~FailingMemory();
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;
  bool failed() const;  ///< there were that many
};

/// What became of a change during which allocation number `nth` failed.
struct Attempt {
  bool failed = false;  ///< there were that many
  bool threw = false;   ///< it ended with an OutOfMemoryError, or with bad_alloc if there was no memory for the sentence either
};
/// Runs `change` on a new thread, where allocation number `nth` fails. `wrong` says what else it threw, that it threw without a cause, or,
/// unless it may keep memory, that some is lost.
Attempt attempt(std::int64_t nth, const std::function<void()>& change, bool may_keep_memory, std::string& wrong);

/// Blocks of operator new that nobody has deleted yet, of all threads.
std::int64_t live_blocks();

}  // namespace weft::test
