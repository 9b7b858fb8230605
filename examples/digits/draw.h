// Digits that nobody has written: lines of a pen, bent, slanted, turned, shifted, thick or thin, and noisy.
#pragma once

#include <weft/weft.h>

constexpr int kSide = 28;    // pixels
constexpr int kDigits = 10;  // kinds of digits

struct Digits {
  weft::Tensor images;  // f32[count, kSide, kSide, 1], from 0 (paper) to 1 (ink)
  weft::Tensor labels;  // i32[count], each digit as often as any other, in random order
};

/// The same generator state draws the same digits, bit for bit. Throws ValueError unless count is a positive multiple of kDigits.
Digits draw_digits(int count, weft::Generator& random);
