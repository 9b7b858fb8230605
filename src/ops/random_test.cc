// The streams of TensorFlow's Philox generator, from tests/data/random.json: words, states and integers exactly, floats to the
// last bit where only bits are moved, and to 1e-6 where a sine or a logarithm is taken.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support.h"
#include <weft/weft.h>

namespace weft {
namespace {

using test::message;

using Json = nlohmann::json;

const Json& golden() {
  static const Json data = Json::parse(std::ifstream(WEFT_SOURCE_DIR "/tests/data/random.json"));
  return data;
}

template <class T>
std::vector<T> numbers(const Json& entry) {
  return entry.at("data").get<std::vector<T>>();
}

Tensor state_from(const Json& entry) { return Tensor(numbers<std::int64_t>(entry)); }

void expect_near(const Tensor& actual, const Json& entry) {
  const auto expected = numbers<float>(entry), got = actual.to_vector<float>();
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6f * std::max(1.0f, std::abs(expected[i]))) << "at " << i;
}

void expect_says(const std::string& text, const char* part) { EXPECT_NE(text.find(part), std::string::npos) << text; }

TEST(Random, GeneratorsReproduceTensorFlow) {
  int seen = 0;
  for (const Json& entry : golden()) {
    if (!entry.contains("generator")) continue;
    ++seen;
    Tensor state = state_from(entry["state0"]);
    const auto drawn = [&](std::int64_t count) {
      const Tensor at = state;
      state = random_skip(state, count);
      return at;
    };
    EXPECT_EQ(random_bits(drawn(10), {10}).to_vector<std::uint32_t>(), numbers<std::uint32_t>(entry["uniform_full_int_u32_10"]));
    EXPECT_EQ(state.to_vector<std::int64_t>(), numbers<std::int64_t>(entry["state1"]));
    EXPECT_EQ(random_uniform(drawn(7), {7}).to_vector<float>(), numbers<float>(entry["uniform_f32_7"]));
    expect_near(random_normal(drawn(7), {7}), entry["normal_f32_7"]);
    EXPECT_EQ(random_integers(drawn(7), {7}, 0, 100).to_vector<std::int32_t>(), numbers<std::int32_t>(entry["uniform_int_0_100_i32_7"]));
    expect_near(random_truncated_normal(drawn(5), {5}), entry["truncated_normal_5"]);
    EXPECT_EQ(state.to_vector<std::int64_t>(), numbers<std::int64_t>(entry["state2"]));
  }
  EXPECT_EQ(seen, 3);
}

TEST(Random, StatelessSeedsReproduceTensorFlow) {
  int seen = 0;
  for (const Json& entry : golden()) {
    if (!entry.contains("stateless")) continue;
    ++seen;
    const auto seeds = entry["stateless"].get<std::vector<std::int64_t>>();
    const Tensor state = stateless_state(Tensor(seeds));
    EXPECT_EQ(random_uniform(state, {5}).to_vector<float>(), numbers<float>(entry["uniform"]));
    expect_near(random_normal(state, {5}), entry["normal"]);
    const Tensor narrow = stateless_state(cast(Tensor(seeds), i32));
    EXPECT_EQ(narrow.to_vector<std::int64_t>(), state.to_vector<std::int64_t>());
  }
  EXPECT_EQ(seen, 2);
}

TEST(Random, TheCounterCarriesAndWraps) {
  const std::int64_t all = -1;  // 64 bits set
  EXPECT_EQ(random_skip(Tensor(std::vector<std::int64_t>{all, 0, 5}), 1).to_vector<std::int64_t>(), (std::vector<std::int64_t>{255, 1, 5}));
  EXPECT_EQ(random_skip(Tensor(std::vector<std::int64_t>{all, all, 5}), 1).to_vector<std::int64_t>(), (std::vector<std::int64_t>{255, 0, 5}));
  EXPECT_EQ(random_skip(Tensor(std::vector<std::int64_t>{0, 0, 5}), std::int64_t{1} << 60).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 16, 5}));
  const Tensor edge(std::vector<std::int64_t>{all, 7, 5}), after(std::vector<std::int64_t>{0, 8, 5});
  const auto words = random_bits(edge, {8}).to_vector<std::uint32_t>(), later = random_bits(after, {4}).to_vector<std::uint32_t>();
  EXPECT_EQ(std::vector<std::uint32_t>(words.begin() + 4, words.end()), later);
}

TEST(Random, EveryFloatStaysInItsRange) {
  const Tensor state(std::vector<std::int64_t>{3, 1, 4});
  for (DType dtype : {f32, f64, f16, bf16}) {
    for (const auto& [low, high] : {std::pair{0.0, 1.0}, {-1.0, 0.0}, {100.0, 101.0}, {-3.0, -2.0}}) {
      const auto values = cast(random_uniform(state, {4096}, {.low = low, .high = high, .dtype = dtype}), f64).to_vector<double>();
      double total = 0;
      for (double v : values) {
        ASSERT_GE(v, low);
        ASSERT_LT(v, high);
        total += v;
      }
      EXPECT_NEAR(total / 4096, (low + high) / 2, dtype == bf16 && high > 100 ? 0.5 : 0.03);
    }
    double total = 0, squares = 0;
    for (double v : cast(random_normal(state, {4096}, {.mean = 2, .stddev = 0.5, .dtype = dtype}), f64).to_vector<double>()) total += v, squares += (v - 2) * (v - 2);
    EXPECT_NEAR(total / 4096, 2, 0.03);
    EXPECT_NEAR(squares / 4096, 0.25, 0.03);
    for (double v : cast(random_truncated_normal(state, {4096}, {.mean = 2, .stddev = 0.5, .dtype = dtype}), f64).to_vector<double>()) {
      ASSERT_GE(v, 1);
      ASSERT_LE(v, 3);
    }
  }
}

TEST(Random, IntegersCoverTheirRangeAtEveryWidth) {
  const Tensor state(std::vector<std::int64_t>{3, 1, 4});
  for (DType dtype : {i8, i16, i32, i64, u8, u16, u32, u64}) {
    std::vector<int> hits(5);
    for (std::int64_t v : cast(random_integers(state, {500}, 3, 8, {.dtype = dtype}), i64).to_vector<std::int64_t>()) {
      ASSERT_TRUE(v >= 3 && v < 8) << v;
      ++hits[static_cast<std::size_t>(v - 3)];
    }
    for (int h : hits) EXPECT_GT(h, 50);
  }
  std::vector<bool> bytes(256);
  for (std::int8_t v : random_integers(state, {8192}, -128, 128, {.dtype = i8}).to_vector<std::int8_t>()) bytes[static_cast<std::size_t>(v + 128)] = true;
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), true), 256);
  constexpr auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(random_integers(state, {3}, least, most, {.dtype = i64}).size(), 3);
}

TEST(Random, AShorterDrawIsThePrefixOfALongerOne) {
  const Tensor state(std::vector<std::int64_t>{9, 9, 9});
  for (DType dtype : {f32, f64, f16, bf16}) {
    const auto prefix_of = [&](auto draw) {
      const auto longer = cast(draw(Shape{11}), f64).template to_vector<double>();
      for (std::int64_t n = 0; n < 11; ++n) {
        const auto shorter = cast(draw(Shape{n}), f64).template to_vector<double>();
        EXPECT_EQ(shorter, std::vector<double>(longer.begin(), longer.begin() + n));
      }
    };
    prefix_of([&](Shape s) { return random_uniform(state, s, {.dtype = dtype}); });
    prefix_of([&](Shape s) { return random_normal(state, s, {.dtype = dtype}); });
    prefix_of([&](Shape s) { return random_truncated_normal(state, s, {.dtype = dtype}); });
  }
}

TEST(Random, ErrorsNameTheRule) {
  const Tensor state(std::vector<std::int64_t>{1, 0, 0});
  expect_says(message<ShapeError>([&] { random_bits(Tensor(std::vector<std::int64_t>{1, 0}), {2}); }), "state i64[2] must have the shape [3]");
  expect_says(message<DtypeError>([&] { random_bits(Tensor{1, 0, 0}, {2}); }), "state is i32[3]; it must be i64");
  expect_says(message<DtypeError>([&] { random_uniform(state, {2}, {.dtype = i32}); }), "dtype is i32; it must be f32");
  expect_says(message<ValueError>([&] { random_uniform(state, {2}, {.low = 1, .high = 1}); }), "low must be less than high");
  expect_says(message<ValueError>([&] { random_uniform(state, {2}, {.low = -3e38, .high = 3e38}); }), "high - low is not finite in f32");
  expect_says(message<ValueError>([&] { random_normal(state, {2}, {.mean = 1e6, .dtype = f16}); }), "mean is not finite in f16");
  expect_says(message<ValueError>([&] { random_uniform(state, {2}, {.low = 1, .high = 1.0001, .dtype = f16}); }), "low and high are the same number in f16");
  expect_says(message<ValueError>([&] { random_normal(state, {2}, {.stddev = -1}); }), "stddev is -1; it must be 0 or more");
  expect_says(message<ValueError>([&] { random_integers(state, {2}, 5, 5); }), "low is 5 and high is 5; low must be less than high");
  expect_says(message<ValueError>([&] { random_integers(state, {2}, -1, 5, {.dtype = u8}); }), "do not all fit u8");
  expect_says(message<ValueError>([&] { random_skip(state, -1); }), "count is -1; it must be 0 or more");
  expect_says(message<ShapeError>([&] { random_bits(state, {-1}); }), "unknown size");
  expect_says(message<ShapeError>([&] { stateless_state(Tensor{1, 2, 3}); }), "seed i32[3] must have the shape [2]");
}

}  // namespace
}  // namespace weft
