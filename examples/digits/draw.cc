#include "draw.h"

#include <cmath>

#include "hands.h"

using namespace weft;

namespace {

/// All hands of all digits as one tensor each: f32[kDigits * kHands, kPoints].
struct Lines {
  Tensor x, y, length;
};

Lines all_hands() {
  std::vector<float> x, y, length;
  for (int digit = 0; digit < kDigits; ++digit)
    for (int hand = 0; hand < kHands; ++hand)
      for (const PenPoint& point : pen_points(digit, hand)) x.push_back(point.x), y.push_back(point.y), length.push_back(point.length);
  const Shape shape{kDigits * kHands, kPoints};
  return {Tensor(x, shape), Tensor(y, shape), Tensor(length, shape)};
}

/// Draws a line for each row of `which`. What is chosen by chance has a row for each image, too.
Tensor draw_lines(const Lines& hands, Tensor which, Generator& random) {
  const std::int64_t count = which.shape()[0];
  const auto chance = [&](double low, double high) { return random.uniform({count, 1}, {.low = low, .high = high}); };
  const auto some = [&](double spread) { return chance(-spread, spread); };

  // The line around the middle of the square, bent by two slow waves.
  Tensor x = gather(hands.x, which) - 0.5f, y = gather(hands.y, which) - 0.5f;
  Tensor bent_x = x + some(0.08) * sin(y * chance(3, 7) + some(3.14)), bent_y = y + some(0.08) * sin(x * chance(3, 7) + some(3.14));

  // Slanted, turned, stretched and shifted, now in pixels.
  Tensor size = chance(15, 22), width = size * chance(0.65, 1.05), angle = some(0.3);
  x = (bent_x + some(0.4) * bent_y) * width, y = bent_y * size;
  Tensor px = x * cos(angle) - y * sin(angle) + some(3) + kSide / 2.f;
  Tensor py = x * sin(angle) + y * cos(angle) + some(3) + kSide / 2.f;

  // Each point of the pen leaves a round blot. A blot is a product of two bells, so a product of matrices adds them all up.
  Tensor thickness = chance(0.65, 1.35);
  Tensor centres = linspace(0.5f, kSide - 0.5f, kSide);
  const auto bells = [&](Tensor at) { return exp(square((expand_dims(at, 2) - centres) / expand_dims(thickness, 2)) * -0.5f); };
  Tensor ink = gather(hands.length, which) * size / (thickness * 2.5066f);  // a straight line of blots is as dark as one
  Tensor drawn = matmul(bells(py) * expand_dims(ink, 2), bells(px), {.transpose_a = true});
  drawn = sigmoid((drawn - 0.4f) * 10) * expand_dims(chance(0.5, 1), 2);

  Tensor noise = random.normal({count, kSide, kSide}) * expand_dims(chance(0, 0.3), 2);
  return expand_dims(clip_by_value(drawn + noise, 0.f, 1.f), 3);
}

}  // namespace

Digits draw_digits(int count, Generator& random) {
  if (count <= 0 || count % kDigits != 0) throw ValueError("draw_digits", "count must be a positive multiple of 10.", Location::here());
  const Lines hands = all_hands();
  Tensor labels = random.shuffle(arange(0, count, 1) % kDigits);
  Tensor which = labels * kHands + random.integers({count}, 0, kHands);

  // Some hundreds at once: what lies between fits into the processor's cache.
  std::vector<Tensor> images;
  for (int first = 0; first < count; first += 250) images.push_back(draw_lines(hands, which(range(first, std::min(first + 250, count))), random));
  return {concat(images, 0), labels};
}
