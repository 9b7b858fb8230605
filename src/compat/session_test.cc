// Graphs and sessions: what a run reads, writes, returns and refuses.
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "tests/support.h"
#include <weft/compat/v1.h>
#include <weft/weft.h>

namespace weft {
namespace {

namespace v1 = compat::v1;

using test::message;

// SEMANTICS 198: reading what was never written fails and names it; an assignment happens when it is fetched, and stays in the session
TEST(Session, AssignmentsRunWhenTheyAreFetched) {
  v1::Graph graph;
  const auto scope = graph.as_default();
  const Variable v = v1::get_variable("v", 300.f);
  const Tensor plus = v1::assign_add(v, 4.f), minus = v1::assign_sub(v, 1.f), set = v1::assign(v, 5.f);
  const v1::Session session(graph);
  EXPECT_EQ(message<StateError>([&] { session.run(v); }),
            "Session::run: Variable \"v\" has no value in this session yet; run its initialiser, or assign it, before it is read.");
  EXPECT_EQ(message<StateError>([&] { session.run(plus); }),
            "Session::run: Variable \"v\" has no value in this session yet; run its initialiser, or assign it, before it is read.");
  session.run(v1::initializer(v));
  EXPECT_EQ(session.run(v).item<float>(), 300);
  EXPECT_EQ(session.run(plus).item<float>(), 304);
  EXPECT_EQ(session.run(minus).item<float>(), 303);
  EXPECT_EQ(session.run(v).item<float>(), 303);
  EXPECT_EQ(session.run(set).item<float>(), 5);

  const v1::Session other(graph);
  EXPECT_THROW(other.run(v), StateError);
  EXPECT_EQ(other.run(set).item<float>(), 5);  // an assignment needs no initialiser
  EXPECT_EQ(other.run(plus).item<float>(), 9);
  EXPECT_EQ(session.run(v).item<float>(), 5);
}

struct Parts {
  Tensor sum;
  std::vector<Tensor> list;
  v1::Operation done;
  int host = 0;
};

// SEMANTICS 199: what is returned has the structure of what is asked for
TEST(Session, FetchesHaveAnyStructure) {
  v1::Graph graph;
  const auto scope = graph.as_default();
  const Tensor x = v1::placeholder(f32, {kUnknown}, "x");
  const Variable count = v1::get_variable("count", 0);
  const Tensor twice = x * 2, next = v1::assign_add(count, 1);
  const v1::Session session;
  session.run(v1::global_variables_initializer());
  const v1::Feeds feeds{{x, {1.f, 2.f}}};

  EXPECT_EQ(session.run(twice, feeds).to_vector<float>(), (std::vector<float>{2, 4}));
  const Parts parts = session.run(Parts{sum(x), {twice, x}, v1::group({next}), 7}, feeds);
  EXPECT_EQ(parts.sum.item<float>(), 3);
  EXPECT_EQ(parts.list[0].to_vector<float>(), (std::vector<float>{2, 4}));
  EXPECT_EQ(parts.list[1].to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_FALSE(parts.done.defined());
  EXPECT_EQ(parts.host, 7);
  const auto [total, op] = session.run(std::tuple{sum(twice), v1::group({next})}, feeds);
  EXPECT_EQ(total.item<float>(), 6);
  const auto named = session.run(std::map<std::string, Tensor>{{"a", x + 1}, {"b", twice}, {"none", Tensor()}, {"fixed", Tensor(8.f)}},
      feeds);
  EXPECT_EQ(named.at("a").to_vector<float>(), (std::vector<float>{2, 3}));
  EXPECT_FALSE(named.at("none").defined());
  EXPECT_EQ(named.at("fixed").item<float>(), 8);
  EXPECT_EQ(session.run({twice, x}, feeds).size(), 2u);
  EXPECT_EQ(session.run(std::vector<Variable>{count})[0].item<int>(), 2);
  struct Holder {
    Variable count;
  };
  const Holder taken = session.run(Holder{count});
  EXPECT_EQ(init_scope([&] { return taken.count.value().item<int>(); }), 2);
  EXPECT_EQ(taken.count.name(), "count");
  session.run(v1::Operation(session.run(v1::group({}))));  // an empty operation fetches nothing
  EXPECT_EQ(message<ValueError>([&] { session.run(std::make_shared<Tensor>(twice), feeds); }),
            "Session::run: the fetches hold a Tensor or Variable behind a pointer, which is not copied; fetch it by value.");
}

// SEMANTICS 199: any tensor can be fed, not with a tensor of a graph
TEST(Session, FeedsReplaceAnyTensor) {
  v1::Graph graph;
  const auto scope = graph.as_default();
  const Tensor x = v1::placeholder(f32, {kUnknown, 2}, "x"), nameless = v1::placeholder(i32, {});
  const Variable w = v1::get_variable("w", 2.f);
  const Tensor read = w, h = x * read, y = sum(h), written = v1::assign(w, 9.f);
  const v1::Session session(graph);
  session.run(v1::global_variables_initializer());
  EXPECT_EQ(session.run(y, {{x, {{1.f, 2.f}}}}).item<float>(), 6);
  EXPECT_EQ(session.run(y, {{h, {{1.f, 2.f}}}}).item<float>(), 3);  // x is not needed
  EXPECT_EQ(session.run(y, {{x, {{1.f, 2.f}}}, {read, 10.f}}).item<float>(), 30);
  EXPECT_EQ(session.run(y, {{y, 4}}).item<float>(), 4);  // a number takes the dtype
  EXPECT_EQ(session.run(written, {{written, 1.f}}).item<float>(), 1);
  EXPECT_EQ(session.run(w).item<float>(), 2);

  v1::Graph elsewhere;
  const Tensor foreign = elsewhere.as_default([] { return v1::placeholder(f32, {}, "foreign"); });
  EXPECT_EQ(message<ValueError>([&] { session.run(y); }),
      "Session::run: placeholder \"x\" f32[?,2] is needed and not fed; give it a value.");
  EXPECT_EQ(message<TraceError>([&] { session.run(y, {{x, h}}); }),
            "Session::run: the value fed for placeholder \"x\" f32[?,2] is itself a tensor of a graph and has no value yet; make it where no graph is "
            "open, or run it first and feed what that gives.");
  EXPECT_EQ(message<ShapeError>([&] { session.run(y, {{x, {1.f, 2.f}}}); }),
      "Session::run: placeholder \"x\" f32[?,2] is fed with f32[2]; the shapes must agree.");
  EXPECT_EQ(message<DtypeError>([&] { session.run(y, {{x, Tensor({{1, 2}})}}); }),
            "Session::run: placeholder \"x\" f32[?,2] is fed with i32[1,2]; the dtypes must agree, cast the value.");
  EXPECT_EQ(message<ValueError>([&] { session.run(y, {{x, {{1.f, 2.f}}}, {x, {{1.f, 2.f}}}}); }),
      "Session::run: placeholder \"x\" f32[?,2] is fed twice; feed it once.");
  EXPECT_EQ(message<ValueError>([&] { session.run(y, {{Tensor(3.f), 1.f}}); }),
            "Session::run: a feed names a tensor f32[] that is none of this session's graph; feed placeholders and what is made of them.");
  EXPECT_EQ(message<ValueError>([&] { session.run(y, {{foreign, 1.f}}); }),
            "Session::run: a feed names a tensor f32[] that is none of this session's graph; feed placeholders and what is made of them.");
  EXPECT_EQ(message<ValueError>([&] { session.run(foreign); }),
            "Session::run: a tensor f32[] is fetched that belongs to another graph or trace; fetch what this session's graph has.");
  EXPECT_EQ(message<ValueError>([&] { session.run(y, {{x, Tensor()}}); }),
            "Session::run: the value fed for placeholder \"x\" f32[?,2] is an empty Tensor handle; assign a value to it first.");
  EXPECT_EQ(message<ValueError>([&] { session.run(y, {{v1::group({y}).symbol(), 1.f}}); }),
            "Session::run: a feed names an operation, which has no value; feed tensors.");
  EXPECT_TRUE(message<ValueError>([&] { session.run(nameless + 1);
      }).starts_with("Session::run: the placeholder i32[] made at session_test.cc:"));
}

// As numbers do. What a Tensor holds has a dtype already.
TEST(Session, ListsThatAreFedTakeTheDtype) {
  v1::Graph graph;
  const auto scope = graph.as_default();
  const Tensor real = v1::placeholder(f32, {kUnknown}, "real"), wide = v1::placeholder(f64, {kUnknown, 2}, "wide");
  const Tensor small = v1::placeholder(u8, {kUnknown}, "small"), flags = v1::placeholder(bool_, {kUnknown}, "flags");
  const v1::Session session(graph);
  EXPECT_EQ(session.run(real, {{real, {1, 2}}}).to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(session.run(real, {{real, {}}}).spec().str(), "f32[0]");
  EXPECT_EQ(session.run(wide, {{wide, {{1, 2.5f}, {3, 4}}}}).to_vector<double>(), (std::vector<double>{1, 2.5, 3, 4}));
  EXPECT_EQ(session.run(small, {{small, {0, 255}}}).spec().str(), "u8[2]");
  EXPECT_EQ(session.run(small, {{small, {true}}}).spec().str(), "u8[1]");
  const v1::Feeds kept{{flags, {true, false}}, {real, {1, 2, 3}}};  // the numbers are gone by now
  EXPECT_EQ(session.run({flags, real}, kept)[1].spec().str(), "f32[3]");
  EXPECT_EQ(message<DtypeError>([&] { session.run(small, {{small, {0, 256}}}); }),
            "Session::run: placeholder \"small\" u8[?] is fed with i32[2]; the dtypes must agree, cast the value.");
  EXPECT_EQ(message<DtypeError>([&] { session.run(small, {{small, {0.5f}}}); }),
            "Session::run: placeholder \"small\" u8[?] is fed with f32[1]; the dtypes must agree, cast the value.");
  EXPECT_EQ(message<DtypeError>([&] { session.run(flags, {{flags, {1}}}); }),
            "Session::run: placeholder \"flags\" bool[?] is fed with i32[1]; the dtypes must agree, cast the value.");
  EXPECT_EQ(message<DtypeError>([&] { session.run(real, {{real, Tensor(std::vector<int>{1, 2})}}); }),
            "Session::run: placeholder \"real\" f32[?] is fed with i32[2]; the dtypes must agree, cast the value.");
}

TEST(Session, PlansAreKeptAndBounded) {
  v1::Graph graph;
  const auto scope = graph.as_default();
  const Tensor x = v1::placeholder(f32, {kUnknown}), y = x + 1, z = x * 2;
  const v1::Session session(graph, {.max_plans = 2});
  for (int i = 1; i < 5; ++i) session.run(y, {{x, Tensor(std::vector<float>(static_cast<std::size_t>(i), 1.f))}});
  EXPECT_EQ(session.planned(), 1u);
  session.run(z, {{x, {1.f, 2.f}}});
  session.run(y, {{x, {1.f, 2.f, 3.f}}});
  EXPECT_EQ(session.planned(), 2u);
  session.run({y, z}, {{x, {1.f}}});  // z alone is forgotten
  session.run(y, {{x, {1.f}}});
  EXPECT_EQ(session.planned(), 3u);
  session.run(z, {{x, {1.f}}});
  EXPECT_EQ(session.planned(), 4u);
  EXPECT_EQ(message<ValueError>([&] { v1::Session(graph, {.max_plans = 0}); }), "Session: max_plans is 0; it must be 1 or more.");
}

TEST(Session, RunThatThrowsChangesNothing) {
  v1::Graph graph;
  std::optional<v1::GraphScope> scope(std::in_place, graph.state(), Location::here());
  const Tensor x = v1::placeholder(i32, {}, "x");
  const Variable a = v1::get_variable("a", 1), b = v1::get_variable("b", 1);
  const Tensor first = v1::assign_add(a, 1), second = v1::assign(b, floordiv(Tensor(b), x));
  const v1::Session session(graph);
  session.run(v1::global_variables_initializer());
  EXPECT_THROW(session.run({first, second}, {{x, 0}}), ValueError);
  EXPECT_EQ(session.run(a).item<int>(), 1);
  EXPECT_EQ(session.run({first, second}, {{x, 1}})[0].item<int>(), 2);
  EXPECT_EQ(session.run(a).item<int>(), 2);
  scope.reset();  // a block is a transaction around runs; while a graph is built it would be a part of that
  EXPECT_THROW(atomically([&] {
    EXPECT_EQ(session.run(first).item<int>(), 3);
    EXPECT_EQ(session.run(a).item<int>(), 3);
    throw std::runtime_error("no");
  }), std::runtime_error);
  EXPECT_EQ(session.run(a).item<int>(), 2);
}

TEST(Session, ThreadsAddUp) {
  v1::Graph graph;
  const auto scope = graph.as_default();
  const Variable a = v1::get_variable("a", 0), b = v1::get_variable("b", 0);
  const Tensor both = v1::assign_add(a, 1) - v1::assign_add(b, 1);
  const v1::Session session(graph), other(graph);
  const v1::Operation init = v1::global_variables_initializer();
  session.run(init);
  other.run(init);
  std::vector<std::thread> threads;
  std::atomic<int> torn = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const v1::Session& mine = t == 3 ? other : session;
      for (int i = 0; i < 200; ++i) {
        torn += session.run(both).item<int>() != 0;
        const std::vector<Tensor> now = mine.run(std::vector<Variable>{a, b});
        torn += now[0].item<int>() != now[1].item<int>();
      }
    });
  for (int i = 0; i < 50; ++i) static_cast<void>(Tensor(a) + i);  // the graph grows meanwhile
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(session.run(a).item<int>(), 800);
  EXPECT_EQ(other.run(a).item<int>(), 0);
}

TEST(Session, BelongsToNoTrace) {
  v1::Graph graph;
  Tensor one;
  {
    const auto scope = graph.as_default();
    one = identity(Tensor(1.f) + v1::placeholder(f32, {}, "x"));
  }
  const v1::Session session(graph);
  Function f = [&](Tensor x) { return x + session.run(one); };
  EXPECT_EQ(message<TraceError>([&] { f(1.f); }),
            "Session::run: a Function is being traced, and the run would happen once, not at each call; run the session outside.");
  Function g = [&](Tensor x) { return graph.as_default([&] { return x; }); };
  EXPECT_EQ(message<TraceError>([&] { g(1.f); }),
      "as_default: a Function is being traced, and a graph is no part of its trace; build the graph outside.");
  EXPECT_EQ(message<StateError>([&] { v1::placeholder(f32, {}); }),
            "placeholder: no graph is open in this thread; write `auto scope = graph.as_default();` first.");
}

}  // namespace
}  // namespace weft
