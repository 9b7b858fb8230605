// Generators: TensorFlow's streams from tests/data/random.json, reservations, initial values.
#include <weft/random.h>

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include <weft/transaction.h>
#include <weft/weft.h>

namespace weft {
namespace {

using Json = nlohmann::json;

TEST(Generator, ReproducesTensorFlow) {
  int seen = 0;
  for (const Json& entry : Json::parse(std::ifstream(WEFT_SOURCE_DIR "/tests/data/random.json"))) {
    if (!entry.contains("generator")) continue;
    ++seen;
    const auto numbers = [&]<class T>(const char* key, T) { return entry.at(key).at("data").get<std::vector<T>>(); };
    const auto expect_near = [&](const Tensor& got, const char* key) {
      const auto want = numbers(key, 0.f), have = got.to_vector<float>();
      ASSERT_EQ(have.size(), want.size());
      for (std::size_t i = 0; i < have.size(); ++i) EXPECT_NEAR(have[i], want[i], 1e-6f * std::max(1.f, std::abs(want[i]))) << key << i;
    };
    Generator g{entry.at("seed").get<std::int64_t>()};
    EXPECT_EQ(g.state.value().to_vector<std::int64_t>(), numbers("state0", std::int64_t{}));
    EXPECT_EQ(g.bits({10}).to_vector<std::uint32_t>(), numbers("uniform_full_int_u32_10", std::uint32_t{}));
    EXPECT_EQ(g.state.value().to_vector<std::int64_t>(), numbers("state1", std::int64_t{}));
    EXPECT_EQ(g.uniform({7}).to_vector<float>(), numbers("uniform_f32_7", 0.f));
    expect_near(g.normal({7}), "normal_f32_7");
    EXPECT_EQ(g.integers({7}, 0, 100).to_vector<std::int32_t>(), numbers("uniform_int_0_100_i32_7", std::int32_t{}));
    expect_near(g.truncated_normal({5}), "truncated_normal_5");
    EXPECT_EQ(g.state.value().to_vector<std::int64_t>(), numbers("state2", std::int64_t{}));
    Generator again = Generator::from_state(Tensor(numbers("state1", std::int64_t{})));
    EXPECT_EQ(again.uniform({7}).to_vector<float>(), numbers("uniform_f32_7", 0.f));
  }
  EXPECT_EQ(seen, 3);
}

TEST(Generator, CopiesShareTheStream) {
  Generator a{1}, b = a;
  const auto first = a.uniform({3}).to_vector<float>(), second = b.uniform({3}).to_vector<float>();
  a.reset(1);
  EXPECT_EQ(b.uniform({3}).to_vector<float>(), first);
  EXPECT_EQ(a.uniform({3}).to_vector<float>(), second);
}

TEST(Generator, SplitsIntoStreamsOfTheirOwn) {
  Generator a{7}, b{7};
  std::vector<Generator> parts = a.split(3), again = b.split(3);
  ASSERT_EQ(parts.size(), 3u);
  std::set<float> drawn;
  for (std::size_t i = 0; i < 3; ++i) {
    const float x = parts[i].uniform({}).item<float>();
    EXPECT_EQ(again[i].uniform({}).item<float>(), x);
    drawn.insert(x);
  }
  drawn.insert(a.uniform({}).item<float>());
  EXPECT_EQ(drawn.size(), 4u);
  EXPECT_THROW(a.split(-1), ValueError);
}

TEST(Generator, WhatARowRefusesDrawsNothing) {
  Generator g{3};
  const auto before = g.state.value().to_vector<std::int64_t>();
  EXPECT_THROW(g.uniform({3}, {.low = 2, .high = 1}), ValueError);
  EXPECT_THROW(g.integers({3}, 5, 5), ValueError);
  EXPECT_THROW(g.uniform({kUnknown}), ShapeError);
  EXPECT_THROW(Generator::from_state(Tensor{1.f}), Error);
  EXPECT_EQ(g.state.value().to_vector<std::int64_t>(), before);
}

TEST(Generator, ADrawIsUndoneWithItsBlock) {
  Generator g{3}, same{3};
  EXPECT_THROW(atomically([&] {
    g.uniform({100});
    throw std::runtime_error("no");
  }), std::runtime_error);
  EXPECT_EQ(g.uniform({5}).to_vector<float>(), same.uniform({5}).to_vector<float>());
}

TEST(Generator, ThreadsDrawDistinctNumbers) {
  Generator g{11};
  std::vector<std::vector<std::uint64_t>> drawn(4);
  std::vector<std::thread> threads;
  for (auto& own : drawn)
    threads.emplace_back([&g, &own] {
      for (int i = 0; i < 200; ++i)
        for (const std::uint64_t x : g.bits({4}, {.dtype = u64}).to_vector<std::uint64_t>()) own.push_back(x);
    });
  for (std::thread& thread : threads) thread.join();
  std::set<std::uint64_t> all;
  for (const auto& own : drawn) all.insert(own.begin(), own.end());
  EXPECT_EQ(all.size(), 4u * 200 * 4);
}

TEST(Generator, PermutesEveryRowOnce) {
  Generator g{5};
  auto order = g.permutation(1000).to_vector<std::int64_t>();
  EXPECT_NE(order[0] * 1000 + order[1], 1);
  std::sort(order.begin(), order.end());
  for (std::int64_t i = 0; i < 1000; ++i) ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(g.permutation(0).shape(), Shape{0});
  const Tensor rows = g.shuffle(Tensor{{1, 1}, {2, 2}, {3, 3}});
  EXPECT_EQ(sum(rows).item<std::int32_t>(), 12);
  EXPECT_TRUE(static_cast<bool>(all_true(rows(all, 0) == rows(all, 1))));
  EXPECT_THROW(g.shuffle(1.f), ShapeError);
}

TEST(Generator, TheDefaultOneCanBeSeeded) {
  set_seed(42);
  const Tensor a = default_generator().normal({3});
  set_seed(42);
  EXPECT_EQ(glorot_uniform({2, 2}).shape(), (Shape{2, 2}));
  set_seed(42);
  EXPECT_EQ(default_generator().normal({3}).to_vector<float>(), a.to_vector<float>());
}

// SEMANTICS 196
TEST(Generator, IsCapturedAndOrderedAsAVariable) {
  Generator traced{9}, eager{9};
  Function inner = [&](Tensor x) { return x + traced.normal({2}); };
  Function draws = [&](Tensor x) {
    const Tensor a = traced.uniform({3}), b = inner(x);
    return concat({a, b, cond(sum(x) > 0, [&] { return traced.normal({2}); }, [&] { return x; }), traced.uniform({1})}, 0);
  };
  const auto plainly = [&](const Tensor& x) {
    const Tensor a = eager.uniform({3}), b = x + eager.normal({2}), c = static_cast<bool>(sum(x) > 0) ? eager.normal({2}) : x;
    return concat({a, b, c, eager.uniform({1})}, 0).to_vector<float>();
  };
  const Tensor up = {1.f, 2.f}, down = {-1.f, -2.f};
  for (const Tensor& x : {up, down, up}) {
    EXPECT_EQ(draws(x).to_vector<float>(), plainly(x));
    traced.bits({5}), eager.bits({5});  // from outside: the next call goes on behind it
  }
  const Tensor saved = traced.state;
  const std::vector<float> next = draws(up).to_vector<float>();
  draws(down);
  traced.state.assign(saved);
  EXPECT_EQ(draws(up).to_vector<float>(), next);
  Generator elsewhere = Generator::from_state(saved);
  EXPECT_EQ(elsewhere.uniform({3}).to_vector<float>(), std::vector<float>(next.begin(), next.begin() + 3));
  EXPECT_EQ(draws.explain().traced, 1u);
  EXPECT_EQ(draws.explain().traces[0].writes, std::vector<std::string>{"Variable \"generator\""});
  EXPECT_EQ(variables(traced).size(), 1u);
  EXPECT_TRUE(trainable_variables(traced).empty());
}

// SEMANTICS 197
TEST(Generator, ATraceKeepsTheDefaultOneThatItHasDrawnFrom) {
  set_seed(1);
  Function draw = [] { return default_generator().uniform({3}); };
  draw();
  set_seed(2);
  EXPECT_EQ(draw().to_vector<float>(), Generator{2}.uniform({3}).to_vector<float>()) << "set_seed reaches traces";
  Generator old = default_generator(), same = Generator::from_state(old.state);
  default_generator() = Generator{3};
  EXPECT_EQ(draw().to_vector<float>(), same.uniform({3}).to_vector<float>()) << "another generator does not";
  EXPECT_EQ(default_generator().uniform({3}).to_vector<float>(), Generator{3}.uniform({3}).to_vector<float>());
  Function later = [] { return default_generator().uniform({3}); };
  set_seed(4);
  EXPECT_EQ(later().to_vector<float>(), Generator{4}.uniform({3}).to_vector<float>());
  EXPECT_EQ(draw().to_vector<float>(), same.uniform({3}).to_vector<float>());
  EXPECT_EQ(draw.explain().traced, 1u);
}

TEST(Initializers, HaveTheirSpread) {
  Generator g{1};
  const auto deviation = [](const Tensor& x) { return std::sqrt(mean(square(cast(x, f64))).item<double>()); };
  const Shape dense{400, 200}, filter{3, 3, 40, 60};
  EXPECT_NEAR(deviation(glorot_uniform(dense, g)), std::sqrt(2.0 / 600), 5e-4);
  EXPECT_NEAR(deviation(glorot_normal(dense, g)), std::sqrt(2.0 / 600), 5e-4);
  EXPECT_NEAR(deviation(he_uniform(dense, g)), std::sqrt(2.0 / 400), 5e-4);
  EXPECT_NEAR(deviation(he_normal(dense, g)), std::sqrt(2.0 / 400), 5e-4);
  EXPECT_NEAR(deviation(lecun_uniform(dense, g)), std::sqrt(1.0 / 400), 5e-4);
  EXPECT_NEAR(deviation(lecun_normal(dense, g)), std::sqrt(1.0 / 400), 5e-4);
  EXPECT_NEAR(deviation(glorot_uniform(filter, g)), std::sqrt(2.0 / 900), 1e-3);
  EXPECT_LE(max(abs(glorot_uniform(dense, g))).item<float>(), std::sqrt(6.f / 600));
  EXPECT_EQ(he_normal({3}, g, {.dtype = f16}).spec().str(), "f16[3]");
}

TEST(Initializers, OrthogonalIsOrthogonal) {
  Generator g{1};
  for (const Shape& shape : {Shape{50, 20}, Shape{20, 50}, Shape{30, 30}, Shape{3, 3, 4, 10}}) {
    const std::int64_t columns = shape[shape.rank() - 1];
    const Tensor q = reshape(orthogonal(shape, g, {.dtype = f64}), {-1, columns});
    const bool tall = q.shape()[0] >= columns;
    const Tensor product = tall ? matmul(q, q, {.transpose_a = true}) : matmul(q, q, {.transpose_b = true});
    EXPECT_LT(max(abs(product - eye(product.shape()[0], {.dtype = f64}))).item<double>(), 1e-9) << shape.str();
  }
  EXPECT_THROW(orthogonal({3}, g), ShapeError);
}

}  // namespace
}  // namespace weft
