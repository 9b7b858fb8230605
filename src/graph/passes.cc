#include "graph/passes.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <unordered_map>

#include "base/planted.h"

#include "graph/rebuilt.h"
#include "graph/region.h"

namespace weft::inline v0 {
namespace {

using From = GraphValue::Kind;

// Bit for bit: 0.0 and -0.0 are two numbers here.
bool same_attrs(const std::vector<Attr>& a, const std::vector<Attr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Attr& x, const Attr& y) {
    const double *const p = std::get_if<double>(&x), *const q = std::get_if<double>(&y);
    if (p != nullptr && q != nullptr) return std::bit_cast<std::uint64_t>(*p) == std::bit_cast<std::uint64_t>(*q);
    return x == y;
  });
}

// Dtype, shape and elements, as bytes.
std::string bytes_of_constant(const Tensor& value) {
  const Spec& spec = value.spec();
  std::string bytes(1, static_cast<char>(spec.dtype));
  for (const std::int64_t size : spec.shape) bytes += std::to_string(size) + ",";
  return bytes.append(static_cast<const char*>(value.node()->data), static_cast<std::size_t>(weft::bytes_of(spec)));
}

std::vector<bool> drop_unread_inputs(Graph& graph, std::size_t fixed) {
  std::vector<bool> read(graph.values.size());
  for (const GraphNode& node : graph.nodes)
    for (ValueId id : node.inputs) read[id] = true;
  for (ValueId id : graph.outputs) read[id] = true;
  std::vector<bool> kept(graph.inputs.size());
  for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = i < fixed || read[graph.inputs[i]];
  if (std::find(kept.begin(), kept.end(), false) == kept.end()) return kept;
  Rebuilt rebuilt(graph);
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (kept[i]) rebuilt.keep_input(graph.inputs[i]);
  for (const GraphNode& node : graph.nodes) rebuilt.keep_node(node, rebuilt.inputs_of(node));
  graph = rebuilt.finish();
  return kept;
}

void verify_in_debug_builds(const Graph& graph, const char* pass) {
#ifndef NDEBUG
  verify(graph, pass);
#else
  static_cast<void>(graph), static_cast<void>(pass);
#endif
}

}  // namespace

std::span<const Pass> passes() {
  static constexpr Pass kPasses[] = {
      {"fold_constants", "makes calls on constants while tracing", fold_constants},
      {"simplify", "gives calls a simpler form with the same bits", simplify},
      {"share_equal", "makes equal calls once", share_equal},
      {"drop_dead", "drops calls whose results nobody needs", drop_dead},
      {"fuse", "lets the plan go over elements once for several calls", fuse},
      {"overlap", "lets short steps of the plan that do not need each other run side by side", overlap},
  };
  return kPasses;
}

Optimized optimize(Graph& graph, std::size_t fixed_inputs) {
  Optimized done;
  const std::vector<std::string> without = graph.without;
  graph.fuses = graph.overlaps = false;
  for (const Pass& pass : passes()) {
    if (std::find(without.begin(), without.end(), pass.name) != without.end()) continue;
    const std::size_t before = graph.calls();
    const auto start = std::chrono::steady_clock::now();
    pass.run(graph);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    done.passes.push_back({pass.name, before, graph.calls(), took.count()});
    verify_in_debug_builds(graph, pass.name);
  }
  done.kept_inputs = drop_unread_inputs(graph, fixed_inputs);
  verify_in_debug_builds(graph, "drop_unread_inputs");
  return done;
}

void fuse(Graph& graph) { graph.fuses = true; }

void overlap(Graph& graph) { graph.overlaps = true; }

// Whether its row may refuse sizes that a plan will know. A row of lanes that reads one value takes any.
static bool may_refuse(const Graph& graph, const GraphNode& node) {
  if (node.op->tile && node.inputs.size() == 1) return false;
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return !graph.values[id].spec.shape.known(); });
}

void drop_dead(Graph& graph) {
  std::vector<bool> needed(graph.values.size()), inferred(graph.values.size()), runs(graph.nodes.size()), stays(graph.nodes.size());
  const auto among = [](const GraphNode& node, const std::vector<bool>& values) {
    for (std::uint32_t i = 0; i < node.count; ++i)
      if (values[node.first + i]) return true;
    return false;
  };
  for (ValueId id : graph.outputs) needed[id] = true;
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const GraphNode& node = graph.nodes[n];
    const bool sized = among(node, inferred);
    runs[n] = node.runs && ((may_fail(node) && !planted(Bug::kDropsFailing)) || among(node, needed) || (sized && decides_sizes(graph, node)));
    stays[n] = !runs[n] && sized;
    if (!runs[n] && !stays[n] && !may_refuse(graph, node)) continue;
    for (ValueId id : node.inputs) (runs[n] ? needed : inferred)[id] = true;
  }
  Rebuilt rebuilt(graph);
  rebuilt.keep_inputs();
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
    if (runs[n] || stays[n]) rebuilt.keep_node(node, rebuilt.inputs_of(node));
    else if (may_refuse(graph, node)) rebuilt.keep_rule(node);
    if (stays[n]) rebuilt.stop_running();
  }
  graph = rebuilt.finish();
}

void share_equal(Graph& graph) {
  constexpr std::int64_t kMostBytes = 64;  // of a constant that is compared
  Rebuilt rebuilt(graph);
  rebuilt.keep_inputs();
  std::unordered_map<std::string, ValueId> constants;  // of the old graph
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const GraphValue& value = graph.values[id];
    if (value.kind != From::kConstant || weft::bytes_of(value.spec) > kMostBytes) continue;
    if (graph.constants[value.from].value.node()->count.load(std::memory_order_relaxed) != 1) continue;  // a tape may follow one of them
    const auto [known, fresh] = constants.emplace(bytes_of_constant(graph.constants[value.from].value), id);
    if (!fresh) rebuilt.is(id, rebuilt[known->second]);
  }
  std::unordered_map<std::size_t, std::vector<std::uint32_t>> known;  // nodes of the new graph by a hash of what they call
  for (const GraphNode& node : graph.nodes) {
    const SmallVector<ValueId, 4> inputs = rebuilt.inputs_of(node);
    std::size_t hash = std::hash<const void*>()(node.op);
    for (ValueId id : inputs) hash = hash * 0x9e3779b97f4a7c15ull + id;
    std::vector<std::uint32_t>& like = known[hash];
    const GraphNode* same = nullptr;
    for (const std::uint32_t n : like) {
      const GraphNode& candidate = rebuilt.graph.nodes[n];
      if (candidate.op == node.op && (candidate.runs || !node.runs) && candidate.count >= node.count && (planted(Bug::kSharesUnequal) || same_attrs(candidate.attrs, node.attrs)) &&
          std::equal(inputs.begin(), inputs.end(), candidate.inputs.begin(), candidate.inputs.end()))
        same = &candidate;
    }
    if (same != nullptr) {
      for (std::uint32_t i = 0; i < node.count; ++i) rebuilt.is(node.first + i, same->first + i);
    } else {
      like.push_back(static_cast<std::uint32_t>(rebuilt.graph.nodes.size()));
      rebuilt.keep_node(node, inputs);
    }
  }
  graph = rebuilt.finish();
}

void fold_constants(Graph& graph) {
  constexpr std::int64_t kMostBytes = 1 << 16;
  std::vector<bool> held(graph.values.size());  // by somebody else, whose tape may follow it
  for (std::size_t v = 0; v < held.size(); ++v)
    held[v] = graph.values[v].kind == From::kConstant && graph.constants[graph.values[v].from].value.node()->count.load(std::memory_order_relaxed) != 1;
  Rebuilt rebuilt(graph);
  rebuilt.keep_inputs();
  for (const GraphNode& node : graph.nodes) {
    const SmallVector<ValueId, 4> inputs = rebuilt.inputs_of(node);
    bool folds = node.runs && !node.op->is(kMayFail) && !node.op->is(kValueShape);
    for (std::size_t i = 0; i < inputs.size(); ++i) folds = folds && rebuilt.graph.values[inputs[i]].kind == From::kConstant && !held[node.inputs[i]];
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
    for (std::uint32_t i = 0; i < node.count; ++i)
      rebuilt.is(node.first + i, rebuilt.graph.add_constant(std::move(results[i]), node.op, node.at));
  }
  graph = rebuilt.finish();
}

}  // namespace weft::inline v0
