#include "graph/plan.h"

#include <algorithm>
#include <new>


namespace weft::inline v0 {
namespace {

constexpr std::uint32_t kBefore = 0;  // inputs and constants are there before the first step, which has number 1
constexpr std::size_t kMostInGroup = 16;  // its slots, at most three for each call, stay within those of a tile program
constexpr std::int64_t kMostBytes = std::int64_t{1} << 47;  // of one value: no machine has more, and sums of many still count

bool is_pointwise(const Op& op) { return static_cast<bool>(op.tile) && op.validate == nullptr; }

}  // namespace

Plan::Plan(const Graph& graph, std::span<const Spec> inputs, OldValues old_values)
    : graph_(graph), values_(graph.values.size()), replacing_(old_values.size()) {
  infer_all(inputs);
  find_late(old_values);
  group_nodes();
  number_steps();
  order_steps();
  find_places();
  find_outputs();
  lay_out();
  for (Step& step : steps_)
    if (!group_of(step).empty()) prepare_pointwise(step);
}

void Plan::infer_all(std::span<const Spec> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) values_[graph_.inputs[i]].spec = inputs[i];
  for (std::size_t v = 0; v < values_.size(); ++v) {
    values_[v].root = static_cast<ValueId>(v);
    if (graph_.values[v].kind == GraphValue::Kind::kConstant) values_[v].spec = graph_.values[v].spec;
  }
  for (const GraphNode& node : graph_.nodes) {
    SmallVector<const Spec*, 4> specs;
    bool sees_all = true;
    for (ValueId id : node.inputs) {
      specs.push_back(&values_[id].spec);
      sees_all = sees_all && specs.back()->shape.known();
    }
    bool known = sees_all;
    try {
      Specs results = node.op->infer(Infer{{*node.op, node.attrs, node.at}, specs});
      for (std::uint32_t i = 0; i < node.count; ++i) {
        known = known && results[i].shape.known();
        if (results[i].shape.known() && bytes_of(results[i]) > kMostBytes) throw std::bad_alloc();
        values_[node.first + i].spec = std::move(results[i]);
      }
    } catch (...) {
      rethrow_in_name_of(*node.op, node.at);
    }
    ways_.push_back(way_of(node, sees_all, known));
    if (ways_.back() == Way::kView) values_[node.first].root = values_[node.inputs[0]].root;
  }
}

// A rule that sees all sizes has been applied by then; others are when the sizes come, unless nobody makes what has them.
Plan::Way Plan::way_of(const GraphNode& node, bool sees_all, bool known) const {
  if (!node.runs) {
    const bool come = std::none_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
      const GraphValue& value = graph_.values[id];
      return !values_[id].spec.shape.known() && value.kind == GraphValue::Kind::kResult && ways_[value.from] == Way::kNever;
    });
    return sees_all || !come ? Way::kNever : Way::kRule;
  }
  if (!known) return Way::kDynamic;
  if (node.op->is(kView) && node.op->validate == nullptr) return Way::kView;
  return is_pointwise(*node.op) ? Way::kPointwise : Way::kCall;
}

// The first step after which everything is there that the node reads.
std::uint32_t Plan::ready_at(const GraphNode& node) const {
  std::uint32_t at = kBefore;
  for (ValueId id : node.inputs) at = std::max(at, values_[values_[id].root].made);
  return at;
}

// A call whose kernel tells of its result block by block; of few lanes there are no blocks.
bool Plan::begins_group(std::uint32_t n) const {
  const GraphNode& node = graph_.nodes[n];
  if (ways_[n] == Way::kPointwise) return true;
  const Spec& made = values_[node.first].spec;
  return ways_[n] == Way::kCall && node.op->is(kTellsBlocks) && (made.dtype == f32 || made.dtype == f64) && made.shape.num_elements() > kDirectLanes;
}

// Ends with a reduction.
bool Plan::is_closed(const Step& step) const { return step.nodes.size() > 1 && ways_[step.nodes.back()] != Way::kPointwise; }

// The pointwise calls in it.
std::span<const std::uint32_t> Plan::group_of(const Step& step) const {
  std::span<const std::uint32_t> group = step.nodes;
  if (ways_[group.front()] != Way::kPointwise) group = group.subspan(1);
  if (!group.empty() && ways_[group.back()] != Way::kPointwise) group = group.first(group.size() - 1);
  return group;
}

// Lanes must mean the same places: one shape, and no view of what the group itself makes.
bool Plan::joins(const GraphNode& node, std::uint32_t step) const {
  const Step& group = steps_[step - 1];
  if (!graph_.fuses || !begins_group(group.nodes[0]) || is_closed(group) || group.nodes.size() >= kMostInGroup) return false;
  return values_[graph_.nodes[group.nodes[0]].first].spec.shape == values_[node.first].spec.shape && !reads_view_of(node, step);
}

// The group whose end a reduction can be, since nobody else wants what it reads of it; else kBefore.
std::uint32_t Plan::folds_from(std::uint32_t n, const std::vector<std::uint32_t>& uses) const {
  const GraphNode& node = graph_.nodes[n];
  if (!graph_.fuses || ways_[n] != Way::kCall || !node.op->is(kMakesInput)) return kBefore;
  const ValueId x = node.inputs[0];
  const std::uint32_t step = values_[x].made;
  if (values_[x].root != x || step == kBefore || uses[x] != 1 || is_half(values_[x].spec.dtype) || values_[x].spec.shape.num_elements() <= kDirectLanes) return kBefore;
  const Step& group = steps_[step - 1];
  const bool open = ways_[group.nodes.front()] == Way::kPointwise && ways_[group.nodes.back()] == Way::kPointwise;
  return open && ready_at(node) == step ? step : kBefore;
}

bool Plan::reads_view_of(const GraphNode& node, std::uint32_t step) const {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return values_[id].root != id && values_[values_[id].root].made == step; });
}

// Of one shape, few enough together, and nothing has been placed that reads what `from` makes: then it may as well run where `to` does.
bool Plan::can_move(std::uint32_t from, std::uint32_t to, const std::vector<bool>& read_outside) const {
  const Step &source = steps_[from - 1], &target = steps_[to - 1];
  if (source.nodes.empty() || read_outside[from] || ways_[source.nodes[0]] != Way::kPointwise || is_closed(source)) return false;
  if (source.nodes.size() + target.nodes.size() >= kMostInGroup) return false;
  return values_[graph_.nodes[source.nodes[0]].first].spec.shape == values_[graph_.nodes[target.nodes[0]].first].spec.shape;
}

void Plan::place(std::uint32_t n, std::uint32_t step, std::vector<bool>& read_outside) {
  const GraphNode& node = graph_.nodes[n];
  steps_[step - 1].nodes.push_back(n);
  for (std::uint32_t i = 0; i < node.count; ++i) values_[node.first + i].made = step;
  for (ValueId id : node.inputs)
    if (const std::uint32_t made = values_[values_[id].root].made; made != step && reads(n, id)) read_outside[made] = true;
}

// Of a late call what can fail is due in its turn: a look at data, and sizes that are not known yet.
bool Plan::checks(std::uint32_t n) const {
  const GraphNode& node = graph_.nodes[n];
  if (ways_[n] != Way::kLate) return ways_[n] == Way::kRule;
  return node.op->validate != nullptr || std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return !values_[id].spec.shape.known(); });
}

void Plan::group_nodes() {
  std::vector<bool> read_outside(graph_.nodes.size() + 1);  // of the steps: another one reads what it makes
  const std::vector<std::uint32_t> uses = count_uses(graph_);
  for (std::uint32_t n = 0; n < graph_.nodes.size(); ++n) {
    const GraphNode& node = graph_.nodes[n];
    if (checks(n)) {
      steps_.push_back({.nodes = {}, .checks = true});
      place(n, static_cast<std::uint32_t>(steps_.size()), read_outside);
      continue;
    }
    if (ways_[n] == Way::kNever || ways_[n] == Way::kView || ways_[n] == Way::kLate) continue;
    if (const std::uint32_t group = folds_from(n, uses); group != kBefore) {
      place(n, group, read_outside);
      continue;
    }
    std::uint32_t step = ways_[n] == Way::kPointwise ? ready_at(node) : kBefore;
    if (step == kBefore || !joins(node, step)) {
      steps_.emplace_back();
      step = static_cast<std::uint32_t>(steps_.size());
    } else {
      // The other groups that it reads from join it there.
      for (ValueId id : node.inputs) {
        const std::uint32_t other = values_[values_[id].root].made;
        if (other == kBefore || other == step || reads_view_of(node, other) || !can_move(other, step, read_outside)) continue;
        for (const std::uint32_t moved : std::exchange(steps_[other - 1].nodes, {})) place(moved, step, read_outside);
      }
    }
    place(n, step, read_outside);
  }
  std::erase_if(steps_, [](const Step& step) { return step.nodes.empty(); });  // they have moved elsewhere
  for (const Late& late : late_) steps_.push_back({{late.node}});
}

void Plan::number_steps() {
  for (Value& value : values_) value.last = kBefore;
  for (std::size_t s = 1; s <= steps_.size(); ++s)
    for (const std::uint32_t n : steps_[s - 1].nodes) {
      const GraphNode& node = graph_.nodes[n];
      for (std::uint32_t i = 0; i < node.count; ++i) values_[node.first + i].made = values_[node.first + i].last = static_cast<std::uint32_t>(s);
      for (ValueId id : node.inputs) {
        Value& root = values_[values_[id].root];
        if (reads(n, id)) root.last = std::max(root.last, static_cast<std::uint32_t>(s));
      }
    }
}

void Plan::find_places() {
  std::vector<bool> read_elsewhere(values_.size());  // by another step than the one that makes it, or as a view
  for (std::size_t s = 0; s < steps_.size(); ++s)
    for (const std::uint32_t n : steps_[s].nodes)
      for (ValueId id : graph_.nodes[n].inputs)
        if (reads(n, id) && (values_[values_[id].root].made != s + 1 || values_[id].root != id)) read_elsewhere[values_[id].root] = true;
  unread_.assign(values_.size(), true);
  for (std::uint32_t n = 0; n < graph_.nodes.size(); ++n)
    if (ways_[n] != Way::kNever)
      for (ValueId id : graph_.nodes[n].inputs)
        if (reads(n, id)) unread_[id] = false;
  for (ValueId id : graph_.outputs) unread_[id] = false;
  for (std::size_t i = 0; i < graph_.inputs.size(); ++i) values_[graph_.inputs[i]].place = Place::kInput, values_[graph_.inputs[i]].at = i;
  for (std::size_t v = 0; v < values_.size(); ++v) {
    const GraphValue& known = graph_.values[v];
    if (known.kind == GraphValue::Kind::kConstant) values_[v].place = Place::kConstant, values_[v].at = known.from;
    if (known.kind != GraphValue::Kind::kResult || values_[v].root != v || ways_[known.from] == Way::kNever) continue;
    if (ways_[known.from] == Way::kLate) {
      values_[v].place = Place::kLate;
      continue;
    }
    if (unread_[v] && graph_.nodes[known.from].op->is(kSkipsUnread)) continue;
    if (!values_[v].spec.shape.known()) values_[v].place = Place::kDynamic, dynamic_.push_back(static_cast<ValueId>(v));
    else if (ways_[known.from] != Way::kRule && (read_elsewhere[v] || ways_[known.from] != Way::kPointwise)) values_[v].place = Place::kArena;
  }
  for (ValueId id : graph_.outputs) {
    Value& root = values_[values_[id].root];
    if (root.place == Place::kInput || root.place == Place::kConstant || root.place == Place::kEscapes || root.place == Place::kDynamic || root.place == Place::kLate) continue;
    root.place = Place::kEscapes;
    root.at = escaping_.size();
    escaping_.push_back(values_[id].root);
  }
  of_input_.resize(graph_.inputs.size());
  of_escaping_.resize(escaping_.size());
  for (std::size_t v = 0; v < values_.size(); ++v) {
    const Value& root = values_[values_[v].root];
    if (root.place == Place::kInput) of_input_[root.at].push_back(static_cast<ValueId>(v));
    if (root.place == Place::kEscapes) of_escaping_[root.at].push_back(static_cast<ValueId>(v));
  }
}

void Plan::find_outputs() {
  std::vector<bool> needed(values_.size());
  for (std::size_t i = graph_.outputs.size(); i-- > 0;) {
    const ValueId id = graph_.outputs[i], root = values_[id].root;
    outputs_.push_back({id, root, id == root && !needed[root]});
    needed[root] = true;
  }
  std::reverse(outputs_.begin(), outputs_.end());
  by_handle_.resize(values_.size());
  for (std::uint32_t n = 0; n < graph_.nodes.size(); ++n) {
    if (ways_[n] == Way::kNever || ways_[n] == Way::kView || ways_[n] == Way::kPointwise) continue;
    const GraphNode& node = graph_.nodes[n];
    for (ValueId id : node.inputs) by_handle_[id] = by_handle_[id] || reads(n, id);
    for (std::uint32_t i = 0; i < node.count; ++i) by_handle_[node.first + i] = true;
  }
}

std::size_t Plan::steps() const {
  return static_cast<std::size_t>(std::count_if(steps_.begin(), steps_.end(), [](const Step& step) { return !step.checks; }));
}

std::vector<StepNote> Plan::describe() const {
  std::vector<StepNote> notes;
  std::size_t turn = 0;
  for (std::size_t s = 0, next = 0; s < steps_.size(); ++s) {
    const Step& step = steps_[s];
    if (s == next) next += step.beside, ++turn;
    if (step.checks) continue;
    StepNote note{step.nodes, {}, {}, turn - 1};
    for (const std::uint32_t n : step.nodes)
      for (ValueId id = graph_.nodes[n].first; id < graph_.nodes[n].first + graph_.nodes[n].count; ++id)
        if (step.nodes.size() == 1 || values_[id].place == Place::kEscapes || values_[id].last > values_[id].made) note.results.push_back(id);
    for (ValueId id : note.results) note.specs.push_back(values_[id].spec);
    notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace weft::inline v0
