// Allocations that fail on request.
#pragma once

#include <cstdint>

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

/// Blocks of operator new that nobody has deleted yet, of all threads.
std::int64_t live_blocks();

}  // namespace weft::test
