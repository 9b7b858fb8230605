// What an optimizer remembers of the Variables it has met.
#pragma once

#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include <weft/optim.h>

namespace weft::inline v0 {

/// "a, b and 3 more"
std::string listed(std::span<const std::string_view> keys);

// What belongs to one Variable.
struct Optimizer::Record {
  std::string key;
  std::vector<Variable> slots;
  std::optional<Variable> sum, average;  // of the gradients of calls that make one step; of the Variable
};

// What a step on these Variables writes: iterations, then the list of Variables, then each slot's list, then sums, then averages.
struct Optimizer::Plan {
  std::vector<std::uint64_t> ids;  // of the Variables
  std::vector<Variable> writes;
  std::vector<std::string> keys;
  std::vector<bool> decays;
  bool constrained = false;
};

struct Optimizer::Book {
  std::mutex lock;
  std::unordered_map<std::uint64_t, Record> records;
  std::unordered_set<std::uint64_t> undecayed;
  std::shared_ptr<const Plan> last;  // steps tend to come again
  bool warned = false;
};

}  // namespace weft::inline v0
