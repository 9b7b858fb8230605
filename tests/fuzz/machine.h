// A program with Variables of its own, ready to be called, in one of three ways that must not differ.
#pragma once

#include <optional>

#include "tests/fuzz/interpreter.h"

namespace weft::fuzz {

/// A value that was seen. The Tensor itself is not held, so that Variables may go on to change in place.
struct Seen {
  Spec spec;
  std::string bytes;
  bool operator==(const Seen&) const = default;
  std::string str() const;  ///< numbers, each with its bits
};

/// All that can be seen of a call.
struct Outcome {
  std::string error;            // class, line and sentence, or nothing
  std::vector<Seen> results;
  std::vector<Seen> variables;  // by slot, and the state of the random numbers
  std::vector<std::uint64_t> versions;
};

class Machine {
 public:
  Machine(const Program& program, Mode mode);
  Outcome run(const Call& call);
  const Features& seen() const { return seen_; }  ///< what the calls so far have done

 private:
  struct Given {
    std::vector<Tensor> values;
    std::vector<Variable> passed;
  };
  std::vector<Tensor> body(Given& given);
  std::vector<Tensor> call_with(Given given);

  const Mode mode_;
  std::vector<Variable> slots_;
  Variable alias_;
  Interpreter interpreter_;
  std::optional<Function<Tensor(Tensor, Tensor, Tensor, Tensor, Tensor)>> of_tensors_;
  std::optional<Function<std::vector<Tensor>(Given)>> of_tree_;
  std::array<int, 2> passed_{};  // slots
  Features seen_;
};

}  // namespace weft::fuzz
