// Allocations that fail on request, or are counted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace weft::test {

/// While it lives, allocation number `nth` (from 0) that this thread makes fails: one of operator new, or of memory for tensors that
/// comes from the system, which is all of it: freed memory is not kept meanwhile. The thread's Nodes are; a new thread has none.
class FailingMemory {
 public:
  explicit FailingMemory(std::int64_t nth);
  ~FailingMemory();
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;
  bool failed() const;  ///< there were that many

 private:
  const std::int64_t limit_;
};

/// While it lives, counts what this thread gets from the system. The library keeps memory of tensors that are gone; if `cold`, that goes back
/// first, so that all memory for tensors counts, and what kernels need for a while. The thread's Nodes stay. REQUIRES: no other one lives.
class CountedMemory {
 public:
  explicit CountedMemory(bool cold);
  CountedMemory(const CountedMemory&) = delete;
  CountedMemory& operator=(const CountedMemory&) = delete;
  std::int64_t blocks() const;   ///< of operator new
  std::int64_t tensors() const;  ///< blocks for elements of tensors, for kernels, and for lists of calls
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
