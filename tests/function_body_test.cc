// What bodies of Functions do that they had better not do, or that is hard to keep apart.
#include <cmath>

#include <gtest/gtest.h>

#include "tests/function_types.h"

namespace weft::test {
namespace {

TEST(Function, AnOptimizerInAFunctionInAFunction) {
  Adam adam{{.learning_rate = 0.1f}}, reference{{.learning_rate = 0.1f}};
  Function step = [&](Weight& net) { train(adam, net); };
  Function outer = [&](Weight& net) { step(net); };
  Weight net, plain;
  for (int i = 0; i < 3; ++i) outer(net), train(reference, plain);
  EXPECT_EQ(net.w.value().item<float>(), plain.w.value().item<float>());
}

TEST(Function, AGradientOfAnArgumentIsNoQuestionOfItsIdentity) {
  int runs = 0;
  Function slope = [&](Variable& v) {
    ++runs;
    GradientTape tape;
    const Tensor y = square(v);
    return tape.gradient(y, v);
  };
  Variable a{1.f}, b{2.f};
  EXPECT_EQ(slope(a).item<float>(), 2);
  EXPECT_EQ(slope(b).item<float>(), 4);
  EXPECT_EQ(runs, 1);
}

TEST(Function, WhatABodyAsksAboutAVariableIsThatOfTheArgument) {
  Variable w{1.f, {.name = "w"}}, bias{1.f, {.name = "bias"}};
  Function decay = [](Variable& v) {
    if (v.name() != "bias") v.assign(v * 0.5f);
  };
  decay(w), decay(bias), decay(w);
  EXPECT_EQ(w.value().item<float>(), 0.25f);
  EXPECT_EQ(bias.value().item<float>(), 1);
  EXPECT_EQ(decay.explain().traces[1].cause, "the body looks at which Variables it is given, and other ones are passed");

  Variable held{0.f}, other{0.f};
  Function f = [&](Variable& v) { v.assign_add(v.same_slot(held) ? 1.f : 100.f); };
  f(held), f(other);
  EXPECT_EQ(held.value().item<float>(), 1);
  EXPECT_EQ(other.value().item<float>(), 100);
}

TEST(Function, RecursionThatCannotEndIsRefused) {
  std::function<Tensor(Tensor)> self;
  Function count = [&](Tensor x) -> Tensor { return cond(x > 0.f, [&] { return self(x - 1.f) + 1.f; }, [&] { return x; }); };
  self = [&](Tensor x) { return count(x); };
  EXPECT_EQ(message<TraceError>([&] { count(3.f); }).find("traced inside itself 100 times; recursion must end on a host value") != std::string::npos, true);
}

TEST(Function, AnArgumentKeptByTheBodyIsRefusedAfterwards) {
  std::vector<Variable> kept;
  Function f = [&](Variable& v) { kept.push_back(v); };
  Variable v{1.f};
  f(v);
  EXPECT_EQ(message<StateError>([&] { kept[0].value(); }),
            "Variable: this handle was kept by the body of a Function from an argument, for which it stood only while the body was traced; keep "
            "the Variable that is passed.");
}

TEST(Function, ALeakedSymbolIsNoArgument) {
  Tensor leaked;
  Function f = [&](Tensor x) { leaked = x * 2; return x; };
  f(1.f);
  Function g = [](Tensor x) { return x + 1; };
  g(1.f);
  EXPECT_EQ(message<TraceError>([&] { g(leaked); }),
            "Function: an argument f32[] was made while tracing and has no value outside; return it from the traced function.");
}

TEST(Function, TensorsBehindPointersAreRefusedByName) {
  const auto p = std::make_shared<Pair>(Pair{1.f, 2.f});
  Function f{[](std::shared_ptr<Pair> a) { return a->a + a->b; }, {.name = "f", .args = {"a"}}};
  EXPECT_EQ(message<TraceError>([&] { f(p); }),
            "f: `a.a` is a Tensor behind a pointer, or in an object that cannot be copied, so the body would work on it and not on a copy; "
            "pass it as an argument of its own, or hold it in a Variable.");
  EXPECT_EQ(p->a.item<float>(), 1);
  Function g{[](Tensor x) { return std::make_shared<Pair>(Pair{x, x + 1}); }, {.name = "g"}};
  EXPECT_EQ(message<TraceError>([&] { g(1.f); }),
            "g: the result holds a Tensor behind a pointer, which the results of all calls would share; return it by value.");
}

struct Layer {
  virtual ~Layer() = default;
  virtual Tensor operator()(Tensor x) const = 0;
  WEFT_VIRTUAL_FIELDS()
};
struct Relu final : Layer {
  Tensor operator()(Tensor x) const override { return relu(x); }
  WEFT_FIELDS()
};
struct Scale final : Layer {
  explicit Scale(float by) : weight(by) {}
  Variable weight;
  Tensor operator()(Tensor x) const override { return x * weight; }
  WEFT_FIELDS(weight)
};
struct Minus final : Layer {
  Tensor operator()(Tensor x) const override { return -x; }
  WEFT_FIELDS()
};

TEST(Function, TheClassOfAnObjectBehindAPointerIsPartOfTheKind) {
  using Net = std::vector<std::unique_ptr<Layer>>;
  Function f = [](Net& net, Tensor x) {
    for (const auto& layer : net) x = (*layer)(x);
    return x;
  };
  Net a, b, c, d;
  a.push_back(std::make_unique<Relu>());
  b.push_back(std::make_unique<Minus>());
  c.push_back(std::make_unique<Scale>(3.f));
  d.push_back(std::make_unique<Scale>(5.f));
  EXPECT_EQ(f(a, -2.f).item<float>(), 0);
  EXPECT_EQ(f(b, -2.f).item<float>(), 2);
  EXPECT_EQ(f(c, -2.f).item<float>(), -6);
  EXPECT_EQ(f(d, -2.f).item<float>(), -10);
}

TEST(Function, ATapeSeesGradientsThatTheBodyGives) {
  Function f = [](Tensor x) { return prevent_gradient(x * 2, "no gradient here"); };
  const Tensor x = ones({2});
  f(x);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  EXPECT_EQ(message<GradientError>([&] { tape.gradient(y, x); }), "prevent_gradient: no gradient here");
}

TEST(Function, InABlockACallThatThrowsIsUndoneAsAWhole) {
  Variable a{ones({3}), {.shape = Shape{kUnknown}}}, b{ones({3})};
  Function f{[&](Tensor x) { a.assign(x), b.assign(x); }, {.signature = {Spec{f32, {kUnknown}}}}};
  atomically([&] { EXPECT_THROW(f(ones({2})), ShapeError); });
  EXPECT_EQ(a.shape(), Shape{3});
  EXPECT_EQ(a.version(), 0u);
  f(zeros({3}));
  EXPECT_EQ(a.version() + b.version(), 2u);
}

TEST(Function, ReplacingAVariableOfAnArgumentIsRefused) {
  Params p;
  Function f{[](Params& q) { q.hparams.lr_param = Variable(5.f); }, {.name = "f"}};
  EXPECT_EQ(message<TraceError>([&] { f(p); }),
            "f: a Variable in an argument is replaced by another one, not assigned to by the body, which later calls would not do; return the new "
            "value, or hold it in a Variable.");
  EXPECT_EQ(p.hparams.lr_param.value().item<float>(), 0.01f);
}

TEST(Function, EagerlyASignatureHoldsAndAThrowChangesNothing) {
  Function twice{[](Tensor x) { return x * 2; }, {.signature = {Spec{f64, {}}}, .run_eagerly = true}};
  EXPECT_EQ(twice(3).dtype(), f64);
  Pair p{1.f, 2.f};
  bool fails = true;
  Function f{[&](Pair& q) {
               q.a = q.a + 1;
               if (fails) throw std::runtime_error("no");
             },
             {.run_eagerly = true}};
  EXPECT_THROW(f(p), std::runtime_error);
  EXPECT_EQ(p.a.item<float>(), 1);
  fails = false;
  f(p);
  EXPECT_EQ(p.a.item<float>(), 2);
}

TEST(Function, ShapesThatCannotBeCountedAreErrorsOfTheirOp) {
  Function f = [](Tensor x) { return sum(broadcast_to(x, {std::int64_t{1} << 61})); };
  EXPECT_THROW(f(cast(Tensor(1.f), f64)), Error);
}

TEST(Function, NegativeZeroIsAnotherNumber) {
  Function f = [](Tensor i) { return std::tuple(one_hot(i, 3), one_hot(i, 3, {.off_value = -0.0})); };
  const auto [plain, negative] = f(Tensor({1}));
  EXPECT_FALSE(std::signbit(plain.to_vector<float>()[0]));
  EXPECT_TRUE(std::signbit(negative.to_vector<float>()[0]));
}

// SEMANTICS 138, 139, 141
// PAIN 1
TEST(Function, AVariableMadeByTheBodyIsMadeOnce) {
  std::optional<Variable> count;
  Function f{[&](Tensor x) {
               Variable n{0.f};
               n.assign_add(sum(x));
               if (!count) count.emplace(10.f);
               return n.value() + *count;
             },
             {.name = "f"}};
  EXPECT_EQ(number(f(1.f)), 11);
  EXPECT_EQ(number(f(2.f)), 13);
  EXPECT_EQ(number(f(Tensor({1.f, 1.f}))), 15) << "another kind goes on with the same Variable";

  bool more = false;
  Function g{[&](Tensor x) {
               if (more) Variable second{1.f};
               return x;
             },
             {.name = "g"}};
  g(1.f);
  more = true;
  EXPECT_THROW(g(ones({2})), StateError);
  EXPECT_EQ(number(g(2.f)), 2);

  Function h{[](Tensor x) { return Variable{x * 2}.value(); }, {.name = "h"}};
  EXPECT_EQ(message<TraceError>([&] { h(1.f); }),
            "Variable: the value f32[] depends on what a call of the Function that is traced brings, so it is another one in each; make the Variable "
            "outside, its first value in an init_scope, or a local one of each call.");
}

// Whatever it is given to first.
TEST(Function, ALeakedSymbolNamesItsLineWhereItsValueIsWanted) {
  Tensor leaked;
  Variable v{1.f};
  const int line = __LINE__ + 1;
  Function f = [&](Tensor x) { leaked = x * 2; return x; };
  f(1.f);
  const auto refused = [&](const auto& use) {
    try {
      use();
    } catch (const TraceError& error) {
      EXPECT_EQ(error.location().line, line) << error.what();
      return error.message();
    }
    return std::string("no error");
  };
  const std::string rest = " f32[] was made while tracing and has no value outside; return it from the traced function.";
  EXPECT_EQ(refused([&] { leaked.item<float>(); }), "item: the tensor" + rest);
  EXPECT_EQ(refused([&] { leaked.to_vector<float>(); }), "to_vector: the tensor" + rest);
  EXPECT_EQ(refused([&] { leaked.data<float>(); }), "data: the tensor" + rest);
  EXPECT_EQ(refused([&] { if (leaked) FAIL(); }), "bool: the tensor" + rest);
  EXPECT_EQ(refused([&] { v.assign(leaked); }), "assign: the value" + rest);
  EXPECT_EQ(refused([&] { atomically([&] { v.assign(leaked); }); }), "assign: the value" + rest);
  EXPECT_EQ(refused([&] { Variable made{leaked}; }), "Variable: the value" + rest);
  EXPECT_EQ(refused([&] { Function g = [&](Tensor x) { return Variable{leaked} + x; }; g(1.f); }), "Variable: the value" + rest);
  Function same = [](Tensor x) { return x; };
  EXPECT_EQ(refused([&] { same(leaked); }), "Function: an argument" + rest);
  EXPECT_EQ(number(v), 1);
}

// SEMANTICS 137, 158
TEST(Function, GradientsCrossFunctionsInsideEachOther) {
  Variable w{3.f};
  Function inner = [&](Tensor x) { return x * w * w; };
  Function outer = [&](Tensor x) { return inner(x) + inner(x * 2); };
  for (int i = 0; i < 2; ++i) {
    const Tensor x = fill({}, 2.f);
    GradientTape tape;
    tape.watch(x);
    const Tensor y = outer(x);
    EXPECT_EQ(number(y), 54);
    const std::vector<Tensor> slopes = tape.gradient(y, Sources{x, w});
    EXPECT_EQ(number(slopes[0]), 27);
    EXPECT_EQ(number(slopes[1]), 36);
  }
}

// SEMANTICS 144
TEST(Function, ReadsAndWritesOfAVariableKeepTheirOrder) {
  Variable v{1.f};
  const auto body = [](Variable& of, Tensor x) {
    const Tensor first = of;
    of.assign(first * 2 + x);
    const Tensor second = of;
    of.assign_add(second);
    of.assign(of.value() - first);
    return std::tuple(first, second, of.value());
  };
  Function f = [&](Tensor x) { return body(v, x); };
  Variable plain{1.f};
  for (int i = 0; i < 3; ++i) {
    const auto [a, b, c] = f(0.5f);
    const auto [p, q, r] = body(plain, 0.5f);
    EXPECT_EQ(number(a), number(p));
    EXPECT_EQ(number(b), number(q));
    EXPECT_EQ(number(c), number(r));
  }
  EXPECT_EQ(v.version(), 3u) << "a call publishes once";
}

// SEMANTICS 108
TEST(Function, TwoFunctionsShareNoTraces) {
  float by = 2;
  const auto body = [&](Tensor x) { return x * by; };
  Function f = body, copy = f;
  EXPECT_EQ(number(f(1.f)), 2);
  by = 3;
  Function g = body;
  EXPECT_EQ(number(g(1.f)), 3);
  EXPECT_EQ(number(copy(1.f)), 2) << "copies of one share them";
}

// SEMANTICS 143
TEST(Function, CodeCanStepOutOfATrace) {
  std::optional<Tensor> made;
  Variable v{1.f};
  Function f = [&](Tensor x) {
    init_scope([&] {
      made = ones({2}) * 3;
      v.assign_add(1.f);
    });
    return x + *made;
  };
  EXPECT_EQ(floats(f(1.f)), (std::vector<float>{4, 4}));
  f(1.f);
  EXPECT_EQ(floats(*made), (std::vector<float>{3, 3}));
  EXPECT_EQ(number(v), 2) << "once, while tracing";
}

// Groups too large to run without tiles, of several outputs, with values that are used inside only, rounded after every op.
TEST(Function, LargeGroupsGiveTheEagerBits) {
  const auto body = [](Tensor x, Tensor row) {
    const Tensor a = tanh(x * 2) + row, b = exp(-a * a), c = relu(a - b);
    return std::tuple(b, c * b + x, sum(c, {.axis = 0}), c > 0);
  };
  for (const DType dtype : {f32, f64, f16, bf16}) {
    Generator g(3);
    const Tensor x = cast(g.normal({70, 1031}), dtype), row = cast(g.normal({1031}), dtype);
    Function f = body;
    const auto traced = f(x, row), eager = body(x, row);
    const auto same = [](const Tensor& p, const Tensor& q) {
      EXPECT_EQ(p.spec(), q.spec());
      EXPECT_EQ(all_true(equal(p, q)).item<bool>(), true);
    };
    same(std::get<0>(traced), std::get<0>(eager));
    same(std::get<1>(traced), std::get<1>(eager));
    same(std::get<2>(traced), std::get<2>(eager));
    same(std::get<3>(traced), std::get<3>(eager));
    EXPECT_LT(f.explain().traces[0].steps.size(), f.explain().traces[0].ops / 2);
  }
}

}  // namespace
}  // namespace weft::test
