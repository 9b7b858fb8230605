// Parts of sentences.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace weft::inline v0 {

/// "1 op", "2 ops"
inline std::string counted(std::uint64_t n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

/// "a, b and 3 more": the first `most` of `count` names, of which name(i) is one.
template <class Name>
std::string listed(std::size_t count, std::size_t most, const Name& name) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, count); ++i) text += (i == 0 ? "" : ", ") + std::string(name(i));
  return count > most ? text + " and " + std::to_string(count - most) + " more" : text;
}

}  // namespace weft::inline v0
