#include <weft/update.h>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include <weft/transaction.h>
#include <weft/weft.h>

namespace weft {
namespace {

TEST(UpdateTogether, PublishesAllOrNothing) {
  Variable a{1.f}, b{2.f};
  const Variable both[] = {a, b};
  update_together(both, [](std::span<Tensor> values) { std::swap(values[0], values[1]); });
  EXPECT_EQ(a.value().item<float>(), 2);
  EXPECT_EQ(b.value().item<float>(), 1);
  EXPECT_THROW(update_together(both, [](std::span<Tensor> values) {
    values[0] = values[0] + 1;
    throw std::runtime_error("no");
  }), std::runtime_error);
  EXPECT_EQ(a.value().item<float>(), 2);
  EXPECT_EQ(a.version(), 1u);
  EXPECT_THROW(update_together(both, [](std::span<Tensor> values) { values[0] = Tensor{1.f, 2.f}; }), ShapeError);
  EXPECT_EQ(a.value().item<float>(), 2);
  update_together({}, [](std::span<Tensor> values) { EXPECT_TRUE(values.empty()); });
  const Variable twice[] = {a, b, a};
  EXPECT_THROW(update_together(twice, [](std::span<Tensor>) {}), ValueError);
}

// Large ones are changed where they lie; their memory stays.
TEST(UpdateTogether, ChangesInPlaceWhatNobodyHolds) {
  for (const std::int64_t size : {2, 1000, 300'000}) {
    Variable x{ones({size})}, m{zeros({size})}, count{0, {.dtype = i64}};
    const Variable all[] = {x, m, count};
    const Tensor g = ones({size});
    const auto step = [&] {
      update_together(all, [&](std::span<Tensor> values) {
        std::vector<Tensor> next = sgd_update(0.5f, {values[0], values[1], g}, {.momentum = 0.5});
        values[0] = next[0];
        values[1] = next[1];
        values[2] = values[2] + 1;
      }, {.by = "step", .in_place = true});
    };
    const auto place = [](const Variable& v) { return v.value().data<float>(); };
    const float* const before[] = {place(x), place(m)};
    step();
    EXPECT_EQ(place(x), before[0]) << size;
    EXPECT_EQ(place(m), before[1]) << size;
    EXPECT_EQ(x.value().data<float>()[size - 1], 0.5f);
    EXPECT_EQ(count.value().item<std::int64_t>(), 1);
    EXPECT_STREQ(x.history().back().by, "step");
    // What somebody holds stays as it is.
    const Tensor held = x.value();
    step();
    EXPECT_EQ(held.data<float>()[0], 0.5f);
    EXPECT_EQ(x.value().data<float>()[0], -0.25f);
    EXPECT_EQ(place(m), before[1]);
  }
}

TEST(UpdateTogether, DefersWithinABlock) {
  Variable x{ones({1000})};
  const Variable all[] = {x};
  const Tensor g = ones({1000});
  const auto step = [&] {
    update_together(all, [&](std::span<Tensor> values) { values[0] = sgd_update(0.5f, {values[0], g})[0]; }, {.in_place = true});
  };
  EXPECT_THROW(atomically([&] {
    step();
    EXPECT_EQ(x.value().data<float>()[7], 0.5f);
    step();
    EXPECT_EQ(x.value().data<float>()[7], 0);
    throw std::runtime_error("no");
  }), std::runtime_error);
  EXPECT_EQ(x.value().data<float>()[7], 1);
  atomically([&] { step(), step(); });
  EXPECT_EQ(x.value().data<float>()[7], 0);
}

// Only calls on the values themselves can wait.
TEST(UpdateTogether, RunsAtOnceWhatIsNotAValueOfIts) {
  Variable x{ones({4})};
  const Variable all[] = {x};
  update_together(all, [](std::span<Tensor> values) { values[0] = sgd_update(0.5f, {values[0] * 2, ones({4})})[0]; }, {.in_place = true});
  EXPECT_EQ(x.value().to_vector<float>(), std::vector<float>(4, 1.5f));
}

// What is larger than a few bytes and was not made by a row is swapped in, together with what rows make.
TEST(UpdateTogether, MixesRowsAndOps) {
  Variable x{ones({1000})}, y{zeros({1000})};
  const Variable all[] = {x, y};
  update_together(all, [](std::span<Tensor> values) {
    values[1] = values[1] + 3;
    values[0] = sgd_update(0.5f, {values[0], ones({1000})})[0];
  }, {.in_place = true});
  EXPECT_EQ(x.value().to_vector<float>(), std::vector<float>(1000, 0.5f));
  EXPECT_EQ(y.value().to_vector<float>(), std::vector<float>(1000, 3));
}

// Readers of other threads see whole steps, in place or not.
TEST(UpdateTogether, ReadersSeeWholeSteps) {
  Variable x{zeros({5000})}, y{zeros({300})};
  const Variable all[] = {x, y};
  std::atomic<bool> done = false;
  std::atomic<int> torn = 0, mixed = 0;
  std::thread reader([&] {
    while (!done) {
      const Tensor seen = x.read_latest();
      const float* const v = seen.data<float>();
      torn += v[0] != v[4999] || v[0] != v[2500];
      const auto [a, b] = atomically([&] { return std::pair(x.value(), y.value()); });
      mixed += a.data<float>()[0] != b.data<float>()[299];
    }
  });
  for (int i = 0; i < 3000; ++i)
    update_together(all, [](std::span<Tensor> values) {
      std::vector<Tensor> next = sgd_update(1.f, {values[0], values[1], ones({5000}), ones({300})});
      values[0] = next[0], values[1] = next[1];
    }, {.in_place = true});
  done = true;
  reader.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(mixed, 0);
  EXPECT_EQ(x.value().data<float>()[0], -3000);
}

}  // namespace
}  // namespace weft
