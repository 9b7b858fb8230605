// Update rows beyond what the suites derive: lists, memory that is taken over, results too large for the caches, 16-bit floats.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support.h"
#include <weft/runtime.h>
#include <weft/weft.h>

namespace weft {
namespace {

using test::message;

// Adam on one lane, in double.
struct Lane {
  double x, m, v;
  void step(double g, double t, double rate = 0.001, double beta_1 = 0.9, double beta_2 = 0.999, double epsilon = 1e-7) {
    m += (g - m) * (1 - beta_1);
    v += (g * g - v) * (1 - beta_2);
    x -= rate * std::sqrt(1 - std::pow(beta_2, t)) / (1 - std::pow(beta_1, t)) * m / (std::sqrt(v) + epsilon);
  }
};

Tensor ramp(std::int64_t n, float from, float by) { return cast(arange(0, n, 1), f32) * by + from; }

TEST(UpdateRows, ChangeEveryElementOfEveryTensor) {
  for (const std::int64_t size : {1, 63, 64, 65, 1000, 16384, 40001, 200'003}) {
    const std::vector<std::int64_t> sizes{size, 3, 0, size / 2 + 1};
    std::vector<Tensor> lists[4];
    for (const std::int64_t n : sizes) {
      lists[0].push_back(ramp(n, 1, 0.001f));
      lists[1].push_back(ramp(n, 0.1f, 0.0001f));
      lists[2].push_back(ramp(n, 0.2f, 0.0002f));
      lists[3].push_back(ramp(n, -1, 0.0003f));
    }
    std::vector<Tensor> all;
    for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
    const std::vector<Tensor> result = adam_update(0.001f, Tensor(4, i64), all);
    ASSERT_EQ(result.size(), 12u);
    for (std::size_t t = 0; t < sizes.size(); ++t) {
      for (std::int64_t k = 0; k < sizes[t]; k += std::max<std::int64_t>(1, sizes[t] / 50)) {
        const auto at = [&](const Tensor& x) { return static_cast<double>(x.data<float>()[k]); };
        Lane lane{at(lists[0][t]), at(lists[1][t]), at(lists[2][t])};
        lane.step(at(lists[3][t]), 5);
        EXPECT_NEAR(at(result[t]), lane.x, 1e-6 + 1e-6 * std::abs(lane.x)) << size << " " << t << " " << k;
        EXPECT_NEAR(at(result[4 + t]), lane.m, 1e-6 + 1e-6 * std::abs(lane.m));
        EXPECT_NEAR(at(result[8 + t]), lane.v, 1e-6 + 1e-6 * std::abs(lane.v));
      }
    }
  }
}

// From 16 MB on results that are not written in place go past the caches; they are the same.
TEST(UpdateRows, LargeResultsAreTheSameInPlaceAndAnew) {
  const std::int64_t n = (std::int64_t{4} << 20) + 77;
  const Tensor x = ramp(n, 1, 1e-7f), m = ramp(n, 0, 1e-7f), g = ramp(n, -0.2f, 1e-7f);
  const std::vector<Tensor> fresh = sgd_update(0.1f, {x, m, g}, {.momentum = 0.9});
  std::vector<Tensor> lists{x + 0.f, m + 0.f, g};  // memory of their own
  const void* const places[] = {lists[0].data<float>(), lists[1].data<float>()};
  const std::vector<Tensor> in_place = sgd_update(0.1f, std::move(lists), {.momentum = 0.9});
  EXPECT_EQ(in_place[0].data<float>(), places[0]);
  EXPECT_EQ(in_place[1].data<float>(), places[1]);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(static_cast<bool>(all_true(fresh[i] == in_place[i])));
}

TEST(UpdateRows, TakeThePlaceOfWhatNobodyElseHolds) {
  for (const std::int64_t size : {2, 50}) {  // inside the node, and in a buffer
    Tensor x = ones({size}), kept = ones({size});
    const Tensor second = kept;
    const float* const place = x.data<float>();
    std::vector<Tensor> lists{std::move(x), std::move(kept), ones({size}), ones({size})};
    const std::vector<Tensor> result = sgd_update(0.5f, std::move(lists));
    EXPECT_EQ(result[0].data<float>(), place);
    EXPECT_NE(result[1].data<float>(), second.data<float>());
    EXPECT_EQ(second.to_vector<float>(), std::vector<float>(static_cast<std::size_t>(size), 1));
    for (const Tensor& y : result) EXPECT_EQ(y.to_vector<float>(), std::vector<float>(static_cast<std::size_t>(size), 0.5f));
  }
}

TEST(UpdateRows, OneValueMayStandInSeveralPlaces) {
  const Tensor zero = zeros({3}), one = ones({3});
  const std::vector<Tensor> result = adam_update(0.5f, Tensor(0, i64), {one, zero, zero, one});
  EXPECT_EQ(zero.to_vector<float>(), std::vector<float>(3, 0));
  EXPECT_NEAR(result[0].data<float>()[0], 0.5f, 1e-5);
}

TEST(UpdateRows, HalvesComputeInF32) {
  for (const DType dtype : {f16, bf16}) {
    const std::int64_t n = 70'001;
    const auto half = [&](float from, float by) { return cast(ramp(n, from, by), dtype); };
    const std::vector<Tensor> lists{half(1, 1e-5f), half(0.1f, 1e-6f), half(0.2f, 1e-6f), half(-1, 2e-5f)};
    std::vector<Tensor> wide;
    for (const Tensor& x : lists) wide.push_back(cast(x, f32));
    const std::vector<Tensor> got = adam_update(0.01f, Tensor(0, i64), lists), want = adam_update(0.01f, Tensor(0, i64), wide);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(got[i].dtype(), dtype);
      EXPECT_TRUE(static_cast<bool>(all_true(got[i] == cast(want[i], dtype)))) << i;
    }
  }
}

TEST(UpdateRows, DecayBeforeTheRule) {
  const std::vector<Tensor> y = sgd_update(0.5f, {Tensor{4.f, -2.f}, Tensor{1.f, 0.f}}, {.weight_decay = 0.5});
  EXPECT_EQ(y[0].to_vector<float>(), (std::vector<float>{2.5f, -1.5f}));
  const float inf = std::numeric_limits<float>::infinity();  // without a decay nothing is multiplied with 0
  EXPECT_EQ(sgd_update(0.5f, {Tensor{inf}, Tensor{0.f}})[0].to_vector<float>(), std::vector<float>{inf});
}

TEST(UpdateRows, AreNoPartOfAGradient) {
  const Tensor x = ones({2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sgd_update(0.5f, {x, ones({2})})[0];
  EXPECT_EQ(message<GradientError>([&] { tape.gradient(y, x); }), "sgd_update: this op has no gradient; stop the gradient before it or use another op.");
}

TEST(UpdateRows, SayWhatIsWrongWithLists) {
  const Tensor a = ones({2}), b = ones({3});
  EXPECT_EQ(
      message<ShapeError>([&] {
        adam_update(0.1f, Tensor(0, i64), {a, a, a});
      }),
      "adam_update: 3 tensors are given; parameters, momenta, velocities, gradients are 4 lists of equal length, one behind the other.");
  EXPECT_EQ(message<ShapeError>([&] { sgd_update(0.1f, {a, b}); }),
            "sgd_update: tensors[1] f32[3] must have the shape of tensors[0] f32[2]; parameters, gradients have equal shapes.");
  EXPECT_EQ(message<ShapeError>([&] { sgd_update(Tensor{0.1f}, {a, a}); }), "sgd_update: learning_rate f32[1] must be a scalar.");
  EXPECT_EQ(message<DtypeError>([&] { sgd_update(Tensor(1), {a, a}); }), "sgd_update: learning_rate i32[] must be f32, f64, f16 or bf16.");
  EXPECT_EQ(message<ValueError>([&] { sgd_update(0.1f, {a, a}, {.nesterov = true}); }),
            "sgd_update: nesterov is set without a momentum; give momentum more than 0.");
}

}  // namespace
}  // namespace weft
