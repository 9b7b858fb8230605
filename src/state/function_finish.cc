// What a traced body becomes: a graph that is ready to run, and what a Function keeps of it.
#include <algorithm>
#include <chrono>

#include "graph/guard.h"
#include "graph/passes.h"
#include "ops/table.h"
#include "state/function_tracing.h"
#include <weft/print.h>

namespace weft::inline v0::detail {

// A second tree may have the same paths.
void Tracing::name_walked() {
  std::unordered_set<std::string> taken;
  for (const NamedVariables& tree : walked_)
    for (std::size_t i = 0; i < tree.size(); ++i) {
      const Slot& slot = *tree.values()[i].slot();
      std::string path(tree.path(i));
      if (path.empty() || paths_.contains(&slot)) continue;
      if (!taken.insert(path).second) path += " (made at " + place_text(slot.made_at) + ")";
      paths_.emplace(&slot, std::move(path));
    }
}

SlotUse Tracing::use_of(const SlotRef& slot) const {
  const std::ptrdiff_t argument = argument_of(slot);
  const SlotRef& passed = argument < 0 ? slot : call_.leaves.variables[static_cast<std::size_t>(argument)]->slot();
  const auto note = titles_.find(passed.get());
  const auto walked = paths_.find(passed.get());
  std::string title = note != titles_.end() ? call_.core.path_of(*note->second) : walked != paths_.end() ? walked->second : slot->title();
  if (argument >= 0) return {argument, std::nullopt, std::move(title)};
  return {-1, Variable(slot), std::move(title)};
}

// For each write, which input of the graph has the value that it replaces. A Variable whose shape may change is not changed in place.
std::vector<std::int32_t> Tracing::old_values(const std::vector<SlotUse>& reads) const {
  std::vector<std::int32_t> result;
  bool fixed = true;
  each_write([&](const SlotRef& slot, const Tensor&, const char*, Location) {
    fixed = fixed && slot->declared.shape.known();
    const std::ptrdiff_t argument = argument_of(slot);
    const auto found = std::find_if(reads.begin(), reads.end(), [&](const SlotUse& use) {
      return argument >= 0 ? use.argument == argument : use.argument < 0 && use.captured->slot() == slot;
    });
    result.push_back(found == reads.end() ? -1 : static_cast<std::int32_t>(symbols().size() + asked_.size()) + static_cast<std::int32_t>(found - reads.begin()));
  });
  return fixed ? result : std::vector<std::int32_t>();
}

// What the program has frozen is looked at before passes fold it.
void Tracing::list_frozen(std::vector<FunctionReport::Constant>& list, const GraphConstant& constant) {
  if (is_own_line(constant.at)) return;
  list.push_back({constant.value.size() <= 8 ? constant.value.str() : constant.value.spec().str(),
                  constant.used_by != nullptr ? constant.used_by->name : "return", constant.at, constant.number});
}

FunctionReport::Trace Tracing::first_report() const {
  FunctionReport::Trace report;
  for (const GraphConstant& constant : graph_.constants) list_frozen(report.constants, constant);
  report.constants.insert(report.constants.end(), frozen_.begin(), frozen_.end());
  return report;
}

// What is asked for comes behind the arguments: it stays an input, read or not.
void Tracing::order_inputs() {
  if (asked_.empty()) return;
  const std::unordered_set<ValueId> asked(asked_values_.begin(), asked_values_.end());
  const auto behind = graph_.inputs.begin() + static_cast<std::ptrdiff_t>(symbols().size());
  std::stable_partition(behind, graph_.inputs.end(), [&](ValueId id) { return asked.contains(id); });
  for (std::size_t i = 0; i < graph_.inputs.size(); ++i) graph_.values[graph_.inputs[i]].from = static_cast<std::uint32_t>(i);
}

void Tracing::guard(const std::vector<SlotUse>& writes) {
  const Op& check = *find_row("check_numerics");
  guard_numerics(graph_, check);
  std::size_t output = graph_.outputs.size() - writes.size(), nth = 0;
  each_write([&](const SlotRef&, const Tensor&, const char* by, Location at) {
    guard_output(graph_, output++, check, written_by(by, writes[nth++].title), at);
  });
}

std::shared_ptr<FunctionTrace> Tracing::finish() {
  graph_.outputs.insert(graph_.outputs.end(), results_.begin(), results_.end());
  graph_.outputs.insert(graph_.outputs.end(), replacements_.begin(), replacements_.end());
  std::vector<SlotUse> writes;
  name_walked();
  order_inputs();
  each_write([&](const SlotRef& slot, const Tensor& value, const char*, Location at) {
    graph_.outputs.push_back(tracer_.value_of(value, nullptr, at));
    writes.push_back(use_of(slot));
  });
#ifndef NDEBUG
  verify(graph_, "tracing");
#endif
  FunctionReport::Trace report = first_report();
  if (call_.core.options.check_numerics) guard(writes);
  const Optimized optimized = optimize(graph_, symbols().size() + asked_.size());
  for (const Optimized::Figures& pass : optimized.passes)
    report.passes.push_back({pass.pass, pass.calls_before, pass.calls_after, pass.microseconds});
  std::vector<SlotUse> reads;
  for (std::size_t i = 0; i < reads_.size(); ++i)
    if (optimized.kept_inputs[symbols().size() + asked_.size() + i]) reads.push_back(use_of(reads_[i]));
  auto trace = std::make_shared<FunctionTrace>(std::move(graph_), old_values(reads), static_cast<std::size_t>(call_.core.options.max_plans));
  trace->asked = std::move(asked_);
  trace->reads = std::move(reads);
  trace->writes = std::move(writes);
  trace->kind = kind_;
  trace->results = results_.size();
  trace->replaced = std::move(replaced_);
  trace->pattern = std::move(pattern_);
  trace->result_variables = std::move(result_variables_);
  trace->result_texts = std::move(result_texts_);
  trace->takes_variables = !call_.leaves.variables.empty();
  trace->own_gradients = own_gradients_;
  for (const SlotRef& slot : read_again_) trace->read_again.push_back(use_of(slot));
  for (const Tensor& symbol : symbols()) trace->dtypes.push_back(symbol.dtype());
  trace->exact = std::all_of(kind_.shapes.begin(), kind_.shapes.end(), [](const Shape& shape) { return shape.known(); });
  trace->at_once = !call_.core.options.run_eagerly && call_.leaves.variables.empty() && trace->replaced.empty() &&
                   symbols().size() == call_.arguments.size() && trace->result_variables.empty();
  if (call_.leaves.variables.empty()) {
    for (const SlotUse& use : trace->reads) trace->read_slots.push_back(use.captured->slot());
    for (const SlotUse& use : trace->writes) trace->written_slots.push_back(use.captured->slot());
    for (const SlotRef& slot : trace->read_slots) trace->read_order.push_back(slot.get());
    std::sort(trace->read_order.begin(), trace->read_order.end(), [](const Slot* a, const Slot* b) { return a->id < b->id; });
  }
  if (pinned_)
    for (const Variable* variable : call_.leaves.variables) trace->pinned.push_back(variable->slot());
  for (const SlotRef& slot : touched_)
    if (argument_of(slot) < 0 && !locals_.contains(slot)) trace->captured.push_back(slot);
  std::sort(trace->captured.begin(), trace->captured.end());
  for (const EachCall& each : trace->asked) report.asked.push_back({each.spec.str(), each.at});
  for (const SlotUse& use : trace->reads) report.reads.push_back(use.title);
  for (const SlotUse& use : trace->writes) report.writes.push_back(use.title);
  report.ops = trace->runner.graph().calls();
  trace->report = std::move(report);
  return trace;
}

// --- the core ---

// What a body may throw because it cannot see a size.
static bool may_come_of_sizes(const Error& error) {
  return dynamic_cast<const ShapeError*>(&error) != nullptr || dynamic_cast<const IndexError*>(&error) != nullptr ||
         dynamic_cast<const TraceError*>(&error) != nullptr;
}

std::shared_ptr<FunctionTrace> FunctionCore::trace(FunctionCallState& call, FunctionRef<void()> body) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<LeafNote> notes = notes_of(call.arguments);  // lives longer than what is traced
  std::string cause = cause_of(notes, call.leaves.kind);
  if (options.no_retrace && cause != "first call")
    throw TraceError(name_, "this call would be traced anew: " + cause + "; pass arguments of the kind traced first, or leave out no_retrace.", call.at);
  struct Now {
    explicit Now(int& n) : count(n) { ++count; }
    ~Now() { --count; }
    int& count;
  } now(tracing_now_);
  CallKind kind = call.leaves.kind;
  std::string needs_sizes = options.reduce_retracing ? relax(kind) : "";
  std::shared_ptr<FunctionTrace> made;
  std::unordered_set<SlotRef> captured;  // of those that are passed
  const auto look_again = [&] {          // the body may have put Variables into an argument that is no copy
    CallLeaves grown = leaves_of(call.arguments);
    kind.skeleton = call.leaves.kind.skeleton = std::move(grown.kind.skeleton);
    call.leaves.variables = std::move(grown.variables);
    notes = notes_of(call.arguments);
  };
  const std::shared_ptr<TracedProgram> program = Tracer::program_now();  // however often its body runs
  for (bool pinned = false; made == nullptr;) {
    Tracing tracing(call, kind, pinned, program);
    struct Current {
      Current(FunctionCallState& c, Tracing* t) : call(c), before(std::exchange(c.tracing, t)) {}
      ~Current() { call.tracing = before; }
      FunctionCallState& call;
      Tracing* before;
    } current(call, &tracing);
    const auto pin = [&] { captured = tracing.captured_arguments(), pinned = true; };
    try {
      tracing.run(body);
    } catch (const IdentityAsked&) {
      if (pinned) throw;  // of a Variable that stands in for an argument of the Function around
      pinned = true;
      continue;
    } catch (const Error& error) {
      if (tracing.looks_at_identity()) {  // it may come of that
        pin();
        continue;
      }
      if (kind.shapes == call.leaves.kind.shapes || tracing_now_ > 1 || !may_come_of_sizes(error)) throw;
      needs_sizes = error.message();
      look_again();
      kind.shapes = call.leaves.kind.shapes;
      continue;
    } catch (...) {
      if (!tracing.looks_at_identity()) throw;
      pin();
      continue;
    }
    if (tracing.looks_at_identity()) {
      pin();
      continue;
    }
    if (tracing.grew()) {
      look_again();
      tracing.call_by(notes);
    }
    made = tracing.finish();
    keep_made(tracing.made_slots());
  }
  made->notes = std::move(notes);
  std::size_t tensors = 0;
  for (LeafNote& note : made->notes) {
    if (note.spec) note.spec->shape = made->kind.shapes[tensors++], note.text = note.spec->str();  // of all calls that it takes
    made->report.arguments.push_back(path_of(note) + " " + note.shown());
    if (note.slot != nullptr && captured.contains(note.slot)) note.captured = note.slot->title();
    note.slot = nullptr;  // it is the caller's
  }
  if (!needs_sizes.empty()) cause += "; reduce_retracing leaves no size open here, for that could not be traced: " + needs_sizes;
  made->needs_sizes = std::move(needs_sizes);
  made->report.cause = std::move(cause);
  made->report.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  keep(made);
  if (!call.asked && tracing_now_ == 1 && made->report.cause != "first call") warn_of_retraces(made->report.cause);
  return made;
}

}  // namespace weft::inline v0::detail
