#include "graph/tracer.h"

#include <atomic>

namespace weft::inline v0 {

std::uint64_t next_trace() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::shared_ptr<TracedProgram> TracedProgram::make() {
  static std::atomic<std::uint32_t> last{0};
  std::uint32_t id = 0;
  while (id == 0) id = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return std::shared_ptr<TracedProgram>(new TracedProgram{id});
}

Tracer::Tracer(Graph& graph, std::shared_ptr<TracedProgram> program) : graph_(graph), id_(next_trace()), program_(std::move(program)) {}

const Tracer* Tracer::around() {
  for (const Interpreter* each = top(); each != nullptr; each = each->below())
    if (const auto* const tracer = dynamic_cast<const Tracer*>(each)) return tracer;
  return nullptr;
}

std::optional<Location> Tracer::written_at(const Tensor& x) const {
  const Node& node = *x.node();
  if (node.symbolic) return std::nullopt;
  if (node.program == program_->id) return node.made_at();
  const auto known = program_->called.find(&node);
  if (known == program_->called.end()) return std::nullopt;
  return known->second.at;
}

Tensor Tracer::symbol(ValueId value) {
  const GraphValue& known = graph_.values[value];
  Tensor result = make_symbolic(known.spec, known.made_at);
  set_symbol(result, {id_, value});
  return result;
}

Tensor Tracer::input(Spec spec, Location at) { return symbol(graph_.add_input(std::move(spec), at)); }

bool Tracer::owns(const Tensor& x) const { return x.node()->symbolic && symbol_of(x).trace == id_; }

ValueId Tracer::value_of(const Tensor& x, const Op* user, Location at) {
  const Node& node = *x.node();
  if (node.symbolic) {
    const Symbol symbol = symbol_of(x);
    if (symbol.trace == id_) return symbol.value;
    if (const std::optional<ValueId> adopted = adopt(x)) return *adopted;
    throw TraceError(user != nullptr ? user->name : "trace", "a tensor " + x.spec().str() +
                         " of another trace is used; it has no value here, pass it as an argument or return it from the function that made it.", node.made_at());
  }
  const auto known = constants_.find(&node);
  if (known != constants_.end()) return known->second;
  const std::optional<Location> written = written_at(x);
  if (!written)
    if (const std::optional<ValueId> adopted = adopt(x)) return *adopted;
  if (strict_ && !written)
    throw TraceError(user != nullptr ? user->name : "trace", "the tensor " + x.spec().str() +
                         " was made outside and would be frozen; pass it as an argument, or hold it in a Variable.", at);
  const ValueId id = graph_.add_constant({x, user, written.value_or(at), written.has_value()});
  constants_.emplace(&node, id);
  return id;
}

std::optional<ValueId> Tracer::adopt(const Tensor&) { return std::nullopt; }

SmallVector<ValueId, 4> Tracer::values_of(const Call& call) {
  SmallVector<ValueId, 4> inputs;
  for (const Tensor& input : call.inputs) inputs.push_back(value_of(input, &call.op, call.at));
  return inputs;
}

void Tracer::add(const Call& call, const Specs& specs, Tensors& outputs) {
  const ValueId first = graph_.add_node(call.op, call.attrs, values_of(call), specs, OnBehalf::line(call.at));
  for (std::size_t i = 0; i < specs.size(); ++i) outputs.push_back(symbol(first + static_cast<ValueId>(i)));
}

void Tracer::stands_for(const Call& call, Tensors* results) {
  if (results == nullptr) return graph_.add_rule(call.op, call.attrs, values_of(call), OnBehalf::line(call.at));
  add(call, check(call), *results);
  graph_.nodes.back().runs = false;
}

void Tracer::apply(Call call, Tensors& outputs) {
  const Specs specs = check(call);
  if (call.op.expand != nullptr && call.op.validate == nullptr) return apply_parts(call, outputs);
  add(call, specs, outputs);
}

}  // namespace weft::inline v0
