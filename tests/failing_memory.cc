#include "tests/failing_memory.h"

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

#include "base/memory.h"

#include <weft/error.h>
#include <weft/runtime.h>

namespace {

thread_local std::int64_t countdown = -1;  // -1: nothing fails
thread_local bool has_failed = false;
thread_local std::int64_t blocks_made = 0, tensors_made = 0;
std::atomic<std::int64_t> live{0};

bool fails() {
  if (countdown < 0 || countdown-- > 0) return false;
  has_failed = true;
  return true;
}

}  // namespace

// Replaces the library's operators for the whole program: all forms that end in this delete.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++blocks_made;
  void* const block = fails() ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
  if (block != nullptr) live.fetch_add(1, std::memory_order_relaxed);
  return block;
}
void* operator new(std::size_t bytes) {
  void* const block = operator new(bytes, std::nothrow);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void operator delete(void* block, const std::nothrow_t&) noexcept { operator delete(block); }
void operator delete(void* block) noexcept {
  if (block != nullptr) live.fetch_sub(1, std::memory_order_relaxed);
  std::free(block);
}
void operator delete(void* block, std::size_t) noexcept { operator delete(block); }

// The linker sends the library's calls of aligned_alloc here (cmake/tests.cmake).
extern "C" {
void* __real_aligned_alloc(std::size_t alignment, std::size_t bytes);
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  ++tensors_made;
  return fails() ? nullptr : __real_aligned_alloc(alignment, bytes);
}
}

namespace weft::test {

FailingMemory::FailingMemory(std::int64_t nth) : limit_(memory_cache_limit()) {
  set_memory_cache_limit(0);
  countdown = nth, has_failed = false;
}
FailingMemory::~FailingMemory() {
  countdown = -1;
  set_memory_cache_limit(limit_);
}
bool FailingMemory::failed() const { return has_failed; }

CountedMemory::CountedMemory(bool cold) {
  if (cold) trim_memory();
  blocks_made = tensors_made = 0;
}
std::int64_t CountedMemory::blocks() const { return blocks_made; }
std::int64_t CountedMemory::tensors() const { return tensors_made; }

std::int64_t live_blocks() { return live.load(); }

Attempt attempt(std::int64_t nth, const std::function<void()>& change, bool may_keep_memory, std::string& wrong) {
  const std::int64_t blocks = live_blocks(), bytes = memory_stats().in_use;
  Attempt result;
  std::thread([&] {
    const FailingMemory memory(nth);
    try {
      change();
    } catch (const OutOfMemoryError&) {
      result.threw = true;
    } catch (const std::bad_alloc&) {
      result.threw = true;
    } catch (const std::exception& error) {
      wrong = std::string("another error: ") + error.what();
    }
    result.failed = memory.failed();
  }).join();
  if (!result.threw) return result;
  if (!result.failed) wrong = "an error without a cause";
  if (may_keep_memory) return result;
  if (live_blocks() != blocks) wrong = "blocks are lost: " + std::to_string(live_blocks() - blocks);
  if (memory_stats().in_use != bytes) wrong = "memory is lost: " + std::to_string(memory_stats().in_use - bytes);
  return result;
}

}  // namespace weft::test
