#include <weft/tree.h>

#include <algorithm>

#include "core/infer.h"
#include "state/transaction.h"
#include "state/variable_index.h"

namespace weft::inline v0 {
namespace detail {

void PathWalker::enter(const PathStep& step) {
  lengths_.push_back(path_.size());
  step.append_to(path_);
}

void PathWalker::leave() {
  path_.resize(lengths_.back());
  lengths_.pop_back();
}

namespace {

/// Finds Variables, each once. They are borrowed from the tree.
class Collector final : public TreeWalker {
 public:
  Collector(void* tree, WalkFn walk, Which which, bool with_paths) : which_(which), with_paths_(with_paths) {
    Cursor::begin(*this, tree, false, walk);
  }
  void enter(const PathStep& step) override { steps_.push_back({&step, 0}); }
  void leave() override {
    steps_.pop_back();
    added_ = std::min(added_, steps_.size());
  }
  void leaf(const TreeLeaf& leaf) override {
    if (leaf.kind() != TreeLeaf::Kind::kVariable) return;
    const auto* variable = leaf.as<const Variable>();
    const Slot& slot = *variable->slot();
    if (which_ == Which::kTrainable && !slot.options.trainable) return;
    if (!index->add(slot.id)) return;
    found.push_back(variable);
    if (with_paths_) index->add_place(add_steps());
  }

  std::shared_ptr<VariableIndex> index = std::make_shared<VariableIndex>();
  std::vector<const Variable*> found;

 private:
  // Steps are added to the index when they lead to a Variable: those of host values never do.
  std::uint32_t add_steps() {
    std::uint32_t last = added_ == 0 ? VariableIndex::kRoot : steps_[added_ - 1].number;
    for (; added_ < steps_.size(); ++added_) last = steps_[added_].number = index->add_step(last, *steps_[added_].step);
    return last;
  }
  struct Entered {
    const PathStep* step;
    std::uint32_t number;  // in the index, once it is there
  };
  const Which which_;
  const bool with_paths_;
  std::vector<Entered> steps_;
  std::size_t added_ = 0;  // so many of the steps are in the index
};

std::vector<Variable> copies(const std::vector<const Variable*>& found) {
  std::vector<Variable> result;
  result.reserve(found.size());
  for (const Variable* variable : found) result.push_back(*variable);
  return result;
}

std::vector<Tensor> values_of(const std::vector<SlotRef>& slots) {
  std::vector<Tensor> values(slots.size());
  read_together(slots, values);
  return values;
}

}  // namespace

NamedVariables named_variables(void* tree, WalkFn walk, Which which) {
  const Collector collector(tree, walk, which, true);
  NamedVariables named{collector.index, copies(collector.found)};
  if (SlotSymbols* const trace = Transaction::tracing_symbols()) trace->walked(named);
  return named;
}

std::vector<Variable> variables(void* tree, WalkFn walk, Which which) { return copies(Collector(tree, walk, which, false).found); }

Snapshot snapshot(void* tree, WalkFn walk) {
  const Collector collector(tree, walk, Which::kAll, true);
  if (Transaction::current() != nullptr) {
    std::vector<SlotRef> slots;
    for (const Variable* variable : collector.found) slots.push_back(variable->slot());
    return {collector.index, values_of(slots)};
  }
  std::vector<Slot*> slots;  // the tree holds them
  slots.reserve(collector.found.size());
  for (const Variable* variable : collector.found) slots.push_back(variable->slot().get());
  std::vector<Tensor> values(slots.size());
  read_published(slots, values);
  return {collector.index, std::move(values)};
}

TreeSummary summary(const NamedVariables& variables) {
  TreeSummary summary;
  const Snapshot values = weft::snapshot(variables);
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Variable& variable = variables.values()[i];
    const Tensor& value = values.values()[i];
    const bool sized = value.shape().known();
    TreeSummary::Row row{std::string(variables.path(i)), variable.spec(), variable.trainable(), sized ? value.size() : 0, 0};
    row.bytes = row.elements * static_cast<std::int64_t>(size_of(value.dtype()));
    summary.elements += row.elements;
    summary.trainable_elements += row.trainable ? row.elements : 0;
    summary.bytes += row.bytes;
    summary.rows.push_back(std::move(row));
  }
  return summary;
}

void restore(const NamedVariables& variables, const Snapshot& from, Location at) {
  std::string wrong;
  const auto add = [&](const std::string& what) { wrong += (wrong.empty() ? "" : ", ") + what; };
  std::vector<SlotRef> slots;
  std::vector<Tensor> values;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const std::string_view path = variables.path(i);
    const SlotRef& slot = variables.values()[i].slot();
    if (!from.contains(path)) {
      add("the snapshot has no " + std::string(path));
      continue;
    }
    slots.push_back(slot), values.push_back(from.at(path, at));
    if (const Spec spec = values.back().spec(); spec.dtype != slot->declared.dtype || !infer::compatible(slot->declared.shape, spec.shape))
      add(std::string(path) + " is " + slot->declared.str() + " and was " + spec.str());
  }
  for (std::size_t i = 0; i < from.size(); ++i)
    if (!variables.contains(from.path(i))) add("the tree has no " + std::string(from.path(i)));
  if (!wrong.empty()) throw StateError("restore", wrong + "; give a snapshot of a tree like this one.", at);
  WriteTransaction transaction(slots, {}, at, "restore");
  for (std::size_t i = 0; i < slots.size(); ++i) transaction.value(i) = std::move(values[i]);
  transaction.publish_all();
}

}  // namespace detail

Snapshot snapshot(const NamedVariables& variables) {
  std::vector<SlotRef> slots;
  for (const Variable& variable : variables.values()) slots.push_back(variable.slot());
  return variables.with(detail::values_of(slots));
}

std::string TreeSummary::str() const {
  const auto count = [](std::int64_t n) { return std::to_string(n) + " elements"; };
  std::vector<std::array<std::string, 4>> lines = {{"path", "spec", "trainable", "bytes"}};
  for (const Row& row : rows) lines.push_back({row.path, row.spec.str(), row.trainable ? "yes" : "no", std::to_string(row.bytes)});
  lines.push_back({"total", count(elements), count(trainable_elements), std::to_string(bytes)});
  std::array<std::size_t, 4> widths{};
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string out;
  for (const auto& line : lines) {
    if (!out.empty()) out += '\n';
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string blanks(widths[i] - line[i].size(), ' ');
      out += i == 3 ? blanks + line[i] : line[i] + blanks + "  ";  // numbers stand to the right
    }
  }
  return out;
}

}  // namespace weft::inline v0
