// The cores of the machine as one team: the threads of weft_limit.
#pragma once

#include <emmintrin.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace bench {

inline std::vector<int> allowed_cores() {
  cpu_set_t set;
  std::vector<int> all;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &set)) all.push_back(core);
  return all.empty() ? std::vector<int>{0} : all;
}

// All cores, a thread bound to each: a kernel may let two threads share one for milliseconds. Inside a run the
// threads meet after every repetition and spin for that; between runs they sleep.
class Team {
 public:
  using Clock = std::chrono::steady_clock;
  using Job = std::function<void(int part, int parts)>;

  explicit Team(const std::vector<int>& cores) : size_(static_cast<int>(cores.size())) {
    bind(cores[0]);
    for (int i = 1; i < size_; ++i)
      threads_.emplace_back([this, i, core = cores[static_cast<std::size_t>(i)]] {
        bind(core);
        work(i);
      });
  }
  ~Team() {
    post(nullptr, 0, size_);
    for (std::thread& thread : threads_) thread.join();
  }
  int size() const { return size_; }

  /// The next piece of a repetition for this part, -1 if none is left. Whoever is faster takes more; the first part takes them from the
  /// front, the others from the back, so that neighbours stay on one core.
  long take(int part, long pieces) {
    if (taken_.fetch_add(1, std::memory_order_relaxed) >= pieces) return -1;
    return part == 0 ? front_++ : pieces - 1 - back_.fetch_add(1, std::memory_order_relaxed);
  }

  /// Nanoseconds for `count` repetitions of the job by the first `parts` threads.
  double run(const Job& job, long count, int parts) {
    const auto start = Clock::now();
    if (parts == 1) {
      for (long i = 0; i < count; ++i) job(0, 1);
    } else {
      post(&job, count, parts);
      repeat(job, count, 0, parts);
    }
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  }

 private:
  static void bind(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    sched_setaffinity(0, sizeof set, &set);  // of this thread; where it is forbidden, the kernel decides
  }

  void post(const Job* job, long count, int parts) {
    const std::lock_guard lock(mutex_);
    job_ = job, count_ = count, parts_ = parts, ++run_;
    wake_.notify_all();
  }

  void work(int part) {
    for (long seen = 0;;) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return run_ != seen; });
      seen = run_;
      if (!job_) return;
      const Job& job = *job_;
      const long count = count_;
      const int parts = parts_;
      lock.unlock();
      if (part < parts) repeat(job, count, part, parts);
    }
  }

  // The last to arrive opens the next phase. A thread that sees it late can miss nothing: no further phase opens without it.
  void repeat(const Job& job, long count, int part, int parts) {
    for (long i = 0; i < count; ++i) {
      job(part, parts);
      const long phase = phase_.load();
      if (arrived_.fetch_add(1) + 1 == parts) {
        arrived_ = 0;
        taken_ = front_ = 0, back_ = 0;
        phase_ = phase + 1;
      }
      for (long spins = 0; phase_.load() == phase; ++spins) spins < 10'000 ? _mm_pause() : std::this_thread::yield();
    }
  }

  const int size_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  const Job* job_ = nullptr;
  long count_ = 0, run_ = 0;
  int parts_ = 1;
  alignas(64) std::atomic<int> arrived_ = 0;
  alignas(64) std::atomic<long> phase_ = 0;
  alignas(64) std::atomic<long> taken_ = 0, back_ = 0;
  alignas(64) long front_ = 0;
};

}  // namespace bench
