// Control flow: what combinators do, eagerly and while tracing.
#include <weft/control.h>

#include <algorithm>

#include "base/planted.h"
#include "graph/region_parts.h"
#include "state/batcher.h"
#include "state/body_trace.h"
#include "state/function_core.h"
#include "state/regions.h"
#include <weft/ops.h>
#include <weft/print.h>

namespace weft::inline v0::detail {
namespace {

// What a tree holds. Throws TraceError for Variables.
CallLeaves leaves_in(const char* name, const Argument& tree, Location at) {
  if (tree.walk == nullptr) return {};
  CallLeaves leaves = leaves_of({&tree, 1});
  if (!leaves.variables.empty())
    throw TraceError(name, "a Variable is in what is returned or carried; Variables are shared, not carried: capture it, or return its value().", at);
  return leaves;
}

std::vector<Tensor*> tensors_of(const char* name, const Argument& tree, Location at) { return leaves_in(name, tree, at).tensors; }

// Structure, dtypes, ranks and host values; not sizes.
void require_alike(const char* name, const Argument& a, const Argument& b, const char* first, const char* second, Location at) {
  if (a.walk == nullptr || leaves_of({&a, 1}).kind.skeleton == leaves_of({&b, 1}).kind.skeleton) return;
  const std::vector<LeafNote> left = notes_of({&a, 1}), right = notes_of({&b, 1});
  const std::string rule = "; structure, dtypes, ranks and host values must be the same.";
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i)
    if (left[i].path != right[i].path || left[i].text != right[i].text) {
      const std::string path = left[i].path.empty() ? "what is returned" : "`" + left[i].path + "`";
      throw TraceError(name, path + " is " + left[i].text + " " + first + " and " + right[i].text + " " + second + rule, at);
    }
  throw TraceError(name, std::string("the structure ") + first + " differs from that " + second + rule, at);
}

void require_condition(const char* name, const Tensor& x, Location at) {
  if (!x.defined()) throw ValueError(name, "the condition is an empty Tensor handle; return a bool.", at);
  if (x.dtype() != bool_) throw DtypeError(name, "the condition is " + x.spec().str() + "; it must be a bool scalar, compare it with something.", at);
  if (x.rank() != 0) throw ShapeError(name, "the condition is " + x.spec().str() + "; it must be a bool scalar, reduce it by all_true or any_true.", at);
}

bool symbolic(const Tensor& x) { return x.node()->symbolic; }

// Where nothing else is traced, a condition on many values at once is; each of them would write something else.
void require_no_writes(const char* name, const std::vector<BodyTracing::Write>& writes, Location at) {
  if (writes.empty() || tracing()) return;
  throw TraceError(name, "a part writes " + writes[0].slot->title() + ", but it is run for many values at once, as a jacobian does; write it outside.", at);
}

// Whether the branch is to be chosen by each call: a tensor from outside is a value like any other of the program, though it is known
// while tracing. A number of the program has chosen already.
bool chosen_later(const char* name, const Tensor& which, Location at) {
  if (symbolic(which)) return true;
  if (!tracing()) return false;
  Transaction::current()->symbols->froze(which, &switch_row(name), at);
  return !is_number(*which.node());
}

// Values of the program around that parts read: each once.
class Captures {
 public:
  explicit Captures(std::vector<SlotRef> carried = {}) : carried_(std::move(carried)) {}

  void add(const BodyTracing& part) {
    for (const BodyTracing::Capture& capture : part.captures())
      if (!is_carried(capture) && find(capture) == outside_.size()) outside_.push_back(capture);
  }
  /// The inputs of a part for all of them.
  void inputs_of(const BodyTracing& part, std::vector<BodyTracing::Input>& inputs) const {
    const std::size_t first = inputs.size();
    for (const BodyTracing::Capture& capture : outside_) inputs.push_back({BodyTracing::kNew, capture.outside.spec()});
    for (const BodyTracing::Capture& capture : part.captures())
      if (!is_carried(capture)) inputs[first + find(capture)].inside = capture.inside;
  }
  void append_to(std::vector<Tensor>& inputs) const {
    for (const BodyTracing::Capture& capture : outside_) inputs.push_back(capture.outside);
  }

 private:
  bool is_carried(const BodyTracing::Capture& capture) const { return std::find(carried_.begin(), carried_.end(), capture.slot) != carried_.end(); }
  // What was read of a Variable and the same value in a Tensor are two captures of one part, and stay two inputs.
  std::size_t find(const BodyTracing::Capture& capture) const {
    std::size_t i = 0;
    while (i < outside_.size() && !(outside_[i].slot == capture.slot && outside_[i].outside.same_as(capture.outside))) ++i;
    return i;
  }
  std::vector<SlotRef> carried_;
  std::vector<BodyTracing::Capture> outside_;
};

}  // namespace

LoopProgram::~LoopProgram() = default;

bool tracing() {
  const Transaction* const t = Transaction::current();
  return t != nullptr && t->symbols != nullptr;
}

std::optional<std::int64_t> known_branch(const char* name, const Tensor& which, bool condition, std::size_t branches, Location at) {
  if (which.defined() && symbolic(which) && !tracing() && !Batcher::stands_for_many(which, Interpreter::top()))
    throw TraceError(name, "the condition or index " + which.spec().str() + " was made while tracing and has no value outside; return it from the traced function.",
                     which.node()->made_at());
  if (condition) {
    require_condition(name, which, at);
    if (chosen_later(name, which, at)) return std::nullopt;
    return *elements<bool>(which);
  }
  if (!which.defined()) throw ValueError(name, "index is an empty Tensor handle; assign a value to it first.", at);
  if (which.dtype() != i32 && which.dtype() != i64)
    throw DtypeError(name, "index is " + which.spec().str() + "; it must be an i32 or i64 scalar, cast it.", at);
  if (which.rank() != 0) throw ShapeError(name, "index is " + which.spec().str() + "; it must be a scalar.", at);
  if (chosen_later(name, which, at)) return std::nullopt;
  const std::int64_t index = which.dtype() == i32 ? *elements<std::int32_t>(which) : *elements<std::int64_t>(which);
  if (index < 0 || index >= static_cast<std::int64_t>(branches)) throw IndexError(name, branch_range(index, branches), at);
  return index;
}

void trace_branches(const char* name, Tensor which, const Branch* branches, std::size_t count, Location at) {
  std::vector<std::unique_ptr<BodyTracing>> parts;
  std::vector<Argument> trees;
  std::vector<std::vector<ValueId>> outputs(count);
  std::vector<BodyTracing::Write> writes;  // by any branch, each Variable once
  Captures captures;
  for (std::size_t b = 0; b < count; ++b) {
    BodyTracing& part = *parts.emplace_back(std::make_unique<BodyTracing>(name, at));
    part.run([&] {
      trees.push_back(branches[b].run(branches[b].context));
      for (const Tensor* tensor : tensors_of(name, trees.back(), at)) outputs[b].push_back(part.value_of(*tensor));
    });
    require_alike(name, trees[0], trees[b], which.dtype() == bool_ ? "in the second branch" : "in branch 0",
                  which.dtype() == bool_ ? "in the first" : format("in branch {}", b).c_str(), at);
    for (const BodyTracing::Write& write : part.writes())
      if (std::none_of(writes.begin(), writes.end(), [&](const auto& known) { return known.slot == write.slot; })) writes.push_back(write);
  }
  require_no_writes(name, writes, at);
  for (std::size_t b = 0; b < count; ++b) {
    for (const BodyTracing::Write& write : writes) outputs[b].push_back(parts[b]->value_of(parts[b]->last_value(write.slot)));
    captures.add(*parts[b]);
  }
  Region region;
  for (std::size_t b = 0; b < count; ++b) {
    std::vector<BodyTracing::Input> inputs;
    captures.inputs_of(*parts[b], inputs);
    region.bodies.push_back(parts[b]->finish(inputs, outputs[b]));
  }
  const bool condition = which.dtype() == bool_;
  region.may_miss = !condition;
  std::vector<Tensor> inputs{condition ? cast(std::move(which), i32, at) : std::move(which)};
  captures.append_to(inputs);
  const Tensors made = apply_region(switch_row(name), inputs, std::move(region), at);
  for (const std::unique_ptr<BodyTracing>& part : parts) part->tell_around(made);
  const std::vector<Tensor*> results = tensors_of(name, trees[0], at);
  for (std::size_t i = 0; i < results.size(); ++i) *results[i] = made[i];
  for (std::size_t i = planted(Bug::kForgetsBranchWrite); i < writes.size(); ++i) write(writes[i].slot, made[results.size() + i], writes[i].at, writes[i].by);
}

// --- loops ---

namespace {

std::int64_t rows_in(const char* name, const std::vector<Tensor*>& elements, Location at) {
  std::int64_t rows = kUnknown;
  for (const Tensor* element : elements) {
    if (element->rank() == 0)
      throw ShapeError(name, "an element is the scalar " + element->spec().str() + "; elements have rows, so they need a first axis.", at);
    const std::int64_t own = element->shape()[0];
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
  std::vector<Tensor*> require(const Argument& now) const {
    CallLeaves leaves = leaves_in(name, now, at);
    std::vector<Tensor*>& next = leaves.tensors;
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
  std::string skeleton;  // its structure and host values
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
    const std::vector<Tensor*> places = tensors_of(form_.name, program_.reset(), at_);
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
    const std::vector<Tensor*> next = kind_.require(program_.state());
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
    if (form_.conditional) require_no_writes(form_.name, writes_, at_);
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
    const std::vector<Tensor*> last = tensors_of(form_.name, program_.state(), at_), rows = tensors_of(form_.name, rows_, at_);
    for (std::size_t i = 0; i < last.size(); ++i) *last[i] = made[i];
    for (std::size_t i = 0; i < rows.size(); ++i) *rows[i] = made[carried + i];
    if (!tracing()) return;  // there were no turns, so nothing has been written
    for (std::size_t i = 0; i < writes_.size(); ++i) write(writes_[i].slot, made[first_.size() + i], writes_[i].at, writes_[i].by);
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

void run_loop(LoopProgram& program, LoopForm form, Location at) {
  const std::vector<Tensor*> wholes = tensors_of(form.name, program.elements(), at);
  const std::int64_t turns = rows_in(form.name, wholes, at);
  if (!form.conditional && wholes.empty()) throw ValueError(form.name, "elements hold no Tensor; give at least one.", at);
  if (tracing()) return trace_loop(program, form, at);
  if (turns == 0) {  // the shape of what no turn has made is found by tracing one
    if (form.makes_rows) return trace_loop(program, form, at);
    program.reset();
    return;
  }
  std::vector<std::vector<Tensor>> rows;
  const CarriedKind kind(form.name, program.reset(), at);
  Argument made{nullptr, nullptr, false};
  for (std::int64_t turn = 0; turn != turns; ++turn) {
    if (form.conditional) {
      const Tensor go = program.go();
      require_condition(form.name, go, at);
      if (Batcher::stands_for_many(go, Interpreter::top())) return trace_loop(program, form, at);  // anew: not all end with the same turn
      if (!static_cast<bool>(go)) break;
    }
    const std::int64_t at_row = form.reverse ? turns - 1 - turn : turn;
    const std::vector<Tensor*> places = tensors_of(form.name, program.element(), at);
    for (std::size_t i = 0; i < places.size(); ++i) *places[i] = (*wholes[i])[at_row];
    made = program.step();
    kind.require(program.state());
    const std::vector<Tensor*> now = tensors_of(form.name, made, at);
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
  const std::vector<Tensor*> results = tensors_of(form.name, made, at);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (form.reverse) std::reverse(rows[i].begin(), rows[i].end());
    *results[i] = stack(rows[i], {}, at);
  }
}

}  // namespace weft::inline v0::detail
