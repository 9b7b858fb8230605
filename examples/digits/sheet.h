// Many small images as one picture inside a page.
#pragma once

#include <string>

#include <weft/tensor.h>

class Sheet {
 public:
  explicit Sheet(const weft::Tensor& images);       ///< f32[count, side, side, 1] from 0 to 1
  std::string rule(const char* selector) const;     ///< CSS: elements that show one image, at twice its size
  std::string style(std::size_t image) const;       ///< which image an element shows

 private:
  std::size_t count_, side_;
  std::string bitmap_;
};
