// Reference-counted memory: what tensors share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/memory.h"

namespace weft::inline v0 {

/// A block of bytes with a count of its owners. Memory from `allocate` is 64-byte aligned and not cleared.
class Buffer {
 public:
  /// Throws OutOfMemoryError if the machine cannot hold `bytes`; nothing is allocated then.
  static Buffer* allocate(std::int64_t bytes);
  /// Foreign memory: `release` runs when the last owner lets go.
  static Buffer* wrap(void* data, std::function<void()> release);

  void* data() const { return data_; }
  /// Nobody else can see this memory, now or later: whoever asks owns the only count, and Weft owns the memory.
  bool writable() const { return !foreign_ && count_.load(std::memory_order_acquire) == 1; }
  void retain() { count_.fetch_add(1, std::memory_order_relaxed); }
  void drop() {
    if (count_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }

 private:
  explicit Buffer(void* data) : data_(data) {}
  ~Buffer() = default;
  void destroy();

  std::atomic<std::int32_t> count_{1};
  void* data_;
  std::function<void()> release_;  // set for foreign memory only
  bool foreign_ = false;
  std::uint8_t size_class_ = 0;    // of memory that is Weft's own
};

/// Owns one count of a Buffer.
class BufferRef {
 public:
  BufferRef() = default;
  explicit BufferRef(Buffer* taken) : buffer_(taken) {}
  BufferRef(const BufferRef& other) : buffer_(other.buffer_) {
    if (buffer_) buffer_->retain();
  }
  BufferRef(BufferRef&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
  BufferRef& operator=(BufferRef other) noexcept {
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~BufferRef() {
    if (buffer_) buffer_->drop();
  }
  Buffer* operator->() const { return buffer_; }
  explicit operator bool() const { return buffer_ != nullptr; }

 private:
  Buffer* buffer_ = nullptr;
};

}  // namespace weft::inline v0
