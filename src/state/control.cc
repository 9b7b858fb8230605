// Branches: what cond and switch_case do, eagerly and while tracing.
#include <algorithm>

#include "base/planted.h"
#include "graph/region_parts.h"
#include "graph/tracer.h"
#include "state/batcher.h"
#include "state/control_parts.h"
#include "state/regions.h"
#include <weft/ops.h>
#include <weft/print.h>

namespace weft::inline v0::detail {

CallLeaves leaves_in(const char* name, const Argument& tree, Location at) {
  if (tree.walk == nullptr) return {};
  CallLeaves leaves = leaves_of({&tree, 1});
  if (!leaves.variables.empty())
    throw TraceError(name, "a Variable is in what is returned or carried; Variables are shared, not carried: capture it, or return its value().", at);
  return leaves;
}

CallList<Tensor*> tensors_of(const char* name, const Argument& tree, Location at) { return leaves_in(name, tree, at).tensors; }

void require_condition(const char* name, const Tensor& x, Location at) {
  if (!x.defined()) throw ValueError(name, "the condition is an empty Tensor handle; return a bool.", at);
  if (x.dtype() != bool_) throw DtypeError(name, "the condition is " + x.spec().str() + "; it must be a bool scalar, compare it with something.", at);
  if (x.rank() != 0) throw ShapeError(name, "the condition is " + x.spec().str() + "; it must be a bool scalar, reduce it by all_true or any_true.", at);
}

void write_parts(const char* name, std::span<const BodyTracing::Write> writes, std::span<const Tensor> made, Location at) {
  for (std::size_t i = 0; i < writes.size(); ++i)
    if (Batcher::stands_for_many(made[i], Interpreter::top())) refuse_write(name, *writes[i].slot, at);
  for (std::size_t i = 0; i < writes.size(); ++i) write(writes[i].slot, made[i], writes[i].at, writes[i].by);
}

void refuse_write(const char* name, const Slot& slot, Location at) {
  throw TraceError(name, "a part writes " + slot.title() + ", but it is run for many values at once, as a jacobian does; write it outside.", at);
}

namespace {

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

bool symbolic(const Tensor& x) { return x.node()->symbolic; }

// Whether the branch is to be chosen by each call: a tensor from outside is a value like any other of the program, though it is known
// while tracing. A number of the program has chosen already.
bool chosen_later(const char* name, const Tensor& which, Location at) {
  if (symbolic(which)) return true;
  if (!tracing()) return false;
  Transaction::current()->symbols->froze(which, &switch_row(name), at);
  const Tracer* const around = Tracer::around();
  return around == nullptr || !around->written_at(which);
}

}  // namespace

bool tracing() { return Transaction::tracing_symbols() != nullptr; }

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
  const CallList<Tensor*> results = tensors_of(name, trees[0], at);
  for (std::size_t i = 0; i < results.size(); ++i) *results[i] = made[i];
  const std::size_t forgotten = std::min<std::size_t>(planted(Bug::kForgetsBranchWrite), writes.size());
  write_parts(name, std::span(writes).subspan(forgotten), std::span(made.begin(), made.end()).subspan(results.size() + forgotten), at);
}

}  // namespace weft::inline v0::detail
