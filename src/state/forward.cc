#include <weft/forward.h>

#include <algorithm>

#include "state/forward_recorder.h"

namespace weft::inline v0 {

ForwardAccumulator::ForwardAccumulator(const Primals& primals, Location at) {
  constexpr const char* kName = "ForwardAccumulator";
  if (primals.sources.empty()) throw ValueError(kName, "there are no primals; give at least one floating Tensor or Variable.", at);
  if (primals.sources.size() != primals.tangents.size())
    throw ValueError(kName, std::to_string(primals.tangents.size()) + " tangents for " + std::to_string(primals.sources.size()) +
                                " primals; give one for each.", at);
  detail::with_memory(kName, at, [&] {
    recorder_ = std::make_unique<ForwardRecorder>();
    for (std::size_t i = 0; i < primals.sources.size(); ++i) recorder_->move(primals.sources[i], primals.tangents[i], at);
  });
  recorder_->install();
}

ForwardAccumulator::ForwardAccumulator(const Tensor& primal, const Tensor& tangent, Location at)
    : ForwardAccumulator(Primals{{primal}, {tangent}}, at) {}
ForwardAccumulator::ForwardAccumulator(const Variable& primal, const Tensor& tangent, Location at)
    : ForwardAccumulator(Primals{{primal}, {tangent}}, at) {}
ForwardAccumulator::ForwardAccumulator(const Sources& primals, const std::vector<Tensor>& tangents, Location at)
    : ForwardAccumulator(Primals{{primals.list().begin(), primals.list().end()}, tangents}, at) {}

ForwardAccumulator::~ForwardAccumulator() { Interpreter::retire(std::move(recorder_)); }

// A Variable that is reached twice is one; the tangent under its first path counts, as its value would.
ForwardAccumulator::Primals ForwardAccumulator::paired(const std::vector<Source>& tree, const std::vector<Source>& tangents, Location at) {
  if (tree.size() != tangents.size())
    throw ValueError("ForwardAccumulator", "the tree of tangents has " + std::to_string(tangents.size()) + " Tensors and Variables, and that of "
                                           "primals " + std::to_string(tree.size()) + "; their structures must be the same.", at);
  Primals pairs;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const Variable* const variable = tree[i].variable();
    if (variable != nullptr) {
      if (!variable->trainable() || !is_floating(variable->dtype())) continue;
      const auto same = [&](const Source& known) { return known.variable() != nullptr && known.variable()->same_slot(*variable); };
      if (std::any_of(pairs.sources.begin(), pairs.sources.end(), same)) continue;
    } else if (!tree[i].tensor()->defined() || !is_floating(tree[i].tensor()->dtype())) {
      continue;
    }
    const Tensor tangent = tangents[i].variable() != nullptr ? tangents[i].variable()->value(at) : *tangents[i].tensor();
    if (!tangent.defined()) continue;
    pairs.sources.push_back(tree[i]);
    pairs.tangents.push_back(tangent);
  }
  return pairs;
}

ForwardAccumulator::Primals ForwardAccumulator::paired(const NamedVariables& variables, const Gradients& tangents, Location) {
  Primals pairs;
  for (const Variable& variable : variables.values()) {
    if (!tangents.contains(variable)) continue;
    const Grad tangent = tangents[variable];
    if (!tangent.present()) continue;
    pairs.sources.emplace_back(variable);
    pairs.tangents.push_back(tangent.dense());
  }
  return pairs;
}

Tensor ForwardAccumulator::jvp(const Tensor& y, JvpOptions options, Location at) {
  return detail::with_memory("jvp", at, [&] { return recorder_->jvp(y, options.unconnected.value_or(Unconnected::kError), at); });
}

std::vector<Tensor> ForwardAccumulator::jvp(const std::vector<Tensor>& ys, JvpOptions options, Location at) {
  return detail::with_memory("jvp", at, [&] {
    std::vector<Tensor> result;
    for (const Tensor& y : ys) result.push_back(jvp(y, options, at));
    return result;
  });
}

// Rows of a sparse one move where its values move.
Gradients ForwardAccumulator::jvp(const Gradients& ys, JvpOptions options, Location at) {
  options.unconnected = options.unconnected.value_or(Unconnected::kNone);
  return detail::with_memory("jvp", at, [&] {
    std::vector<Grad> result;
    for (const Grad& y : ys.values()) {
      Tensor tangent;
      if (y.present()) tangent = jvp(y.sparse() ? y.slices().values : y.dense(), options, at);
      if (!tangent.defined()) result.emplace_back();
      else if (y.sparse()) result.emplace_back(IndexedSlices{tangent, y.slices().indices, y.slices().like});
      else result.emplace_back(tangent);
    }
    return ys.with(std::move(result));
  });
}

bool ForwardAccumulator::recording() const { return recorder_->recording(); }
void ForwardAccumulator::stop(Location at) { recorder_->stop(at); }
void ForwardAccumulator::resume(Location at) { recorder_->resume(at); }

}  // namespace weft::inline v0
