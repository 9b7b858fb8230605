#include <weft/shape.h>

#include "base/checked.h"

namespace weft::inline v0 {
namespace {

void check_sizes(std::span<const std::int64_t> sizes) {
  if (sizes.size() > static_cast<std::size_t>(kMaxRank))
    throw ShapeError("shape", "rank " + std::to_string(sizes.size()) + " is more than " + std::to_string(kMaxRank) +
                                  "; use fewer axes.", {});
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] < kUnknown)
      throw ShapeError("shape", "size " + std::to_string(sizes[i]) + " of axis " + std::to_string(i) +
                                    " is negative; sizes are >= 0, or -1 for one that is not known.", {});
}

}  // namespace

Shape::Shape(std::initializer_list<Dim> sizes) {
  for (const Dim& d : sizes) sizes_.push_back(d.value);
  check_sizes(sizes_);
}

Shape::Shape(std::span<const std::int64_t> sizes) : sizes_(sizes.begin(), sizes.end()) { check_sizes(sizes_); }

bool Shape::known() const {
  for (std::int64_t size : sizes_)
    if (size == kUnknown) return false;
  return true;
}

std::int64_t Shape::num_elements() const {
  std::int64_t count = 1;
  bool empty = false, overflow = false;
  for (std::int64_t size : sizes_) {
    if (size == kUnknown) throw ShapeError("shape", "the number of elements of " + str() + " is not known.", {});
    if (size == 0) empty = true;
    const auto product = checked_mul(count, size == 0 ? 1 : size);
    overflow = overflow || !product;
    count = product.value_or(1);
  }
  // Overflow counts even beside a zero: [0, 2^62, 4] must not become valid by reordering its axes.
  if (overflow) throw ShapeError("shape", "the number of elements of " + str() + " does not fit 63 bits.", {});
  return empty ? 0 : count;
}

std::string Shape::str() const {
  std::string text = "[";
  for (int i = 0; i < rank(); ++i) {
    if (i > 0) text += ',';
    text += (*this)[i] == kUnknown ? "?" : std::to_string((*this)[i]);
  }
  return text + ']';
}

std::string Spec::str() const { return std::string(name_of(dtype)) + shape.str(); }

}  // namespace weft::inline v0
