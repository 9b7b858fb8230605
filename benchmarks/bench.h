// The benchmark driver: workloads by id, measured in interleaved rounds beside their physical limit.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace bench {

/// One contestant: runs its workload `count` times.
using Run = std::function<void(long count)>;

struct Case {
  std::string id;    // "T1"
  std::string name;  // "eager add of two f32 scalars"
  Run ours;
  Run limit;         // the same number of repetitions of what the hardware cannot avoid
  long block;        // repetitions in one timed block
};

/// Medians over rounds. `of_limit` is the median of per-round limit / ours: 1 means nothing is left to gain.
struct Result {
  std::string id, name;
  double ours_ns, limit_ns, of_limit;
};

Result measure(const Case& c);

std::vector<Case> eager_add_cases();  // t1.cc

/// Keeps the compiler from removing a computation whose result nobody reads.
template <class T>
inline void keep(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

}  // namespace bench
