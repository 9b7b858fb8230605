// Where the bytes of tensors, and of lists that come and go with calls, come from: blocks of fixed sizes that are kept when they are freed.
//
// Thread safety: any thread may allocate, and free what another one allocated.
// Cost: some 10 ns for a block of up to 32 KB that the thread has kept, some 50 ns for a larger one (one lock), a system call otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::inline v0 {

struct Block {
  void* start = nullptr;  // null: the machine has not that much memory
  std::uint8_t size_class = 0;
};

/// At least `bytes` bytes, 64-byte aligned, uncleared; 2 MB and more are aligned to 2 MB and ask for huge pages. REQUIRES: bytes > 0.
Block allocate_block(std::size_t bytes);
void free_block(Block block);

/// As set_memory_cache_limit (weft/runtime.h) has set it.
std::int64_t memory_cache_limit();

/// What a block of the class holds. Classes grow in steps of at most a quarter.
std::size_t class_bytes(std::uint8_t size_class);

}  // namespace weft::inline v0
