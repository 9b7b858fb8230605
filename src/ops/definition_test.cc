// Rows that choose, add up, sort and resize, against their definitions: random and odd shapes, some large enough for several threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "tests/suite_rows.h"
#include "tests/support.h"
#include <weft/ops.h>
#include <weft/runtime.h>

namespace weft {
namespace {

using test::floats;
using Floats = std::vector<float>;
using Ints = std::vector<std::int64_t>;

// Small cases, and now and then one whose rows are more than a thread takes at a time.
class Definition : public testing::Test {
 protected:
  std::int64_t up_to(std::int64_t most) { return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most)); }
  // Whole numbers: their sums are exact in any order.
  Floats whole_numbers(std::int64_t count) {
    Floats x(static_cast<std::size_t>(count));
    for (float& value : x) value = static_cast<float>(random() % 201) - 100;
    return x;
  }
  Ints indices(std::int64_t count, std::int64_t low, std::int64_t size) {
    Ints at(static_cast<std::size_t>(count));
    for (std::int64_t& index : at) index = low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(size - low));
    return at;
  }
  // Indices of either type.
  Tensor as_tensor(const Ints& at, Shape shape) {
    const Tensor wide(std::span<const std::int64_t>(at), std::move(shape));
    return random() % 2 == 0 ? wide : cast(wide, i32);
  }
  int rounds() const { return test::small_scale() ? 20 : 200; }
  bool large(int round) const { return round % 20 == 19; }

  std::mt19937 random{1};
};

Tensor tensor_of(const Floats& x, Shape shape) { return Tensor(std::span<const float>(x), std::move(shape)); }
std::size_t place(std::int64_t at) { return static_cast<std::size_t>(at); }

TEST_F(Definition, OfGatherAndItsTranspose) {
  for (int round = 0; round < rounds(); ++round) {
    const std::int64_t batch = up_to(3), outer = up_to(4), size = up_to(17);
    const std::int64_t count = large(round) ? 900 : up_to(9), width = up_to(large(round) ? 70 : 5);
    const Floats x = whole_numbers(batch * outer * size * width), dy = whole_numbers(batch * outer * count * width);
    const Ints at = indices(batch * count, 0, size);
    Floats y(dy.size()), dx(x.size());
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t o = 0; o < outer; ++o)
        for (std::int64_t k = 0; k < count; ++k)
          for (std::int64_t c = 0; c < width; ++c) {
            const std::size_t from = place(((b * outer + o) * size + at[place(b * count + k)]) * width + c);
            const std::size_t to = place(((b * outer + o) * count + k) * width + c);
            y[to] = x[from];
            dx[from] += dy[to];
          }
    const Tensor where = as_tensor(at, {batch, count}), like = tensor_of(x, {batch, outer, size, width});
    EXPECT_EQ(floats(gather(like, where, {.axis = 2, .batch_dims = 1})), y);
    EXPECT_EQ(floats(scatter_axis(where, tensor_of(dy, {batch, outer, count, width}), like, {.axis = 2, .batch_dims = 1})), dx);
    ASSERT_FALSE(HasFailure()) << batch << " " << outer << " " << size << " " << count << " " << width;
  }
}

TEST_F(Definition, OfScatters) {
  for (int round = 0; round < rounds(); ++round) {
    const std::int64_t rows = up_to(7), cols = up_to(6), count = large(round) ? 2000 : up_to(20), width = up_to(large(round) ? 90 : 4);
    const Floats x = whole_numbers(rows * cols * width), updates = whole_numbers(count * width);
    Ints at(place(2 * count));
    for (std::int64_t k = 0; k < count; ++k) at[place(2 * k)] = indices(1, 0, rows)[0], at[place(2 * k + 1)] = indices(1, 0, cols)[0];
    Floats zero(x.size()), added = x, replaced = x, larger = x;
    for (std::int64_t k = 0; k < count; ++k)
      for (std::int64_t c = 0; c < width; ++c) {
        const std::size_t to = place((at[place(2 * k)] * cols + at[place(2 * k + 1)]) * width + c);
        const float update = updates[place(k * width + c)];
        zero[to] += update, added[to] += update, replaced[to] = update, larger[to] = std::max(larger[to], update);
      }
    const Shape shape{rows, cols, width};
    const Tensor where = as_tensor(at, {count, 2}), values = tensor_of(updates, {count, width}), start = tensor_of(x, shape);
    EXPECT_EQ(floats(scatter_nd(where, values, shape)), zero);
    EXPECT_EQ(floats(tensor_scatter_nd_add(start, where, values)), added);
    EXPECT_EQ(floats(tensor_scatter_nd_update(start, where, values)), replaced);
    EXPECT_EQ(floats(tensor_scatter_nd_max(start, where, values)), larger);
    EXPECT_EQ(floats(gather_nd(start, where)), floats(gather(reshape(start, {rows * cols, width}), [&] {
      Ints flat;
      for (std::int64_t k = 0; k < count; ++k) flat.push_back(at[place(2 * k)] * cols + at[place(2 * k + 1)]);
      return Tensor(flat);
    }())));
    ASSERT_FALSE(HasFailure()) << rows << " " << cols << " " << count << " " << width;
  }
}

TEST_F(Definition, OfSegments) {
  for (int round = 0; round < rounds(); ++round) {
    // Many segments and few rows are put in order another way than few segments.
    const std::int64_t count = large(round) ? 3000 : up_to(60), width = up_to(large(round) ? 50 : 5);
    const std::int64_t segments = round % 3 == 0 ? 5 * count + 1 : up_to(9);
    const Floats x = whole_numbers(count * width);
    Ints ids = indices(count, -1, segments);
    const auto expect = [&](std::int64_t results, const Tensor& sums, const Tensor& means, const Tensor& most) {
      Floats sum(place(results * width)), mean(sum), max(sum.size(), std::numeric_limits<float>::lowest());
      std::vector<int> rows(place(results));
      for (std::int64_t k = 0; k < count; ++k) {
        if (ids[place(k)] < 0) continue;
        ++rows[place(ids[place(k)])];
        for (std::int64_t c = 0; c < width; ++c) {
          const std::size_t to = place(ids[place(k)] * width + c), from = place(k * width + c);
          sum[to] += x[from], max[to] = std::max(max[to], x[from]);
        }
      }
      for (std::size_t i = 0; i < sum.size(); ++i) {
        const int of = rows[i / place(width)];
        mean[i] = of == 0 ? 0 : sum[i] / static_cast<float>(of);
      }
      EXPECT_EQ(floats(sums), sum);
      EXPECT_EQ(floats(means), mean);
      EXPECT_EQ(floats(most), max);
    };
    const Tensor rows = tensor_of(x, {count, width});
    Tensor at = as_tensor(ids, {count});
    expect(segments, unsorted_segment_sum(rows, at, segments), unsorted_segment_mean(rows, at, segments),
           unsorted_segment_max(rows, at, segments));
    for (std::int64_t& id : ids) id = std::max<std::int64_t>(id, 0);
    std::sort(ids.begin(), ids.end());
    at = as_tensor(ids, {count});
    const Tensor most = segment_max(rows, at), none = equal(unsorted_segment_sum(ones({count}), at, most.shape()[0]), 0.f);
    const Tensor lowest = fill({}, std::numeric_limits<float>::lowest());  // sorted segments that have no rows are 0
    expect(ids.back() + 1, segment_sum(rows, at), segment_mean(rows, at), where(reshape(none, {ids.back() + 1, 1}), lowest, most));
    ASSERT_FALSE(HasFailure()) << count << " " << width << " " << segments;
  }
}

// Few distinct values, so that there are many ties; with two NaNs, which come last.
Floats with_ties(std::int64_t count, std::mt19937& random) {
  Floats x(place(count));
  for (float& value : x) value = static_cast<float>(random() % 40) - 20;
  for (int i = 0; i < 2; ++i) x[random() % x.size()] = std::numeric_limits<float>::quiet_NaN();
  return x;
}

// Sorts [outer, count, inner] along the middle, and a row of it for the k largest.
void expect_sorted(std::int64_t outer, std::int64_t count, std::int64_t inner, std::mt19937& random) {
  SCOPED_TRACE(std::to_string(outer) + " x " + std::to_string(count) + " x " + std::to_string(inner));
  const Floats x = with_ties(outer * count * inner, random);
  const Tensor input = tensor_of(x, {outer, count, inner});
  const auto bits = [](const Floats& values) {  // NaN equals itself here
    std::vector<std::uint32_t> all;
    for (const float value : values) all.push_back(std::bit_cast<std::uint32_t>(value == 0 ? 0.f : value));
    return all;
  };
  for (const bool descending : {false, true}) {
    Floats values(x.size());
    std::vector<int> places(x.size());
    for (std::int64_t lane = 0; lane < outer * inner; ++lane) {
      const std::int64_t base = lane / inner * count * inner + lane % inner;
      const auto key = [&](int k) {
        const float value = x[place(base + k * inner)];
        return std::isnan(value) ? std::pair(true, 0.f) : std::pair(false, value);
      };
      std::vector<int> order(place(count));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return descending ? key(b) < key(a) : key(a) < key(b); });
      for (std::int64_t k = 0; k < count; ++k) {
        places[place(base + k * inner)] = order[place(k)];
        values[place(base + k * inner)] = x[place(base + order[place(k)] * inner)];
      }
    }
    const SortDirection direction = descending ? SortDirection::kDescending : SortDirection::kAscending;
    EXPECT_TRUE(argsort(input, {.axis = 1, .direction = direction}).to_vector<int>() == places);
    EXPECT_TRUE(bits(floats(sort(input, {.axis = 1, .direction = direction}))) == bits(values));
    if (!descending || inner != 1) continue;
    const std::int64_t k = std::min<std::int64_t>(count, 1 + static_cast<std::int64_t>(random() % 50));
    const auto [largest, at] = top_k(reshape(input, {outer, count}), k);
    for (std::int64_t row = 0; row < outer; ++row)
      for (std::int64_t i = 0; i < k; ++i) {
        ASSERT_EQ(at.to_vector<int>()[place(row * k + i)], places[place(row * count + i)]);
        ASSERT_EQ(bits(floats(largest))[place(row * k + i)], bits(values)[place(row * count + i)]);
      }
  }
}

TEST_F(Definition, OfSortsIsStable) {
  for (int round = 0; round < rounds(); ++round) {
    const std::int64_t outer = up_to(4), count = up_to(round % 2 == 0 ? 9 : 90), inner = round % 3 == 0 ? 1 : up_to(5);
    expect_sorted(outer, count, inner, random);
    ASSERT_FALSE(HasFailure());
  }
}

// Beyond 32,768 elements a lane is sorted in parts, side by side, that are merged then: 2, 4 and 8 of them.
TEST_F(Definition, OfLongSortsIsStableForAnyNumberOfThreads) {
  const int before = num_threads();
  for (const int threads : {1, 3, 8}) {
    set_num_threads(threads);
    for (const auto& [outer, count, inner] : {std::tuple{1, 32768, 1}, {1, 32769, 1}, {2, 33001, 1}, {1, 50021, 2}, {1, 70001, 1}})
      if (!test::small_scale() || count < 40000) expect_sorted(outer, count, inner, random);
  }
  set_num_threads(before);
}

// Where an output pixel lies among those of the input, whose centres are whole numbers.
double centre(std::int64_t i, std::int64_t in, std::int64_t out) {
  const double at = (static_cast<double>(i) + 0.5) * static_cast<double>(in) / static_cast<double>(out) - 0.5;
  return std::clamp(at, 0.0, static_cast<double>(in - 1));
}

TEST_F(Definition, OfResizing) {
  for (int round = 0; round < rounds(); ++round) {
    const std::int64_t batch = up_to(3), h = up_to(9), w = up_to(9), height = up_to(13), width = up_to(13), channels = up_to(4);
    const Floats x = whole_numbers(batch * h * w * channels), dy = whole_numbers(batch * height * width * channels);
    for (const ResizeMethod method : {ResizeMethod::kBilinear, ResizeMethod::kNearest}) {
      // The share that pixel p of the input has in pixel i.
      const auto share = [&](std::int64_t i, std::int64_t p, std::int64_t in, std::int64_t out) {
        if (method == ResizeMethod::kNearest) return (2 * i + 1) * in / (2 * out) == p ? 1.0 : 0.0;
        return std::max(0.0, 1 - std::abs(centre(i, in, out) - static_cast<double>(p)));
      };
      std::vector<double> y(dy.size()), dx(x.size());
      for (std::int64_t b = 0; b < batch; ++b)
        for (std::int64_t i = 0; i < height; ++i)
          for (std::int64_t j = 0; j < width; ++j)
            for (std::int64_t p = 0; p < h; ++p)
              for (std::int64_t q = 0; q < w; ++q)
                for (std::int64_t c = 0; c < channels; ++c) {
                  const double weight = share(i, p, h, height) * share(j, q, w, width);
                  const std::size_t to = place(((b * height + i) * width + j) * channels + c);
                  const std::size_t from = place(((b * h + p) * w + q) * channels + c);
                  y[to] += weight * static_cast<double>(x[from]), dx[from] += weight * static_cast<double>(dy[to]);
                }
      const Tensor input = tensor_of(x, {batch, h, w, channels});
      const Floats got = floats(resize(input, {height, width}, {.method = method}));
      const Tensor slope = tensor_of(dy, {batch, height, width, channels});
      const Floats back = floats(resize_backward(slope, input, {height, width}, {.method = method}));
      ASSERT_EQ(got.size(), y.size());
      ASSERT_EQ(back.size(), dx.size());
      for (std::size_t k = 0; k < y.size(); ++k) ASSERT_NEAR(got[k], y[k], 1e-4) << h << " " << w << " to " << height << " " << width;
      for (std::size_t k = 0; k < dx.size(); ++k) ASSERT_NEAR(back[k], dx[k], 2e-3) << h << " " << w << " to " << height << " " << width;
    }
  }
}

}  // namespace
}  // namespace weft
