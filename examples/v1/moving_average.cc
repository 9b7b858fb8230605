// Writes are nodes of the graph: they run when they are fetched, or when something is that depends on them.
#include <weft/compat/v1.h>
#include <weft/weft.h>

using namespace weft;
namespace v1 = weft::compat::v1;

int main() {
  v1::Graph graph;
  const auto scope = graph.as_default();

  Tensor x = v1::placeholder(f32, {}, "x");
  Variable mean = v1::get_variable("mean", 0.f, {.trainable = false}), seen = v1::get_variable("seen", 0, {.trainable = false});

  Tensor count = v1::assign_add(seen, 1);
  Tensor update = v1::assign_sub(mean, (mean - x) / cast(count, f32));  // it uses the count, so it runs that write first
  Tensor before = mean * 1.f;                                           // a plain read: as it was when the run began
  Tensor after = v1::control_dependencies({update}, [&] { return mean * 1.f; });

  v1::Session session(graph);
  session.run(v1::global_variables_initializer());
  for (float value : {1.f, 2.f, 3.f, 4.f}) {
    std::vector<Tensor> seen_now = session.run({before, after}, {{x, value}});
    print("{} after {}", seen_now[1], seen_now[0]);
  }
  session.run(before);  // runs no write
  print("mean {:.2f}, seen {}", session.run(mean), session.run(seen));
}

/* prints:
1.0 after 0.0
1.5 after 1.0
2.0 after 1.5
2.5 after 2.0
mean 2.50, seen 4
*/
