// Loops: what while_loop, scan, fold and map do, eagerly and while tracing.
#include <algorithm>

#include "graph/region_parts.h"
#include "state/batcher.h"
#include "state/control_parts.h"
#include "state/regions.h"
#include <weft/ops.h>
#include <weft/print.h>
#include <weft/transaction.h>

namespace weft::inline v0::detail {

LoopProgram::~LoopProgram() = default;

namespace {

std::int64_t rows_in(const char* name, const CallList<Tensor*>& elements, Location at) {
  std::int64_t rows = kUnknown;
  for (const Tensor* element : elements) {
    if (element->rank() == 0)
      throw ShapeError(name, "an element is the scalar " + element->spec().str() + "; elements have rows, so they need a first axis.", at);
    const std::int64_t own = element->shape().dim(0);
    if (rows != kUnknown && own != kUnknown && own != rows)
      throw ShapeError(name, unequal_rows(rows, own), at);
    if (own != kUnknown) rows = own;
  }
  return rows;
}

// What is carried from turn to turn: all but the sizes of its Tensors stays.
struct CarriedKind {
  CarriedKind(const char* combinator, const Argument& first, Location where) : name(combinator), at(where) {
    CallLeaves leaves = leaves_in(name, first, at);
    for (const Tensor* tensor : leaves.tensors) specs.push_back(tensor->spec());
    skeleton = std::move(leaves.kind.skeleton);
  }
  /// The Tensors of the value that a turn leaves.
  CallList<Tensor*> require(const Argument& now) const {
    CallLeaves leaves = leaves_in(name, now, at);
    CallList<Tensor*>& next = leaves.tensors;
    if (next.size() != specs.size()) throw TraceError(name, "a turn changes the structure of the carried value; it must stay the same.", at);
    for (std::size_t i = 0; i < next.size(); ++i) {
      const Spec& spec = next[i]->spec();
      if (spec.dtype == specs[i].dtype && spec.shape.rank() == specs[i].shape.rank()) continue;
      const std::string change = format("a turn changes carried value {} from {} to {}", i, specs[i].str(), spec.str());
      if (spec.dtype != specs[i].dtype) throw DtypeError(name, change + "; the dtype must stay the same, cast it.", at);
      throw ShapeError(name, change + "; the rank must stay the same.", at);
    }
    if (leaves.kind.skeleton != skeleton)
      throw TraceError(name, "a turn changes the structure of the carried value, or a host value in it; only Tensors may change, make it one.", at);
    return std::move(next);
  }

  const char* name;
  CallText skeleton;  // its structure and host values
  Location at;
  std::vector<Spec> specs;
};

// One trace of a body. Carried Specs that turn out too narrow are widened, and the next try begins.
class LoopTracing {
 public:
  LoopTracing(LoopProgram& program, LoopForm form, Location at) : program_(program), form_(form), at_(at), kind_(form.name, program.reset(), at) {
    const Argument tree = program.state(), elements = program.elements();
    for (const Tensor* tensor : tensors_of(form.name, tree, at)) first_.push_back(*tensor);
    for (const Tensor* tensor : tensors_of(form.name, elements, at)) elements_.push_back(*tensor);
    if (form.conditional) {
      go_ = program.go();
      require_condition(form.name, go_, at);
    }
  }

  void run() {
    while (!attempt()) {
    }
    finish();
  }

 private:
  bool attempt() {
    carried_slots_.clear();
    std::vector<SlotRef> made;
    if (part_ != nullptr) made = part_->made_slots();
    part_ = std::make_unique<BodyTracing>(form_.name, at_);
    part_->make_again(std::move(made));
    for (const auto& [slot, spec] : slot_specs_) part_->expect(slot, spec);
    const CallList<Tensor*> places = tensors_of(form_.name, program_.reset(), at_);
    inputs_.clear();
    outputs_.clear();
    for (std::size_t i = 0; i < places.size(); ++i) {
      *places[i] = part_->input(kind_.specs[i]);
      inputs_.push_back({part_->value_of(*places[i]), kind_.specs[i]});
    }
    std::vector<BodyTracing::Input> rows;
    for (Tensor* const row : tensors_of(form_.name, program_.element(), at_)) {
      const Spec spec = row_of(row->spec());
      *row = part_->input(spec);
      rows.push_back({part_->value_of(*row), spec});
    }
    std::optional<ValueId> go;
    std::vector<ValueId> results;
    bool settled = true;
    part_->run([&] {
      rows_ = program_.step();
      settled = widen();
      if (form_.conditional) {
        const Tensor next = program_.go();
        require_condition(form_.name, next, at_);
        go = part_->value_of(next);
      }
      for (const Tensor* tensor : tensors_of(form_.name, rows_, at_)) results.push_back(part_->value_of(*tensor));
    });
    writes_ = part_->writes();
    settled = carry_variables() && settled;
    inputs_.insert(inputs_.end(), rows.begin(), rows.end());
    if (go) outputs_.push_back(*go);
    outputs_.insert(outputs_.end(), results.begin(), results.end());
    return settled;
  }

  // The carried value after a turn against that before.
  bool widen() {
    bool settled = true;
    const CallList<Tensor*> next = kind_.require(program_.state());
    for (std::size_t i = 0; i < next.size(); ++i) {
      settled = merge(kind_.specs[i], next[i]->spec()) && settled;
      outputs_.push_back(part_->value_of(*next[i]));
    }
    return settled;
  }

  bool carry_variables() {
    bool settled = true;
    for (const BodyTracing::Write& write : writes_) {
      outputs_.push_back(part_->value_of(write.value));
      ValueId inside = BodyTracing::kNew;
      Tensor outside;
      for (const BodyTracing::Capture& capture : part_->captures())
        if (capture.slot == write.slot) inside = capture.inside, outside = capture.outside;
      if (!outside.defined()) outside = Variable(write.slot).value(at_);
      auto known = std::find_if(slot_specs_.begin(), slot_specs_.end(), [&](const auto& each) { return each.first == write.slot; });
      if (known == slot_specs_.end()) {
        known = slot_specs_.insert(known, {write.slot, outside.spec()});
        settled = settled && (inside == BodyTracing::kNew || !part_->is_watched(write.slot));
      }
      Spec& spec = known->second;
      inputs_.push_back({inside, spec});
      settled = merge(spec, write.value.spec()) && settled;
      carried_slots_.push_back(std::move(outside));
    }
    return settled;
  }

  static bool merge(Spec& before, const Spec& after) {
    Spec wider = merge_specs(before, after);
    const bool same = wider == before;
    before = std::move(wider);
    return same;
  }

  void finish() {
    std::vector<SlotRef> slots;
    for (const BodyTracing::Write& write : writes_) slots.push_back(write.slot);
    Captures captures(slots);
    captures.add(*part_);
    captures.inputs_of(*part_, inputs_);
    const std::size_t carried = first_.size() + slots.size();
    Region region{.bodies = {}, .carried = carried, .elements = elements_.size(), .conditional = form_.conditional, .reverse = form_.reverse};
    region.bodies.push_back(part_->finish(inputs_, outputs_));
    std::vector<Tensor> inputs;
    if (form_.conditional) inputs.push_back(go_);
    inputs.insert(inputs.end(), first_.begin(), first_.end());
    inputs.insert(inputs.end(), carried_slots_.begin(), carried_slots_.end());
    inputs.insert(inputs.end(), elements_.begin(), elements_.end());
    captures.append_to(inputs);
    const Tensors made = apply_region(loop_row(form_.name), inputs, std::move(region), at_);
    part_->tell_around(made);
    const CallList<Tensor*> last = tensors_of(form_.name, program_.state(), at_), rows = tensors_of(form_.name, rows_, at_);
    for (std::size_t i = 0; i < last.size(); ++i) *last[i] = made[i];
    for (std::size_t i = 0; i < rows.size(); ++i) *rows[i] = made[carried + i];
    if (!tracing() && !form_.conditional) return;  // eagerly they are traced if there are no turns: nothing has been written
    write_parts(form_.name, writes_, std::span(made.begin(), made.end()).subspan(first_.size()), at_);
  }

  LoopProgram& program_;
  const LoopForm form_;
  const Location at_;
  std::vector<Tensor> first_, elements_;
  CarriedKind kind_;
  Tensor go_;
  std::unique_ptr<BodyTracing> part_;
  std::vector<BodyTracing::Input> inputs_;
  std::vector<ValueId> outputs_;
  Argument rows_{nullptr, nullptr, false};
  std::vector<BodyTracing::Write> writes_;
  std::vector<std::pair<SlotRef, Spec>> slot_specs_;
  std::vector<Tensor> carried_slots_;  // what the Variables are before the loop
};

}  // namespace

void trace_loop(LoopProgram& program, LoopForm form, Location at) { LoopTracing(program, form, at).run(); }

namespace {

// Turn by turn; false once the condition is that of many values, which do not all end with the same turn: then the loop is to be traced.
bool take_turns(LoopProgram& program, LoopForm form, std::int64_t turns, Location at) {
  const CallList<Tensor*> wholes = tensors_of(form.name, program.elements(), at);
  std::vector<std::vector<Tensor>> rows;
  const CarriedKind kind(form.name, program.reset(), at);
  Argument made{nullptr, nullptr, false};
  for (std::int64_t turn = 0; turn != turns; ++turn) {
    if (form.conditional) {
      const Tensor go = program.go();
      require_condition(form.name, go, at);
      if (Batcher::stands_for_many(go, Interpreter::top())) return false;
      if (!static_cast<bool>(go)) break;
    }
    const std::int64_t at_row = form.reverse ? turns - 1 - turn : turn;
    const CallList<Tensor*> places = tensors_of(form.name, program.element(), at);
    for (std::size_t i = 0; i < places.size(); ++i) *places[i] = (*wholes[i])[at_row];
    made = program.step();
    kind.require(program.state());
    const CallList<Tensor*> now = tensors_of(form.name, made, at);
    if (turn > 0 && now.size() != rows.size())
      throw ValueError(form.name, format("two turns make {} and {} Tensors; all turns must make as many.", rows.size(), now.size()), at);
    rows.resize(now.size());
    for (std::size_t i = 0; i < now.size(); ++i) {
      rows[i].push_back(*now[i]);
      const Spec &first = rows[i].front().spec(), &last = now[i]->spec();
      if (first.dtype != last.dtype) throw DtypeError(form.name, format("two turns make {} and {}; the dtype must stay the same, cast it.", first.str(), last.str()), at);
      if (first != last) throw ShapeError(form.name, unequal_turns(first, last), at);
    }
  }
  const CallList<Tensor*> results = tensors_of(form.name, made, at);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (form.reverse) std::reverse(rows[i].begin(), rows[i].end());
    *results[i] = stack(rows[i], {}, at);
  }
  return true;
}

}  // namespace

void run_loop(LoopProgram& program, LoopForm form, Location at) {
  const CallList<Tensor*> wholes = tensors_of(form.name, program.elements(), at);
  const std::int64_t turns = rows_in(form.name, wholes, at);
  if (!form.conditional && wholes.empty()) throw ValueError(form.name, "elements hold no Tensor; give at least one.", at);
  if (tracing()) return trace_loop(program, form, at);
  if (turns == 0) {  // the shape of what no turn has made is found by tracing one
    if (form.makes_rows) return trace_loop(program, form, at);
    program.reset();
    return;
  }
  if (!form.conditional || !Batcher::any(Interpreter::top())) {
    take_turns(program, form, turns, at);
    return;
  }
  // A turn may be the first whose condition is that of many values. What the turns before have written must not be published by then.
  atomically([&] {
    struct Noted {
      Transaction& block = *Transaction::current();
      const std::size_t mark = block.enter();
      ~Noted() { block.leave(mark, false); }
    } const noted;
    if (take_turns(program, form, turns, at)) return;
    if (const Slot* const written = noted.block.written_since(noted.mark)) refuse_write(form.name, *written, at);
    trace_loop(program, form, at);
  }, {}, at);
}

}  // namespace weft::inline v0::detail
