// Steps of a plan that run side by side: nobody can tell but by the clock.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>

#include "tests/support.h"
#include <weft/weft.h>

namespace weft::test {
namespace {

using Steps = std::vector<FunctionReport::Step>;

// The most steps that share a turn.
std::size_t widest(const Steps& steps) {
  std::size_t most = 0;
  for (std::size_t s = 0, next; s < steps.size(); s = next) {
    for (next = s + 1; next < steps.size() && steps[next].turn == steps[s].turn;) ++next;
    most = std::max(most, next - s);
  }
  return most;
}

std::vector<std::uint32_t> bits(const Tensor& x) {
  std::vector<std::uint32_t> words;
  for (const float f : floats(x)) words.push_back(std::bit_cast<std::uint32_t>(f));
  return words;
}

Tensor numbers(std::int64_t rows, std::int64_t cols, float first) { return reshape(sin(linspace(first, first + 40.f, rows * cols)), {rows, cols}); }

// Eight lookups and sums that do not need each other, and something that needs all of them.
Tensor lookups(const std::vector<Tensor>& tables, const Tensor& ids) {
  std::vector<Tensor> found;
  for (const Tensor& table : tables) found.push_back(cumsum(gather(table, ids), {.axis = 0}));
  return sum(concat(found, 1), {.axis = 1});
}

TEST(Overlap, IndependentStepsShareATurnAndGiveTheSameBits) {
  std::vector<Tensor> tables;
  for (int i = 0; i < 8; ++i) tables.push_back(numbers(500, 32, static_cast<float>(i)));
  const Tensor ids = cast(linspace(0.f, 499.f, 256), i32);
  Function f = lookups, one_by_one{lookups, {.without = {"overlap"}}};
  const auto wanted = bits(lookups(tables, ids));
  for (int call = 0; call < 50; ++call) ASSERT_EQ(bits(f(tables, ids)), wanted);
  EXPECT_EQ(bits(one_by_one(tables, ids)), wanted);
  const FunctionReport::Trace trace = f.explain().traces[0];
  EXPECT_GE(widest(trace.steps), 8u) << f.explain();
  EXPECT_NE(f.explain().str().find("\n  steps side by side: 0-7, 8-15"), std::string::npos) << f.explain();
  EXPECT_EQ(widest(one_by_one.explain().traces[0].steps), 1u);
  EXPECT_EQ(one_by_one.explain().str().find("side by side"), std::string::npos);
}

TEST(Overlap, TheTraceOfACallShowsThemBelowOneAnother) {
  std::vector<Tensor> tables(8, numbers(500, 32, 0));
  const Tensor ids = cast(linspace(0.f, 499.f, 256), i32);
  Function f = [](const std::vector<Tensor>& all, const Tensor& which) { return lookups(all, which); };
  f.profile(20);
  for (int call = 0; call < 20; ++call) f(tables, ids);
  double end = 0;
  const FunctionReport report = f.explain();
  for (const FunctionReport::Step& step : report.traces[0].steps) {
    EXPECT_GE(step.last_microseconds, 0);
    end = std::max(end, step.last_start + step.last_microseconds);
  }
  EXPECT_NE(report.chrome_trace().find(format("\"ts\":0.000,\"dur\":{:.3f}", end)), std::string::npos);
}

TEST(Overlap, TheErrorIsThatOfTheFirstCallAsWritten) {
  const auto body = [](const Tensor& x, const Tensor& ids, const Tensor& others) {
    Tensor slow = x;
    for (int i = 0; i < 4; ++i) slow = matmul(slow, x) * 0.001f;  // long
    const Tensor late = gather(x, ids + cast(slow[0][0] * 0.f, i32));  // needs that, and is written before
    Tensor early = gather(x, others);                                    // is ready at once, together with others
    for (int i = 0; i < 4; ++i) early = early + cumsum(gather(x, others + i), {.axis = 0});
    return sum(late) + sum(early);
  };
  const Tensor x = numbers(300, 300, 1), good = cast(linspace(0.f, 290.f, 64), i32), bad = good + 200;
  Function f = body, one_by_one{body, {.without = {"overlap"}}};
  EXPECT_EQ(bits(f(x, good, good)), bits(body(x, good, good)));
  ASSERT_GT(widest(f.explain().traces[0].steps), 1u) << f.explain();
  const auto said = [&](auto& by, const Tensor& ids, const Tensor& others) {
    try {
      by(x, ids, others);
    } catch (const IndexError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_EQ(said(f, bad, good), said(one_by_one, bad, good));
  EXPECT_EQ(said(f, good, bad), said(one_by_one, good, bad));
  EXPECT_EQ(said(f, bad, bad), said(one_by_one, bad, bad));
  EXPECT_NE(said(f, bad, bad), said(f, good, bad)) << "two lines";
  EXPECT_EQ(bits(f(x, good, good)), bits(body(x, good, good)));
}

TEST(Overlap, AFailingTurnWritesNothing) {
  std::vector<Variable> tables;
  for (int i = 0; i < 8; ++i) tables.emplace_back(numbers(64, 64, static_cast<float>(i)));
  Function step = [&](const Tensor& ids) {
    for (Variable& table : tables) table.scatter_add(ids, cumsum(gather(table, ids), {.axis = 1}));
  };
  const Tensor good = cast(linspace(0.f, 63.f, 64), i32);
  step(good);
  std::vector<std::vector<std::uint32_t>> before;
  for (const Variable& table : tables) before.push_back(bits(table.value()));
  EXPECT_THROW(step(good + 1), IndexError);
  for (std::size_t i = 0; i < tables.size(); ++i) EXPECT_EQ(bits(tables[i].value()), before[i]);
  step(good);
  for (std::size_t i = 0; i < tables.size(); ++i) EXPECT_NE(bits(tables[i].value()), before[i]);
}

// What is written in place is written side by side, too.
TEST(Overlap, UpdatesOfManyVariables) {
  const auto make = [] {
    std::vector<Variable> tables;
    for (int i = 0; i < 8; ++i) tables.emplace_back(numbers(200, 32, static_cast<float>(i)));
    return tables;
  };
  std::vector<Variable> traced = make(), eager = make();
  const auto step = [](std::vector<Variable>& tables, const Tensor& ids) {
    for (Variable& table : tables) table.scatter_add(ids, gather(table, ids) * 0.5f);
  };
  Function f = [&](const Tensor& ids) { step(traced, ids); };
  const Tensor ids = cast(linspace(0.f, 199.f, 150), i32);
  for (int call = 0; call < 10; ++call) {
    f(ids);
    step(eager, ids);
  }
  for (std::size_t i = 0; i < traced.size(); ++i) EXPECT_EQ(bits(traced[i].value()), bits(eager[i].value()));
  const FunctionReport report = f.explain();
  const auto& steps = report.traces[0].steps;
  ASSERT_GE(steps.size(), 8u);
  for (std::size_t i = 1; i < 8; ++i) EXPECT_EQ(steps[steps.size() - 1 - i].turn, steps.back().turn) << report.str();
}

// Programs at random, of calls that are short but not too short: as they are written, and in whatever order and company their plans prefer.
TEST(Overlap, RandomProgramsGiveTheSameBits) {
  std::size_t wide = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    const auto program = [seed](const std::vector<Tensor>& given, const Tensor& ids) {
      std::mt19937 random(seed);
      std::vector<Tensor> values = given;
      const auto any = [&] { return values[random() % values.size()]; };
      for (int n = 0; n < 40; ++n) {
        const Tensor x = any(), y = any();
        switch (random() % 8) {
          case 0: values.push_back(x * 0.5f + y); break;
          case 1: values.push_back(tanh(x) - y); break;
          case 2: values.push_back(gather(x, ids)); break;
          case 3: values.push_back(cumsum(x * 0.01f, {.axis = 1})); break;
          case 4: values.push_back(softmax(x)); break;
          case 5: values.push_back(matmul(x, y, {.transpose_b = true}) * 0.01f); break;
          case 6: values.push_back(ensure_shape(gather(x, unique(ids).values), {48, 48})); break;
          case 7: values.push_back(reverse(x, {0})); break;
        }
      }
      Tensor all = sum(values.back());
      for (std::size_t i = given.size(); i < values.size(); i += 3) all = all + sum(values[i]);
      return all;
    };
    std::vector<Tensor> given;
    for (int i = 0; i < 4; ++i) given.push_back(numbers(48, 48, static_cast<float>(seed + static_cast<unsigned>(i))));
    const Tensor ids = cast(linspace(0.f, 47.f, 48), i32);
    Function f = program;
    const auto wanted = bits(program(given, ids));
    for (int call = 0; call < 3; ++call) ASSERT_EQ(bits(f(given, ids)), wanted) << "seed " << seed;
    wide += widest(f.explain().traces[0].steps) > 1;
  }
  EXPECT_GT(wide, 40u);
}

}  // namespace
}  // namespace weft::test
