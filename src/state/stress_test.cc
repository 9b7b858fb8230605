// Threads against each other. The counts are those of docs and of the comparison with other frameworks; WEFT_TEST_SCALE=small has fewer,
// long has 100,000 operations for each of eight threads.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>
#include <thread>

#include "state/transaction.h"
#include "tests/suite_rows.h"
#include <weft/ops.h>

namespace weft {
namespace {

float number(const Variable& v) { return v.read_latest().item<float>(); }
int scaled(int full, int small) { return test::small_scale() ? small : full; }
bool long_scale() {
  const char* text = std::getenv("WEFT_TEST_SCALE");
  return text != nullptr && std::string_view(text) == "long";
}

// A step assigns `a`, fails, and would have assigned `b`.
TEST(Stress, AFailingStepChangesNothing) {
  Variable a{1.f}, b{1.f};
  for (int i = 0; i < 100; ++i)
    EXPECT_THROW(atomically([&] {
      a.assign(2.f);
      if (static_cast<bool>(a > 1)) throw CheckError("check", "a is too large.", {});
      b.assign(2.f);
    }), CheckError);
  EXPECT_EQ(number(a), 1);
  EXPECT_EQ(number(b), 1);
}

// One thread steps two large Variables, others read both: nothing torn inside one, nothing mixed of two steps.
TEST(Stress, ReadsAreNeitherTornNorMixed) {
  constexpr std::int64_t kSize = 200000;
  Variable a{zeros({kSize})}, b{zeros({kSize})};
  const SlotRef both[] = {a.slot(), b.slot()};
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> reads{0}, torn{0}, mixed{0};
  const auto look = [&](const Tensor& x, const Tensor& y) {
    for (const Tensor& t : {x, y}) {
      const float* data = t.data<float>();
      for (std::int64_t i = 0; i < kSize; i += 997) torn += data[i] != data[0];
      torn += data[kSize - 1] != data[0];
    }
    mixed += x.data<float>()[0] != y.data<float>()[0];
    ++reads;
  };
  std::thread in_blocks([&] {
    while (!stop) {
      Tensor x, y;
      atomically([&] { x = a, y = b; });
      look(x, y);
    }
  });
  std::thread together([&] {
    while (!stop) {
      Tensor values[2];
      read_together(both, values);
      look(values[0], values[1]);
    }
  });
  const int least_steps = scaled(1500, 100), least_reads = scaled(10000, 100);
  int steps = 0;
  while (steps < least_steps || reads < least_reads) {
    const int i = ++steps;
    if (i % 3 == 0) {
      atomically([&] {
        a.assign(fill({kSize}, static_cast<float>(i)));
        b.assign(fill({kSize}, static_cast<float>(i)));
      });
    } else {
      WriteTransaction step(both, {}, Location::here(), "step");
      const auto write = [&](std::span<const WriteTransaction::Place> places) {
        for (const auto& place : places) std::fill_n(static_cast<float*>(place.to), kSize, static_cast<float>(i));
      };
      step.publish_in_place(write);
    }
  }
  stop = true;
  in_blocks.join();
  together.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(mixed, 0);
  EXPECT_EQ(a.version(), static_cast<std::uint64_t>(steps));
}

TEST(Stress, NoIncrementIsLost) {
  Variable in_blocks{0}, alone{0}, in_calls{0};
  const SlotRef slots[] = {in_calls.slot()};
  const int each = 500;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < each; ++i) {
        atomically([&] { in_blocks.assign(in_blocks + 1); });
        alone.assign_add(1);
        WriteTransaction call(slots, {}, Location::here(), "call");
        call.value(0) = call.value(0) + 1;
        call.publish();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(in_blocks.value().item<int>(), 8 * each);
  EXPECT_EQ(alone.value().item<int>(), 8 * each);
  EXPECT_EQ(in_calls.value().item<int>(), 8 * each);
}

// Everything at once on few Variables: mostly for the thread sanitizer. The sum of all is kept by every operation.
TEST(Stress, EverythingAtOnce) {
  std::vector<Variable> accounts;
  for (int i = 0; i < 4; ++i) accounts.emplace_back(fill({16}, Tensor(100, i64)));
  std::vector<SlotRef> slots;
  for (const Variable& v : accounts) slots.push_back(v.slot());
  const int operations = long_scale() ? 100000 : scaled(1000, 400);
  Variable alone{fill({16}, Tensor(0, i64))};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      std::uint64_t dice = t * 7919 + 1;
      for (int i = 0; i < operations; ++i) {
        dice = dice * 6364136223846793005ull + 1442695040888963407ull;
        Variable from = accounts[dice >> 33 & 3], to = accounts[dice >> 35 & 3];
        if (from.same_slot(to)) continue;
        const Tensor amount = fill({16}, Tensor(static_cast<std::int64_t>(dice >> 40 & 15), i64));
        switch (dice >> 60) {
          case 0:
          case 1: {
            const SlotRef pair[] = {from.slot(), to.slot()};
            WriteTransaction call(pair, {}, Location::here(), "call");
            call.value(0) = call.value(0) - amount;
            call.value(1) = call.value(1) + amount;
            if (i % 8 != 0) call.publish();
            break;
          }
          case 2:
          case 3: {
            Tensor all[4];
            read_together(slots, all);
            wrong += (all[0] + all[1] + all[2] + all[3]).to_vector<std::int64_t>() != std::vector<std::int64_t>(16, 400);
            break;
          }
          case 4:
            try {
              atomically([&] {
                from.assign_sub(amount);
                to.assign_add(amount);
                throw 1;
              });
            } catch (int) {
            }
            break;
          case 5:
            alone.assign_add(amount);
            alone.assign_sub(amount);
            break;
          default:
            atomically([&] {
              from.assign_sub(amount);
              if (i % 16 == 0) std::this_thread::yield();
              to.assign_add(amount);
            }, {.validate_reads = (i & 1) != 0});
        }
        from.history();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(alone.value().to_vector<std::int64_t>(), std::vector<std::int64_t>(16, 0));
  const Tensor sum = accounts[0] + accounts[1] + accounts[2] + accounts[3];
  EXPECT_EQ(sum.to_vector<std::int64_t>(), std::vector<std::int64_t>(16, 400));
}

}  // namespace
}  // namespace weft
