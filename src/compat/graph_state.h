// What stands behind a graph with sessions: a traced program that stays open, and what its inputs mean.
//
// Pure calls are nodes of the program. Everything else is an input of it with an Event: a placeholder, a read or a write of a Variable, a
// group. Values are numbered in the order in which they were made, whatever they are, and need only earlier ones; so a run is a choice of
// values, gone through by number (compat/run_plan.h).
#pragma once

#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "graph/tracer.h"
#include "state/follower.h"
#include "state/transaction.h"
#include <weft/compat/v1.h>

namespace weft::inline v0::compat::v1 {

inline constexpr ValueId kNoValue = ~ValueId{0};

/// What an input of the program is.
struct Event {
  enum class Kind : std::uint8_t { kPlaceholder, kRead, kWrite, kGroup };
  enum class Way : std::uint8_t { kInitial, kAssign, kAdd, kSubtract };
  Kind kind;
  Way way = Way::kAssign;             // of a write
  bool in_turn = false;               // of a read: what the Variable holds then, not what it held when the run began
  std::uint32_t variable = 0;         // of a read or write
  ValueId source = kNoValue;          // of a write
  std::vector<ValueId> needs = {};    // of a group: its parts; of a read: the write that belongs to it, for a draw
  std::string name = {};              // of a placeholder
  Location at = {};
};

class GraphState final : public SlotSymbols, public std::enable_shared_from_this<GraphState> {
 public:
  struct Held {
    Variable variable;
    ValueId initial = kNoValue;  // the write that initialises it
    Tensor start = {};           // what sessions begin with, if it came with a value
  };

  GraphState();

  /// The one that this thread has open. Throws StateError, in the name of `by`, if there is none.
  static GraphState& open(const char* by, Location at);
  static GraphState* open_here();

  // Building: the thread that has it open.
  Tensor add(Event event, Spec spec);
  Tensor write(const Variable& variable, Event::Way way, Tensor value, const char* by, Location at);
  Variable variable(const std::string& name, Initial initial, GetVariableOptions options, Location at);
  Operation initializers(std::span<const Variable> variables, Location at);
  std::uint32_t index_of(const SlotRef& slot, const char* by, Location at);
  /// The value that a tensor stands for, if it is one of this graph.
  ValueId value_of(const Tensor& x, const char* by, Location at);
  Operation group(std::vector<ValueId> parts, Location at);
  /// From here to `end_step` reads are in turn, and writes are kept; then they are events, which it returns.
  void begin_step();
  std::vector<ValueId> end_step(bool failed);
  bool in_step() const { return steps_ > 0; }
  /// What is added from now on depends on these as well. Returns the set before, for `set_dependencies`.
  std::uint32_t add_dependencies(std::span<const ValueId> on);
  void set_dependencies(std::uint32_t set) noexcept;
  std::vector<Grad> gradients(const Tensor& y, std::span<const Source> xs, const GradientOptions& options, const char* by, Location at);

  // Anybody who holds the lock.
  const Event* event_of(ValueId id) const;
  std::vector<Variable> variables(Which which) const;
  std::string title(ValueId id) const;  ///< 'placeholder "x" f32[2]'
  bool owns(const Tensor& x) const { return tracer_.owns(x); }

  mutable std::recursive_mutex lock;
  v0::Graph program;
  std::vector<Event> events;           // one for each input of the program
  std::vector<std::uint32_t> after;    // for each value, the set of what must run first
  std::vector<std::int64_t> rules;     // for each node, the rule that holds for whoever wants it, of the row of which it is a part; or -1
  std::vector<std::vector<ValueId>> sets{{}};
  std::vector<Held> held;
  std::unordered_map<std::uint64_t, std::uint32_t> by_id;  // of slots, to positions in `held`

 private:
  friend struct GraphScope::Open;
  class GraphTracer final : public Tracer {
   public:
    GraphTracer(v0::Graph& graph, GraphState& state) : Tracer(graph, TracedProgram::make()), state_(state) {}
    void apply(Call call, Tensors& outputs) override;
    void stands_for(const Call& call, Tensors* results) override;
    void stood_for() noexcept override;
    Tensor read(std::uint64_t, const Variable&, Tensor value, Location) override { return value; }  // a node, whoever reads
    using Tracer::symbol;

    /// A Function is called: rules for which no call stands are those of its results, which are replaced.
    void enter_call() { ++calls_; }
    void leave_call(std::span<Tensor>* results);

   private:
    void note();
    GraphState& state_;
    std::vector<std::int64_t> open_;  // the rules of rows for which calls stand now
    std::int64_t alone_ = -1;         // the last rule of this call for which none does; it leads to those before
    int calls_ = 0;
  };
  class Replaying;

  // Keeps the gradients that functions give while the graph is open: those of all that could be asked for later. It is never installed.
  class Keeper final : public Follower {
   public:
    explicit Keeper(GraphState& state) : Follower("graph", ""), state_(state) {}
    void apply(Call, Tensors&) override { throw InternalError("a call went to what only keeps gradients"); }
    bool recording() const override { return true; }
    bool follows(const Tensor& x) const override;
    bool watches(std::uint64_t, bool) const override { return false; }
    bool goes_forward() const override { return false; }
    void record_custom(const Op& name, Location at, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                       std::shared_ptr<const GradientFn> gradient) override;

   private:
    GraphState& state_;
  };
  // A function with a gradient of its own: what its nodes show is not how its outputs come from its inputs.
  struct Given {
    const Op* name;
    Location at;
    std::vector<Tensor> inputs, outputs;
    std::shared_ptr<const GradientFn> gradient;
  };
  const Given* given_to(ValueId id) const;
  template <class F>
  void each_source(ValueId id, const F& f) const;
  void require_shown(const std::vector<bool>& needed, const std::vector<bool>& watched, const char* by, Location at) const;

  // Of programs that read and write Variables while the graph is open.
  Tensor symbol_for(const SlotRef& slot, Location at) override;
  void touched(const SlotRef&) override {}
  SlotRef made(SlotRef slot) override;
  void own_gradient(std::span<const Tensor> results) override;
  Follower* keeper() override { return &keeper_; }
  bool shows_ops() const override { return true; }
  void own_read(const SlotRef&) override {}
  bool takes(const SlotRef& slot, const Tensor& value, Location at, const char* by) override;
  void enter_call(bool writes) override;
  void leave_call(bool writes, std::span<Tensor>* results) override;

  void note_values();
  std::uint32_t hold(const SlotRef& slot, ValueId initial, Tensor start);
  ValueId last_read_of(std::uint32_t variable) const;

  GraphTracer tracer_;
  Transaction transaction_;
  std::uint32_t set_ = 0;
  int steps_ = 0;               // begun and not ended
  Keeper keeper_{*this};
  std::vector<Given> given_;
  std::unordered_map<ValueId, std::size_t> given_to_;  // outputs of those
  std::unordered_set<ValueId> hiding_;  // results of calls that hide a gradient which a part of them gives
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::atomic<bool> open_ = false;
};

}  // namespace weft::inline v0::compat::v1
