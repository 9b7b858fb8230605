// Which loops count their turns, and how many turns that makes.
#include <algorithm>
#include <limits>
#include <optional>

#include "graph/passes.h"
#include "graph/rebuilt.h"
#include "graph/region_parts.h"

namespace weft::inline v0 {
namespace {

using Kind = GraphValue::Kind;

// a < b, and its like: whether a lies before b, or behind it; perhaps at b, too.
struct Comparison {
  std::string_view op;
  bool before, inclusive;
};
constexpr Comparison kComparisons[] = {{"less", true, false}, {"less_equal", true, true}, {"greater", false, false}, {"greater_equal", false, true}};
// What adds the same number again and again: counter + step, counter - step.
constexpr std::string_view kAdds = "add", kSubtracts = "subtract";

bool is_counter(const Spec& spec) { return spec.shape.known() && spec.shape.rank() == 0 && (spec.dtype == i32 || spec.dtype == i64); }

const GraphNode* maker(const Graph& graph, ValueId id) {
  const GraphValue& value = graph.values[id];
  return value.kind == Kind::kResult && graph.nodes[value.from].runs ? &graph.nodes[value.from] : nullptr;
}

std::optional<std::int64_t> constant(const Graph& graph, ValueId id) {
  const GraphValue& value = graph.values[id];
  if (value.kind != Kind::kConstant || !is_counter(value.spec)) return {};
  return integer_in(graph.constants[value.from].value);
}

// By how much a turn changes carried value c, if it does nothing else to it; 0 otherwise.
std::int64_t step_of(const Graph& body, std::size_t c) {
  const GraphNode* const made = maker(body, body.outputs[c]);
  if (made == nullptr || made->inputs.size() != 2 || !is_counter(body.values[body.outputs[c]].spec)) return 0;
  for (const std::size_t side : {0, 1}) {
    if (made->inputs[side] != body.inputs[c]) continue;
    const std::int64_t step = constant(body, made->inputs[1 - side]).value_or(0);
    if (made->op->name == kAdds) return step;
    if (made->op->name == kSubtracts && side == 0 && step != std::numeric_limits<std::int64_t>::min()) return -step;
  }
  return 0;
}

bool reads(const Graph& graph, ValueId id) {
  return std::find(graph.outputs.begin(), graph.outputs.end(), id) != graph.outputs.end() ||
         std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const GraphNode& node) { return std::find(node.inputs.begin(), node.inputs.end(), id) != node.inputs.end(); });
}

// What is left to do for the turns of a loop once it knows how many they are.
void find_rest(const Region& region, Counting& counting) {
  const auto at = [](std::size_t i) { return static_cast<std::ptrdiff_t>(i); };
  Graph kept = region.bodies[0]->graph();
  kept.outputs.erase(kept.outputs.begin() + at(region.carried));  // go
  Graph rest = kept;
  rest.outputs.erase(rest.outputs.begin() + at(counting.counter));
  drop_dead(rest);
  counting.kept = reads(rest, rest.inputs[counting.counter]);
  if (counting.kept) {
    drop_dead(kept);
    rest = std::move(kept);
  } else {
    std::vector<bool> others(rest.inputs.size(), true);
    others[counting.counter] = false;
    rest = with_inputs(rest, others);
  }
  counting.rest = std::make_shared<const Runner>(std::move(rest));
}

std::shared_ptr<const Counting> find_counting(const Region& region) {
  const Graph& body = region.bodies[0]->graph();
  if (!region.conditional || region.elements > 0 || body.outputs.size() != region.carried + 1) return nullptr;
  const GraphNode* const compares = maker(body, body.outputs[region.carried]);
  if (compares == nullptr) return nullptr;
  const auto* const comparison = std::find_if(std::begin(kComparisons), std::end(kComparisons), [&](const Comparison& c) { return c.op == compares->op->name; });
  if (comparison == std::end(kComparisons)) return nullptr;
  for (const std::size_t side : {0, 1}) {
    const ValueId counter = compares->inputs[side], bound = compares->inputs[1 - side];
    const bool before = comparison->before == (side == 0);
    for (std::size_t c = 0; c < region.carried; ++c) {
      const std::int64_t step = body.outputs[c] == counter ? step_of(body, c) : 0;
      if (before ? step <= 0 : step >= 0) continue;
      Counting found{.of = region.bodies[0], .counter = c, .step = step, .bound = 0, .inclusive = comparison->inclusive, .kept = false, .rest = nullptr};
      const GraphValue& end = body.values[bound];
      if (!is_counter(end.spec)) continue;
      if (end.kind == Kind::kInput && end.from >= region.carried) found.read = static_cast<std::int32_t>(end.from - region.carried);
      else if (const auto number = constant(body, bound)) found.bound = *number;
      else continue;
      find_rest(region, found);
      return std::make_shared<const Counting>(std::move(found));
    }
  }
  return nullptr;
}

}  // namespace

std::int64_t Counting::turns(DType dtype, std::int64_t start, std::int64_t end) const {
  const std::int64_t least = dtype == i32 ? std::numeric_limits<std::int32_t>::min() : std::numeric_limits<std::int64_t>::min();
  const std::int64_t most = dtype == i32 ? std::numeric_limits<std::int32_t>::max() : std::numeric_limits<std::int64_t>::max();
  std::int64_t distance, covered, last;
  if (step == std::numeric_limits<std::int64_t>::min() || (step > 0 ? __builtin_sub_overflow(end, start, &distance) : __builtin_sub_overflow(start, end, &distance))) return kUnknown;
  if (inclusive && __builtin_add_overflow(distance, 1, &distance)) return kUnknown;
  const std::int64_t size = step > 0 ? step : -step, count = distance <= 0 ? 1 : distance / size + (distance % size != 0);
  if (__builtin_mul_overflow(count, step, &covered) || __builtin_add_overflow(start, covered, &last) || last < least || last > most) return kUnknown;
  return count;
}

void count_turns(Graph& graph) {
  for (GraphNode& node : graph.nodes)
    for (Attr& attr : node.attrs) {
      const auto* const region = std::get_if<std::shared_ptr<const Region>>(&attr);
      if (region == nullptr || *region == nullptr || !(*region)->conditional || (*region)->counted() != nullptr) continue;
      if (std::shared_ptr<const Counting> found = find_counting(**region)) {
        Region counted = **region;
        counted.counting = std::move(found);
        attr = std::make_shared<const Region>(std::move(counted));
      }
    }
}

}  // namespace weft::inline v0
