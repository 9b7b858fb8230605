#include "state/transaction.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support.h"
#include <weft/ops.h>
#include <weft/tape.h>

namespace weft {
namespace {

using test::message;

float number(const Variable& v) { return v.read_latest().item<float>(); }

template <class F>
void on_another_thread(F&& f) {
  std::thread(std::forward<F>(f)).join();
}

TEST(Atomically, PublishesAllAtItsEnd) {
  Variable a{1.f}, b{2.f};
  const int result = atomically([&] {
    a.assign(b.value() * 10);
    EXPECT_EQ(a.value().item<float>(), 20);  // its own write
    EXPECT_EQ(number(a), 1);                 // the published one
    on_another_thread([&] { EXPECT_EQ(a.value().item<float>(), 1); });
    b.assign_add(a);
    return 7;
  });
  EXPECT_EQ(result, 7);
  EXPECT_EQ(number(a), 20);
  EXPECT_EQ(number(b), 22);
  EXPECT_EQ(a.version(), 1u);
  EXPECT_EQ(b.version(), 1u);
}

TEST(Atomically, AnExceptionLeavesEverythingAsItWas) {
  Variable a{{1.f, 2.f}}, b{3.f};
  const Tensor before = a;
  EXPECT_THROW(atomically([&] {
    a.assign_add({1.f, 1.f});
    b.assign(9.f);
    throw std::runtime_error("no");
  }), std::runtime_error);
  EXPECT_TRUE(a.value().same_as(before));
  EXPECT_EQ(number(b), 3);
  EXPECT_EQ(a.version(), 0u);
  EXPECT_EQ(b.history().size(), 1u);
  b.assign(4.f);  // nothing is locked
  EXPECT_EQ(Transaction::current(), nullptr);
}

TEST(Atomically, ReadsOneSnapshot) {
  Variable a{1.f}, b{1.f};
  int runs = 0;
  atomically([&] {
    ++runs;
    const float first = a.value().item<float>();
    if (runs == 1) on_another_thread([&] {
      a.assign(2.f);
      b.assign(2.f);
    });
    EXPECT_EQ(b.value().item<float>(), first);  // never reached with 1 and 2: the block starts again
  });
  EXPECT_EQ(runs, 2);
  // What was read stays, and what was not changed fits.
  atomically([&] {
    a.value();
    on_another_thread([&] { b.assign(5.f); });
    EXPECT_EQ(b.value().item<float>(), 5);
    on_another_thread([&] { b.assign(6.f); });
    EXPECT_EQ(b.value().item<float>(), 5);
  });
}

TEST(Atomically, RunsAgainAfterAConflict) {
  Variable total{0.f};
  int runs = 0;
  atomically([&] {
    ++runs;
    const Tensor now = total;
    if (runs <= 2) on_another_thread([&] { total.assign_add(10.f); });
    total.assign(now + 1);
  });
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(number(total), 21);
}

// After three failures it holds the turns it has learned, and nobody can interfere.
TEST(Atomically, EndsAgainstAnybody) {
  Variable total{0.f};
  int runs = 0;
  std::atomic<int> interference{0};
  std::thread other;
  atomically([&] {
    ++runs;
    const Tensor now = total;
    if (runs <= 3) {
      on_another_thread([&] { total.assign_add(1.f); });
    } else {
      other = std::thread([&] {
        total.assign_add(1.f);  // has to wait
        interference = 1;
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_EQ(interference, 0);
    }
    total.assign(now + 100);
  });
  other.join();
  EXPECT_EQ(runs, 4);
  EXPECT_EQ(number(total), 104);
}

TEST(Atomically, ThrowsConflictsOnRequest) {
  Variable total{0.f, {.name = "total"}}, other{0.f};
  int mine = 0, theirs = 0, block = 0;
  const std::string text = message<ConflictError>([&] {
    block = __LINE__ + 1;
    atomically([&] {
      const Tensor now = total;
      theirs = __LINE__ + 1;
      on_another_thread([&] { total.assign_add(1.f); });
      mine = __LINE__ + 1;
      total.assign(now);
    }, {.retry = 0});
  });
  static_cast<void>(block);
  EXPECT_EQ(text, "atomically: Variable \"total\", written at transaction_test.cc:" + std::to_string(mine) +
                      ", was changed meanwhile by assign_add at transaction_test.cc:" + std::to_string(theirs) +
                          "; run the block again, or allow more retries.");
  EXPECT_EQ(number(total), 1);
  int runs = 0;
  const auto body = [&] {
    ++runs;
    total.value();
    on_another_thread([&] { atomically([&] { total.assign_add(1.f); other.assign_add(1.f); }); });
    other.value();  // does not fit what was read before
  };
  EXPECT_THROW(atomically(body, {.retry = 0}), ConflictError);
  atomically(body, {.retry = 1});  // the second run snapshots what the first has read
  EXPECT_EQ(runs, 3);
  runs = 0;
  EXPECT_THROW(atomically([&] {
    ++runs;
    const Tensor now = total;
    on_another_thread([&] { total.assign_add(1.f); });
    total.assign(now);
  }, {.retry = 2}), ConflictError);
  EXPECT_EQ(runs, 3);
  EXPECT_THROW(atomically([] {}, {.retry = -2}), ValueError);
}

// A body that catches everything cannot go on with what does not fit.
TEST(Atomically, AConflictCannotBeSwallowed) {
  Variable a{0.f}, b{0.f};
  int runs = 0;
  atomically([&] {
    ++runs;
    a.value();
    if (runs == 1) on_another_thread([&] { atomically([&] { a.assign(1.f); b.assign(1.f); }); });
    try {
      b.value();
    } catch (...) {
      throw std::runtime_error("something else");
    }
    b.assign(a.value() + b.value());
  });
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(number(b), 2);
}

TEST(Atomically, ValidatesReadsOnRequest) {
  Variable read{0.f}, written{0.f};
  int runs = 0;
  const auto body = [&] {
    ++runs;
    const Tensor seen = read, before = written;
    if (runs == 1) on_another_thread([&] { read.assign_add(1.f); });
    written.assign(seen);
  };
  atomically(body);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(number(written), 0);  // of its snapshot
  runs = 0;
  atomically(body, {.validate_reads = true});
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(number(written), 2);
  runs = 0;
  EXPECT_THROW(atomically(body, {.validate_reads = true, .retry = 0}), ConflictError);
}

TEST(Atomically, InnerBlocksAreUndoneToTheirEntry) {
  Variable a{1.f}, b{1.f};
  atomically([&] {
    a.assign(2.f);
    try {
      atomically([&] {
        a.assign(3.f);
        b.assign(3.f);
        atomically([&] { a.assign(4.f); });
        EXPECT_EQ(a.value().item<float>(), 4);
        throw 1;
      });
    } catch (int) {
    }
    EXPECT_EQ(a.value().item<float>(), 2);
    EXPECT_EQ(b.value().item<float>(), 1);
    atomically([&] { b.assign_add(5.f); });
  });
  EXPECT_EQ(number(a), 2);
  EXPECT_EQ(number(b), 6);
  EXPECT_EQ(b.version(), 1u);
  EXPECT_THROW(atomically([&] {
    atomically([&] { a.assign(9.f); });  // not published by itself
    throw 1;
  }), int);
  EXPECT_EQ(number(a), 2);
}

TEST(Atomically, ReturnsValuesAndReferences) {
  Variable v{1.f};
  Variable& same = atomically([&]() -> Variable& { return v.assign(2.f); });
  EXPECT_EQ(&same, &v);
  EXPECT_EQ(*atomically([&] { return std::make_unique<int>(3); }), 3);
  EXPECT_EQ(atomically([&] { return v.value(); }).item<float>(), 2);
}

// Many Variables: beyond what is searched one by one.
TEST(Atomically, TakesManyVariables) {
  std::vector<Variable> many;
  for (int i = 0; i < 300; ++i) many.emplace_back(static_cast<float>(i));
  atomically([&] {
    for (Variable& v : many) v.assign_add(1.f);
    for (Variable& v : many) v.assign_add(1.f);
  });
  for (int i = 0; i < 300; ++i) EXPECT_EQ(number(many[static_cast<std::size_t>(i)]), static_cast<float>(i + 2));
}

TEST(WriteTransaction, KeepsOthersOutUntilItPublishes) {
  Variable a{1.f}, b{2.f};
  const SlotRef writes[] = {b.slot(), a.slot()};
  std::atomic<bool> assigned{false};
  std::thread other;
  {
    WriteTransaction step(writes, {}, Location::here(), "step", 12);
    other = std::thread([&] {
      EXPECT_EQ(a.value().item<float>(), 1);  // readers do not wait
      a.assign_add(100.f);
      assigned = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_FALSE(assigned);
    step.value(0) = step.value(0) * 10;
    step.value(1) = step.value(1) * 10;
    step.publish();
  }
  other.join();
  EXPECT_EQ(number(a), 110);
  EXPECT_EQ(number(b), 20);
  EXPECT_EQ(b.history().back().step, 12);
  EXPECT_STREQ(b.history().back().by, "step");
}

TEST(WriteTransaction, UndoesWithoutPublishing) {
  Variable a{1.f, {.name = "a"}}, b{1.f, {.name = "b"}};
  const SlotRef writes[] = {a.slot()};
  {
    WriteTransaction step(writes, {}, Location::here(), "step");
    step.value(0) = Tensor(5.f);
    EXPECT_EQ(message<StateError>([&] { b.assign(2.f); }),
              "assign: Variable \"b\" is not one of those that this update has been given to write; write it before or after.");
  }
  EXPECT_EQ(number(a), 1);
  a.assign(2.f);  // the turn is free again
  EXPECT_EQ(a.version(), 1u);
}

TEST(WriteTransaction, JoinsABlock) {
  Variable a{1.f};
  const SlotRef writes[] = {a.slot()};
  EXPECT_THROW(atomically([&] {
    WriteTransaction step(writes, {}, Location::here(), "step");
    step.publish_in_place([](std::span<const WriteTransaction::Place> places) { *static_cast<float*>(places[0].to) = 7; });
    EXPECT_EQ(a.value().item<float>(), 7);
    EXPECT_EQ(number(a), 1);
    throw 1;
  }), int);
  EXPECT_EQ(number(a), 1);
}

TEST(WriteTransaction, WorksInPlaceWhereNobodyCanTell) {
  Variable a{zeros({100})}, b{zeros({100})};
  const SlotRef writes[] = {a.slot(), b.slot()};
  const void* const memory = a.value().data<float>();
  const Tensor held = b;
  WriteTransaction step(writes, {}, Location::here(), "step");
  step.publish_in_place([](std::span<const WriteTransaction::Place> places) {
    EXPECT_EQ(places[0].to, places[0].from);
    EXPECT_NE(places[1].to, places[1].from);
    for (const auto& place : places) std::fill_n(static_cast<float*>(place.to), 100, 3.f);
  });
  EXPECT_EQ(a.value().data<float>(), memory);
  EXPECT_EQ(a.value().to_vector<float>(), std::vector<float>(100, 3.f));
  EXPECT_EQ(b.value().to_vector<float>(), std::vector<float>(100, 3.f));
  EXPECT_EQ(held.to_vector<float>(), std::vector<float>(100, 0.f));
}

// A value read earlier never changes, whatever holds it: handles, views, other Variables, tapes, open blocks.
TEST(InPlace, IsInvisible) {
  Variable v{zeros({50})}, w{zeros({50})};
  const Tensor ones_of = ones({50});
  std::vector<std::pair<Tensor, float>> held;
  float now = 0;
  const auto hold = [&](const Tensor& x) { held.emplace_back(x, now); };
  GradientTape tape;
  for (int i = 0; i < 40; ++i) {
    switch (i % 5) {
      case 0: hold(v); break;
      case 1: hold(reshape(v, {5, 10})); break;  // shares the buffer
      case 2:
        w.assign(v);
        hold(w);
        break;
      case 3: atomically([&] { hold(v); }); break;
      default: break;  // nobody
    }
    v.assign_add(ones_of);
    now += 1;
    for (const auto& [x, expected] : held)
      for (float element : x.to_vector<float>()) ASSERT_EQ(element, expected);
  }
  EXPECT_EQ(v.value().to_vector<float>(), std::vector<float>(50, 40.f));
}

}  // namespace
}  // namespace weft
