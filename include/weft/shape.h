// Shapes and specs: what is known about a value before it exists.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include <weft/dtype.h>
#include <weft/location.h>
#include <weft/small_vector.h>

namespace weft::inline v0 {

inline constexpr std::int64_t kUnknown = -1;  ///< a size that is not known yet
inline constexpr int kMaxRank = 32;

/// A short list of integers: axes, sizes, strides. No heap up to six.
using Ints = SmallVector<std::int64_t, 6>;

/// One size in a braced shape: any integer type, but neither bool nor a floating number. An unsigned number above 2^63 - 1 counts as
/// that, not as a negative one.
struct Dim {
  std::int64_t value;
  template <std::integral A>
    requires(!std::same_as<A, bool>)
  constexpr Dim(A a) : value(std::unsigned_integral<A> && a > static_cast<A>(INT64_MAX) ? INT64_MAX : static_cast<std::int64_t>(a)) {}
};

/// The sizes of a tensor, outermost first. Sizes are >= 0 or kUnknown; rank is at most kMaxRank. A value type; no heap
/// for rank <= 6.
class WEFT_API Shape {
 public:
  /// The number of an axis, and the line that asks for its size.
  struct Axis {
    int number;
    Location at;
    constexpr Axis(int axis, Location line = Location::here()) : number(axis), at(line) {}
  };

  Shape() = default;                           ///< the shape of a scalar
  Shape(std::initializer_list<Dim> sizes);     ///< Throws ShapeError for a size below -1 or too many of them.
  explicit Shape(std::span<const std::int64_t> sizes);

  int rank() const { return static_cast<int>(sizes_.size()); }
  /// The size of an axis, as a number. Throws ShapeError where it is kUnknown, as in a trace for tensors of any size: a program that computed
  /// with it would be wrong. There `shape_of(x)[axis]` is the size as a Tensor. Throws IndexError unless 0 <= axis < rank().
  std::int64_t operator[](Axis axis) const {
    const std::int64_t size = sizes_[position(axis)];
    if (size == kUnknown) fail_unknown(axis);
    return size;
  }
  std::int64_t dim(int axis) const { return sizes_[position({axis, {}})]; }  ///< The same, but kUnknown where it is.
  void set(int axis, std::int64_t size);  ///< Throws IndexError as [] does, ShapeError for a size below -1.
  void append(std::int64_t size);         ///< Throws ShapeError for a size below -1 or one too many.
  const std::int64_t* begin() const { return sizes_.begin(); }  ///< all sizes, kUnknown where they are
  const std::int64_t* end() const { return sizes_.end(); }
  std::span<const std::int64_t> sizes() const { return sizes_; }

  bool known() const;                   ///< no size is kUnknown
  std::int64_t num_elements() const;    ///< Throws ShapeError if unknown or if the product does not fit 63 bits.
  std::string str() const;              ///< "[2,?,3]"
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::size_t position(Axis axis) const {
    if (static_cast<std::size_t>(axis.number) >= sizes_.size()) fail_axis(axis);
    return static_cast<std::size_t>(axis.number);
  }
  [[noreturn]] void fail_axis(Axis axis) const;
  [[noreturn]] void fail_unknown(Axis axis) const;

  Ints sizes_;
};

/// The static type of a value: dtype and shape.
struct WEFT_API Spec {
  DType dtype = f32;
  Shape shape;
  std::string str() const;  ///< "f32[2,3]"
  friend bool operator==(const Spec&, const Spec&) = default;
};

}  // namespace weft::inline v0
