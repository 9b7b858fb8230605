// Graph: a traced program. Pure calls of ops on values, in the order in which they were made.
//
// State is threaded, not ordered: what a program reads of a Variable is an input here, what it writes an output. So a graph has no handles
// and no order but that of its data, and any two calls may change places unless one needs the other's result.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/apply.h"

namespace weft::inline v0 {

/// A value of a graph: its position in Graph::values.
using ValueId = std::uint32_t;

struct GraphValue {
  enum class Kind : std::uint8_t { kInput, kConstant, kResult };
  Kind kind;
  std::uint32_t from;  // which input, constant or node it comes from
  Spec spec;           // sizes may be unknown
  Location made_at;
};

/// A call. Its results are the values [first, first + count).
///
/// One that does not run is a *rule*: it is there because its row may refuse sizes that were not known while tracing. Whoever knows them infers it
/// like any other call, at its place among them, and computes nothing. So errors are those of the program that calls everything: an expanding row,
/// whose parts are calls of their own, and a call whose results nobody needs, refuse what they always do. Its results, if it has any, are
/// read by other rules only. What a rule reads is not computed for its sake, except by calls whose values decide sizes (`boolean_mask`): who has to know
/// those sizes has to run them.
struct GraphNode {
  const Op* op;
  std::vector<Attr> attrs;
  SmallVector<ValueId, 3> inputs;
  ValueId first;
  std::uint32_t count;
  Location at;
  bool runs = true;
};

/// A value that was known while tracing, and is part of the graph since.
struct GraphConstant {
  Tensor value;
  const Op* used_by;    // first, and there
  Location at;
  bool number = false;  // the program has written it, or it is computed from such alone: nothing from outside is in it
};

/// Invariants (`verify` checks them):
///   - a node reads only values that are inputs, constants, or results of nodes before it;
///   - each value has exactly one place where it comes from, and that place knows it;
///   - the Specs of a node's results are those that its row infers from its inputs, unless it is a rule without results;
///   - what a rule makes is read by rules only.
struct Graph {
  std::vector<GraphValue> values;
  std::vector<GraphNode> nodes;
  std::vector<GraphConstant> constants;
  std::vector<ValueId> inputs, outputs;
  bool fuses = true;     // several calls may be one step of the plan
  bool overlaps = true;  // several steps may run side by side
  std::vector<std::string> without{};  // passes that are left out of it, of its parts, and of what is derived from it

  ValueId add_input(Spec spec, Location at);
  ValueId add_constant(GraphConstant constant);
  /// The first of the results. The inputs are not checked against the row: the tracer has done so.
  ValueId add_node(const Op& op, AttrSpan attrs, std::span<const ValueId> inputs, const Specs& results, Location at);

  /// A rule without results.
  void add_rule(const Op& op, AttrSpan attrs, std::span<const ValueId> inputs, Location at);
  std::size_t calls() const;  // that run

  /// One line for each input, constant and call: "%4 f32[3] = add(%1, %2)   net.cc:12"; a rule is "check add(%1, %2)".
  std::string str() const { return str({}, {}); }
  /// The same with names for inputs and outputs, as many as there are of each, or none; an output without one is returned.
  std::string str(std::span<const std::string> input_names, std::span<const std::string> output_names) const;
};

/// "add(%1, %2, axis=[0])"
std::string call_text(const GraphNode& node);
/// "net.cc:12", or nothing
std::string line_text(Location at);
/// Of few elements, the elements; else "..."
std::string constant_text(const GraphConstant& constant);

/// Throws InternalError if an invariant does not hold; `after` says what has been done to the graph.
void verify(const Graph& graph, const char* after);

/// For each value how many inputs of calls that run and outputs of the graph it is.
std::vector<std::uint32_t> count_uses(const Graph& graph);

}  // namespace weft::inline v0
