// The fuzzer finds bugs: each one of base/planted.h within a thousand programs, and none where there is none.
#include <gtest/gtest.h>

#include <ostream>

#include "base/planted.h"
#include "tests/fuzz/compare.h"
#include "tests/fuzz/generate.h"

namespace weft::fuzz {
namespace {

constexpr int kPrograms = 1000;

// The number of programs until one differs, or 0.
int programs_until_found(Bug bug) {
  struct Switch {
    explicit Switch(Bug on) { planted_bug = on; }
    ~Switch() { planted_bug = Bug::kNone; }
  } on(bug);
  for (int seed = 0; seed < kPrograms; ++seed)
    if (!difference(generate(static_cast<std::uint64_t>(seed))).empty()) return seed + 1;
  return 0;
}

struct Named {
  Bug bug;
  const char* name;
};
void PrintTo(const Named& bug, std::ostream* out) { *out << bug.name; }

constexpr Named kBugs[] = {
    {Bug::kSharesUnequal, "SharesUnequal"},         {Bug::kDropsFailing, "DropsFailing"},
    {Bug::kReusesTooEarly, "ReusesTooEarly"},       {Bug::kPublishesFailure, "PublishesFailure"},
    {Bug::kReadsBeforeWrites, "ReadsBeforeWrites"}, {Bug::kMissesAliases, "MissesAliases"},
    {Bug::kBakesReads, "BakesReads"},               {Bug::kKeepsFirstWrite, "KeepsFirstWrite"},
    {Bug::kKeepsUndone, "KeepsUndone"},             {Bug::kForgetsInnerWrites, "ForgetsInnerWrites"},
    {Bug::kReadsPublished, "ReadsPublished"},       {Bug::kForgetsBranchWrite, "ForgetsBranchWrite"},
    {Bug::kLeavesOutLastTurn, "LeavesOutLastTurn"}};
static_assert(std::size(kBugs) + 1 == static_cast<std::size_t>(Bug::kCount));

class PlantedBug : public testing::TestWithParam<Named> {};

TEST_P(PlantedBug, IsFound) {
  const int programs = programs_until_found(GetParam().bug);
  EXPECT_GT(programs, 0);
  RecordProperty("programs", programs);
}

INSTANTIATE_TEST_SUITE_P(Bugs, PlantedBug, testing::ValuesIn(kBugs), [](const auto& each) { return each.param.name; });

TEST(NoBug, NothingIsFoundWhereNothingIs) { EXPECT_EQ(programs_until_found(Bug::kNone), 0); }

}  // namespace
}  // namespace weft::fuzz
