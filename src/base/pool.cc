#include "base/pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace weft::inline v0 {
namespace {

constexpr int kMaxThreads = 1024;
constexpr auto kWatch = std::chrono::microseconds(500);  // how long a worker without work stays awake
constexpr auto kLinger = std::chrono::microseconds(50);  // how long a caller waits awake for chunks that workers have begun

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

void futex_wait(std::atomic<std::int32_t>& word, std::int32_t while_it_is) {
  syscall(SYS_futex, reinterpret_cast<std::int32_t*>(&word), FUTEX_WAIT_PRIVATE, while_it_is, nullptr, nullptr, 0);
}
void futex_wake(std::atomic<std::int32_t>& word, int threads) {
  syscall(SYS_futex, reinterpret_cast<std::int32_t*>(&word), FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}

/// Whether `ready` comes true before the time is over.
template <class F>
bool spin_until(std::chrono::microseconds time, F&& ready) {
  const auto end = std::chrono::steady_clock::now() + time;
  do {
    for (int i = 0; i < 64; ++i) {
      if (ready()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

int first_num_threads() {
  const char* wish = std::getenv("WEFT_NUM_THREADS");
  const int given = wish == nullptr ? 0 : std::atoi(wish);
  if (given >= 1 && given <= kMaxThreads) return given;
  return std::clamp(static_cast<int>(allowed_cpus().size()), 1, kMaxThreads);
}

std::atomic<int>& wanted_threads() {
  static std::atomic<int> threads = first_num_threads();
  return threads;
}

// A thread inside a chunk, a worker above all, runs the regions it meets by itself.
thread_local bool inside_chunk = false;

// The lowest chunk that threw, and what.
class FirstError {
 public:
  void keep(std::int64_t chunk, std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (error_ != nullptr && chunk_ < chunk) return;
    chunk_ = chunk;
    error_ = std::move(error);
  }
  std::exception_ptr take() { return std::exchange(error_, nullptr); }

 private:
  std::mutex mutex_;
  std::int64_t chunk_ = 0;
  std::exception_ptr error_;
};

struct Region {
  void (*call)(void*, std::int64_t) = nullptr;
  void* context = nullptr;
  FirstError* error = nullptr;

  void run(std::int64_t chunk) const noexcept {
    try {
      call(context, chunk);
    } catch (...) {
      error->keep(chunk, std::current_exception());
    }
  }
};

struct Worker {
  std::thread thread;
  std::atomic<pid_t> id = 0;  // the kernel's; 0 until the thread runs
  std::atomic<bool> stop = false;
  int cpu = -1;               // where it is pinned, or -1
};

// The chunks that nobody has claimed yet are [front, back), packed into one word so that one compare-and-swap claims. Whoever claims a
// chunk may read region_, because the caller does not leave before pending_ is 0.
class Pool {
 public:
  /// Null if another thread has the workers.
  static Pool* acquire();
  void release() { busy_.store(false, std::memory_order_release); }
  void run(std::int64_t chunks, const Region& region);
  void stop_workers(std::size_t keep);

 private:
  static std::uint64_t pack(std::uint64_t front, std::uint64_t back) { return front << 32 | back; }
  static bool has_work(std::uint64_t ticket) { return ticket >> 32 < (ticket & 0xffffffffu); }
  bool claim_front(std::int64_t& chunk);
  bool claim_back(std::int64_t& chunk);
  void finish_chunk();
  void work(Worker& self);
  void match_workers(int threads);
  void keep_workers_off_this_cpu();

  std::atomic<bool> busy_ = false;
  Region region_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<int> cpus_;
  bool dedicated_ = false;  // every thread has a processor of its own: worth watching for work, and pinning
  alignas(64) std::atomic<std::uint64_t> ticket_ = 0;
  alignas(64) std::atomic<std::int32_t> pending_ = 0;
  std::atomic<std::int32_t> caller_sleeps_ = 0;
  alignas(64) std::atomic<std::int32_t> wake_ = 0;
  std::atomic<std::int32_t> sleepers_ = 0;
};

// Never destroyed: a late region may still look at it. A forked child starts over with a new one.
std::atomic<Pool*> the_pool = nullptr;
std::atomic<bool> closed = false;

// Stops the workers when the program ends or the library is unloaded.
struct Closer {
  ~Closer() {
    if (inside_chunk) return;  // exit() was called in a chunk, whose region will never end
    closed.store(true);
    Pool* pool = the_pool.load();
    if (pool == nullptr) return;
    while (pool = Pool::acquire(), pool == nullptr) sched_yield();
    pool->stop_workers(0);
    pool->release();
  }
};

Pool* Pool::acquire() {
  Pool* pool = the_pool.load(std::memory_order_acquire);
  if (pool == nullptr) {
    static const bool forks_known = pthread_atfork(nullptr, nullptr, [] { the_pool.store(nullptr); }) == 0;
    if (!forks_known) return nullptr;
    static Closer closer;
    auto* fresh = new (std::nothrow) Pool;  // without one, the caller does the work
    if (fresh == nullptr) return nullptr;
    if (the_pool.compare_exchange_strong(pool, fresh)) pool = fresh;
    else delete fresh;
  }
  return pool->busy_.exchange(true, std::memory_order_acquire) ? nullptr : pool;
}

bool Pool::claim_front(std::int64_t& chunk) {
  std::uint64_t ticket = ticket_.load(std::memory_order_relaxed);
  while (has_work(ticket))
    if (ticket_.compare_exchange_weak(ticket, ticket + pack(1, 0), std::memory_order_acq_rel)) return chunk = static_cast<std::int64_t>(ticket >> 32), true;
  return false;
}

bool Pool::claim_back(std::int64_t& chunk) {
  std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
  while (has_work(ticket))
    if (ticket_.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel)) return chunk = static_cast<std::int64_t>((ticket - 1) & 0xffffffffu), true;
  return false;
}

void Pool::finish_chunk() {
  if (pending_.fetch_sub(1) == 1 && caller_sleeps_.load() != 0) futex_wake(pending_, 1);
}

void Pool::work(Worker& self) {
  inside_chunk = true;
  self.id.store(static_cast<pid_t>(syscall(SYS_gettid)));
  const auto called = [&] { return has_work(ticket_.load()) || self.stop.load(); };
  for (std::int64_t chunk;;) {
    while (claim_back(chunk)) {
      region_.run(chunk);
      finish_chunk();
    }
    if (self.stop.load()) return;
    if (dedicated_ && spin_until(kWatch, called)) continue;
    const std::int32_t seen = wake_.load();
    sleepers_.fetch_add(1);
    if (!called()) futex_wait(wake_, seen);
    sleepers_.fetch_sub(1);
  }
}

void Pool::stop_workers(std::size_t keep) {
  for (std::size_t i = keep; i < workers_.size(); ++i) workers_[i]->stop.store(true);
  wake_.fetch_add(1);
  futex_wake(wake_, kMaxThreads);
  for (std::size_t i = keep; i < workers_.size(); ++i) workers_[i]->thread.join();
  workers_.resize(std::min(keep, workers_.size()));
}

void Pool::match_workers(int threads) {
  const auto count = static_cast<std::size_t>(threads - 1);
  if (workers_.size() == count) return;
  stop_workers(0);
  try {
    cpus_ = allowed_cpus();
    dedicated_ = static_cast<std::size_t>(threads) <= cpus_.size();
    while (workers_.size() < count) {
      workers_.push_back(std::make_unique<Worker>());
      Worker& worker = *workers_.back();
      worker.thread = std::thread([this, &worker] { work(worker); });
    }
  } catch (const std::exception&) {  // the system gives no more threads or memory: those that are there do the work
    if (!workers_.empty() && !workers_.back()->thread.joinable()) workers_.pop_back();
  }
}

// Some kernels leave two threads of a process on one processor while another idles. When there are as many threads as processors, each worker
// is pinned to one of its own, and moved away when the caller turns up there. The caller itself is never pinned.
void Pool::keep_workers_off_this_cpu() {
  if (workers_.size() + 1 != cpus_.size()) return;
  const int here = sched_getcpu();
  for (const auto& worker : workers_) {
    if (worker->cpu != here && worker->cpu != -1) continue;
    const pid_t id = worker->id.load();
    if (id == 0) continue;
    for (const int cpu : cpus_) {
      const bool taken = cpu == here || std::any_of(workers_.begin(), workers_.end(), [&](const auto& other) { return other->cpu == cpu; });
      if (taken) continue;
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(cpu, &set);
      if (sched_setaffinity(id, sizeof set, &set) == 0) worker->cpu = cpu;
      break;
    }
  }
}

void Pool::run(std::int64_t chunks, const Region& region) {
  match_workers(wanted_threads().load(std::memory_order_relaxed));
  keep_workers_off_this_cpu();
  region_ = region;
  pending_.store(static_cast<std::int32_t>(chunks));
  ticket_.store(pack(0, static_cast<std::uint64_t>(chunks)));
  if (sleepers_.load() > 0) {
    wake_.fetch_add(1);
    futex_wake(wake_, static_cast<int>(std::min<std::int64_t>(chunks - 1, kMaxThreads)));
  }
  inside_chunk = true;
  for (std::int64_t chunk; claim_front(chunk); pending_.fetch_sub(1)) region.run(chunk);
  inside_chunk = false;
  const auto finished = [&] { return pending_.load() == 0; };
  if (finished() || (dedicated_ && spin_until(kLinger, finished))) return;
  caller_sleeps_.store(1);
  for (std::int32_t left; (left = pending_.load()) != 0;) futex_wait(pending_, left);
  caller_sleeps_.store(0);
}

void run_alone(std::int64_t chunks, const Region& region) {
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) region.run(chunk);
}

}  // namespace

void run_chunks(std::int64_t chunks, void (*call)(void*, std::int64_t), void* context) {
  constexpr std::int64_t kMostChunks = 0x7fffffff;
  FirstError error;
  const Region region{call, context, &error};
  Pool* pool = nullptr;
  if (chunks > 1 && chunks <= kMostChunks && !inside_chunk && wanted_threads().load(std::memory_order_relaxed) > 1 && !closed.load(std::memory_order_relaxed))
    pool = Pool::acquire();
  if (pool == nullptr) {
    run_alone(chunks, region);
  } else {
    pool->run(chunks, region);
    pool->release();
  }
  if (std::exception_ptr first = error.take()) std::rethrow_exception(first);
}

void set_num_threads(int threads, Location at) {
  if (threads < 1 || threads > kMaxThreads)
    throw ValueError("set_num_threads", "threads is " + std::to_string(threads) + "; it must be from 1 to " + std::to_string(kMaxThreads) + ".", at);
  wanted_threads().store(threads);
}

int num_threads() { return wanted_threads().load(); }

}  // namespace weft::inline v0
