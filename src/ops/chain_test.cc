// Chains in fused groups, and the forms of functions that plans call for single lanes.
#include "kernels/chain.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "core/node.h"
#include "core/op.h"
#include "ops/table.h"
#include <weft/function.h>
#include <weft/operators.h>
#include <weft/ops.h>

namespace weft {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
const std::vector<float> kEdges = {0.f, -0.f, 1.f, -1.f, 3e38f, -3e38f, 1e-45f, -1e-40f, 0.1f, 1.f / 3, kInf, -kInf, kNan};

// With step 1 and 13, every two of them meet.
std::vector<float> edges(std::size_t step) {
  std::vector<float> lanes;
  for (std::size_t k = 0; k < kEdges.size() * kEdges.size(); ++k) lanes.push_back(kEdges[k / step % kEdges.size()]);
  return lanes;
}

bool same(double a, double b) { return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

TEST(Links, RoundAsTheirRowsDo) {
  std::vector<float> a = edges(1), b = edges(13);
  const std::size_t n = a.size();
  int tested = 0;
  for (const Family& family : families())
    for (const Op& row : family.rows)
      for (const bool turned : {false, true}) {
        if (row.tile.link == kernels::Link::kNone || (turned && row.inputs.size() == 1)) continue;
        std::vector<float> wanted(n);
        const void* const in[] = {(turned ? b : a).data(), (turned ? a : b).data()};
        row.tile.for_dtype(f32)(in, wanted.data(), n);
        for (int isa = 0; isa <= static_cast<int>(kernels::best_isa()); ++isa) {
          std::vector<float> made(n);
          const kernels::BoundLink links[] = {{kernels::Link::kLoad, a.data()},
                                              {turned ? kernels::exchanged(row.tile.link) : row.tile.link, b.data()},
                                              {kernels::Link::kKeep, made.data()},
                                              {kernels::Link::kEnd, made.data()}};
          kernels::chain_kernels(static_cast<kernels::Isa>(isa)).run(links, n);
          for (std::size_t k = 0; k < n; ++k)
            ASSERT_TRUE(same(made[k], wanted[k])) << row.name << (turned ? ", turned" : "") << ", lane " << k << ": " << made[k] << " for " << wanted[k];
        }
        ++tested;
      }
  EXPECT_EQ(tested, 4 * 2 + 3);
}

Tensor random_tensor(std::mt19937& random, Shape shape, DType dtype) {
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (float& value : values)
    value = random() % 9 == 0 ? kEdges[random() % kEdges.size()] : static_cast<float>(static_cast<int>(random() % 4001) - 2000) / static_cast<float>(1 + random() % 64);
  return cast(reshape(Tensor(values), shape), dtype);
}

// What a random program is made of: calls that read what was made just before, twice now and then, or anything; sides and shapes as they come.
struct Expression {
  unsigned seed;
  std::vector<Tensor> operator()(Tensor a, Tensor b, Tensor row, Tensor column, Tensor one, Tensor left, Tensor right) const {
    std::mt19937 random(seed);
    const auto chance = [&](unsigned in) { return random() % in == 0; };
    std::vector<Tensor> made = {a, b, row, column, one}, whole = {chance(4) ? matmul(left, right) : a + b};
    made.push_back(whole[0]);
    const bool strands = chance(3);  // two of them: what is read was not made just before, so each call takes three links
    for (unsigned i = 2 + random() % 34; i > 0; --i) {
      const auto pick = [&] { return !chance(3) && strands ? made[made.size() - 2] : chance(2) ? made.back() : made[random() % made.size()]; };
      const Tensor x = pick(), y = chance(7) ? x : pick();
      const std::function<Tensor()> calls[] = {[&] { return x + y; },  [&] { return x - y; },        [&] { return x * y; },         [&] { return x / y; },
                                               [&] { return -x; },     [&] { return square(x); },    [&] { return relu(x); },       [&] { return y - x; },
                                               [&] { return y / x; },  [&] { return maximum(x, y); }, [&] { return x * y + one; }};
      made.push_back(calls[random() % std::size(calls)]());
      if (made.back().shape() == a.shape()) whole.push_back(made.back());
    }
    const unsigned folded = random() % 5;
    std::vector<Tensor> results = {folded == 0 ? sum(whole.back(), {.axis = 0}) : folded == 1 ? sum(whole.back(), {.axis = 1}) : whole.back()};
    for (int i = 0; i < 2; ++i) results.push_back(whole[random() % whole.size()]);
    return results;
  }
};

TEST(Links, MakeTheBitsOfEagerCalls) {
  constexpr std::int64_t widths[] = {1, 3, 7, 16, 33, 64, 100, 129, 300, 513, 1025};
  int chained = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    const std::int64_t rows = 1 + random() % 40, cols = widths[random() % std::size(widths)], depth = 3 + random() % 30;
    const DType dtype = random() % 10 != 0 ? f32 : random() % 2 != 0 ? f16 : f64;
    std::vector<Tensor> in;
    for (const Shape& shape : {Shape{rows, cols}, {rows, cols}, {1, cols}, {rows, 1}, {1, 1}, {rows, depth}, {depth, cols}}) in.push_back(random_tensor(random, shape, dtype));
    const Expression body{static_cast<unsigned>(random())};
    Function traced = [&](Tensor a, Tensor b, Tensor row, Tensor column, Tensor one, Tensor left, Tensor right) { return body(a, b, row, column, one, left, right); };
    const std::vector<Tensor> wanted = body(in[0], in[1], in[2], in[3], in[4], in[5], in[6]), made = traced(in[0], in[1], in[2], in[3], in[4], in[5], in[6]);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::vector<double> x = cast(wanted[i], f64).to_vector<double>(), y = cast(made[i], f64).to_vector<double>();
      ASSERT_EQ(x.size(), y.size());
      for (std::size_t k = 0; k < x.size(); ++k) ASSERT_TRUE(same(x[k], y[k])) << "seed " << seed << ", result " << i << ", element " << k << ": " << y[k] << " for " << x[k];
    }
    const FunctionReport report = traced.explain();
    for (const auto& step : report.traces.at(0).steps) chained += step.fused();
  }
  EXPECT_GT(chained, 400);  // groups of several calls
}

// Whatever row, dtype and number.
TEST(OneLane, HasTheBitsOfMany) {
  int tested = 0;
  for (const Family& family : families())
    for (const Op& row : family.rows)
      for (int t = 0; row.tile && t < kNumDTypes; ++t) {
        const auto at = static_cast<std::size_t>(t);
        const kernels::TileFn one = row.tile.one[at], many = row.tile.fn[at];
        ASSERT_EQ(one == nullptr, many == nullptr) << row.name << " " << name_of(static_cast<DType>(t));
        if (one == nullptr || one == many) continue;
        with_element(static_cast<DType>(t), [&](auto* tag) {
          using T = std::remove_pointer_t<decltype(tag)>;
          std::vector<T> numbers;
          for (const float edge : kEdges)
            if (std::is_floating_point_v<T> || (edge >= 0 && edge < 2)) numbers.push_back(static_cast<T>(edge));
          numbers.push_back(static_cast<T>(7));
          const std::size_t count = numbers.size();
          for (std::size_t k = 0; k < count * count * count; ++k) {
            const T given[] = {numbers[k % count], numbers[k / count % count], numbers[k / count / count], T(1), T(0), T(1)};
            const void* in[kernels::kMaxTileInputs];
            for (int i = 0; i < kernels::kMaxTileInputs; ++i) in[i] = &given[i];
            unsigned char x[16] = {}, y[16] = {};
            one(in, x, 99);
            many(in, y, 1);
            const DType result = row.tile.result(static_cast<DType>(t));
            const bool nans = result == f32   ? std::isnan(std::bit_cast<float>(std::array{x[0], x[1], x[2], x[3]})) && std::isnan(std::bit_cast<float>(std::array{y[0], y[1], y[2], y[3]}))
                              : result == f64 ? std::isnan(*reinterpret_cast<double*>(x)) && std::isnan(*reinterpret_cast<double*>(y))
                                              : false;
            ASSERT_TRUE(nans || std::equal(x, x + 16, y)) << row.name << " " << name_of(static_cast<DType>(t)) << ", numbers " << k;
            ++tested;
          }
        });
      }
  EXPECT_GT(tested, detail::kClones ? 100'000 : 1'000);  // without clones bool alone has a form of its own
}

}  // namespace
}  // namespace weft
