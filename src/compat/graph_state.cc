#include "compat/graph_state.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/room.h"
#include "core/infer.h"
#include <weft/ops.h>
#include <weft/print.h>
#include <weft/random.h>

namespace weft::inline v0::compat::v1 {
namespace {

thread_local GraphState* open_graph = nullptr;
thread_local GraphScope::Open* last_opened = nullptr;

// What the slot of a Variable holds whose first value only a session knows.
Tensor unknown_value(const Spec& spec) {
  const Interpreter::Scope eager(nullptr);
  Shape shape = spec.shape;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (shape.dim(axis) == kUnknown) shape.set(axis, 0);
  return is_floating(spec.dtype) ? fill(shape, Tensor(std::numeric_limits<double>::quiet_NaN(), spec.dtype)) : zeros(shape,
      {.dtype = spec.dtype});
}

const char* name_of_way(Event::Way way) {
  return way == Event::Way::kAdd ? "assign_add" : way == Event::Way::kSubtract ? "assign_sub" : "assign";
}

}  // namespace

GraphState::GraphState() : tracer_(program, *this) { transaction_.symbols = this; }

GraphState* GraphState::open_here() { return open_graph; }

GraphState& GraphState::open(const char* by, Location at) {
  if (open_graph == nullptr) throw StateError(by, "no graph is open in this thread; write `auto scope = graph.as_default();` first.", at);
  return *open_graph;
}

// --- the scope in which it grows ---

struct GraphScope::Open {
  Open(std::shared_ptr<GraphState> of, Location at) : state(std::move(of)), before(open_graph) {
    nested = before == state.get();
    if (nested) return;
    if (const SlotSymbols* const trace = Transaction::tracing_symbols(); trace != nullptr && trace != before)
      throw TraceError("as_default", "a Function is being traced, and a graph is no part of its trace; build the graph outside.", at);
    default_generator();  // made before anything that is made belongs to the graph
    if (state->open_.exchange(true))
      throw StateError("as_default", "the graph is open already, in another thread or around this scope; end that scope first.", at);
    transaction.emplace(&state->transaction_);
    state->tracer_.install();
    open_graph = state.get();
    ++graphs_being_built;
    below = std::exchange(last_opened, this);
  }
  ~Open() {
    if (nested) return;
    last_opened = below;
    --graphs_being_built;
    open_graph = before;
    state->tracer_.remove();
    state->transaction_.forget();
    state->open_ = false;
  }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;

  std::shared_ptr<GraphState> state;
  GraphState* before;
  bool nested = false;
  Open* below = nullptr;             // the scope around this one
  std::unique_ptr<Open> ends_after;  // that one, if its owner has ended it before this one
  std::optional<Transaction::Scope> transaction;
};

GraphScope::GraphScope(std::shared_ptr<GraphState> state, Location at) : open_(std::make_unique<Open>(std::move(state), at)) {}

// What stands on a scope leans on it until it ends itself, so one that is ended out of order waits for that.
GraphScope::~GraphScope() {
  Open* above = last_opened == open_.get() ? nullptr : last_opened;
  while (above != nullptr && above->below != open_.get()) above = above->below;
  if (above != nullptr) above->ends_after = std::move(open_);
}

// --- nodes and events ---

void GraphState::note_values() {
  for (std::size_t id = after.size(); id < program.values.size(); ++id)
    after.push_back(program.values[id].kind == GraphValue::Kind::kConstant ? 0 : set_);  // a constant may serve others
}

Tensor GraphState::add(Event event, Spec spec) {
  const std::lock_guard guard(lock);
  make_room(events);
  const ValueId id = program.add_input(std::move(spec), event.at);
  events.push_back(std::move(event));
  note_values();
  return tracer_.symbol(id);
}

const Event* GraphState::event_of(ValueId id) const {
  const GraphValue& value = program.values[id];
  return value.kind == GraphValue::Kind::kInput ? &events[value.from] : nullptr;
}

ValueId GraphState::value_of(const Tensor& x, const char* by, Location at) {
  if (!x.defined()) throw ValueError(by, "a tensor is an empty handle; assign a value to it first.", at);
  if (x.node()->symbolic && !owns(x))
    throw ValueError(by, "a tensor " + x.spec().str() + " belongs to another graph or trace; use those of this graph.", at);
  const std::lock_guard guard(lock);
  const ValueId id = tracer_.value_of(x, nullptr, at);
  note_values();
  return id;
}

std::string GraphState::title(ValueId id) const {
  const GraphValue& value = program.values[id];
  const Event* const event = event_of(id);
  if (event != nullptr && event->kind == Event::Kind::kPlaceholder && !event->name.empty())
    return "placeholder \"" + event->name + "\" " + value.spec.str();
  const char* const what = event != nullptr && event->kind == Event::Kind::kPlaceholder ? "the placeholder " : "the tensor ";
  return what + value.spec.str() + (value.made_at.line != 0 ? " made at " + place_text(value.made_at) : "");
}

Operation GraphState::group(std::vector<ValueId> parts, Location at) {
  return Operation(add({.kind = Event::Kind::kGroup, .needs = std::move(parts), .at = at}, Spec{bool_, {}}));
}

std::uint32_t GraphState::add_dependencies(std::span<const ValueId> on) {
  const std::lock_guard guard(lock);
  const std::uint32_t before = set_;
  std::vector<ValueId> all = sets[set_];
  all.insert(all.end(), on.begin(), on.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  sets.push_back(std::move(all));
  set_dependencies(static_cast<std::uint32_t>(sets.size() - 1));
  return before;
}

// Reads of two sets are two events. Inside a step the program's order holds.
void GraphState::set_dependencies(std::uint32_t set) noexcept {
  set_ = set;
  if (steps_ == 0) transaction_.forget();
}

// --- Variables ---

std::vector<Variable> GraphState::variables(Which which) const {
  const std::lock_guard guard(lock);
  std::vector<Variable> result;
  for (const Held& each : held)
    if (which == Which::kAll || each.variable.trainable()) result.push_back(each.variable);
  return result;
}

std::uint32_t GraphState::hold(const SlotRef& slot, ValueId initial, Tensor start) {
  const std::lock_guard guard(lock);
  const auto index = static_cast<std::uint32_t>(held.size());
  held.push_back({Variable(slot), kNoValue, std::move(start)});
  by_id.emplace(slot->id, index);
  const std::uint32_t set = std::exchange(set_, 0);  // an initialiser waits for nobody
  const Tensor write = add({.kind = Event::Kind::kWrite, .way = Event::Way::kInitial, .variable = index, .source = initial,
      .at = slot->made_at}, slot->declared);
  set_ = set;
  held[index].initial = symbol_of(write).value;
  return index;
}

std::uint32_t GraphState::index_of(const SlotRef& slot, const char* by, Location at) {
  if (const auto known = by_id.find(slot->id); known != by_id.end()) return known->second;
  if (slot->role == Slot::Role::kOfGraph)
    throw StateError(by, slot->title() + " belongs to another graph; make one in this graph with get_variable.", at);
  Tensor start = read_latest(*slot);
  return hold(slot, value_of(start, by, at), start);
}

SlotRef GraphState::made(SlotRef slot) {
  const ValueId initial = value_of(read_latest(*slot), "Variable", slot->made_at);
  slot->role = Slot::Role::kOfGraph;
  hold(slot, initial, {});
  return slot;
}

Variable GraphState::variable(const std::string& name, Initial initial, GetVariableOptions options, Location at) {
  constexpr const char* kBy = "get_variable";
  const auto known = by_name_.find(name);
  if (known != by_name_.end()) {
    const Slot& slot = *held[known->second].variable.slot();
    if (!options.reuse)
      throw ValueError(kBy, format("the graph has a Variable \"{}\" since {}; ask for it with reuse, or choose another name.", name,
                                   place_text(slot.made_at)), at);
    if (!initial.has_shape && !initial.value.defined())
      throw ValueError(kBy, format("the value for \"{}\" is an empty Tensor handle; assign a value to it first.", name), at);
    slot.require_fits(kBy, initial.has_shape ? Spec{options.dtype, initial.shape} : initial.value.spec(), at);
    return held[known->second].variable;
  }
  if (options.reuse) throw ValueError(kBy, format("the graph has no Variable \"{}\" to reuse; make it first, without reuse.", name), at);
  if (name.empty()) throw ValueError(kBy, "the name is empty; Variables of a graph are found by their names.", at);
  Tensor value = std::move(initial.value);
  if (initial.has_shape) {
    const std::uint32_t set = std::exchange(set_, 0);
    struct Restore {
      std::uint32_t &to, from;
      ~Restore() { to = from; }
    } restore{set_, set};
    value = options.initializer              ? options.initializer(initial.shape)
            : is_floating(options.dtype) ? glorot_uniform(initial.shape, default_generator(), {.dtype = options.dtype}, at)
                                         : zeros(initial.shape, {.dtype = options.dtype}, at);
    const auto disagree = [&] {
      return format("the initializer of \"{}\" gave {} and {} is asked for; they must agree.", name, value.spec().str(),
                    Spec{options.dtype, initial.shape}.str());
    };
    if (value.defined() && value.dtype() != options.dtype) throw DtypeError(kBy, disagree(), at);
    if (value.defined() && !infer::compatible(value.shape(), initial.shape)) throw ShapeError(kBy, disagree(), at);
  }
  if (!value.defined())
    throw ValueError(kBy, format("the initial value of \"{}\" is an empty Tensor handle; assign a value to it first.", name), at);
  const Spec declared{value.dtype(), initial.has_shape ? initial.shape : value.shape()};
  const ValueId source = value_of(value, kBy, at);
  const auto slot = std::make_shared<Slot>(value.node()->symbolic ? unknown_value(declared) : value, declared,
                                           VariableOptions{.name = name, .trainable = options.trainable,
                                               .constraint = std::move(options.constraint)}, at);
  slot->role = Slot::Role::kOfGraph;
  slot->first_unknown = value.node()->symbolic;
  by_name_.emplace(name, hold(slot, source, {}));
  return Variable(slot);
}

Operation GraphState::initializers(std::span<const Variable> of, Location at) {
  std::vector<ValueId> parts;
  for (const Variable& each : of) parts.push_back(held[index_of(each.slot(), "initializer", at)].initial);
  return group(std::move(parts), at);
}

Tensor GraphState::write(const Variable& variable, Event::Way way, Tensor value, const char* by, Location at) {
  const SlotRef& slot = variable.slot();
  const std::uint32_t index = index_of(slot, by, at);
  if (!value.defined())
    throw ValueError(by, "the value for " + slot->title() + " is an empty Tensor handle; assign a value to it first.", at);
  if (is_literal(value) && literal_fits(value.node()->number(), slot->declared.dtype))
    value = make_scalar(value.node()->number(), slot->declared.dtype, value.node()->made_at());
  slot->require_fits(by, value.spec(), at);
  const ValueId source = value_of(value, by, at);
  return add({.kind = Event::Kind::kWrite, .way = way, .variable = index, .source = source, .at = at}, slot->declared);
}

// --- what users call ---

Graph::Graph() : state_(std::make_shared<GraphState>()) {}
std::vector<Variable> Graph::global_variables() const { return state_->variables(Which::kAll); }
std::vector<Variable> Graph::trainable_variables() const { return state_->variables(Which::kTrainable); }
std::string Graph::str() const {
  const std::lock_guard guard(state_->lock);
  return state_->program.str();
}

Tensor placeholder(DType dtype, Shape shape, std::string name, Location at) {
  return GraphState::open("placeholder", at).add({.kind = Event::Kind::kPlaceholder, .name = std::move(name), .at = at}, Spec{dtype,
      std::move(shape)});
}

Variable get_variable(const std::string& name, Initial initial, GetVariableOptions options, Location at) {
  return GraphState::open("get_variable", at).variable(name, std::move(initial), std::move(options), at);
}

namespace {
Tensor written(const Variable& variable, Event::Way way, Tensor value, Location at) {
  const char* const by = name_of_way(way);
  return GraphState::open(by, at).write(variable, way, std::move(value), by, at);
}
}  // namespace

Tensor assign(const Variable& variable, Tensor value, Location at) { return written(variable, Event::Way::kAssign, std::move(value), at); }
Tensor assign_add(const Variable& variable, Tensor value, Location at) { return written(variable, Event::Way::kAdd, std::move(value), at); }
Tensor assign_sub(const Variable& variable, Tensor value, Location at) { return written(variable, Event::Way::kSubtract, std::move(value),
    at); }

Operation initializer(const Variable& variable, Location at) { return GraphState::open("initializer", at).initializers({&variable, 1}, at);
    }
Operation variables_initializer(const std::vector<Variable>& variables, Location at) {
  return GraphState::open("variables_initializer", at).initializers(variables, at);
}
Operation global_variables_initializer(Location at) {
  GraphState& graph = GraphState::open("global_variables_initializer", at);
  return graph.initializers(graph.variables(Which::kAll), at);
}
std::vector<Variable> global_variables() { return GraphState::open("global_variables", {}).variables(Which::kAll); }
std::vector<Variable> trainable_variables() { return GraphState::open("trainable_variables", {}).variables(Which::kTrainable); }

namespace {
std::vector<ValueId> values_of(GraphState& graph, const std::vector<Dependency>& list, const char* by, Location at) {
  std::vector<ValueId> ids;
  for (const Dependency& each : list) ids.push_back(graph.value_of(each.symbol, by, at));
  return ids;
}
}  // namespace

Operation group(const std::vector<Dependency>& parts, Location at) {
  GraphState& graph = GraphState::open("group", at);
  return graph.group(values_of(graph, parts, "group", at), at);
}

OneOperation::OneOperation(Location at) : state_(GraphState::open("as_operation", at).shared_from_this()), at_(at) {
  if (state_->in_step())
    throw StateError("as_operation", "it stands inside another one, to which all writes there belong; end that one first.", at);
  state_->begin_step();
}
OneOperation::~OneOperation() {
  if (open_) state_->end_step(true);
}
Operation OneOperation::finish() {
  open_ = false;
  return state_->group(state_->end_step(false), at_);
}

DependencyScope::DependencyScope(const std::vector<Dependency>& on, Location at)
    : state_(GraphState::open("control_dependencies", at).shared_from_this()),
      before_(state_->add_dependencies(values_of(*state_, on, "control_dependencies", at))) {}
DependencyScope::~DependencyScope() { state_->set_dependencies(before_); }

}  // namespace weft::inline v0::compat::v1
