#include "base/buffer.h"

#include <cstdlib>
#include <new>
#include <string>

#include <weft/error.h>

namespace weft::inline v0 {
namespace {

constexpr std::size_t kAlign = 64;
constexpr std::size_t kLarge = std::size_t{2} << 20;

// Large blocks start at multiples of 2 MB. Data that all began at the same place in a page would compete for the same lines of the first cache
// and make loads wait for unrelated stores, so each block has its own offset, a number of lines.
constexpr std::size_t kMostStagger = 31 * kAlign;
std::size_t stagger(const Block& block) {
  if (class_bytes(block.size_class) < kLarge) return 0;
  return (reinterpret_cast<std::uintptr_t>(block.start) / kLarge * 5 % 32) * kAlign;
}

}  // namespace

Buffer* Buffer::allocate(std::int64_t bytes) {
  Block block;
  // The header lies in front of the data, one alignment unit wide, so that one allocation serves both.
  static_assert(sizeof(Buffer) <= kAlign);
  if (bytes >= 0) block = allocate_block(static_cast<std::size_t>(bytes) + kAlign + (static_cast<std::size_t>(bytes) >= kLarge / 2 ? kMostStagger : 0));
  if (block.start == nullptr)
    throw OutOfMemoryError("", "cannot allocate " + std::to_string(bytes) + " bytes; use smaller shapes.", {});
  auto* buffer = new (block.start) Buffer(static_cast<char*>(block.start) + kAlign + stagger(block));
  buffer->size_class_ = block.size_class;
  return buffer;
}

Buffer* Buffer::wrap(void* data, std::function<void()> release) {
  void* block = std::aligned_alloc(kAlign, kAlign);
  if (block == nullptr) throw OutOfMemoryError("", "cannot allocate a buffer header.", {});
  auto* buffer = new (block) Buffer(data);
  buffer->release_ = std::move(release);
  buffer->foreign_ = true;
  return buffer;
}

void Buffer::destroy() {
  if (!foreign_) {
    const Block block{this, size_class_};
    this->~Buffer();
    return free_block(block);
  }
  const std::function<void()> release = std::move(release_);
  this->~Buffer();
  std::free(this);
  if (!release) return;
  try {
    release();
  } catch (...) {  // the last owner lets go in a destructor: there is nobody to tell
  }
}

}  // namespace weft::inline v0
