// weft_limit: the hardware as a contestant. A workload is a number of calls, bytes to read, bytes to write and flops; its time is that of
// the slowest kind of work alone, each done in the fastest way found: on one core or on all, with or without bypassing the cache.
#include <emmintrin.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "protocol.h"

namespace {

using Clock = std::chrono::steady_clock;

// All cores. Inside a run the threads meet after every repetition and spin for that; between runs they sleep.
class Team {
 public:
  using Job = std::function<void(int part, int parts)>;

  explicit Team(int size) : size_(size) {
    for (int i = 1; i < size; ++i) threads_.emplace_back([this, i] { work(i); });
  }
  ~Team() {
    post(nullptr, 0, size_);
    for (std::thread& thread : threads_) thread.join();
  }
  int size() const { return size_; }

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
};

// --- calls: an indirect call that takes a block from a free list and gives it back ---

struct Block {
  Block* next;
};
Block first_block{nullptr};
Block* free_list = &first_block;

void pop_and_push() {
  Block* block = free_list;
  free_list = block->next;
  bench::keep(block);
  block->next = free_list;
  free_list = block;
}
void (*volatile indirect)() = pop_and_push;

// --- flops: independent chains of multiply-adds in registers ---

#define FOUR(instruction, r, a, b, c, d)                                     \
  instruction r "0," r "1," r a "\n" instruction r "0," r "1," r b "\n"    \
  instruction r "0," r "1," r c "\n" instruction r "0," r "1," r d "\n"
#define TWELVE(instruction, r) \
  FOUR(instruction, r, "2", "3", "4", "5") FOUR(instruction, r, "6", "7", "8", "9") FOUR(instruction, r, "10", "11", "12", "13")
#define REGISTERS "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13"

void fma512() { asm volatile(TWELVE("vfmadd231ps ", "%%zmm") : : : REGISTERS); }
void fma256() { asm volatile(TWELVE("vfmadd231ps ", "%%ymm") : : : REGISTERS); }
void sse() {  // no fused instruction: six products and six sums
  asm volatile(
      "mulps %%xmm0,%%xmm2\n addps %%xmm1,%%xmm3\n mulps %%xmm0,%%xmm4\n addps %%xmm1,%%xmm5\n"
      "mulps %%xmm0,%%xmm6\n addps %%xmm1,%%xmm7\n mulps %%xmm0,%%xmm8\n addps %%xmm1,%%xmm9\n"
      "mulps %%xmm0,%%xmm10\n addps %%xmm1,%%xmm11\n mulps %%xmm0,%%xmm12\n addps %%xmm1,%%xmm13\n"
      : : : REGISTERS);
}
void clear() {  // whatever the registers held could be denormal, which is slow on some machines
  const __m128 zero = _mm_setzero_ps();
  asm volatile(
      "movaps %0,%%xmm0\n movaps %0,%%xmm1\n movaps %0,%%xmm2\n movaps %0,%%xmm3\n movaps %0,%%xmm4\n movaps %0,%%xmm5\n"
      "movaps %0,%%xmm6\n movaps %0,%%xmm7\n movaps %0,%%xmm8\n movaps %0,%%xmm9\n movaps %0,%%xmm10\n movaps %0,%%xmm11\n"
      "movaps %0,%%xmm12\n movaps %0,%%xmm13\n"
      : : "x"(zero) : REGISTERS);
}

constexpr double kPlainFlops = 12 * 4;

template <void (*step)()>
void flops(double wanted, double each) {
  clear();
  const long steps = std::max(1L, static_cast<long>(wanted / each));
  for (long i = 0; i < steps; ++i) step();
  if (each > kPlainFlops) asm volatile("vzeroupper");
}

void do_flops(double wanted) {
  if (__builtin_cpu_supports("avx512f")) return flops<fma512>(wanted, 12 * 16 * 2);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return flops<fma256>(wanted, 12 * 8 * 2);
  flops<sse>(wanted, kPlainFlops);
}

// --- bytes: one region is read, another written, in step ---

using Vector = float __attribute__((vector_size(64), may_alias));
constexpr std::size_t kLine = sizeof(Vector), kStep = 32;  // lines of the longer region that are handled before the other's turn

struct Regions {
  const Vector* read;
  Vector* write;
  std::size_t reads, writes;  // lines
};

template <bool bypass_cache>
[[gnu::always_inline]] inline void stream(const Regions& all) {
  Vector a{}, b{}, c{}, d{};
  const std::size_t steps = std::max<std::size_t>(1, std::max(all.reads, all.writes) / kStep);
  std::size_t r = 0, w = 0;
  for (std::size_t step = 1; step <= steps; ++step) {
    const std::size_t read_end = all.reads * step / steps, write_end = all.writes * step / steps;
    for (; r + 4 <= read_end; r += 4) a += all.read[r], b += all.read[r + 1], c += all.read[r + 2], d += all.read[r + 3];
    for (; r < read_end; ++r) a += all.read[r];
    for (; w < write_end; ++w) {
      if constexpr (bypass_cache) {
        const __m128 value = _mm_set1_ps(1);
        float* to = reinterpret_cast<float*>(all.write + w);
        for (int part = 0; part < 16; part += 4) _mm_stream_ps(to + part, value);
      } else {
        all.write[w] = Vector{} + 1;
      }
    }
  }
  const Vector sum = a + b + c + d;
  bench::keep(sum);
  if constexpr (bypass_cache) _mm_sfence();
}

[[gnu::target_clones("avx512f", "avx2", "default")]] void stream_plainly(const Regions& all) { stream<false>(all); }
[[gnu::target_clones("avx512f", "avx2", "default")]] void stream_past_cache(const Regions& all) { stream<true>(all); }

struct Lines {
  std::shared_ptr<void> memory;
  Vector* get() const { return static_cast<Vector*>(memory.get()); }
};

// Memory of whole lines, in large pages if there are any, written once.
Lines lines(std::size_t count) {
  constexpr std::size_t kHuge = 2u << 20;
  const std::size_t bytes = (count * kLine + kHuge) / kHuge * kHuge;
  void* memory = std::aligned_alloc(kHuge, bytes);
  if (!memory) throw std::runtime_error("not enough memory");
  madvise(memory, bytes, MADV_HUGEPAGE);
  std::fill_n(static_cast<float*>(memory), bytes / sizeof(float), 1.f);
  return {{memory, std::free}};
}

// --- the workload ---

struct Candidate {
  Team::Job job;
  int parts;
  long repetitions = 1;  // that one call of the job does by itself
  double estimate = 0;

  double nanoseconds(Team& team, long count) const {
    const long runs = (count + repetitions - 1) / repetitions;
    return team.run(job, runs, parts) * static_cast<double>(count) / static_cast<double>(runs * repetitions);
  }
};

std::vector<Candidate> byte_candidates(std::size_t reads, std::size_t writes, int cores) {
  const Lines from = lines(reads), to = lines(writes);
  std::vector<Candidate> all;
  for (const bool bypass : {false, true}) {
    for (const int parts : {1, cores}) {
      all.push_back({[=](int part, int of) {
                       const std::size_t r = reads * part / of, w = writes * part / of;
                       const Regions mine{from.get() + r, to.get() + w, reads * (part + 1) / of - r, writes * (part + 1) / of - w};
                       bypass ? stream_past_cache(mine) : stream_plainly(mine);
                     },
                     parts});
    }
  }
  return all;
}

std::vector<Candidate> flop_candidates(double wanted, int cores) {
  const Team::Job job = [=](int, int of) { do_flops(wanted / of); };
  return {{job, 1}, {job, cores}};
}

Candidate fastest(Team& team, std::vector<Candidate> all) {
  for (Candidate& c : all) {
    const double once = std::max(c.nanoseconds(team, 1), 1.0);
    const long count = std::max(1L, static_cast<long>(5e6 / once));
    c.estimate = once;
    for (int i = 0; i < 3; ++i) c.estimate = std::min(c.estimate, c.nanoseconds(team, count) / static_cast<double>(count));
  }
  return *std::min_element(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return a.estimate < b.estimate; });
}

// limit CALLS BYTES_READ BYTES_WRITTEN FLOPS
bench::Workload make(const std::string& op, const std::vector<std::string>& words) {
  if (op == "start") return bench::start_this_program();
  if (op != "limit" || words.size() != 4) throw std::runtime_error("there is no workload " + op);
  const double calls = std::stod(words[0]), reads = std::stod(words[1]), writes = std::stod(words[2]), wanted = std::stod(words[3]);
  static Team team(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));

  const auto count_lines = [](double bytes) { return (static_cast<std::size_t>(bytes) + kLine - 1) / kLine; };
  std::vector<Candidate> kinds;
  if (calls > 0) {
    constexpr long kCalls = 1000;  // enough to make the call of the job itself disappear
    const Team::Job job = [n = static_cast<long>(calls) * kCalls](int, int) {
      for (long i = 0; i < n; ++i) indirect();
    };
    kinds.push_back(fastest(team, {{job, 1, kCalls}}));
  }
  if (reads + writes > 0) kinds.push_back(fastest(team, byte_candidates(count_lines(reads), count_lines(writes), team.size())));
  if (wanted > 0) kinds.push_back(fastest(team, flop_candidates(wanted, team.size())));
  if (kinds.empty()) throw std::runtime_error("a limit needs some work");

  // What is far from being the slowest stays so; only the others are measured again.
  double slowest = 0;
  for (const Candidate& c : kinds) slowest = std::max(slowest, c.estimate);
  kinds.erase(std::remove_if(kinds.begin(), kinds.end(), [=](const Candidate& c) { return c.estimate < slowest / 2; }), kinds.end());
  bench::Workload workload;
  workload.nanoseconds = [kinds](long count) {
    double most = 0;
    for (const Candidate& c : kinds) most = std::max(most, c.nanoseconds(team, count));
    return most;
  };
  workload.results = [] { return std::vector<std::vector<float>>{}; };
  return workload;
}

}  // namespace

int main(int argc, char** argv) {
  const char* isa = __builtin_cpu_supports("avx512f") ? "AVX-512" : __builtin_cpu_supports("avx2") ? "AVX2" : "SSE2";
  return bench::serve(argc, argv, isa, make);
}
