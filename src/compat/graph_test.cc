// Building a graph: Variables and their initial values, dependencies, Functions, gradients, optimizers.
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "tests/failing_memory.h"
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

TEST(V1Graph, VariablesAreFoundByName) {
  v1::Graph graph;
  const auto scope = graph.as_default();
  const Variable w = v1::get_variable("w", {2, 3});
  EXPECT_EQ(w.spec(), (Spec{f32, {2, 3}}));
  EXPECT_TRUE(v1::get_variable("w", {2, 3}, {.reuse = true}).same_slot(w));
  EXPECT_TRUE(message<ValueError>([&] { v1::get_variable("w", {2, 3});
      }).starts_with("get_variable: the graph has a Variable \"w\" since graph_test.cc:"));
  EXPECT_TRUE(message<ValueError>([&] { v1::get_variable("w", {2, 3}); }).ends_with("; ask for it with reuse, or choose another name."));
  EXPECT_EQ(message<ValueError>([&] { v1::get_variable("u", {2}, {.reuse = true}); }),
            "get_variable: the graph has no Variable \"u\" to reuse; make it first, without reuse.");
  EXPECT_EQ(message<ValueError>([&] { v1::get_variable("", {2}); }),
      "get_variable: the name is empty; Variables of a graph are found by their names.");
  EXPECT_EQ(message<ShapeError>([&] { v1::get_variable("w", {3}, {.reuse = true}); }),
            "get_variable: Variable \"w\" is f32[2,3] and the value f32[3]; the shapes must agree (nothing is broadcast), or the Variable be declared "
            "with sizes that may change.");
  EXPECT_EQ(message<ShapeError>([&] { v1::get_variable("u", {3}, {.initializer = [](Shape) { return zeros({4}); }}); }),
            "get_variable: the initializer of \"u\" gave f32[4] and f32[3] is asked for; they must agree.");
  EXPECT_EQ(message<DtypeError>([&] { v1::get_variable("u", {3}, {.initializer = [](Shape) { return zeros({3}, {.dtype = i32}); }}); }),
            "get_variable: the initializer of \"u\" gave i32[3] and f32[3] is asked for; they must agree.");
  EXPECT_EQ(message<ValueError>([&] { v1::get_variable("w", Tensor(), {.reuse = true}); }),
            "get_variable: the value for \"w\" is an empty Tensor handle; assign a value to it first.");
  EXPECT_EQ(message<ShapeError>([&] { v1::assign_add(w, Tensor({1.f})); }),
            "assign_add: Variable \"w\" is f32[2,3] and the value f32[1]; the shapes must agree (nothing is broadcast), or the Variable be declared with sizes "
            "that may change.");
  EXPECT_EQ(message<StateError>([&] { Variable(w).assign(zeros({2, 3})); }),
            "assign: Variable \"w\" is written while a graph is built, and nothing says when that is to run; write v1::assign, or put it into "
            "v1::as_operation([&] { ... }).");
  v1::Graph other;
  EXPECT_EQ(message<StateError>([&] { other.as_default([&] { return Tensor(w); }); }),
            "read: Variable \"w\" belongs to another graph; make one in this graph with get_variable.");
  EXPECT_EQ(message<StateError>([&] { other.as_default([&] { static_cast<void>(graph.as_default()); }); }),
            "as_default: the graph is open already, in another thread or around this scope; end that scope first.");
  graph.as_default([&] { EXPECT_EQ(v1::global_variables().size(), 2u); });  // w and the generator behind its initial value
}

TEST(V1Graph, ScopesMayEndInAnyOrder) {
  std::optional<v1::GraphScope> outer, middle, inner;
  {
    v1::Graph a, b, c;
    outer.emplace(a.state(), Location::here());
    middle.emplace(b.state(), Location::here());
    inner.emplace(c.state(), Location::here());
    outer.reset();
    middle.reset();
    EXPECT_THROW(static_cast<void>(a.as_default()), StateError);  // it waits for those that stand on it
    v1::placeholder(f32, {}, "of c");
    EXPECT_NE(c.str(), v1::Graph().str());
    inner.reset();
    a.as_default([] { v1::placeholder(f32, {}); });
  }
  EXPECT_THROW(v1::placeholder(f32, {}), StateError);
  Variable v{1.f};
  v.assign_add(1.f);
  EXPECT_EQ(v.value().item<float>(), 2);
}

TEST(V1Graph, OneThreadBuildsAGraphAndOthersBuildTheirs) {
  v1::Graph graph;
  const auto scope = graph.as_default();
  const Tensor x = v1::placeholder(f32, {}, "x");
  std::string refused, none;
  float found = 0;
  std::thread([&] {
    refused = message<StateError>([&] { static_cast<void>(graph.as_default()); });
    none = message<StateError>([] { v1::placeholder(f32, {}); });
    v1::Graph own;
    const auto open = own.as_default();
    const Tensor y = v1::placeholder(f32, {}, "y");
    found = number(v1::Session(own).run(y * 2.f, {{y, 3.f}}));
  }).join();
  EXPECT_EQ(refused, "as_default: the graph is open already, in another thread or around this scope; end that scope first.");
  EXPECT_EQ(none, "placeholder: no graph is open in this thread; write `auto scope = graph.as_default();` first.");
  EXPECT_EQ(found, 6);
  EXPECT_EQ(number(v1::Session(graph).run(x + 1.f, {{x, 3.f}})), 4);
}

TEST(V1Graph, VariablesHaveNoValueOutsideOfSessions) {
  v1::Graph graph;
  std::vector<Variable> kept;
  {
    const auto scope = graph.as_default();
    kept.push_back(v1::get_variable("w", {2}));
  }
  const std::string refused = "Variable: Variable \"w\" belongs to a graph, and each session has a value of its own for it; fetch or assign it with Session::run.";
  EXPECT_EQ(message<StateError>([&] { kept[0].value(); }), refused);
  EXPECT_EQ(message<StateError>([&] { kept[0].assign(zeros({2})); }), refused);
  EXPECT_EQ(message<StateError>([&] { kept[0].assign_add(zeros({2})); }), refused);
  EXPECT_EQ(kept[0].name(), "w");
  EXPECT_EQ(kept[0].spec().str(), "f32[2]");
}

// SEMANTICS 200: collections
TEST(V1Graph, CollectsVariables) {
  v1::Graph graph;
  const auto scope = graph.as_default();
  v1::get_variable("a", 1.f);
  v1::get_variable("b", 1.f, {.trainable = false});
  const Variable c{2.f, {.name = "c"}};  // a Variable that is made now belongs to the graph as well
  std::vector<std::string> all, trainable;
  for (const Variable& each : v1::global_variables()) all.push_back(each.name());
  for (const Variable& each : graph.trainable_variables()) trainable.push_back(each.name());
  EXPECT_EQ(all, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(trainable, (std::vector<std::string>{"a", "c"}));
  const v1::Session session(graph);
  EXPECT_THROW(session.run(c), StateError);
  session.run(v1::variables_initializer({c}));
  EXPECT_EQ(number(session.run(c)), 2);
}

// SEMANTICS 200: initial values may depend on other Variables; those are initialised first
TEST(V1Graph, InitialValuesComeInOrder) {
  v1::Graph graph;
  const auto scope = graph.as_default();
  Generator random{7};
  const Variable rnd = v1::get_variable("rnd", random.uniform({3}));
  const Variable dep = v1::get_variable("dep", Tensor(rnd)), deps = v1::get_variable("deps", rnd + dep + Tensor({1.f, 2.f, 3.f}));
  const Tensor grown = v1::assign_add(rnd, Tensor({1.f, 1.f, 1.f}));
  const v1::Operation init = v1::global_variables_initializer();
  const v1::Session session(graph), other(graph);
  EXPECT_EQ(message<StateError>([&] { session.run(v1::initializer(dep)); }),
            "Session::run: Variable \"rnd\" has no value in this session yet; run its initialiser, or assign it, before it is read.");
  session.run(init);
  const std::vector<float> first = floats(session.run(rnd));
  EXPECT_EQ(floats(session.run(dep)), first);
  EXPECT_EQ(floats(session.run(deps)), (std::vector<float>{first[0] + first[0] + 1, first[1] + first[1] + 2, first[2] + first[2] + 3}));
  session.run(grown);
  EXPECT_EQ(floats(session.run(dep)), first);
  session.run(v1::initializer(dep));
  EXPECT_EQ(floats(session.run(dep)), (std::vector<float>{first[0] + 1, first[1] + 1, first[2] + 1}));
  session.run(init);  // everything begins anew, the generator too
  EXPECT_EQ(floats(session.run(dep)), first);
  other.run(init);
  EXPECT_EQ(floats(other.run(rnd)), first);
}

TEST(V1Graph, DrawsGoOnWithEachRun) {
  v1::Graph graph;
  Generator random{7}, same{7};
  const auto scope = graph.as_default();
  const Tensor a = random.uniform({2}), b = random.uniform({2});
  const v1::Session session(graph), other(graph);
  const auto next = [&] { return init_scope([&] { return floats(same.uniform({2})); }); };
  const std::vector<Tensor> both = session.run({a, b});
  EXPECT_EQ(floats(both[0]), next());
  EXPECT_EQ(floats(both[1]), next());
  EXPECT_EQ(floats(session.run(b)), next());
  EXPECT_EQ(floats(session.run(a)), next());
  EXPECT_EQ(floats(other.run(a)), floats(both[0]));
}

TEST(V1Graph, ReadsSeeWhatTheyDependOn) {
  v1::Graph graph;
  const auto scope = graph.as_default();
  const Variable v = v1::get_variable("v", 1.f), w = v1::get_variable("w", 10.f);
  const Tensor before = v, add = v1::assign_add(v, 1.f), after = v * 1.f;  // a later line alone means nothing
  const Tensor inside = v1::control_dependencies({add}, [&] { return Tensor(v); });
  const Tensor tied = v1::control_dependencies({add}, [&] { return identity(before); });
  const Tensor doubled = v1::control_dependencies({inside}, [&] { return v1::assign(v, v * 2.f); });
  const Tensor through = v1::control_dependencies({v1::group({doubled})}, [&] { return v + w; });
  const v1::Session session(graph);
  const v1::Operation init = v1::global_variables_initializer();
  session.run(init);
  std::vector<Tensor> seen = session.run({before, add, after, inside, tied});
  EXPECT_EQ(number(seen[0]), 1);
  EXPECT_EQ(number(seen[1]), 2);
  EXPECT_EQ(number(seen[2]), 1);
  EXPECT_EQ(number(seen[3]), 2);
  EXPECT_EQ(number(seen[4]), 1);
  EXPECT_EQ(number(session.run(before)), 2);
  EXPECT_EQ(number(session.run(tied)), 2);  // what was read before; but it runs the write
  EXPECT_EQ(number(session.run(before)), 3);
  EXPECT_EQ(number(session.run(through)), 18);  // (3 + 1) * 2 + 10
  EXPECT_EQ(number(session.run(v)), 8);
  // Writes of one run take place in the order in which they were made, and add to what they find.
  const Tensor more = v1::assign_add(v, 5.f);
  seen = session.run({more, add});
  EXPECT_EQ(number(seen[1]), 9);
  EXPECT_EQ(number(seen[0]), 14);
  // A run that initialises a Variable reads that.
  const auto [none, read] = session.run(std::tuple{init, before});
  EXPECT_EQ(number(read), 1);
}

// SEMANTICS 200: Functions are used in graphs, with the Variables that they hold, make and write
TEST(V1Graph, FunctionsArePartOfIt) {
  std::vector<Variable> state;
  Function scale = [&](Tensor x) {
    if (state.empty()) state.push_back(Variable(2.f, {.name = "scale"}));
    return state[0] * x;
  };
  Variable outside{1.f, {.name = "outside"}};
  Function count = [&](Tensor by) {
    outside.assign_add(by);
    return outside.value() * 10.f;
  };
  v1::Graph graph;
  const auto scope = graph.as_default();
  const Tensor x = v1::placeholder(f32, {}, "x");
  const Tensor scaled = scale(x), counted = count(x), again = count(1.f);
  const v1::Session session(graph), other(graph);
  EXPECT_EQ(number(session.run(scaled, {{x, 3.f}})), 6);
  EXPECT_EQ(number(session.run(state[0])), 2);
  EXPECT_EQ(number(session.run(counted, {{x, 3.f}})), 40);
  const std::vector<Tensor> both = session.run({again, counted}, {{x, 3.f}});
  EXPECT_EQ(number(both[1]), 70);
  EXPECT_EQ(number(both[0]), 80);
  EXPECT_EQ(number(session.run(outside)), 8);
  EXPECT_EQ(number(other.run(outside)), 1);
  EXPECT_EQ(init_scope([&] { return number(outside); }), 1);  // what was made elsewhere is not changed
  session.run(v1::global_variables_initializer());
  EXPECT_EQ(number(session.run(outside)), 1);
}

TEST(V1Graph, OneOperationOfOrdinaryCode) {
  v1::Graph graph;
  const auto scope = graph.as_default();
  Variable a = v1::get_variable("a", 1.f), b = v1::get_variable("b", 2.f);
  const Tensor x = v1::placeholder(f32, {}, "x");
  const v1::Operation swap = v1::as_operation([&] {
    const Tensor old = a;
    a.assign(b);
    b.assign(old);
    cond(x > 0.f, [&] { a.assign_add(x); }, [&] { b.assign_add(x); });
  });
  const v1::Session session(graph);
  session.run(v1::global_variables_initializer());
  session.run(swap, {{x, 10.f}});
  EXPECT_EQ(number(session.run(a)), 12);
  EXPECT_EQ(number(session.run(b)), 1);
  session.run(swap, {{x, -1.f}});
  EXPECT_EQ(number(session.run(a)), 1);
  EXPECT_EQ(number(session.run(b)), 11);
  EXPECT_THROW(v1::as_operation([&] {
    a.assign(7.f);
    throw std::runtime_error("no");
  }), std::runtime_error);
  EXPECT_EQ(message<StateError>([&] { v1::as_operation([&] { v1::as_operation([] {}); }); }),
            "as_operation: it stands inside another one, to which all writes there belong; end that one first.");
  EXPECT_EQ(number(session.run(a)), 1);
}

TEST(V1Graph, Gradients) {
  v1::Graph graph;
  const auto scope = graph.as_default();
  const Tensor x = v1::placeholder(f32, {2}, "x");
  const Variable w = v1::get_variable("w", Tensor({3.f, 4.f})), unused = v1::get_variable("unused", 1.f), n = v1::get_variable("n", 1);
  const Tensor h = w * x, y = sum(square(h) + v1::control_dependencies({h}, [&] { return Tensor(w); }));  // w is read twice
  const std::size_t before = graph.str().size();
  const std::vector<Tensor> d = v1::gradients(y, {w, x, h});
  const Tensor second = v1::gradients(d[0], {w})[0];
  EXPECT_GT(graph.str().size(), before);
  const v1::Session session(graph);
  session.run(v1::global_variables_initializer());
  const v1::Feeds feeds{{x, {1.f, 2.f}}};
  std::vector<Tensor> now = session.run(d, feeds);
  EXPECT_EQ(floats(now[0]), (std::vector<float>{7, 33}));
  EXPECT_EQ(floats(now[1]), (std::vector<float>{18, 64}));
  EXPECT_EQ(floats(now[2]), (std::vector<float>{6, 16}));
  EXPECT_EQ(floats(session.run(second, feeds)), (std::vector<float>{2, 8}));
  // A gradient is computed from the very values of the graph: feeding one of them feeds it.
  EXPECT_EQ(floats(session.run(d[0], {{x, {1.f, 2.f}}, {h, {1.f, 1.f}}})), (std::vector<float>{3, 5}));
  EXPECT_FALSE(v1::gradients(y, {unused}, {.unconnected = Unconnected::kNone})[0].defined());
  EXPECT_EQ(number(session.run(v1::gradients(y, {unused}, {.unconnected = Unconnected::kZeros})[0], feeds)), 0);
  EXPECT_EQ(message<GradientError>([&] { v1::gradients(y, {unused}); }),
            "gradients: y does not depend on Variable \"unused\"; compute it from that, or ask for unconnected = kNone or kZeros.");
  EXPECT_EQ(message<GradientError>([&] { v1::gradients(y, {n}); }),
      "gradients: Variable \"n\" is i32[]; only floating values have gradients.");
}

TEST(V1Graph, MinimizeStepsLikeTheOptimizerItself) {
  const auto loss_of = [](const Variable& w, Tensor x) { return mean(square(w * x - 1.f)); };
  Variable eager{Tensor({3.f, -2.f})};
  Adam plain{{.learning_rate = 0.1f}};
  v1::Graph graph;
  const auto scope = graph.as_default();
  const Tensor x = v1::placeholder(f32, {2}, "x");
  const Variable w = v1::get_variable("w", Tensor({3.f, -2.f})), aside = v1::get_variable("aside", 1.f);
  const Tensor loss = loss_of(w, x);
  v1::Operation train;
  {
    Adam adam{{.learning_rate = 0.1f}};
    train = v1::minimize(adam, loss);
  }
  const v1::Session session(graph), other(graph);
  session.run(v1::global_variables_initializer());
  for (int i = 0; i < 5; ++i) {
    const auto [now, done] = session.run(std::tuple{loss, train}, {{x, {1.f, 2.f}}});
    const auto then = init_scope([&] {
      GradientTape tape;
      const Tensor value = loss_of(eager, {1.f, 2.f});
      plain.apply(std::vector<Tensor>{tape.gradient(value, eager)}, {eager});
      return value;
    });
    EXPECT_EQ(number(now), number(then));
  }
  EXPECT_EQ(floats(session.run(w)), init_scope([&] { return floats(eager); }));
  EXPECT_EQ(number(session.run(aside)), 1);
  EXPECT_EQ(session.planned(), 4u);
  EXPECT_THROW(other.run(train, {{x, {1.f, 2.f}}}), StateError);
}

// Wherever memory runs out, the call has been left: what comes next is outside of any step, and the graph still works.
TEST(V1Graph, ACallThatFindsNoMemoryIsLeft) {
  int failures = 0;
  for (bool failed = true; failed && !HasFailure(); ++failures)
    std::thread([&] {
      v1::Graph graph;
      const auto scope = graph.as_default();
      const Tensor x = v1::placeholder(f32, {kUnknown}, "x");
      const Variable n = v1::get_variable("n", Tensor({1.f, 2.f}));
      Function count = [&](Tensor by) {
        Variable(n).assign_add(ensure_shape(by, {2}));
        return reverse(by, Ints()) * n;  // of which nothing is left but a rule
      };
      try {
        const test::FailingMemory memory(failures);
        try {
          count(x);
        } catch (const OutOfMemoryError&) {
        } catch (const std::bad_alloc&) {
        }
        failed = memory.failed();
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
      try {
        EXPECT_THROW(Variable(n).assign(x), StateError) << "allocation " << failures;
        const Tensor y = count(x);
        v1::Session session(graph);
        session.run(v1::global_variables_initializer());
        EXPECT_EQ(floats(session.run(y, {{x, Tensor({1.f, 1.f})}})), (Floats{2, 3})) << "allocation " << failures;
      } catch (const std::exception& error) {
        ADD_FAILURE() << "allocation " << failures << ": " << error.what();
      }
    }).join();
  EXPECT_GT(failures, 20);
}

}  // namespace
}  // namespace weft
