// What a plan joins into one step, and that the bits stay those of the eager calls.
#include <gtest/gtest.h>

#include <random>

#include "tests/suite_rows.h"
#include <weft/weft.h>

namespace weft {
namespace {

template <class F>
std::vector<std::vector<std::string>> steps_of(F& function) {
  std::vector<std::vector<std::string>> steps;
  const FunctionReport report = function.explain();
  for (const FunctionReport::Step& step : report.traces.at(0).steps) steps.push_back(step.ops);
  return steps;
}
using Steps = std::vector<std::vector<std::string>>;

template <class T = float>
void expect_same_bits(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.shape(), b.shape());
  EXPECT_EQ(a.to_vector<T>(), b.to_vector<T>());
}

Tensor normal(Shape shape, std::uint64_t seed = 1) { return Generator(seed).normal(std::move(shape)); }

// Products of every kind that the kernels know: blocks in several tasks, one block, a vector, nothing but rows, transposed factors.
TEST(Fusion, EpilogueOfAProduct) {
  const auto layer = [](Tensor x, Tensor w, Tensor b) { return relu(matmul(x, w) + b) * 0.5f; };
  for (const auto& [m, k, n] : std::vector<std::tuple<int, int, int>>{{300, 70, 520}, {32, 784, 512}, {40, 3, 17}, {1, 900, 1000}, {1000, 900, 1}, {700, 1, 9}, {129, 600, 257}, {600, 0, 3}}) {
    SCOPED_TRACE(std::to_string(m) + " " + std::to_string(k) + " " + std::to_string(n));
    const Tensor x = normal({m, k}), w = normal({k, n}, 2), b = normal({n}, 3);
    Function f = layer;
    expect_same_bits(f(x, w, b), layer(x, w, b));
    EXPECT_EQ(steps_of(f), (Steps{{"matmul", "add", "relu", "multiply"}}));
  }
  const auto transposed = [](Tensor x, Tensor w) { return matmul(x, w, {.transpose_a = true, .transpose_b = true}) - 1.f; };
  Function f = transposed;
  expect_same_bits(f(normal({90, 200}), normal({150, 90}, 2)), transposed(normal({90, 200}), normal({150, 90}, 2)));
  const auto few_rows = [](Tensor x, Tensor w) { return relu(matmul(x, w, {.transpose_b = true})); };  // blocks of columns, turned
  Function h = few_rows;
  expect_same_bits(h(normal({32, 784}), normal({512, 784}, 2)), few_rows(normal({32, 784}), normal({512, 784}, 2)));
  EXPECT_EQ(steps_of(h).size(), 1u);
  const auto batched = [](Tensor x, Tensor w) { return square(matmul(x, w)); };
  Function g = batched;
  expect_same_bits(g(normal({5, 30, 20}), normal({20, 40}, 2)), batched(normal({5, 30, 20}), normal({20, 40}, 2)));
  EXPECT_EQ(steps_of(g).size(), 1u);
}

// So large a result is stored past the caches by the last function of its group; the length leaves a rest of a line.
TEST(Fusion, ALargeResultIsTheSame) {
  const auto body = [](Tensor x, Tensor z, Tensor a) { return relu(a * x + 0.5f) * x + a * z; };
  const std::int64_t size = (std::int64_t{1} << 22) + 77;
  const Tensor x = linspace(-3.f, 3.f, size), z = linspace(1.f, 2.f, size), a(1.25f);
  Function f = body, tanh_last = [](Tensor u, Tensor v, Tensor s) { return tanh(s * u + v); };
  EXPECT_TRUE(f(x, z, a).to_vector<float>() == body(x, z, a).to_vector<float>());
  EXPECT_EQ(f.explain().traces[0].steps.size(), 1u);
  EXPECT_TRUE(tanh_last(x, z, a).to_vector<float>() == tanh(a * x + z).to_vector<float>());
}

TEST(Fusion, EpilogueOfAConvolution) {
  const auto layer = [](Tensor x, Tensor w, Tensor b) { return relu(conv2d(x, w, {.padding = Padding::kSame}) + b); };
  for (const auto& [size, in, out] : std::vector<std::tuple<int, int, int>>{{12, 3, 32}, {9, 16, 7}, {20, 1, 70}, {31, 5, 1}}) {
    SCOPED_TRACE(std::to_string(size) + " " + std::to_string(in) + " " + std::to_string(out));
    const Tensor x = normal({3, size, size, in}), w = normal({3, 3, in, out}, 2), b = normal({out}, 3);
    Function f = layer;
    expect_same_bits(f(x, w, b), layer(x, w, b));
    EXPECT_EQ(steps_of(f), (Steps{{"conv2d", "add", "relu"}}));
  }
  // Filters that are not finite take the plain loops.
  const Tensor x = normal({2, 10, 10, 3}), w = concat(std::vector<Tensor>{normal({3, 3, 3, 7}), fill({3, 3, 3, 1}, std::numeric_limits<float>::infinity())}, 3);
  Function f = layer;
  const Tensor made = f(x, w, zeros({8})), expected = layer(x, w, zeros({8}));
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(made.to_vector<float>()[i * 8], expected.to_vector<float>()[i * 8]);
}

// The product itself is read by others, too; a group of before joins the epilogue; large operands are read where they lie.
TEST(Fusion, EpilogueLeavesTheProductToOthers) {
  const auto body = [](Tensor x, Tensor w, Tensor y) {
    const Tensor scaled = y * 2.f + 1.f, product = matmul(x, w);
    return std::tuple{relu(product) + scaled, sum(product, {.axis = {0}}), product};
  };
  const Tensor x = normal({64, 40}), w = normal({40, 50}, 2), y = normal({64, 50}, 3);
  Function f = body;
  const auto [a, b, c] = f(x, w, y);
  const auto [a0, b0, c0] = body(x, w, y);
  expect_same_bits(a, a0);
  expect_same_bits(b, b0);
  expect_same_bits(c, c0);
}

TEST(Fusion, ProducersOfReductions) {
  const auto square_error = [](Tensor x, Tensor y) { return mean(square(x - y)); };
  for (const std::int64_t n : {600, 16384, 16385, 100'000, 1'000'003}) {
    SCOPED_TRACE(n);
    Function f = square_error;
    const Tensor x = normal({n}), y = normal({n}, 2);
    expect_same_bits(f(x, y), square_error(x, y));
    EXPECT_EQ(steps_of(f), (Steps{{"subtract", "square", "mean"}}));
  }
}

// Rows, columns, an axis in the middle, several axes; every reduction that takes what it folds from others; every kind of element.
TEST(Fusion, ProducersOfReductionsOverAnyAxes) {
  const Tensor x = normal({6, 50, 7, 30}), y = normal({7, 1}, 2);
  int cases = 0;
  for (const Axes& axes : std::vector<Axes>{{3}, {0}, {1}, {2}, {0, 1}, {1, 3}, {0, 2}, {0, 1, 2, 3}, {1, 2, 3}, {0, 3}}) {
    SCOPED_TRACE(++cases);
    const auto all = [&](Tensor a, Tensor b) {
      return std::tuple{sum(a * b, {.axis = axes}), mean(a - b, {.axis = axes}), max(a + b, {.axis = axes}), min(a / b, {.axis = axes}), prod(abs(a) + 0.5f, {.axis = axes})};
    };
    Function f = all;
    const auto made = f(x, y), expected = all(x, y);
    expect_same_bits(std::get<0>(made), std::get<0>(expected));
    expect_same_bits(std::get<1>(made), std::get<1>(expected));
    expect_same_bits(std::get<2>(made), std::get<2>(expected));
    expect_same_bits(std::get<3>(made), std::get<3>(expected));
    expect_same_bits(std::get<4>(made), std::get<4>(expected));
    EXPECT_EQ(steps_of(f).size(), 5u);
  }
  const auto wide = [](Tensor a) { return sum(a * a + a, {.axis = {1}}); };
  Function f64_sum = wide, i32_sum = wide;
  const Tensor d = cast(normal({40, 900}), f64), i = cast(normal({40, 900}) * 1000.f, i32);
  expect_same_bits<double>(f64_sum(d), wide(d));
  expect_same_bits<std::int32_t>(i32_sum(i), wide(i));
}

// What the group makes besides is still made, once.
TEST(Fusion, AReductionLeavesTheRestOfItsGroup) {
  const auto body = [](Tensor x, Tensor y) {
    const Tensor error = x - y;
    return std::tuple{sum(square(error)), error, sum(error)};
  };
  const Tensor x = normal({3000}), y = normal({3000}, 2);
  Function f = body;
  const auto [a, b, c] = f(x, y);
  const auto [a0, b0, c0] = body(x, y);
  expect_same_bits(a, a0);
  expect_same_bits(b, b0);
  expect_same_bits(c, c0);
}

// Gradients of joined steps are those of the eager calls.
TEST(Fusion, Gradients) {
  const auto loss = [](Tensor x, Tensor w, Tensor b) {
    GradientTape tape;
    tape.watch(w);
    tape.watch(b);
    const Tensor value = mean(square(relu(matmul(x, w) + b)));
    std::vector<Tensor> gradients = tape.gradient(value, std::vector<Tensor>{w, b});
    gradients.push_back(value);
    return gradients;
  };
  const Tensor x = normal({50, 30}), w = normal({30, 40}, 2), b = normal({40}, 3);
  Function f = loss;
  const std::vector<Tensor> made = f(x, w, b), expected = loss(x, w, b);
  for (std::size_t i = 0; i < 3; ++i) expect_same_bits(made[i], expected[i]);
}

// A program of products, convolutions, views, reductions and pointwise calls on n x n matrices of one dtype. What was made last is read most, and
// numbers stay small.
struct RandomProgram {
  unsigned seed;
  std::int64_t n;
  DType dtype;
  bool assigns, differentiates;

  std::vector<Tensor> operator()(const Tensor& a, const Tensor& b, Variable& state) const {
    if (!differentiates) return results(a, b, state);
    GradientTape tape;
    tape.watch(a);
    tape.watch(b);
    std::vector<Tensor> made = results(a, b, state);
    const std::vector<Tensor> gradients = tape.gradient(sum(tanh(made[0])) + sum(tanh(made[1])), std::vector<Tensor>{a, b}, {.unconnected = Unconnected::kZeros});
    made.insert(made.end(), gradients.begin(), gradients.end());
    return made;
  }

 private:
  std::vector<Tensor> results(const Tensor& a, const Tensor& b, Variable& state) const {
    std::mt19937 random(seed);
    std::vector<Tensor> values{a, b}, reduced;
    const auto any = [&] { return values[values.size() - 1 - std::min<std::size_t>(random() % 4, values.size() - 1)]; };
    const auto number = [&](double value) { return cast(Tensor(value), dtype); };
    const auto keep = [&](const Tensor& x) { values.push_back(x); };
    for (int i = 0; i < 14; ++i) {
      const Tensor x = any(), y = any();
      switch (random() % 19) {
        case 0: keep(x + y); break;
        case 1: keep(x - y * number(0.5)); break;
        case 2: keep(tanh(x) * y); break;
        case 3: keep(tanh(x)); break;
        case 4: keep(relu(x) - x); break;
        case 5: keep(reshape(reshape(x, {n * n}) * number(0.5), {n, n})); break;
        case 6: keep(x - sum(y, {.axis = {0}}) * number(0.01)); break;
        case 7: keep(x * tanh(mean(y, {.axis = {1}, .keepdims = true})) - tanh(max(y))); break;
        case 8: keep(matmul(tanh(x), y) * number(0.05) + y); break;
        case 9: keep(matmul(reshape(tanh(x), {n, n}), y) * number(0.05)); break;
        case 10: keep(x + matmul(tanh(x), b) * number(0.1)); break;
        case 11: keep(cumsum(x, {.axis = 0}) * number(0.1)); break;
        case 12: {  // two die for two
          const Tensor u = sort(x) + cumsum(y, {.axis = 1}) * number(0.1);
          keep(u);
          keep(matmul(tanh(u), x) * number(0.05));
          break;
        }
        case 13: {  // a reduction ends a group whose other result stays
          const Tensor u = tanh(sort(x));
          reduced.push_back(random() % 2 == 0 ? sum(u * u, {.axis = {1}}) : max(u * x, {.axis = {0}}));
          keep(u);
          break;
        }
        case 14: {  // one product is read by calls behind the one that could lie there
          const Tensor p = matmul(x, b) * number(0.05), q = tanh(p);
          keep(p - q * q);
          keep(q);
          break;
        }
        case 15: {
          const Tensor p = matmul(stack({x, y}), b) * number(0.05), q = tanh(p) + stack({y, x});
          reduced.push_back(sum(q, {.axis = {2}}));
          keep(sum(q, {.axis = {0}}));
          break;
        }
        case 16: {
          const Tensor p = conv1d(reshape(tanh(x), {1, n, n}), stack({b, a, b}) * number(0.05), {.padding = Padding::kSame});
          keep(reshape(relu(p + reshape(x, {1, n, n})) * number(0.5), {n, n}));
          break;
        }
        case 17: {
          const Tensor filters = reshape(slice(b, {0, 0}, {3, 3}), {3, 3, 1, 1});
          keep(reshape(relu(conv2d(reshape(tanh(x), {1, n, n, 1}), filters, {.padding = Padding::kSame})), {n, n}) * number(0.5) + y);
          break;
        }
        default:
          if (!assigns) break;
          state.assign(tanh(state.value() + x * number(0.1)));
          keep(state.value() + y);
      }
    }
    reduced.insert(reduced.begin(), {values.back(), values[values.size() - 2], sum(any())});
    return reduced;
  }
};

// Whatever dies where and makes room for what, and whoever else reads it.
TEST(Fusion, RandomProgramsHaveTheBitsOfEagerCalls) {
  const auto expect_same = [](const Tensor& made, const Tensor& expected) {
    const std::vector<double> x = cast(made, f64).to_vector<double>(), y = cast(expected, f64).to_vector<double>();
    ASSERT_EQ(x.size(), y.size());
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_TRUE(x[i] == y[i] || (x[i] != x[i] && y[i] != y[i])) << x[i] << " instead of " << y[i] << " at " << i;
  };
  for (unsigned seed = 0; seed < (test::small_scale() ? 60 : 800); ++seed) {
    const DType dtypes[] = {f32, f32, f32, f64, bf16, f32, f32, f16};
    const std::int64_t sizes[] = {24, 40, 23, 33, 22, 24, 100};  // few lanes; products told of at once; products told of part by part
    const RandomProgram program{seed, sizes[seed % 7], dtypes[seed % 8], seed % 3 == 0, seed % 5 < 2};
    SCOPED_TRACE("program " + std::to_string(seed));
    const Tensor a = cast(normal({program.n, program.n}), program.dtype), b = cast(normal({program.n, program.n}, 2), program.dtype);
    Variable state{a}, eager_state{a};
    Function f = [&](Tensor x, Tensor y) { return program(x, y, state); };
    for (int call = 0; call < 2; ++call) {
      const std::vector<Tensor> made = f(a, b), expected = program(a, b, eager_state);
      ASSERT_EQ(made.size(), expected.size());
      for (std::size_t i = 0; i < made.size(); ++i) expect_same(made[i], expected[i]);
      expect_same(state.value(), eager_state.value());
      if (HasFailure()) return;
    }
  }
}

// The room that a training step needs is hardly more than what is alive at a time.
TEST(Fusion, TheArenaIsHardlyLargerThanWhatIsAlive) {
  struct Layer {
    Variable w, b;
    Tensor operator()(Tensor x) const { return matmul(x, w) + b; }
  };
  const auto layer = [](std::int64_t in, std::int64_t out) { return Layer{Variable(normal({in, out}) * 0.05f), Variable(zeros({out}))}; };
  for (const std::int64_t batch : {32, 128, 1024}) {
    std::vector<Layer> net{layer(784, 512), layer(512, 512), layer(512, 10)};
    Adam adam;
    Function step = [&](Tensor x, Tensor y) {
      GradientTape tape;
      const Tensor loss = mean(sparse_softmax_cross_entropy(y, net[2](relu(net[1](relu(net[0](x)))))));
      adam.apply(tape.gradient(loss, net), net);
      return loss;
    };
    step(normal({batch, 784}), zeros({batch}, {.dtype = i32}));
    const FunctionReport::Trace trace = step.explain().traces.at(0);
    EXPECT_GT(trace.live_bytes, static_cast<std::size_t>(4 * (784 * 512 + 512 * 512))) << "gradients of all weights are alive in the end";
    EXPECT_LE(static_cast<double>(trace.arena_bytes), 1.1 * static_cast<double>(trace.live_bytes)) << batch;
  }
}

}  // namespace
}  // namespace weft
