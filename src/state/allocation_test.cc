// The n-th allocation fails, for every n: every Variable is bitwise as it was, or as it should be, and nothing is lost.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <thread>

#include "state/transaction.h"
#include "tests/failing_memory.h"
#include <weft/weft.h>

namespace weft {
namespace {

struct World {
  Variable scalar{1.f}, large{fill({1000}, 2.f)}, rows{fill({6, 40}, 3.f)};
  std::vector<Variable> many;
  World() {
    for (int i = 0; i < 20; ++i) many.emplace_back(fill({30}, static_cast<float>(i)));
  }
  std::vector<Variable*> all_variables() {
    std::vector<Variable*> list{&scalar, &large, &rows};
    for (Variable& v : many) list.push_back(&v);
    return list;
  }
  std::vector<SlotRef> slots() {
    std::vector<SlotRef> list;
    for (Variable* v : all_variables()) list.push_back(v->slot());
    return list;
  }
};

std::vector<std::vector<float>> contents(World& world) {
  std::vector<std::vector<float>> result;
  for (Variable* v : world.all_variables()) result.push_back(v->read_latest().to_vector<float>());
  return result;
}

bool same_bits(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].size() != b[i].size() || std::memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(float)) != 0) return false;
  return true;
}

// Runs `change` on a new thread, where allocation n fails. Returns whether there was an n-th one.
bool try_with(std::int64_t n, const std::function<void(World&)>& change, const std::vector<std::vector<float>>& after, std::string& wrong) {
  World world;
  const auto before = contents(world);
  const auto [failed, threw] = test::attempt(n, [&] { change(world); }, false, wrong);
  if (!same_bits(contents(world), threw ? before : after)) wrong = threw ? "a Variable has changed" : "a Variable has not changed";
  for (Variable* v : world.all_variables()) v->assign(v->read_latest());  // no turn and no lock is left
  return failed;
}

std::string try_every_allocation(const std::function<void(World&)>& change) {
  constexpr std::int64_t kMost = 3000;
  World world;
  change(world);
  const auto after = contents(world);
  std::string wrong;
  std::int64_t n = 0;
  while (n < kMost && wrong.empty() && try_with(n, change, after, wrong)) ++n;
  if (!wrong.empty()) return "allocation " + std::to_string(n) + ": " + wrong;
  return n == 0 ? "nothing was allocated" : n == kMost ? "there is no end of it" : "";
}

void expect_all_or_nothing(const std::function<void(World&)>& change) { EXPECT_EQ(try_every_allocation(change), ""); }

TEST(Allocation, HalfDoneChangesAndLeaksAreFound) {
  const Tensor shared = ones({1000});
  EXPECT_NE(try_every_allocation([&](World& w) {
    w.scalar.assign(5.f);  // two changes, and memory is needed between them
    const Variable other{1.f};
    w.large.assign(ones({1000}));
  }), "");
  std::vector<Variable> kept;
  EXPECT_NE(try_every_allocation([&](World& w) {
    kept.push_back(w.scalar.clone());
    w.large.assign(shared);
  }), "");
}

TEST(Allocation, OfAnAssignment) {
  expect_all_or_nothing([](World& w) { w.scalar.assign(5.f); });
  expect_all_or_nothing([](World& w) { w.large.assign(w.large.value() * 2); });
  const Tensor shared = ones({1000});
  expect_all_or_nothing([&](World& w) { w.large.assign(shared); });
}

TEST(Allocation, OfAChange) {
  const Tensor shared = ones({1000});
  expect_all_or_nothing([&](World& w) {
    const Tensor held = w.large;
    w.large.assign_add(shared);
  });
  expect_all_or_nothing([](World& w) { w.scalar.assign_sub(2); });
}

// What is thrown says what was called, of which Variable, and where.
void expect_named(const char* op, const std::function<void(Variable&)>& change) {
  expect_all_or_nothing([&](World& w) { change(w.rows); });
  for (const bool held : {false, true}) {
    int failures = 0;
    for (bool failed = true; failed && !testing::Test::HasFailure(); ++failures)
      std::thread([&] {
        Variable v{fill({300, 1000}, 3.f), {.name = "v"}};
        const Tensor keep = held ? v.value() : Tensor();
        const test::FailingMemory memory(failures);
        try {
          change(v);
        } catch (const OutOfMemoryError& error) {
          EXPECT_EQ(error.op(), op) << error.what();
          EXPECT_NE(error.message().find("Variable \"v\""), std::string::npos) << error.what();
          EXPECT_TRUE(std::string_view(error.location().file).ends_with("_test.cc")) << error.what();
        }
        failed = memory.failed();
      }).join();
    EXPECT_GT(failures, 3);
  }
}

TEST(Allocation, OfSlicesAndScatters) {
  const Tensor indices = {4, 1}, two = 2.f;  // here: what finds no memory for an argument is nothing that was called yet
  expect_named("assign", [&](Variable& v) { v[2].assign(two); });
  expect_named("assign_add", [&](Variable& v) { v(all, range(1, 5)).assign_add(two); });
  expect_named("scatter_add", [&](Variable& v) { v.scatter_add(indices, two); });
  expect_named("scatter_mul", [&](Variable& v) { v.scatter_mul(indices, two); });
}

TEST(Allocation, OfABlock) {
  expect_all_or_nothing([](World& w) {
    atomically([&] {
      w.scalar.assign_add(1.f);
      w.large.assign(w.large * 3);
      atomically([&] { w.rows[0].assign(1.f); });
      w.scalar.assign_add(1.f);
    });
  });
  const Tensor more = ones({30});
  expect_all_or_nothing([&](World& w) {
    atomically([&] {
      for (Variable& v : w.many) v.assign_add(more);
    }, {.validate_reads = true});
  });
}

TEST(Allocation, OfACall) {
  expect_all_or_nothing([](World& w) {
    const std::vector<SlotRef> slots = w.slots();
    WriteTransaction call(slots, {}, Location::here(), "call");
    for (std::size_t i = 0; i < slots.size(); ++i) call.value(i) = call.value(i) + 1;
    call.publish();
  });
  expect_all_or_nothing([](World& w) {
    const std::vector<SlotRef> slots = w.slots();
    const Tensor held = w.large, other = w.many[3];
    std::vector<std::size_t> sizes;
    for (Variable* v : w.all_variables()) sizes.push_back(static_cast<std::size_t>(v->shape().num_elements()));
    WriteTransaction call(slots, {}, Location::here(), "call");
    call.publish_in_place([&](std::span<const WriteTransaction::Place> places) {
      for (std::size_t i = 0; i < places.size(); ++i)
        for (std::size_t k = 0; k < sizes[i]; ++k) static_cast<float*>(places[i].to)[k] = static_cast<const float*>(places[i].from)[k] + 1;
    });
  });
}

}  // namespace
}  // namespace weft
