// What a Function says about itself.
#include <algorithm>
#include <fstream>

#include "base/text.h"
#include "state/function_core.h"
#include <weft/print.h>

namespace weft::inline v0 {
namespace detail {
namespace {

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.empty() ? "nothing" : text;
}

}  // namespace

// REQUIRES: locked.
void FunctionCore::forget_oldest() {
  constexpr std::size_t kMostForgotten = 64;
  const auto oldest = std::min_element(traces_.begin(), traces_.end(), [](const auto& a, const auto& b) { return a->last_call < b->last_call; });
  forgotten_.push_back((*oldest)->kind);
  if (forgotten_.size() > kMostForgotten) forgotten_.pop_front();
  traces_.erase(oldest);
}

// Sizes in which an earlier trace of the same skeleton differs become unknown; unless one has needed its sizes: then this one does, and what is said of
// that is returned.
std::string FunctionCore::relax(CallKind& kind) const {
  const std::lock_guard guard(mutex_);
  CallKind relaxed = kind;
  for (const std::shared_ptr<FunctionTrace>& trace : traces_) {
    if (trace->kind.skeleton != kind.skeleton) continue;
    if (!trace->needs_sizes.empty()) return trace->needs_sizes;
    for (std::size_t i = 0; i < kind.shapes.size(); ++i)
      for (int axis = 0; axis < kind.shapes[i].rank(); ++axis)
        if (trace->kind.shapes[i].dim(axis) != kind.shapes[i].dim(axis)) relaxed.shapes[i].set(axis, kUnknown);
  }
  kind = std::move(relaxed);
  return {};
}

FunctionReport::Trace report_of(const FunctionTrace& trace) {
  FunctionReport::Trace report = trace.report;
  report.calls = trace.calls.load(std::memory_order_relaxed);
  const Runner::Profile profile = trace.runner.profile();
  if (profile.plan == nullptr) return report;
  report.arena_bytes = profile.plan->arena_bytes();
  report.live_bytes = profile.plan->live_bytes();
  report.timed = profile.calls;
  for (const StepNote& note : profile.plan->describe()) {
    FunctionReport::Step step;
    step.turn = note.turn;
    for (const std::uint32_t n : note.nodes) {
      const GraphNode& node = trace.runner.graph().nodes[n];
      step.ops.push_back(node.op->name), step.at.push_back(node.at);
    }
    for (const Spec& spec : note.specs) {
      step.results.push_back(spec.str());
      if (spec.shape.known()) step.bytes += static_cast<std::size_t>(bytes_of(spec));
    }
    if (const std::size_t i = report.steps.size(); profile.calls > 0) {
      step.microseconds = profile.totals[i] / static_cast<double>(profile.calls);
      step.last_start = profile.last[i].start, step.last_microseconds = profile.last[i].took;
    }
    report.steps.push_back(std::move(step));
  }
  return report;
}

FunctionReport FunctionCore::report() const {
  const std::lock_guard guard(mutex_);
  FunctionReport all{.name = name_, .traces = {}, .traced = traced_};
  for (const std::shared_ptr<FunctionTrace>& trace : traces_) all.traces.push_back(report_of(*trace));
  return all;
}

void FunctionCore::profile(int calls) {
  const std::lock_guard guard(mutex_);
  profiled_calls_ = calls;
  for (const std::shared_ptr<FunctionTrace>& trace : traces_) trace->runner.profile(calls);
}

// 'Variable "total"' is "total" where colour says the rest.
static std::string short_title(const SlotUse& use) {
  constexpr std::string_view before = "Variable \"";
  return use.title.starts_with(before) ? use.title.substr(before.size(), use.title.size() - before.size() - 1) : use.title;
}

// The inputs of a graph are the Tensors of the arguments, then what is read; the outputs results, replaced Tensors, then what is written.
GraphPicture FunctionCore::picture_of(const std::shared_ptr<FunctionTrace>& trace) const {
  GraphPicture picture{.graph = {trace, &trace->runner.graph()}, .title = trace->report.cause, .inputs = {}, .outputs = {}, .steps = {}};
  std::vector<std::string> tensors;
  for (const LeafNote& note : trace->notes)
    if (note.spec) tensors.push_back(path_of(note));
  for (const std::string& name : tensors) picture.inputs.push_back({name, false});
  for (const EachCall& each : trace->asked) picture.inputs.push_back({"asked for at " + place_text(each.at), false});
  for (const SlotUse& use : trace->reads) picture.inputs.push_back({short_title(use), true});
  for (std::size_t i = 0; i < trace->results; ++i) picture.outputs.push_back({"", false});
  for (const std::size_t which : trace->replaced) picture.outputs.push_back({tensors[which], false});
  for (const SlotUse& use : trace->writes) picture.outputs.push_back({short_title(use), true});
  const Runner::Profile profile = trace->runner.profile();
  if (profile.plan == nullptr) return picture;
  for (StepNote& note : profile.plan->describe()) {
    const std::size_t i = picture.steps.size();
    picture.steps.push_back({std::move(note.nodes), profile.calls > 0 ? profile.totals[i] / static_cast<double>(profile.calls) : 0});
  }
  return picture;
}

FunctionGraph FunctionCore::graph() const {
  const std::lock_guard guard(mutex_);
  auto all = std::make_shared<FunctionPictures>();
  all->name = name_;
  for (const std::shared_ptr<FunctionTrace>& trace : traces_) all->traces.push_back(picture_of(trace));
  return FunctionGraph(std::move(all));
}

FunctionReport report(const FunctionCore& core) { return core.report(); }
FunctionGraph graph(const FunctionCore& core) { return core.graph(); }
void profile(FunctionCore& core, int calls, Location at) {
  if (calls < 0) throw ValueError("profile", format("calls is {}; it must be 0 or more.", calls), at);
  core.profile(calls);
}

}  // namespace detail

namespace {

std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

std::string first_of(const std::vector<std::string>& parts) {
  constexpr std::size_t kMost = 4;
  if (parts.size() <= kMost) return joined(parts, ", ");
  return joined({parts.begin(), parts.begin() + kMost - 1}, ", ") + format(" and {} more", parts.size() - kMost + 1);
}

// "net.cc:12, net.cc:14": each line once.
std::string lines_of(const FunctionReport::Step& step) {
  std::vector<std::string> lines;
  for (const Location at : step.at)
    if (std::string line = at.line == 0 ? "" : place_text(at); !line.empty() && std::find(lines.begin(), lines.end(), line) == lines.end())
      lines.push_back(std::move(line));
  return joined(lines, ", ");
}

// As a text of JSON, with the quotes.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\', out += c;
    else if (static_cast<unsigned char>(c) < 0x20) out += ' ';
    else out += c;
  }
  return out + '"';
}

}  // namespace

std::string FunctionReport::str() const {
  constexpr std::size_t kFew = 2;  // traces that can be looked over at once
  std::string text = name + ": " + counted(traced, "trace");
  for (std::size_t i = 0; traces.size() > kFew && i < traces.size(); ++i)
    text += format("\n  {}: {}, {}", i, traces[i].cause, counted(traces[i].calls, "call"));
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const Trace& trace = traces[i];
    text += format("\ntrace {}: {}; {}", i, trace.cause, counted(trace.ops, "op"));
    if (!trace.steps.empty()) text += format(" in {}, {} of working memory", counted(trace.steps.size(), "step"), counted(trace.arena_bytes, "byte"));
    text += format(", {}, traced in {:.3f} ms", counted(trace.calls, "call"), trace.milliseconds);
    for (const std::string& argument : trace.arguments) text += "\n  takes " + argument;
    text += "\n  reads " + detail::listed(trace.reads) + "\n  writes " + detail::listed(trace.writes);
    for (const Asked& each : trace.asked) text += format("\n  asks for {} at each call{}", each.spec, each.at.line == 0 ? std::string() : " at " + place_text(each.at));
    for (const Constant& constant : trace.constants)
      text += format("\n  has frozen {}{}, read by {}{}", !constant.literal ? "" : constant.value.find('[') == std::string::npos ? "the number " : "the numbers ", constant.value, constant.op,
                     constant.at.line == 0 ? std::string() : " at " + place_text(constant.at));
    for (const Pass& pass : trace.passes)
      text += format("\n  pass {}: {} -> {} in {:.1f} us", pass.name, pass.ops_before, counted(pass.ops_after, "op"), pass.microseconds);
    std::vector<std::string> beside;
    for (std::size_t s = 0, next; s < trace.steps.size(); s = next) {
      for (next = s + 1; next < trace.steps.size() && trace.steps[next].turn == trace.steps[s].turn;) ++next;
      if (next - s > 1) beside.push_back(format("{}-{}", s, next - 1));
    }
    if (!beside.empty()) text += format("\n  steps side by side: {}", joined(beside, ", "));
    double whole = 0;
    for (const Step& step : trace.steps) whole += step.microseconds;
    if (trace.timed > 0) text += format("\n  timed {}: {:.1f} us in the steps", counted(trace.timed, "call"), whole);
    for (std::size_t s = 0; s < trace.steps.size(); ++s) {
      const Step& step = trace.steps[s];
      if (trace.timed == 0 && !step.fused()) continue;
      text += format("\n  step {}: {}{} -> {} ({})", s, step.fused() ? "fused " : "", joined(step.ops, ", "), first_of(step.results),
                     counted(step.bytes, "byte"));
      if (trace.timed > 0) text += format(", {:.2f} us, {:.1f} %", step.microseconds, whole > 0 ? 100 * step.microseconds / whole : 0.0);
      if (const std::string lines = lines_of(step); !lines.empty()) text += " at " + lines;
    }
  }
  return text;
}

std::string FunctionReport::chrome_trace() const {
  std::string events;
  for (std::size_t t = 0; t < traces.size(); ++t) {
    const Trace& trace = traces[t];
    if (trace.timed == 0) continue;
    const auto event = [&](std::size_t row, const std::string& title, double start, double took, const std::string& args) {
      events += format("{}\n"
                       "{{\"name\":{},\"cat\":\"weft\",\"ph\":\"X\",\"ts\":{:.3f},\"dur\":{:.3f},\"pid\":1,\"tid\":{},\"args\":{{{}}}}}",
                       events.empty() ? "" : ",", quoted(title), start, took, row, args);
    };
    double end = 0;
    for (const Step& step : trace.steps) end = std::max(end, step.last_start + step.last_microseconds);
    event(t, name, 0, end, "\"cause\":" + quoted(trace.cause) + ",\"arguments\":" + quoted(joined(trace.arguments, ", ")));
    std::vector<double> free;  // since when, each of the rows below one another in which steps that overlap are shown
    for (const Step& step : trace.steps) {
      const auto row = std::find_if(free.begin(), free.end(), [&](double since) { return since <= step.last_start; });
      const auto below = static_cast<std::size_t>(row - free.begin());
      if (row == free.end()) free.emplace_back();
      free[below] = step.last_start + step.last_microseconds;
      event(t + below * traces.size(), joined(step.ops, ", "), step.last_start, step.last_microseconds,
            "\"writes\":" + quoted(joined(step.results, ", ")) + format(",\"bytes\":{},\"lines\":", step.bytes) + quoted(lines_of(step)));
    }
  }
  return "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[" + events + "\n]}\n";
}

std::string FunctionGraph::str() const {
  std::string text;
  for (const GraphPicture& picture : pictures_->traces) text += (text.empty() ? "" : "\n") + text_of(picture);
  return text;
}
std::string FunctionGraph::dot() const { return dot_of(pictures_->name, pictures_->traces); }
std::string FunctionGraph::html() const { return page_of(pictures_->name, pictures_->traces); }

void FunctionGraph::write(const std::string& path, Location at) const {
  const bool text = path.ends_with(".txt"), as_dot = path.ends_with(".dot"), page = path.ends_with(".html");
  if (!text && !as_dot && !page)
    throw ValueError("write", format("the path \"{}\" ends with none of .txt, .dot and .html; choose one.", path), at);
  std::ofstream file(path, std::ios::binary);
  file << (text ? str() : as_dot ? dot() : html());
  file.flush();
  if (!file) throw IoError("write", format("the file \"{}\" cannot be written; look at the folder, its rights and the space.", path), at);
}

std::ostream& operator<<(std::ostream& out, const FunctionReport& report) { return out << report.str(); }
std::ostream& operator<<(std::ostream& out, const FunctionGraph& graph) { return out << graph.str(); }

}  // namespace weft::inline v0
