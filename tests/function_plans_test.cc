// The plans of a trace: how many it keeps, and what is measured of one without steps.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "graph/run.h"
#include "tests/support.h"
#include <weft/weft.h>

namespace weft::test {
namespace {

// Calls of the plan that was used last: one that has been forgotten begins anew.
std::uint64_t timed_after(int max_plans, std::initializer_list<int> sizes) {
  Function f{[](Tensor x) { return exp(x); }, {.signature = {Spec{f32, {kUnknown}}}, .max_plans = max_plans}};
  f.profile(100);
  for (const int size : sizes) f(ones({size}));
  EXPECT_EQ(f.explain().traced, 1u);
  return f.explain().traces[0].timed;
}

TEST(FunctionPlans, AsManyAsAskedForAreKept) {
  EXPECT_EQ(timed_after(1, {2, 2, 2}), 3u);
  EXPECT_EQ(timed_after(1, {2, 3, 2}), 1u);
  EXPECT_EQ(timed_after(2, {2, 3, 2}), 2u);
  EXPECT_EQ(timed_after(2, {2, 3, 2, 4, 2}), 3u) << "what is used stays";
  EXPECT_EQ(timed_after(2, {2, 3, 2, 4, 3}), 1u);
  const FunctionOptions options;
  EXPECT_EQ(static_cast<std::size_t>(options.max_plans), Runner::kMostPlans) << "branches and loops keep as many";
  EXPECT_EQ(timed_after(options.max_plans, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1}), 2u);
  EXPECT_EQ(timed_after(options.max_plans, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 1}), 1u);
}

TEST(FunctionPlans, ThereIsRoomForOneAtLeast) {
  const auto body = [](Tensor x) { return x; };
  EXPECT_TEXT(ValueError, (Function{body, {.max_plans = 0}}), "Function: max_plans is 0; it must be 1 or more.");
  EXPECT_TEXT(ValueError, (Function{body, {.max_traces = 0}}), "Function: max_traces is 0; it must be 1 or more.");
}

TEST(FunctionPlans, AProgramWithoutStepsIsAnEventToo) {
  Function f{[](Tensor x) { return x; }, {.name = "f"}};
  f.profile(1);
  f(1.f);
  const FunctionReport report = f.explain();
  EXPECT_EQ(report.traces[0].timed, 1u);
  EXPECT_EQ(report.traces[0].steps.size(), 0u);
  const nlohmann::json events = nlohmann::json::parse(report.chrome_trace())["traceEvents"];
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["name"], "f");
  EXPECT_EQ(events[0]["dur"], 0);
}

}  // namespace
}  // namespace weft::test
