// Plan: a graph for inputs of known shapes, laid out once. What is called in which order, and where every value lies.
//
// Pointwise calls of one shape whose results feed each other are one step over tiles. Values that do not leave the graph share one arena:
// a place is used again as soon as nobody needs what lies there. Results, and what is written to Variables, are new memory of their own.
//
// Every step runs the very kernel that the eager call would have run, so the bits are the same.
#pragma once

#include <memory>

#include "graph/graph.h"

namespace weft::inline v0 {

/// Immutable; any number of threads may run it, each in a frame of its own. The graph must outlive it.
class Plan {
 public:
  /// Whether a graph can be planned: no shape in it depends on values.
  static bool possible(const Graph& graph);
  /// REQUIRES: possible. `inputs` are the Specs of the graph's inputs, all known. Throws what the rows' inference throws.
  Plan(const Graph& graph, std::span<const Spec> inputs);
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  /// REQUIRES: inputs of the Specs planned for; no interpreter is installed. An error is that of the call that failed.
  std::vector<Tensor> run(std::span<Tensor> inputs) const;

  std::size_t steps() const { return steps_.size(); }
  std::size_t arena_bytes() const { return arena_; }

 private:
  enum class Place : std::uint8_t { kNone, kInput, kConstant, kArena, kEscapes };
  struct Value {
    Spec spec;
    ValueId root;           // whose bytes these are; views have another one
    Place place = Place::kNone;
    std::size_t at = 0;     // the offset in the arena, or which of the inputs, constants or escaping values
    std::uint32_t made = 0, last = 0;  // the first and the last step that touch the bytes
  };
  struct Lane {  // an operand of a pointwise step
    ValueId value;
    std::int32_t param;  // or a number, if not -1
    Ints strides;
  };
  struct Pointwise {
    std::vector<kernels::TileStep> tiles;
    std::vector<Lane> inputs;
    std::vector<ValueId> outputs;
    std::vector<std::uint8_t> output_slots;
    std::vector<ValueId> slots;  // the value in each slot behind the inputs
    Shape shape;
    bool direct = false;         // few dense lanes: one call for each, without tiles
  };
  struct Step {
    std::vector<std::uint32_t> nodes;  // one, or a pointwise group
    std::int32_t pointwise = -1;
  };
  struct Frame;
  class Lease;

  void infer_all(std::span<const Spec> inputs);
  void group_nodes();
  void find_places();
  void lay_out();
  void prepare_pointwise(Step& step);
  bool joins(const GraphNode& node, std::uint32_t step) const;
  std::uint32_t ready_at(const GraphNode& node) const;
  void run_pointwise(const Pointwise& step, Frame& frame) const;
  void run_call(const GraphNode& node, Frame& frame) const;

  const Graph& graph_;
  std::vector<Value> values_;
  std::vector<Step> steps_;
  std::vector<Pointwise> pointwise_;
  std::vector<double> params_;          // room for numbers of any lane type, eight bytes each
  std::vector<ValueId> escaping_;       // roots
  std::vector<ValueId> bound_;          // values whose bytes are elsewhere in each call
  std::size_t arena_ = 0;
  mutable std::atomic<Frame*> spare_{nullptr};
};

}  // namespace weft::inline v0
