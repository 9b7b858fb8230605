// Batching: a program that is written for one value, run for many at once.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace weft::inline v0 {

/// While it is installed, tensors may stand for many values of one Spec: the program sees a symbol of that Spec, and calls that read one go to the rows'
/// `.batch` (core/op.h), whose ops run in the interpreter below, on values with an extra first axis. So a tape below sees them, a tracer below takes
/// them over, and without either they run. Calls that read no symbol pass through.
///
/// A symbol belongs to its Batcher and ends with it. Its value goes when the program lets go of the symbol.
class Batcher final : public Interpreter {
 public:
  /// `size` is that of the extra axis, 1 or more.
  explicit Batcher(std::int64_t size);
  ~Batcher() override {
    if (installed()) remove();
  }
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  void apply(Call call, Tensors& outputs) override;
  void stands_for(const Call& call, Tensors* results) override;
  void stood_for() noexcept override { rules_.pop_back(); }

  /// The symbol for a value with the axis.
  Tensor symbol(Tensor value, Location at);
  bool owns(const Tensor& x) const override { return x.node()->symbolic && symbol_of(x).trace == id_; }
  /// Whether one on the stack from `top` down owns it: the program sees one value, and many are computed.
  static bool stands_for_many(const Tensor& x, const Interpreter* top);
  /// Whether there is one on the stack from `top` down.
  static bool any(const Interpreter* top);
  /// What a symbol stands for; of any other tensor, itself, once for each place of the axis.
  Tensor value(const Tensor& x) const;

  /// The rows that had no rule, in the order of their calls.
  const std::vector<const Op*>& looped() const { return looped_; }

 private:
  struct Entry {
    Tensor symbol, value;
  };
  Tensor symbol(Spec spec, Tensor value, Location at);
  void sweep();

  const std::int64_t size_;
  const std::uint64_t id_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
  std::vector<const Op*> looped_;
  std::vector<std::unique_ptr<InPlaceOf>> rules_;  // for which calls stand now
};

/// Which outputs depend on these inputs.
std::vector<bool> reached(const Graph& graph, const std::vector<bool>& inputs);
/// The graph for many values at once: these inputs have an extra first axis of this size, and these outputs too. REQUIRES: all that depend on
/// such an input are among them.
Graph batched(const Graph& graph, const std::vector<bool>& inputs, const std::vector<bool>& outputs, std::int64_t size);

}  // namespace weft::inline v0
