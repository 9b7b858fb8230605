// RunPlan: what one kind of run does. Chosen from the graph once; then it is a traced Function on the session's Variables.
#pragma once

#include "compat/graph_state.h"

namespace weft::inline v0::compat::v1 {

/// A value of the graph, or what a Variable holds.
struct Fetch {
  ValueId value = kNoValue;
  std::uint32_t variable = 0;  // if there is no value
  friend bool operator==(const Fetch&, const Fetch&) = default;
};

/// What makes two runs one kind.
struct RunKind {
  std::vector<Fetch> fetches;
  std::vector<ValueId> fed;  // in order
  friend bool operator==(const RunKind&, const RunKind&) = default;
};

/// One thing that a run does. What belongs to the graph is copied, so that it may grow meanwhile.
struct RunStep {
  enum class Kind : std::uint8_t { kConstant, kCall, kRead, kReadInTurn, kWrite };
  Kind kind;
  ValueId value;
  GraphNode call = {};            // of a call
  Tensor constant = {};
  std::uint32_t variable = 0;     // of reads and writes
  Event::Way way = Event::Way::kAssign;
  ValueId source = kNoValue;      // of a write; of a read, the write whose value it sees, or none: that of the start
  Location at = {};
};

/// The steps of a run, and what it needs of the session.
struct RunSteps {
  std::vector<RunStep> steps;
  std::vector<Spec> fed;                 // of the values that are fed, in order
  std::vector<std::uint32_t> variables;  // all that are read or written
  std::vector<std::uint32_t> starts;     // those whose value at the start is needed
  std::vector<ValueId> sees;             // for each fetch of a Variable: the write, or none
};

/// Throws ValueError for a placeholder that is needed and not fed. REQUIRES: the graph is locked.
RunSteps choose_steps(const GraphState& graph, const RunKind& kind, Location at);

using RunFunction = Function<std::vector<Tensor>(std::vector<Tensor>)>;
using RunCall = ConcreteFunction<std::vector<Tensor>(std::vector<Tensor>)>;

/// `variables` are those of the session, one for each of steps.variables.
RunCall trace_run(const RunKind& kind, std::shared_ptr<const RunSteps> steps, const std::vector<Variable>& variables, Location at);

}  // namespace weft::inline v0::compat::v1
