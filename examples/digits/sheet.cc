#include "sheet.h"

#include <cstdint>

#include <weft/print.h>

using namespace weft;

namespace {

constexpr std::size_t kColumns = 20;

std::string base64(const std::string& bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j) bits = bits << 8 | (i + j < bytes.size() ? static_cast<std::uint8_t>(bytes[i + j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j) out += i + j <= bytes.size() ? kDigits[bits >> (18 - 6 * j) & 63] : '=';
  }
  return out;
}

/// A Windows bitmap of one byte a pixel: the plainest format that every browser shows. Rows go from bottom to top.
std::string bitmap(const std::string& pixels, std::uint32_t width, std::uint32_t height) {
  std::string out = "BM";
  const auto number = [&](std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 255);
  };
  constexpr std::uint32_t kHeader = 54 + 256 * 4;
  number(kHeader + width * height, 4), number(0, 4), number(kHeader, 4);
  number(40, 4), number(width, 4), number(height, 4), number(1, 2), number(8, 2);
  for (const std::uint32_t value : {0u, width * height, 2835u, 2835u, 256u, 0u}) number(value, 4);
  for (std::uint32_t ink = 0; ink < 256; ++ink) {  // from white paper to dark blue ink
    const auto shade = [&](std::uint32_t full) { return 255 - (255 - full) * ink / 255; };
    number(shade(64) | shade(34) << 8 | shade(24) << 16, 4);
  }
  for (std::uint32_t row = height; row-- > 0;) out.append(pixels, std::size_t{row} * width, width);
  return out;
}

}  // namespace

Sheet::Sheet(const Tensor& images) : count_(images.shape()[0]), side_(images.shape()[1]) {
  const std::size_t rows = (count_ + kColumns - 1) / kColumns, width = kColumns * side_;  // REQUIRES of a bitmap: width % 4 == 0
  std::string pixels(width * rows * side_, '\0');
  const float* values = images.data<float>();
  for (std::size_t i = 0; i < count_ * side_ * side_; ++i) {
    const std::size_t image = i / (side_ * side_), y = i / side_ % side_, x = i % side_;
    pixels[(image / kColumns * side_ + y) * width + image % kColumns * side_ + x] = static_cast<char>(static_cast<int>(values[i] * 255 + 0.5f));
  }
  bitmap_ = base64(bitmap(pixels, static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(rows * side_)));
}

std::string Sheet::rule(const char* selector) const {
  return format("  {} {{ background-image: url(data:image/bmp;base64,{}); background-size: {}px; }}\n", selector, bitmap_, kColumns * side_ * 2);
}

std::string Sheet::style(std::size_t image) const {
  return format("background-position:-{}px -{}px", image % kColumns * side_ * 2, image / kColumns * side_ * 2);
}
