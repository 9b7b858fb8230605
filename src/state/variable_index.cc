#include "state/variable_index.h"

#include <algorithm>

#include "state/slot.h"

namespace weft::inline v0::detail {
namespace {

constexpr std::size_t kListedPaths = 8;  // so many of them in the message about an unknown one

}  // namespace

void VariableIndex::grow() {
  const std::size_t size = std::max<std::size_t>(512, 4 * table_.size());
  table_.assign(size, 0);
  ids_.reserve(size / 2);
  at_.reserve(size / 2);
  steps_.reserve(size / 2);
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    std::size_t slot = hash_of(ids_[i]) & (size - 1);
    while (table_[slot] != 0) slot = (slot + 1) & (size - 1);
    table_[slot] = static_cast<std::uint32_t>(i + 1);
  }
}

std::ptrdiff_t VariableIndex::find(std::uint64_t id) const {
  if (table_.empty()) return -1;
  const std::size_t mask = table_.size() - 1;
  for (std::size_t slot = hash_of(id) & mask; table_[slot] != 0; slot = (slot + 1) & mask) {
    if (ids_[table_[slot] - 1] == id) return static_cast<std::ptrdiff_t>(table_[slot] - 1);
  }
  return -1;
}

void VariableIndex::append_path(std::uint32_t at, std::string& path) const {
  if (at == kRoot) return;
  append_path(steps_[at].parent, path);
  steps_[at].step.append_to(path);
}

void VariableIndex::spell() const {
  std::call_once(spelled_, [&] {
    std::string path, all;
    std::vector<std::size_t> ends;
    for (const std::uint32_t at : at_) {
      path.clear();
      append_path(at, path);
      all += path;
      ends.push_back(all.size());
    }
    paths_ = std::move(all);
    ends_ = std::move(ends);
  });
}

std::string_view VariableIndex::path(std::size_t i) const {
  spell();
  return spelled(i);
}

std::ptrdiff_t VariableIndex::find(std::string_view path) const {
  spell();
  for (std::size_t i = 0; i < size(); ++i) {
    if (spelled(i) == path) return static_cast<std::ptrdiff_t>(i);
  }
  return -1;
}

// --- for maps, which may have none ---

std::string_view path_of(const VariableIndex* index, std::size_t i) { return index->path(i); }
std::ptrdiff_t find(const VariableIndex* index, const Variable& variable) { return index == nullptr ? -1 : index->find(variable.slot()->id); }
std::ptrdiff_t find(const VariableIndex* index, std::string_view path) { return index == nullptr ? -1 : index->find(path); }

std::size_t find_or_throw(const VariableIndex* index, const Variable& variable, const char* what) {
  const std::ptrdiff_t found = find(index, variable);
  if (found >= 0) return static_cast<std::size_t>(found);
  throw ValueError(what, variable.slot()->title() + " is not among the " + std::to_string(index == nullptr ? 0 : index->size()) +
                   " Variables here; ask with contains, or take a tree that holds it.", Location());
}

std::size_t find_or_throw(const VariableIndex* index, std::string_view path, const char* what, Location at) {
  const std::ptrdiff_t found = find(index, path);
  if (found >= 0) return static_cast<std::size_t>(found);
  const std::size_t size = index == nullptr ? 0 : index->size();
  std::string known;
  for (std::size_t i = 0; i < std::min(size, kListedPaths); ++i) known += (i == 0 ? "\"" : ", \"") + std::string(index->path(i)) + '"';
  if (size > kListedPaths) known += " and " + std::to_string(size - kListedPaths) + " more";
  throw ValueError(what, "there is no entry \"" + std::string(path) + "\"; there are " + (size == 0 ? "none at all" : known) + ".", at);
}

void check_count(std::size_t values, std::size_t variables, const char* what) {
  if (values != variables)
    throw ValueError(what, std::to_string(values) + " values cannot stand for " + std::to_string(variables) + " Variables; "
                     "give one for each.", Location());
}

}  // namespace weft::inline v0::detail
