#include <weft/variable.h>

#include <ostream>

#include "core/apply.h"
#include "state/transaction.h"
#include <weft/concrete.h>
#include <weft/ops.h>
#include <weft/print.h>

namespace weft::inline v0 {
namespace {

// A number written as an argument takes the Variable's dtype, as beside a tensor.
Tensor adapted(Tensor x, const Slot& slot, const char* by, Location at) {
  if (!x.defined()) throw ValueError(by, "the value for " + slot.title() + " is an empty Tensor handle; assign a value to it first.", at);
  if (!is_literal(x) || x.dtype() == slot.declared.dtype) return x;
  const Literal number = x.node()->number();
  if (!literal_fits(number, slot.declared.dtype))
    throw DtypeError(by, slot.title() + " is " + slot.declared.str() + " and the value the number " + format("{}", x.item<double>()) +
                             ", which that dtype does not hold; cast it.", at);
  return make_scalar(number, slot.declared.dtype, x.node()->made_at());
}

Tensor listed(std::initializer_list<Nested> list, const Slot& slot, const char* by, Location at) {
  try {
    return Tensor(list, slot.declared.dtype, at);
  } catch (const DtypeError&) {
    throw DtypeError(by, slot.title() + " is " + slot.declared.str() +
                             " and the list holds a number that this dtype does not; cast it.", at);
  }
}

// The row behind a public function of two tensors: whoever is called through it sees it.
class RowOf final : public Interpreter {
 public:
  explicit RowOf(Tensor (*op)(Tensor, Tensor, Location)) {
    const Scope instead(this);
    op(0.f, 0.f, {});
  }
  void apply(Call call, Tensors& outputs) override {
    row_ = &call.op;
    outputs.push_back(call.inputs[0]);
  }
  const Op& row() const { return *row_; }

 private:
  const Op* row_ = nullptr;
};

SlotRef make_slot(Tensor initial, VariableOptions options, Location at) {
  Spec declared = initial.spec();
  if (options.shape) declared.shape = *options.shape;
  Transaction* const t = Transaction::current();
  const bool traced = Transaction::tracing_symbols() != nullptr;
  Tensor first = traced && options.local ? initial : Tensor();
  if (traced && !options.local && initial.node()->symbolic)
    if (Tensor known = t->symbols->known(initial); known.defined()) initial = std::move(known);
  auto slot = std::make_shared<Slot>(std::move(initial), std::move(declared), std::move(options), at);
  if (!traced) return slot;
  if (!first.defined()) return t->symbols->made(std::move(slot));
  t->symbols->made_local(slot);
  t->write(slot, std::move(first), at, "Variable");
  return slot;
}

}  // namespace

Variable::Variable(FromTensor, Tensor initial, VariableOptions options, Location at) {
  if (!initial.defined()) throw ValueError("Variable", "the initial value is an empty Tensor handle; assign a value to it first.", at);
  if (options.dtype && initial.dtype() != *options.dtype) {
    if (!is_literal(initial))
      throw DtypeError("Variable", "the initial value is " + initial.spec().str() + " and the dtype asked for " +
          std::string(name_of(*options.dtype)) + "; a tensor keeps its dtype, cast it.", at);
    const Literal number = initial.node()->number();
    if (!literal_fits(number, *options.dtype))
      throw DtypeError("Variable", "the initial number does not fit the dtype asked for, " + std::string(name_of(*options.dtype)) +
          "; name another dtype or cast.", at);
    initial = make_scalar(number, *options.dtype, initial.node()->made_at());
  }
  slot_ = make_slot(std::move(initial), std::move(options), at);
}

Variable::Variable(ListValue initial, VariableOptions options, Location at) {
  Tensor value = options.dtype ? Tensor(initial.list, *options.dtype, at) : Tensor(initial.list, at);
  slot_ = make_slot(std::move(value), std::move(options), at);
}

namespace {

// What such a Variable is does not depend on a session.
bool of_graph(const SlotRef& slot) { return slot != nullptr && slot->role == Slot::Role::kOfGraph; }

// REQUIRES: the slot's role is one of those that mean nothing everywhere.
void require_meaning(const Slot& slot) {
  if (slot.role == Slot::Role::kExpired)
    throw StateError("Variable", "this handle was kept by the body of a Function from an argument, for which it stood only while the body was "
                                 "traced; keep the Variable that is passed.", {});
  if (slot.role == Slot::Role::kLocalExpired)
    throw StateError("Variable", "this handle is one of a local Variable, which was there only while the body of a Function was traced; return its "
                                 "value(), or make it without local.", slot.made_at);
  if (graphs_being_built == 0)
    throw StateError("Variable", slot.title() + " belongs to a graph, and each session has a value of its own for it; fetch or assign it with "
                                 "Session::run.", {});
}

}  // namespace

const std::shared_ptr<Slot>& Variable::slot() const {
  if (slot_ == nullptr) detail::fail_moved_from("Variable", {});
  if (slot_->role >= Slot::Role::kExpired) require_meaning(*slot_);
  return slot_;
}

// The slot for a question that another Variable of the same kind would answer differently. While tracing, the argument is not known yet:
// the trace begins anew with the Variables that were passed.
const Slot& Variable::asked() const {
  if (of_graph(slot_)) return *slot_;
  if (slot()->role != Slot::Role::kStandsIn) return *slot_;
  slot_->identity_asked = true;
  throw detail::IdentityAsked();
}

bool Variable::same_slot(const Variable& other) const { return slot() == other.slot() || &asked() == &other.asked(); }

Tensor Variable::value(Location at) const {
  Tensor now = read(slot(), at);
  Interpreter* const top = Interpreter::top();  // tapes follow what was read, tracers give a symbol for it
  return top == nullptr ? now : top->read(slot_->id, *this, std::move(now), at);
}
Tensor Variable::read_latest(Location at) const {
  if (asked().role == Slot::Role::kLocal)
    throw StateError("read_latest", slot_->title() + " is local to a call, which publishes nothing of it; read its value().", at);
  if (const SlotSymbols* const symbols = Transaction::tracing_symbols(); symbols != nullptr && symbols->freezes())
    throw TraceError("read_latest", "what " + slot_->title() + " holds now would be frozen in the trace; read its value(), or call read_latest outside.", at);
  return v0::read_latest(*slot_);
}

Variable& Variable::assign(Tensor x, Location at) {
  x = adapted(std::move(x), *slot(), "assign", at);
  write(slot_, std::move(x), at, "assign");
  return *this;
}

Variable& Variable::change(const char* by, Tensor x, Location at, Tensor (*op)(Tensor, Tensor, Location)) {
  update(slot(), [&](Tensor old) {
    if (x.spec() != old.spec()) {
      slot_->require_fits(by, x.spec(), at);
      throw ShapeError(by, slot_->title() + " now holds " + old.spec().str() + " and the value is " + x.spec().str() +
          "; the shapes must agree, nothing is broadcast.", at);
    }
    return op(std::move(old), x, at);
  }, at, by);
  return *this;
}

Variable& Variable::assign_add(Tensor x, Location at) {
  static const Op& row = RowOf(add).row();
  x = adapted(std::move(x), *slot(), "assign_add", at);
  if (update_in_place(*slot_, row, x, at, "assign_add")) return *this;
  return change("assign_add", std::move(x), at, add);
}

Variable& Variable::assign_sub(Tensor x, Location at) {
  static const Op& row = RowOf(subtract).row();
  x = adapted(std::move(x), *slot(), "assign_sub", at);
  if (update_in_place(*slot_, row, x, at, "assign_sub")) return *this;
  return change("assign_sub", std::move(x), at, subtract);
}

Variable& Variable::assign(std::initializer_list<Nested> x, Location at) { return assign(listed(x, *slot(), "assign", at), at); }
Variable& Variable::assign_add(std::initializer_list<Nested> x, Location at) {
  return assign_add(listed(x, *slot(), "assign_add", at), at);
}
Variable& Variable::assign_sub(std::initializer_list<Nested> x, Location at) {
  return assign_sub(listed(x, *slot(), "assign_sub", at), at);
}

Tensor Variable::count_up_to(std::int64_t limit, Location at) {
  const Spec& spec = slot()->declared;
  if ((spec.dtype != i32 && spec.dtype != i64) || spec.shape.rank() != 0)
    throw DtypeError("count_up_to", slot_->title() + " is " + spec.str() + "; only an i32 or i64 scalar counts.", at);
  Tensor before;
  update(slot_, [&](Tensor old) {
    if (old.node()->symbolic)
      throw TraceError("count_up_to", slot_->title() +
          " has no value while tracing, so it cannot be compared with the limit; write check(v < limit, ...) and assign_add.", at);
    if (old.item<std::int64_t>() >= limit)
      throw StateError("count_up_to", slot_->title() + " has reached the limit of " + std::to_string(limit) +
          "; assign a smaller value to count on.", at);
    before = old;
    return add(std::move(old), 1, at);
  }, at, "count_up_to");
  return before;
}

const std::string& Variable::name() const { return asked().options.name; }
bool Variable::trainable() const { return (of_graph(slot_) ? slot_ : slot())->options.trainable; }
const Spec& Variable::spec() const { return (of_graph(slot_) ? slot_ : slot())->declared; }
Shape Variable::shape() const { return read(slot(), {}).shape(); }  // no use of the value that a tape should follow
std::uint64_t Variable::version() const { return asked().version.load(std::memory_order_acquire); }
std::uint64_t Variable::id() const { return asked().id; }
const std::function<Tensor(const Tensor&)>& Variable::constraint() const { return asked().options.constraint; }
Location Variable::made_at() const { return asked().made_at; }

std::vector<WriteRecord> Variable::history() const {
  asked();
  Slot& slot = *this->slot();
  std::vector<WriteRecord> result;
  result.reserve(Slot::kRemembered);
  slot.lock.lock();
  const std::uint64_t now = slot.version.load(std::memory_order_relaxed);
  const std::uint64_t oldest = now < Slot::kRemembered ? 0 : now - Slot::kRemembered + 1;
  for (std::uint64_t v = oldest; v <= now; ++v) result.push_back(slot.writes[v % Slot::kRemembered]);
  slot.lock.unlock();
  return result;
}

Variable Variable::clone(Location at) const {
  VariableOptions options = slot()->options;
  options.shape = slot_->declared.shape;
  return Variable(from_tensor, value(at), std::move(options), at);
}

std::string Variable::str() const {
  const Slot& slot = *this->slot();
  const Tensor now = read(this->slot(), {});  // showing it is no use of it that a tape should see
  const std::string spec = now.spec().str();
  std::string values = now.str();
  if (values.ends_with(" " + spec)) values.resize(values.size() - spec.size() - 1);
  return (slot.options.name.empty() ? std::string("Variable") : "Variable \"" + slot.options.name + "\"") + " " + spec + " = " + values;
}

std::ostream& operator<<(std::ostream& out, const Variable& v) { return out << v.str(); }

}  // namespace weft::inline v0
