// Loops that count their turns: the same results as of those that ask after every turn, whatever they count, from where and how far.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "graph/region.h"
#include "tests/support.h"
#include <weft/control.h>
#include <weft/weft.h>

namespace weft::test {
namespace {

constexpr const char* kCounts = "counts its turns";
bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

using Go = std::function<Tensor(Tensor, Tensor)>;  // of the counter and the bound
using Next = std::function<Tensor(Tensor)>;        // of the counter

// value = 0.5 value + 1 in each turn: after a few turns each number of them has another result.
std::tuple<Tensor, Tensor> loop(const Go& go, const Next& next, Tensor start, Tensor bound) {
  return while_loop([&](Tensor i, Tensor) { return go(i, bound); }, [&](Tensor i, Tensor value) { return std::tuple{next(i), value * 0.5f + 1.f}; },
                    std::tuple{start, Tensor(1.f)});
}

void expect_counted(const Go& go, const Next& next, const Tensor& start, const Tensor& bound, bool counted = true) {
  const Function f = [&](Tensor from, Tensor to) { return loop(go, next, from, to); };
  const auto [last, value] = f(start, bound);
  const auto [wanted_last, wanted] = loop(go, next, start, bound);
  EXPECT_EQ(last.item<std::int64_t>(), wanted_last.item<std::int64_t>());
  EXPECT_EQ(number(value), number(wanted));
  EXPECT_EQ(contains(f.graph().str(), kCounts), counted) << f.graph();
  const Function without{[&](Tensor from, Tensor to) { return loop(go, next, from, to); }, {.without = {"count_turns"}}};
  EXPECT_EQ(number(std::get<1>(without(start, bound))), number(wanted));
  EXPECT_FALSE(contains(without.graph().str(), kCounts));
}

TEST(CountTurns, UpAndDownOnEitherSideOfTheComparison) {
  const std::pair<Go, bool> comparisons[] = {
      {[](Tensor i, Tensor n) { return i < n; }, true},  {[](Tensor i, Tensor n) { return i <= n; }, true},  {[](Tensor i, Tensor n) { return n > i; }, true},
      {[](Tensor i, Tensor n) { return n >= i; }, true}, {[](Tensor i, Tensor n) { return i > n; }, false}, {[](Tensor i, Tensor n) { return i >= n; }, false},
      {[](Tensor i, Tensor n) { return n < i; }, false}, {[](Tensor i, Tensor n) { return n <= i; }, false}};
  for (const auto& [go, up] : comparisons)
    for (const int step : {1, 2, 3, 7}) {
      const Next next = up ? Next([&](Tensor i) { return i + step; }) : Next([&](Tensor i) { return i - step; });
      for (const int distance : {-5, -1, 0, 1, 2, 3, 6, 7, 8, 20})
        for (const int start : {0, -4, 5}) expect_counted(go, next, start, up ? start + distance : start - distance);
    }
  expect_counted(comparisons[0].first, [](Tensor i) { return 2 + i; }, 1, 6);
  expect_counted(comparisons[4].first, [](Tensor i) { return i + -2; }, 9, 1);
  const auto i64_of = [](std::int64_t n) { return cast(Tensor(n), i64); };
  expect_counted(comparisons[0].first, [](Tensor i) { return i + 1; }, i64_of(1ll << 40), i64_of((1ll << 40) + 9));
}

// The counter would leave its dtype, and then wrap as integers do: such a loop asks after every turn.
TEST(CountTurns, WrapsWhereTheCounterDoes) {
  constexpr int most = std::numeric_limits<int>::max(), half = 1 << 30;
  const Go less = [](Tensor i, Tensor n) { return i < n; }, more = [](Tensor i, Tensor n) { return i > n; };
  expect_counted(less, [](Tensor i) { return i + 4; }, most - 9, most - 1);
  // 0, 2^30 + 7, then -2^31 + 14 and on: turns that no distance tells.
  expect_counted(less, [](Tensor i) { return i + (half + 7); }, 0, half + 50);
  expect_counted(more, [](Tensor i) { return i - (half + 7); }, 0, -half - 50);
  expect_counted(more, [](Tensor i) { return i + 1; }, most - 2, 0, false);  // the wrong way, until it wraps
}

TEST(CountTurns, OnlyWhatIsACounter) {
  const Go less = [](Tensor i, Tensor n) { return i < n; };
  expect_counted(less, [](Tensor i) { return i * 2; }, 1, 40, false);
  expect_counted(less, [](Tensor i) { return i + i; }, 1, 40, false);
  expect_counted(less, [](Tensor i) { return 7 - i; }, 1, 5, false);
  expect_counted([](Tensor i, Tensor n) { return i < n - 3; }, [](Tensor i) { return i + 1; }, 1, 9, false);
  expect_counted([](Tensor i, Tensor n) { return logical_and(i < n, i < 3); }, [](Tensor i) { return i + 1; }, 0, 40, false);
  expect_counted([](Tensor i, Tensor n) { return cast(i, f32) < cast(n, f32); }, [](Tensor i) { return i + 1; }, 0, 40, false);
}

template <class Program>
void expect_same_as_eager(const Program& program, bool counted) {
  const Function f = program;
  for (const int n : {0, 1, 2, 5, 8}) {
    const auto [a, b, c] = f(n);
    const auto [wanted_a, wanted_b, wanted_c] = program(n);
    EXPECT_EQ(floats(cast(a, f32)), floats(cast(wanted_a, f32))) << n;
    EXPECT_EQ(floats(cast(b, f32)), floats(cast(wanted_b, f32))) << n;
    EXPECT_EQ(floats(cast(c, f32)), floats(cast(wanted_c, f32))) << n;
  }
  EXPECT_EQ(contains(f.graph().str(), kCounts), counted) << f.graph();
}
using Three = std::tuple<Tensor, Tensor, Tensor>;

TEST(CountTurns, OtherCarriedValues) {
  const auto goes = [](Tensor n) { return [n](Tensor i, Tensor, Tensor) { return i < n; }; };
  const auto from = [](Tensor j, Tensor x) { return Three{Tensor(0), j, x}; };
  // integers that change places
  expect_same_as_eager([&](Tensor n) { return while_loop(goes(n), [](Tensor i, Tensor j, Tensor x) { return Three{j + 1, i, x + 1.f}; }, from(1, 0.f)); }, false);
  // a bound that is carried, and changes
  expect_same_as_eager(
      [&](Tensor n) {
        return while_loop([](Tensor i, Tensor j, Tensor) { return i < j; }, [](Tensor i, Tensor j, Tensor x) { return Three{i + 2, j + 1, x + 1.f}; }, from(n, 0.f));
      },
      false);
  // what counts is no integer
  expect_same_as_eager([&](Tensor n) {
    return while_loop([&](Tensor, Tensor, Tensor x) { return x < cast(n, f32); }, [](Tensor i, Tensor j, Tensor x) { return Three{i, j + 1, x + 1.f}; }, from(0, 0.f));
  }, false);
  // the counter of the turn before
  expect_same_as_eager([&](Tensor n) { return while_loop(goes(n), [](Tensor i, Tensor, Tensor x) { return Three{i + 1, i, x + 1.f}; }, from(7, 0.f)); }, true);
  // numbers of other dtypes, and more lanes than one, are no links
  expect_same_as_eager([&](Tensor n) { return while_loop(goes(n), [](Tensor i, Tensor j, Tensor x) { return Three{i + 1, j * 3, x * x}; }, from(1, cast(Tensor(1.5), f64))); },
                       true);
  const Tensor row({1.5f, -2.f, 0.25f});
  expect_same_as_eager([&](Tensor n) { return while_loop(goes(n), [&](Tensor i, Tensor j, Tensor x) { return Three{i + 1, j - 1, x * row}; }, from(1, row)); }, true);
  // shapes that grow
  expect_same_as_eager([&](Tensor n) { return while_loop(goes(n), [](Tensor i, Tensor j, Tensor x) { return Three{i + 1, j, concat({x, x}, 0)}; }, from(1, row)); }, true);
}

TEST(CountTurns, TheBodyMayReadTheCounterAndWriteVariables) {
  const auto program = [](Tensor n, Variable& sum) {
    return while_loop([&](Tensor i, Tensor) { return i < n; },
                      [&](Tensor i, Tensor x) {
                        sum.assign_add(cast(i, f32) * x);
                        return std::tuple{i + 1, x + sum};
                      },
                      std::tuple{Tensor(0), Tensor(0.25f)});
  };
  Variable eager{0.5f}, traced{0.5f};
  const Function f = [&](Tensor n) { return program(n, traced); };
  for (const int n : {0, 1, 2, 5, 8}) {
    const auto wanted = atomically([&] { return program(n, eager); });
    const auto made = f(n);
    EXPECT_EQ(std::get<0>(made).item<int>(), n);
    EXPECT_EQ(number(std::get<1>(made)), number(std::get<1>(wanted)));
    EXPECT_EQ(number(traced), number(eager));
  }
  EXPECT_TRUE(contains(f.graph().str(), kCounts));
}

// Chains of single numbers: in an even and in an odd number of turns, of one value and of several that read each other.
TEST(CountTurns, SimpleFunctionsOfNumbers) {
  const auto program = [](Tensor n, Tensor x) {
    return while_loop([&](Tensor i, Tensor, Tensor, Tensor) { return i < n; },
                      [&](Tensor i, Tensor a, Tensor b, Tensor c) { return std::tuple{i + 1, -b, relu(a * x - b), square(c - a) / (b * b + 1.f)}; },
                      std::tuple{Tensor(0), Tensor(0.5f), x, -x});
  };
  const auto alone = [](Tensor n, Tensor x) {
    return while_loop([&](Tensor i, Tensor) { return i < n; }, [&](Tensor i, Tensor a) { return std::tuple{i + 1, 1.f - a * x}; }, std::tuple{Tensor(0), x});
  };
  const Function f = program;
  const Function g = alone;
  for (int n = 0; n < 9; ++n)
    for (const float x : {0.75f, -1.25f, 0.f}) {
      const auto [i, a, b, c] = f(n, x);
      const auto [j, wanted_a, wanted_b, wanted_c] = program(n, x);
      EXPECT_EQ(i.item<int>(), j.item<int>());
      EXPECT_EQ(number(a), number(wanted_a)) << n << " turns of " << x;
      EXPECT_EQ(number(b), number(wanted_b)) << n << " turns of " << x;
      EXPECT_EQ(number(c), number(wanted_c)) << n << " turns of " << x;
      EXPECT_EQ(number(std::get<1>(g(n, x))), number(std::get<1>(alone(n, x)))) << n << " turns of " << x;
    }
}

TEST(CountTurns, GradientsAndTensorsAndLoopsInLoops) {
  const auto program = [](Tensor n, Tensor x) {
    return std::get<1>(while_loop([&](Tensor i, Tensor) { return i < n; },
                                  [&](Tensor i, Tensor y) {
                                    const Tensor inner = std::get<1>(while_loop([](Tensor k, Tensor) { return k > 0; },
                                                                               [&](Tensor k, Tensor z) { return std::tuple{k - 1, z * 0.5f + x}; },
                                                                               std::tuple{i, y}));
                                    return std::tuple{i + 1, inner};
                                  },
                                  std::tuple{Tensor(0), x * x}));
  };
  const auto gradient = [&](Tensor n, Tensor x) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(sum(program(n, x)), x);
  };
  const Function f = program;
  const Function g = gradient;
  const Tensor x({1.f, -2.f, 0.5f});
  for (const int n : {0, 1, 4}) {
    EXPECT_EQ(floats(f(n, x)), floats(program(n, x)));
    EXPECT_EQ(floats(g(n, x)), floats(gradient(n, x)));
  }
}

// A body with a check still checks in every turn, and what the loop has written is undone.
TEST(CountTurns, AFailingTurnChangesNothing) {
  Variable total{0.f};
  const Function f = [&](Tensor n) {
    while_loop([&](Tensor i) { return i < n; }, [&](Tensor i) {
      check(i < 3, "three turns at most");
      total.assign_add(1.f);
      return i + 1;
    }, Tensor(0));
  };
  f(3);
  EXPECT_EQ(number(total), 3);
  EXPECT_THROW(f(5), CheckError);
  EXPECT_EQ(number(total), 3);
}

// A Function with a guard behind every op, called by another one: the loops in its loops are rebuilt each time, and what was known of the old ones
// is not true of the new.
TEST(CountTurns, GuardedLoopsInLoopsStayGuarded) {
  const auto body = [](Tensor x) {
    return std::get<1>(while_loop([](Tensor i, Tensor) { return i < 2; },
                                  [](Tensor i, Tensor y) {
                                    return std::tuple{i + 1, std::get<1>(while_loop([](Tensor k, Tensor) { return k < 3; },
                                                                                    [](Tensor k, Tensor z) { return std::tuple{k + 1, minimum(z / 0.f, 1.f)}; },
                                                                                    std::tuple{Tensor(0), y}))};
                                  },
                                  std::tuple{Tensor(0), x}));
  };
  const Function f{body, {.check_numerics = true}};
  const Function g{[&](Tensor x) { return f(x); }, {.check_numerics = true}};
  const Function h{[&](Tensor x) { return g(x); }, {.check_numerics = true}};
  EXPECT_THROW(f(2.f), NumericError);
  EXPECT_THROW(g(2.f), NumericError);
  EXPECT_THROW(h(2.f), NumericError);
}

TEST(CountTurns, NumbersOfTurns) {
  const auto turns = [](DType dtype, std::int64_t start, std::int64_t step, std::int64_t end, bool inclusive) {
    return Counting{.of = nullptr, .counter = 0, .step = step, .bound = end, .inclusive = inclusive, .kept = false, .rest = nullptr}.turns(dtype, start, end);
  };
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(), least = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t most32 = std::numeric_limits<std::int32_t>::max(), least32 = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ(turns(i32, 0, 1, 10, false), 10);
  EXPECT_EQ(turns(i32, 0, 1, 10, true), 11);
  EXPECT_EQ(turns(i32, 0, 3, 10, false), 4);
  EXPECT_EQ(turns(i32, 0, 3, 9, true), 4);
  EXPECT_EQ(turns(i32, 5, 1, 5, false), 1) << "the first turn is taken in any case";
  EXPECT_EQ(turns(i32, 10, -4, 0, false), 3);
  EXPECT_EQ(turns(i32, least32, 1, most32, false), most32 - least32);
  EXPECT_EQ(turns(i32, least32, 1, most32, true), kUnknown) << "no i32 is more than the last one";
  EXPECT_EQ(turns(i32, most32, 1, 0, false), kUnknown);
  EXPECT_EQ(turns(i64, most32, 1, 0, false), 1);
  EXPECT_EQ(turns(i32, 0, -1, least32, true), kUnknown);
  EXPECT_EQ(turns(i32, 0, least32, -1, false), 1);
  EXPECT_EQ(turns(i64, 0, 1, most, false), most);
  EXPECT_EQ(turns(i64, 0, 1, most, true), kUnknown);
  EXPECT_EQ(turns(i64, least, 1, most, false), kUnknown) << "too many to count";
  EXPECT_EQ(turns(i64, 0, most, most, false), 1);
  EXPECT_EQ(turns(i64, 0, least, -1, false), kUnknown);
  EXPECT_EQ(turns(i64, most - 1, 4, most, false), kUnknown);
}

}  // namespace
}  // namespace weft::test
