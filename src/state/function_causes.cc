// Why a Function traces anew: in what a call differs from the traces that there are.
#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "state/function_core.h"
#include <weft/print.h>

namespace weft::inline v0::detail {
namespace {

// What a Variable of a call is called if the body of the trace captures it; else nothing. All that a pinned trace was passed it has captured; of those
// the notes know which are no arguments alone.
std::string captured_title(const FunctionTrace& trace, const SlotRef& slot) {
  std::size_t ordinal = 0;
  for (const LeafNote& note : trace.notes) {
    if (ordinal == trace.pinned.size()) break;
    if (note.kind == LeafNote::Kind::kVariable && !note.same_as && trace.pinned[ordinal++] == slot) return note.captured;
  }
  return std::binary_search(trace.captured.begin(), trace.captured.end(), slot) ? slot->title() : "";
}

// How many leaves of a call are those of a trace, as far as one can say.
std::size_t likeness(const FunctionTrace& trace, const std::vector<LeafNote>& call) {
  std::size_t same = 0;
  for (std::size_t i = 0; i < std::min(trace.notes.size(), call.size()); ++i)
    same += trace.notes[i].takes(call[i]) && (call[i].slot == nullptr || captured_title(trace, call[i].slot) == trace.notes[i].captured);
  return same;
}

// What keeps one trace for many host values, if anything does.
const char* remedy_for(const LeafNote& note) {
  switch (note.kind) {
    case LeafNote::Kind::kFlag: return " (a host value; take it as Tensor and branch by cond to keep one trace)";
    case LeafNote::Kind::kNumber: return " (a host value; take it as Tensor to keep one trace)";
    case LeafNote::Kind::kOther: return " (a host value that no Tensor holds; use few different ones, or a Function for each)";
    default: return "";
  }
}

}  // namespace

std::string FunctionCore::argument_name(std::size_t i) const {
  return i < options.args.size() ? options.args[i] : "arg" + std::to_string(i);
}

std::string FunctionCore::path_of(const LeafNote& note) const {
  return argument_name(note.argument) + (note.path.empty() ? "" : ".") + note.path;
}

std::string FunctionCore::which_variable(const std::vector<LeafNote>& notes, const LeafNote& note, const std::string& captured) const {
  if (note.same_as) return format("the same as argument {} `{}`", notes[*note.same_as].argument, path_of(notes[*note.same_as]));
  return captured.empty() ? "a Variable of its own" : "the Variable that the body captures (" + captured + ")";
}

std::vector<LeafChange> FunctionCore::changes_of(const FunctionTrace& trace, const std::vector<LeafNote>& call, std::size_t i) const {
  const LeafNote &before = trace.notes[i], &now = call[i];
  std::vector<LeafChange> changes;
  const auto compare = [&](std::string from, std::string to) {
    if (from != to) changes.push_back({std::move(from), std::move(to)});
  };
  const bool specs = before.spec && now.spec;
  if (specs ? !before.takes(now) : before.text != now.text) changes.push_back({before.shown(), now.shown()});
  if (!changes.empty() && changes[0].from == changes[0].to) {
    const auto other = std::mismatch(before.text.begin(), before.text.end(), now.text.begin(), now.text.end()).first;
    changes[0].to += format(", another from byte {} on", other - before.text.begin() - before.text.starts_with('"'));  // of what is quoted
  }
  if (before.kind != LeafNote::Kind::kVariable || now.slot == nullptr) return changes;
  compare(which_variable(trace.notes, before, before.captured), which_variable(call, now, captured_title(trace, now.slot)));
  const auto kind = [](bool trainable) { return trainable ? "a trainable Variable" : "a Variable that is not trainable"; };
  compare(kind(before.trainable), kind(now.trainable));
  return changes;
}

// The differences from the trace that is most like this call.
std::string FunctionCore::cause_of(const std::vector<LeafNote>& notes, const CallKind& kind) const {
  constexpr std::size_t kMost = 3;
  const std::lock_guard guard(mutex_);
  if (traces_.empty()) return "first call";
  if (std::any_of(forgotten_.begin(), forgotten_.end(), [&](const CallKind& forgotten) { return forgotten.takes(kind); }))
    return format("there was a trace for it, which was forgotten when there were more than {} (max_traces)", options.max_traces);
  const auto closest = std::max_element(traces_.begin(), traces_.end(),
                                        [&](const auto& a, const auto& b) { return likeness(*a, notes) < likeness(*b, notes); });
  const std::vector<LeafNote>& before = (*closest)->notes;
  std::vector<std::string> changes;
  for (std::size_t i = 0; i < std::max(before.size(), notes.size()); ++i) {
    if (i >= before.size() || i >= notes.size() || !before[i].same_place(notes[i])) {
      const LeafNote& there = i < notes.size() ? notes[i] : before[i];
      changes.push_back(format("argument {} `{}`: its structure has changed", there.argument, path_of(there)));
      break;  // what follows lies elsewhere
    }
    const char* const remedy = before[i].kind == LeafNote::Kind::kNothing ? "" : remedy_for(notes[i]);
    for (const LeafChange& change : changes_of(**closest, notes, i))
      changes.push_back(format("argument {} `{}`: {} -> {}{}", notes[i].argument, path_of(notes[i]), change.from, change.to, remedy));
  }
  if (changes.empty()) return difference_beyond_leaves(**closest);
  return v0::listed(changes.size(), kMost, [&](std::size_t i) { return changes[i]; });
}

std::string difference_beyond_leaves(const FunctionTrace& trace) {
  if (!trace.pinned.empty()) return "the body looks at which Variables it is given, and other ones are passed";
  return "what differs is no value: the class of an object, which pointers lead to the same one, or the bits of a number that prints alike";
}

// The clock counts calls. A body that calls its own Function for other numbers, and who asks for traces, means what he does.
void FunctionCore::warn_of_retraces(const std::string& cause) {
  constexpr std::size_t kMany = 5;
  constexpr std::uint64_t kCalls = 10;
  constexpr int kMostWarnings = 2;
  {
    const std::lock_guard guard(mutex_);
    if (!options.warn_of_retraces || warnings_ == kMostWarnings) return;
    retraced_at_.push_back(clock_);
    if (retraced_at_.size() > kMany) retraced_at_.erase(retraced_at_.begin());
    if (retraced_at_.size() < kMany || clock_ - retraced_at_.front() >= kCalls) return;
    retraced_at_.clear();
    ++warnings_;
  }
  std::fputs(format("weft: {} was traced anew {} times in its last {} calls, last because {}; explain() lists all causes, {} one trace for many "
                    "shapes.\n", name_, kMany, kCalls, cause, options.reduce_retracing ? "signature keeps" : "signature and reduce_retracing keep").c_str(), stderr);
}

}  // namespace weft::inline v0::detail
