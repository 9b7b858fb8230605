// How entries of a VariableMap are found: by slot and by path.
#pragma once

#include <deque>
#include <mutex>

#include <weft/tree.h>

namespace weft::inline v0::detail {

/// Variables in the order of a tree, by slot id and by path. Steps know their parents, and paths are spelled when the first one is asked
/// for: most snapshots and gradients are never asked. Immutable once it is shared, then thread-safe.
class VariableIndex {
 public:
  static constexpr std::uint32_t kRoot = UINT32_MAX;

  // While it is made.
  std::uint32_t add_step(std::uint32_t parent, const PathStep& step) {
    Node& node = steps_.emplace_back(Node{step, parent});
    if (step.kind == PathStep::Kind::kKey) node.step.name = keys_.emplace_back(step.name);
    return static_cast<std::uint32_t>(steps_.size() - 1);
  }
  bool add(std::uint64_t id) {  // false: it is there already
    if (2 * (ids_.size() + 1) > table_.size()) grow();
    const std::size_t mask = table_.size() - 1;
    std::size_t slot = hash_of(id) & mask;
    for (; table_[slot] != 0; slot = (slot + 1) & mask) {
      if (ids_[table_[slot] - 1] == id) return false;
    }
    ids_.push_back(id);
    table_[slot] = static_cast<std::uint32_t>(ids_.size());
    return true;
  }
  void add_place(std::uint32_t at) { at_.push_back(at); }  // the last step of the Variable that was just added

  std::size_t size() const { return ids_.size(); }
  std::string_view path(std::size_t i) const;
  std::ptrdiff_t find(std::uint64_t id) const;  // -1: it is not there
  std::ptrdiff_t find(std::string_view path) const;

 private:
  struct Node {
    PathStep step;  // its name is a literal of the program, or one of keys_
    std::uint32_t parent;
  };
  // Slot ids count up: multiplying spreads neighbours.
  static std::size_t hash_of(std::uint64_t id) { return static_cast<std::size_t>((id * 0x9E3779B97F4A7C15u) >> 32); }
  void grow();
  void spell() const;
  std::string_view spelled(std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return {paths_.data() + begin, ends_[i] - begin};
  }
  void append_path(std::uint32_t at, std::string& path) const;

  std::vector<Node> steps_;
  std::deque<std::string> keys_;      // elements stay where they are
  std::vector<std::uint32_t> at_;     // the last step of each Variable
  std::vector<std::uint64_t> ids_;
  std::vector<std::uint32_t> table_;  // open addressing by id: 0 is free, else 1 + the position
  mutable std::once_flag spelled_;
  mutable std::string paths_;         // one after the other
  mutable std::vector<std::size_t> ends_;
};

}  // namespace weft::inline v0::detail
