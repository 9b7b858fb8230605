// The fast convolutions against their reference loops.
#include "kernels/conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/hard_numbers.h"
#include "tests/suite_rows.h"
#include <weft/runtime.h>

namespace weft::kernels {
namespace {

std::vector<Isa> isas() {
  std::vector<Isa> all;
  for (const Isa set : {Isa::kBaseline, Isa::kV3, Isa::kV4})
    if (set <= best_isa()) all.push_back(set);
  return all;
}

std::int64_t x_size(const ConvShape& s) { return s.batch * s.axis[0].in * s.axis[1].in * s.axis[2].in * s.in_channels; }
std::int64_t y_size(const ConvShape& s) { return s.batch * s.axis[0].out * s.axis[1].out * s.axis[2].out * s.out_channels; }

std::string text_of(const ConvShape& s) {
  std::ostringstream text;
  text << "batch " << s.batch << ", channels " << s.in_channels << " -> " << s.out_channels << ", groups " << s.groups;
  for (const ConvAxis& a : s.axis)
    text << "; " << a.in << " -> " << a.out << " window " << a.window << " stride " << a.stride << " dilation " << a.dilation << " before "
         << a.before;
  return text.str();
}

// With `before` and `after` padding.
ConvAxis axis(std::int64_t in, std::int64_t window, std::int64_t stride = 1, std::int64_t dilation = 1, std::int64_t before = 0,
              std::int64_t after = 0) {
  return {in, (in + before + after - (window - 1) * dilation - 1) / stride + 1, window, stride, dilation, before};
}
ConvAxis same(std::int64_t in, std::int64_t window) { return axis(in, window, 1, 1, (window - 1) / 2, window / 2); }

template <class T>
std::vector<T> random_values(std::int64_t count, std::mt19937& random) {
  std::uniform_real_distribution<T> values(-1, 1);
  std::vector<T> result(static_cast<std::size_t>(count));
  for (T& x : result) x = values(random);
  return result;
}

template <class T>
std::vector<double> widened(const std::vector<T>& from, bool absolute = false) {
  std::vector<double> result(from.begin(), from.end());
  if (absolute)
    for (double& x : result) x = std::abs(x);
  return result;
}

enum Pass { kForward, kBackwardInput, kBackwardFilter };

template <class T>
std::int64_t result_size(Pass pass, const ConvShape& s) {
  return pass == kForward ? y_size(s) : pass == kBackwardInput ? x_size(s) : s.filter_size();
}

template <class T>
std::vector<T> fast(Pass pass, const ConvShape& s, const std::vector<T>& a, const std::vector<T>& b, Isa set) {
  std::vector<T> result(static_cast<std::size_t>(result_size<T>(pass, s)), T(-77));
  if (pass == kForward) conv_forward(s, a.data(), b.data(), result.data(), set);
  if (pass == kBackwardInput) conv_backward_input(s, a.data(), b.data(), result.data(), set);
  if (pass == kBackwardFilter) conv_backward_filter(s, a.data(), b.data(), result.data(), set);
  return result;
}

template <class T>
std::vector<T> reference(Pass pass, const ConvShape& s, const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> result(static_cast<std::size_t>(result_size<T>(pass, s)), T(-77));
  if (pass == kForward) conv_forward_reference(s, a.data(), b.data(), result.data());
  if (pass == kBackwardInput) conv_backward_input_reference(s, a.data(), b.data(), result.data());
  if (pass == kBackwardFilter) conv_backward_filter_reference(s, a.data(), b.data(), result.data());
  return result;
}

template <class T>
std::pair<std::vector<T>, std::vector<T>> random_inputs(Pass pass, const ConvShape& s, std::mt19937& random) {
  std::vector<T> first = random_values<T>(pass == kBackwardInput ? y_size(s) : x_size(s), random);
  return {std::move(first), random_values<T>(pass == kBackwardFilter ? y_size(s) : s.filter_size(), random)};
}

// Products in one sum, if none of them lies outside.
std::int64_t terms_of(Pass pass, const ConvShape& s) {
  if (pass == kBackwardFilter) return y_size(s) / s.out_channels;
  return s.taps() * (pass == kForward ? s.in_channels : s.out_channels) / s.groups;
}

// Terms that differ by dozens of magnitudes, or nearly cancel, or both.
enum Hard { kPlain, kScaled, kPaired, kScaledAndPaired };

template <class T>
std::pair<std::vector<T>, std::vector<T>> hard_inputs(Hard hard, Pass pass, const ConvShape& s, std::mt19937& random) {
  auto [a, b] = random_inputs<T>(pass, s, random);
  const auto size_a = static_cast<std::int64_t>(a.size()), size_b = static_cast<std::int64_t>(b.size());
  if (hard == kScaled || hard == kScaledAndPaired) a = test::scaled_numbers<T>(size_a, random), b = test::scaled_numbers<T>(size_b, random);
  if (hard == kPaired || hard == kScaledAndPaired) {
    const std::int64_t in = s.in_channels / s.groups, out = s.out_channels / s.groups;
    const std::int64_t summed = pass == kForward ? in : pass == kBackwardInput ? out : s.batch;
    const std::int64_t inner_a = pass == kBackwardFilter ? size_a / s.batch : 1;
    const std::int64_t inner_b = pass == kForward ? s.out_channels : pass == kBackwardInput ? 1 : size_b / s.batch;
    test::pair_up(a, size_a / (summed * inner_a), summed, inner_a, -1, random);
    test::pair_up(b, size_b / (summed * inner_b), summed, inner_b, 1, random);
  }
  return {std::move(a), std::move(b)};
}

// Every sum may be off by the roundings of its additions, relative to the sum of what was added without signs. Those of random numbers
// cancel in part, so that less is allowed there.
template <class T>
void check(const ConvShape& s, std::mt19937& random, Hard hard = kPlain) {
  SCOPED_TRACE(text_of(s) + ", numbers of kind " + std::to_string(hard));
  for (const Pass pass : {kForward, kBackwardInput, kBackwardFilter}) {
    const auto [a, b] = hard_inputs<T>(hard, pass, s, random);
    const std::vector<double> right = reference(pass, s, widened(a), widened(b));
    const std::vector<double> sizes = reference(pass, s, widened(a, true), widened(b, true));
    const auto terms = static_cast<double>(terms_of(pass, s));
    const double roundings = hard == kPlain ? 4 + std::sqrt(terms) : terms;
    const double bound = std::numeric_limits<T>::epsilon() * roundings;
    for (const Isa set : isas()) {
      SCOPED_TRACE(std::string(name_of(set)) + ", pass " + std::to_string(pass) + (sizeof(T) == 4 ? ", f32" : ", f64"));
      const std::vector<T> result = fast(pass, s, a, b, set);
      for (std::size_t i = 0; i < result.size(); ++i)
        ASSERT_NEAR(static_cast<double>(result[i]), right[i], bound * sizes[i] + 1e-300) << "at " << i << " of " << result.size();
    }
  }
}

ConvShape random_shape(std::mt19937& random, int trial) {
  const auto pick = [&](std::initializer_list<std::int64_t> of) { return of.begin()[random() % of.size()]; };
  ConvShape s;
  s.batch = pick({1, 1, 2, 3, 5});
  const int kind = trial % 4;
  if (kind == 0) {  // plain
    s.in_channels = pick({1, 2, 3, 4, 5, 8, 13, 16, 17, 33});
    s.out_channels = pick({1, 2, 3, 7, 8, 9, 16, 17, 24, 33, 40});
  } else if (kind == 1) {  // grouped
    s.groups = pick({2, 3, 4}), s.in_channels = s.groups * pick({1, 2, 3, 5, 9}), s.out_channels = s.groups * pick({1, 2, 3, 8, 17});
  } else if (kind == 2) {  // depthwise
    s.groups = s.in_channels = pick({1, 2, 3, 7, 8, 9, 16, 19, 33, 70}), s.out_channels = s.groups * pick({1, 1, 1, 2, 3});
  } else {
    s.in_channels = pick({3, 16, 32}), s.out_channels = pick({16, 32});
  }
  const int axes = 1 + static_cast<int>(random() % 3);
  for (int a = kMaxWindowAxes - axes; a < kMaxWindowAxes; ++a) {
    const bool wide = axes == 1 && random() % 3 == 0;
    for (;;) {
      const std::int64_t in = wide ? pick({97, 200, 301}) : axes == 3 ? pick({1, 2, 3, 4, 5})
                                                                                          : pick({1, 2, 3, 5, 6, 7, 8, 11, 12, 13, 16, 25});
      const std::int64_t window = pick({1, 1, 2, 3, 3, 4, 5}), stride = pick({1, 1, 2, 3}), dilation = pick({1, 1, 1, 2, 3});
      const std::int64_t before = pick({0, 0, 1, 1, 2, 5}), after = pick({0, 0, 1, 1, 3});
      if (in + before + after < (window - 1) * dilation + 1) continue;
      s.axis[a] = axis(in, window, stride, dilation, before, after);
      break;
    }
  }
  return s;
}

TEST(ConvKernels, AgreeWithTheReferenceOnRandomShapes) {
  std::mt19937 random(1);
  for (int trial = 0; trial < (test::small_scale() ? 120 : 1000); ++trial) {
    const ConvShape s = random_shape(random, trial);
    if (trial % 3 == 0) check<double>(s, random);
    else check<float>(s, random);
    if (HasFatalFailure()) return;
  }
}

TEST(ConvKernels, IllConditionedSumsLieWithinTheBound) {
  std::mt19937 random(5);
  for (int trial = 0; trial < (test::small_scale() ? 20 : 100); ++trial) {
    const ConvShape s = random_shape(random, trial);
    const bool can_be_scaled = std::max({terms_of(kForward, s), terms_of(kBackwardInput, s), terms_of(kBackwardFilter, s)}) <= 300;
    const Hard hard = can_be_scaled ? Hard(1 + trial % 3) : kPaired;
    check<float>(s, random, hard);
    check<double>(s, random, hard);
    if (HasFatalFailure()) return;
  }
}

TEST(ConvKernels, AgreeWithTheReferenceOnChosenShapes) {
  std::mt19937 random(2);
  const ConvAxis one = {};
  const std::vector<ConvShape> shapes = {
      {2, 3, 32, 1, {one, same(32, 3), same(32, 3)}},                              // few channels
      {2, 3, 8, 1, {one, axis(30, 7, 2, 1, 2, 3), axis(31, 7, 2, 1, 3, 3)}},       // the first layer of many networks
      {4, 32, 32, 1, {one, same(32, 3), same(32, 3)}},
      {3, 64, 48, 1, {one, same(16, 3), same(16, 3)}},
      {2, 24, 64, 1, {one, same(15, 3), same(16, 3)}},                             // channels that are written fill panels, of which there are several
      {3, 10, 64, 2, {one, axis(9, 3, 2, 1, 1, 1), axis(20, 4, 3, 1, 2, 2)}},      // in each of two groups
      {17, 5, 32, 1, {one, same(17, 3), same(18, 5)}},                             // many lines
      {2, 130, 32, 1, {one, same(5, 3), same(6, 3)}},                              // dy is read as it lies, for many channels
      {2, 12, 32, 1, {one, same(3, 3), same(300, 3)}},                             // and in several parts of a line
      {3, 16, 40, 1, {one, same(6, 3), same(200, 3)}},                             // first and last pixels of blocks of a line
      {5, 9, 40, 1, {one, same(7, 3), same(1, 3)}},                                // of lines of one pixel
      {2, 10, 33, 1, {one, same(5, 3), axis(9, 2, 1, 1, 1, 0)}},                   // only the first pixel meets padding
      {2, 10, 33, 1, {one, same(5, 3), axis(9, 2, 1, 1, 0, 1)}},                   // only the last
      {2, 10, 33, 1, {one, same(5, 3), axis(9, 4, 1, 1, 1, 2)}},                   // two pixels at the end
      {2, 10, 33, 1, {one, same(5, 3), axis(9, 1, 1, 1, 1, 1)}},                   // and nothing else
      {2, 10, 33, 1, {one, same(5, 3), axis(9, 3, 1, 2, 1, 1)}},                   // taps that are apart
      {9, 40, 24, 1, {one, same(2, 3), same(2, 3)}},                               // more padding than pixels
      {2, 20, 300, 1, {one, same(4, 1), same(5, 1)}},                              // one tap
      {3, 17, 9, 1, {one, axis(9, 1, 2), axis(8, 1, 3)}},                          // one tap, strided
      {1, 6, 10, 1, {one, one, axis(2000, 5, 1, 1, 4, 0)}},                        // a long row
      {1, 5, 4, 1, {one, one, axis(900, 3, 4, 1, 1, 1)}},
      {1, 4, 6, 1, {one, axis(700, 3, 1, 1, 1, 1), axis(2, 2, 1, 1, 1, 0)}},       // many short rows
      {2, 8, 8, 1, {one, axis(40, 3, 1, 1, 1, 1), one}},                           // rows of one pixel
      {1, 3, 5, 1, {one, axis(9, 2, 1, 1, 5, 5), axis(3, 2, 1, 1, 9, 4)}},         // pixels that see nothing
      {1, 2, 3, 1, {one, one, axis(10, 2, 1, 1000, 500, 500)}},                    // almost nothing but padding
      {1, 2, 3, 1, {one, one, axis(300, 3, 100, 1, 0, 0)}},                        // a large stride
      {2, 7, 5, 1, {one, axis(13, 5, 3, 2, 4, 1), axis(14, 4, 2, 3, 2, 5)}},       // taps of a phase that are apart
      {2, 8, 8, 1, {axis(6, 3, 2, 1, 1, 1), axis(7, 3, 2, 2, 2, 2), axis(8, 4, 2, 2, 3, 3)}},
      {2, 96, 96, 96, {one, same(14, 3), same(15, 3)}},
      {1, 12, 36, 12, {one, axis(15, 5, 2, 1, 2, 2), axis(112, 3, 2, 2, 1, 3)}},
      {1, 128, 64, 2, {one, same(7, 3), same(7, 3)}},
      {1, 130, 140, 1, {one, same(5, 3), same(6, 3)}},                             // long sums: parts of a tap at a time
      {1, 30, 5, 1, {one, axis(9, 7, 1, 1, 3, 3), axis(10, 7, 1, 2, 6, 6)}},       // some taps at a time
      {1, 4, 30, 1, {one, axis(9, 7, 2, 1, 3, 3), axis(10, 7, 1, 2, 6, 6)}},
      {2, 17, 4, 1, {one, same(40, 5), same(33, 5)}},                              // few channels are written: several parts of an image
      {1, 8, 1, 1, {axis(5, 3, 1, 2, 2, 3), axis(6, 4, 1, 1, 3, 0), axis(7, 3, 1, 3, 5, 1)}},
      {1, 9, 2, 1, {one, axis(3, 5, 1, 1, 7, 6), axis(2000, 3, 1, 40, 90, 70)}},   // pixels that see nothing
  };
  for (const ConvShape& s : shapes) {
    check<float>(s, random);
    if (HasFatalFailure()) return;
    check<double>(s, random);
    if (HasFatalFailure()) return;
  }
}

TEST(ConvKernels, GiveTheSameBitsForAnyNumberOfThreads) {
  std::mt19937 random(3);
  const int before = num_threads();
  const ConvAxis one = {};
  const std::vector<ConvShape> shapes = {
      {24, 16, 40, 1, {one, same(12, 3), same(13, 3)}}, {16, 3, 32, 1, {one, same(20, 3), same(20, 3)}},
      {6, 24, 24, 24, {one, same(20, 3), same(33, 3)}},  {2, 130, 200, 1, {one, same(7, 3), same(7, 3)}},
      {20, 20, 64, 1, {one, same(16, 3), same(16, 3)}},
      {5, 12, 18, 3, {one, axis(17, 3, 2, 1, 1, 1), axis(30, 3, 2, 1, 1, 1)}}, {2, 17, 4, 1, {one, same(40, 5), same(33, 5)}},
  };
  for (const ConvShape& s : shapes)
    for (const Pass pass : {kForward, kBackwardInput, kBackwardFilter}) {
      const auto [a, b] = random_inputs<float>(pass, s, random);
      std::vector<float> first;
      for (const int threads : {1, 2, 3, 4, 8}) {
        set_num_threads(threads);
        const std::vector<float> result = fast(pass, s, a, b, isa());
        if (first.empty()) first = result;
        const int difference = std::memcmp(first.data(), result.data(), first.size() * sizeof(float));
        EXPECT_EQ(difference, 0) << text_of(s) << ", pass " << pass << ", threads " << threads;
      }
    }
  set_num_threads(before);
}

// A part of a result is told of once, when it is complete, and left alone from then on: whoever was told may write there.
TEST(ConvKernels, TellOfEveryElementOnceAndLeaveItAlone) {
  std::mt19937 random(6);
  const ConvAxis one = {};
  std::vector<ConvShape> shapes = {
      {3, 32, 200, 1, {one, same(9, 3), same(10, 3)}},            // channels in several tasks
      {2, 20, 70, 1, {one, same(16, 3), same(200, 3)}},           // the last panel is narrow; parts of a line
      {2, 200, 64, 1, {one, same(6, 3), same(7, 3)}},             // long sums: parts of a tap at a time
      {2, 17, 4, 1, {one, same(40, 5), same(33, 5)}},             // spread
      {2, 12, 36, 12, {one, axis(15, 5, 2, 1, 2, 2), axis(30, 3, 2, 2, 1, 3)}},
      {2, 40, 40, 40, {one, same(20, 3), same(33, 3)}},
      {2, 64, 128, 2, {one, same(7, 3), same(7, 3)}},
      {1, 2, 3, 1, {one, one, axis(10, 2, 1, 1000, 500, 500)}},   // left to the reference
  };
  for (int trial = 0; trial < 60; ++trial) shapes.push_back(random_shape(random, trial));
  for (const ConvShape& s : shapes)
    for (const bool finite : {true, false})
      for (const Isa set : isas()) {
        auto [x, w] = random_inputs<float>(kForward, s, random);
        if (!finite) w[random() % w.size()] = std::numeric_limits<float>::infinity();
        std::vector<float> y(static_cast<std::size_t>(y_size(s)), 3.f), seen(y);
        std::vector<int> told(y.size());
        const auto note = [&](const DoneBlock& block) {
          for (std::int64_t i = 0; i < block.rows; ++i)
            for (std::int64_t j = 0; j < block.cols; ++j) {
              const auto e = static_cast<std::size_t>(static_cast<const float*>(block.data) + i * block.apart + j - y.data());
              ++told[e], seen[e] = std::exchange(y[e], -77.f);
            }
        };
        const BlockDone done(note);
        conv_forward(s, x.data(), w.data(), y.data(), set, &done);
        SCOPED_TRACE(text_of(s) + ", " + std::string(name_of(set)) + (finite ? "" : ", a filter that is infinite"));
        EXPECT_TRUE(told == std::vector<int>(y.size(), 1));
        EXPECT_TRUE(y == std::vector<float>(y.size(), -77.f));
        const std::vector<float> alone = fast(kForward, s, x, w, set);
        for (std::size_t i = 0; i < y.size(); ++i) ASSERT_TRUE(seen[i] == alone[i] || (std::isnan(seen[i]) && std::isnan(alone[i]))) << i;
      }
}

// What is infinite or NaN reaches exactly what the reference says it reaches, whichever tensor it is in and also beside the border.
TEST(ConvKernels, PassOnInfinityAndNaNAsTheReferenceDoes) {
  std::mt19937 random(4);
  const ConvAxis one = {};
  const ConvShape chosen[] = {{1, 3, 32, 1, {one, same(4, 3), same(5, 3)}},  {1, 12, 24, 1, {one, same(4, 3), same(5, 3)}},
                              {1, 130, 33, 1, {one, same(3, 3), same(3, 3)}}, {2, 10, 64, 1, {one, same(3, 3), axis(6, 2, 1, 1, 1, 0)}}};
  for (int trial = 0; trial < 200; ++trial) {
    const ConvShape s = trial < 160 ? random_shape(random, trial) : chosen[static_cast<std::size_t>(trial) % std::size(chosen)];
    SCOPED_TRACE(text_of(s));
    for (const Pass pass : {kForward, kBackwardInput, kBackwardFilter})
      for (const bool in_second : {false, true}) {
        auto [a, b] = random_inputs<float>(pass, s, random);
        std::vector<float>& changed = in_second ? b : a;
        for (int i = 0; i < 2; ++i)
          changed[random() % 2 == 0 ? random() % changed.size() : i * (changed.size() - 1)] =
              random() % 2 == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
        const std::vector<float> right = reference(pass, s, a, b);
        for (const Isa set : isas()) {
          const std::vector<float> result = fast(pass, s, a, b, set);
          for (std::size_t i = 0; i < result.size(); ++i) {
            ASSERT_EQ(std::isnan(result[i]), std::isnan(right[i])) << name_of(set) << ", pass " << pass << " at " << i;
            ASSERT_TRUE(std::isinf(right[i]) ? result[i] == right[i] : !std::isinf(result[i]))
                << name_of(set) << ", pass " << pass << ": " << result[i] << " is not " << right[i] << " at " << i;
          }
        }
      }
  }
}

}  // namespace
}  // namespace weft::kernels
