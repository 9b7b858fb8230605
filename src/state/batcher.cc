#include "state/batcher.h"

#include <algorithm>

#include "graph/passes.h"
#include "graph/region_parts.h"
#include "graph/tracer.h"
#include "state/installed.h"
#include "state/regions.h"
#include <weft/ops.h>

namespace weft::inline v0 {
namespace {

Tensor first_of(const Tensor& x) { return strided_slice(x, {0}, {1}, {.shrink_axis_mask = 1}); }

// Call by call: a loop whose turns see one place of the axis each.
Tensors loop_over(const Batch& b, const Specs& specs) {
  Region region{.bodies = {}, .carried = 0, .elements = 0};
  Graph body;
  std::vector<ValueId> ids(b.inputs.size());
  std::vector<Tensor> inputs;
  for (const bool element : {true, false})
    for (std::size_t i = 0; i < b.inputs.size(); ++i) {
      if (b.batched[i] != element) continue;
      const Spec& spec = b.inputs[i].spec();
      ids[i] = body.add_input(element ? row_of(spec) : spec, b.at);
      inputs.push_back(b.inputs[i]);
      region.elements += element;
    }
  const ValueId first = body.add_node(b.op, b.attrs, ids, specs, b.at);
  for (std::size_t i = 0; i < specs.size(); ++i) body.outputs.push_back(first + static_cast<ValueId>(i));
  region.bodies.push_back(std::make_shared<const Runner>(std::move(body)));
  return apply_region(loop_row("map"), inputs, std::move(region), b.at);
}

}  // namespace

Batcher::Batcher(std::int64_t size) : size_(size), id_(next_trace()) {}

bool Batcher::stands_for_many(const Tensor& x, const Interpreter* top) {
  for (; top != nullptr; top = top->below())
    if (const auto* const batcher = dynamic_cast<const Batcher*>(top); batcher != nullptr && batcher->owns(x)) return true;
  return false;
}

bool Batcher::any(const Interpreter* top) {
  while (top != nullptr && dynamic_cast<const Batcher*>(top) == nullptr) top = top->below();
  return top != nullptr;
}

Tensor Batcher::symbol(Tensor value, Location at) {
  const Spec& whole = value.spec();
  if (whole.shape.rank() == 0 || (whole.shape.dim(0) != size_ && whole.shape.dim(0) != kUnknown))
    throw InternalError("a value of " + std::to_string(size_) + " was batched as " + whole.str());
  Spec row = row_of(whole);
  return symbol(std::move(row), std::move(value), at);
}

Tensor Batcher::symbol(Spec spec, Tensor value, Location at) {
  Tensor result = make_symbolic(std::move(spec), at);
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(entries_.size()));
    entries_.emplace_back();
  }
  const std::uint32_t place = free_.back();
  free_.pop_back();
  set_symbol(result, {id_, place});
  entries_[place] = {result, std::move(value)};
  return result;
}

Tensor Batcher::value(const Tensor& x) const {
  if (owns(x)) {
    const Tensor& known = entries_[symbol_of(x).value].value;
    if (!known.defined())
      throw TraceError("while_loop", "what each turn saw is asked for, but the turns end apart along a batch; differentiate before, or give the loop a number of turns.",
                       x.node()->made_at());
    return known;
  }
  Ints multiples(static_cast<std::size_t>(x.rank()) + 1, 1);
  multiples[0] = size_;
  return tile(expand_dims(x, 0), multiples);
}

// Symbols that nobody else holds are gone for the program.
void Batcher::sweep() {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    if (!entry.symbol.defined() || entry.symbol.node()->count.load(std::memory_order_relaxed) != 1) continue;
    entry = {};
    free_.push_back(static_cast<std::uint32_t>(i));
  }
}

void Batcher::apply(Call call, Tensors& outputs) {
  if (std::none_of(call.inputs.begin(), call.inputs.end(), [&](const Tensor& x) { return owns(x); })) return delegate(call, outputs);
  if (call.op.expand != nullptr && call.op.batch == nullptr && call.op.validate == nullptr) {
    check(call);
    return apply_parts(call, outputs);
  }
  const Specs specs = check(call);
  SmallVector<bool, 4> batched;
  SmallVector<Tensor, 4> inputs;
  bool any = false;
  {
    const Scope scope(below());
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      const Tensor& x = call.inputs[i];
      const bool symbolic = owns(x), shape = symbolic && only_shape(call.op, i);
      batched.push_back(symbolic && !shape);
      any = any || batched.back();
      if (!symbolic) inputs.push_back(x);
      else if (!shape) inputs.push_back(value(x));
      else inputs.push_back(x.shape().known() ? zeros(x.shape(), {.dtype = bool_}) : first_of(value(x)));
    }
    if (!any) return v0::apply({call.op, inputs, call.attrs, call.at}, outputs);
    for (Tensor& input : call.inputs) input = Tensor();
    sweep();
    const Batch batch{{call.op, call.attrs, call.at}, inputs, batched, size_};
    const OnBehalf parts(OnBehalf::line(call.at));
    Tensors results;
    if (call.op.batch != nullptr) results = call.op.batch(batch);
    if (results.empty()) {
      looped_.push_back(&call.op);
      results = loop_over(batch, specs);
    }
    if (results.size() != specs.size()) throw InternalError(std::string(call.op.name) + ": .batch makes another number of results");
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Location line = OnBehalf::line(call.at);
      Tensor made = results[i].defined() ? symbol(std::move(results[i]), line) : symbol(specs[i], Tensor(), line);
      if (made.dtype() != specs[i].dtype || made.rank() != specs[i].shape.rank())
        throw InternalError(std::string(call.op.name) + ": .batch makes " + made.spec().str() + " instead of " + specs[i].str());
      outputs.push_back(std::move(made));
    }
  }
}

// To those below, a value of the axis is as good as any other: they see the first, which has the symbol's Spec.
void Batcher::stands_for(const Call& call, Tensors* results) {
  rules_.emplace_back();
  try {
    if (below() == nullptr) return;
    const Scope scope(below());
    SmallVector<Tensor, 4> inputs;
    for (const Tensor& x : call.inputs) inputs.push_back(owns(x) ? first_of(value(x)) : x);
    rules_.back() = std::make_unique<InPlaceOf>(Call{call.op, inputs, call.attrs, call.at}, results);
  } catch (...) {
    rules_.pop_back();
    throw;
  }
}

std::vector<bool> reached(const Graph& graph, const std::vector<bool>& inputs) {
  std::vector<bool> values(graph.values.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) values[graph.inputs[i]] = inputs[i];
  for (const GraphNode& node : graph.nodes) {
    const bool any = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return values[id]; });
    for (std::uint32_t i = 0; i < node.count; ++i) values[node.first + i] = any;
  }
  std::vector<bool> outputs;
  for (const ValueId id : graph.outputs) outputs.push_back(values[id]);
  return outputs;
}

Graph batched(const Graph& graph, const std::vector<bool>& inputs, const std::vector<bool>& outputs, std::int64_t size) {
  Graph made;
  made.without = graph.without;
  Installed<Tracer> below(made);
  Installed<Batcher> top(size);
  Tracer& tracer = below.interpreter;
  Batcher& batcher = top.interpreter;
  std::vector<Tensor> symbols;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const GraphValue& value = graph.values[graph.inputs[i]];
    if (!inputs[i]) symbols.push_back(tracer.input(value.spec, value.made_at));
    else symbols.push_back(batcher.symbol(tracer.input(rows_of(value.spec, size), value.made_at), value.made_at));
  }
  const Tensors results = Runner(graph).run(symbols);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Interpreter::Scope scope(&tracer);
    made.outputs.push_back(tracer.value_of(outputs[i] ? batcher.value(results[i]) : results[i], nullptr, {}));
  }
  optimize(made, made.inputs.size());
  return made;
}

}  // namespace weft::inline v0
