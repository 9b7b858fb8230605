#include <weft/tree.h>

#include <algorithm>

#include "state/transaction.h"

namespace weft::inline v0 {
namespace detail {
namespace {

constexpr std::size_t kListedPaths = 8;  // so many of them in the message about an unknown one

// Slot ids count up: multiplying spreads neighbours.
std::size_t hash_of(std::uint64_t id) { return static_cast<std::size_t>((id * 0x9E3779B97F4A7C15u) >> 32); }

}  // namespace

bool VariableIndex::add(std::uint64_t id, std::string_view path) {
  if (2 * (ids_.size() + 1) > table_.size()) grow();
  const std::size_t mask = table_.size() - 1;
  std::size_t slot = hash_of(id) & mask;
  for (; table_[slot] >= 0; slot = (slot + 1) & mask) {
    if (ids_[static_cast<std::size_t>(table_[slot])] == id) return false;
  }
  paths_ += path;
  ends_.push_back(paths_.size());
  ids_.push_back(id);
  table_[slot] = static_cast<std::int32_t>(ids_.size() - 1);
  return true;
}

void VariableIndex::grow() {
  std::vector<std::int32_t> table(std::max<std::size_t>(64, 2 * table_.size()), -1);
  const std::size_t mask = table.size() - 1;
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    std::size_t slot = hash_of(ids_[i]) & mask;
    while (table[slot] >= 0) slot = (slot + 1) & mask;
    table[slot] = static_cast<std::int32_t>(i);
  }
  table_ = std::move(table);
}

std::ptrdiff_t VariableIndex::find(std::uint64_t id) const {
  if (table_.empty()) return -1;
  const std::size_t mask = table_.size() - 1;
  for (std::size_t slot = hash_of(id) & mask; table_[slot] >= 0; slot = (slot + 1) & mask) {
    if (ids_[static_cast<std::size_t>(table_[slot])] == id) return table_[slot];
  }
  return -1;
}

std::ptrdiff_t VariableIndex::find(std::string_view path) const {
  for (std::size_t i = 0; i < size(); ++i) {
    if (this->path(i) == path) return static_cast<std::ptrdiff_t>(i);
  }
  return -1;
}

std::size_t VariableIndex::at(const Variable& variable, const char* what) const {
  const std::ptrdiff_t found = find(variable.id());
  if (found >= 0) return static_cast<std::size_t>(found);
  throw ValueError(what, variable.slot()->title() + " is not among the " + std::to_string(size()) +
                   " Variables here; ask with contains, or take a tree that holds it.", Location());
}

std::size_t VariableIndex::at(std::string_view path, const char* what, Location at) const {
  const std::ptrdiff_t found = find(path);
  if (found >= 0) return static_cast<std::size_t>(found);
  std::string known;
  for (std::size_t i = 0; i < std::min(size(), kListedPaths); ++i) known += (i == 0 ? "\"" : ", \"") + std::string(this->path(i)) + '"';
  if (size() > kListedPaths) known += " and " + std::to_string(size() - kListedPaths) + " more";
  throw ValueError(what, "there is no entry \"" + std::string(path) + "\"; " + (size() == 0 ? "there are none at all." : "there are " + known + "."), at);
}

void VariableIndex::check_count(std::size_t values, std::size_t variables, const char* what) {
  if (values != variables)
    throw ValueError(what, std::to_string(values) + " values cannot stand for " + std::to_string(variables) + " Variables; give one for each.", Location());
}

// --- walks ---

void PathWalker::enter(const PathStep& step) {
  lengths_.push_back(path_.size());
  step.append_to(path_);
}

void PathWalker::leave() {
  path_.resize(lengths_.back());
  lengths_.pop_back();
}

namespace {

class Collector final : public PathWalker {
 public:
  Collector(Which which, bool with_paths) : which_(which), with_paths_(with_paths) {}
  void enter(const PathStep& step) override {
    if (with_paths_) PathWalker::enter(step);
  }
  void leave() override {
    if (with_paths_) PathWalker::leave();
  }
  void leaf(const TreeLeaf& leaf) override {
    const auto* variable = leaf.as<const Variable>();
    if (variable == nullptr || (which_ == Which::kTrainable && !variable->trainable())) return;
    if (index.add(variable->id(), path())) found.push_back(*variable);
  }

  VariableIndex index;
  std::vector<Variable> found;

 private:
  const Which which_;
  const bool with_paths_;
};

}  // namespace

NamedVariables named_variables(void* tree, WalkFn walk, Which which) {
  Collector collector(which, true);
  Cursor::begin(collector, tree, false, walk);
  return {std::make_shared<const VariableIndex>(std::move(collector.index)), std::move(collector.found)};
}

std::vector<Variable> variables(void* tree, WalkFn walk, Which which) {
  Collector collector(which, false);
  Cursor::begin(collector, tree, false, walk);
  return std::move(collector.found);
}

Snapshot snapshot(const NamedVariables& variables) {
  std::vector<SlotRef> slots;
  slots.reserve(variables.size());
  for (const Variable& variable : variables.values()) slots.push_back(variable.slot());
  std::vector<Tensor> values(slots.size());
  read_together(slots, values);
  return variables.with(std::move(values));
}

TreeSummary summary(const NamedVariables& variables) {
  TreeSummary summary;
  const Snapshot values = snapshot(variables);
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

}  // namespace detail

std::string TreeSummary::str() const {
  struct Line {
    std::string path, spec, trainable, bytes;
  };
  std::vector<Line> lines = {{"path", "spec", "trainable", "bytes"}};
  for (const Row& row : rows) lines.push_back({row.path, row.spec.str(), row.trainable ? "yes" : "no", std::to_string(row.bytes)});
  lines.push_back({"total", std::to_string(elements) + " elements", std::to_string(trainable_elements) + " elements", std::to_string(bytes)});
  std::size_t path = 0, spec = 0, trainable = 0, size = 0;
  for (const Line& line : lines) {
    path = std::max(path, line.path.size());
    spec = std::max(spec, line.spec.size());
    trainable = std::max(trainable, line.trainable.size());
    size = std::max(size, line.bytes.size());
  }
  const auto padded = [](const std::string& text, std::size_t width, bool right = false) {
    const std::string blanks(width - text.size(), ' ');
    return right ? blanks + text : text + blanks;
  };
  std::string out;
  for (const Line& line : lines) {
    if (!out.empty()) out += '\n';
    out += padded(line.path, path) + "  " + padded(line.spec, spec) + "  " + padded(line.trainable, trainable) + "  " + padded(line.bytes, size, true);
  }
  return out;
}

}  // namespace weft::inline v0
