// Steps of optimizers and scatters in Functions change Variables where they lie, and nobody can tell.
#include <gtest/gtest.h>

#include "tests/support.h"
#include <weft/weft.h>

namespace weft::test {
namespace {

struct Net {
  Variable w{zeros({64, 32})}, b{zeros({32})};
};

Tensor input() { return reshape(arange(0.f, 256.f, 1.f) * 0.01f, {4, 64}); }

template <class Optimizer>
Tensor step(Optimizer& optimizer, Net& net, Tensor x) {
  GradientTape tape;
  const Tensor loss = mean(square(matmul(x, net.w) + net.b - 1.f));
  optimizer.apply(tape.gradient(loss, net), net);
  return loss;
}

const void* address(const Variable& v) { return v.value().data<float>(); }

TEST(FunctionUpdate, ChangesVariablesWhereTheyLie) {
  Net net;
  Adam adam{{.learning_rate = 0.01f}};
  Function f = [&](Tensor x) { return step(adam, net, x); };
  f(input());
  const void* const w = address(net.w);
  const std::uint64_t version = net.w.version();
  for (int i = 0; i < 3; ++i) f(input());
  EXPECT_EQ(address(net.w), w);
  EXPECT_EQ(net.w.version(), version + 3);
}

TEST(FunctionUpdate, GivesTheBitsOfEagerSteps) {
  const auto both = [](auto make) {
    Net eager, traced, passed;
    auto a = make(), b = make(), c = make();
    Function captured = [&](Tensor x) { return step(b, traced, x); };
    Function argument = [&](Net& net, Tensor x) { return step(c, net, x); };
    for (int i = 0; i < 4; ++i) {
      const Tensor x = input() + static_cast<float>(i);
      const float loss = number(step(a, eager, x));
      EXPECT_EQ(number(captured(x)), loss);
      EXPECT_EQ(number(argument(passed, x)), loss);
    }
    for (const Net* net : {&traced, &passed}) {
      EXPECT_EQ(floats(net->w), floats(eager.w));
      EXPECT_EQ(floats(net->b), floats(eager.b));
    }
    EXPECT_EQ(a.iterations.value().template item<std::int64_t>(), b.iterations.value().template item<std::int64_t>());
  };
  both([] { return Adam{{.learning_rate = 0.01f}}; });
  both([] { return SGD{{.learning_rate = 0.01f, .momentum = 0.9f}}; });
  both([] { return SGD{{.learning_rate = 0.01f}}; });
}

TEST(FunctionUpdate, AValueThatSomebodyHoldsStaysAsItIs) {
  Net net;
  Adam adam{{.learning_rate = 0.01f}};
  Function f = [&](Tensor x) {
    const Tensor before = net.b.value();
    step(adam, net, x);
    return before;
  };
  f(input());
  const Tensor held = net.w.value();
  const std::vector<float> was = floats(held), b = floats(net.b);
  EXPECT_EQ(floats(f(input())), b) << "what the body has read before the step is what it was";
  EXPECT_EQ(floats(held), was);
  EXPECT_NE(floats(net.w), was);
  EXPECT_NE(floats(net.b), b);
}

TEST(FunctionUpdate, AFailureChangesNothing) {
  Net net;
  Adam adam{{.learning_rate = 0.01f}};
  Function f = [&](Tensor x, Tensor most) {
    const Tensor loss = step(adam, net, x);
    check(loss < most, "loss");
    check(all_true(net.w < 100.f), "the new weights");  // looks at what the step has made, so it cannot wait
  };
  f(input(), 1e9f);
  const std::vector<float> w = floats(net.w);
  EXPECT_THROW(f(input(), 0.f), CheckError);
  EXPECT_EQ(floats(net.w), w);
  EXPECT_EQ(adam.iterations.value().item<std::int64_t>(), 1);
}

TEST(FunctionUpdate, GradientsThatComeFromOutsideAreReadInTime) {
  SGD sgd{{.learning_rate = 1.f}};
  Variable a{fill({4096}, 1.f)}, b{fill({4096}, 10.f)};
  Function swapped = [&] { sgd.apply({Grad(b.value()), Grad(a.value())}, std::vector<Variable>{a, b}); };
  swapped();
  EXPECT_EQ(floats(a), std::vector<float>(4096, -9));
  EXPECT_EQ(floats(b), std::vector<float>(4096, 9));
  Function given = [&](Tensor g, Tensor h) { sgd.apply({Grad(g), Grad(h)}, std::vector<Variable>{a, b}); };
  const Tensor held = a.value(), held_too = b.value();
  given(fill({4096}, 1.f), fill({4096}, 100.f));
  EXPECT_EQ(floats(a), std::vector<float>(4096, -10));
  EXPECT_EQ(floats(b), std::vector<float>(4096, -91));
}

TEST(FunctionUpdate, AGradientOfUnknownSizeIsWrittenToo) {
  SGD sgd{{.learning_rate = 1.f}};
  Variable w{zeros({2})};
  Function f = [&](Tensor g, Tensor keep) { sgd.apply({Grad(boolean_mask(g, keep))}, std::vector<Variable>{w}); };
  f(Tensor({1.f, 2.f, 3.f}), Tensor({true, false, true}));
  EXPECT_EQ(floats(w), (std::vector<float>{-1, -3}));
  EXPECT_EQ(sgd.iterations.value().item<std::int64_t>(), 1);
}

TEST(FunctionUpdate, IsPartOfABlock) {
  Net net;
  Adam adam{{.learning_rate = 0.01f}};
  Function f = [&](Tensor x) { return step(adam, net, x); };
  f(input());
  const std::vector<float> w = floats(net.w);
  EXPECT_THROW(atomically([&] {
    f(input());
    EXPECT_NE(floats(net.w), w);
    throw std::runtime_error("stop");
  }), std::runtime_error);
  EXPECT_EQ(floats(net.w), w);
}

// A call without results is not taken for one that changes something.
TEST(FunctionUpdate, ACallWithoutResultsMayBeTheLast) {
  Variable v{zeros({3})};
  Function f = [&](Tensor x) {
    v.assign_add(x);
    cond(sum(x) > 0.f, [&] { check(all_true(x < 9.f), "big"); }, [] {});
  };
  f(ones({3}));
  EXPECT_THROW(f(fill({3}, 9.f)), CheckError);
  EXPECT_EQ(floats(v), std::vector<float>(3, 1));
  EXPECT_NE(f.graph().html().find("cond"), std::string::npos);
}

// --- scatters ---

struct Table {
  Variable rows{reshape(arange(0.f, 400'000.f, 1.f), {100'000, 4})};
};

const float* row(const Variable& v, std::int64_t i) { return v.value().data<float>() + 4 * i; }

TEST(FunctionUpdate, ScattersChangeTheNamedRowsWhereTheyLie) {
  Table table, eager;
  Function f = [&](Tensor at, Tensor x) {
    const Tensor seen = gather(table.rows, {5, 99'999, 5});
    table.rows.scatter_update(at, x + 1.f);
    return seen;
  };
  const Tensor at{5, 99'999, 5}, x = reshape(arange(0.f, 12.f, 1.f), {3, 4});
  f(at, x);
  const void* const place = address(table.rows);
  EXPECT_EQ(floats(f(at, x * 2.f)), floats(gather(eager.rows.scatter_update(at, x + 1.f), at))) << "what it reads is what was there";
  EXPECT_EQ(address(table.rows), place);
  eager.rows.scatter_update(at, x * 2.f + 1.f);
  EXPECT_EQ(floats(table.rows), floats(eager.rows));
  const std::uint64_t version = table.rows.version();
  EXPECT_TEXT(IndexError, f({5, 100'000, 5}, x),
              "tensor_scatter_nd_update: indices[1,0] is 100000; axis 0 of x f32[100000,4] takes indices from 0 to 99999.");
  EXPECT_EQ(table.rows.version(), version);
  EXPECT_EQ(floats(table.rows), floats(eager.rows));
  const Tensor held = table.rows.value();
  f(at, x);
  EXPECT_EQ(held.data<float>()[20], 17.f) << "what somebody holds stays as it is";
  EXPECT_EQ(row(table.rows, 5)[0], 9.f);
}

TEST(FunctionUpdate, ScattersOfUnknownLengthAreChecked) {
  Table table;
  Function f = [&](Tensor at, Tensor keep, Tensor x) { table.rows.scatter_add(boolean_mask(at, keep), x); };
  const Tensor at{1, 2, 3}, ones_of_two = ones({2, 4});
  f(at, {true, false, true}, ones_of_two);
  const void* const place = address(table.rows);
  f(at, {true, false, true}, ones_of_two);
  EXPECT_EQ(address(table.rows), place);
  EXPECT_EQ(row(table.rows, 1)[0], 6.f);
  EXPECT_EQ(row(table.rows, 2)[0], 8.f);
  EXPECT_THROW(f(at, {true, true, true}, ones_of_two), ShapeError);
  EXPECT_THROW(f({1, 2, -3}, {true, false, true}, ones_of_two), IndexError);
  EXPECT_EQ(row(table.rows, 1)[0], 6.f);
}

// One reads what the other changes.
TEST(FunctionUpdate, ScattersReadWhatWasThere) {
  Variable a{zeros({4096, 4})}, b{ones({4096, 4})};
  Function f = [&](Tensor all) {
    const Tensor before = a.value();
    a.scatter_add(all, b.value());
    b.scatter_sub(all, before);
  };
  const Tensor all = arange(0, 4096, 1);
  for (int i = 0; i < 3; ++i) f(all);  // (0, 1) -> (1, 1) -> (2, 0) -> (2, -2)
  EXPECT_EQ(floats(a), std::vector<float>(4 * 4096, 2));
  EXPECT_EQ(floats(b), std::vector<float>(4 * 4096, -2));
  Function own = [&](Tensor some) { a.scatter_add(some, a.value()); };
  own(all);
  own(all);
  EXPECT_EQ(floats(a), std::vector<float>(4 * 4096, 8));
  Function twice = [&](Tensor some, Tensor x) { a.scatter_add(some, x).scatter_mul(some, x).scatter_add(some, x); };
  twice({7}, fill({1, 4}, 2.f));
  EXPECT_EQ(row(a, 7)[3], 22.f);
  EXPECT_EQ(row(a, 8)[3], 8.f);
}

TEST(FunctionUpdate, SparseStepsLeaveTheOtherRowsAlone) {
  Table table, eager;
  Adagrad adagrad{{.learning_rate = 0.5f}}, reference{{.learning_rate = 0.5f}};
  const auto step = [](Adagrad& optimizer, Table& t, const Tensor& at) {
    GradientTape tape;
    optimizer.apply(tape.gradient(sum(square(gather(t.rows, at))), t), t);
  };
  Function f = [&](Tensor at) { step(adagrad, table, at); };
  const Tensor at{3, 70'000, 3};
  f(at);
  step(reference, eager, at);
  const void* const place = address(table.rows);
  f(at);
  step(reference, eager, at);
  EXPECT_EQ(address(table.rows), place);
  EXPECT_EQ(floats(table.rows), floats(eager.rows));
  EXPECT_NE(row(table.rows, 3)[0], 12.f);
  EXPECT_EQ(row(table.rows, 4)[0], 16.f);
}

TEST(FunctionUpdate, SlicesChangeWhereTheyLie) {
  for (const std::int64_t size : {4, 100'000}) {
    SCOPED_TRACE(size);
    Variable v{zeros({size, 8})};
    Function f = [&](Tensor x) {
      v[2].assign(x);
      return sum(x);
    };
    Function g = [&](Tensor x) { v(all, range(0, 2)).assign_add(x); };
    const Tensor row = ones({8}), both = ones({size, 2});
    const void* const place = address(v);
    for (int i = 0; i < 2; ++i) {
      f(row);
      EXPECT_EQ(address(v), place);
      g(both);
      EXPECT_EQ(address(v), place);
    }
    EXPECT_EQ(v.value()(2, 0).item<float>(), 2);
    EXPECT_EQ(v.value()(2, 7).item<float>(), 1);
    const Tensor held = v;
    f(row * 3.f);
    EXPECT_NE(address(v), place);
    EXPECT_EQ(held(2, 7).item<float>(), 1);
  }
}

// What is computed whole, beside it, is swapped in, not copied while readers wait.
TEST(FunctionUpdate, WritesBesideScattersAreSwapped) {
  for (const std::int64_t size : {64, 400'000}) {
    SCOPED_TRACE(size);
    Variable log{zeros({100'000})}, big{ones({size})}, small{0.f}, same{ones({size})};
    Function f = [&](Tensor i) {
      const Tensor fresh = big * 2.f;
      big.assign(fresh);
      log.scatter_update(expand_dims(i, 0), expand_dims(sum(fresh), 0));
      small.assign_add(1.f);
      same.assign(same.value());
      return fresh;
    };
    const void *const place = address(log), *const third = address(same);
    for (int i = 0; i < 3; ++i) {
      const Tensor made = f(Tensor(i));
      EXPECT_EQ(static_cast<const void*>(made.data<float>()), address(big));
      EXPECT_EQ(address(log), place);
      EXPECT_EQ(address(same), third);
    }
    EXPECT_EQ(big.value()(0).item<float>(), 8);
    EXPECT_EQ(log.value()(2).item<float>(), 8 * static_cast<float>(size));
    EXPECT_EQ(small.value().item<float>(), 3);
    EXPECT_EQ(same.version(), 3u);
    const Tensor before = big;
    EXPECT_THROW(f(Tensor(-1)), IndexError);
    EXPECT_TRUE(big.value().same_as(before));
    EXPECT_THROW(atomically([&] {
      f(Tensor(5));
      EXPECT_EQ(small.value().item<float>(), 4);
      EXPECT_EQ(same.value().size(), size);
      throw 1;
    }), int);
    EXPECT_EQ(log.value()(5).item<float>(), 0);
  }
}

// A Variable that becomes what another one was, which changes where it lies.
TEST(FunctionUpdate, WhatIsKeptOfAScatteredValueStays) {
  Variable a{zeros({4096, 4})}, b{ones({4096, 4})};
  Function f = [&](Tensor at, Tensor x) {
    a.assign(b.value());
    b.scatter_add(at, x);
  };
  f(Tensor({1}), ones({1, 4}));
  EXPECT_EQ(floats(a), std::vector<float>(4 * 4096, 1));
  EXPECT_EQ(row(b, 1)[0], 2);
  f(Tensor({1}), ones({1, 4}));
  EXPECT_EQ(row(a, 1)[0], 2);
  EXPECT_EQ(row(b, 1)[0], 3);
}

}  // namespace
}  // namespace weft::test
