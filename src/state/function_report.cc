// What a Function says about itself, and why it traces.
#include <algorithm>

#include "state/function_core.h"
#include <weft/print.h>

namespace weft::inline v0 {
namespace detail {
namespace {

// How many leaves two lists have in common, as far as one can say.
std::size_t likeness(const std::vector<LeafNote>& a, const std::vector<LeafNote>& b) {
  std::size_t same = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) same += a[i].path == b[i].path && a[i].text == b[i].text;
  return same;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.empty() ? "nothing" : text;
}

}  // namespace

// The difference from the trace that is most like this call.
std::string FunctionCore::cause_of(const std::vector<LeafNote>& notes) const {
  const std::lock_guard guard(mutex_);
  if (traces_.empty()) return traced_ == 0 ? "first call" : "the trace for it was forgotten";
  const auto closest = std::max_element(traces_.begin(), traces_.end(), [&](const auto& a, const auto& b) {
    return likeness(a->notes, notes) < likeness(b->notes, notes);
  });
  const std::vector<LeafNote>& before = (*closest)->notes;
  for (std::size_t i = 0; i < std::max(before.size(), notes.size()); ++i) {
    const LeafNote* const old = i < before.size() ? &before[i] : nullptr;
    const LeafNote* const now = i < notes.size() ? &notes[i] : nullptr;
    if (old != nullptr && now != nullptr && old->argument == now->argument && old->path == now->path) {
      if (old->text == now->text) continue;
      std::string cause = format("argument {} `{}`: {} -> {}", now->argument, path_of(*now), old->text, now->text);
      if (now->variable == nullptr && !now->tensor && !now->text.starts_with("holds") && !now->text.starts_with("nothing") && !old->text.starts_with("nothing"))
        cause += " (a host value; take it as Tensor to keep one trace)";
      return cause;
    }
    const LeafNote& there = now != nullptr ? *now : *old;
    return format("argument {} `{}`: its structure has changed", there.argument, path_of(there));
  }
  if (!(*closest)->pinned.empty()) return "the body looks at which Variables it is given, and other ones are passed";
  return "other Variables are the same as each other or as captured ones, or are trainable";
}

// Sizes in which an earlier trace of the same skeleton differs become unknown.
void FunctionCore::relax(CallKind& kind) const {
  const std::lock_guard guard(mutex_);
  for (const std::shared_ptr<FunctionTrace>& trace : traces_) {
    if (trace->kind.skeleton != kind.skeleton) continue;
    for (std::size_t i = 0; i < kind.shapes.size(); ++i)
      for (int axis = 0; axis < kind.shapes[i].rank(); ++axis)
        if (trace->kind.shapes[i][axis] != kind.shapes[i][axis]) kind.shapes[i].set(axis, kUnknown);
  }
}

FunctionReport FunctionCore::report() const {
  const std::lock_guard guard(mutex_);
  FunctionReport all{.name = name_, .traces = {}, .traced = traced_};
  for (const std::shared_ptr<FunctionTrace>& trace : traces_) {
    all.traces.push_back(trace->report);
    all.traces.back().calls = trace->calls.load(std::memory_order_relaxed);
    if (const std::shared_ptr<const Plan> plan = trace->runner.plan()) {
      all.traces.back().steps = plan->steps();
      all.traces.back().arena_bytes = plan->arena_bytes();
    }
  }
  return all;
}

std::string FunctionCore::graph_text() const {
  const std::lock_guard guard(mutex_);
  std::string text;
  for (const std::shared_ptr<FunctionTrace>& trace : traces_) text += (text.empty() ? "" : "\n") + trace->runner.graph().str();
  return text;
}

}  // namespace detail

std::string FunctionReport::str() const {
  std::string text = format("{}: {} {}", name, traced, traced == 1 ? "trace" : "traces");
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const Trace& trace = traces[i];
    text += format("\ntrace {}: {}; {} ops", i, trace.cause, trace.ops);
    if (trace.steps > 0) text += format(" in {} steps, {} bytes of working memory", trace.steps, trace.arena_bytes);
    text += format(", {} calls, traced in {:.3f} ms", trace.calls, trace.milliseconds);
    for (const std::string& argument : trace.arguments) text += "\n  takes " + argument;
    text += "\n  reads " + detail::listed(trace.reads) + "\n  writes " + detail::listed(trace.writes);
    for (const Constant& constant : trace.constants)
      text += format("\n  has frozen {}{}, read by {}{}", constant.literal ? "the number " : "", constant.value, constant.op,
                     constant.at.line == 0 ? std::string() : " at " + place_text(constant.at));
  }
  return text;
}

}  // namespace weft::inline v0
