#include "state/derive.h"

#include "graph/passes.h"
#include "graph/split.h"
#include "graph/tracer.h"
#include "state/forward_recorder.h"
#include "state/installed.h"
#include "state/recorder.h"

namespace weft::inline v0 {

JointGraph differentiate(const Runner& body, const std::vector<bool>& wanted, std::size_t followed) {
  const Graph& from = body.graph();
  JointGraph joint;
  joint.graph.without = from.without;
  Installed<Tracer> tracer(joint.graph);
  std::vector<Tensor> xs, dys, targets;
  for (ValueId id : from.inputs) xs.push_back(tracer.interpreter.input(from.values[id].spec, from.values[id].made_at));
  std::vector<Source> sources;
  std::vector<std::size_t> source_of;
  {
    Installed<TapeRecorder> tape(TapeOptions{.persistent = false, .watch_accessed_variables = false});
    for (std::size_t i = 0; i < xs.size(); ++i) {
      if (!wanted[i]) continue;
      tape.interpreter.watch(xs[i], {});
      sources.emplace_back(xs[i]);
      source_of.push_back(i);
    }
    std::vector<Tensor> arguments = xs;
    const Tensors ys = body.run(arguments);
    joint.results = ys.size();
    for (const Tensor& y : ys) {
      joint.graph.outputs.push_back(tracer.interpreter.value_of(y, nullptr, {}));
      joint.floating.push_back(is_floating(y.dtype()) && joint.floating.size() < followed);
      if (!joint.floating.back()) continue;
      dys.push_back(tracer.interpreter.input(joint.graph.values[joint.graph.outputs.back()].spec, {}));
      targets.push_back(y);
    }
    joint.gradients.resize(xs.size());
    std::vector<Grad> grads(sources.size());
    if (!targets.empty() && !sources.empty())
      grads = tape.interpreter.gradients(targets, sources, {.unconnected = Unconnected::kNone, .output_gradients = dys}, {});
    const auto put = [&](const Tensor& x) {
      joint.graph.outputs.push_back(tracer.interpreter.value_of(x, nullptr, {}));
      return static_cast<std::int32_t>(joint.graph.outputs.size() - joint.results - 1);
    };
    for (std::size_t i = 0; i < grads.size(); ++i) {
      if (!grads[i].present()) continue;
      Derived::Gradient& place = joint.gradients[source_of[i]];
      if (grads[i].sparse()) {
        place.at = put(grads[i].slices().values);
        place.indices = put(grads[i].slices().indices);
      } else {
        place.at = put(grads[i].dense());
      }
    }
  }
  optimize(joint.graph, joint.graph.inputs.size());
  return joint;
}

namespace {

std::shared_ptr<Derived> outline(const JointGraph& joint) {
  auto made = std::make_shared<Derived>();
  made->results = joint.results;
  made->floating = joint.floating;
  made->gradients = joint.gradients;
  return made;
}

}  // namespace

std::shared_ptr<const Derived> derived(const Runner& body, const std::vector<bool>& wanted, std::size_t followed) {
  if (std::shared_ptr<const Derived> known = body.find_derived(wanted)) return known;
  const JointGraph joint = differentiate(body, wanted, followed);
  SplitGraph parts = split_graph(joint.graph, body.graph().inputs.size(), joint.results);
  const std::shared_ptr<Derived> made = outline(joint);
  made->forward = std::make_shared<const Runner>(std::move(parts.forward));
  made->backward = std::make_shared<const Runner>(std::move(parts.backward));
  body.keep_derived(wanted, made);
  return made;
}

std::shared_ptr<const Derived> derived_whole(const Runner& body, std::vector<bool> wanted) {
  std::vector<bool> key = wanted;
  key.push_back(true);  // one more than there are inputs: no other key is like it
  if (std::shared_ptr<const Derived> known = body.find_derived(key)) return known;
  JointGraph joint = differentiate(body, wanted);
  const std::shared_ptr<Derived> made = outline(joint);
  joint.graph.outputs.erase(joint.graph.outputs.begin(), joint.graph.outputs.begin() + static_cast<std::ptrdiff_t>(joint.results));
  optimize(joint.graph, joint.graph.inputs.size());  // once more: nobody needs the results
  made->backward = std::make_shared<const Runner>(std::move(joint.graph));
  body.keep_derived(key, made);
  return made;
}

std::shared_ptr<const Derived> derived_forward(const Runner& body, const std::vector<bool>& moves) {
  std::vector<bool> key = moves;
  key.insert(key.end(), {true, true});  // as above
  if (std::shared_ptr<const Derived> known = body.find_derived(key)) return known;
  const Graph& from = body.graph();
  auto made = std::make_shared<Derived>();
  Graph graph;
  graph.without = body.graph().without;
  {
    Installed<Tracer> tracer(graph);
    std::vector<Tensor> xs;
    for (ValueId id : from.inputs) xs.push_back(tracer.interpreter.input(from.values[id].spec, from.values[id].made_at));
    Installed<ForwardRecorder> forward;
    for (std::size_t i = 0; i < xs.size(); ++i)
      if (moves[i]) forward.interpreter.move(xs[i], tracer.interpreter.input(xs[i].spec(), {}), {});
    std::vector<Tensor> arguments = xs;
    const Tensors ys = body.run(arguments);
    const auto put = [&](const Tensor& x) {
      graph.outputs.push_back(tracer.interpreter.value_of(x, nullptr, {}));
      return static_cast<std::int32_t>(graph.outputs.size()) - 1;
    };
    made->results = ys.size();
    made->gradients.resize(ys.size());
    for (const Tensor& y : ys) put(y);
    for (std::size_t i = 0; i < ys.size(); ++i) {
      const Tangent& tangent = forward.interpreter.tangent_of(ys[i]);
      if (tangent.error != nullptr) made->errors.resize(ys.size()), made->errors[i] = tangent.error;
      if (tangent.value.defined()) made->gradients[i].at = put(tangent.value);
    }
  }
  optimize(graph, graph.inputs.size());
  made->forward = std::make_shared<const Runner>(std::move(graph));
  body.keep_derived(key, made);
  return made;
}

}  // namespace weft::inline v0
