// A contestant's side of the benchmark protocol. The driver starts each contestant as a child and sends lines; each gets one line back.
//
//   (at the start)            hello VERSION
//   prepare OP INPUT...       ok, or: no REASON
//   run COUNT                 nanoseconds that COUNT repetitions took
//   check                     for each result: the mean of |y|, then eight elements and the last; results end with ;
//   forget                    ok; what was prepared is gone, and its memory with it
//   quit
//
// An INPUT is DTYPE:SHAPE:LOW:HIGH, for example f32:4096x1024:-4:4 or i32:scalar:0:10. All contestants fill it with the same numbers.
// f32 and i32 are spread evenly; zipf:512:1.05:1000 are ids below 1000, of which the nth is as likely as 1 / n^1.05, nearly.
//
// Instead of serving, `CONTESTANT nothing` ends at once and `CONTESTANT once OP INPUT...` after one repetition: what starting costs.
// `CONTESTANT profile OP INPUT...` prints what the time of a repetition is made of, if the contestant knows.
//
// C++17, because a peer's headers may know no more.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bench {

struct Input {
  enum class Kind { kFloats, kIntegers, kZipf };
  Kind kind;
  std::vector<std::int64_t> shape;
  double low, high;  // kZipf: the exponent, and how many ids there are

  bool is_float() const { return kind == Kind::kFloats; }
  std::int64_t size() const;
  std::vector<float> floats(unsigned seed) const;
  std::vector<std::int32_t> integers(unsigned seed) const;
};

/// One prepared workload. `run` repeats it; `results` computes it once and gives the elements of each result in row-major order.
struct Workload {
  std::function<void(long count)> run;
  std::function<std::vector<std::vector<float>>()> results;
  std::function<double(long count)> nanoseconds = nullptr;  // instead of `run`, for one that measures itself
  std::function<std::string()> profile = nullptr;           // what the time of a repetition is made of, as text
};

/// Makes the workload of an op; throws std::exception to decline. `words` are what followed the op in the line.
using Make = std::function<Workload(const std::string& op, const std::vector<std::string>& words)>;

Input parse_input(const std::string& word);
std::vector<Input> parse_inputs(const std::vector<std::string>& words);

/// Nanoseconds for `count` repetitions. The test of instruction counts finds the workloads by the name of this function.
[[gnu::noinline]] double timed(const Workload& workload, long count);

/// Starts this very program again and again, each time after the end of the time before.
Workload start_this_program(std::vector<std::string> arguments = {"nothing"});
/// The same with `once` before the arguments, an op and its inputs.
Workload start_once(std::vector<std::string> arguments);

/// Answers the driver until it ends. Call it from main and return what it returns.
int serve(int argc, char** argv, const std::string& version, const Make& make);

/// Keeps the compiler from removing a computation whose result nobody reads.
template <class T>
inline void keep(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

}  // namespace bench
