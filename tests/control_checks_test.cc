// What control flow refuses, and in which words; what it lists as frozen.
#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/support.h"
#include <weft/weft.h>

namespace weft::test {
namespace {

const Tensor kRow({1.f, 2.f, 3.f, 4.f});

// Eagerly a loop refuses what it refuses in a Function, in the same words.
TEST(WhileLoop, EagerLoopsCheckWhatTracedOnesCheck) {
  const auto both = [](const auto& program) {
    const std::string eager = message<Error>([&] { program(kRow); });
    Function f = [&](Tensor x) { program(x); };
    EXPECT_EQ(message<Error>([&] { f(kRow); }), eager);
    return eager;
  };
  const auto always = [](const auto&...) { return Tensor(true); };
  EXPECT_EQ(both([&](Tensor x) { while_loop(always, [](Tensor y) { return cast(y, f64); }, x); }),
            "while_loop: a turn changes carried value 0 from f32[4] to f64[4]; the dtype must stay the same, cast it.");
  EXPECT_EQ(both([&](Tensor x) { while_loop(always, [](Tensor y) { return sum(y); }, x); }),
            "while_loop: a turn changes carried value 0 from f32[4] to f32[]; the rank must stay the same.");
  EXPECT_EQ(both([&](Tensor x) {
              while_loop(always, [](std::vector<Tensor> y) { return y.push_back(y[0]), y; }, std::vector<Tensor>{x});
            }), "while_loop: a turn changes the structure of the carried value; it must stay the same.");
  EXPECT_EQ(both([&](Tensor x) {
              struct State {
                Tensor x;
                int n = 0;
              };
              while_loop(always, [](const State& s) { return State{s.x, s.n + 1}; }, State{x});
            }), "while_loop: a turn changes the structure of the carried value, or a host value in it; only Tensors may change, make it one.");
  EXPECT_EQ(both([](Tensor x) { while_loop([](Tensor y) { return y; }, [](Tensor y) { return y; }, sum(x)); }),
            "while_loop: the condition is f32[]; it must be a bool scalar, compare it with something.");
  EXPECT_EQ(both([](Tensor x) { fold([](Tensor state, Tensor row) { return cast(state + row, i32); }, 0.f, x); }),
            "fold: a turn changes carried value 0 from f32[] to i32[]; the dtype must stay the same, cast it.");
  EXPECT_EQ(both([](Tensor x) { scan([](Tensor state, Tensor row) { return stack({state, row}); }, 0.f, x); }),
            "scan: a turn changes carried value 0 from f32[] to f32[2]; the rank must stay the same.");
}

// SEMANTICS 133: also where it decides
TEST(Cond, ACapturedConditionIsACapture) {
  const Tensor up = fill({}, true), index = cast(fill({}, 1.f), i32);
  const auto chosen = [&](Tensor x) { return cond(up, [&] { return x * 2.f; }, [&] { return x * 3.f; }); };
  const auto named = [&](Tensor x) { return switch_case(index, [&] { return x * 2.f; }, [&] { return x * 3.f; }); };
  const auto looped = [&](Tensor x) {
    const auto [y, go] = while_loop([](Tensor, Tensor again) { return again; },
                                    [](Tensor z, Tensor) { return std::tuple{z * 2.f, z < 10.f}; }, std::tuple{x, up});
    return y;
  };
  const auto in_a_loop = [&](Tensor x) { return fold([&](Tensor s, Tensor row) { return cond(up, [&] { return s + row; }, [&] { return s; }); }, 0.f, x); };
  const auto expect = [&](const auto& body, Tensor x, float wanted, const std::string& op) {
    Function f{body, {.name = "f"}}, strict{body, {.name = "strict", .strict = true}};
    EXPECT_EQ(number(f(x)), wanted);
    const std::vector<FunctionReport::Constant> frozen = f.explain().traces[0].constants;
    const auto listed = std::find_if(frozen.begin(), frozen.end(), [](const auto& each) { return !each.literal; });
    ASSERT_NE(listed, frozen.end()) << f.explain();
    EXPECT_EQ(listed->op, op);
    const std::string spec = op == "switch_case" ? "i32[]" : "bool[]";
    EXPECT_TEXT(TraceError, strict(x), op + ": the tensor " + spec + " was made outside and would be frozen; pass it as an argument, or hold it in a Variable.");
  };
  const Tensor written = true, number_written = 1;
  const auto chosen_by_a_number = [&](Tensor x) { return cond(written, [&] { return x * 2.f; }, [&] { return x * 3.f; }); };
  const auto named_by_a_number = [&](Tensor x) { return switch_case(number_written, [&] { return x * 2.f; }, [&] { return x * 3.f; }); };
  expect(chosen_by_a_number, 1.f, 2, "cond");
  expect(named_by_a_number, 1.f, 3, "switch_case");
  Function both = chosen_by_a_number;
  both(1.f);
  EXPECT_NE(both.graph().str().find(" = cond("), std::string::npos) << both.graph();
  expect(chosen, 1.f, 2, "cond");
  expect(named, 1.f, 3, "switch_case");
  expect(looped, 1.f, 32, "while_loop");
  expect(in_a_loop, kRow, 10, "cond");

  Function literal{[](Tensor x, bool flag) { return cond(flag, [&] { return x * 2.f; }, [&] { return x; }); }, {.strict = true}};
  EXPECT_EQ(number(literal(1.f, true)), 2);
  const std::vector<FunctionReport::Constant> frozen = literal.explain().traces[0].constants;
  ASSERT_EQ(frozen.size(), 2u) << literal.explain();
  EXPECT_EQ(frozen[1].value, "true");
  EXPECT_TRUE(frozen[1].literal);
  EXPECT_EQ(frozen[1].op, "cond");
}

// Numbers in branches and loops are listed as those around them.
TEST(Cond, NumbersInPartsAreListed) {
  Function f = [](Tensor x) {
    const Tensor y = cond(x > 0.f, [&] { return x * 2.f; }, [&] { return x * 3.f; });
    return fold([](Tensor s, Tensor) { return s * 4.f; }, y, kRow);
  };
  f(1.f);
  std::vector<std::string> numbers;
  const FunctionReport report = f.explain();
  for (const FunctionReport::Constant& each : report.traces[0].constants)
    if (each.literal) numbers.push_back(each.value);
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(numbers, (std::vector<std::string>{"0.0", "2.0", "3.0", "4.0"}));
}

// And with a line of the program, though they become Tensors in headers.
TEST(Cond, NumbersOfPartsHaveALineOfTheProgram) {
  const auto contains = [](std::string_view text, std::string_view part) { return text.find(part) != text.npos; };
  Variable v{1.f};
  Function inner{[](Tensor x) { return x * 2.f; }};
  Function f = [&](Tensor x) {
    const Tensor first = x[0];
    const auto add_row = [](Tensor s, Tensor row) { return s + row; };
    Tensor y = fold(add_row, 0.f, x) + cast(scan(add_row, 1, cast(x, i32))[0], f32);
    y = y + cond(first > 0.f, [] { return 5.f; }, [] { return 6.f; });
    y = y + cond(true, [] { return 5.f; }, [] { return 6.f; });
    y = y + switch_case(0, [] { return 7.f; }, [] { return 8.f; }) + switch_case(cast(first, i32), [] { return 7.f; }, [] { return 8.f; });
    const auto [a, b] = cond(first > 0.f, [] { return std::tuple{1.f, std::tuple{2.f, 3}}; }, [] { return std::tuple{3.f, std::tuple{4.f, 5}}; });
    const auto [turns, z] = while_loop([](Tensor n, Tensor) { return n < 3; }, [](Tensor n, Tensor p) { return std::pair{n + 1, p * 2.f}; }, std::tuple{0, 1.f});
    y = y + a + std::get<0>(b) * cast(std::get<1>(b), f32) + z * cast(turns, f32) + while_loop([](Tensor s) { return s < 3.f; }, [](Tensor) { return 9.f; }, 3.f) + inner(2.f);
    cond(first > 1.f, [&] { v.assign_add(1.f); }, [&] { v.assign(3.f); });
    return y + map([](Tensor) { return 4.f; }, x)[1] + cond(first > 2.f, [&] { return v; }, [&] { return v; });
  };
  f({1.f, 2.f});
  const FunctionReport::Trace trace = f.explain().traces[0];
  for (const FunctionReport::Constant& constant : trace.constants)
    EXPECT_TRUE(contains(constant.at.file, "control_checks_test.cc")) << constant.value << " at " << constant.at.file << ":" << constant.at.line;
  std::istringstream lines(f.graph().str());
  int named = 0;
  for (std::string line; std::getline(lines, line); named += contains(line, "control_checks_test.cc:"))
    EXPECT_EQ(contains(line, ".cc:") || contains(line, ".h:"), contains(line, "control_checks_test.cc:")) << line;
  EXPECT_GT(named, 10) << f.graph();
}

// What is only seen when a loop runs is said of what the program calls.
TEST(WhileLoop, ErrorsNameTheCombinator) {
  const auto grows = [](Tensor state, Tensor) { return concat({state, state}, 0); };
  const std::string unequal = "two turns make f32[2] and f32[4]; values of all turns are put together here, which they can only be if their shapes agree.";
  Function scanned = [&](Tensor x) { return scan(grows, Tensor{1.f}, x); };
  EXPECT_TEXT(ShapeError, scanned(kRow), "scan: " + unequal);
  EXPECT_TEXT(ShapeError, scan(grows, Tensor{1.f}, kRow), "scan: " + unequal);
  const auto some = [](Tensor n) { return boolean_mask(kRow, kRow <= n); };
  Function mapped = [&](Tensor x) { return map(some, x); };
  const std::string rows = "map: two turns make f32[1] and f32[2]; values of all turns are put together here, which they can only be if their shapes agree.";
  EXPECT_TEXT(ShapeError, mapped(kRow), rows);
  EXPECT_TEXT(ShapeError, map(some, kRow), rows);
  Function pairs{[](Tensor a, Tensor b) { return fold([](Tensor s, std::tuple<Tensor, Tensor> row) { return s + std::get<0>(row); }, 0.f, std::tuple{a, b}); },
                 {.signature = {{f32, {kUnknown}}, {f32, {kUnknown}}}}};
  EXPECT_TEXT(ShapeError, pairs(kRow, zeros({3})), "fold: the elements have 4 and 3 rows; they must have the same number.");
  Function chosen = [](Tensor x) { return cond(sum(x) > 0.f, [&] { return x; }, [&] { return -x; }); };
  chosen(kRow);
  EXPECT_NE(chosen.graph().str().find(" = cond("), std::string::npos) << chosen.graph().str();
}

}  // namespace
}  // namespace weft::test
