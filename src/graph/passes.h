// Passes: each changes a graph into one that computes the same bits.
#pragma once

#include <string>

#include "graph/graph.h"

namespace weft::inline v0 {

struct Pass {
  const char* name;
  const char* doc;  // one sentence
  void (*run)(Graph&);
};
/// All of them, in the order in which they run. Debug builds verify the graph after each.
std::span<const Pass> passes();

struct Optimized {
  struct Figures {
    const char* pass;
    std::size_t calls_before, calls_after;
    double microseconds;
  };
  std::vector<Figures> passes;    // those that ran
  std::vector<bool> kept_inputs;  // the others are gone
};
/// Runs the passes but those named in `graph.without`, then drops the inputs behind the first `fixed_inputs` that nobody reads.
Optimized optimize(Graph& graph, std::size_t fixed_inputs);

/// Calls whose inputs are all constant are made now, if their results are small and they cannot fail.
void fold_constants(Graph& graph);

/// Calls that have a simpler form with the same bits get it, by a table of rules (simplify.cc). What cannot be known before sizes are
/// stays: a call that might refuse them must.
void simplify(Graph& graph);

/// Calls of the same row with the same attributes on the same values are made once. Equal small constants are one value.
void share_equal(Graph& graph);

/// Drops calls whose results nobody needs, unless they may fail on data, and constants that nobody reads. Of a call that may refuse sizes which are
/// not known yet its rule stays, and with it what decides those sizes by values.
void drop_dead(Graph& graph);

/// Loops that count their turns (an integer, the same step every time, as long as it is less than a bound) are told how many they take: then no turn asks
/// whether to go on, and a counter that nobody else reads is not computed at all.
void count_turns(Graph& graph);

/// Says that calls may share a step of the plan (plan.h), which knows the shapes and so decides which of them do.
void fuse(Graph& graph);

/// Says that steps of the plan may run side by side on the pool's threads; the plan decides which, and leaves other threads to the long ones.
void overlap(Graph& graph);

}  // namespace weft::inline v0
