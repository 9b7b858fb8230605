#include "kernels/chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <vector>

#include "kernels/stream.h"
#include "kernels/tile.h"

namespace weft::kernels {
namespace {

// What a chain means, lane by lane.
float linked(Link link, float a, float x) {
  switch (link) {
    case Link::kLoad: return x;
    case Link::kAdd: return a + x;
    case Link::kSubtract: return a - x;
    case Link::kSubtractFrom: return x - a;
    case Link::kMultiply: return a * x;
    case Link::kDivide: return a / x;
    case Link::kDivideInto: return x / a;
    case Link::kNegative: return -a;
    case Link::kSquare: return a * a;
    case Link::kRelu: return a < 0 ? 0 : a;
    default: return a;
  }
}

bool same(float a, float b) { return (a != a && b != b) || std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }
std::vector<Isa> isas() {
  std::vector<Isa> all;
  for (int i = 0; i <= static_cast<int>(best_isa()); ++i) all.push_back(static_cast<Isa>(i));
  return all;
}

// Memory whose lanes begin at a line, with room behind them that must stay as it is.
struct Lanes {
  static constexpr std::size_t kBehind = 16;
  explicit Lanes(std::size_t n) : memory(n + 16 + kBehind, 77.f), at(memory.data()) {
    while (reinterpret_cast<std::uintptr_t>(at) % 64 != 0) ++at;
  }
  std::vector<float> memory;
  float* at;
};

// Random links over four inputs and four places to keep, some of which are the inputs: what is kept is seen by the links behind it. Besides a number
// and working memory, which stay where they are while the lanes go by. Whichever stream they belong to, the links mean the same.
void expect_meaning(const ChainKernels& kernels, std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Lanes> lanes(7, Lanes(n));
  for (Lanes& each : lanes) {
    each = Lanes(n);
    for (std::size_t k = 0; k < n; ++k) each.at[k] = static_cast<float>(static_cast<int>(random() % 4001) - 2000) / 16;
    each.at[random() % n] = -0.f;
    each.at[random() % n] = std::bit_cast<float>(random() % 2 ? 0x7fc00000u : 0xff800000u);
  }
  Lanes number(kChainLanes), working(kChainLanes);
  std::fill_n(number.at, kChainLanes, -0.625f);
  std::vector<BoundLink> links = {{Link::kLoad, lanes[0].at, kStreams}, {Link::kKeep, working.at, kNear, BoundLink::kStays}};
  while (links.size() < 5 + seed % 50) {
    const Link link = static_cast<Link>(random() % static_cast<unsigned>(Link::kEnd));
    if (link == Link::kKeepPast) continue;
    const bool keeps = link == Link::kKeep;
    const auto stream = static_cast<std::uint8_t>(random() % (kStreams + 1u));
    if (random() % 4 == 0) links.push_back({link, keeps || random() % 2 ? working.at : number.at, stream, BoundLink::kStays});
    else links.push_back({link, lanes[keeps ? 3 + random() % 4 : random() % 5].at, stream});
  }
  Lanes past(n);
  links.push_back({Link::kKeepPast, past.at});
  std::vector<std::vector<float>> wanted;
  for (const Lanes& each : lanes) wanted.emplace_back(each.at, each.at + n);
  std::vector<float> last(n);
  for (std::size_t k = 0; k < n; ++k) {
    float a = 0, worked = 0;
    for (const BoundLink& link : links) {
      if (link.moves == BoundLink::kStays) {
        if (link.link == Link::kKeep) worked = a;
        else a = linked(link.link, a, link.x == number.at ? -0.625f : worked);
        continue;
      }
      const auto is_operand = [&](const Lanes& each) { return each.at == link.x; };
      const auto of = static_cast<std::size_t>(std::find_if(lanes.begin(), lanes.end(), is_operand) - lanes.begin());
      if (link.link == Link::kKeep) wanted[of][k] = a;
      else if (link.link != Link::kKeepPast) a = linked(link.link, a, wanted[of][k]);
    }
    last[k] = a;
  }
  links.push_back({Link::kEnd, past.at});
  kernels.run(links.data(), n);
  finish_streaming();
  for (std::size_t k = 0; k < n; ++k)
    ASSERT_TRUE(same(past.at[k], last[k])) << "seed " << seed << ", lane " << k << " of " << n << ": " << past.at[k] << " for " << last[k];
  for (std::size_t i = 0; i < lanes.size(); ++i)
    for (std::size_t k = 0; k < n; ++k) ASSERT_TRUE(same(lanes[i].at[k], wanted[i][k])) << "seed " << seed << ", place " << i << ", lane " << k << " of " << n;
  for (std::size_t k = kChainLanes; k < kChainLanes + Lanes::kBehind; ++k) ASSERT_EQ(working.at[k], 77.f) << "seed " << seed << ": behind working memory";
  lanes.push_back(std::move(past));
  for (const Lanes& each : lanes)
    for (std::size_t k = n; k < n + Lanes::kBehind; ++k) ASSERT_EQ(each.at[k], 77.f) << "seed " << seed << ": lanes behind the last of " << n;
}

TEST(Chain, MeansWhatItsLinksMean) {
  for (const Isa isa : isas())
    for (const std::size_t n : {1, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 500, 1024, 1337})
      for (unsigned seed = 0; seed < 50; ++seed) expect_meaning(chain_kernels(isa), n, seed);
}

// One lane, again and again: what a turn has kept the next one sees, and the accumulator goes on from where it was unless a link loads.
TEST(Chain, Repeats) {
  for (const Isa isa : isas())
    for (unsigned seed = 0; seed < 200; ++seed) {
      std::mt19937 random(seed);
      float places[5];
      for (float& place : places) place = static_cast<float>(static_cast<int>(random() % 401) - 200) / 128;
      std::vector<BoundLink> links = {{Link::kLoad, &places[0]}};
      while (links.size() < 3 + seed % 20) {
        const Link link = static_cast<Link>(random() % static_cast<unsigned>(Link::kEnd));
        if (link != Link::kKeepPast && link != Link::kAsk) links.push_back({link, &places[random() % 5]});
      }
      links.push_back({Link::kKeep, &places[1 + random() % 4]});
      const std::size_t again = random() % 2;
      const int times = 1 + static_cast<int>(random() % 9);
      float wanted[5], a = 0;
      std::copy(std::begin(places), std::end(places), wanted);
      for (int time = 0; time < times; ++time)
        for (std::size_t l = time == 0 ? 0 : again; l < links.size(); ++l) {
          float& x = wanted[links[l].x - places];
          if (links[l].link == Link::kKeep) x = a;
          else a = linked(links[l].link, a, x);
        }
      links.push_back({Link::kEnd, places});
      chain_kernels(isa).repeat(links.data(), links.data() + again, times);
      for (std::size_t i = 0; i < 5; ++i) ASSERT_TRUE(same(places[i], wanted[i])) << "seed " << seed << ", place " << i << ": " << places[i] << " for " << wanted[i];
    }
}

// s = (a + b) c, kept or not, and c - s^2 + s: of repeated lanes or dense ones, of a scalar, in place, of lanes that tiles and chunks cut in pieces,
// and past the caches.
TEST(Chain, IsAStepOfAProgram) {
  for (const std::size_t n : {std::size_t{4}, std::size_t{700}, std::size_t{40'000}, (std::size_t{4} << 20) + 24})
    for (const bool in_place : {false, true})
      for (const bool two : {false, true})
        for (const bool repeats : {false, true}) {
          Lanes a(n), b(n), kept(n), made(n);
          const std::int64_t sizes[] = {static_cast<std::int64_t>(n / 4), 4}, dense[] = {4, 1}, repeated[] = {0, 1}, none[] = {0, 0};
          const float c = 0.375f;
          for (std::size_t k = 0; k < n; ++k) {
            a.at[k] = static_cast<float>(k % 1021) / 8 - 40;
            b.at[k] = static_cast<float>(repeats ? k % 4 : k % 509) - 2;
          }
          const std::vector<float> before(a.at, a.at + n);
          const TileInput inputs[] = {{a.at, dense, 4, Half::kNo}, {b.at, repeats ? repeated : dense, 4, Half::kNo}, {&c, none, 4, Half::kNo}};
          const TileLink links[] = {{Link::kLoad, 0}, {Link::kAdd, 1}, {Link::kMultiply, 2}, {Link::kKeep, 3},
                                    {Link::kSquare},  {Link::kSubtractFrom, 2}, {Link::kAdd, 3}, {Link::kKeep, 4}};
          const TileStep step{.fn = nullptr, .count = 0, .in = {}, .out = 4, .chain = links};
          std::vector<TileOutput> outputs = {{in_place ? a.at : made.at, 4, Half::kNo, 4}};
          if (two) outputs.push_back({kept.at, 4, Half::kNo, 3});
          run_tiles({&step, 1}, inputs, outputs, sizes, 2);
          for (std::size_t k = 0; k < n; ++k) {
            const float scaled = (before[k] + b.at[k]) * c;
            ASSERT_EQ((in_place ? a : made).at[k], c - scaled * scaled + scaled) << k << " of " << n;
            ASSERT_EQ(kept.at[k], two ? scaled : 77.f) << k << " of " << n;
          }
          EXPECT_EQ(made.at[n], 77.f);
        }
}

}  // namespace
}  // namespace weft::kernels
