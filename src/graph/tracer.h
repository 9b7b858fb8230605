// Tracing: running a program on symbolic tensors, so that its calls become a Graph.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>

#include "graph/graph.h"

namespace weft::inline v0 {

/// A number that no other trace has.
std::uint64_t next_trace();

/// A program while it is traced. Traces inside each other are one program.
struct TracedProgram {
  static std::shared_ptr<TracedProgram> make();
  struct Number {
    Tensor value;
    Location at;
  };
  const std::uint32_t id;                            // of Node::program; no other one has it
  std::unordered_map<const Node*, Number> called{};  // numbers of programs that were traced before, and that it calls
};

/// Records every op of its thread while it is installed. Symbolic tensors know the trace and the value that they stand for; one that
/// outlives its trace is refused by whatever it is given to, with the line that made it.
///
/// Concrete tensors that a traced op reads become constants. An expanding row leaves its parts in the graph, unless it looks at data first:
/// then it stays whole, to look when it runs. If it cannot see all sizes yet, it leaves its rule as well.
class Tracer : public Interpreter {
 public:
  /// A trace of its own, or part of the one that this thread makes now.
  explicit Tracer(Graph& graph) : Tracer(graph, program_now()) {}
  Tracer(Graph& graph, std::shared_ptr<TracedProgram> program);
  /// The innermost one that is installed on this thread; null: there is none.
  static const Tracer* around();
  /// The program that it traces; else a new one.
  static std::shared_ptr<TracedProgram> program_now() { return around() == nullptr ? TracedProgram::make() : around()->program_; }

  void apply(Call call, Tensors& outputs) override;
  void stands_for(const Call& call, Tensors* results) override;
  void stood_for() noexcept override {}  // nobody below has been told
  void wrote(const Tensor& numbers, Location at) override { numbers.node()->set_made_at({at, program_->id}); }
  void wrote_before(const Tensor& numbers, Location at) override { program_->called.try_emplace(numbers.node(), TracedProgram::Number{numbers, at}); }
  /// Where the program has written this, as a number or a list of them; also if that has taken the dtype of a tensor beside it since. Nothing: it is no
  /// number, or one of another program.
  std::optional<Location> written_at(const Tensor& x) const;
  /// A new input of the graph.
  Tensor input(Spec spec, Location at);
  /// The value that a tensor stands for; a concrete one becomes a constant. `user` may be null: a result. Throws TraceError for a tensor of
  /// another trace, and for a constant if constants are refused.
  ValueId value_of(const Tensor& x, const Op* user, Location at);
  bool owns(const Tensor& x) const override;
  const Graph& graph() const { return graph_; }

  /// A tensor that is no number and was made outside is refused from now on.
  void refuse_constants() { strict_ = true; }

 protected:
  /// Asked for what is neither a value of this trace nor a number: the input that is to stand for it, or nothing.
  virtual std::optional<ValueId> adopt(const Tensor& x);
  Tensor symbol(ValueId value);  // a new tensor that stands for it

 private:
  SmallVector<ValueId, 4> values_of(const Call& call);
  void add(const Call& call, const Specs& specs, Tensors& outputs);
  Graph& graph_;
  const std::uint64_t id_;
  const std::shared_ptr<TracedProgram> program_;
  bool strict_ = false;
  std::unordered_map<const Node*, ValueId> constants_;  // the graph holds them, so no Node is used twice
};

}  // namespace weft::inline v0
