// The training loop of a program for TensorFlow 1: first the graph, then a session that runs parts of it.
#include <weft/compat/v1.h>
#include <weft/weft.h>

using namespace weft;
namespace v1 = weft::compat::v1;

int main() {
  Tensor xs{-1.f, 0.f, 1.f, 2.f}, ys = xs * 3 + 2;
  v1::Graph graph;
  const auto scope = graph.as_default();

  Tensor x = v1::placeholder(f32, {kUnknown}, "x"), y = v1::placeholder(f32, {kUnknown}, "y");
  Variable w = v1::get_variable("w", 0.f), b = v1::get_variable("b", 0.f);
  Tensor loss = mean(square(w * x + b - y));

  // By an optimizer, and by hand: the same step as two writes.
  SGD optimizer{{.learning_rate = 0.1f}};
  v1::Operation train = v1::minimize(optimizer, loss);
  std::vector<Tensor> d = v1::gradients(loss, {w, b});
  v1::Operation by_hand = v1::group({v1::assign_sub(w, d[0] * 0.1f), v1::assign_sub(b, d[1] * 0.1f)});
  v1::Operation init = v1::global_variables_initializer();

  v1::Session session(graph), other(graph);
  session.run(init);
  for (int i = 0; i <= 60; ++i) {
    auto [now, done] = session.run(std::tuple{loss, train}, {{x, xs}, {y, ys}});
    if (i % 15 == 0) print("step {:>2}: loss {:.6f}", i, now);
  }
  print("w {:.2f} b {:.2f}", session.run(w), session.run(b));

  // Another session on the same graph has values of its own.
  try {
    other.run(w);
  } catch (const StateError& error) {
    print("{}", error.message());
  }
  other.run(init);
  for (int i = 0; i <= 60; ++i) other.run(by_hand, {{x, xs}, {y, ys}});
  print("by hand: w {:.2f} b {:.2f}", other.run(w), other.run(b));
  print("prediction for 10: {:.1f}", session.run((w * x + b)[0], {{x, {10.f}}}));
  print("planned: {} kinds of runs", session.planned());
}

/* prints:
step  0: loss 23.500000
step 15: loss 0.000156
step 30: loss 0.000001
step 45: loss 0.000000
step 60: loss 0.000000
w 3.00 b 2.00
Session::run: Variable "w" has no value in this session yet; run its initialiser, or assign it, before it is read.
by hand: w 3.00 b 2.00
prediction for 10: 32.0
planned: 5 kinds of runs
*/
