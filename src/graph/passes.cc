#include "graph/passes.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "graph/region.h"

namespace weft::inline v0 {
namespace {

using From = GraphValue::Kind;

// Builds a graph anew from the parts of another one that are kept.
class Rebuilt {
 public:
  explicit Rebuilt(const Graph& from) : from_(from), now_(from.values.size(), kNowhere) {}

  static constexpr ValueId kNowhere = ~ValueId{0};
  void keep_input(ValueId id) { now_[id] = graph.add_input(from_.values[id].spec, from_.values[id].made_at); }
  ValueId operator[](ValueId id) {
    if (now_[id] != kNowhere) return now_[id];
    if (from_.values[id].kind != From::kConstant) throw InternalError("a pass has dropped a value that is read");
    const GraphConstant& constant = from_.constants[from_.values[id].from];
    return now_[id] = graph.add_constant(constant.value, constant.used_by, constant.at);
  }
  SmallVector<ValueId, 4> inputs_of(const GraphNode& node) {
    SmallVector<ValueId, 4> inputs;
    for (ValueId id : node.inputs) inputs.push_back((*this)[id]);
    return inputs;
  }
  void keep_node(const GraphNode& node, std::span<const ValueId> inputs) {
    Specs specs;
    for (std::uint32_t i = 0; i < node.count; ++i) specs.push_back(from_.values[node.first + i].spec);
    const ValueId first = graph.add_node(*node.op, node.attrs, inputs, specs, node.at);
    for (std::uint32_t i = 0; i < node.count; ++i) now_[node.first + i] = first + i;
  }
  void is(ValueId old, ValueId fresh) { now_[old] = fresh; }
  Graph finish(const char* pass) {
    for (ValueId id : from_.outputs) graph.outputs.push_back((*this)[id]);
#ifndef NDEBUG
    verify(graph, pass);
#else
    static_cast<void>(pass);
#endif
    return std::move(graph);
  }

  Graph graph;

 private:
  const Graph& from_;
  std::vector<ValueId> now_;
};

// Bit for bit: 0.0 and -0.0 are two numbers here.
bool same_attrs(const std::vector<Attr>& a, const std::vector<Attr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Attr& x, const Attr& y) {
    const double *const p = std::get_if<double>(&x), *const q = std::get_if<double>(&y);
    if (p != nullptr && q != nullptr) return std::bit_cast<std::uint64_t>(*p) == std::bit_cast<std::uint64_t>(*q);
    return x == y;
  });
}

}  // namespace

std::vector<bool> optimize(Graph& graph, std::size_t fixed_inputs) {
  share_equal(graph);
  fold_constants(graph);
  return drop_dead(graph, fixed_inputs);
}

std::vector<bool> drop_dead(Graph& graph, std::size_t fixed_inputs) {
  std::vector<bool> needed(graph.values.size()), runs(graph.nodes.size());
  for (ValueId id : graph.outputs) needed[id] = true;
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const GraphNode& node = graph.nodes[n];
    runs[n] = may_fail(node);
    for (std::uint32_t i = 0; i < node.count; ++i) runs[n] = runs[n] || needed[node.first + i];
    if (runs[n])
      for (ValueId id : node.inputs) needed[id] = true;
  }
  std::vector<bool> kept(graph.inputs.size());
  Rebuilt rebuilt(graph);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    kept[i] = i < fixed_inputs || needed[graph.inputs[i]];
    if (kept[i]) rebuilt.keep_input(graph.inputs[i]);
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n)
    if (runs[n]) rebuilt.keep_node(graph.nodes[n], rebuilt.inputs_of(graph.nodes[n]));
  graph = rebuilt.finish("drop_dead");
  return kept;
}

void share_equal(Graph& graph) {
  Rebuilt rebuilt(graph);
  for (ValueId id : graph.inputs) rebuilt.keep_input(id);
  std::unordered_map<std::size_t, std::vector<std::uint32_t>> known;  // nodes of the new graph by a hash of what they call
  for (const GraphNode& node : graph.nodes) {
    const SmallVector<ValueId, 4> inputs = rebuilt.inputs_of(node);
    std::size_t hash = std::hash<const void*>()(node.op);
    for (ValueId id : inputs) hash = hash * 0x9e3779b97f4a7c15ull + id;
    std::vector<std::uint32_t>& like = known[hash];
    const GraphNode* same = nullptr;
    for (const std::uint32_t n : like) {
      const GraphNode& candidate = rebuilt.graph.nodes[n];
      if (candidate.op == node.op && same_attrs(candidate.attrs, node.attrs) && std::equal(inputs.begin(), inputs.end(), candidate.inputs.begin(), candidate.inputs.end()))
        same = &candidate;
    }
    if (same != nullptr) {
      for (std::uint32_t i = 0; i < node.count; ++i) rebuilt.is(node.first + i, same->first + i);
    } else {
      like.push_back(static_cast<std::uint32_t>(rebuilt.graph.nodes.size()));
      rebuilt.keep_node(node, inputs);
    }
  }
  graph = rebuilt.finish("share_equal");
}

void fold_constants(Graph& graph) {
  constexpr std::int64_t kMostBytes = 1 << 16;
  Rebuilt rebuilt(graph);
  for (ValueId id : graph.inputs) rebuilt.keep_input(id);
  for (const GraphNode& node : graph.nodes) {
    const SmallVector<ValueId, 4> inputs = rebuilt.inputs_of(node);
    bool folds = !node.op->is(kMayFail) && !node.op->is(kValueShape);
    for (ValueId id : inputs) folds = folds && rebuilt.graph.values[id].kind == From::kConstant;
    for (std::uint32_t i = 0; i < node.count; ++i) {
      const Spec& spec = graph.values[node.first + i].spec;
      folds = folds && spec.shape.known() && spec.shape.num_elements() <= kMostBytes / static_cast<std::int64_t>(size_of(spec.dtype));
    }
    if (!folds) {
      rebuilt.keep_node(node, inputs);
      continue;
    }
    SmallVector<Tensor, 4> arguments;
    for (ValueId id : inputs) arguments.push_back(rebuilt.graph.constants[rebuilt.graph.values[id].from].value);
    Tensors results;
    const Interpreter::Scope eager(nullptr);
    apply_eagerly({*node.op, arguments, node.attrs, node.at}, results);
    for (std::uint32_t i = 0; i < node.count; ++i) rebuilt.is(node.first + i, rebuilt.graph.add_constant(std::move(results[i]), node.op, node.at));
  }
  graph = rebuilt.finish("fold_constants");
}

}  // namespace weft::inline v0
