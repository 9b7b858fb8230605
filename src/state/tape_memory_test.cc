// A tape for which there is no memory.
#include <gtest/gtest.h>

#include <thread>

#include "core/apply.h"
#include "tests/failing_memory.h"
#include <weft/weft.h>

namespace weft {
namespace {

// Lets allocation number 0, 1, ... of `work` fail, each on a thread of its own, until there are no more. Whatever fails must say so as an
// OutOfMemoryError; `check` then sees what is left.
template <class Work>
int for_each_failure(const Work& work) {
  for (int nth = 0;; ++nth) {
    bool failed = false;
    std::thread([&] { failed = work(nth); }).join();
    if (!failed || testing::Test::HasFailure()) return nth;
  }
}

template <class F>
bool fails(int nth, const F& f) {
  const test::FailingMemory memory(nth);
  try {
    f();
  } catch (const OutOfMemoryError&) {
    EXPECT_TRUE(memory.failed());
  } catch (const std::exception& error) {
    ADD_FAILURE() << "allocation " << nth << ": " << typeid(error).name() << " " << error.what();
  }
  return memory.failed();
}

TEST(TapeMemory, ATapeThatFindsNoneIsAsItWas) {
  const int failures = for_each_failure([](int nth) {
    const Tensor x = {1.f, 2.f, 3.f}, z = {3.f, 2.f, 1.f};
    Variable w{{4.f, 5.f, 6.f}};
    const Sources sources{x, w};
    const auto f = custom_gradient([](Tensor a) { return std::pair(a * a, [=](Tensor dy) { return dy * a * 2; }); });
    const auto g = recompute_grad([&](Tensor a) { return a * w; });
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Tensor before = x * x;
    const bool failed = fails(nth, [&] {
      tape.watch(z);
      Tensor y = x * w + z + before;
      for (int i = 0; i < 40; ++i) y = where(y > z, y, x) + floor(z);  // no list or number, which the program itself would allocate
      y = g(f(y));
      tape.gradient(y, sources);
    });
    EXPECT_EQ(tape.gradient(before, x).to_vector<float>(), std::vector<float>({2, 4, 6})) << nth;
    EXPECT_EQ(tape.gradient(before * w, w).to_vector<float>(), std::vector<float>({1, 4, 9})) << nth;
    EXPECT_EQ(Interpreter::top()->below(), nullptr) << nth;
    return failed;
  });
  EXPECT_GT(failures, 100);
}

TEST(TapeMemory, AnAccumulatorThatFindsNoneIsAsItWas) {
  const int failures = for_each_failure([](int nth) {
    const Tensor x = {1.f, 2.f, 3.f}, dx = {1.f, 0.f, 2.f};
    Variable w{{4.f, 5.f, 6.f}};
    const auto f = custom_gradient([](Tensor a) { return std::pair(a * a, [=](Tensor dy) { return dy * a * 2; }); });
    const Sources primals{x, w};
    const std::vector<Tensor> tangents{dx, dx};
    ForwardAccumulator forward(primals, tangents);
    const Tensor before = x * x;
    const bool failed = fails(nth, [&] {
      Tensor y = x * w + before;
      for (int i = 0; i < 40; ++i) y = where(y > x, y, x) + floor(y);  // as above
      forward.jvp(sum(f(y)));
    });
    EXPECT_EQ(forward.jvp(before).to_vector<float>(), std::vector<float>({2, 0, 12})) << nth;
    EXPECT_EQ(forward.jvp(before * w).to_vector<float>(), std::vector<float>({9, 0, 90})) << nth;
    EXPECT_EQ(Interpreter::top()->below(), nullptr) << nth;
    return failed;
  });
  EXPECT_GT(failures, 100);
}

TEST(TapeMemory, ATapeThatCannotBeMadeLeavesNothingBehind) {
  EXPECT_GT(for_each_failure([](int nth) {
    const bool failed = fails(nth, [] { const GradientTape tape; });
    EXPECT_EQ(Interpreter::top(), nullptr);
    return failed;
  }), 0);
}

}  // namespace
}  // namespace weft
