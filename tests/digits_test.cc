// The digits that the demo draws.
#include "examples/digits/draw.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

#include "examples/digits/hands.h"

using namespace weft;

namespace {

TEST(Digits, ASeedDrawsTheSameDigitsBitForBit) {
  Generator a{5}, same{5}, other{6};
  const Digits first = draw_digits(300, a), again = draw_digits(300, same), others = draw_digits(300, other), more = draw_digits(300, a);
  EXPECT_EQ(first.images.to_vector<float>(), again.images.to_vector<float>());
  EXPECT_EQ(first.labels.to_vector<int>(), again.labels.to_vector<int>());
  EXPECT_NE(first.images.to_vector<float>(), others.images.to_vector<float>());
  EXPECT_NE(first.labels.to_vector<int>(), others.labels.to_vector<int>());
  EXPECT_NE(first.images.to_vector<float>(), more.images.to_vector<float>());
}

TEST(Digits, EachIsThereAsOften) {
  Generator random{1};
  const Digits digits = draw_digits(510, random);
  EXPECT_EQ(digits.images.spec(), (Spec{f32, {510, kSide, kSide, 1}}));
  EXPECT_EQ(digits.labels.spec(), (Spec{i32, {510}}));
  const std::vector<int> labels = digits.labels.to_vector<int>();
  for (int digit = 0; digit < kDigits; ++digit) EXPECT_EQ(std::count(labels.begin(), labels.end(), digit), 51) << digit;
  EXPECT_FALSE(std::is_sorted(labels.begin(), labels.end()));
}

TEST(Digits, PixelsLieBetweenPaperAndInk) {
  Generator random{2};
  const std::vector<float> pixels = draw_digits(500, random).images.to_vector<float>();
  for (const float pixel : pixels) ASSERT_TRUE(pixel >= 0 && pixel <= 1) << pixel;
  for (std::size_t image = 0; image < 500; ++image) {  // none is empty, none is full
    const float* first = pixels.data() + image * kSide * kSide;
    const float ink = std::accumulate(first, first + kSide * kSide, 0.f) / (kSide * kSide);
    EXPECT_GT(ink, 0.02f) << image;
    EXPECT_LT(ink, 0.5f) << image;
    EXPECT_GT(*std::max_element(first, first + kSide * kSide), 0.4f) << image;
  }
}

TEST(Digits, AHandFillsItsSquareEvenly) {
  for (int digit = 0; digit < kDigits; ++digit) {
    for (int hand = 0; hand < kHands; ++hand) {
      const std::vector<PenPoint> points = pen_points(digit, hand);
      ASSERT_EQ(points.size(), std::size_t{kPoints});
      float top = 1, bottom = 0;
      for (const PenPoint& point : points) {
        EXPECT_TRUE(point.x > -0.05f && point.x < 1.05f && point.y > -0.05f && point.y < 1.05f) << digit << " in hand " << hand;
        EXPECT_EQ(point.length, points[0].length);
        top = std::min(top, point.y), bottom = std::max(bottom, point.y);
      }
      EXPECT_TRUE(top < 0.1f && bottom > 0.9f) << digit << " in hand " << hand;
      EXPECT_TRUE(points[0].length * kPoints > 0.9f && points[0].length * kPoints < 4) << digit << " in hand " << hand;
      for (int other = 0; other < hand; ++other) EXPECT_NE(std::memcmp(points.data(), pen_points(digit, other).data(), sizeof(PenPoint) * kPoints), 0);
    }
  }
}

TEST(Digits, AnUnevenNumberIsRefused) {
  Generator random{1};
  for (const int count : {0, -10, 7}) {
    try {
      draw_digits(count, random);
      ADD_FAILURE() << count;
    } catch (const ValueError& error) {
      EXPECT_EQ(error.message(), "draw_digits: count must be a positive multiple of 10.");
    }
  }
}

}  // namespace
