// What the table cannot derive about convolution and pooling: a reference that follows the definition, ties, edges and error texts.
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "tests/support.h"
#include <weft/weft.h>

namespace weft {
namespace {

using test::message;

using Values = std::vector<double>;
using Sizes = std::vector<std::int64_t>;

std::int64_t product(const Sizes& sizes) {
  std::int64_t result = 1;
  for (std::int64_t size : sizes) result *= size;
  return result;
}

Shape shape_of(const Sizes& sizes) { return Shape(std::span<const std::int64_t>(sizes)); }
IntList list_of(const Sizes& sizes) { return Ints(sizes.begin(), sizes.end()); }

struct Case {
  std::int64_t batch, groups, depth, width;  // channels in and out of one group
  Sizes in, window, stride, dilation, before, after;
  Padding padding;

  std::size_t axes() const { return in.size(); }
  std::int64_t reach(std::size_t a) const { return (window[a] - 1) * dilation[a] + 1; }
  std::int64_t out(std::size_t a) const {
    if (padding == Padding::kSame) return (in[a] + stride[a] - 1) / stride[a];
    return (in[a] + before[a] + after[a] - reach(a)) / stride[a] + 1;
  }
  std::int64_t front(std::size_t a) const {
    if (padding == Padding::kSame) return std::max<std::int64_t>((out(a) - 1) * stride[a] + reach(a) - in[a], 0) / 2;
    return before[a];
  }
  Sizes sizes(std::int64_t first, const Sizes& spatial, std::int64_t last) const {
    Sizes result = {first};
    result.insert(result.end(), spatial.begin(), spatial.end());
    result.push_back(last);
    return result;
  }
  Sizes x_shape() const { return sizes(batch, in, groups * depth); }
  Sizes w_shape() const {
    Sizes result = window;
    result.push_back(depth);
    result.push_back(groups * width);
    return result;
  }
  Sizes y_shape() const {
    Sizes spatial;
    for (std::size_t a = 0; a < axes(); ++a) spatial.push_back(out(a));
    return sizes(batch, spatial, groups * width);
  }
  template <class Options>
  Options options() const {
    Options result;
    result.strides = list_of(stride);
    result.dilations = list_of(dilation);
    result.padding = padding;
    if (padding == Padding::kExplicit)
      for (std::size_t a = 0; a < axes(); ++a) result.pads.values.push_back(before[a]), result.pads.values.push_back(after[a]);
    return result;
  }
  Tensor conv(const Tensor& x, const Tensor& w) const {
    if (axes() == 1) return conv1d(x, w, options<Conv1dOptions>());
    return axes() == 2 ? conv2d(x, w, options<Conv2dOptions>()) : conv3d(x, w, options<Conv3dOptions>());
  }
};

// Calls each(x, w, y) with the offsets of every product in the definition.
template <class Each>
void for_each_product(const Case& c, const Each& each) {
  const std::int64_t taps = product(c.window), channels = c.groups * c.width;
  Sizes positions = c.y_shape();
  positions = Sizes(positions.begin() + 1, positions.end() - 1);
  for (std::int64_t n = 0; n < c.batch; ++n)
    for (std::int64_t p = 0; p < product(positions); ++p)
      for (std::int64_t t = 0; t < taps; ++t) {
        std::int64_t at = 0, rest_p = p, rest_t = t, scale = 1;
        bool inside = true;
        for (std::size_t a = c.axes(); a-- > 0;) {
          const std::int64_t o = rest_p % positions[a], k = rest_t % c.window[a];
          rest_p /= positions[a];
          rest_t /= c.window[a];
          const std::int64_t i = o * c.stride[a] - c.front(a) + k * c.dilation[a];
          inside = inside && i >= 0 && i < c.in[a];
          at += i * scale;
          scale *= c.in[a];
        }
        if (!inside) continue;
        for (std::int64_t o = 0; o < channels; ++o)
          for (std::int64_t d = 0; d < c.depth; ++d)
            each((n * scale + at) * c.groups * c.depth + o / c.width * c.depth + d, (t * c.depth + d) * channels + o,
                 (n * product(positions) + p) * channels + o);
      }
}

Values random_values(std::mt19937& engine, std::int64_t count) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  Values result(static_cast<std::size_t>(count));
  for (double& value : result) value = uniform(engine);
  return result;
}

std::vector<Case> random_cases(int count) {
  std::mt19937 engine(7);
  const auto draw = [&](std::int64_t low, std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(low, high)(engine); };
  std::vector<Case> cases;
  while (static_cast<int>(cases.size()) < count) {
    Case c{draw(1, 2), draw(1, 3), draw(1, 5), draw(1, 13), {}, {}, {}, {}, {}, {}, static_cast<Padding>(draw(0, 2))};
    const std::int64_t axes = draw(1, 3);
    bool fits = true;
    for (std::int64_t a = 0; a < axes; ++a) {
      c.in.push_back(draw(1, axes == 3 ? 5 : 11));
      c.window.push_back(draw(1, 3));
      c.stride.push_back(draw(1, 3));
      c.dilation.push_back(draw(1, 3));
      c.before.push_back(c.padding == Padding::kExplicit ? draw(0, 4) : 0);
      c.after.push_back(c.padding == Padding::kExplicit ? draw(0, 4) : 0);
      const auto i = static_cast<std::size_t>(a);
      fits = fits && (c.padding == Padding::kSame || c.in[i] + c.before[i] + c.after[i] >= c.reach(i));
    }
    if (fits) cases.push_back(c);
  }
  return cases;
}

void expect_near(const Tensor& got, const Sizes& shape, const Values& expected, double tolerance = 1e-12) {
  ASSERT_EQ(got.shape(), shape_of(shape));
  const Values values = got.to_vector<double>();
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(values[i], expected[i], tolerance) << "at " << i;
}

TEST(Conv, FollowsTheDefinition) {
  std::mt19937 engine(11);
  for (const Case& c : random_cases(300)) {
    SCOPED_TRACE("x " + shape_of(c.x_shape()).str() + " filters " + shape_of(c.w_shape()).str() + " padding " + std::to_string(static_cast<int>(c.padding)));
    const Values x = random_values(engine, product(c.x_shape())), w = random_values(engine, product(c.w_shape())), dy = random_values(engine, product(c.y_shape()));
    Values y(dy.size()), dx(x.size()), dw(w.size());
    for_each_product(c, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
      const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(j), r = static_cast<std::size_t>(k);
      y[r] += x[a] * w[b];
      dx[a] += dy[r] * w[b];
      dw[b] += x[a] * dy[r];
    });
    const Tensor tx(x, shape_of(c.x_shape())), tw(w, shape_of(c.w_shape())), tdy(dy, shape_of(c.y_shape()));
    expect_near(c.conv(tx, tw), c.y_shape(), y);
    expect_near(conv_backward_input(tdy, tw, tx, c.options<ConvBackwardInputOptions>()), c.x_shape(), dx);
    expect_near(conv_backward_filter(tx, tdy, tw, c.options<ConvBackwardFilterOptions>()), c.w_shape(), dw);
    if (HasFatalFailure()) return;
  }
}

// The gradient of sum(conv(x, w)^3) by central differences, first and second order, where TensorFlow has none.
TEST(Conv, DilatedAndGroupedGradientsAgreeWithDifferences) {
  std::mt19937 engine(5);
  const Case c{1, 2, 2, 2, {5, 4}, {2, 2}, {2, 1}, {2, 3}, {0, 0}, {0, 0}, Padding::kSame};
  const Values x = random_values(engine, product(c.x_shape())), w = random_values(engine, product(c.w_shape()));
  const auto tensor = [](const Values& values, const Sizes& sizes) { return Tensor(values, shape_of(sizes)); };
  const auto gradient = [&](const Tensor& tx, const Tensor& tw) {
    GradientTape tape;
    tape.watch(tx);
    const Tensor y = c.conv(tx, tw);
    return tape.gradient(sum(y * y * y), tx);
  };
  const auto check = [&](const Values& base, const Sizes& sizes, const auto& loss, const Tensor& analytic) {
    const Values slopes = analytic.to_vector<double>();
    for (std::size_t i = 0; i < base.size(); ++i) {
      Values up = base, down = base;
      up[i] += 1e-5;
      down[i] -= 1e-5;
      const double slope = (loss(tensor(up, sizes)).template item<double>() - loss(tensor(down, sizes)).template item<double>()) / 2e-5;
      ASSERT_NEAR(slopes[i], slope, 1e-6) << "at " << i;
    }
  };
  const Tensor tx = tensor(x, c.x_shape()), tw = tensor(w, c.w_shape());
  check(x, c.x_shape(), [&](const Tensor& v) { const Tensor y = c.conv(v, tw); return sum(y * y * y); }, gradient(tx, tw));
  for (const bool of_filters : {false, true}) {
    GradientTape tape;
    tape.watch(of_filters ? tw : tx);
    const Tensor dx = gradient(tx, tw);
    const Tensor second = tape.gradient(sum(dx * dx), of_filters ? tw : tx);
    const auto loss = [&](const Tensor& v) {
      const Tensor d = of_filters ? gradient(tx, v) : gradient(v, tw);
      return sum(d * d);
    };
    check(of_filters ? w : x, of_filters ? c.w_shape() : c.x_shape(), loss, second);
  }
}

TEST(Conv, TransposeUndoesTheShapeOfTheConvolution) {
  const Tensor x = ones({2, 3, 2, 4}), filters = ones({3, 3, 2, 4});
  EXPECT_EQ(conv2d_transpose(x, filters, {2, 6, 3, 2}, {.strides = 2, .padding = Padding::kSame}).shape(), (Shape{2, 6, 3, 2}));
  EXPECT_EQ(conv2d_transpose(x, filters, {-1, 5, 4, 2}, {.strides = 2, .padding = Padding::kSame}).shape(), (Shape{2, 5, 4, 2}));
  EXPECT_THROW(conv2d_transpose(x, filters, {2, 7, 3, 2}, {.strides = 2, .padding = Padding::kSame}), ShapeError);
}

TEST(Conv, PaddingContributesNothing) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor x(std::vector<float>{1, 2, 3, 4, 5, 6}, {1, 6, 1}), filters(std::vector<float>{infinity, 1, 1}, {3, 1, 1});
  const auto y = conv1d(x, filters, {.padding = Padding::kSame}).to_vector<float>();
  EXPECT_EQ(y[0], 3.f);
  EXPECT_EQ(y[1], infinity);
}

TEST(Conv, EmptySizes) {
  EXPECT_EQ(conv2d(zeros({0, 4, 4, 2}), zeros({3, 3, 2, 5})).shape(), (Shape{0, 2, 2, 5}));
  EXPECT_EQ(conv2d(zeros({1, 2, 4, 2}), zeros({3, 3, 2, 5})).shape(), (Shape{1, 0, 2, 5}));  // a window one too long, as in TensorFlow
  EXPECT_EQ(conv1d(zeros({1, 3, 0}), zeros({2, 0, 2})).to_vector<float>(), std::vector<float>(4, 0.f));
  EXPECT_EQ(conv_backward_filter(zeros({0, 4, 2}), zeros({0, 2, 3}), zeros({3, 2, 3})).to_vector<float>(), std::vector<float>(18, 0.f));
}

void expect_text(const std::string& got, const std::string& expected) { EXPECT_EQ(got.substr(0, expected.size()), expected); }

TEST(Conv, SaysWhatIsWrong) {
  const Tensor x = zeros({1, 4, 4, 6}), filters = zeros({3, 3, 6, 4});
  expect_text(message<ValueError>([&] { conv2d(x, filters, {.strides = 0}); }), "conv2d: strides is [0]; it must be 1 or more.");
  expect_text(message<ValueError>([&] { conv2d(x, filters, {.strides = {1, 2, 3}}); }),
              "conv2d: strides has 3 numbers; give one, or one for each of the 2 spatial axes.");
  expect_text(message<ValueError>([&] { conv2d(x, filters, {.dilations = {-1, 1}}); }), "conv2d: dilations is [-1,1]; it must be 1 or more.");
  expect_text(message<ValueError>([&] { conv2d(x, filters, {.pads = {{1, 1}, {1, 1}}}); }), "conv2d: pads are given, but padding is not explicit;");
  expect_text(message<ValueError>([&] { conv2d(x, filters, {.padding = Padding::kExplicit, .pads = {{1, 1}}}); }),
              "conv2d: pads has 1 pairs; give one for each of the 2 spatial axes.");
  expect_text(message<ValueError>([&] { conv2d(x, filters, {.padding = Padding::kExplicit, .pads = {{1, -1}, {0, 0}}}); }),
              "conv2d: pads has -1; it must be 0 or more.");
  expect_text(message<ShapeError>([&] { conv2d(x, zeros({3, 3, 4, 4})); }),
              "conv2d: filters f32[3,3,4,4] takes 4 input channels, but x f32[1,4,4,6] has 6; they must be equal, or divide them into groups.");
  expect_text(message<ShapeError>([&] { conv2d(x, zeros({3, 3, 2, 4})); }),
              "conv2d: filters f32[3,3,2,4] has 4 output channels, which 3 groups of input channels do not divide; make them a multiple.");
  expect_text(message<ShapeError>([&] { conv2d(x, zeros({6, 3, 6, 4})); }),
              "conv2d: a window over 6 elements is longer than axis 1 of x f32[1,4,4,6], which has 4; use a smaller window or pad more.");
  expect_text(message<ShapeError>([&] { conv2d(x, zeros({0, 3, 6, 4})); }), "conv2d: filters f32[0,3,6,4] has no taps along axis 0;");
  expect_text(message<ShapeError>([&] { conv2d(zeros({4, 4, 6}), filters); }), "conv2d: x f32[4,4,6] has rank 3; rank 4 is needed.");
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(conv2d(x, filters, {.padding = Padding::kExplicit, .pads = {{huge, huge}, {0, 0}}}), ShapeError);
  EXPECT_THROW(conv2d(x, filters, {.padding = Padding::kSame, .dilations = huge}), ShapeError);
  EXPECT_EQ(conv2d(x, filters, {.strides = huge, .padding = Padding::kSame}).shape(), (Shape{1, 1, 1, 4}));
  expect_text(message<ShapeError>([&] { depthwise_conv2d(x, zeros({3, 3, 2, 2})); }),
              "depthwise_conv2d: filters f32[3,3,2,2] takes 2 input channels, but x f32[1,4,4,6] has 6; they must be equal, and at least one.");
}

TEST(Pool, TheFirstMaximumTakesTheGradient) {
  const Tensor x = ones({1, 3, 3, 1});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = max_pool2d(x, 2, {.strides = 1});
  EXPECT_EQ(tape.gradient(sum(y), x).to_vector<float>(), (std::vector<float>{1, 1, 0, 1, 1, 0, 0, 0, 0}));
}

TEST(Pool, NaNWinsAndInfinityIsNotPadding) {
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  const Tensor x(std::vector<float>{1, nan, 3, -infinity, -infinity}, {1, 5, 1});
  const auto y = max_pool1d(x, 2, {.strides = 1, .padding = Padding::kSame}).to_vector<float>();
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]));
  EXPECT_EQ(y[2], 3.f);
  EXPECT_EQ(y[3], -infinity);
  EXPECT_EQ(y[4], -infinity);
}

TEST(Pool, PadsMustLeaveSomethingInEachWindow) {
  expect_text(message<ValueError>([] { max_pool1d(ones({1, 4, 1}), 2, {.padding = Padding::kExplicit, .pads = {{2, 0}}}); }),
              "max_pool1d: pads has 2 for axis 1 of x f32[1,4,1]; it must be less than the window, which is 2.");
  EXPECT_THROW(avg_pool1d(ones({1, 0, 1}), 2, {.padding = Padding::kExplicit, .pads = {{1, 1}}}), ShapeError);
  EXPECT_THROW(avg_pool1d(ones({1, 4, 1}), 0), ValueError);
  EXPECT_EQ(avg_pool1d(ones({1, 4, 1}), 3, {.strides = 1, .padding = Padding::kSame}).to_vector<float>(), std::vector<float>(4, 1.f));
}

TEST(Resize, KeepsPixelsOfTheSameSizeAndSpreadsInfinityNowhereElse) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor x(std::vector<float>{infinity, 1, 2, 3, 4, 5}, {2, 3, 1});
  EXPECT_EQ(resize(x, {2, 3}).to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(resize(x, {1, 1}, {.method = ResizeMethod::kNearest}).to_vector<float>(), std::vector<float>{4});
  EXPECT_THROW(resize(zeros({0, 3, 1}), {2, 2}), ShapeError);
  EXPECT_THROW(resize(x, {2}), ValueError);
}

}  // namespace
}  // namespace weft
