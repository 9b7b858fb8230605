#include "base/buffer.h"

#include <unistd.h>

#include <cstdlib>
#include <new>
#include <string>

#include <weft/error.h>

namespace weft::inline v0 {
namespace {

constexpr std::size_t kAlign = 64;

// A request beyond physical memory is refused before malloc sees it: an overcommitting kernel would grant it and kill
// the process at first use.
std::int64_t physical_bytes() {
  static const std::int64_t bytes =
      static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::int64_t>(sysconf(_SC_PAGE_SIZE));
  return bytes;
}

}  // namespace

Buffer* Buffer::allocate(std::int64_t bytes) {
  const auto rounded = (static_cast<std::size_t>(bytes) + kAlign - 1) / kAlign * kAlign;
  void* block = nullptr;
  if (bytes >= 0 && bytes <= physical_bytes()) block = std::aligned_alloc(kAlign, rounded + kAlign);
  if (block == nullptr)
    throw OutOfMemoryError("", "cannot allocate " + std::to_string(bytes) + " bytes; use smaller shapes.", {});
  // The header lies in front of the data, one alignment unit wide, so that one allocation serves both.
  static_assert(sizeof(Buffer) <= kAlign);
  return new (block) Buffer(static_cast<char*>(block) + kAlign);
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
  const std::function<void()> release = foreign_ ? std::move(release_) : nullptr;
  this->~Buffer();
  std::free(this);
  if (release) release();
}

}  // namespace weft::inline v0
