// What stands behind a Function: its traces, and how a call finds one.
#pragma once

#include <deque>
#include <mutex>
#include <optional>

#include "base/room.h"
#include "graph/picture.h"
#include "graph/run.h"
#include "state/transaction.h"
#include <weft/function.h>

namespace weft::inline v0::detail {

/// The kind of a call. Two calls are of one kind if the skeletons are equal and the shapes fit.
struct CallKind {
  CallText skeleton;          // structure, dtypes and ranks, the Specs and aliases of Variables, host values: bytes
  CallList<Shape> shapes;     // of the Tensors; in a trace, sizes may be unknown

  bool takes(const CallKind& call) const;
};

/// What the arguments of a call are made of.
struct CallLeaves {
  CallList<Tensor*> tensors;      // those that are defined, in order
  CallList<Variable*> variables;  // each slot once, in order
  CallKind kind;
};
CallLeaves leaves_of(std::span<const Argument> arguments);

/// The same in words, for messages: one for each leaf.
struct LeafNote {
  std::size_t argument;
  std::string path;  // below the argument; may be empty
  std::string text;  // "f32[3]", "true"
  /// kFlag and kNumber are host values that a Tensor could hold, kOther is any other one; the last two say how many parts there are.
  enum class Kind : std::uint8_t { kTensor, kVariable, kFlag, kNumber, kOther, kElements, kNothing } kind;
  std::optional<Spec> spec{};            // of a Tensor that is defined; in a trace, sizes may be unknown
  SlotRef slot{};                        // of a Variable; not in a trace, which keeps none of them
  bool trainable = false;                // of a Variable, as what follows
  std::optional<std::size_t> same_as{};  // the note that has met it first
  std::string captured{};                // in a trace: what it is called, if the body captures it, too

  bool is_structure() const { return kind == Kind::kElements || kind == Kind::kNothing; }
  bool same_place(const LeafNote& other) const { return argument == other.argument && path == other.path; }
  std::string shown() const;  // the text, of which a long one ends early
  /// Whether a trace with this leaf takes a call with that one, as far as the two say.
  bool takes(const LeafNote& call) const;
};
std::vector<LeafNote> notes_of(std::span<const Argument> arguments);

/// What a call has at the place of a leaf of a trace, in words.
struct LeafChange {
  std::string from, to;
};

/// A Variable that a trace uses.
struct SlotUse {
  std::ptrdiff_t argument;           // which of the call's Variables it is, or -1: captured
  std::optional<Variable> captured;  // that one
  std::string title;                 // "p.hparams.lr_param", 'Variable "total"'
};

struct FunctionTrace {
  CallKind kind;
  std::vector<LeafNote> notes;
  Runner runner;
  // Inputs of the graph: the Tensors of the arguments, what is asked for, then what is read. Outputs: the Tensors of the result, those that replace Tensors of
  // the arguments, then what is written.
  std::vector<EachCall> asked;
  std::vector<SlotUse> reads, writes;
  std::size_t results = 0;
  std::vector<std::size_t> replaced;  // which of the arguments' Tensors
  std::shared_ptr<void> pattern;      // what the body returned
  std::vector<std::ptrdiff_t> result_variables;  // for each Variable in it: which of the call's Variables it is, or -1: itself
  std::vector<DType> dtypes;     // of the arguments' Tensors
  std::vector<std::string> result_texts;  // "f32[]", "loss f32[]": one for each Tensor and Variable
  std::string needs_sizes;       // why reduce_retracing leaves none of its sizes open; empty: it does not need them
  bool takes_variables = false;  // there are some in the arguments
  bool own_gradients = false;    // the body gives gradients of its own, which a tape around a call can only see by running it
  std::vector<SlotUse> read_again;  // floating, not trainable, read after the body wrote them: the same holds for a tape that watches one
  bool exact = false;            // no size in kind.shapes is unknown
  bool at_once = false;          // of a body of Tensors that returns one or nothing, not run eagerly: no handle was empty, so kind.shapes
                                 // and dtypes say all
  std::vector<SlotRef> read_slots, written_slots;  // if all Variables are captured
  std::vector<Slot*> read_order;                   // then, those read, by id
  std::vector<SlotRef> captured;  // all that the body has touched, by address; also those of which nothing is left in the graph
  std::vector<SlotRef> pinned;   // if not empty, the slots that must be passed: the body has looked at which they are. Some may have expired
  FunctionReport::Trace report;
  std::atomic<std::uint64_t> calls{0}, last_call{0};

  /// Whether Variables of a call are also captured, or not, as when the trace was made: else reads and writes of the two would not meet.
  bool same_aliases(const CallLeaves& leaves) const;
  std::vector<Spec> inputs() const;  // declared, of the arguments' Tensors
  FunctionTrace(Graph graph, std::vector<std::int32_t> old_values, std::size_t most_plans) : runner(std::move(graph), std::move(old_values), most_plans) {}
};

/// A Variable that the body has made while it was traced: the n-th at its line.
struct MadeSlot {
  std::size_t nth;
  SlotRef slot;
};

/// What a FunctionGraph is made of.
struct FunctionPictures {
  std::string name;
  std::vector<GraphPicture> traces;
};

class Tracing;
class EagerBody;
class FunctionCore;

struct FunctionCallState : InRoom {
  [[noreturn]] void refuse(const std::string& sentence) const;  // TraceError, in the name of the Function

  FunctionCore& core;
  OnlyTrace only;
  std::span<const Argument> arguments;
  Location at;
  CallLeaves leaves{};
  std::shared_ptr<FunctionTrace> trace{};
  Tracing* tracing = nullptr;  // while the body is traced
  EagerBody* eager = nullptr;  // while it runs itself
  bool asked = false;          // for the trace, not for a call
  Tensors outputs{};
  std::shared_ptr<void> made{};  // the result of the body, if it has run itself
};

class FunctionCore {
 public:
  FunctionCore(FunctionOptions given, std::size_t arguments, Location at);

  /// The trace for a call of Tensors alone, or null.
  std::shared_ptr<FunctionTrace> find(std::span<Tensor* const> arguments);
  /// The trace for a call, or null. The most specific one, if several fit.
  std::shared_ptr<FunctionTrace> find(const CallLeaves& leaves);
  /// Makes and keeps the trace for a call that has none. `body` copies the arguments, calls begin and returns.
  std::shared_ptr<FunctionTrace> trace(FunctionCallState& call, FunctionRef<void()> body);
  /// Casts numbers, checks the arguments against the signature, and puts its shapes into the kind.
  void apply_signature(std::span<const Argument> arguments, CallLeaves& leaves, Location at) const;
  /// Casts numbers, and throws TraceError unless the arguments are of the kind of this trace.
  void require_kind(const FunctionTrace& trace, std::span<const Argument> arguments, CallLeaves& leaves, Location at) const;
  /// The same for the Tensors of the arguments alone.
  void require_flat(const FunctionTrace& trace, std::span<Tensor> tensors, Location at) const;
  std::string signature_of(const FunctionTrace& trace) const;  // "step(x f32[?,10]) -> f32[]"
  FunctionReport report() const;
  FunctionGraph graph() const;
  void profile(int calls);

  /// The slot like this one that an earlier trace has made, or null in the first trace. Throws StateError if there were traces and none has.
  SlotRef made_before(const Slot& slot, std::size_t nth, Location at) const;

  const std::string& name() const { return name_; }
  std::string argument_name(std::size_t i) const;
  std::string path_of(const LeafNote& note) const;
  /// In what the i-th leaf of a call differs from that of the trace. REQUIRES: both have one, at the same place.
  std::vector<LeafChange> changes_of(const FunctionTrace& trace, const std::vector<LeafNote>& call, std::size_t i) const;

  const FunctionOptions options;

 private:
  std::string cause_of(const std::vector<LeafNote>& notes, const CallKind& kind) const;
  std::string which_variable(const std::vector<LeafNote>& notes, const LeafNote& note, const std::string& captured) const;
  bool cast_to(std::span<const Spec> declared, const char* by, std::span<Tensor* const> tensors, FunctionRef<std::vector<LeafNote>()> notes,
               Location at) const;
  std::string relax(CallKind& kind) const;
  void warn_of_retraces(const std::string& cause);
  void keep(std::shared_ptr<FunctionTrace> trace);
  void keep_made(const std::vector<MadeSlot>& made);
  void forget_oldest();
  GraphPicture picture_of(const std::shared_ptr<FunctionTrace>& trace) const;

  const std::string name_;
  mutable std::mutex mutex_;  // of what follows
  std::vector<std::shared_ptr<FunctionTrace>> traces_;
  std::deque<CallKind> forgotten_;  // the kinds of the last traces for which there was no room any more
  std::vector<MadeSlot> made_;
  std::uint64_t traced_ = 0, clock_ = 0;
  int profiled_calls_ = 0;  // of each new trace
  std::vector<std::uint64_t> retraced_at_;  // by the clock, since the last warning
  int warnings_ = 0;
  int tracing_now_ = 0;  // of the lock around traces: more than one if the body calls its Function
};

/// What a guard says of a written value: 'the value that assign gives Variable "total"'.
inline std::string written_by(const char* by, const std::string& title) { return std::string("the value that ") + by + " gives " + title; }

/// In what a call differs from a trace if their leaves are alike.
std::string difference_beyond_leaves(const FunctionTrace& trace);
FunctionReport::Trace report_of(const FunctionTrace& trace);

/// What the graph of a trace reads: the Tensors of the arguments, then room for what is asked for and for what is seen of Variables.
using CallInputs = SmallVector<Tensor, 8>;
inline CallInputs room_for(const FunctionTrace& trace, std::size_t arguments) { return CallInputs(arguments + trace.asked.size() + trace.reads.size()); }
/// Runs a call with a trace: binds inputs, which end here, computes, publishes. Returns all outputs of the graph but the writes.
Tensors run_trace(FunctionTrace& trace, CallInputs& inputs, std::span<Variable* const> variables, Location at);

}  // namespace weft::inline v0::detail
