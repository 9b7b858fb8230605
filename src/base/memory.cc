#include "base/memory.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include <weft/runtime.h>
#include <weft/small_vector.h>

namespace weft::inline v0 {
namespace {

constexpr std::size_t kAlign = 64;
constexpr std::size_t kHuge = std::size_t{2} << 20;
constexpr std::size_t kSmall = std::size_t{32} << 10;          // up to here a thread keeps blocks for itself
constexpr std::size_t kKeptByThread = std::size_t{1} << 20;    // this many bytes
constexpr int kSmallest = 7;                                   // the first class holds 2^7 bytes
constexpr int kClasses = 4 * (48 - kSmallest);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCaches = false;  // sanitizers see every allocation
#else
constexpr bool kCaches = true;
#endif

// Class 4 e + q holds 2^(7+e) * (1 + q/4) bytes.
std::uint8_t class_for(std::size_t bytes) {
  bytes = std::max(bytes, std::size_t{1} << kSmallest);
  const int exponent = static_cast<int>(std::bit_width(bytes)) - 1;
  const std::size_t quarter = std::size_t{1} << (exponent - 2);
  const std::size_t above = (bytes - (std::size_t{1} << exponent) + quarter - 1) / quarter;
  return static_cast<std::uint8_t>(4 * (exponent - kSmallest) + static_cast<int>(above));
}

constexpr std::size_t size_of_class(int c) {
  const std::size_t whole = std::size_t{1} << (kSmallest + c / 4);
  return whole + whole / 4 * static_cast<std::size_t>(c % 4);
}

// Sanitizers know, guard and limit only what comes from malloc.
bool is_mapped(std::size_t bytes) { return kCaches && bytes >= kHuge; }

void* from_system(std::size_t bytes) {
  const std::size_t alignment = bytes < kHuge ? kAlign : kHuge;
  if (!is_mapped(bytes)) return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  const std::size_t mapped = bytes + kHuge;
  void* start = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  char* const aligned = reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(start) + kHuge - 1) & ~(kHuge - 1));
  const auto before = static_cast<std::size_t>(aligned - static_cast<char*>(start));
  if (before > 0) munmap(start, before);
  if (kHuge - before > 0) munmap(aligned + bytes, kHuge - before);
  madvise(aligned, bytes, MADV_HUGEPAGE);
  return aligned;
}

void to_system(void* start, std::size_t bytes) {
  if (is_mapped(bytes)) munmap(start, bytes);
  else std::free(start);
}

std::int64_t physical_bytes() {
  static const std::int64_t bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::int64_t>(sysconf(_SC_PAGE_SIZE));
  return bytes;
}

// What all threads share: the larger blocks that are free, and the accounts.
class Central {
 public:
  // Never destroyed: tensors may die after every static object.
  static Central& get() {
    static Central* const central = new Central;
    return *central;
  }

  void* take(int c);
  void put(int c, void* start);
  std::int64_t trim(std::int64_t down_to);
  void give_back(int c, void* start) {
    to_system(start, size_of_class(c));
    held.fetch_sub(static_cast<std::int64_t>(size_of_class(c)), std::memory_order_relaxed);
  }
  void count_use(std::int64_t bytes) {
    const std::int64_t now = in_use.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    for (std::int64_t most = peak.load(std::memory_order_relaxed); now > most && !peak.compare_exchange_weak(most, now, std::memory_order_relaxed);) {}
  }

  std::int64_t cached() const { return held.load(std::memory_order_relaxed) - in_use.load(std::memory_order_relaxed); }

  // What came from the system, and the part of it that is not free. A small block that changes hands within its thread changes only in_use.
  std::atomic<std::int64_t> held = 0, in_use = 0, peak = 0;
  std::atomic<std::int64_t> limit = physical_bytes() / 2;

 private:
  Central() { pthread_atfork([] { get().mutex_.lock(); }, [] { get().mutex_.unlock(); }, [] { get().mutex_.unlock(); }); }

  std::mutex mutex_;
  std::vector<void*> free_[kClasses];
};

void* Central::take(int c) {
  const std::lock_guard lock(mutex_);
  if (free_[c].empty()) return nullptr;
  void* start = free_[c].back();
  free_[c].pop_back();
  return start;
}

// REQUIRES: the block is no longer counted as in use.
void Central::put(int c, void* start) {
  if (kCaches && cached() <= limit.load(std::memory_order_relaxed)) try {
    const std::lock_guard lock(mutex_);
    free_[c].push_back(start);
    return;
  } catch (const std::bad_alloc&) {  // no room for the note that it is free
  }
  give_back(c, start);
}

// The largest blocks go first.
std::int64_t Central::trim(std::int64_t down_to) {
  const std::lock_guard lock(mutex_);
  std::int64_t freed = 0;
  for (int c = kClasses - 1; c >= 0; --c)
    while (!free_[c].empty() && cached() > down_to) {
      give_back(c, free_[c].back());
      free_[c].pop_back();
      freed += static_cast<std::int64_t>(size_of_class(c));
    }
  return freed;
}

// The small blocks that this thread has freed, linked through their first word. Trivially destructible, so that it can be used while
// static Tensors die after the thread's other objects; `closed` then sends their memory straight back.
constexpr int kSmallClasses = 4 * (15 - kSmallest) + 1;
static_assert(size_of_class(kSmallClasses - 1) == kSmall);
struct ThreadCache {
  void* first[kSmallClasses];
  std::size_t bytes;
  bool closed, watched;
};
__attribute__((tls_model("initial-exec"))) thread_local ThreadCache thread_cache{};

void empty_thread_cache() {
  for (int c = 0; c < kSmallClasses; ++c)
    while (void* const start = thread_cache.first[c]) {
      std::memcpy(&thread_cache.first[c], start, sizeof start);
      Central::get().give_back(c, start);
    }
  thread_cache.bytes = 0;
}

struct ThreadCloser {
  ~ThreadCloser() {
    thread_cache.closed = true;
    empty_thread_cache();
  }
};

void* take_small(int c) {
  void* const start = thread_cache.first[c];
  if (start == nullptr) return nullptr;
  std::memcpy(&thread_cache.first[c], start, sizeof start);
  thread_cache.bytes -= size_of_class(c);
  return start;
}

void put_small(int c, void* start) {
  Central& central = Central::get();
  const std::size_t bytes = size_of_class(c);
  if (!kCaches || thread_cache.closed || central.limit.load(std::memory_order_relaxed) == 0) return central.give_back(c, start);
  if (thread_cache.bytes + bytes > kKeptByThread) empty_thread_cache();  // what it held last is more likely to be asked for than what it held first
  if (!thread_cache.watched) {
    static thread_local ThreadCloser closer;
    static_cast<void>(closer);
    thread_cache.watched = true;
  }
  std::memcpy(start, &thread_cache.first[c], sizeof start);
  thread_cache.first[c] = start;
  thread_cache.bytes += bytes;
}

// A block of the class, or null. Neither counts as in use.
void* take(std::uint8_t c) {
  Central& central = Central::get();
  const std::size_t size = size_of_class(c);
  if (void* const kept = size <= kSmall ? take_small(c) : central.take(c)) return kept;
  // A request beyond physical memory is refused here: an overcommitting kernel would grant it and kill the process at first use.
  const auto more = [&] { return central.held.load() + static_cast<std::int64_t>(size) > physical_bytes(); };
  if (more()) central.trim(0);
  if (more()) return nullptr;
  void* start = from_system(size);
  if (start == nullptr && central.trim(0) > 0) start = from_system(size);
  if (start != nullptr) central.held.fetch_add(static_cast<std::int64_t>(size), std::memory_order_relaxed);
  return start;
}

void put(std::uint8_t c, void* start) {
  if (size_of_class(c) <= kSmall) put_small(c, start);
  else Central::get().put(c, start);
}

}  // namespace

std::size_t class_bytes(std::uint8_t size_class) { return size_of_class(size_class); }

Block allocate_block(std::size_t bytes) {
  if (bytes > static_cast<std::size_t>(physical_bytes())) return {};
  const std::uint8_t c = class_for(bytes);
  void* const start = take(c);
  if (start == nullptr) return {};
  Central::get().count_use(static_cast<std::int64_t>(size_of_class(c)));
  return {start, c};
}

void free_block(Block block) {
  Central::get().in_use.fetch_sub(static_cast<std::int64_t>(size_of_class(block.size_class)), std::memory_order_relaxed);
  put(block.size_class, block.start);
}

// Lists are not counted as in use: there are dozens of them in a call, and threads would wait for each other's counts.
void* detail::take_room(std::size_t bytes) {
  if (!kCaches) return ::operator new(bytes);
  if (bytes > static_cast<std::size_t>(physical_bytes())) throw std::bad_alloc();
  void* const start = take(class_for(bytes));
  if (start == nullptr) throw std::bad_alloc();
  return start;
}

void detail::give_room(void* start, std::size_t bytes) noexcept {
  if (!kCaches) return ::operator delete(start);
  put(class_for(bytes), start);
}

MemoryStats memory_stats() {
  const Central& central = Central::get();
  return {central.in_use.load(), central.cached(), central.peak.load()};
}

void trim_memory() {
  empty_thread_cache();
  Central::get().trim(0);
}

std::int64_t memory_cache_limit() { return Central::get().limit.load(); }

void set_memory_cache_limit(std::int64_t bytes, Location at) {
  if (bytes < 0) throw ValueError("set_memory_cache_limit", "bytes is " + std::to_string(bytes) + "; it must be 0 or more.", at);
  Central::get().limit.store(bytes);
  if (bytes < Central::get().cached()) {
    empty_thread_cache();
    Central::get().trim(bytes);
  }
}

}  // namespace weft::inline v0
