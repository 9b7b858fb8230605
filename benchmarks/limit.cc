// weft_limit: the hardware as a contestant. A workload is a number of calls, of bytes to read, to write and to update in place, and of
// flops; its time is that of the slowest kind of work alone, or, if kinds must wait for each other, their sum. Each is done in the fastest
// way found: on one core or on all, in shares or in pieces, in one stream or several, with or without bypassing the cache.
#include <emmintrin.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include "protocol.h"
#include "team.h"

namespace {

using bench::Team;

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

// --- bytes: one region is read, one written, one updated in place, in step ---
//
// In assembly: what a compiler makes of vectors that are wider than its target decides how fast the same loops are.

struct alignas(64) Line {
  float values[16];
};
constexpr std::size_t kLine = sizeof(Line), kTurn = 8;  // lines of the longest region that a stream handles before the next one's turn
constexpr int kMostStreams = 8, kAhead = 8;             // lines that are asked for before they are needed

struct Zmm {
  static void load(const Line* p) { asm volatile("vmovaps (%0),%%zmm0" : : "r"(p) : "xmm0"); }
  static void store(Line* p) { asm volatile("vmovaps %%zmm0,(%0)" : : "r"(p) : "memory"); }
  static void update(Line* p) { asm volatile("vmovaps (%0),%%zmm0\n vmovaps %%zmm0,(%0)" : : "r"(p) : "xmm0", "memory"); }
  static void bypass(Line* p) { asm volatile("vmovntps %%zmm0,(%0)" : : "r"(p) : "memory"); }
  static void end() { asm volatile("vzeroupper"); }
};
struct Ymm {
  static void load(const Line* p) { asm volatile("vmovaps (%0),%%ymm0\n vmovaps 32(%0),%%ymm1" : : "r"(p) : "xmm0", "xmm1"); }
  static void store(Line* p) { asm volatile("vmovaps %%ymm0,(%0)\n vmovaps %%ymm0,32(%0)" : : "r"(p) : "memory"); }
  static void update(Line* p) {
    asm volatile("vmovaps (%0),%%ymm0\n vmovaps 32(%0),%%ymm1\n vmovaps %%ymm0,(%0)\n vmovaps %%ymm1,32(%0)"
                 : : "r"(p) : "xmm0", "xmm1", "memory");
  }
  static void bypass(Line* p) { asm volatile("vmovntps %%ymm0,(%0)\n vmovntps %%ymm0,32(%0)" : : "r"(p) : "memory"); }
  static void end() { asm volatile("vzeroupper"); }
};
struct Xmm {
  static void load(const Line* p) {
    asm volatile("movaps (%0),%%xmm0\n movaps 16(%0),%%xmm1\n movaps 32(%0),%%xmm2\n movaps 48(%0),%%xmm3"
                 : : "r"(p) : "xmm0", "xmm1", "xmm2", "xmm3");
  }
  static void store(Line* p) {
    asm volatile("movaps %%xmm0,(%0)\n movaps %%xmm0,16(%0)\n movaps %%xmm0,32(%0)\n movaps %%xmm0,48(%0)" : : "r"(p) : "memory");
  }
  static void update(Line* p) {
    asm volatile("movaps (%0),%%xmm0\n movaps 16(%0),%%xmm1\n movaps 32(%0),%%xmm2\n movaps 48(%0),%%xmm3\n"
                 "movaps %%xmm0,(%0)\n movaps %%xmm1,16(%0)\n movaps %%xmm2,32(%0)\n movaps %%xmm3,48(%0)"
                 : : "r"(p) : "xmm0", "xmm1", "xmm2", "xmm3", "memory");
  }
  static void bypass(Line* p) {
    asm volatile("movntps %%xmm0,(%0)\n movntps %%xmm0,16(%0)\n movntps %%xmm0,32(%0)\n movntps %%xmm0,48(%0)" : : "r"(p) : "memory");
  }
  static void end() {}
};

struct Regions {
  const Line* read;
  Line *write, *update;
  std::size_t reads, writes, updates;  // lines
};

struct Way {
  int parts;           // threads
  std::size_t pieces;  // that they take as they come; as many as parts: each has its share
  int streams;         // that a thread follows in turn
  bool bypass, ahead;  // the cache when writing; prefetches instead of leaving that to the hardware
};

template <class Registers, bool bypass, bool ahead>
void stream(const Regions& all, int streams) {
  struct Share {
    const Line *read, *read_end;
    Line *write, *write_end, *update, *update_end;
  } shares[kMostStreams];
  const auto of = static_cast<std::size_t>(streams);
  for (std::size_t s = 0; s < of; ++s)
    shares[s] = {all.read + all.reads * s / of,         all.read + all.reads * (s + 1) / of, all.write + all.writes * s / of,
                 all.write + all.writes * (s + 1) / of, all.update + all.updates * s / of,   all.update + all.updates * (s + 1) / of};
  const std::size_t turns = std::max<std::size_t>(1, std::max({all.reads, all.writes, all.updates}) / of / kTurn);
  const auto each = [&](std::size_t lines) { return static_cast<std::ptrdiff_t>((lines / of + turns) / turns); };  // rounded up
  const std::ptrdiff_t reads = each(all.reads), writes = each(all.writes), updates = each(all.updates);
  for (std::size_t turn = 0; turn <= turns; ++turn) {
    for (std::size_t s = 0; s < of; ++s) {
      Share& my = shares[s];
      const Line *r = my.read, *r_end = r + std::min(reads, my.read_end - r);
      Line *w = my.write, *w_end = w + std::min(writes, my.write_end - w);
      Line *u = my.update, *u_end = u + std::min(updates, my.update_end - u);
      my.read = r_end, my.write = w_end, my.update = u_end;
      if constexpr (ahead) {
        for (const Line* p = r; p < r_end; ++p) __builtin_prefetch(p + kAhead);
        for (const Line* p = u; p < u_end; ++p) __builtin_prefetch(p + kAhead, 1);
      }
      for (; r < r_end; ++r) Registers::load(r);
      for (; u < u_end; ++u) Registers::update(u);
      for (; w < w_end; ++w) bypass ? Registers::bypass(w) : Registers::store(w);
    }
  }
  Registers::end();
  if constexpr (bypass) _mm_sfence();
}

template <class Registers>
void stream(const Regions& all, const Way& way) {
  if (way.bypass) return way.ahead ? stream<Registers, true, true>(all, way.streams) : stream<Registers, true, false>(all, way.streams);
  return way.ahead ? stream<Registers, false, true>(all, way.streams) : stream<Registers, false, false>(all, way.streams);
}

void do_bytes(const Regions& all, const Way& way) {
  if (__builtin_cpu_supports("avx512f")) return stream<Zmm>(all, way);
  if (__builtin_cpu_supports("avx2")) return stream<Ymm>(all, way);
  stream<Xmm>(all, way);
}

struct Lines {
  std::shared_ptr<void> memory;
  Line* get() const { return static_cast<Line*>(memory.get()); }
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

// --- triad: a = b + s c as a compiler makes it, in shares: the usual measure of a machine's bandwidth ---

[[gnu::target_clones("avx512f", "avx2", "default")]] void triad(float* __restrict a, const float* __restrict b, const float* __restrict c,
                                                                           std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) a[i] = b[i] + 3.f * c[i];
}

// The same past the cache. REQUIRES: n is a multiple of 4, a is aligned.
void triad_past_cache(float* a, const float* b, const float* c, std::size_t n) {
  const __m128 s = _mm_set1_ps(3.f);
  for (std::size_t i = 0; i < n; i += 4) _mm_stream_ps(a + i, _mm_add_ps(_mm_loadu_ps(b + i), _mm_mul_ps(s, _mm_loadu_ps(c + i))));
  _mm_sfence();
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

// What one of `of` parts of all lines is, from where to where.
struct Range {
  std::size_t begin, size;
  Range(std::size_t lines, std::size_t part, std::size_t of) : begin(lines * part / of), size(lines * (part + 1) / of - begin) {}
};

std::vector<Way> ways(std::size_t lines, bool writes, int cores) {
  constexpr std::size_t kSmall = (4u << 20) / kLine, kPiece = (256u << 10) / kLine;
  std::vector<Way> all;
  for (const bool bypass : {false, true}) {
    for (const int streams : {1, 2, 4, 8}) {
      if (bypass && !writes) continue;
      const auto shares = static_cast<std::size_t>(cores);
      if (lines <= kSmall) all.push_back({1, 1, streams, bypass, false});
      for (const bool ahead : {false, true}) {
        all.push_back({cores, shares, streams, bypass, ahead});  // the best if a part of its share stays in each core's cache
        if (lines > 2 * kPiece * shares) all.push_back({cores, lines / kPiece, streams, bypass, ahead});
      }
    }
  }
  return all;
}

std::vector<Candidate> byte_candidates(Team& team, std::size_t reads, std::size_t writes, std::size_t updates) {
  const Lines read = lines(reads), write = lines(writes), update = lines(updates);
  std::vector<Candidate> all;
  for (const Way& way : ways(reads + writes + updates, writes > 0, team.size())) {
    const auto piece = [=](std::size_t i) {
      const Range r(reads, i, way.pieces), w(writes, i, way.pieces), u(updates, i, way.pieces);
      do_bytes({read.get() + r.begin, write.get() + w.begin, update.get() + u.begin, r.size, w.size, u.size}, way);
    };
    const bool shares = way.pieces == static_cast<std::size_t>(way.parts);
    all.push_back({[=, &team](int part, int) {
                     if (shares) return piece(static_cast<std::size_t>(part));
                     for (long i; (i = team.take(part, static_cast<long>(way.pieces))) >= 0;) piece(static_cast<std::size_t>(i));
                   },
                   way.parts});
  }
  return all;
}

std::vector<Candidate> triad_candidates(Team& team, std::size_t count) {  // lines of each of the three
  const Lines a = lines(count), b = lines(count), c = lines(count);
  std::vector<Candidate> all;
  for (const bool bypass : {false, true})
    for (const int parts : {1, team.size()})
      all.push_back({[=](int part, int of) {
                       const Range share(count, static_cast<std::size_t>(part), static_cast<std::size_t>(of));
                       (bypass ? triad_past_cache : triad)(a.get()[share.begin].values, b.get()[share.begin].values, c.get()[share.begin].values,
                                                           share.size * kLine / sizeof(float));
                     },
                     parts});
  return all;
}

std::vector<Candidate> flop_candidates(Team& team, double wanted) {
  constexpr double kPiece = 5e5;
  const long pieces = static_cast<long>(wanted / kPiece);
  const Team::Job shares = [=](int, int of) { do_flops(wanted / of); };
  const Team::Job in_pieces = [=, &team](int part, int) {
    while (team.take(part, pieces) >= 0) do_flops(wanted / static_cast<double>(pieces));
  };
  std::vector<Candidate> all = {{shares, 1}, {shares, team.size()}};
  if (pieces > 4 * team.size()) all.push_back({in_pieces, team.size()});
  return all;
}

// All take turns, since machines drift, and after some rounds the half with the slower medians leaves: none wins by one good moment. A turn
// begins with one repetition that is not timed, so that the cache holds what it would hold in a longer run.
Candidate fastest(Team& team, std::vector<Candidate> all) {
  for (Candidate& c : all) c.estimate = std::max(c.nanoseconds(team, 1), 1.0);
  do {
    std::vector<std::vector<double>> times(all.size());
    double spent = 0;
    for (int round = 0; round < 5 && spent < 4e8; ++round) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        const long count = std::max(1L, static_cast<long>(2e6 / all[i].estimate));
        all[i].nanoseconds(team, 1);
        const double time = all[i].nanoseconds(team, count);
        times[i].push_back(time / static_cast<double>(count));
        spent += time;
      }
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto middle = times[i].begin() + static_cast<std::ptrdiff_t>(times[i].size() / 2);
      std::nth_element(times[i].begin(), middle, times[i].end());
      all[i].estimate = std::max(*middle, 1.0);
    }
    std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return a.estimate < b.estimate; });
    all.erase(all.begin() + static_cast<std::ptrdiff_t>((all.size() + 1) / 2), all.end());
  } while (all.size() > 1);
  return all.front();
}

// start, triad BYTES, limit slowest|sum CALLS BYTES_READ BYTES_WRITTEN BYTES_UPDATED FLOPS, or
// once limit ...: a start, and after it that work
bench::Workload make(const std::string& op, const std::vector<std::string>& words) {
  if (op == "start") return bench::start_this_program();
  if (op == "once" && !words.empty()) {
    bench::Workload both = bench::start_this_program();
    both.nanoseconds = [start = both, work = make(words[0], {words.begin() + 1, words.end()})](long count) {
      return bench::timed({start.run, start.results}, count) + work.nanoseconds(count);
    };
    return both;
  }
  static Team team(bench::allowed_cores());
  if (op == "triad" && words.size() == 1) {
    const std::size_t each = std::max<std::size_t>(1, static_cast<std::size_t>(std::stod(words[0])) / (3 * kLine));
    bench::Workload workload;
    workload.nanoseconds = [best = fastest(team, triad_candidates(team, each))](long count) { return best.nanoseconds(team, count); };
    workload.results = [] { return std::vector<std::vector<float>>{}; };
    return workload;
  }
  if (op != "limit" || words.size() != 6 || (words[0] != "slowest" && words[0] != "sum"))
    throw std::runtime_error("there is no workload " + op);
  const bool sum = words[0] == "sum";
  const double calls = std::stod(words[1]), wanted = std::stod(words[5]);
  const auto count_lines = [&](std::size_t word) { return (static_cast<std::size_t>(std::stod(words[word])) + kLine - 1) / kLine; };
  const std::size_t reads = count_lines(2), writes = count_lines(3), updates = count_lines(4);

  std::vector<Candidate> kinds;
  if (calls > 0) {
    constexpr long kCalls = 1000;  // enough to make the call of the job itself disappear
    const Team::Job job = [n = static_cast<long>(calls) * kCalls](int, int) {
      for (long i = 0; i < n; ++i) indirect();
    };
    kinds.push_back(fastest(team, {{job, 1, kCalls}}));
  }
  if (reads + writes + updates > 0) kinds.push_back(fastest(team, byte_candidates(team, reads, writes, updates)));
  if (wanted > 0) kinds.push_back(fastest(team, flop_candidates(team, wanted)));
  if (kinds.empty()) throw std::runtime_error("a limit needs some work");

  // What is far from being the slowest stays so; only the others are measured again.
  double slowest = 0;
  for (const Candidate& c : kinds) slowest = std::max(slowest, c.estimate);
  const double least = sum ? 0 : slowest / 2;
  kinds.erase(std::remove_if(kinds.begin(), kinds.end(), [=](const Candidate& c) { return c.estimate < least; }), kinds.end());
  bench::Workload workload;
  workload.nanoseconds = [kinds, sum](long count) {
    double most = 0, total = 0;
    for (const Candidate& c : kinds) {
      const double time = c.nanoseconds(team, count);
      most = std::max(most, time), total += time;
    }
    return sum ? total : most;
  };
  workload.results = [] { return std::vector<std::vector<float>>{}; };
  return workload;
}

}  // namespace

int main(int argc, char** argv) {
  const char* isa = __builtin_cpu_supports("avx512f") ? "AVX-512" : __builtin_cpu_supports("avx2") ? "AVX2" : "SSE2";
  return bench::serve(argc, argv, isa, make);
}
