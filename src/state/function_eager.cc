#include "state/function_eager.h"

#include <optional>

#include "graph/guard.h"
#include "ops/table.h"
#include "state/function_tracing.h"

namespace weft::inline v0::detail {
namespace {

// Looks at what a body makes and writes, if that is asked for.
class EagerGuard {
 public:
  explicit EagerGuard(bool wanted) {
    if (!wanted) return;
    check_ = find_row("check_numerics");
    each_write([&](const SlotRef& slot, const Tensor& value, const char*, Location) { before_.emplace(slot.get(), value); });
    guard_.emplace(*check_);
  }
  /// The body has ended: throws NumericError for what it has written to Variables that outlive the call. `title_of` says what they are called.
  template <class F>
  void look_at_writes(const F& title_of) {
    if (check_ == nullptr) return;
    guard_.reset();
    CallList<std::tuple<SlotRef, Tensor, const char*, Location>> written;
    each_write([&](const SlotRef& slot, const Tensor& value, const char* by, Location at) {
      const auto known = before_.find(slot.get());
      const bool is_new = known == before_.end() || !known->second.same_as(value);
      if (is_new && is_floating(value.dtype()) && !slot->options.local) written.emplace_back(slot, value, by, at);
    });
    for (auto& [slot, value, by, at] : written) {
      const Attr message[] = {written_by(by, title_of(slot))};
      apply_one(*check_, {&value, 1}, message, at);
    }
  }

 private:
  template <class F>
  static void each_write(const F& f) {
    Transaction::current()->each_write(f);
  }
  const Op* check_ = nullptr;
  std::unordered_map<const Slot*, Tensor> before_;  // of the block around
  std::optional<Installed<NumericsGuard>> guard_;
};

}  // namespace

void EagerBody::run(FunctionRef<void()> body) {
  struct Current {
    Current(FunctionCallState& c, EagerBody* e) : call(c) { call.eager = e; }
    ~Current() { call.eager = nullptr; }
    FunctionCallState& call;
  } current(call_, this);
  if (call_.core.options.check_numerics) given_.notes();  // for the names of what is written
  atomically([&] {
    EagerGuard guard(call_.core.options.check_numerics);
    body();
    guard.look_at_writes([&](const SlotRef& slot) {
      for (const LeafNote& note : given_.notes())
        if (note.slot == slot) return call_.core.path_of(note);
      return slot->title();
    });
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
