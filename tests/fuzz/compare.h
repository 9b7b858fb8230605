// Whether a program means the same in every mode.
#pragma once

#include "tests/fuzz/program.h"

namespace weft::fuzz {

/// Runs all calls of the program in every mode and says how they differ, or nothing. `seen` becomes what the program has done.
std::string difference(const Program& program, Features* seen = nullptr);

/// The smallest program found, by leaving out and simplifying parts, that still differs. REQUIRES: the program differs.
Program shrunk(Program program);

}  // namespace weft::fuzz
