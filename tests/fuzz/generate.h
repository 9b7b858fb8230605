// Makes random programs.
#pragma once

#include "tests/fuzz/program.h"

namespace weft::fuzz {

/// The program of a seed: the same on every machine.
Program generate(std::uint64_t seed);

}  // namespace weft::fuzz
