// Jacobians where something is known late, or differs from row to row, or is too much.
#include <gtest/gtest.h>

#include <thread>

#include "core/apply.h"
#include "tests/failing_memory.h"
#include "tests/support.h"
#include <weft/weft.h>

namespace weft {
namespace {

using test::floats;
using test::message;
using Floats = std::vector<float>;

// SEMANTICS 76: also if sizes are known only when the trace is called
TEST(BatchJacobian, ComparesBatchesThatAreKnownLate) {
  const auto traced = [](Spec a, Spec b) {
    return Function<Tensor(Tensor, Tensor)>([](Tensor x, Tensor z) {
      GradientTape tape;
      tape.watch({x, z});
      const Tensor y = x * sum(z);  // entries of z go into all of y
      return tape.batch_jacobian(y, z);
    }, {.signature = {a, b}});
  };
  const Tensor five = ones({5, 3}), six = ones({6, 3});
  const std::string refused = "batch_jacobian: target is f32[5,3] and source f32[6,3]; their first axes are the batch and must agree.";
  const Spec any{f32, {kUnknown, 3}};
  for (const auto& f : {traced(any, any), traced(any, six.spec()), traced(five.spec(), any)}) {
    EXPECT_EQ(message<ShapeError>([&] { f(five, six); }), refused);
    EXPECT_EQ(message<ShapeError>([&] { f(five, six); }), refused);  // and again
  }
  const auto f = traced(any, any);
  EXPECT_EQ(f(five, five).shape(), (Shape{5, 3, 3}));
  EXPECT_EQ(message<ShapeError>([&] { f(five, six); }), refused);
  EXPECT_EQ(f(six, six).shape(), (Shape{6, 3, 3}));
}

TEST(BatchJacobian, ComparesTheBatchOfAVariableThatIsKnownLate) {
  const Variable v{ones({5, 3}), {.name = "v", .shape = Shape{kUnknown, 3}}};
  const Function<Tensor(Tensor)> f([&](Tensor x) {
    GradientTape tape;
    return tape.batch_jacobian(x * sum(v), v);
  }, {.signature = {Spec{f32, {kUnknown, 3}}}});
  EXPECT_EQ(f(ones({5, 3})).shape(), (Shape{5, 3, 3}));
  EXPECT_EQ(message<ShapeError>([&] { f(ones({6, 3})); }),
            "batch_jacobian: target is f32[6,3] and source f32[5,3]; their first axes are the batch and must agree.");
}

// The row of each seed, one by one.
Tensor row_by_row(const std::function<Tensor(Tensor)>& way, int count) {
  std::vector<Tensor> rows;
  for (int k = 0; k < count; ++k) rows.push_back(way(one_hot(Tensor(k), count)));
  return stack(rows);
}

// SEMANTICS 78: eagerly as while tracing
TEST(Jacobian, CrossesConditionsOnWhatGradientFunctionsAreGiven) {
  const Variable limit{20.f, {.name = "limit"}};
  const auto branches = [](Tensor dy) {
    return cond(sum(dy * Tensor({1.f, -1.f, 1.f})) > 0, [&] { return dy * 10; }, [&] { return dy - 1; });
  };
  const auto loops = [&](Tensor dy) {
    return while_loop([&](Tensor y) { return sum(y) < limit; }, [](Tensor y) { return y * 2 + 1; }, dy * Tensor({1.f, 5.f, 30.f}));
  };
  const auto late = [](Tensor dy) {  // the first turn does not depend on dy
    const auto more = [](Tensor y, Tensor turn) { return (sum(y) < 20.f) & (turn < 9); };
    const auto body = [&](Tensor y, Tensor turn) { return std::tuple(y + dy * Tensor({1.f, 7.f, 9.f}), turn + 1); };
    return std::get<0>(while_loop(more, body, std::tuple(Tensor({0.f, 0.f, 0.f}), Tensor(0))));
  };
  const auto cases = [](Tensor dy) {
    return switch_case(argmax(dy, {.dtype = i32}), [&] { return dy; }, [&] { return dy * 2; }, [&] { return dy * 3 + 1; });
  };
  const auto rows = [](Tensor dy) {
    return scan([](Tensor so_far, Tensor row) { return cond(row > 0.5f, [&] { return so_far + row; }, [&] { return so_far * 2; }); }, Tensor(1.f), dy);
  };
  const std::vector<std::function<Tensor(Tensor)>> ways{branches, loops, late, cases, rows};
  for (std::size_t p = 0; p < ways.size(); ++p) {
    SCOPED_TRACE("way " + std::to_string(p));
    const auto f = custom_gradient([&](Tensor y) { return std::pair(y * 2, [&](Tensor dy) { return ways[p](dy); }); });
    const Tensor x({1.f, 2.f, 3.f}), want = row_by_row(ways[p], 3);
    for (const bool persistent : {false, true}) {
      GradientTape tape({.persistent = persistent});
      tape.watch(x);
      const Tensor got = tape.jacobian(f(x), x);
      EXPECT_EQ(floats(got), floats(want));
    }
    GradientTape tape;
    tape.watch(x);
    EXPECT_EQ(floats(tape.jacobian(f(x), x, {.chunk = 2})), floats(want));
    EXPECT_EQ(Interpreter::top(), nullptr);
  }
}

TEST(Jacobian, RefusesWritesInPartsThatRunForManyValues) {
  Variable count{0.f, {.name = "count"}}, seen{0.f, {.name = "seen"}};
  using Way = std::function<Tensor(Tensor)>;
  const Way writes = [&](Tensor dy) { return cond(sum(dy) > 0, [&] { return count.assign_add(1.f), dy * 10; }, [&] { return dy; }); };
  const Way turns = [&](Tensor dy) {
    return while_loop([](Tensor y) { return sum(y) < 5.f; }, [&](Tensor y) { return count.assign_add(1.f), y + 1; }, dy);
  };
  const auto late = [&](Tensor dy, const std::function<void()>& write) {  // the first turns do not depend on dy
    const auto more = [](Tensor y, Tensor turn) { return (sum(y) < 20.f) & (turn < 9); };
    const auto body = [&](Tensor y, Tensor turn) { return write(), std::tuple(y + dy * cast(turn, f32), turn + 1); };
    return std::get<0>(while_loop(more, body, std::tuple(Tensor({0.f, 0.f}), Tensor(0))));
  };
  const Way turns_later = [&](Tensor dy) { return late(dy, [&] { count.assign_add(1.f); }); };
  const Way first_turn = [&](Tensor dy) {
    bool first = true;
    return late(dy, [&] {
      if (std::exchange(first, false)) count.assign_add(1.f);
    });
  };
  const Way what_many_are = [&](Tensor dy) {
    return while_loop([&](Tensor y) { return (sum(y) < 5.f) & (count < 3.f); }, [&](Tensor y) { return count.assign_add(sum(dy)), y + 1; }, Tensor(0.f)) + dy;
  };
  const Way in_a_block = [&](Tensor dy) { return atomically([&] { return seen.assign(1.f), turns_later(dy); }); };
  const std::vector<std::pair<const char*, Way>> ways{{"branches", writes},     {"turns", turns},         {"turns later", turns_later},
                                                      {"first turn", first_turn}, {"many", what_many_are}, {"in a block", in_a_block}};
  for (const auto& [what, way] : ways)
    for (const bool traced : {false, true}) {
      SCOPED_TRACE(std::string(what) + (traced ? ", traced" : ""));
      if (traced && std::string_view(what) == "first turn") continue;  // what a trace sees is the host's first turn
      const auto program = [&](Tensor x) {
        const auto f = custom_gradient([&](Tensor y) { return std::pair(y * 2, [&](Tensor dy) { return way(dy); }); });
        GradientTape tape;
        tape.watch(x);
        const Tensor y = f(x);
        return tape.jacobian(y, x);
      };
      const Tensor x({1.f, 2.f});
      const std::string text = message<TraceError>([&] { traced ? Function(program)(x) : program(x); });
      if (traced || std::string_view(what) != "many") {
        EXPECT_TRUE(text.ends_with(": a part writes Variable \"count\", but it is run for many values at once, as a jacobian does; write it outside.")) << text;
      }
      EXPECT_EQ(count.value().item<float>(), 0);
      EXPECT_EQ(count.version(), 0u);
      EXPECT_EQ(seen.version(), 0u);
    }
}

// A loop whose turns all are the same for the values takes them as always.
TEST(Jacobian, LetsTurnsWriteWhoseConditionIsOne) {
  Variable count{0.f, {.name = "count"}};
  const auto f = custom_gradient([&](Tensor y) {
    return std::pair(y * 2, [&](Tensor dy) {
      const auto body = [&](Tensor sum, Tensor turn) { return count.assign_add(1.f), std::tuple(sum + dy, turn + 1); };
      return std::get<0>(while_loop([](Tensor, Tensor turn) { return turn < 3; }, body, std::tuple(zeros_like(dy), Tensor(0))));
    });
  });
  const Tensor x({1.f, 2.f});
  GradientTape tape;
  tape.watch(x);
  EXPECT_EQ(floats(tape.jacobian(f(x), x)), (Floats{3, 0, 0, 3}));
  EXPECT_EQ(count.value().item<float>(), 3);
}

// Each allocation fails once; what is said names what was called, and the line of the program.
TEST(Jacobian, ThatFindsNoMemoryNamesItself) {
  int failures = 0;
  bool own = false;
  for (bool failed = true; failed && !HasFailure(); ++failures)
    std::thread([&] {
      const Tensor x = {1.f, 2.f, 3.f};
      GradientTape tape({.persistent = true});
      tape.watch(x);
      const Tensor y = x * x;
      const test::FailingMemory memory(failures);
      try {
        tape.jacobian(y, x);
      } catch (const OutOfMemoryError& error) {
        EXPECT_TRUE(std::string_view(error.location().file).ends_with("_test.cc")) << error.what();
        const bool names_itself = error.message() == "jacobian: there is no memory for the rows of so many elements of the target at once; give a smaller chunk.";
        own = own || names_itself;
        EXPECT_TRUE(names_itself || error.op() == "multiply") << error.what();  // the gradient of an op names that
      }
      failed = memory.failed();
    }).join();
  EXPECT_GT(failures, 20);
  EXPECT_TRUE(own);
}

}  // namespace
}  // namespace weft
