#include "kernels/tile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/stream.h"
#include <weft/dtype.h>

namespace weft::kernels {
namespace {

template <class T>
void combine(const void* const* in, void* out, std::size_t n) {
  const T *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]), *c = static_cast<const T*>(in[2]);
  for (std::size_t k = 0; k < n; ++k) static_cast<T*>(out)[k] = static_cast<T>(a[k] * 3 + b[k] * 5 - c[k]);
}

void is_less(const void* const* in, void* out, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) static_cast<bool*>(out)[k] = static_cast<const float*>(in[0])[k] < static_cast<const float*>(in[1])[k];
}

struct Operand {
  std::vector<std::int64_t> strides;
  std::size_t count;
};

// A dense operand that repeats along a random choice of the axes.
Operand random_operand(const std::vector<std::int64_t>& sizes, std::mt19937& random) {
  Operand result{std::vector<std::int64_t>(sizes.size()), 1};
  const unsigned missing = random() % (sizes.size() + 1);  // leading axes it does not have
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    const bool repeats = axis < missing || random() % 3 == 0 || sizes[axis] == 1;
    result.strides[axis] = repeats ? 0 : static_cast<std::int64_t>(result.count);
    if (!repeats) result.count *= static_cast<std::size_t>(sizes[axis]);
  }
  return result;
}

std::size_t offset_of(std::size_t k, const std::vector<std::int64_t>& sizes, const Operand& operand) {
  std::size_t offset = 0;
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    offset += k % static_cast<std::size_t>(sizes[axis]) * static_cast<std::size_t>(operand.strides[axis]);
    k /= static_cast<std::size_t>(sizes[axis]);
  }
  return offset;
}

std::vector<std::int64_t> random_sizes(std::mt19937& random) {
  static constexpr std::int64_t choices[] = {1, 1, 2, 3, 5, 7, 16, 33, 511, 512, 513, 700};
  std::vector<std::int64_t> sizes(random() % 6);
  std::int64_t total = 1;
  for (std::int64_t& size : sizes) {
    size = choices[random() % 12];
    if (total * size > 4000) size = 1;
    total *= size;
  }
  if (random() % 16 == 0 && !sizes.empty()) sizes[random() % sizes.size()] = 0;
  return sizes;
}

template <class T>
void expect_naive_results(unsigned seed) {
  std::mt19937 random(seed);
  const std::vector<std::int64_t> sizes = random_sizes(random);
  std::size_t total = 1;
  for (const std::int64_t size : sizes) total *= static_cast<std::size_t>(size);
  std::vector<Operand> operands;
  std::vector<std::vector<T>> data;
  std::vector<TileInput> inputs;
  for (int i = 0; i < 3; ++i) {
    operands.push_back(random_operand(sizes, random));
    data.emplace_back(operands.back().count);
    for (T& v : data.back()) v = static_cast<T>(random() % 100);
  }
  for (std::size_t i = 0; i < 3; ++i) inputs.push_back({data[i].data(), operands[i].strides.data(), sizeof(T), Half::kNo});
  std::vector<T> result(total + 8, T(77));  // and nothing beyond the end is written
  run_tile(combine<T>, inputs.data(), 3, {result.data(), sizeof(T), Half::kNo}, sizes.data(), static_cast<int>(sizes.size()));
  for (std::size_t k = 0; k < total; ++k) {
    const T a = data[0][offset_of(k, sizes, operands[0])], b = data[1][offset_of(k, sizes, operands[1])], c = data[2][offset_of(k, sizes, operands[2])];
    ASSERT_EQ(result[k], static_cast<T>(a * 3 + b * 5 - c)) << "seed " << seed << ", element " << k;
  }
  for (std::size_t k = total; k < result.size(); ++k) ASSERT_EQ(result[k], T(77)) << "seed " << seed;
}

TEST(Tile, AgreesWithNaiveBroadcasting) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    expect_naive_results<std::int8_t>(seed);
    expect_naive_results<std::int16_t>(seed);
    expect_naive_results<float>(seed);
    expect_naive_results<double>(seed);
  }
}

template <class H>
void expect_half_results(unsigned seed, Half half) {
  std::mt19937 random(seed);
  const std::vector<std::int64_t> sizes = random_sizes(random);
  std::size_t total = 1;
  for (const std::int64_t size : sizes) total *= static_cast<std::size_t>(size);
  std::vector<Operand> operands;
  std::vector<std::vector<H>> data;
  std::vector<TileInput> inputs;
  for (int i = 0; i < 3; ++i) {
    operands.push_back(random_operand(sizes, random));
    data.emplace_back(operands.back().count);
    for (H& v : data.back()) v = H(static_cast<float>(random() % 2000) / 128 - 8);
  }
  for (std::size_t i = 0; i < 3; ++i) inputs.push_back({data[i].data(), operands[i].strides.data(), sizeof(H), half});
  std::vector<H> result(total);
  run_tile(combine<float>, inputs.data(), 3, {result.data(), sizeof(H), half}, sizes.data(), static_cast<int>(sizes.size()));
  std::vector<std::uint8_t> flags(total);
  run_tile(is_less, inputs.data(), 2, {flags.data(), 1, Half::kNo}, sizes.data(), static_cast<int>(sizes.size()));
  for (std::size_t k = 0; k < total; ++k) {
    const float a = data[0][offset_of(k, sizes, operands[0])], b = data[1][offset_of(k, sizes, operands[1])], c = data[2][offset_of(k, sizes, operands[2])];
    ASSERT_EQ(result[k].bits, H(a * 3 + b * 5 - c).bits) << "seed " << seed << ", element " << k;
    ASSERT_EQ(flags[k] != 0, a < b) << "seed " << seed << ", element " << k;
  }
}

TEST(Tile, ComputesHalvesInFloatAndRoundsOnce) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    expect_half_results<float16>(seed, Half::kF16);
    expect_half_results<bfloat16>(seed, Half::kBF16);
  }
}

TEST(Tile, MayWriteOverADenseInput) {
  std::vector<float> a(2000), b(2000), c(2000, 1.f);
  for (std::size_t k = 0; k < a.size(); ++k) a[k] = static_cast<float>(k), b[k] = 2;
  const std::int64_t size = 2000, stride = 1;
  const TileInput inputs[] = {{a.data(), &stride, 4, Half::kNo}, {b.data(), &stride, 4, Half::kNo}, {c.data(), &stride, 4, Half::kNo}};
  run_tile(combine<float>, inputs, 3, {a.data(), 4, Half::kNo}, &size, 1);
  for (std::size_t k = 0; k < a.size(); ++k) ASSERT_EQ(a[k], static_cast<float>(k) * 3 + 9);
}

TEST(Tile, TakesScalarsOfRankZero) {
  const float a = 2, b = 3, c = 4;
  float y = 0;
  const TileInput inputs[] = {{&a, nullptr, 4, Half::kNo}, {&b, nullptr, 4, Half::kNo}, {&c, nullptr, 4, Half::kNo}};
  run_tile(combine<float>, inputs, 3, {&y, 4, Half::kNo}, nullptr, 0);
  EXPECT_EQ(y, 17.f);
}

void scale(const void* const* in, void* out, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) static_cast<float*>(out)[k] = 1.7f * static_cast<const float*>(in[0])[k];
}
void plus(const void* const* in, void* out, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) static_cast<float*>(out)[k] = static_cast<const float*>(in[0])[k] + static_cast<const float*>(in[1])[k];
}
void unused(const void* const*, void*, std::size_t) { ADD_FAILURE() << "the other form was to be used"; }

// y = 1.7 (a + b), z = y + a: an intermediate, an output that is read again, and a broadcast input, over one tile and over many chunks; of busy
// steps fewer lanes already fall into chunks.
template <class Store, Half half>
void check_chain(std::uint8_t work) {
  for (const std::int64_t rows : {1, 3, 130, 700}) {
    const std::int64_t sizes[] = {rows, 130};
    const std::int64_t dense[] = {130, 1}, repeated[] = {0, 1};
    const auto total = static_cast<std::size_t>(rows) * 130;
    std::vector<Store> a(total), b(130), y(total), z(total);
    std::mt19937 random(7);
    for (Store& v : a) v = Store(static_cast<float>(random() % 1000) / 64);
    for (Store& v : b) v = Store(static_cast<float>(random() % 1000) / 64);
    const TileInput inputs[] = {{a.data(), dense, sizeof(Store), half}, {b.data(), repeated, sizeof(Store), half}};
    const TileStep steps[] = {{plus, 2, {0, 1}, 2, half, nullptr, work}, {scale, 1, {2}, 3, half, nullptr, work},
                              {plus, 2, {3, 0}, 4, half, nullptr, work}};
    const TileOutput outputs[] = {{y.data(), sizeof(Store), half, 3}, {z.data(), sizeof(Store), half, 4}};
    run_tiles(steps, inputs, outputs, sizes, 2);
    for (std::size_t k = 0; k < total; ++k) {
      const Store sum(static_cast<float>(a[k]) + static_cast<float>(b[k % 130])), scaled(1.7f * static_cast<float>(sum));
      const Store last(static_cast<float>(scaled) + static_cast<float>(a[k]));
      ASSERT_EQ(static_cast<float>(y[k]), static_cast<float>(scaled)) << k;
      ASSERT_EQ(static_cast<float>(z[k]), static_cast<float>(last)) << k;
    }
  }
}

TEST(Tile, ChainsRoundAfterEveryStep) {
  for (const std::uint8_t work : {std::uint8_t{1}, kBusyWork}) {
    check_chain<float, Half::kNo>(work);
    check_chain<float16, Half::kF16>(work);
    check_chain<bfloat16, Half::kBF16>(work);
  }
}

std::atomic<int> calls_of_counted;
void counted(const void* const* in, void* out, std::size_t n) {
  ++calls_of_counted;
  scale(in, out, n);
}

// The pool has several chunks to share where there are many lanes, or a quarter of that and more to do for each.
TEST(Tile, FallsIntoChunksWhereThereIsEnoughToDo) {
  struct Case {
    std::int64_t lanes;
    std::uint8_t work;
    bool shared;
  };
  for (const Case c : {Case{32'767, 1, false}, Case{32'768, 1, true}, Case{16'383, kBusyWork, false}, Case{16'384, kBusyWork, true}}) {
    std::vector<float> x(static_cast<std::size_t>(c.lanes), 3.f), y(x.size());
    const std::int64_t stride = 1;
    const TileInput input{x.data(), &stride, 4, Half::kNo};
    calls_of_counted = 0;
    run_tile(counted, &input, 1, {y.data(), 4, Half::kNo}, &c.lanes, 1, nullptr, c.work);
    EXPECT_EQ(calls_of_counted > 1, c.shared) << c.lanes << " lanes, work " << int{c.work};
    for (const float value : y) ASSERT_EQ(value, 1.7f * 3.f);
  }
}

// Large enough for chunks on the pool and for stores past the caches; the lengths leave odd rests of a tile and of a cache line.
TEST(Tile, LargeOutputsAreComplete) {
  for (const std::size_t n : {(std::size_t{4} << 20) + 7, std::size_t{5000003}}) {
    std::vector<float> a(n), out(n + 64);
    for (std::size_t k = 0; k < n; ++k) a[k] = static_cast<float>(k % 1021);
    const std::int64_t stride = 1, zero = 0, size = static_cast<std::int64_t>(n);
    const float two = 2;
    float* const aligned = out.data() + (64 - reinterpret_cast<std::uintptr_t>(out.data()) % 64) % 64 / sizeof(float);
    const TileInput inputs[] = {{a.data(), &stride, 4, Half::kNo}, {&two, &zero, 4, Half::kNo}};
    run_tile(plus, inputs, 2, {aligned, 4, Half::kNo}, &size, 1);
    for (std::size_t k = 0; k < n; ++k) ASSERT_EQ(aligned[k], a[k] + 2) << k;
    std::fill_n(aligned, n, 0.f);
    run_tile(plus, inputs, 2, {.data = aligned, .element_size = 4, .half = Half::kNo, .cached = true}, &size, 1);
    for (std::size_t k = 0; k < n; ++k) ASSERT_EQ(aligned[k], a[k] + 2) << k;
    // By the other form: of lanes as they lie, of others, and of the last step of several.
    const TileInput twice[] = {inputs[0], inputs[0]};
    const TileOutput cached{.data = aligned, .element_size = 4, .half = Half::kNo, .slot = 3, .cached = true};
    run_tile(unused, twice, 2, cached, &size, 1, plus);
    for (std::size_t k = 0; k < n; ++k) ASSERT_EQ(aligned[k], a[k] + a[k]) << k;
    run_tile(unused, inputs, 2, cached, &size, 1, plus);
    for (std::size_t k = 0; k < n; ++k) ASSERT_EQ(aligned[k], a[k] + 2) << k;
    const TileStep steps[] = {{plus, 2, {0, 1}, 2, Half::kNo, unused}, {unused, 2, {2, 0}, 3, Half::kNo, plus}};
    run_tiles(steps, inputs, {&cached, 1}, &size, 1);
    for (std::size_t k = 0; k < n; ++k) ASSERT_EQ(aligned[k], a[k] + 2 + a[k]) << k;
    run_tile(plus, inputs, 2, cached, &size, 1);
    for (std::size_t k = 0; k < n; ++k) ASSERT_EQ(aligned[k], a[k] + 2) << k;
    run_tile(plus, inputs, 2, {a.data(), 4, Half::kNo}, &size, 1, unused);  // in place
    for (std::size_t k = 0; k < n; ++k) ASSERT_EQ(aligned[k], a[k]) << k;
  }
}

// From and to any alignment, whole lines or not, and nothing beside them.
TEST(Stream, CopiesExactlyWhatItShould) {
  for (const std::size_t from : {0, 1, 16})
    for (const std::size_t to : {0, 1, 16, 63})
      for (const std::size_t bytes : {0, 1, 63, 64, 65, 200, 1024}) {
        std::vector<unsigned char> x(1200), y(1200, 7);
        for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<unsigned char>(k * 37 % 251);
        std::vector<unsigned char> want = y;
        std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(from), bytes, want.begin() + static_cast<std::ptrdiff_t>(to));
        stream(x.data() + from, y.data() + to, bytes);
        finish_streaming();
        EXPECT_EQ(y, want) << from << " " << to << " " << bytes;
      }
}

}  // namespace
}  // namespace weft::kernels
