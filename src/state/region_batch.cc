// How calls that run graphs map over an extra first axis: their graphs do.
#include <algorithm>

#include "graph/region_parts.h"
#include "ops/batch.h"
#include "state/batcher.h"
#include "state/building.h"
#include "state/regions.h"
#include <weft/operators.h>
#include <weft/ops.h>

namespace weft::inline v0 {
namespace {

using rows::batch::move_axis;
using rows::batch::repeat;

bool fails(const Graph& graph) { return std::any_of(graph.nodes.begin(), graph.nodes.end(), may_fail); }

std::vector<bool> flags_of(const Batch& b, std::size_t first) { return {b.batched.begin() + static_cast<std::ptrdiff_t>(first), b.batched.end()}; }

// With axes of size 1 behind, so that it chooses whole values.
Tensor choice(const Tensor& flags, int rank) {
  Ints axes;
  for (int axis = 1; axis < rank; ++axis) axes.push_back(axis);
  return axes.empty() ? flags : expand_dims(flags, axes);
}

std::shared_ptr<const Runner> all_batched(const Graph& graph, const std::vector<bool>& inputs, std::int64_t size) {
  return std::make_shared<const Runner>(batched(graph, inputs, std::vector<bool>(graph.outputs.size(), true), size));
}

// The inputs of a loop by kind, and which of them have the axis, or get it in some turn.
struct BatchedLoop {
  const Batch& b;
  const Region& region;
  const Graph& body;
  const std::size_t first, n, m;  // behind `go`; carried values; elements
  std::vector<bool> inputs, outputs;  // of the body

  explicit BatchedLoop(const Batch& batch)
      : b(batch), region(region_of(batch)), body(region.bodies[0]->graph()), first(region.conditional ? 1 : 0), n(region.carried), m(region.elements),
        inputs(flags_of(batch, first)) {
    for (bool settled = false; !settled;) {
      outputs = reached(body, inputs);
      settled = true;
      for (std::size_t i = 0; i < n; ++i) {
        settled = settled && (inputs[i] || !outputs[i]);
        inputs[i] = inputs[i] || outputs[i];
      }
    }
    for (std::size_t i = 0; i < n; ++i) outputs[i] = inputs[i];
  }
  bool ends_apart() const { return region.conditional && (b.batched[0] || outputs[n]); }
  Tensor input(std::size_t i) const {
    const Tensor& x = b.inputs[first + i];
    if (!inputs[i]) return x;
    const Tensor whole = b.batched[first + i] ? x : repeat(b, x);
    return i >= n && i < n + m ? move_axis(whole, 0, 1) : whole;
  }
};

// All turns are taken together.
Tensors together(const BatchedLoop& loop) {
  Region region = loop.region;
  region.bodies = {std::make_shared<const Runner>(batched(loop.body, loop.inputs, loop.outputs, loop.b.size))};
  std::vector<Tensor> inputs(loop.b.inputs.begin(), loop.b.inputs.begin() + static_cast<std::ptrdiff_t>(loop.first));
  for (std::size_t i = 0; i < loop.inputs.size(); ++i) inputs.push_back(loop.input(i));
  Tensors made = apply_region(loop.b.op, inputs, std::move(region), loop.b.at);
  const std::size_t results = loop.outputs.size() - loop.n - loop.first;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const bool carried = i < loop.n, row = !carried && i < loop.n + results;
    const bool has = carried ? loop.outputs[i] : row ? loop.outputs[i + loop.first] : loop.outputs[i - loop.n - results];
    if (!has) made[i] = repeat(loop.b, made[i]);
    else if (!carried) made[i] = move_axis(made[i], 1, 0);
  }
  return made;
}

// Some end before others: turns go on while any does, and values that have ended stay. What each turn saw cannot be put together then: there is none.
Tensors while_any(BatchedLoop& loop) {
  const Batch& b = loop.b;
  const std::size_t n = loop.n;
  if (loop.m > 0 || loop.outputs.size() > n + 1 || fails(loop.body)) return {};
  for (std::size_t i = 0; i < n; ++i) {
    const Spec &before = loop.body.values[loop.body.inputs[i]].spec, &after = loop.body.values[loop.body.outputs[i]].spec;
    if (before != after || !before.shape.known()) return {};
    loop.inputs[i] = true;
  }
  const std::shared_ptr<const Runner> step = all_batched(loop.body, loop.inputs, b.size);
  std::vector<Tensor> inputs{any_true(b.batched[0] ? b.inputs[0] : repeat(b, b.inputs[0]))};
  for (std::size_t i = 0; i < n; ++i) inputs.push_back(loop.input(i));
  inputs.push_back(b.batched[0] ? b.inputs[0] : repeat(b, b.inputs[0]));
  for (std::size_t i = n; i < loop.inputs.size(); ++i) inputs.push_back(loop.input(i));
  Region region{.bodies = {}, .carried = n + 1, .elements = 0, .conditional = true};
  {
    Building building(step->graph());
    std::vector<Tensor> symbols = building.inputs_like(std::span(inputs).subspan(1));
    const Tensor active = symbols[n];
    const std::vector<Tensor> before(symbols.begin(), symbols.begin() + static_cast<std::ptrdiff_t>(n));
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(n));
    const Tensors made = step->run(symbols);
    for (std::size_t i = 0; i < n; ++i) building.returns(where(choice(active, before[i].rank()), made[i], before[i]));
    const Tensor still = logical_and(active, made[n]);
    building.returns(still);
    building.returns(any_true(still));
    region.bodies.push_back(building.finish());
  }
  Tensors made = apply_region(b.op, inputs, std::move(region), b.at);
  made.resize(n);
  made.resize(2 * n);
  return made;
}

}  // namespace

Tensors batch_call(const Batch& b) {
  std::vector<Tensor> inputs(b.inputs.begin(), b.inputs.end());
  return all_batched(region_of(b).bodies[0]->graph(), flags_of(b, 0), b.size)->run(inputs);
}

Tensors batch_switch(const Batch& b) {
  Region region = region_of(b);
  const bool apart = b.batched[0];
  for (std::shared_ptr<const Runner>& body : region.bodies) {
    if (apart && fails(body->graph())) return {};
    body = all_batched(body->graph(), flags_of(b, 1), b.size);
  }
  std::vector<Tensor> inputs(b.inputs.begin(), b.inputs.end());
  if (!apart) return apply_region(b.op, inputs, std::move(region), b.at);
  // Some take one branch, some another: all branches run, and each takes its own.
  if (region.may_miss) return {};
  Tensors chosen;
  for (std::size_t k = 0; k < region.bodies.size(); ++k) {
    std::vector<Tensor> own(b.inputs.begin() + 1, b.inputs.end());
    const Tensors made = region.bodies[k]->run(own);
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (k == 0) chosen.push_back(made[i]);
      else if (made[i].spec() != chosen[i].spec() || !made[i].shape().known()) return {};
      else chosen[i] = where(choice(b.inputs[0] == static_cast<std::int64_t>(k), made[i].rank()), made[i], chosen[i]);
    }
  }
  return chosen;
}

Tensors batch_loop(const Batch& b) {
  BatchedLoop loop(b);
  return loop.ends_apart() ? while_any(loop) : together(loop);
}

}  // namespace weft::inline v0
