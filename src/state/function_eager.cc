#include "state/function_eager.h"

#include <optional>

#include "graph/guard.h"
#include "ops/table.h"
#include "state/function_tracing.h"

namespace weft::inline v0::detail {

void EagerBody::run(FunctionRef<void()> body) {
  struct Current {
    Current(FunctionCallState& c, EagerBody* e) : call(c) { call.eager = e; }
    ~Current() { call.eager = nullptr; }
    FunctionCallState& call;
  } current(call_, this);
  atomically([&] {
    std::optional<Installed<NumericsGuard>> guard;
    if (call_.core.options.check_numerics) guard.emplace(*find_row("check_numerics"));
    body();
  }, {}, call_.at);
  for (std::size_t i = 0; i < replaced_.which.size(); ++i) *call_.leaves.tensors[replaced_.which[i]] = std::move(replaced_.by[i]);
}

// Still in the block, so that what is refused is undone.
void EagerBody::returns(std::shared_ptr<void> result) {
  given_.require_unchanged(true);
  replaced_ = given_.replaced();
  require_apart(call_, replaced_.which);
  call_.made = std::move(result);
}

void FunctionCall::begin(const Argument* copies) {
  const std::span<const Argument> all(copies, state_->arguments.size());
  if (state_->eager != nullptr) state_->eager->begin(all);
  else state_->tracing->begin(all);
}

void FunctionCall::returns(std::shared_ptr<void> result, void* twin, WalkFn walk) {
  if (state_->eager != nullptr) state_->eager->returns(std::move(result));
  else state_->tracing->returns(std::move(result), twin, walk);
}

void* FunctionCall::made() { return state_->made.get(); }

}  // namespace weft::inline v0::detail
