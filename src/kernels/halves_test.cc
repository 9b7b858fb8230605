#include "kernels/halves.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

namespace weft::kernels {
namespace {

std::vector<Isa> available() {
  std::vector<Isa> sets;
  for (const Isa set : {Isa::kBaseline, Isa::kV3, Isa::kV4})
    if (set <= best_isa()) sets.push_back(set);
  return sets;
}

TEST(Halves, EverySetWidensAllPatternsAlike) {
  constexpr std::size_t n = 65536;
  std::vector<float16> f(n);
  std::vector<bfloat16> b(n);
  for (std::size_t i = 0; i < n; ++i) f[i].bits = b[i].bits = static_cast<std::uint16_t>(i);
  for (const Isa set : available()) {
    std::vector<float> from_f(n), from_b(n);
    half_kernels(set).widen_f16(f.data(), from_f.data(), n);
    half_kernels(set).widen_bf16(b.data(), from_b.data(), n);
    for (std::size_t i = 0; i < n; ++i) {
      const float want = static_cast<float>(f[i]);
      if (want != want) ASSERT_TRUE(from_f[i] != from_f[i]) << i;
      else ASSERT_EQ(std::bit_cast<std::uint32_t>(from_f[i]), std::bit_cast<std::uint32_t>(want)) << name_of(set) << " " << i;
      ASSERT_EQ(std::bit_cast<std::uint32_t>(from_b[i]), static_cast<std::uint32_t>(i) << 16) << name_of(set) << " " << i;
    }
  }
}

TEST(Halves, EverySetNarrowsAlike) {
  std::vector<float> x;
  for (std::uint64_t word = 0; word < (std::uint64_t{1} << 32); word += 9973) x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(word)));
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {  // ties and their neighbours
    const std::uint32_t middle = bits << 16 | 0x8000u;
    for (const std::uint32_t word : {middle, middle - 1, middle + 1}) x.push_back(std::bit_cast<float>(word));
  }
  for (const Isa set : available()) {
    std::vector<float16> f(x.size());
    std::vector<bfloat16> b(x.size());
    half_kernels(set).narrow_f16(x.data(), f.data(), x.size());
    half_kernels(set).narrow_bf16(x.data(), b.data(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(f[i].bits, float16(x[i]).bits) << name_of(set) << " " << x[i];
      ASSERT_EQ(b[i].bits, bfloat16(x[i]).bits) << name_of(set) << " " << x[i];
    }
  }
}

}  // namespace
}  // namespace weft::kernels
