#include "state/follower.h"

#include "state/transaction.h"

namespace weft::inline v0 {

void Follower::require_own_thread(const char* what, Location at) const {
  if (installed() && !installed_here())
    throw StateError(what, std::string("this ") + noun_ + " belongs to another thread, which still records on it; use it there.", at);
}

void Follower::stop(Location at) {
  require_own_thread("stop", at);
  if (!recording()) throw StateError("stop", std::string("this ") + noun_ + " does not record; resume it first.", at);
  stopped = true;
}

void Follower::resume(Location at) {
  require_own_thread("resume", at);
  if (recording()) throw StateError("resume", std::string("this ") + noun_ + " records already; stop it first.", at);
  if (!installed()) throw StateError("resume", over_, at);
  stopped = false;
}

Follower* keeper_of_gradients() {
  SlotSymbols* const trace = Transaction::tracing_symbols();
  return trace != nullptr ? trace->keeper() : nullptr;
}

Tensor read_of_written(Tracer& tracer, const Variable& variable, Tensor value, bool taped, Location at) {
  if (variable.trainable() && !taped && !is_followed(value, &tracer)) return value;
  const Interpreter::Scope here(&tracer);
  return cut_off(std::move(value), at);
}

}  // namespace weft::inline v0
