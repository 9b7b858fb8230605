// A call of a Function whose body runs itself, instead of a trace of it.
#pragma once

#include "state/function_arguments.h"

namespace weft::inline v0::detail {

/// The body runs as a block, on copies of the arguments; what it has made of them is handed out when the block is published.
class EagerBody {
 public:
  explicit EagerBody(FunctionCallState& call) : call_(call), given_(call) {}
  /// Throws what the body throws, and TraceError for what a trace of it would refuse of the arguments: then nothing is published or replaced.
  void run(FunctionRef<void()> body);

  void begin(std::span<const Argument> copies) {
    given_.begin(copies);
    given_.hand_over();
  }
  void returns(std::shared_ptr<void> result);

 private:
  FunctionCallState& call_;
  GivenArguments given_;
  GivenArguments::Replaced replaced_;
};

}  // namespace weft::inline v0::detail
