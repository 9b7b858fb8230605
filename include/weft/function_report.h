// What a Function says about itself: why it was traced, what it froze, what a call does and how long that takes.
//
//   print("{}", step.explain());            // causes, reads, writes, frozen values, fused groups
//   step.profile(100);                      // the next 100 calls are timed
//   ...
//   print("{}", step.explain());            // the same, with the time of each step of the plan
//   step.graph().write("step.html");        // a picture of the program
//
// All of it are values: they stay as they are when the Function goes on. docs/functions.md shows how to read them.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include <weft/location.h>
#include <weft/runtime.h>

namespace weft::inline v0 {

/// What a Function has done and frozen.
struct WEFT_API FunctionReport {
  struct Constant {
    std::string value;  ///< as text; of many elements, the Spec
    std::string op;     ///< that read it first, or "return"
    Location at{};
    bool literal = false;  ///< a number of the program
  };
  /// What each call asks a lambda for (<weft/each_call.h>).
  struct Asked {
    std::string spec;
    Location at{};
  };
  /// A pass over the ops of a trace; `FunctionOptions::without` leaves it out.
  struct Pass {
    std::string name;
    std::size_t ops_before = 0, ops_after = 0;
    double microseconds = 0;
  };
  /// A step of the plan: one op, or a group of pointwise ops that go over the elements together.
  struct Step {
    std::vector<std::string> ops;      ///< in their order
    std::vector<Location> at;          ///< the line of each
    std::vector<std::string> results;  ///< Specs of what it leaves for others
    std::size_t bytes = 0;             ///< of those, without what has a size that values decide
    std::size_t turn = 0;              ///< steps of one turn, which are neighbours, run side by side
    double microseconds = 0;           ///< mean of the calls that were timed
    double last_start = 0, last_microseconds = 0;  ///< in the last of them, from the start of the call
    bool fused() const { return ops.size() > 1; }
  };
  struct Trace {
    std::vector<std::string> arguments;  ///< "x f32[32,10]", one for each leaf
    std::string cause;                   ///< "first call", or what differed: "argument 0 `x`: f32[32,10] -> f32[64,10]"
    std::vector<std::string> reads, writes;  ///< Variables: by path from an argument, else by name or the line that made them
    std::vector<Asked> asked;
    std::vector<Constant> constants;
    std::vector<Pass> passes;
    std::size_t ops = 0;          ///< that are left after the passes
    std::vector<Step> steps;      ///< of the plan that was used last; empty if there is none
    std::size_t arena_bytes = 0;  ///< that a call needs for what does not leave it
    std::size_t live_bytes = 0;   ///< of it, the most that is in use at a time
    std::uint64_t calls = 0;
    std::uint64_t timed = 0;  ///< calls of that plan that were timed since `profile`
    double milliseconds = 0;  ///< that tracing took
  };
  std::string name;
  std::vector<Trace> traces;  ///< those that are kept, oldest first
  std::uint64_t traced = 0;   ///< how often the body has been traced in all
  std::string str() const;
  /// The last timed call of each trace as trace events, JSON for chrome://tracing and Perfetto. Without a timed call there are none.
  std::string chrome_trace() const;
};

namespace detail {
class FunctionCore;
struct FunctionPictures;
}  // namespace detail

/// The ops of each trace of a Function, to look at.
class WEFT_API FunctionGraph {
 public:
  explicit FunctionGraph(std::shared_ptr<const detail::FunctionPictures> pictures) : pictures_(std::move(pictures)) {}

  std::string str() const;   ///< one line for each input, constant and op: "%4 f32[3] = add(%1, %2)   net.cc:12"
  std::string dot() const;   ///< for Graphviz; fused groups are clusters
  std::string html() const;  ///< a page that needs nothing else; fused groups are boxes
  /// One of these, by how the path ends: .txt, .dot or .html. Throws IoError if it cannot be written, ValueError for another ending.
  void write(const std::string& path, Location at = Location::here()) const;

 private:
  std::shared_ptr<const detail::FunctionPictures> pictures_;
};

WEFT_API std::ostream& operator<<(std::ostream& out, const FunctionReport& report);  ///< report.str()
WEFT_API std::ostream& operator<<(std::ostream& out, const FunctionGraph& graph);    ///< graph.str()

}  // namespace weft::inline v0
