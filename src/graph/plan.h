// Plan: a graph for inputs of known shapes, laid out once. What is called in which order, and where every value lies.
//
// Pointwise calls of one shape whose results feed each other are one step over tiles. It can begin with a product or a convolution, whose
// result it goes on with block by block, or end with a reduction, which gets the elements as they are made. Values that do not leave the graph share one arena:
// a place is used again as soon as nobody needs what lies there, by the group that needs it last, too. Results, and what is written to Variables, are new memory.
//
// Values whose shape is known only when they are there (of `unique`, of a loop that ends when it likes) are made by each call as it goes;
// what reads or makes them runs as an eager call between the planned steps, and a rule (graph.h) that reads them is applied there.
//
// Steps of optimizers, scatters and writes of slices whose results are only written to the Variables that they read wait until the call publishes:
// then they change the values where they lie.
//
// Short steps that do not need each other run side by side, one on each thread of the pool; a long one has all threads to itself. For that steps
// may change places, but a call that fails has the error of the first call that does as they were written.
//
// Every step runs the very kernel that the eager call would have run, so the bits are the same.
#pragma once

#include <memory>

#include "base/function_ref.h"
#include "base/room.h"
#include "core/update.h"
#include "graph/graph.h"

namespace weft::inline v0 {

/// For each of the last outputs of a graph the input that holds the value which it will replace, or -1. Such outputs have the input's Spec.
using OldValues = std::span<const std::int32_t>;
/// Given the places of old and new values, one for each output that has an old value or -1, writes the new ones. Throws nothing.
using WriteNew = FunctionRef<void(std::span<const UpdatePlace>)>;
/// `finished` are those outputs, as far as they are there already; the others are written.
using Publish = FunctionRef<void(WriteNew, std::span<Tensor> finished)>;

/// A step of a plan, in terms of its graph.
struct StepNote {
  std::vector<std::uint32_t> nodes;  // the calls in it, in their order
  std::vector<ValueId> results;      // what it leaves for others
  std::vector<Spec> specs;           // of those; sizes that values decide are unknown
  std::size_t turn;                  // steps of one turn run side by side
};

/// When a step began, from the start of its call, and how long it took, in microseconds.
struct StepTime {
  double start, took;
};

/// Immutable; any number of threads may run it, each in a frame of its own. The graph must outlive it.
class Plan {
 public:
  /// `inputs` are the Specs of the graph's inputs, all known. Throws what the rows' inference throws.
  Plan(const Graph& graph, std::span<const Spec> inputs, OldValues old_values = {});
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  /// REQUIRES: inputs of the Specs planned for; no interpreter is installed. Those that leave as outputs are moved from. An error is that of
  /// the call that failed. With `times` the time of each step is appended. With `publish` what replaces old values is not among the results,
  /// those handles are empty: it is called in the end, once, and calls what it is given. By then the inputs are not needed any more.
  Tensors run(std::span<Tensor> inputs, std::vector<StepTime>* times = nullptr, const Publish* publish = nullptr) const;
  /// Whether some call of the graph can wait for the publication.
  static bool can_wait(const Graph& graph, OldValues old_values);

  const Spec& output_spec(std::size_t i) const { return values_[graph_.outputs[i]].spec; }
  std::vector<StepNote> describe() const;
  std::size_t steps() const;
  std::size_t arena_bytes() const { return arena_; }
  /// The most that lies in the arena at a time: no order of places could do with less.
  std::size_t live_bytes() const { return most_alive_; }

 private:
  friend class BoundPlan;
  static constexpr std::int64_t kDirectLanes = 512;  // up to so many a group runs without tiles
  enum class Place : std::uint8_t { kNone, kInput, kConstant, kArena, kEscapes, kDynamic, kLate };
  // How a node runs: never (a rule that holds), not at all but as a rule on sizes to come, as other names for its bytes, in a group, alone, alone on
  // unknown shapes, when the call publishes.
  enum class Way : std::uint8_t { kNever, kRule, kView, kPointwise, kCall, kDynamic, kLate };
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
  struct DirectCall {  // operands by their places in Frame::data
    kernels::TileFn fn;
    std::uint32_t in[kernels::kMaxTileInputs];
    std::uint32_t out, lanes;
    std::int32_t count;
    kernels::Link link;  // of a single f32 lane
  };
  struct Pointwise {
    std::vector<kernels::TileStep> tiles;
    std::vector<std::vector<kernels::TileLink>> chains;  // of those steps that are one
    std::vector<Lane> inputs;
    std::vector<ValueId> outputs;
    std::vector<std::uint8_t> output_slots;
    std::vector<ValueId> slots;  // the value in each slot behind the inputs
    Shape shape;
    bool folded = false;             // the first output goes nowhere but to the reduction that ends the step
    std::vector<DirectCall> direct;  // instead of all that, if there are few dense lanes: one call for each node, without tiles
  };
  struct Output {
    ValueId value, root;
    bool last;  // the handle of the root is not needed any more
  };
  struct Step {
    std::vector<std::uint32_t> nodes;  // one, or a pointwise group, perhaps with a call before or behind it
    std::int32_t pointwise = -1;
    bool joined = false;  // there is such a call
    std::uint32_t written = 0, beside = 1;  // its number as the graph has it; how many, from here on, run side by side
    bool checks = false;  // it makes nothing: it applies a rule, or looks at what a late step will need, in its turn. Of two errors the first is the call's
  };
  struct Joined;
  struct Late {
    std::uint32_t node;
    std::vector<std::size_t> outputs;  // of the graph: where its results are
  };
  struct Frame;
  class Lease;

  void infer_all(std::span<const Spec> inputs);
  Way way_of(const GraphNode& node, bool sees_all, bool known) const;
  bool checks(std::uint32_t n) const;
  bool reads(std::uint32_t n, ValueId id) const { return ways_[n] != Way::kRule || !values_[id].spec.shape.known(); }  // a rule: sizes to come
  void apply_rule(const GraphNode& node, Frame& frame) const;
  void find_late(OldValues old_values);
  void group_nodes();
  bool reads_view_of(const GraphNode& node, std::uint32_t step) const;
  bool can_move(std::uint32_t from, std::uint32_t to, const std::vector<bool>& read_outside) const;
  void place(std::uint32_t n, std::uint32_t step, std::vector<bool>& read_outside);
  void number_steps();
  double nanoseconds(const Step& step) const;
  struct Turn {
    std::uint32_t first, last;  // numbers of steps, from 1
  };
  std::vector<Turn> turns_of_steps() const;  // for each number of a step, those beside it
  double bytes_alive() const;
  void order_steps();
  void find_places();
  void find_outputs();
  ValueId dies_for(std::uint32_t n, std::uint32_t s, const std::vector<bool>& inherited) const;
  void lay_out();
  void prepare_pointwise(Step& step);
  void join_chains(std::span<const std::uint32_t> nodes, Pointwise& group) const;
  bool joins(const GraphNode& node, std::uint32_t step) const;
  bool begins_group(std::uint32_t n) const;
  bool is_closed(const Step& step) const;
  std::uint32_t folds_from(std::uint32_t n, const std::vector<std::uint32_t>& uses) const;
  std::span<const std::uint32_t> group_of(const Step& step) const;
  void execute(const Step& step, Frame& frame) const;
  class Stopwatch;
  void run_steps(Frame& frame) const;
  void run_steps(Frame& frame, const Stopwatch& watch) const;
  void run_late(std::span<PreparedUpdate> updates, const Stopwatch& watch) const;
  bool has_overtaken(std::size_t turn) const;
  void rethrow_first(const Frame& frame) const;
  void bind(std::span<Tensor> inputs, Frame& frame) const;
  Tensors outputs_of(std::span<Tensor> inputs, Frame& frame) const;
  CallList<PreparedUpdate> prepare_late(std::span<const Tensor> inputs, Frame& frame) const;
  SmallVector<Tensor, 6> read_late(const GraphNode& node, std::span<const Tensor> inputs, const Frame& frame) const;
  void check_late(const GraphNode& node, const Frame& frame) const;
  std::uint32_t ready_at(const GraphNode& node) const;
  void run_pointwise(const Pointwise& step, Frame& frame) const;
  struct GroupOperands;
  void fill(const Pointwise& step, const Frame& frame, GroupOperands& operands) const;
  void run_joined(const Step& step, Frame& frame) const;
  void run_call(std::uint32_t n, Frame& frame, const Joined& joined) const;
  Specs specs_of(const GraphNode& node) const;
  void run_kernel(const GraphNode& node, std::span<const Tensor> inputs, Frame& frame, const Joined& joined) const;

  const Graph& graph_;
  std::vector<Value> values_;
  std::vector<Step> steps_;
  std::vector<Pointwise> pointwise_;
  std::vector<double> params_;          // room for numbers of any lane type, eight bytes each
  std::vector<Way> ways_;               // of the nodes
  std::vector<bool> unread_;            // values that no node reads and that do not leave the graph
  std::vector<ValueId> escaping_;       // roots
  std::vector<SmallVector<ValueId, 2>> of_input_, of_escaping_;  // values whose bytes are elsewhere in each call
  std::vector<Output> outputs_;
  std::vector<bool> by_handle_;         // values that some call reads or makes as a Tensor, not as lanes
  std::vector<ValueId> dynamic_;
  std::vector<Late> late_;  // the last steps
  const std::size_t replacing_;  // how many outputs replace old values, or could: the last ones
  std::size_t arena_ = 0, most_alive_ = 0;
  mutable std::atomic<Frame*> spare_{nullptr};
};

/// A plan in a frame of its own, with inputs and outputs where the caller says, call after call: for branches and loops. One thread at a time.
class BoundPlan {
 public:
  /// Whether all outputs have shapes that the plan knows.
  static bool possible(const Plan& plan);
  /// REQUIRES: possible; the plan outlives it, and has no old values.
  explicit BoundPlan(const Plan& plan);
  ~BoundPlan();
  BoundPlan(const BoundPlan&) = delete;
  BoundPlan& operator=(const BoundPlan&) = delete;

  /// From the next run on. Inputs may be the same memory as others of them; no output may be that of an input or of another output.
  void input(std::size_t i, void* data);
  void output(std::size_t i, void* data);
  /// REQUIRES: everything is bound; no interpreter is installed. An error is that of the call that failed.
  void run();
  /// Runs both in turns, the even one first, as long as `go` holds, which each of them writes; returns how often they have run. For plans of
  /// nothing but calls on few lanes that takes less than to run each. REQUIRES: as run; two frames of one plan.
  static std::int64_t run_while(const bool& go, BoundPlan& even, BoundPlan& odd);
  /// The same for a number of turns that is known. Returns it.
  static std::int64_t run_turns(std::int64_t turns, BoundPlan& even, BoundPlan& odd);
  const Spec& output_spec(std::size_t i) const { return plan_.output_spec(i); }

 private:
  struct Copy {  // of an output that has no memory of its own: an input, a constant, a second name
    ValueId from;
    void* to = nullptr;
    std::size_t bytes;
  };
  struct Call {  // of a pointwise node over few lanes
    kernels::TileFn fn;
    const void* in[kernels::kMaxTileInputs];
    void* out;
    std::size_t lanes;
    std::int32_t count;
    kernels::Link link;
  };
  bool only_direct() const;
  void find_calls();
  void run_calls() const;
  static std::vector<kernels::BoundLink> links_of(const BoundPlan& even, const BoundPlan& odd);
  const Plan& plan_;
  Plan::Frame* frame_;
  std::vector<std::int32_t> copied_;  // for each output: which of the copies, or -1
  std::vector<Copy> copies_;
  const bool direct_;        // the steps are nothing but such calls
  bool bound_anew_ = true;   // since the last run
  std::vector<Call> calls_;  // then, of a plan that is run again as it was: where their operands lie now
};

}  // namespace weft::inline v0
