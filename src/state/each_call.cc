// What traced programs ask for at each call, and what they keep to themselves.
#include <weft/each_call.h>

#include "core/infer.h"
#include "core/node.h"
#include "state/transaction.h"
#include <weft/function.h>
#include <weft/ops.h>

namespace weft::inline v0 {

Tensor cut_off(Tensor value, Location at) {
  return value.node()->symbolic && is_floating(value.dtype()) ? stop_gradient(std::move(value), at) : value;
}

namespace {

Tensor asked_outside(const std::function<Tensor()>& ask, Location at) {
  const detail::Outside outside;
  Tensor x = ask();
  if (!x.defined()) throw ValueError("at_each_call", "the lambda gave an empty Tensor handle; return a value.", at);
  if (x.node()->symbolic)
    throw TraceError("at_each_call", "the lambda gave " + x.spec().str() + ", which was made while tracing and has no value; use the tensor itself.", at);
  return x;
}

Tensor fitted(Tensor x, const Spec& spec, Location at) {
  if (x.dtype() != spec.dtype && is_literal(x) && literal_fits(x.node()->number(), spec.dtype)) x = make_scalar(x.node()->number(), spec.dtype, x.node()->made_at());
  const std::string sentence = "the lambda gave " + x.spec().str() + " and the trace takes " + spec.str() + "; ";
  if (x.dtype() != spec.dtype) throw DtypeError("at_each_call", sentence + "the dtype must stay the same, cast it.", at);
  if (!infer::compatible(spec.shape, x.shape())) throw ShapeError("at_each_call", sentence + "declare sizes that change as unknown.", at);
  return x;
}

}  // namespace

void SlotSymbols::made_local(const SlotRef& slot) {
  throw StateError("Variable", slot->title() + " is local, but there is no call that it could belong to; make it in the body of a Function.", slot->made_at);
}

Tensor SlotSymbols::each_call(const EachCall& asked) {
  throw StateError("at_each_call", "a graph that is run by sessions has no calls; feed a placeholder.", asked.at);
}

Tensor ask_now(const EachCall& asked) { return fitted(asked_outside(asked.ask, asked.at), asked.spec, asked.at); }

Tensor detail::at_each_call(std::function<Tensor()> ask, std::optional<Spec> declared, Location at) {
  if (SlotSymbols* const trace = Transaction::tracing_symbols()) {
    if (!declared) declared = asked_outside(ask, at).spec();
    return trace->each_call({std::move(ask), *std::move(declared), at});
  }
  Tensor x = asked_outside(ask, at);
  return declared ? fitted(std::move(x), *declared, at) : x;
}

}  // namespace weft::inline v0
