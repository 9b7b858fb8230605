#include <weft/shape.h>

#include "base/checked.h"

namespace weft::inline v0 {
namespace {

void check_rank(std::size_t rank) {
  if (rank > static_cast<std::size_t>(kMaxRank))
    throw ShapeError("shape", "rank " + std::to_string(rank) + " is more than " + std::to_string(kMaxRank) + "; use fewer axes.", {});
}

void check_size(std::int64_t size, std::size_t axis) {
  if (size < kUnknown)
    throw ShapeError("shape", "size " + std::to_string(size) + " of axis " + std::to_string(axis) +
                                  " is negative; sizes are >= 0, or -1 for one that is not known.", {});
}

void check_sizes(std::span<const std::int64_t> sizes) {
  check_rank(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) check_size(sizes[i], i);
}

}  // namespace

Shape::Shape(std::initializer_list<Dim> sizes) {
  check_rank(sizes.size());
  for (const Dim& d : sizes) {
    check_size(d.value, sizes_.size());
    sizes_.push_back(d.value);
  }
}

Shape::Shape(std::span<const std::int64_t> sizes) : sizes_(sizes.begin(), sizes.end()) { check_sizes(sizes_); }

void Shape::set(int axis, std::int64_t size) {
  const std::size_t at = position({axis, {}});
  check_size(size, at);
  sizes_[at] = size;
}

void Shape::append(std::int64_t size) {
  check_rank(sizes_.size() + 1);
  check_size(size, sizes_.size());
  sizes_.push_back(size);
}

void Shape::fail_unknown(Axis axis) const {
  throw ShapeError("shape", "the size of axis " + std::to_string(axis.number) + " of " + str() +
                                " is not known, so it is no number; in a traced body use shape_of(x)[" + std::to_string(axis.number) +
                                "], the size as a Tensor, or trace for known sizes.", axis.at);
}

void Shape::fail_axis(Axis axis) const {
  throw IndexError("shape", "axis " + std::to_string(axis.number) + " is outside of " + str() + "; it " +
                                (rank() == 0 ? "has no axes." : "must be from 0 to " + std::to_string(rank() - 1) + "."), axis.at);
}

bool Shape::known() const {
  for (std::int64_t size : sizes_)
    if (size == kUnknown) return false;
  return true;
}

std::int64_t Shape::num_elements() const {
  std::int64_t quick = 1;
  bool plain = true;  // neither an unknown size nor a zero, and the product fits
  for (std::int64_t size : sizes_) plain &= !__builtin_mul_overflow(quick, size, &quick) & (size > 0);
  if (plain) return quick;
  std::int64_t count = 1;
  bool empty = false, overflow = false;
  for (std::int64_t size : sizes_) {
    if (size == kUnknown) throw ShapeError("shape", "the number of elements of " + str() + " is not known; ask shape_of for the sizes that each call has.", {});
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
    text += dim(i) == kUnknown ? "?" : std::to_string(dim(i));
  }
  return text + ']';
}

std::string Spec::str() const { return std::string(name_of(dtype)) + shape.str(); }

}  // namespace weft::inline v0
