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

const void* address(const Variable& v) { return v.value().data<float>(); }

// What the body makes by itself is swapped in; what rows change stays where it lies.
TEST(UpdateTogether, MixesRowsAndOps) {
  for (const std::int64_t size : {4, 1000, 300'000}) {
    Variable x{ones({size})}, y{zeros({size})}, same{ones({size})};
    const Variable all[] = {x, y, same};
    const void *const place = address(x), *const other = address(y), *const third = address(same);
    const void* made = nullptr;
    update_together(all, [&](std::span<Tensor> values) {
      values[1] = values[1] + 3;
      made = values[1].data<float>();
      values[0] = sgd_update(0.5f, {values[0], ones({size})})[0];
    }, {.in_place = true});
    const auto count = static_cast<std::size_t>(size);
    EXPECT_EQ(x.value().to_vector<float>(), std::vector<float>(count, 0.5f));
    EXPECT_EQ(y.value().to_vector<float>(), std::vector<float>(count, 3));
    EXPECT_EQ(address(x), place) << size;
    EXPECT_NE(address(y), other) << size;
    if (size == 4) continue;  // so few lie in the node, of which a slot has its own
    EXPECT_EQ(address(y), made) << size;
    EXPECT_EQ(address(same), third) << size;
  }
  Variable x{ones({8})}, grows{zeros({2}), {.shape = Shape{kUnknown}}};
  const Variable both[] = {x, grows};
  const auto step = [&](Tensor next) {
    update_together(both, [&](std::span<Tensor> values) {
      values[0] = sgd_update(0.5f, {values[0], ones({8})})[0];
      values[1] = next;
    }, {.in_place = true});
  };
  step(ones({5}));
  EXPECT_EQ(grows.shape(), (Shape{5}));
  EXPECT_THROW(step(ones({2, 2})), ShapeError);
  EXPECT_THROW(step(Tensor()), ValueError);
  EXPECT_EQ(x.value().to_vector<float>(), std::vector<float>(8, 0.5f)) << "all or nothing";
}

TEST(UpdateTogether, ChangesOneValueSeveralTimes) {
  for (const bool held : {false, true})
    for (const bool block : {false, true}) {
      Variable v{zeros({3, 2})}, m{zeros({4})};
      const Variable all[] = {v, m};
      const Tensor keep = held ? v.value() : Tensor();
      const void* const place = v.value().data<float>();
      const auto change = [&] {
        update_together(all, [](std::span<Tensor> values) {
          values[0] = tensor_scatter_nd_add(values[0], {{0}, {2}}, ones({2, 2}));
          values[0] = tensor_scatter_nd_add(values[0], {{2}}, Tensor({{10.f, 20.f}}));
          values[1] = sgd_update(1.f, {values[1], ones({4})})[0];
          values[0] = tensor_scatter_nd_sub(std::move(values[0]), {{2}, {2}}, ones({2, 2}));
          values[1] = sgd_update(1.f, {values[1], ones({4})})[0];
        }, {.in_place = true});
      };
      block ? atomically(change) : change();
      EXPECT_EQ(v.value().to_vector<float>(), (std::vector<float>{1, 1, 0, 0, 9, 19}));
      EXPECT_EQ(m.value().to_vector<float>(), std::vector<float>(4, -2));
      if (held) { EXPECT_EQ(keep.to_vector<float>(), std::vector<float>(6, 0)); }
      EXPECT_EQ(v.value().data<float>() == place, !held && !block);
      EXPECT_EQ(v.version(), 1u);
    }
}

TEST(UpdateTogether, RefusesToReplaceWhatWaits) {
  Variable v{zeros({3}), {.name = "v"}};
  try {
    update_together({&v, 1}, [](std::span<Tensor> values) {
      values[0] = tensor_scatter_nd_add(values[0], {{0}}, Tensor({1.f}));
      values[0] = values[0] * 2;
    }, {.in_place = true});
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_EQ(error.message(), "update_together: Variable \"v\" is replaced after a change that waits until the values are published; leave the result of that "
                               "where the value was, or update without in_place.");
  }
  EXPECT_EQ(v.version(), 0u);
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
