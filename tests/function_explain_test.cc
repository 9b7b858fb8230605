// Nothing hidden: what a Function says about its traces, its passes, the steps of its plan and their times, and where its errors come from.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support.h"
#include <weft/weft.h>

namespace weft {
namespace {

using Step = FunctionReport::Step;
using test::message;

struct Layer {
  Variable weight, bias;
  Tensor operator()(Tensor x) const { return matmul(x, weight) + bias; }
};
struct Net {
  Layer hidden{Variable{fill({3, 4}, 0.1f)}, Variable{zeros({4})}}, out{Variable{fill({4, 2}, 0.2f)}, Variable{zeros({2})}};
  Tensor operator()(Tensor x) const { return out(relu(hidden(x))); }
};

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}
std::string read(const std::string& path) {
  std::ostringstream all_of_it;
  all_of_it << std::ifstream(path, std::ios::binary).rdbuf();
  return all_of_it.str();
}

TEST(FunctionExplain, PassesHaveFiguresAndCanBeLeftOut) {
  const auto body = [](Tensor x) { return transpose(transpose(tanh(x) * tanh(x))) * (Tensor(2.f) * Tensor(4.f)); };
  Function f{body};
  const Tensor x({{1.f, 2.f}, {3.f, 4.f}}), y = f(x);
  const FunctionReport::Trace trace = f.explain().traces[0];
  std::vector<std::string> names;
  for (const FunctionReport::Pass& pass : trace.passes) names.push_back(pass.name);
  EXPECT_EQ(names, (std::vector<std::string>{"fold_constants", "simplify", "share_equal", "drop_dead", "count_turns", "fuse", "overlap"}));
  EXPECT_EQ(trace.passes[0].ops_before, 7u);
  EXPECT_EQ(trace.passes[0].ops_after, 6u) << "2 * 4";
  EXPECT_EQ(trace.passes[1].ops_after, 5u) << "the outer transpose; the inner one is dead then";
  EXPECT_EQ(trace.passes[2].ops_after, 4u) << "one tanh";
  EXPECT_EQ(trace.passes[3].ops_after, 3u);
  EXPECT_EQ(trace.ops, 3u);
  EXPECT_TRUE(contains(f.explain().str(), "\n  pass share_equal: 5 -> 4 ops in ")) << f.explain().str();
  const std::size_t fewest = trace.ops + trace.steps.size();
  for (const std::string& name : names) {
    Function without{body, {.without = {name}}};
    EXPECT_EQ(test::floats(without(x)), test::floats(y)) << name;
    EXPECT_EQ(without.explain().traces[0].passes.size(), 6u);
    EXPECT_GE(without.explain().traces[0].ops + without.explain().traces[0].steps.size(), fewest + (name != "overlap" && name != "count_turns")) << name;
  }
  Function plain{body, {.without = names}};
  EXPECT_EQ(test::floats(plain(x)), test::floats(y));
  EXPECT_EQ(plain.explain().traces[0].ops, 7u);
  EXPECT_TEXT(ValueError, (Function{body, {.without = {"inline"}}}),
              "Function: without names the pass \"inline\", which does not exist; the passes are fold_constants, simplify, share_equal, "
              "drop_dead, count_turns, fuse, overlap.");
}

TEST(FunctionExplain, ReportsAndGraphsGoToStreams) {
  Function f = [](Tensor x) { return x + 1.f; };
  f(1.f);
  std::ostringstream out;
  out << f.explain() << f.graph();
  EXPECT_EQ(out.str(), f.explain().str() + f.graph().str());
}

// Of captured Variables too, if the body goes through their tree; all weights of a net are made at one line.
TEST(FunctionExplain, VariablesHaveTheirPathsInTheTreesOfTheBody) {
  using Names = std::vector<std::string>;
  Net net;
  Variable named{1.f, {.name = "named"}}, alone{1.f};
  SGD sgd{{.learning_rate = 0.1f}};
  Function step = [&](Tensor x) {
    GradientTape tape;
    const Tensor loss = sum(net(x)) * named * alone;
    sgd.apply(tape.gradient(loss, net), net);
  };
  step(ones({2, 3}));
  const FunctionReport::Trace trace = step.explain().traces[0];
  EXPECT_EQ(trace.writes, (Names{"hidden.weight", "hidden.bias", "out.weight", "out.bias", "Variable \"iterations\""})) << step.explain();
  EXPECT_NE(std::find(trace.reads.begin(), trace.reads.end(), "hidden.weight"), trace.reads.end()) << step.explain();
  EXPECT_NE(std::find(trace.reads.begin(), trace.reads.end(), "Variable \"named\""), trace.reads.end()) << step.explain();
  EXPECT_TRUE(contains(step.explain().str(), "the Variable made at function_explain_test.cc:")) << step.explain();

  const int line = __LINE__ + 1;
  Layer a{Variable{1.f}, Variable{2.f}}, b{Variable{3.f}, Variable{4.f}};
  Function both = [&](Tensor x) {
    for (const Layer* layer : {&a, &b})
      for (auto [path, variable] : named_variables(*layer)) Variable(variable).assign(x);
  };
  both(1.f);
  const std::string place = " (made at function_explain_test.cc:" + std::to_string(line) + ")";
  EXPECT_EQ(both.explain().traces[0].writes, (Names{"weight", "bias", "weight" + place, "bias" + place}));

  Function in_branch = [&](Tensor x) {
    cond(x > 0.f, [&] {
      for (auto [path, variable] : named_variables(a)) Variable(variable).assign(x);
    }, [] {});
  };
  in_branch(1.f);
  EXPECT_EQ(in_branch.explain().traces[0].writes, (Names{"weight", "bias"}));
}

TEST(FunctionExplain, OneOfAThingIsOne) {
  Function f{[](Tensor x) { return exp(x); }, {.name = "f"}};
  f(1.f);
  EXPECT_TRUE(contains(f.explain().str(), "f: 1 trace\ntrace 0: first call; 1 op in 1 step, 0 bytes of working memory, 1 call, ")) << f.explain();
  EXPECT_TRUE(contains(f.graph().html(), "1 op, 1 step<")) << f.graph().html();
}

TEST(FunctionExplain, ManyTracesBeginWithTheirCauses) {
  Function f{[](Tensor x) { return x + 1; }, {.name = "f", .args = {"x"}}};
  f(ones({2}));
  f(ones({3}));
  EXPECT_TRUE(contains(f.explain().str(), "f: 2 traces\ntrace 0: ")) << f.explain();
  f(ones({4}));
  f(ones({4}));
  EXPECT_TRUE(contains(f.explain().str(), "f: 3 traces\n  0: first call, 1 call\n  1: argument 0 `x`: f32[2] -> f32[3], 1 call\n"
                                          "  2: argument 0 `x`: f32[2] -> f32[4], 2 calls\ntrace 0: ")) << f.explain();
}

TEST(FunctionExplain, StepsNameTheirOpsResultsAndLines) {
  Variable w{fill({3, 3}, 0.5f)};
  Function f = [&](Tensor x) {
    const Tensor h = matmul(x, w);
    const int line = __LINE__ + 1;
    Tensor y = tanh(h * 2) + 1;
    EXPECT_GT(line, 0);
    return y;
  };
  EXPECT_TRUE(f.explain().traces.empty());
  f(ones({2, 3}));
  const std::vector<Step> steps = f.explain().traces[0].steps;
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].ops, (std::vector<std::string>{"matmul"}));
  EXPECT_FALSE(steps[0].fused());
  EXPECT_EQ(steps[1].ops, (std::vector<std::string>{"multiply", "tanh", "add"}));
  EXPECT_TRUE(steps[1].fused());
  EXPECT_EQ(steps[1].results, (std::vector<std::string>{"f32[2,3]"}));
  EXPECT_EQ(steps[1].bytes, 24u);
  ASSERT_EQ(steps[1].at.size(), 3u);
  EXPECT_EQ(steps[1].at[0].line, steps[0].at[0].line + 2);
  EXPECT_TRUE(contains(steps[1].at[0].file, "function_explain_test.cc"));
  const std::string text = f.explain().str();
  EXPECT_TRUE(contains(text, "\n  step 1: fused multiply, tanh, add -> f32[2,3] (24 bytes) at function_explain_test.cc:")) << text;
  EXPECT_FALSE(contains(text, "step 0")) << "without times only groups are listed";
}

TEST(FunctionExplain, TheNextCallsAreTimed) {
  Function f = [](Tensor x) { return matmul(tanh(x * 2), x); };
  f(ones({8, 8}));
  EXPECT_EQ(f.explain().traces[0].timed, 0u);
  f.profile(3);
  for (int i = 0; i < 5; ++i) f(ones({8, 8}));
  f(ones({4, 4}));
  const FunctionReport report = f.explain();
  EXPECT_EQ(report.traces[0].timed, 3u);
  EXPECT_EQ(report.traces[1].timed, 1u) << "a trace that is made later";
  double end = 0;
  for (const Step& step : report.traces[0].steps) {
    EXPECT_GT(step.microseconds, 0);
    EXPECT_GT(step.last_microseconds, 0);
    EXPECT_GE(step.last_start, end) << "one after the other";
    end = step.last_start + step.last_microseconds;
  }
  EXPECT_TRUE(contains(report.str(), "\n  timed 3 calls: ")) << report.str();
  EXPECT_TRUE(contains(report.str(), "\n  step 1: matmul -> f32[8,8] (256 bytes), ")) << report.str();
  f.profile(0);
  f(ones({8, 8}));
  EXPECT_EQ(f.explain().traces[0].timed, 0u);
  EXPECT_EQ(f.explain().traces[0].steps[0].microseconds, 0);
  EXPECT_TEXT(ValueError, f.profile(-1), "profile: calls is -1; it must be 0 or more.");
}

TEST(FunctionExplain, TimedCallsOfManyThreadsAreCounted) {
  Function f = [](Tensor x) { return tanh(x) + sum(x); };
  f(ones({4}));
  f.profile(50);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) f(ones({4}));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(f.explain().traces[0].timed, 50u);
}

TEST(FunctionExplain, ChromeTraceIsValidJson) {
  Function f{[](Tensor x) { return matmul(tanh(x * 2), x); }, {.name = "f \"quoted\" \\ here"}};
  EXPECT_TRUE(nlohmann::json::parse(f.explain().chrome_trace())["traceEvents"].empty());
  f.profile(2);
  f(ones({8, 8})), f(ones({8, 8}));
  const nlohmann::json events = nlohmann::json::parse(f.explain().chrome_trace())["traceEvents"];
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0]["name"], "f \"quoted\" \\ here");
  EXPECT_EQ(events[0]["args"]["cause"], "first call");
  EXPECT_EQ(events[1]["name"], "multiply, tanh");
  EXPECT_EQ(events[2]["name"], "matmul");
  EXPECT_EQ(events[2]["args"]["writes"], "f32[8,8]");
  EXPECT_EQ(events[2]["args"]["bytes"], 256);
  EXPECT_TRUE(contains(events[2]["args"]["lines"], "function_explain_test.cc:"));
  const double whole = events[0]["dur"];
  for (const nlohmann::json& event : events) {
    EXPECT_EQ(event["ph"], "X");
    EXPECT_GT(event["dur"], 0);
    EXPECT_LE(event["ts"].get<double>() + event["dur"].get<double>(), whole + 0.01);
  }
}

// Tags that are opened are closed, in order; what need not be is not.
std::string unbalanced(const std::string& page) {
  std::vector<std::string> open;
  const std::set<std::string> alone{"meta", "input", "!DOCTYPE"};
  for (std::size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    const std::size_t end = page.find('>', at);
    if (end == std::string::npos) return "a tag without an end";
    const bool closes = page[at + 1] == '/';
    const std::string name = page.substr(at + 1 + closes, page.find_first_of(" >/", at + 1 + closes) - at - 1 - closes);
    if (closes) {
      if (open.empty() || open.back() != name) return "</" + name + "> closes " + (open.empty() ? "nothing" : open.back());
      open.pop_back();
    } else if (page[end - 1] != '/' && alone.count(name) == 0) {
      open.push_back(name);
    }
    if (name == "script" && !closes) at = page.find("</script>", at) - 1;
  }
  return open.empty() ? "" : open.back() + " is not closed";
}

TEST(FunctionGraphs, ArePrintedDrawnAndWritten) {
  Net net;
  Adam adam;
  Variable total{0.f, {.name = "total <&>"}};
  Function step{[&](Net& n, Tensor x) {
    GradientTape tape;
    const Tensor loss = mean(square(n(x)));
    adam.apply(tape.gradient(loss, n), n);
    total.assign_add(loss);
    return loss;
  }, {.name = "step", .args = {"net", "x"}}};
  EXPECT_EQ(step.graph().str(), "");
  EXPECT_TRUE(contains(step.graph().html(), "It has not been traced yet."));
  step(net, ones({5, 3}));
  const FunctionGraph graph = step.graph();
  const std::string text = graph.str(), dot = graph.dot(), page = graph.html();
  EXPECT_EQ(format("{}", graph), text);
  EXPECT_TRUE(contains(text, " f32[5,3] = input x   function_explain_test.cc:")) << text;
  EXPECT_TRUE(contains(text, " f32[3,4] = input net.hidden.weight")) << text;
  EXPECT_TRUE(contains(text, " to net.hidden.weight\n")) << text;
  EXPECT_TRUE(contains(text, "\nreturn %")) << text;

  EXPECT_EQ(count(dot, "{"), count(dot, "}"));
  EXPECT_TRUE(contains(dot, "label=\"fused, over [5,4]\"")) << dot;
  EXPECT_TRUE(contains(dot, "net.hidden.weight\\nf32[3,4]")) << dot;

  EXPECT_EQ(unbalanced(page), "");
  EXPECT_TRUE(contains(page, "total &lt;&amp;&gt;"));
  EXPECT_FALSE(contains(page, "total <&>"));
  EXPECT_EQ(count(page, "http"), count(page, "xmlns=\"http://www.w3.org/2000/svg\"")) << "nothing is loaded";
  EXPECT_EQ(count(page, "src="), 0u);
  EXPECT_TRUE(contains(page, "class=\"fused\""));
  EXPECT_TRUE(contains(page, "%")) << page;
  EXPECT_TRUE(contains(page, "<b>reads</b>") && contains(page, "<b>writes</b>") && contains(page, "net.out.bias"));
  EXPECT_TRUE(contains(page, "function_explain_test.cc:")) << "lines in what a pointer shows";
  EXPECT_FALSE(contains(page, "nan") || contains(page, "inf")) << "places are numbers";

  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "weft_function_graphs";
  std::filesystem::create_directories(folder);
  for (const auto& [ending, content] : {std::pair(".txt", text), {".dot", dot}, {".html", page}}) {
    graph.write((folder / ("step" + std::string(ending))).string());
    EXPECT_EQ(read((folder / ("step" + std::string(ending))).string()), content);
  }
  std::filesystem::remove_all(folder);
  EXPECT_EQ(message<IoError>([&] { graph.write("/no/such/folder/step.html"); }),
            "write: the file \"/no/such/folder/step.html\" cannot be written; look at the folder, its rights and the space.");
  EXPECT_TEXT(ValueError, graph.write("step.png"), "write: the path \"step.png\" ends with none of .txt, .dot and .html; choose one.");
}

TEST(FunctionGraphs, StayReadableForManyOps) {
  Function deep = [](Tensor x) {
    for (int i = 0; i < 60; ++i) x = tanh(matmul(x, x) * 0.01f + x) - sum(x) * 0.5f;
    return x;
  };
  deep(ones({8, 8}));
  EXPECT_GT(deep.explain().traces[0].ops, 400u);
  const std::string page = deep.graph().html();
  EXPECT_EQ(unbalanced(page), "");
  const std::size_t at = page.find("<svg xmlns");
  double width = 0, height = 0;
  ASSERT_EQ(std::sscanf(page.c_str() + page.find("width=", at), "width=\"%lf\" height=\"%lf\"", &width, &height), 2);
  EXPECT_LT(width, 1200) << "a chain does not drift away";
  EXPECT_GT(height, 5000);
}

TEST(FunctionGraphs, ShowTheBodiesOfControlFlow) {
  Function f = [](Tensor x) { return cond(sum(x) > 0, [&] { return tanh(x); }, [&] { return boolean_mask(x, x > 1)[0] + x; }); };
  f(ones({3}));
  const std::string text = f.graph().str();
  EXPECT_TRUE(contains(text, "\n  body 0:\n    %0 f32[3] = input")) << text;
  EXPECT_TRUE(contains(text, " = tanh(%")) << text;
  EXPECT_TRUE(contains(text, "\n  body 1:\n")) << text;
  EXPECT_EQ(unbalanced(f.graph().html()), "");
  EXPECT_TRUE(contains(f.graph().html(), "boolean_mask"));
}

// Where an error of a traced call comes from.
template <class F>
int line_of(const F& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_TRUE(contains(error.location().file, "function_explain_test.cc")) << error.what();
    return error.location().line;
  }
  ADD_FAILURE() << "no error";
  return 0;
}

TEST(FunctionErrors, NameTheLineOfTheProgram) {
  int line = 0;
  Function among_fused = [&](Tensor x, Tensor i) {
    const Tensor a = tanh(x * 2) + 1;
    line = __LINE__ + 1;
    const Tensor b = gather(a, i);
    return exp(b) * 3;
  };
  among_fused(ones({4}), Tensor(1));
  EXPECT_EQ(line_of([&] { among_fused(ones({4}), Tensor(9)); }), line);

  Function inner = [&](Tensor x, Tensor i) {
    line = __LINE__ + 1;
    return gather(x, i) * 2;
  };
  Function outer = [&](Tensor x, Tensor i) { return inner(x + 1, i) + 1; };
  outer(ones({4}), Tensor(1));
  EXPECT_EQ(line_of([&] { outer(ones({4}), Tensor(-9)); }), line);

  Function divides{[&](Tensor a, Tensor b) {
    line = __LINE__ + 1;
    return floordiv(a, b);
  }, {.signature = {Spec{i32, {kUnknown}}, Spec{i32, {kUnknown}}}}};
  divides(Tensor({1, 2}), Tensor({1, 2}));
  EXPECT_EQ(line_of([&] { divides(Tensor({1, 2}), Tensor({1, 0})); }), line);
  EXPECT_EQ(line_of([&] { divides(Tensor({1, 2}), Tensor({1, 2, 3})); }), line) << "sizes that turn out not to fit";
}

// The ops of a gradient and of an optimizer belong to lines of the program, not to Weft's.
TEST(FunctionErrors, EveryOpOfATrainingStepHasALineOfTheProgram) {
  Net net;
  Adam adam;
  const int first = __LINE__;
  Function step{[&](Net& n, Tensor x, Tensor y) {
    GradientTape tape;
    const Tensor loss = mean(sparse_softmax_cross_entropy(y, softplus(n(x)))) + sum(gelu(n(x)) * variance(n(x)));
    adam.apply(tape.gradient(loss, n), n);
    return loss;
  }};
  step(net, ones({5, 3}), zeros({5}, {.dtype = i32}));
  const int last = __LINE__;
  std::size_t ops = 0, in_layers = 0;
  const FunctionReport::Trace trace = step.explain().traces[0];
  for (const Step& s : trace.steps)
    for (std::size_t i = 0; i < s.ops.size(); ++i, ++ops) {
      EXPECT_TRUE(contains(s.at[i].file, "function_explain_test.cc")) << s.ops[i] << " at " << s.at[i].file << ":" << s.at[i].line;
      if (s.at[i].line < first) ++in_layers;
      else EXPECT_LT(s.at[i].line, last);
    }
  EXPECT_GT(ops, 25u);
  EXPECT_GT(in_layers, 8u) << "forward and backward of the layers";
  for (const FunctionReport::Constant& constant : trace.constants) EXPECT_TRUE(contains(constant.at.file, "function_explain_test.cc"));
  std::istringstream lines(step.graph().str());
  int constants = 0;
  for (std::string line; std::getline(lines, line); constants += contains(line, " = constant "))
    EXPECT_EQ(contains(line, ".cc:"), contains(line, "function_explain_test.cc:")) << line;
  EXPECT_GT(constants, 0);
}

}  // namespace
}  // namespace weft
