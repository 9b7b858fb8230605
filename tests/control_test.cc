// Control flow on values: the same eagerly, traced, and backwards.
#include <weft/control.h>

#include <gtest/gtest.h>

#include "tests/support.h"
#include <weft/weft.h>

namespace weft::test {
namespace {

// Runs a program as a block and as a Function, twice each, from the same state; the results and the state must have the same bits.
template <class Program>
void expect_same(const Program& program, std::vector<Tensor> arguments, std::vector<float> first = {1, 2}) {
  std::vector<Variable> eager, traced;
  for (const float value : first) eager.emplace_back(value), traced.emplace_back(value);
  Function f = [&](Tensor x) { return program(x, traced); };
  for (const Tensor& x : arguments) {
    const std::vector<float> wanted = floats(atomically([&] { return program(x, eager); }));
    EXPECT_EQ(floats(f(x)), wanted);
    for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(number(traced[i]), number(eager[i])) << "Variable " << i;
  }
  EXPECT_EQ(f.explain().traced, 1u);
}

const Tensor kRow({1.f, 2.f, 3.f, 4.f}), kOther({-1.f, 0.5f, 2.f, 0.25f});

// SEMANTICS 145
// SEMANTICS 147
TEST(Cond, TakesOneBranchAndWritesWhatThatOneWrites) {
  const auto program = [](Tensor x, std::vector<Variable>& v) {
    return cond(x > v[0], [&] { return v[0].assign_add(x), v[1].assign(v[0] * 2.f), x * v[1]; }, [&] { return v[0].assign(7.f), x - v[0]; });
  };
  expect_same(program, {5.f, 0.f, 9.f, 1.f});
}

TEST(Cond, BranchesWithoutResultChangeState) {
  Variable n{0}, m{0};
  Function f = [&](Tensor up) { cond(up, [&] { n.assign_add(1); }, [&] { m.assign_add(1); }); };
  f(true), f(true), f(false);
  EXPECT_EQ(n.value().item<int>(), 2);
  EXPECT_EQ(m.value().item<int>(), 1);
  EXPECT_EQ(n.version(), 3u) << "a call that writes a Variable in some branch publishes it in each call";
}

TEST(Cond, TakesVariablesAndNumbersForResults) {
  Variable n{1.f};
  Function f = [&](Tensor up) { return cond(up, [&] { return n.assign_add(1.f); }, [&] { return 0.f; }); };
  EXPECT_EQ(number(f(true)), 2);
  EXPECT_EQ(number(f(false)), 0);
}

TEST(Cond, NestsAndSeesWhatTheProgramAroundHasWritten) {
  const auto program = [](Tensor x, std::vector<Variable>& v) {
    v[0].assign_add(1.f);
    const Tensor y = cond(x > 0.f, [&] {
      return cond(v[0] > 2.f, [&] { return v[0].assign(0.f), x; }, [&] { return v[1].assign_add(v[0]), x * 2.f; });
    }, [&] { return x * v[1]; });
    return y + v[0] + v[1];
  };
  expect_same(program, {1.f, 1.f, -1.f, 1.f});
}

TEST(Cond, SizesOfBranchesMayDiffer) {
  Function f = [](Tensor up, Tensor x) { return cond(up, [&] { return x; }, [&] { return concat({x, x}, 0); }) * 2.f; };
  EXPECT_EQ(floats(f(true, kRow)).size(), 4u);
  EXPECT_EQ(floats(f(false, kRow)), (std::vector<float>{2, 4, 6, 8, 2, 4, 6, 8}));
}

TEST(Cond, ABranchThatFailsChangesNothing) {
  Variable n{0.f};
  Function f = [&](Tensor i) {
    n.assign_add(1.f);
    return cond(i >= 0, [&] { return n.assign_add(1.f), gather(kRow, i); }, [&] { return n + 0.f; });
  };
  EXPECT_EQ(number(f(3)), 4);
  EXPECT_EQ(message<IndexError>([&] { f(4); }).substr(0, 6), "gather");
  EXPECT_EQ(number(n), 2);
  EXPECT_EQ(number(f(-1)), 3);
}

TEST(Cond, RefusesASymbolThatHasLeftItsTrace) {
  Tensor leaked;
  Function f = [&](Tensor x) { return leaked = x > 0.f, x; };
  f(1.f);
  int runs = 0;
  EXPECT_THROW(cond(leaked, [&] { ++runs; }, [&] { ++runs; }), TraceError);
  EXPECT_EQ(runs, 0);
}

// SEMANTICS 160, 167
TEST(Cond, RefusesWhatDisagrees) {
  Function dtypes = [](Tensor up, Tensor x) { return cond(up, [&] { return x; }, [&] { return cast(x, i32); }); };
  EXPECT_TEXT(TraceError, dtypes(true, kRow),
              "cond: what is returned is i32[4] in the second branch and f32[4] in the first; structure, dtypes, ranks and host values must be the same.");
  Function counts = [](Tensor up, Tensor x) {
    return cond(up, [&] { return std::vector<Tensor>{x}; }, [&] { return std::vector<Tensor>{x, x}; })[0];
  };
  EXPECT_EQ(message<TraceError>([&] { counts(true, kRow); }).find("structure, dtypes, ranks and host values must be the same") != std::string::npos, true);
  Function number_as_condition = [](Tensor x) { return cond(x, [&] { return x; }, [&] { return x; }); };
  EXPECT_TEXT(DtypeError, number_as_condition(1.f), "cond: the condition is f32[]; it must be a bool scalar, compare it with something.");
  EXPECT_TEXT(DtypeError, cond(Tensor(1.f), [] {}, [] {}), "cond: the condition is f32[]; it must be a bool scalar, compare it with something.");
  EXPECT_TEXT(ShapeError, cond(kRow > 0.f, [] {}, [] {}), "cond: the condition is bool[4]; it must be a bool scalar, reduce it by all_true or any_true.");
}

TEST(SwitchCase, TakesTheBranchThatIsNamed) {
  const auto program = [](Tensor x, std::vector<Variable>& v) {
    return switch_case(cast(x, i64), [&] { return x + v[0]; }, [&] { return v[0].assign(x), x * 2.f; }, [&] { return v[1].assign_sub(x), -x; });
  };
  expect_same(program, {0.f, 1.f, 2.f, 0.f});
  Function f = [](Tensor i) { return switch_case(i, [] { return 1.f; }, [] { return 2.f; }); };
  const std::string text = "switch_case: index is 2 and there are 2 branches; it must be from 0 to 1.";
  EXPECT_TEXT(IndexError, f(2), text);
  EXPECT_TEXT(IndexError, switch_case(2, [] { return 1.f; }, [] { return 2.f; }), text);
  Function unused = [](Tensor i) { return switch_case(i, [] { return 1.f; }, [] { return 2.f; }), i; };
  EXPECT_EQ(unused(1).item<int>(), 1);
  EXPECT_TEXT(IndexError, unused(2), text);
  Function wide = [](Tensor i) { return switch_case(i, [] { return 1.f; }, [] { return 2.f; }); };
  EXPECT_EQ(message<IndexError>([&] { wide(Tensor(std::int64_t{1} << 32)); }).substr(0, 31), "switch_case: index is 429496729");
  EXPECT_TEXT(DtypeError, switch_case(2.f, [] {}, [] {}), "switch_case: index is f32[]; it must be an i32 or i64 scalar, cast it.");
}

TEST(WhileLoop, CarriesValuesAndVariables) {
  const auto program = [](Tensor x, std::vector<Variable>& v) {
    const auto [i, total] = while_loop([&](Tensor turn, Tensor) { return cast(turn, f32) < x; }, [&](Tensor turn, Tensor sum) {
      v[0].assign_add(cast(turn, f32));
      return std::tuple{turn + 1, sum * v[0] + v[1]};
    }, std::tuple{0, 1.f});
    return total + cast(i, f32);
  };
  expect_same(program, {3.f, 0.f, 5.f, 1.f});
}

TEST(WhileLoop, OnStateAlone) {
  Variable n{0};
  Function f = [&](Tensor most) { while_loop([&] { return n < most; }, [&] { n.assign_add(1); }); };
  f(5), f(3);
  EXPECT_EQ(n.value().item<int>(), 5);
  while_loop([&] { return n < 8; }, [&] { n.assign_add(1); });
  EXPECT_EQ(n.value().item<int>(), 8);
}

TEST(WhileLoop, SwapsAndNests) {
  const auto program = [](Tensor x, std::vector<Variable>& v) {
    const auto [i, a, b] = while_loop([](Tensor turn, Tensor, Tensor) { return turn < 5; }, [&](Tensor turn, Tensor p, Tensor q) {
      const Tensor inner = while_loop([&](Tensor y) { return y < 10.f; }, [&](Tensor y) { return y * 2.f + x; }, p);
      return std::tuple{turn + 1, q, cond(turn > 2, [&] { return inner - v[0]; }, [&] { return v[0].assign_add(1.f), p; })};
    }, std::tuple{0, x, x + 1.f});
    return a * b;
  };
  expect_same(program, {1.f, 2.5f});
}

// SEMANTICS 161
// SEMANTICS 162
// PAIN 19
TEST(WhileLoop, FindsTheShapesThatHoldInEveryTurn) {
  Function grows = [](Tensor n, Tensor x) {
    const auto [i, y] = while_loop([&](Tensor turn, Tensor) { return turn < n; },
                                   [](Tensor turn, Tensor rows) { return std::tuple{turn + 1, concat({rows, rows}, 0)}; }, std::tuple{0, x});
    return y;
  };
  EXPECT_EQ(grows(3, kRow).shape(), Shape({32}));
  EXPECT_EQ(grows(0, kRow).shape(), Shape({4}));
  const auto looped = [](auto body, Tensor x) {
    Function f = [=](Tensor y) { return while_loop([](Tensor) { return Tensor(true); }, body, y); };
    return f(x);
  };
  EXPECT_TEXT(DtypeError, looped([](Tensor x) { return cast(x, f64); }, kRow),
              "while_loop: a turn changes carried value 0 from f32[4] to f64[4]; the dtype must stay the same, cast it.");
  EXPECT_TEXT(ShapeError, looped([](Tensor x) { return sum(x); }, kRow),
              "while_loop: a turn changes carried value 0 from f32[4] to f32[]; the rank must stay the same.");
  Function no_bool = [](Tensor x) { return while_loop([](Tensor y) { return y; }, [](Tensor y) { return y; }, x); };
  EXPECT_TEXT(DtypeError, no_bool(1.f), "while_loop: the condition is f32[]; it must be a bool scalar, compare it with something.");
}

// SEMANTICS 145
TEST(WhileLoop, CarriesAVariableBesideAValueThatGrows) {
  Variable v{0.f};
  Function f = [&](Tensor n, Tensor x) {
    const auto [i, y] = while_loop([&](Tensor turn, Tensor) { return turn < n; }, [&](Tensor turn, Tensor rows) {
      v.assign_add(1.f);
      return std::tuple{turn + 1, concat({rows, rows}, 0)};
    }, std::tuple{0, x});
    return y;
  };
  EXPECT_EQ(f(3, kRow).shape(), Shape({32}));
  EXPECT_EQ(number(v), 3);
}

// PAIN 4
TEST(WhileLoop, ABodyThatIsTracedAgainMakesItsVariablesOnce) {
  std::vector<std::uint64_t> ids;
  Function f = [&](Tensor n, Tensor x) {
    const auto [i, y] = while_loop([&](Tensor turn, Tensor) { return turn < n; }, [&](Tensor turn, Tensor rows) {
      Variable count{0.f, {.name = "count"}}, other{0.f, {.name = "other"}};
      ids.push_back(count.id()), ids.push_back(other.id());
      count.assign_add(1.f), other.assign_add(2.f);
      return std::tuple{turn + 1, concat({rows, rows}, 0)};
    }, std::tuple{0, x});
    return y;
  };
  f(3, kRow);
  ASSERT_EQ(ids.size(), 4u) << "sizes are found in two tries";
  EXPECT_EQ(ids[2], ids[0]);
  EXPECT_EQ(ids[3], ids[1]);
  const std::vector<Variable> made = f.trace(Spec{i32, {}}, Spec{f32, {4}}).variables();
  ASSERT_EQ(made.size(), 2u);
  f(2, kRow);
  EXPECT_EQ(number(made[0]), 5);
  EXPECT_EQ(number(made[1]), 10);
  EXPECT_EQ(f(1, ones({2, 2})).shape(), Shape({4, 2})) << "another trace has them, too";
  EXPECT_EQ(number(made[0]), 6);
}

TEST(WhileLoop, RefusesHostValuesThatChange) {
  struct State {
    Tensor x;
    int n = 0;
  };
  Function f = [](Tensor x) {
    return while_loop([](const State& s) { return s.x < 3.f; }, [](const State& s) { return State{s.x + 1.f, s.n + 1}; }, State{x}).x;
  };
  EXPECT_TEXT(TraceError, f(0.f),
              "while_loop: a turn changes the structure of the carried value, or a host value in it; only Tensors may change, make it one.");
}

TEST(WhileLoop, ATurnThatFailsChangesNothing) {
  Variable n{0}, seen{0.f};
  Function f = [&](Tensor most) {
    while_loop([&] { return n < most; }, [&] {
      seen.assign(gather(kRow, n));
      n.assign_add(1);
    });
    return seen.value();
  };
  EXPECT_EQ(number(f(2)), 2);
  EXPECT_EQ(message<IndexError>([&] { f(9); }).substr(0, 6), "gather");
  EXPECT_EQ(n.value().item<int>(), 2);
  EXPECT_EQ(number(seen), 2);
}

// PAIN 13
TEST(WhileLoop, DrawsAsEagerly) {
  const auto draw = [](Generator& generator, Tensor n) {
    const auto [i, x] = while_loop([&](Tensor turn, Tensor) { return turn < n; },
                                   [&](Tensor turn, Tensor so_far) { return std::tuple{turn + 1, so_far + generator.normal({3})}; },
                                   std::tuple{0, zeros({3})});
    return x;
  };
  Generator eager(5), traced(5);
  Function f = [&](Tensor n) { return draw(traced, n); };
  EXPECT_EQ(floats(f(3)), floats(draw(eager, 3)));
  EXPECT_EQ(floats(f(2)), floats(draw(eager, 2)));
}

// SEMANTICS 168
TEST(Map, TakesTreesAndNoRows) {
  const auto program = [](Tensor x, std::vector<Variable>& v) {
    return map([&](Tensor a, Tensor b) { return v[0].assign_add(a), a * b + v[0]; }, std::tuple{x, x + 1.f});
  };
  expect_same(program, {kRow, kOther});
  const Tensor none = zeros({0, 2});
  EXPECT_EQ(map([](Tensor row) { return concat({row, row}, 0); }, none).shape(), Shape({0, 4}));
  Function f = [](Tensor x) { return map([](Tensor row) { return std::pair{sum(row), row}; }, x).first; };
  EXPECT_EQ(f(none).shape(), Shape({0}));
  EXPECT_TEXT(ShapeError, map([](Tensor x) { return x; }, Tensor(1.f)),
              "map: an element is the scalar f32[]; elements have rows, so they need a first axis.");
  EXPECT_TEXT(ShapeError, map([](Tensor a, Tensor b) { return a + b; }, std::tuple{kRow, zeros({3})}),
              "map: the elements have 4 and 3 rows; they must have the same number.");
}

// SEMANTICS 169
TEST(Scan, GoesBothWays) {
  for (const bool reverse : {false, true}) {
    const auto program = [&](Tensor x, std::vector<Variable>& v) {
      const auto [a, b] = scan([&](auto state, Tensor row) {
        v[1].assign(v[1] * row);
        return std::tuple{std::get<0>(state) + row, std::get<1>(state) * v[1]};
      }, std::tuple{0.f, 1.f}, x, {.reverse = reverse});
      return a - b + fold([&](Tensor state, Tensor row) { return state * row - v[0]; }, 0.5f, x, {.reverse = reverse});
    };
    expect_same(program, {kRow, kOther});
  }
  EXPECT_EQ(floats(scan([](Tensor a, Tensor b) { return a + b; }, 0.f, kRow, {.reverse = true})), (std::vector<float>{10, 9, 7, 4}));
  EXPECT_EQ(number(fold([](Tensor a, Tensor b) { return a - b; }, 1.f, zeros({0}))), 1);
}

TEST(Scan, RowsAreCountedWhenTheyAreThere) {
  Function f = [](Tensor x, Tensor keep, Tensor y) { return map([](Tensor a, Tensor b) { return a + b; }, std::tuple{boolean_mask(x, keep), y}); };
  EXPECT_EQ(floats(f(kRow, Tensor({true, false, true, true}), Tensor({1.f, 1.f, 1.f}))), (std::vector<float>{2, 4, 5}));
  EXPECT_EQ(message<ShapeError>([&] { f(kRow, Tensor({true, true, true, true}), Tensor({1.f, 1.f, 1.f})); }).find("have 4 and 3 rows") != std::string::npos, true);
}

TEST(Scan, NoRowsWriteNothing) {
  Variable v{1.f};
  const std::uint64_t version = v.version();
  map([&](Tensor row) { return v.assign_add(1.f), row; }, zeros({0, 2}));
  fold([&](Tensor a, Tensor row) { return v.assign(row.item<float>()), a; }, 1.f, zeros({0}));
  EXPECT_EQ(v.version(), version);
}

TEST(Scan, AnUnknownNumberOfRowsIsOneTrace) {
  Function f{[](Tensor x) { return scan([](Tensor a, Tensor b) { return a + b; }, 0.f, x); }, {.signature = {{f32, {kUnknown}}}}};
  EXPECT_EQ(floats(f(kRow)), (std::vector<float>{1, 3, 6, 10}));
  EXPECT_EQ(floats(f(Tensor({2.f, 3.f}))), (std::vector<float>{2, 5}));
  EXPECT_EQ(f.explain().traced, 1u);
}

}  // namespace
}  // namespace weft::test
