#include "state/regions.h"

#include <algorithm>

#include "state/building.h"
#include "state/derive.h"
#include "state/follower.h"
#include <weft/operators.h>
#include <weft/ops.h>

namespace weft::inline v0 {
namespace {

const Region& region_of(const Backward& b) { return *b.region("region"); }

Op region_row(const char* name, const char* doc, InferFn infer, KernelFn kernel, GradFn grad, JvpFn jvp, BatchFn batch) {
  Op row{.name = name, .doc = doc};
  row.inputs = {"xs:any..."};
  row.attrs = {attr::region("region")};
  row.outputs = {"ys..."};
  row.infer = infer;
  row.kernel = kernel;
  row.grad = grad;
  row.jvp = jvp;
  row.batch = batch;
  row.traits = kValueShape | kMoves | kSkipsUnread;
  return row;
}

// --- gradients ---

// Those inputs behind the first few that want a gradient and can have one.
std::vector<bool> wanted_of(const Backward& b, std::size_t skipped) {
  std::vector<bool> wanted;
  for (std::size_t i = skipped; i < b.inputs.size(); ++i) wanted.push_back(b.needs(i) && is_floating(b.x(i).dtype()));
  return wanted;
}

Grads call_gradient(const Backward& b) {
  const Region& region = region_of(b);
  std::shared_ptr<const Derived> way = region.derived;
  // What was saved for the way back is used again by the gradient of that way; then all of it is gone through once more.
  bool saved_used = false;
  for (std::size_t i = way->results; i < b.outputs.size(); ++i) saved_used = saved_used || b.has_dy(i);
  std::vector<Tensor> inputs(b.inputs.begin(), b.inputs.end());
  if (saved_used) way = derived_whole(*region.bodies[0], wanted_of(b, 0));
  else for (std::size_t i = way->results; i < b.outputs.size(); ++i) inputs.push_back(b.y(i));
  for (std::size_t i = 0; i < way->results; ++i)
    if (way->floating[i]) inputs.push_back(b.dy(i));
  const Tensors made = call_graph(*way->backward, inputs, b.at);
  Grads dxs;
  for (std::size_t i = 0; i < b.inputs.size(); ++i) {
    const auto [at, indices] = way->gradients[i];
    if (at < 0) dxs.emplace_back();
    else if (indices < 0) dxs.emplace_back(made[static_cast<std::size_t>(at)]);
    else dxs.emplace_back(IndexedSlices{made[static_cast<std::size_t>(at)], made[static_cast<std::size_t>(indices)], b.x(i)});
  }
  return dxs;
}

Tensor dense_gradient(const JointGraph& joint, std::size_t i, const Tensor& x, std::span<const Tensor> made) {
  const auto [at, indices] = joint.gradients[i];
  if (at < 0) return zeros_like(x);
  const Tensor& values = made[joint.results + static_cast<std::size_t>(at)];
  if (indices < 0) return values;
  return Grad(IndexedSlices{values, made[joint.results + static_cast<std::size_t>(indices)], x}).dense();
}

// The same branch, gone through again and back.
Grads switch_gradient(const Backward& b) {
  const Region& region = region_of(b);
  const std::vector<bool> wanted = wanted_of(b, 1);
  const std::span<const Tensor> xs = b.inputs.subspan(1);
  std::vector<Tensor> dys;
  for (std::size_t i = 0; i < b.outputs.size(); ++i)
    if (is_floating(b.y(i).dtype())) dys.push_back(b.dy(i));
  Region back;
  for (const std::shared_ptr<const Runner>& body : region.bodies) {
    const JointGraph joint = differentiate(*body, wanted);
    const Runner replayed{joint.graph};
    Building building(region.bodies[0]->graph());
    std::vector<Tensor> inputs = building.inputs_like(xs);
    const std::vector<Tensor> own = inputs;
    for (Tensor& dy : building.inputs_like(dys)) inputs.push_back(std::move(dy));
    const Tensors made = replayed.run(inputs);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i]) building.returns(dense_gradient(joint, i, own[i], made));
    back.bodies.push_back(building.finish());
  }
  std::vector<Tensor> inputs(b.inputs.begin(), b.inputs.end());
  inputs.insert(inputs.end(), dys.begin(), dys.end());
  const Tensors made = apply_region(b.op, inputs, std::move(back), b.at);
  Grads dxs{Grad()};
  std::size_t next = 0;
  for (const bool has : wanted) dxs.push_back(has ? Grad(made[next++]) : Grad());
  return dxs;
}

// The inputs and results of a loop by kind.
struct LoopValues {
  const Region& region;
  std::span<const Tensor> carried, elements, read, starts;
  std::size_t first, results;

  explicit LoopValues(const Backward& b) : region(region_of(b)), first(region.conditional ? 1 : 0) {
    carried = b.inputs.subspan(first, region.carried);
    elements = b.inputs.subspan(first + region.carried, region.elements);
    read = b.inputs.subspan(first + region.carried + region.elements);
    results = b.outputs.size() - 2 * region.carried;
    starts = b.outputs.subspan(region.carried + results);
  }
};

std::vector<Tensor> rows_like(Building& building, std::span<const Tensor> wholes) {
  std::vector<Tensor> made;
  for (const Tensor& whole : wholes) made.push_back(building.tracer.input({whole.dtype(), Shape(whole.shape().sizes().subspan(1))}, {}));
  return made;
}

// A loop the other way round. It carries the gradients of the carried values and the sums of those of what every turn reads; its elements are
// the carried values at the start of each turn, the elements, the gradients of the results, and those of the carried values at the starts,
// which are results as well: the gradient of a gradient uses them.
Grads loop_gradient(const Backward& b) {
  const LoopValues loop(b);
  const Region& region = loop.region;
  const std::size_t n = region.carried, m = region.elements;
  std::vector<bool> wanted = wanted_of(b, loop.first);
  for (std::size_t i = 0; i < n; ++i) wanted[i] = is_floating(loop.carried[i].dtype());  // a turn needs that of the next one
  const JointGraph joint = differentiate(*region.bodies[0], wanted);
  const Runner replayed{joint.graph};

  std::vector<Tensor> carried, elements(loop.starts.begin(), loop.starts.end());
  elements.insert(elements.end(), loop.elements.begin(), loop.elements.end());
  for (std::size_t i = 0; i < n; ++i)
    if (wanted[i]) carried.push_back(b.dy(i));
  for (std::size_t i = 0; i < loop.read.size(); ++i)
    if (wanted[n + m + i]) carried.push_back(zeros_like(loop.read[i]));
  for (std::size_t i = 0; i < loop.results; ++i)
    if (is_floating(b.y(n + i).dtype())) elements.push_back(b.dy(n + i));
  const auto start_used = [&](std::size_t i) { return wanted[i] && b.has_dy(n + loop.results + i); };
  for (std::size_t i = 0; i < n; ++i)
    if (start_used(i)) elements.push_back(b.dy(n + loop.results + i));

  Region back{.bodies = {}, .carried = carried.size(), .elements = elements.size(), .conditional = false, .reverse = !region.reverse};
  {
    Building building(region.bodies[0]->graph());
    const std::vector<Tensor> sums = building.inputs_like(carried), rows = rows_like(building, elements), read = building.inputs_like(loop.read);
    std::vector<Tensor> xs(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(n + m));
    xs.insert(xs.end(), read.begin(), read.end());
    std::vector<Tensor> inputs = xs;
    std::size_t next_sum = 0, next_row = n + m;
    for (std::size_t i = 0; i < joint.floating.size(); ++i) {  // the results of a turn: carried values, go, rows
      if (!joint.floating[i]) continue;
      inputs.push_back(i < n ? sums[next_sum++] : rows[next_row++]);
    }
    const Tensors made = replayed.run(inputs);
    for (std::size_t i = 0; i < n; ++i)
      if (wanted[i]) {
        const Tensor dx = dense_gradient(joint, i, xs[i], made);
        building.returns(start_used(i) ? dx + rows[next_row++] : dx);
      }
    for (std::size_t i = 0; i < read.size(); ++i)
      if (wanted[n + m + i]) {
        const Tensor& sum = sums[next_sum++];
        building.returns(joint.gradients[n + m + i].at < 0 ? sum : sum + dense_gradient(joint, n + m + i, read[i], made));
      }
    for (std::size_t i = 0; i < m; ++i)
      if (wanted[n + i]) building.returns(dense_gradient(joint, n + i, xs[n + i], made));
    back.bodies.push_back(building.finish());
  }
  std::vector<Tensor> inputs = carried;
  inputs.insert(inputs.end(), elements.begin(), elements.end());
  inputs.insert(inputs.end(), loop.read.begin(), loop.read.end());
  if (elements.empty()) return {};
  const Tensors made = apply_region(b.op, inputs, std::move(back), b.at);

  Grads dxs(loop.first);
  std::size_t next = 0, next_row = carried.size();
  for (std::size_t i = 0; i < n; ++i) dxs.push_back(wanted[i] ? Grad(made[next++]) : Grad());
  for (std::size_t i = 0; i < m; ++i) dxs.push_back(wanted[n + i] ? Grad(made[next_row++]) : Grad());
  for (std::size_t i = 0; i < loop.read.size(); ++i) dxs.push_back(wanted[n + m + i] ? Grad(made[next++]) : Grad());
  return dxs;
}

}  // namespace

const Op& call_row() {
  static const Op& row = *new Op(region_row("call", "Runs a graph.", infer_call, run_call, call_gradient, move_call, batch_call));
  return row;
}

namespace {

const Op& row_named(const std::vector<Op>& rows, std::string_view name) {
  for (const Op& row : rows)
    if (row.name == name) return row;
  throw InternalError("there is no row for this control flow");
}

}  // namespace

const Op& switch_row(std::string_view name) {
  static const std::vector<Op>& rows = *new std::vector<Op>([] {
    std::vector<Op> made;
    for (const char* each : {"cond", "switch_case"})
      made.push_back(region_row(each, "Runs the graph that the first input names.", infer_switch, run_switch, switch_gradient, move_switch, batch_switch));
    return made;
  }());
  return row_named(rows, name);
}

const Op& loop_row(std::string_view name) {
  static const std::vector<Op>& rows = *new std::vector<Op>([] {
    std::vector<Op> made;
    for (const char* each : {"while_loop", "scan", "fold", "map"})
      made.push_back(region_row(each, "Runs a graph again and again.", infer_loop, run_loop, loop_gradient, move_loop, batch_loop));
    return made;
  }());
  return row_named(rows, name);
}

Tensors apply_region(const Op& row, std::span<Tensor> inputs, Region region, Location at) {
  const Attr attrs[] = {std::make_shared<const Region>(std::move(region))};
  Tensors outputs;
  apply({row, inputs, attrs, at}, outputs);
  return outputs;
}

Tensors call_graph(const Runner& body, std::span<Tensor> inputs, Location at, std::size_t followed) {
  if (Interpreter::top() == nullptr || inputs.empty()) return body.run(inputs);
  std::vector<bool> wanted(inputs.size());
  for (Interpreter* each = Interpreter::top(); each != nullptr; each = each->below()) {
    const auto* const tape = dynamic_cast<const Follower*>(each);
    if (tape == nullptr) return body.run(inputs);
    for (const GraphConstant& constant : body.graph().constants)
      if (tape->follows(constant.value)) return body.run(inputs);  // call by call, for only those show where it goes
    for (std::size_t i = 0; i < inputs.size() && !tape->goes_forward(); ++i)
      wanted[i] = wanted[i] || (tape->follows(inputs[i]) && is_floating(inputs[i].dtype()));
  }
  std::shared_ptr<const Derived> way = derived(body, wanted, followed);
  Tensors made = apply_region(call_row(), inputs, {.bodies = {way->forward}, .derived = way}, at);
  made.resize(way->results);
  return made;
}

}  // namespace weft::inline v0
