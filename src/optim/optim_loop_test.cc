#include <gtest/gtest.h>

#include <weft/weft.h>

namespace weft {
namespace {

enum class Way { kPlain, kWhile, kFold };

// Five steps toward a half, by a loop of C++, by while_loop or by fold; at once, or in a Function.
template <class Rule, class Options>
Tensor after_five_steps(const Options& options, Way way, bool traced, bool begun) {
  const Variable w(Tensor({1.f, -2.f, 3.f}));
  Rule rule{options};
  const auto step = [&] {
    GradientTape tape;
    rule.apply(tape.gradient(sum(square(w - 0.5f)), w), w);
  };
  if (begun) step();  // otherwise the loop makes the optimizer's own Variables
  Variable n(0);
  const auto steps = [&](Tensor most) {
    if (way == Way::kPlain) {
      for (int i = 0; i < 5; ++i) step();
    } else if (way == Way::kWhile) {
      while_loop([&] { return n < most; }, [&] { step(), n.assign_add(1); });
    } else {
      fold([&](Tensor count, Tensor) { return step(), count + 1; }, Tensor(0), zeros({5}));
    }
    return w.value();
  };
  if (!traced) return steps(5);
  const Function f = steps;
  return f(5);
}

template <class Rule, class Options>
void check(const Options& options) {
  for (const bool begun : {false, true}) {
    const Tensor expected = after_five_steps<Rule>(options, Way::kPlain, false, begun);
    EXPECT_FALSE(all_true(equal(expected, Tensor({1.f, -2.f, 3.f}))).template item<bool>());
    for (const Way way : {Way::kPlain, Way::kWhile, Way::kFold})
      for (const bool traced : {false, true})
        EXPECT_TRUE(all_true(equal(after_five_steps<Rule>(options, way, traced, begun), expected)).template item<bool>())
            << "way " << static_cast<int>(way) << ", traced " << traced << ", begun " << begun;
  }
}

TEST(OptimizerLoops, StepsInLoopsAreThoseOfThePlainProgram) {
  check<SGD>(SGDOptions{.learning_rate = 0.1f});
  check<SGD>(SGDOptions{.learning_rate = 0.1f, .momentum = 0.9});
  check<Adam>(AdamOptions{.learning_rate = 0.1f});
  check<RMSprop>(RMSpropOptions{.learning_rate = 0.1f});
}

}  // namespace
}  // namespace weft
