// Runs the bad calls of one op in a process of its own, so that a crash, a hang or a flood of memory is a finding and not
// the end of the test program.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/op.h"

namespace weft::bad_input {

/// What came of all calls of one op.
struct Report {
  std::map<char, std::map<std::string, int>> outcomes;  // class letter -> "ok" or the error's class -> how often
  std::vector<std::string> failures;                    // one line each: neither a result nor a proper error
};

/// Starts this program again as often as it takes to try every call. `small` tries one call in eight.
Report run_in_child(const Op& op, bool small);

/// In the child: tries the calls from `first` on and writes one line for each to the descriptor. Returns the exit code.
int child_main(const Op& op, std::size_t first, bool small, int descriptor);

}  // namespace weft::bad_input
