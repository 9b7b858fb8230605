// Sines and their inverses, see math.h.
#pragma once

#include "kernels/math_bits.h"

namespace weft::inline v0::kernels::lane {

inline constexpr double kHalfPi = 0x1.921fb54442d18p+0;
inline constexpr float kHalfPiHigh = 0x1.921fb6p+0f, kHalfPiLow = -0x1.777a5cp-25f;

/// x = (pi / 2) (4 m + quadrant) + rest with |rest| < 0.8, for every finite float x; NaN for the others.
struct Angle {
  double rest;
  std::uint64_t quadrant;
};
/// Bits of 2/pi in three runs: 29, the next 29, and more.
struct TwoOverPi {
  double high, middle, low;
};
WEFT_LANE TwoOverPi either(bool first, TwoOverPi a, TwoOverPi b) {
  return {first ? a.high : b.high, first ? a.middle : b.middle, first ? a.low : b.low};
}
WEFT_LANE Angle quarter_turns(double x) {
  // 2/pi x modulo 4, counting quarter turns. For large x the bits of 2/pi start where their product with the last bit of x is below 4;
  // products with the first two runs are exact, and the third is long enough for the float that is nearest to whole quarter turns.
  const double size = size_of(x);
  const TwoOverPi from0 = {0x1.45f306dp-1, 0x1.9391054p-30, 0x1.4fe13abe8fa9ap-59};
  const TwoOverPi from1 = {0x1.17cc1b6p-3, 0x1.27220a9p-31, 0x1.3f84eafa3ea6ap-61};
  const TwoOverPi from27 = {0x1.c9c882ap-29, 0x1.4fe13a8p-59, 0x1.f47d4d377036ep-86};
  const TwoOverPi from53 = {0x1.4a7f09dp-54, 0x1.7d1f534p-84, 0x1.bb81b6c52b328p-113};
  const TwoOverPi from79 = {0x1.57d1f53p-80, 0x1.377036cp-110, 0x1.8a5664f10e41p-138};
  const TwoOverPi factor =
      either(size < 0x1p26, from0, either(size < 0x1p52, from1, either(size < 0x1p78, from27, either(size < 0x1p104, from53, from79))));
  constexpr double round = Format<double>::round;
  const double first = x * factor.high, first_shifted = first + round;
  const double second = (first - (first_shifted - round)) + x * factor.middle, second_shifted = second + round;
  const double rest = ((second - (second_shifted - round)) + x * factor.low) * kHalfPi;
  return {rest, bits_of(first_shifted) + bits_of(second_shifted)};
}

WEFT_LANE float sine_or_cosine(const Angle& a, std::uint32_t quadrant) {
  const float r = static_cast<float>(a.rest), r_error = static_cast<float>(a.rest - static_cast<double>(r));
  const float z = r * r, half = 0.5f * z, whole = 1.0f - half;
  const float sine = r + (r_error + r * (z * poly(z, -0.166666538f, 0.00833209604f, -0.000195056273f)));
  const float tail = z * z * poly(z, 0.0416666456f, -0.00138872885f, 2.44282073e-05f) - r * r_error;
  const float cosine = whole + (((1.0f - whole) - half) + tail);
  const float y = (quadrant & 1) != 0 ? cosine : sine;
  return of_bits<float>(bits_of(y) ^ ((quadrant & 2) << 30));
}
WEFT_LANE float sin(float x) {
  const Angle a = quarter_turns(static_cast<double>(x));
  const float y = sine_or_cosine(a, static_cast<std::uint32_t>(a.quadrant));
  return x == 0.0f ? x : y;
}
WEFT_LANE float cos(float x) {
  const Angle a = quarter_turns(static_cast<double>(x));
  return sine_or_cosine(a, static_cast<std::uint32_t>(a.quadrant) + 1);
}

WEFT_LANE float tan(float x) {
  const Angle a = quarter_turns(static_cast<double>(x));
  const double r = a.rest, z = r * r;
  const double sine = r + r * (z * poly(z, -0.16666666640308594, 0.0083333291207987274, -0.00019839231078385097, 2.7172202449693544e-06));
  const double cosine = 1.0 + z * poly(z, -0.49999999710603621, 0.041666620411879594, -0.0013886649845545949, 2.4378468466896215e-05);
  const bool odd = of_bits<double>(bits_of(1.0) | a.quadrant << 63) < 0.0;  // integers of 64 bits are slow to compare
  const float y = static_cast<float>((odd ? -cosine : sine) / (odd ? sine : cosine));
  return x == 0.0f ? x : y;
}

/// asin(|x|) for |x| <= 1/2, else asin(sqrt((1 - |x|) / 2)), which is (pi / 2 - asin(|x|)) / 2; NaN beyond 1.
WEFT_LANE double arc(double size) {
  const bool far = size > 0.5;
  const double z = far ? 0.5 - 0.5 * size : size * size, root = __builtin_sqrt(z), s = far ? root : size;
  return s + s * (z * poly(z, 0.16666667189843634, 0.074999481558446837, 0.044660163519422265, 0.030110254071299022, 0.024618349082521328,
                           0.0074691812496930719, 0.03469288984724269));
}
WEFT_LANE float asin(float x) {
  const double size = size_of(static_cast<double>(x)), part = arc(size);
  return with_sign_of(static_cast<float>(size > 0.5 ? kHalfPi - 2.0 * part : part), x);
}
WEFT_LANE float acos(float x) {
  const double wide = static_cast<double>(x), part = arc(size_of(wide));
  const double near = kHalfPi - (wide < 0.0 ? -part : part), far = wide < 0.0 ? 2.0 * kHalfPi - 2.0 * part : 2.0 * part;
  return static_cast<float>(size_of(wide) > 0.5 ? far : near);
}

/// The inverse tangent of 0 <= t <= 1.
WEFT_LANE float arc_tangent(float t) {
  const float z = t * t;
  return t + t * (z * poly(z, -0.333333284f, 0.199997157f, -0.142803431f, 0.110612333f, -0.0882146209f, 0.0676364899f, -0.0449832566f,
                           0.0227776151f, -0.00742535945f, 0.00113452028f));
}
/// turns pi / 2 - angle
WEFT_LANE float short_of(float turns, float angle) { return turns * kHalfPiHigh - (angle - turns * kHalfPiLow); }
WEFT_LANE float atan(float x) {
  const float size = size_of(x);
  const bool far = size > 1.0f;
  const float y = arc_tangent(far ? 1.0f / size : size);
  return with_sign_of(far ? short_of(1.0f, y) : y, x);
}
WEFT_LANE float atan2(float y, float x) {
  const float across = size_of(x), up = size_of(y);
  const bool steep = up > across;
  const float small = steep ? across : up, large = steep ? up : across;
  float t = small / large;
  t = small == large ? (large == 0.0f ? 0.0f : 1.0f) : t;  // also of infinities
  float angle = arc_tangent(t);
  angle = steep ? short_of(1.0f, angle) : angle;
  angle = with_sign_of(1.0f, x) < 0.0f ? short_of(2.0f, angle) : angle;
  return with_sign_of(angle, y);
}

}  // namespace weft::inline v0::kernels::lane
