// Memory that a kernel needs while it runs.
#pragma once

#include <cstdint>
#include <string>

#include "base/memory.h"
#include <weft/error.h>

namespace weft::inline v0::kernels {

/// Uncleared memory for the time of a call, handed out in pieces; the allocator keeps it for the next call. Throws OutOfMemoryError.
class Scratch {
 public:
  explicit Scratch(std::int64_t bytes) {
    if (bytes == 0) return;
    block_ = allocate_block(static_cast<std::size_t>(bytes));
    at_ = static_cast<char*>(block_.start);
    if (at_ == nullptr) throw OutOfMemoryError("", "cannot allocate " + std::to_string(bytes) + " bytes; use smaller shapes.", {});
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (block_.start != nullptr) free_block(block_);
  }

  /// The bytes that `count` elements take.
  template <class U>
  static std::int64_t size(std::int64_t count) { return (count * static_cast<std::int64_t>(sizeof(U)) + 127) / 64 * 64; }
  /// The next `count` elements.
  template <class U>
  U* take(std::int64_t count) {
    U* start = reinterpret_cast<U*>(at_);
    at_ += size<U>(count);
    return start;
  }

 private:
  Block block_;
  char* at_ = nullptr;
};

/// `count` elements of it.
template <class T>
class ScratchOf {
 public:
  explicit ScratchOf(std::int64_t count) : memory_(count * static_cast<std::int64_t>(sizeof(T))), start_(memory_.template take<T>(0)) {}
  T* get() const { return start_; }

 private:
  Scratch memory_;
  T* start_;
};

}  // namespace weft::inline v0::kernels
