#include <algorithm>

#include "compat/run_plan.h"
#include "core/infer.h"
#include <weft/print.h>

namespace weft::inline v0::compat::v1 {
namespace {

constexpr const char* kBy = "Session::run";

struct Planned {
  RunKind kind;
  std::shared_ptr<const RunSteps> steps;
  std::vector<Variable> starts;  // of the session, one for each of steps->starts
  RunCall call;
};

Tensor fed_value(const GraphState& graph, ValueId id, const Tensor& value, Location at) {
  const Spec& spec = graph.program.values[id].spec;
  const auto title = [&] { return graph.title(id); };
  if (!value.defined())
    throw ValueError(kBy, "the value fed for " + title() + " is an empty Tensor handle; assign a value to it first.", at);
  const Node& node = *value.node();
  if (node.symbolic)
    throw TraceError(kBy, "the value fed for " + title() +
        " is itself a tensor of a graph and has no value yet; make it where no graph is open, or run it first and feed what that gives.", at);
  // Of a number that was written there, the braces hold one handle and the feeds another; a named tensor has a third.
  const bool written = node.literal && node.count.load(std::memory_order_relaxed) <= 2;
  if (written && value.dtype() != spec.dtype && literal_fits(node.number(), spec.dtype))
    return fed_value(graph, id, make_scalar(node.number(), spec.dtype), at);
  if (value.dtype() != spec.dtype)
    throw DtypeError(kBy, title() + " is fed with " + value.spec().str() + "; the dtypes must agree, cast the value.", at);
  if (!infer::compatible(value.shape(), spec.shape))
    throw ShapeError(kBy, title() + " is fed with " + value.spec().str() + "; the shapes must agree.", at);
  return value;
}

// Leaves of a tree of fetches, in order.
struct Leaf {
  Tensor* tensor;
  Variable* variable;
};
class LeafWalker final : public TreeWalker {
 public:
  explicit LeafWalker(Location at) : at_(at) {}
  void leaf(const TreeLeaf& leaf) override {
    if (leaf.kind() == TreeLeaf::Kind::kHost) return;
    if (!leaf.writable())
      throw ValueError(kBy, "the fetches hold a const Tensor or Variable, which cannot take a value; make it an ordinary member.", at_);
    leaves.push_back({leaf.as<Tensor>(), leaf.as<Variable>()});
  }
  std::vector<Leaf> leaves;

 private:
  Location at_;
};
std::vector<Leaf> leaves_of(void* tree, weft::detail::WalkFn walk, Location at) {
  LeafWalker walker(at);
  weft::detail::Cursor::begin(walker, tree, true, walk);
  return std::move(walker.leaves);
}

// A Variable of its own with that value, as `clone` would make it.
Variable variable_with(const Variable& like, Tensor value) { return Variable(std::move(value), {.name = like.name(),
    .trainable = like.trainable()}); }

}  // namespace

// One that the dtype does not hold stays as it is written: the run knows what it is fed for, and says so.
Feed::Feed(Tensor fed, std::initializer_list<Nested> with, Location at) : of(std::move(fed)), value(with, at) {
  if (!of.defined() || value.dtype() == of.dtype()) return;
  try {
    value = Tensor(with, of.dtype(), at);
  } catch (const DtypeError&) {
  }
}

class SessionState {
 public:
  SessionState(std::shared_ptr<GraphState> graph, SessionOptions options, Location at) : graph_(std::move(graph)), options_(options) {
    if (options.max_plans < 1) throw ValueError("Session", format("max_plans is {}; it must be 1 or more.", options.max_plans), at);
  }

  std::vector<Tensor> run(RunKind kind, const Feeds& feeds, Location at) {
    std::vector<Tensor> values = bind(feeds, kind, at);
    const std::shared_ptr<const Planned> plan = find(kind, at);
    for (std::size_t i = 0; i < plan->starts.size(); ++i) require_value(plan->steps->starts[i], plan->starts[i], at);
    return plan->call.call_flat(std::move(values), at);
  }

  Fetch fetch_of(const Tensor& x, Location at) const {
    if (!graph_->owns(x))
      throw ValueError(kBy, "a tensor " + x.spec().str() +
          " is fetched that belongs to another graph or trace; fetch what this session's graph has.", at);
    return {symbol_of(x).value, 0};
  }
  Fetch fetch_of(const Variable& variable, Location at) const {
    const std::lock_guard guard(graph_->lock);
    const auto known = graph_->by_id.find(variable.id());
    if (known == graph_->by_id.end())
      throw ValueError(kBy, "a Variable " + (variable.name().empty() ? variable.spec().str() : "\"" + variable.name() + "\"") +
                                " is fetched that the session's graph has not met; use it there first.", at);
    return {kNoValue, known->second};
  }
  bool is_operation(const Fetch& fetch) const {
    const std::lock_guard guard(graph_->lock);
    const Event* const event = fetch.value == kNoValue ? nullptr : graph_->event_of(fetch.value);
    return event != nullptr && event->kind == Event::Kind::kGroup;
  }
  std::size_t planned() const {
    const std::lock_guard guard(lock_);
    return planned_;
  }

 private:
  // The values of the feeds by the numbers of what they are fed for, which become part of the kind.
  std::vector<Tensor> bind(const Feeds& feeds, RunKind& kind, Location at) const {
    std::vector<std::pair<ValueId, Tensor>> bound;
    const std::lock_guard guard(graph_->lock);
    for (const Feed& feed : feeds.list()) {
      if (!feed.of.defined()) throw ValueError(kBy, "a feed names an empty Tensor handle; name a tensor of the graph.", at);
      if (!feed.of.node()->symbolic || !graph_->owns(feed.of))
        throw ValueError(kBy, "a feed names a tensor " + feed.of.spec().str() +
            " that is none of this session's graph; feed placeholders and what is made of them.", at);
      const ValueId id = symbol_of(feed.of).value;
      if (const Event* const event = graph_->event_of(id); event != nullptr && event->kind == Event::Kind::kGroup)
        throw ValueError(kBy, "a feed names an operation, which has no value; feed tensors.", at);
      bound.emplace_back(id, fed_value(*graph_, id, feed.value, at));
    }
    std::sort(bound.begin(), bound.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Tensor> values;
    for (auto& [id, value] : bound) {
      if (!kind.fed.empty() && kind.fed.back() == id) throw ValueError(kBy, graph_->title(id) + " is fed twice; feed it once.", at);
      kind.fed.push_back(id);
      values.push_back(std::move(value));
    }
    return values;
  }

  std::shared_ptr<const Planned> look_up(const RunKind& kind) {  // REQUIRES: locked
    const auto known = std::find_if(plans_.begin(), plans_.end(), [&](const auto& plan) { return plan->kind == kind; });
    if (known == plans_.end()) return nullptr;
    std::rotate(known, known + 1, plans_.end());  // the last is the newest
    return plans_.back();
  }

  // Not locked while it plans: a trace may wait for another one.
  std::shared_ptr<const Planned> find(const RunKind& kind, Location at) {
    {
      const std::lock_guard guard(lock_);
      if (std::shared_ptr<const Planned> known = look_up(kind)) return known;
    }
    auto steps = std::make_shared<RunSteps>();
    {
      const std::lock_guard guard(graph_->lock);
      *steps = choose_steps(*graph_, kind, at);
    }
    std::vector<Variable> variables, starts;
    for (const std::uint32_t each : steps->variables) variables.push_back(own(each));
    for (const std::uint32_t each : steps->starts) starts.push_back(own(each));
    auto made = std::make_shared<const Planned>(Planned{kind, steps, std::move(starts), trace_run(kind, steps, variables, at)});
    const std::lock_guard guard(lock_);
    if (std::shared_ptr<const Planned> known = look_up(kind)) return known;  // another thread was faster
    ++planned_;
    plans_.push_back(made);
    if (plans_.size() > static_cast<std::size_t>(options_.max_plans)) plans_.erase(plans_.begin());
    return made;
  }

  // This session's Variable. Until it is written, what it holds means nothing, except for one that the graph has met with a value.
  Variable own(std::uint32_t index) {
    const std::scoped_lock guard(graph_->lock, lock_);
    if (own_.size() <= index) own_.resize(graph_->held.size());
    if (own_[index]) return *own_[index];
    const GraphState::Held& held = graph_->held[index];
    const Spec& spec = held.variable.spec();
    Tensor first = held.start;
    if (!first.defined()) {
      Shape shape = spec.shape;
      for (int axis = 0; axis < shape.rank(); ++axis)
        if (shape.dim(axis) == kUnknown) shape.set(axis, 0);
      first = make_tensor({spec.dtype, shape});
    }
    own_[index].emplace(first, VariableOptions{.name = held.variable.name(), .trainable = held.variable.trainable(), .shape = spec.shape},
                        held.variable.made_at());
    return *own_[index];
  }

  void require_value(std::uint32_t index, const Variable& own, Location at) {
    if (own.version() > 0) return;
    if (Transaction* const t = Transaction::current(); t != nullptr && t->has_written(own.slot())) return;
    const std::lock_guard guard(graph_->lock);
    if (graph_->held[index].start.defined()) return;
    throw StateError(kBy, own.slot()->title() + " has no value in this session yet; run its initialiser, or assign it, before it is read.",
        at);
  }

  const std::shared_ptr<GraphState> graph_;
  const SessionOptions options_;
  mutable std::mutex lock_;  // of what follows
  std::vector<std::shared_ptr<const Planned>> plans_;
  std::vector<std::optional<Variable>> own_;
  std::size_t planned_ = 0;
};

Session::Session(const Graph& graph, SessionOptions options, Location at) : state_(std::make_shared<SessionState>(graph.state(), options,
    at)) {}
Session::Session(SessionOptions options, Location at)
    : state_(std::make_shared<SessionState>(GraphState::open("Session", at).shared_from_this(), options, at)) {}

std::size_t Session::planned() const { return state_->planned(); }

namespace {

// A run happens now, whatever is being built; only a trace of something else could not know that it did.
void require_no_trace(Location at) {
  SlotSymbols* const trace = Transaction::tracing_symbols();
  if (trace != nullptr && dynamic_cast<GraphState*>(trace) == nullptr)
    throw TraceError(kBy, "a Function is being traced, and the run would happen once, not at each call; run the session outside.", at);
}

}  // namespace

std::vector<Tensor> Session::values_of(const std::vector<Variable>& variables, const Feeds& feeds, Location at) const {
  require_no_trace(at);
  return init_scope([&] {
    RunKind kind;
    for (const Variable& variable : variables) kind.fetches.push_back(state_->fetch_of(variable, at));
    return state_->run(std::move(kind), feeds, at);
  });
}

void Session::fill(Tree tree, const Feeds& feeds, Location at) const {
  require_no_trace(at);
  init_scope([&] {
    const std::vector<Leaf> from = leaves_of(tree.original, tree.walk, at), to = leaves_of(tree.copy, tree.walk, at);
    RunKind kind;
    std::vector<std::size_t> places;  // in `to`, one for each fetch
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i].tensor != nullptr && (!from[i].tensor->defined() || !from[i].tensor->node()->symbolic)) continue;
      if (from[i].tensor == to[i].tensor && from[i].variable == to[i].variable)
        throw ValueError(kBy, "the fetches hold a Tensor or Variable behind a pointer, which is not copied; fetch it by value.", at);
      kind.fetches.push_back(from[i].tensor != nullptr ? state_->fetch_of(*from[i].tensor, at) : state_->fetch_of(*from[i].variable, at));
      places.push_back(i);
    }
    std::vector<Tensor> values = state_->run(kind, feeds, at);
    auto next = values.begin();
    for (std::size_t i = 0; i < places.size(); ++i) {
      const Leaf& leaf = to[places[i]];
      if (leaf.variable != nullptr) *leaf.variable = variable_with(*leaf.variable, std::move(*next++));
      else *leaf.tensor = state_->is_operation(kind.fetches[i]) ? Tensor() : std::move(*next++);
    }
  });
}

}  // namespace weft::inline v0::compat::v1
