// Gradients in a graph: those that functions give, and what is said where there are none.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support.h"
#include <weft/compat/v1.h>
#include <weft/weft.h>

namespace weft {
namespace {

namespace v1 = compat::v1;
using test::floats;
using test::message;
using test::number;
using Floats = std::vector<float>;

// x squared, with a gradient that nobody would take for the right one.
auto tripled() {
  return custom_gradient([](Tensor x) { return std::pair(x * x, [](Tensor dy) { return dy * 3; }); });
}

TEST(V1Gradients, AreThoseThatFunctionsGive) {
  v1::Graph graph;
  const auto scope = graph.as_default();
  const Tensor x = v1::placeholder(f32, {}, "x");
  const Variable w = v1::get_variable("w", 5.f);
  const Tensor h = w * x, y = tripled()(h) * 2;
  const auto both = custom_gradient([](Tensor a, Tensor b) {
    const Tensor product = a * b;
    return std::pair(std::tuple(product, a + b), [=](Tensor dp, Tensor ds) { return std::tuple(dp * 10 + product, ds * 100); });
  });
  const auto [product, total] = both(h, x);
  const auto first = custom_gradient([&](Tensor a) {
    return std::pair(a * w, [=](Tensor dy, const std::vector<Variable>& variables) {
      EXPECT_TRUE(variables.size() == 1 && variables[0].same_slot(w));
      return std::vector<Tensor>{dy, dy * 1000};
    });
  });
  const Tensor z = first(x);
  const std::vector<Tensor> fetched{v1::gradients(y, {h})[0],       v1::gradients(y, {w})[0],    v1::gradients(product, {h})[0],
                                    v1::gradients(total, {x})[0],   v1::gradients(z, {w})[0],    v1::gradients(z, {x})[0],
                                    v1::gradients(square(y), {x})[0], v1::gradients(h * h, {h})[0], y};
  const Tensor second = v1::gradients(v1::gradients(product, {h})[0], {h})[0];  // of what the gradient function uses
  const v1::Session session(graph);
  session.run(v1::global_variables_initializer());
  const v1::Feeds two{{x, 2}};
  Floats values;
  for (const Tensor& each : session.run(fetched, two)) values.push_back(number(each));
  // h = 10, y = 200, product = 20. Of the total, 100 come to x at once, and the product to h, of which x gets w times as much.
  EXPECT_EQ(values, (Floats{6, 12, 30, 100 + 20 * 5, 1000, 1, 2 * 200 * 6 * 5, 20, 200}));
  EXPECT_EQ(number(session.run(second, two)), 2);
}

TEST(V1Gradients, ThatFunctionsGiveElsewhereDoNotMatter) {
  v1::Graph graph;
  const auto scope = graph.as_default();
  const Variable w = v1::get_variable("w", 5.f);
  const Tensor aside = tripled()(Tensor(w)), positive = w > 0.f;
  const Tensor branch = cond(positive, [&] { return tripled()(Tensor(w)); }, [&] { return w * 2.f; });
  const Tensor y = w * w * stop_gradient(w);
  const v1::Session session(graph);
  session.run(v1::global_variables_initializer());
  EXPECT_EQ(number(session.run(v1::gradients(y, {w})[0])), 50);
  EXPECT_EQ(number(session.run(v1::gradients(branch * w, {branch})[0])), 5);  // the way begins behind it
  EXPECT_EQ(number(session.run(aside + branch)), 50);
  EXPECT_EQ(message<TraceError>([&] { v1::gradients(branch * w, {w}); }),
            "gradients: a branch, a loop or a Function that writes gives a gradient of its own between y and xs, and its calls do not show that; give the gradient "
            "around the whole, or leave it out.");
  const Tensor loop = while_loop([](Tensor a) { return a < 100.f; }, [](Tensor a) { return tripled()(a); }, Tensor(w));
  EXPECT_THROW(v1::gradients(loop, {w}), TraceError);
  EXPECT_EQ(number(session.run(loop)), 625);
}

TEST(V1Gradients, AreThoseThatFunctionsInsideOfFunctionsGive) {
  v1::Graph graph;
  const auto scope = graph.as_default();
  const Variable w = v1::get_variable("w", 5.f);
  Variable calls = v1::get_variable("calls", 0.f);
  Function f = [](Tensor x) { return tripled()(x) + x; };
  Function counts = [&](Tensor x) {
    calls.assign_add(1.f);
    return tripled()(x) + x;
  };
  const Tensor y = f(Tensor(w)), again = f(w * 2.f), counted = counts(Tensor(w));
  const v1::Session session(graph);
  session.run(v1::global_variables_initializer());
  EXPECT_EQ(number(session.run(v1::gradients(y, {w})[0])), 4);
  EXPECT_EQ(number(session.run(v1::gradients(again, {w})[0])), 8);
  EXPECT_EQ(number(session.run(counted)), 30);
  EXPECT_EQ(number(session.run(calls)), 1);
  EXPECT_THROW(v1::gradients(counted, {w}), TraceError);
  EXPECT_EQ(number(session.run(v1::gradients(w * w, {w})[0])), 10);
}

TEST(V1Gradients, GoThroughWhatIsComputedAgainAndNotThroughWhatIsPrevented) {
  v1::Graph graph;
  const auto scope = graph.as_default();
  const Variable w = v1::get_variable("w", Tensor({1.f, 2.f}));
  const auto again = recompute_grad([](Tensor x) { return x * x * x; });
  const Tensor y = again(Tensor(w)), closed = prevent_gradient(y, "Not this way.");
  const v1::Session session(graph);
  session.run(v1::global_variables_initializer());
  EXPECT_EQ(floats(session.run(v1::gradients(y, {w})[0])), (Floats{3, 12}));
  EXPECT_EQ(message<GradientError>([&] { v1::gradients(closed, {w}); }), "prevent_gradient: Not this way.");
  EXPECT_EQ(floats(session.run(closed)), (Floats{1, 8}));
  SGD sgd{{.learning_rate = 1.f}};
  const v1::Operation train = v1::minimize(sgd, sum(tripled()(Tensor(w))));
  session.run(v1::global_variables_initializer());  // there are those of the optimizer now
  session.run(train);
  EXPECT_EQ(floats(session.run(w)), (Floats{-2, -1}));
}

// A tape of its own inside of the graph sees what it always sees.
TEST(V1Gradients, AgreeWithATapeInsideOfTheGraph) {
  v1::Graph graph;
  const auto scope = graph.as_default();
  const Tensor x = v1::placeholder(f32, {}, "x");
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = tripled()(x * 2.f);
  const std::vector<Tensor> both{tape.gradient(y, x), v1::gradients(y, {x})[0]};
  const v1::Session session(graph);
  for (const Tensor& each : session.run(both, {{x, 7}})) EXPECT_EQ(number(each), 6);
}

// Who never asks for the gradient of a Variable may read it.
TEST(V1Gradients, AskForVariablesOnlyWhereTheyAreWanted) {
  v1::Graph graph;
  const auto scope = graph.as_default();
  const Tensor x = v1::placeholder(f32, {}, "x");
  const Variable w = v1::get_variable("w", 5.f);
  const Tensor y = custom_gradient([&](Tensor a) { return std::pair(a * w, [](Tensor dy) { return dy * 3; }); })(x);
  const Tensor dx = v1::gradients(y * 2, {x})[0];
  const std::string refused = "custom_gradient: the function reads Variable \"w\", but its gradient function does not take Variables; let it take const "
                              "std::vector<Variable>& as well, and return their gradients behind the others.";
  EXPECT_EQ(message<GradientError>([&] { v1::gradients(y, {w}); }), refused);
  EXPECT_EQ(message<GradientError>([&] { v1::gradients(y, {x, w}); }), refused);
  SGD sgd;
  EXPECT_EQ(message<GradientError>([&] { v1::minimize(sgd, y); }), refused);
  {
    GradientTape tape;  // which follows what is read of w
    EXPECT_EQ(message<GradientError>([&] { custom_gradient([&](Tensor a) { return std::pair(a * w, [](Tensor dy) { return dy; }); })(x); }), refused);
  }
  const v1::Session session(graph);
  session.run(v1::global_variables_initializer());
  EXPECT_EQ(number(session.run(y, {{x, 2}})), 10);
  EXPECT_EQ(number(session.run(dx, {{x, 2}})), 6);
}

// What is computed again has the gradients of its ops, wherever it stands.
TEST(V1Gradients, GoThroughWhatIsComputedAgainInParts) {
  v1::Graph graph;
  const auto scope = graph.as_default();
  const Tensor x = v1::placeholder(f32, {}, "x");
  const Variable w = v1::get_variable("w", 5.f);
  const auto again = recompute_grad([&](Tensor a) { return a * a * w; });
  const Tensor chosen = cond(x > 0.f, [&] { return again(x); }, [&] { return x; });
  const Tensor looped = fold([&](Tensor s, Tensor row) { return again(s) * row; }, x, Tensor({1.f, 2.f}));
  const std::vector<Tensor> all{v1::gradients(chosen, {x})[0], v1::gradients(chosen, {w})[0], v1::gradients(looped, {x})[0]};
  const v1::Session session(graph);
  session.run(v1::global_variables_initializer());
  const std::vector<Tensor> got = session.run(all, {{x, 2}});
  EXPECT_EQ(number(got[0]), 20);
  EXPECT_EQ(number(got[1]), 4);
  EXPECT_EQ(number(got[2]), 2 * 125 * 4 * 8);  // 2 w (w x^2)^2
}

TEST(V1Gradients, SayWhyThereIsNone) {
  v1::Graph graph;
  const auto scope = graph.as_default();
  const Tensor x = v1::placeholder(f32, {2}, "x"), other = v1::placeholder(f32, {3}, "other");
  const Variable w = v1::get_variable("w", Tensor({1.f, 2.f})), unused = v1::get_variable("unused", 1.f);
  const Tensor y = x * floor(w), whole = cast(cast(x, i32), f32), later = y * 2;
  EXPECT_EQ(message<GradientError>([&] { v1::gradients(y, {unused}); }),
            "gradients: y does not depend on Variable \"unused\"; compute it from that, or ask for unconnected = kNone or kZeros.");
  EXPECT_EQ(message<GradientError>([&] { v1::gradients(y, {other}); }),
            "gradients: y does not depend on f32[3]; compute it from that, or ask for unconnected = kNone or kZeros.");
  EXPECT_EQ(message<GradientError>([&] { v1::gradients(y, {later}); }),
            "gradients: y does not depend on f32[2]; compute it from that, or ask for unconnected = kNone or kZeros.");
  EXPECT_EQ(message<GradientError>([&] { v1::gradients(y, {Tensor({1.f})}); }),
            "gradients: y does not depend on f32[1]; compute it from that, or ask for unconnected = kNone or kZeros.");
  const std::string floored = message<GradientError>([&] { v1::gradients(y, {x, w}); });
  EXPECT_TRUE(floored.starts_with("gradients: the target depends on source Variable \"w\" f32[2] only through floor at gradients_test.cc:")) << floored;
  EXPECT_TRUE(floored.ends_with(", through which no gradient flows; use another op, or ask for {.unconnected = Unconnected::kZeros} or kNone if that is meant."))
      << floored;
  const std::string cut = message<GradientError>([&] { v1::gradients(whole, {x}); });
  EXPECT_TRUE(cut.starts_with("gradients: the target depends on source f32[2] only through cast at gradients_test.cc:")) << cut;
  EXPECT_EQ(message<GradientError>([&] { v1::gradients(cast(x, i32), {x}); }), "gradients: target is i32[2]; only floating values have gradients, cast it.");
  EXPECT_EQ(message<ValueError>([&] { v1::gradients(Tensor(), {x}); }), "gradients: a tensor is an empty handle; assign a value to it first.");
}

TEST(V1Minimize, SaysWhatIsWrongWithTheLoss) {
  v1::Graph graph, empty;
  const auto scope = graph.as_default();
  const Tensor x = v1::placeholder(f32, {2}, "x");
  const Variable w = v1::get_variable("w", Tensor({3.f, -2.f})), aside = v1::get_variable("aside", 1.f), n = v1::get_variable("n", 1);
  SGD sgd;
  const std::string constant = "minimize: the loss f32[] depends on none of Variable \"w\", Variable \"aside\" through differentiable ops; compute it from the "
                               "Variables that are to change.";
  EXPECT_EQ(message<ValueError>([&] { v1::minimize(sgd, sum(x)); }), constant);
  EXPECT_EQ(message<ValueError>([&] { v1::minimize(sgd, Tensor(1.f)); }), constant);
  EXPECT_EQ(message<ValueError>([&] { v1::minimize(sgd, sum(floor(w))); }), constant);
  EXPECT_EQ(message<ValueError>([&] { v1::minimize(sgd, sum(w * x), {aside}); }),
            "minimize: the loss f32[] depends on none of Variable \"aside\" through differentiable ops; compute it from the Variables that are to change.");
  EXPECT_EQ(message<GradientError>([&] { v1::minimize(sgd, sum(cast(w * x, i32))); }),
            "minimize: the loss is i32[]; only floating values have gradients, compute it from floating ones throughout.");
  EXPECT_EQ(message<GradientError>([&] { v1::minimize(sgd, sum(w * x), {n}); }), "minimize: Variable \"n\" is i32[]; only floating values have gradients.");
  empty.as_default([&] {
    EXPECT_EQ(message<ValueError>([&] { v1::minimize(sgd, v1::placeholder(f32, {})); }),
              "minimize: the graph has no trainable floating Variable to change; make one with get_variable, or name some.");
  });
}

template <class O>
void expect_same_steps(const char* name) {
  SCOPED_TRACE(name);
  Variable eager{Tensor({{3.f, -2.f}, {1.f, 0.5f}})};
  O plain;  // made before there is a graph to which it would belong
  const auto loss_of = [](const Variable& w) { return mean(square(w - 1.f)); };
  v1::Graph graph;
  const auto scope = graph.as_default();
  const Variable w = v1::get_variable("w", Tensor({{3.f, -2.f}, {1.f, 0.5f}}));
  O optimizer;
  const v1::Operation train = v1::minimize(optimizer, loss_of(w));
  const v1::Session session(graph);
  session.run(v1::global_variables_initializer());
  for (int i = 0; i < 3; ++i) {
    session.run(train);
    init_scope([&] {
      GradientTape tape;
      const Tensor loss = loss_of(eager);
      plain.apply(std::vector<Tensor>{tape.gradient(loss, eager)}, {eager});
    });
  }
  EXPECT_EQ(floats(session.run(w)), init_scope([&] { return floats(eager); }));
}

TEST(V1Minimize, TakesEveryOptimizer) {
  expect_same_steps<SGD>("SGD");
  expect_same_steps<Adam>("Adam");
  expect_same_steps<AdamW>("AdamW");
  expect_same_steps<Adamax>("Adamax");
  expect_same_steps<Nadam>("Nadam");
  expect_same_steps<Adagrad>("Adagrad");
  expect_same_steps<Adadelta>("Adadelta");
  expect_same_steps<RMSprop>("RMSprop");
  expect_same_steps<Ftrl>("Ftrl");
  expect_same_steps<Lion>("Lion");
  expect_same_steps<Lamb>("Lamb");
  expect_same_steps<Adafactor>("Adafactor");
  expect_same_steps<Muon>("Muon");
  expect_same_steps<ScheduleFreeAdamW>("ScheduleFreeAdamW");
}

// What an optimizer begins with, made of a Variable's first value.
struct Begins : Optimizer {
  explicit Begins(std::function<Tensor(const Tensor&)> first) : Optimizer("Begins", {}, {"own"}), first_(std::move(first)) {}
  Tensor update(const Tensor& x, const Tensor& g, std::span<Tensor> kept, const Moment& now) override {
    kept[0] = kept[0] + g;
    return x - kept[0] * now.rate_like(x);
  }
  Tensor first_slot(std::size_t, const Tensor& x, const std::string&) const override { return first_(x); }
  std::function<Tensor(const Tensor&)> first_;
};

TEST(V1Minimize, NeedsAFirstValueToBeginWithIt) {
  v1::Graph graph;
  const auto scope = graph.as_default();
  const Variable random = v1::get_variable("random", {2}), known = v1::get_variable("known", Tensor({1.f, 2.f}));
  const auto refused = [](const char* name) {
    return std::string(name) + ": Variable \"random\" has a first value that only sessions know, and this optimizer begins with it; give one that is known while "
                               "the graph is built.";
  };
  ScheduleFreeAdamW optimizer;
  EXPECT_EQ(message<StateError>([&] { v1::minimize(optimizer, sum(square(random))); }), refused("ScheduleFreeAdamW"));
  EXPECT_TRUE(optimizer.slots.empty());
  using First = std::function<Tensor(const Tensor&)>;
  for (const First& uses : {First([](const Tensor& x) { return x * 0.5f; }), First([](const Tensor& x) { return cast(x > 0.f, f32); }),
                            First([](const Tensor& x) { return zeros_like(x) + max(x); })}) {
    Begins own(uses);
    EXPECT_EQ(message<StateError>([&] { v1::minimize(own, sum(square(random))); }), refused("Begins"));
    EXPECT_TRUE(own.slots.empty());
    v1::minimize(own, sum(square(known)));
  }
  const v1::Session session(graph);
  Adam adam;
  Adagrad adagrad;
  Begins ones([](const Tensor& x) { return ones_like(x) * 2.f; }), constant([](const Tensor&) { return Tensor({3.f, 4.f}); });
  for (Optimizer* each : {static_cast<Optimizer*>(&adam), static_cast<Optimizer*>(&adagrad), static_cast<Optimizer*>(&ones), static_cast<Optimizer*>(&constant)}) {
    const v1::Operation train = v1::minimize(*each, sum(square(random)), {random});
    session.run(v1::global_variables_initializer());
    session.run(train);
    for (const float value : floats(session.run(random))) EXPECT_TRUE(std::isfinite(value));
  }
  EXPECT_EQ(init_scope([&] { return floats(ones.slots.at("random").at("own").read_latest()); }), (std::vector<float>{2, 2}));
}

}  // namespace
}  // namespace weft
