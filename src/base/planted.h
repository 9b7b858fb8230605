// Bugs that are planted on purpose, to see that the tests would find them.
//
// In the library `planted` is false, known to the compiler, and its branches are gone. One test program, tests/fuzz/planted, is made with
// WEFT_PLANTED_BUGS from sources of its own, and switches the bugs on one after the other.
#pragma once

#include <cstdint>

namespace weft::inline v0 {

enum class Bug : std::uint8_t {
  kNone,
  kSharesUnequal,       // two calls of one op are taken for one, though their attributes differ
  kDropsFailing,        // a call whose result nobody needs is dropped, though it may fail
  kReusesTooEarly,      // a place in the arena is given away one step too early; of floats only, no index runs wild
  kPublishesFailure,    // what a block has written is published, though it threw
  kReadsBeforeWrites,   // a read behind a write sees what was there before
  kMissesAliases,       // a captured Variable that is passed is taken for another one
  kBakesReads,          // what a Variable holds while tracing is a constant of the trace
  kKeepsFirstWrite,     // of two writes to one Variable the first one stays
  kKeepsUndone,         // while tracing, a block that throws is not undone
  kForgetsInnerWrites,  // what a Function called by another one writes is lost
  kReadsPublished,      // a Function called in a block does not see what the block has written
  kForgetsBranchWrite,  // of the Variables that branches write, the first one keeps its value
  kLeavesOutLastTurn,   // a traced loop over rows ends one row too early
  kCount
};

#ifdef WEFT_PLANTED_BUGS
inline Bug planted_bug = Bug::kNone;
inline bool planted(Bug bug) { return planted_bug == bug; }
#else
constexpr bool planted(Bug) { return false; }
#endif

}  // namespace weft::inline v0
