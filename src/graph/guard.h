// Guards against NaN and infinity.
#pragma once

#include <string>

#include "core/apply.h"
#include "graph/graph.h"

namespace weft::inline v0 {

/// Puts a call of `check` (check_numerics) behind each call that makes floating values, also in branches and loops. Its message names the call.
void guard_numerics(Graph& graph, const Op& check);
/// The same for one output of the graph, which may be something that no call has made. `what` is for the message.
void guard_output(Graph& graph, std::size_t output, const Op& check, std::string what, Location at);

/// Does to calls while it is installed what guard_numerics does to those of a graph.
class NumericsGuard final : public Interpreter {
 public:
  explicit NumericsGuard(const Op& check) : check_(check) {}
  void apply(Call call, Tensors& outputs) override;

 private:
  const Op& check_;
};

}  // namespace weft::inline v0
