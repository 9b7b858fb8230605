// The rules of simplify. Each gives the same bits for every input: so there is none for x + 0 on floats (-0 + 0 is 0), for x * 0 (NaN), and
// none for x * 1 (a signalling NaN comes out quiet). 16-bit floats are computed in f32, which changes NaNs: there -(-x) is not x either.
#include <algorithm>

#include "graph/passes.h"
#include "graph/rebuilt.h"

namespace weft::inline v0 {
namespace {

// A call that a rule looks at, in the graph that is simplified or in the one made of it so far.
struct Site {
  const Graph& graph;
  const Op& op;
  AttrSpan attrs;
  std::span<const ValueId> inputs;
  const Spec& result;

  const Spec& spec(ValueId id) const { return graph.values[id].spec; }
  Ints ints(std::size_t attr) const { return std::get<Ints>(attrs[attr]); }
  /// The call that makes an input, or null.
  const GraphNode* maker(std::size_t i = 0) const {
    const GraphValue& value = graph.values[inputs[i]];
    return value.kind == GraphValue::Kind::kResult ? &graph.nodes[value.from] : nullptr;
  }
  const GraphNode* maker_of_same_row() const {
    const GraphNode* const node = maker();
    return node != nullptr && node->op == &op ? node : nullptr;
  }
  /// Whether an input is the integer n.
  bool is_integer(std::size_t i, std::int64_t n) const {
    const GraphValue& value = graph.values[inputs[i]];
    if (value.kind != GraphValue::Kind::kConstant || (bit(value.spec.dtype) & kInts) == 0) return false;
    const Tensor& constant = graph.constants[value.from].value;
    return constant.size() == 1 && with_element(value.spec.dtype, [&](auto* tag) {
      using T = std::remove_pointer_t<decltype(tag)>;
      if constexpr (std::is_integral_v<T>) return *static_cast<const T*>(constant.node()->data) == static_cast<T>(n);
      else return false;
    });
  }
  bool known(ValueId id) const { return spec(id).shape.known(); }
};

// A value that is there already, or the same op with other attributes on another input.
struct Simpler {
  ValueId value;
  std::optional<std::vector<Attr>> attrs{};
};
using Found = std::optional<Simpler>;

Found input_itself(const Site& s) { return Simpler{s.inputs[0]}; }

Found undone_by_itself(const Site& s) {
  const GraphNode* const inner = s.maker_of_same_row();
  return inner == nullptr || is_half(s.result.dtype) ? Found() : Simpler{inner->inputs[0]};
}

Found to_own_dtype(const Site& s) {
  return s.spec(s.inputs[0]).dtype == s.result.dtype && !is_half(s.result.dtype) ? input_itself(s) : Found();
}

Found to_own_shape(const Site& s) { return s.known(s.inputs[0]) && s.spec(s.inputs[0]) == s.result ? input_itself(s) : Found(); }

// A view may refuse sizes that are not known yet, so all must be.
Found of_a_view(const Site& s) {
  if (Found found = to_own_shape(s)) return found;
  const GraphNode* const inner = s.maker();
  if (inner == nullptr || !inner->op->is(kView) || inner->op->is(kNoGradient)) return {};
  if (!s.known(inner->inputs[0]) || !s.known(inner->first)) return {};
  if (s.spec(inner->inputs[0]) == s.result) return Simpler{inner->inputs[0]};
  return Simpler{inner->inputs[0], std::vector<Attr>(s.attrs.begin(), s.attrs.end())};
}

Found of_a_broadcast(const Site& s) {
  if (Found found = to_own_shape(s)) return found;
  const GraphNode* const inner = s.maker_of_same_row();
  if (inner == nullptr || !s.known(inner->inputs[0])) return {};
  return Simpler{inner->inputs[0], std::vector<Attr>(s.attrs.begin(), s.attrs.end())};
}

// Axis i of the result is axis order[i] of x.
Ints order_of(const Attr& perm, int rank) {
  Ints order;
  for (int i = 0; i < rank; ++i) {
    const std::int64_t axis = std::holds_alternative<Ints>(perm) ? std::get<Ints>(perm)[static_cast<std::size_t>(i)] : rank - 1 - i;
    order.push_back(axis < 0 ? axis + rank : axis);
  }
  return order;
}

Found transposes(const Site& s) {
  const int rank = s.result.shape.rank();
  Ints order = order_of(s.attrs[0], rank);
  ValueId from = s.inputs[0];
  if (const GraphNode* const inner = s.maker_of_same_row()) {
    const Ints before = order_of(inner->attrs[0], rank);
    for (std::int64_t& axis : order) axis = before[static_cast<std::size_t>(axis)];
    from = inner->inputs[0];
  }
  if (std::is_sorted(order.begin(), order.end())) return Simpler{from};
  if (from == s.inputs[0]) return {};
  return Simpler{from, std::vector<Attr>{std::move(order)}};
}

// x and an integer that changes nothing, on either side; as one element it cannot change the sizes either, only add axes.
template <std::int64_t kNeutral, bool kEitherSide>
Found neutral_integer(const Site& s) {
  if (s.is_integer(1, kNeutral)) return Simpler{s.inputs[0]};
  if (kEitherSide && s.is_integer(0, kNeutral)) return Simpler{s.inputs[1]};
  return {};
}

struct Rule {
  std::string_view op;
  Found (*find)(const Site&);
};
constexpr Rule kRules[] = {
    {"identity", input_itself},           // identity(x)                 -> x
    {"negative", undone_by_itself},       // -(-x)                       -> x
    {"logical_not", undone_by_itself},    // !(!x)                       -> x
    {"cast", to_own_dtype},               // cast(f32 x, f32)            -> x
    {"reshape", of_a_view},               // reshape(reshape(x, a), b)   -> reshape(x, b), or x
    {"reshape_like", to_own_shape},       // reshape_like(x, x)          -> x
    {"broadcast_to", of_a_broadcast},     // broadcast_to(x, its shape)  -> x; of another one: the outer alone
    {"broadcast_like", to_own_shape},     // broadcast_like(x, x)        -> x
    {"transpose", transposes},            // of a transpose: one; in the order that is there: none
    {"add", neutral_integer<0, true>},    // integers: x + 0             -> x
    {"subtract", neutral_integer<0, false>},
    {"multiply", neutral_integer<1, true>},
};

Found simpler(const Site& site) {
  for (const Rule& rule : kRules) {
    if (rule.op != site.op.name) continue;
    Found found = rule.find(site);
    if (!found) return {};
    const Spec& from = site.spec(found->value);
    if (!found->attrs) return from == site.result ? found : Found();
    const Spec* const specs[] = {&from};
    return site.op.infer(Infer{{site.op, *found->attrs, {}}, specs})[0] == site.result ? found : Found();
  }
  return {};
}

}  // namespace

void simplify(Graph& graph) {
  const auto can_be_simpler = [&](const GraphNode& node) {
    return node.count == 1 && simpler({graph, *node.op, node.attrs, node.inputs, graph.values[node.first].spec});
  };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), can_be_simpler)) return;
  Rebuilt rebuilt(graph);
  rebuilt.keep_inputs();
  for (const GraphNode& node : graph.nodes) {
    const SmallVector<ValueId, 4> inputs = rebuilt.inputs_of(node);
    const Found found = node.count == 1 ? simpler({rebuilt.graph, *node.op, node.attrs, inputs, graph.values[node.first].spec}) : Found();
    if (!found) rebuilt.keep_node(node, inputs);
    else if (!found->attrs) rebuilt.is(node.first, found->value);
    else rebuilt.keep_node(node, *found->attrs, {&found->value, 1});
  }
  graph = rebuilt.finish();
}

}  // namespace weft::inline v0
