// A contestant's side of the benchmark protocol. The driver starts each contestant as a child and sends lines; each gets one line back.
//
//   (at the start)            hello VERSION
//   prepare OP INPUT...       ok, or: no REASON
//   run COUNT                 nanoseconds that COUNT repetitions took
//   check                     for each result: the mean of |y|, then eight elements; results end with ;
//   quit
//
// An INPUT is DTYPE:SHAPE:LOW:HIGH, for example f32:4096x1024:-4:4 or i32:scalar:0:10. All contestants fill it with the same numbers.
// `ContestantName nothing` ends at once: that is what starting the program costs.
//
// C++17, because a peer's headers may know no more.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bench {

struct Input {
  bool is_float;
  std::vector<std::int64_t> shape;
  double low, high;

  std::int64_t size() const;
  std::vector<float> floats(unsigned seed) const;
  std::vector<std::int32_t> integers(unsigned seed) const;
};

/// One prepared workload. `run` repeats it; `results` computes it once and gives the elements of each result in row-major order.
struct Workload {
  std::function<void(long count)> run;
  std::function<std::vector<std::vector<float>>()> results;
  std::function<double(long count)> nanoseconds = nullptr;  // instead of `run`, for one that measures itself
};

/// Makes the workload of an op; throws std::exception to decline. `words` are what followed the op in the line.
using Make = std::function<Workload(const std::string& op, const std::vector<std::string>& words)>;

Input parse_input(const std::string& word);
std::vector<Input> parse_inputs(const std::vector<std::string>& words);

/// Nanoseconds for `count` repetitions. The test of instruction counts finds the workloads by the name of this function.
[[gnu::noinline]] double timed(const Workload& workload, long count);

/// Starts this very program `count` times with the argument `nothing`, each after the end of the one before.
Workload start_this_program();

/// Answers the driver until it ends. Call it from main and return what it returns.
int serve(int argc, char** argv, const std::string& version, const Make& make);

/// Keeps the compiler from removing a computation whose result nobody reads.
template <class T>
inline void keep(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

}  // namespace bench
