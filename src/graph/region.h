// Regions: graphs that a call runs as a part of it. A branch, the body of a loop, a Function that a tape has recorded as one call.
#pragma once

#include <exception>

#include "graph/run.h"

namespace weft::inline v0 {

/// How the gradient of a graph is computed: made once for the inputs that need one, and kept.
///
/// forward:  xs -> ys, saved
/// backward: xs, saved, dys (of the floating ys) -> gradients
///
/// Or, how its tangents are, for the inputs that move:
///
/// forward:  xs, tangents of those that move -> ys, tangents of those that move then
struct Derived {
  struct Gradient {  // of an input: at this output of `backward`, if not -1; if sparse, `indices` is the output of its rows' numbers
    std::int32_t at = -1, indices = -1;
  };
  std::shared_ptr<const Runner> forward, backward;
  std::size_t results = 0;         // how many ys
  std::vector<bool> floating;      // which of them
  std::vector<Gradient> gradients;  // one for each x; or, of tangents, for each y, behind the results of `forward`
  std::vector<std::exception_ptr> errors{};  // of tangents that cannot be computed; empty: all can
};

/// Of a conditional loop, what the pass count_turns has found: one carried integer changes by the same step in every turn, and the loop goes on while
/// it lies before a bound. So the number of turns is known before the first one.
struct Counting {
  std::shared_ptr<const Runner> of;  // the body that this is true of: a Region with other bodies may still carry it
  std::size_t counter;   // which of the carried values: a scalar, i32 or i64
  std::int64_t step;     // not 0
  std::int64_t bound;    // or, if `read` is not -1, that one of the values that every turn reads
  std::int32_t read = -1;
  bool inclusive;        // it goes on at the bound, too
  bool kept;             // `rest` needs the counter and carries it on
  std::shared_ptr<const Runner> rest;  // the body without `go`, and without the counter unless it is kept

  /// How often the loop runs if the first turn does. kUnknown: the counter would leave its dtype before the end, or nobody can count so far.
  std::int64_t turns(DType dtype, std::int64_t start, std::int64_t end) const;
};

/// The graphs of one call and how they are used.
///
/// call:         bodies[0] takes the inputs.
/// switch_case:  the first input, i32 or i64, says which; that body takes the others. All bodies make results of the same dtypes and ranks.
/// loop:         the inputs are: `go` (bool, if conditional), the carried values, the elements (of which each turn sees one row), and what every
///               turn reads. bodies[0] takes the same without `go` and makes: the next carried values, `go` (if conditional), rows of results.
///               The loop makes: the last carried values, the results (all rows), and the carried values at the start of each turn.
struct Region {
  std::vector<std::shared_ptr<const Runner>> bodies;
  std::size_t carried = 0, elements = 0;
  bool may_miss = false;                      // of switch_case: the first input may name no body
  bool conditional = false, reverse = false;  // reverse: the last row first; row i of the results belongs to row i of the elements
  std::shared_ptr<const Derived> derived{};
  std::shared_ptr<const Counting> counting{};  // of a loop

  /// What is known of the turns of a loop with these bodies, or null.
  const Counting* counted() const { return counting != nullptr && counting->of == bodies[0] ? counting.get() : nullptr; }
  bool plain() const { return bodies.size() == 1 && carried + elements == 0 && !conditional; }  // runs its body once
};

/// The Specs of a graph's outputs for inputs of these Specs. Throws what the rows' inference throws.
Specs infer_outputs(const Graph& graph, std::span<const Spec> inputs);
/// The smallest common Spec: sizes that differ are unknown. REQUIRES: same dtype and rank.
Spec merge_specs(const Spec& a, const Spec& b);

// Inference and kernels of the three.
Specs infer_call(const Infer& in);
Specs infer_switch(const Infer& in);
Specs infer_loop(const Infer& in);
void run_call(KernelCall& call);
void run_switch(KernelCall& call);
void run_loop(KernelCall& call);

/// Whether a call, or one in the graphs that it runs, may fail on data.
bool may_fail(const GraphNode& node);
/// Whether sizes of its results, of those that are not known, are perhaps decided by values: then no inference tells them, only the call itself.
bool decides_sizes(const Graph& graph, const GraphNode& node);

}  // namespace weft::inline v0
