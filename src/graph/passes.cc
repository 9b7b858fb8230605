#include "graph/passes.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <numeric>
#include <unordered_map>
#include <utility>

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
  if (std::find(kept.begin(), kept.end(), false) != kept.end()) graph = with_inputs(graph, kept);
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
      {"count_turns", "tells loops that count their turns how many they take", count_turns},
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
  const auto unread = [&](const GraphValue& value) { return value.kind == From::kConstant && !needed[static_cast<std::size_t>(&value - graph.values.data())]; };
  if (std::find(runs.begin(), runs.end(), false) == runs.end() && std::none_of(graph.values.begin(), graph.values.end(), unread)) return;
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

// Values are compared by the first of their equals, so one look at the graph as it is finds them all.
void share_equal(Graph& graph) {
  constexpr std::int64_t kMostBytes = 64;  // of a constant that is compared
  std::vector<ValueId> first(graph.values.size());
  std::iota(first.begin(), first.end(), ValueId{0});
  bool any = false;
  std::unordered_map<std::string, ValueId> constants;
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const GraphValue& value = graph.values[id];
    if (value.kind != From::kConstant || weft::bytes_of(value.spec) > kMostBytes) continue;
    if (graph.constants[value.from].value.node()->count.load(std::memory_order_relaxed) != 1) continue;  // a tape may follow one of them
    const auto [known, fresh] = constants.emplace(bytes_of_constant(graph.constants[value.from].value), id);
    first[id] = known->second;
    any = any || !fresh;
  }
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::vector<std::uint32_t> last(std::bit_ceil(graph.nodes.size() + 1), kNone);  // for each hash, of the calls that have it
  std::vector<std::uint32_t> before(graph.nodes.size(), kNone), equal(before);    // for each call, one with its hash; the one that it equals
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
    std::uint64_t hash = reinterpret_cast<std::uintptr_t>(node.op);
    for (const ValueId id : node.inputs) hash = hash * 0x9e3779b97f4a7c15ull + first[id];
    std::uint32_t& head = last[(hash ^ hash >> 32) % last.size()];
    const auto is_equal = [&](const GraphNode& other) {
      return other.op == node.op && (other.runs || !node.runs) && other.count >= node.count && (planted(Bug::kSharesUnequal) || same_attrs(other.attrs, node.attrs)) &&
             std::equal(node.inputs.begin(), node.inputs.end(), other.inputs.begin(), other.inputs.end(), [&](ValueId x, ValueId y) { return first[x] == first[y]; });
    };
    std::uint32_t same = head;
    while (same != kNone && !is_equal(graph.nodes[same])) same = before[same];
    if (same != kNone) {
      equal[n] = same;
      any = true;
      for (std::uint32_t i = 0; i < node.count; ++i) first[node.first + i] = graph.nodes[same].first + i;
    } else {
      before[n] = std::exchange(head, n);
    }
  }
  if (!any) return;
  Rebuilt rebuilt(graph);
  rebuilt.keep_inputs();
  for (ValueId id = 0; id < graph.values.size(); ++id)
    if (graph.values[id].kind == From::kConstant && first[id] != id) rebuilt.is(id, rebuilt[first[id]]);
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
    if (equal[n] == kNone) rebuilt.keep_node(node, rebuilt.inputs_of(node));
    else for (std::uint32_t i = 0; i < node.count; ++i) rebuilt.is(node.first + i, rebuilt[graph.nodes[equal[n]].first + i]);
  }
  graph = rebuilt.finish();
}

void fold_constants(Graph& graph) {
  constexpr std::int64_t kMostBytes = 1 << 16;
  std::vector<bool> held(graph.values.size());  // by somebody else, whose tape may follow it
  for (std::size_t v = 0; v < held.size(); ++v)
    held[v] = graph.values[v].kind == From::kConstant && graph.constants[graph.values[v].from].value.node()->count.load(std::memory_order_relaxed) != 1;
  // `in` has the inputs: the graph itself, or the one that is made of it.
  const auto folds = [&](const GraphNode& node, const Graph& in, std::span<const ValueId> inputs) {
    if (!node.runs || node.op->is(kMayFail) || node.op->is(kValueShape)) return false;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (in.values[inputs[i]].kind != From::kConstant || held[node.inputs[i]]) return false;
    for (std::uint32_t i = 0; i < node.count; ++i) {
      const Spec& spec = graph.values[node.first + i].spec;
      if (!spec.shape.known() || spec.shape.num_elements() > kMostBytes / static_cast<std::int64_t>(size_of(spec.dtype))) return false;
    }
    return true;
  };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), [&](const GraphNode& node) { return folds(node, graph, node.inputs); })) return;
  Rebuilt rebuilt(graph);
  rebuilt.keep_inputs();
  for (const GraphNode& node : graph.nodes) {
    const SmallVector<ValueId, 4> inputs = rebuilt.inputs_of(node);
    if (!folds(node, rebuilt.graph, inputs)) {
      rebuilt.keep_node(node, inputs);
      continue;
    }
    SmallVector<Tensor, 4> arguments;
    bool number = true;
    for (ValueId id : inputs) {
      const GraphConstant& constant = rebuilt.graph.constants[rebuilt.graph.values[id].from];
      arguments.push_back(constant.value);
      number = number && constant.number;
    }
    Tensors results;
    const Interpreter::Scope eager(nullptr);
    apply_eagerly({*node.op, arguments, node.attrs, node.at}, results);
    for (std::uint32_t i = 0; i < node.count; ++i)
      rebuilt.is(node.first + i, rebuilt.graph.add_constant({std::move(results[i]), node.op, node.at, number}));
  }
  graph = rebuilt.finish();
}

}  // namespace weft::inline v0
