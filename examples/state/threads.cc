// Eight threads call one traced step. Each call is a transaction: no change is lost, and nobody sees one Variable changed and the other not.
#include <atomic>
#include <thread>

#include <weft/weft.h>

using namespace weft;

int main() {
  Variable count{0.f, {.name = "count"}}, twice{0.f, {.name = "twice"}};
  Function step{[&] {
                  count.assign(count + 1);
                  twice.assign(twice + 2);
                },
                {.name = "step"}};
  Function apart{[&] { return twice - 2 * count; }, {.name = "apart"}};

  std::atomic<int> seen_apart = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        step();
        if (apart().item<float>() != 0) ++seen_apart;
      }
    });
  threads.clear();                                // joins them

  print("count {}, twice {}, seen apart {} times", count.value(), twice.value(), seen_apart.load());
  print("{}", step.explain());
}

/* prints:
count 4000.0, twice 8000.0, seen apart 0 times
step: 1 trace
trace 0: first call; 2 ops in 2 steps, 0 bytes of working memory, 4000 calls, traced in ... ms
  reads Variable "count", Variable "twice"
  writes Variable "count", Variable "twice"
  has frozen the number 1.0, read by add at threads.cc:12
  has frozen the number 2.0, read by add at threads.cc:13
  pass fold_constants: 2 -> 2 ops in ... us
  pass simplify: 2 -> 2 ops in ... us
  pass share_equal: 2 -> 2 ops in ... us
  pass drop_dead: 2 -> 2 ops in ... us
  pass count_turns: 2 -> 2 ops in ... us
  pass fuse: 2 -> 2 ops in ... us
  pass overlap: 2 -> 2 ops in ... us
*/
