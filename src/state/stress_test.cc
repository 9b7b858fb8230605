// Threads against each other. The counts are those of docs and of the comparison with other frameworks; WEFT_TEST_SCALE=small has fewer,
// long has 64 threads, a million operations for each of them, and a hundred million reads: some minutes.
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "state/transaction.h"
#include "tests/suite_rows.h"
#include <weft/ops.h>
#include <weft/tree.h>

namespace weft {
namespace {

float number(const Variable& v) { return v.read_latest().item<float>(); }
using test::long_scale;
int scaled(int full, int small) { return test::small_scale() ? small : full; }

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

// Every operation of a Variable, from many threads, on the same few ones. Each kind leaves a total that no lost or doubled change could
// have, and each read is compared with what this thread has seen before. As long under the sanitizers as without.
class Mixed {
 public:
  Mixed(int threads, int operations) : threads_(threads), operations_(operations) {
    for (int t = 0; t < threads; ++t) own.emplace_back(Tensor(0, i64));
  }

  void run() {
    std::vector<std::thread> threads;
    for (int t = 0; t < threads_; ++t) threads.emplace_back([this, t] { work(t); });
    for (std::thread& thread : threads) thread.join();
  }

  static constexpr std::int64_t kRows = 8;
  Variable counter{Tensor(0, i64)}, table{zeros({kRows}, {.dtype = i64})}, grid{zeros({kRows, 3}, {.dtype = i64})};
  struct Accounts {
    Variable from{Tensor(0, i64)}, to{Tensor(0, i64)};
  } accounts;
  std::vector<Variable> own;  // one for each thread, which alone assigns it
  // What the threads have done, and what they have seen that cannot be.
  std::atomic<std::int64_t> counted{0}, moved{0}, everywhere{0}, wrong{0};
  std::array<std::atomic<std::int64_t>, kRows> scattered{}, written{};
  std::vector<std::int64_t> last = std::vector<std::int64_t>(64);

 private:
  static std::int64_t value_of(const Variable& v) { return v.value().item<std::int64_t>(); }

  void work(int t) {
    const auto me = static_cast<std::size_t>(t);
    std::uint64_t dice = me * 7919 + 1;
    std::int64_t seen = 0, seen_of_other = 0;
    const std::size_t other = (me + 1) % own.size();
    const Tensor one_of_each = ones({kRows}, {.dtype = i64});
    for (int i = 1; i <= operations_; ++i) {
      dice = dice * 6364136223846793005ull + 1442695040888963407ull;
      const auto row = static_cast<std::int64_t>(dice >> 40) % kRows;
      switch (dice >> 60) {
        case 0: case 1: case 2: case 3: {  // read: never back
          const std::int64_t now = value_of(counter), theirs = value_of(own[other]);
          wrong += now < seen || theirs < seen_of_other;
          seen = now, seen_of_other = theirs;
          break;
        }
        case 4: case 5:
          own[me].assign(Tensor(i, i64));
          last[me] = i;
          wrong += value_of(own[me]) != i;
          break;
        case 6: case 7: case 8:
          counter.assign_add(1);
          ++counted;
          break;
        case 9: case 10:
          table.scatter_add(Tensor{row}, 1);
          ++scattered[static_cast<std::size_t>(row)];
          table.assign_add(one_of_each);  // in place, unless somebody's scatter is under way
          ++everywhere;
          break;
        case 11:
          grid(row, range(0, 2)).assign_add(1);
          ++written[static_cast<std::size_t>(row)];
          break;
        case 12: case 13:
          atomically([&] {
            accounts.from.assign_sub(3);
            accounts.to.assign(accounts.to + 3);
          });
          moved += 3;
          break;
        case 14: {
          const Snapshot both = snapshot(accounts);
          wrong += (both[accounts.from] + both[accounts.to]).item<std::int64_t>() != 0;
          break;
        }
        default: {
          const std::vector<WriteRecord> history = counter.history();
          for (std::size_t k = 1; k < history.size(); ++k) wrong += history[k].version != history[k - 1].version + 1;
        }
      }
    }
  }

  int threads_, operations_;
};

TEST(Stress, MixedOperationsLoseNothing) {
  Mixed mixed(long_scale() ? 64 : 8, long_scale() ? 1000000 : 100000);
  mixed.run();
  const auto number_of = [](const Variable& v) { return v.value().item<std::int64_t>(); };
  EXPECT_EQ(mixed.wrong, 0);
  EXPECT_EQ(number_of(mixed.counter), mixed.counted);
  EXPECT_EQ(mixed.counter.version(), static_cast<std::uint64_t>(mixed.counted.load()));
  EXPECT_EQ(number_of(mixed.accounts.from), -mixed.moved);
  EXPECT_EQ(number_of(mixed.accounts.to), mixed.moved);
  std::vector<std::int64_t> table, grid;
  for (const auto& count : mixed.scattered) table.push_back(count + mixed.everywhere);
  for (const auto& count : mixed.written) grid.insert(grid.end(), {count, count, 0});
  EXPECT_EQ(mixed.table.value().to_vector<std::int64_t>(), table);
  EXPECT_EQ(mixed.grid.value().to_vector<std::int64_t>(), grid);
  for (std::size_t t = 0; t < mixed.own.size(); ++t) EXPECT_EQ(number_of(mixed.own[t]), mixed.last[t]) << t;
}

// Writers fill a Variable with one number, whose halves are equal, by new values and in place: a read that mixes two of them shows.
TEST(Stress, ReadsOfEverySizeAreWhole) {
  constexpr std::int64_t kBothHalves = (std::int64_t{1} << 32) + 1;
  for (const std::int64_t size : {1, 1000, 1000000}) {
    Variable v{zeros({size}, {.dtype = i64})};
    const std::int64_t least_reads = long_scale() ? 34000000 : scaled(100000, 10000), least_writes = scaled(100, 20);
    std::atomic<std::int64_t> reads{0}, writes{0}, torn{0};
    const auto unfinished = [&] { return reads < least_reads || writes < least_writes; };
    const auto reader = [&] {
      std::uint64_t dice = 1;
      while (unfinished()) {
        for (int i = 0; i < 100; ++i) {
          const Tensor now = v;
          const std::int64_t* const data = now.data<std::int64_t>();
          const std::int64_t first = data[0];
          bool whole = first % kBothHalves == 0 && data[size - 1] == first;
          for (int k = 0; k < 8; ++k) {
            dice = dice * 6364136223846793005ull + 1442695040888963407ull;
            whole = whole && data[static_cast<std::int64_t>(dice >> 33) % size] == first;
          }
          if (!whole) ++torn;
        }
        reads += 100;
      }
    };
    const SlotRef slot[] = {v.slot()};
    const auto writer = [&](int how) {
      const Tensor more = fill({size}, Tensor(kBothHalves, i64));
      for (std::int64_t n = 0; unfinished(); ++n, ++writes) {
        if (how == 0) {
          v.assign_add(more);
        } else if (n % 2 == 0) {
          v.assign(fill({size}, Tensor(n % 1000 * kBothHalves, i64)));
        } else {
          WriteTransaction step(slot, {}, Location::here(), "step");
          step.publish_in_place([&](std::span<const WriteTransaction::Place> places) {
            std::fill_n(static_cast<std::int64_t*>(places[0].to), size, n % 1000 * kBothHalves);
          });
        }
      }
    };
    std::thread threads[] = {std::thread(reader), std::thread(reader), std::thread(writer, 0), std::thread(writer, 1)};
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(torn, 0) << size;
    EXPECT_EQ(v.version(), static_cast<std::uint64_t>(writes.load())) << size;
  }
}

}  // namespace
}  // namespace weft
