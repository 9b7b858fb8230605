#include "ops/pairs.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "core/op.h"
#include "ops/table.h"
#include <weft/function.h>
#include <weft/operators.h>
#include <weft/ops.h>

namespace weft {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

// Every two of these meet in the lanes of a and b, every three in those of a, b and c.
std::vector<float> edges(std::size_t step) {
  const std::vector<float> all = {0.f, -0.f, 1.f, -1.f, 3e38f, -3e38f, 1e-45f, -1e-40f, 0.1f, 1.f / 3, kInf, -kInf, kNan};
  std::vector<float> lanes;
  for (std::size_t k = 0; k < all.size() * all.size() * all.size(); ++k) lanes.push_back(all[k / step % all.size()]);
  return lanes;
}

bool same(float a, float b) { return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }

TEST(Pairs, RoundAsTheirPartsDo) {
  const std::vector<float> lanes[] = {edges(1), edges(13), edges(169)};
  const std::size_t n = lanes[0].size();
  int tested = 0;
  for (const Family& family : families())
    for (const Op& first : family.rows)
      for (const Tile::Pair& pair : first.tile.pairs) {
        std::vector<float> made(n), expected(n), together(n);
        const std::size_t from_first = first.inputs.size();
        const void* in[] = {lanes[0].data(), lanes[1].data(), lanes[2].data()};
        first.tile.for_dtype(f32)(in, made.data(), n);
        const void* second_in[] = {made.data(), made.data()};
        if (pair.second->inputs.size() == 2) second_in[1 - pair.at] = in[from_first];
        pair.second->tile.for_dtype(f32)(second_in, expected.data(), n);
        pair.fn(in, together.data(), n);
        for (std::size_t k = 0; k < n; ++k)
          ASSERT_TRUE(same(together[k], expected[k])) << first.name << " then " << pair.second->name << " at " << pair.at << ", lane " << k << ": " << together[k] << " for " << expected[k];
        ++tested;
      }
  EXPECT_EQ(tested, 7 * (4 * 2 + 3));
}

// Results that others read, too, stay; what is read twice is no pair; operands keep their sides.
TEST(Pairs, KeepWhatOthersRead) {
  const Tensor x = linspace(-300.f, 300.f, 2000), y = linspace(1.f, 700.f, 2000);
  const auto body = [](Tensor a, Tensor b) {
    const Tensor difference = a - b, scaled = difference * b, quotient = b / scaled, twice = scaled * scaled;
    return std::tuple{relu(difference - quotient) / b, b - square(twice - a), difference};
  };
  Function traced = body;
  const auto [p, q, r] = traced(x, y);
  const auto [p0, q0, r0] = body(x, y);
  EXPECT_EQ(p.to_vector<float>(), p0.to_vector<float>());
  EXPECT_EQ(q.to_vector<float>(), q0.to_vector<float>());
  EXPECT_EQ(r.to_vector<float>(), r0.to_vector<float>());
  EXPECT_EQ(traced.explain().traces.at(0).steps.size(), 1u);
}

}  // namespace
}  // namespace weft
