// at_each_call: a value of the host that a Function asks for anew whenever it is called.
//
//   float rate = 0.5f;
//   Function f = [&](Tensor x) { return x * at_each_call([&] { return Tensor(rate); }); };
//   f(2.f);                                // 1
//   rate = 3;
//   f(2.f);                                // 6: the body is not run again, the lambda is
//
// While a Function is traced, the lambda's result becomes an argument that nobody passes: `f` keeps the lambda and calls it at the start of
// each call, once, before the call's transaction and out of sight of tapes. `explain()` lists it. Where nothing is traced it is a plain call.
//
// The Spec is that of the first result, or the one that is declared; then it is not called while tracing, and sizes may be unknown. Numbers
// take its dtype. A result of another Spec is a DtypeError or ShapeError, and the call has changed nothing.
//
// Ownership: the trace keeps a copy of the lambda; what that captures by reference must live as long as the Function is called.
// Thread safety: as the lambda's. It may call other Functions.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include <weft/tensor.h>

namespace weft::inline v0 {

namespace detail {
WEFT_API Tensor at_each_call(std::function<Tensor()> ask, std::optional<Spec> declared, Location at);
}

template <class F>
  requires std::is_invocable_r_v<Tensor, F&>
Tensor at_each_call(F ask, std::optional<Spec> declared = {}, Location at = Location::here()) {
  return detail::at_each_call(std::function<Tensor()>(std::move(ask)), std::move(declared), at);
}

}  // namespace weft::inline v0
