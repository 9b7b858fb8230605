// The rows of calls that run graphs (graph/region.h says what they mean). They are not in the table: programs reach them only through
// Functions and through cond, switch_case, while_loop, scan, map and fold.
#pragma once

#include "state/derive.h"
#include "state/forward_recorder.h"

namespace weft::inline v0 {

const Op& call_row();
const Op& switch_row(std::string_view name);  // "cond" or "switch_case": errors and pictures show what the program calls
const Op& loop_row(std::string_view name);    // "while_loop", "scan", "fold" or "map"

// How they move their results: the same call of graphs that carry tangents along.
Moved move_call(const Forward& f);
Moved move_switch(const Forward& f);
Moved move_loop(const Forward& f);

// Their rules for an extra first axis (core/op.h). A condition that differs along it chooses from both branches, and a loop whose end
// does goes on while any has not ended.
Tensors batch_call(const Batch& b);
Tensors batch_switch(const Batch& b);
Tensors batch_loop(const Batch& b);

/// Calls one of them. Returns all results.
Tensors apply_region(const Op& row, std::span<Tensor> inputs, Region region, Location at);

/// The outputs of a graph for these inputs; gradients flow from the first `followed` ones. Tapes record one call, whose gradient is derived once; a trace takes over the graph's own calls.
Tensors call_graph(const Runner& body, std::span<Tensor> inputs, Location at, std::size_t followed = kAllResults);

}  // namespace weft::inline v0
