// Tensor: an immutable, dense, row-major value.
//
//   Tensor x = {{1.f, 2.f}, {3.f, 4.f}};          // f32[2,2]
//   Tensor y = exp(x) * 2 + x[0];                 // operators broadcast; literals adapt to the tensor
//   std::vector<float> values = y.to_vector<float>();
//
// Thread safety: a Tensor's value never changes, so any number of threads may read one value. A Tensor object (the
// handle) is like a shared_ptr: one thread may not assign to a handle while another uses that same handle.
// Ownership: handles share the value; the last one frees it. Copying a handle costs one atomic increment.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <weft/dtype.h>
#include <weft/index.h>
#include <weft/location.h>
#include <weft/shape.h>

namespace weft::inline v0 {

struct Node;  // the value behind a handle

/// A C++ number before it has a dtype. Trivially copyable.
struct Literal {
  Kind kind = Kind::integer;
  bool wide = false;  ///< `bits` holds an unsigned number above 2^63 - 1
  union {
    double real;
    std::int64_t integer;
  };
  constexpr Literal() : integer(0) {}
  template <Scalar A>
  constexpr Literal(A value) : kind(std::same_as<A, bool> ? Kind::boolean : std::integral<A> ? Kind::integer : Kind::floating) {
    if constexpr (std::floating_point<A>) {
      real = static_cast<double>(value);
    } else {
      integer = static_cast<std::int64_t>(value);
      wide = std::unsigned_integral<A> && integer < 0;
    }
  }
};

/// One element of a braced list: a number or a list again. Lives only as long as the full expression it stands in.
class Nested {
 public:
  template <Scalar A>
  constexpr Nested(A value) : leaf_(value), count_(-1) {}
  constexpr Nested(std::initializer_list<Nested> list) : count_(static_cast<std::int32_t>(list.size())) { list_ = list.begin(); }
  constexpr bool is_list() const { return count_ >= 0; }
  constexpr std::span<const Nested> list() const { return {list_, static_cast<std::size_t>(count_)}; }
  constexpr Literal leaf() const { return leaf_; }

 private:
  union {
    Literal leaf_;
    const Nested* list_;
  };
  std::int32_t count_;
};

class WEFT_API Tensor {
 public:
  /// An empty handle. It may be assigned to and asked `defined()`; anything else is a ValueError.
  Tensor() = default;
  /// A scalar literal: float and double give f32, integers i32 (i64 if they do not fit), bool gives bool. Written
  /// directly as an argument beside a tensor it takes that tensor's dtype instead.
  template <Scalar A>
  Tensor(A value, Location at = Location::here()) : Tensor(Literal(value), at) {}
  template <Scalar A>
  Tensor(A value, DType dtype, Location at = Location::here()) : Tensor(Literal(value), dtype, at) {}
  /// Nested lists must be rectangular (ShapeError). The highest kind in the list decides: bool, i32 / i64, f32.
  Tensor(std::initializer_list<Nested> list, Location at = Location::here());
  Tensor(std::initializer_list<Nested> list, DType dtype, Location at = Location::here());
  /// Vectors and spans keep their element type (double gives f64). The values are copied.
  template <Element A>
  Tensor(const std::vector<A>& values, Location at = Location::here())
      : Tensor(values, Shape{values.size()}, at) {}
  template <Element A>
  Tensor(const std::vector<A>& values, Shape shape, Location at = Location::here());
  template <Element A>
  Tensor(std::span<const A> values, Shape shape, Location at = Location::here())
      : Tensor(values.data(), values.size(), dtype_of<A>(), std::move(shape), at) {}
  /// Vectors of equally long vectors, to any depth.
  template <class V>
  Tensor(const std::vector<std::vector<V>>& rows, Location at = Location::here());
  /// Wraps memory that somebody else owns, without a copy; `release` runs when the last handle lets go, on the thread that does,
  /// and what it throws is dropped. REQUIRES: `data` holds spec.shape.num_elements() elements, aligned for them, that nobody
  /// changes until then.
  static Tensor from_memory(void* data, Spec spec, std::function<void()> release, Location at = Location::here());

  Tensor(const Tensor& other) noexcept;
  Tensor(Tensor&& other) noexcept : node_(other.node_) { other.node_ = nullptr; }
  Tensor& operator=(const Tensor& other) & noexcept;
  Tensor& operator=(Tensor&& other) & noexcept {
    Tensor taken(std::move(other));  // the old value goes with `taken`, not on in `other`
    std::swap(node_, taken.node_);
    return *this;
  }
  template <class T, class a_part_of_a_Tensor_is_a_value_hold_state_in_a_Variable = void>
  void operator=(T&&) && = delete;  // x[i] = y would change nothing: a Tensor is a value; hold state in a Variable and write v[i].assign(y)
  ~Tensor() {
    if (node_ != nullptr) release();  // most handles that end have been moved from
  }

  bool defined() const { return node_ != nullptr; }
  bool is_concrete() const;    ///< it has a value now; a symbolic one only has a Spec
  DType dtype() const;
  const Shape& shape() const;  ///< valid as long as this handle keeps its value
  const Spec& spec() const;    ///< valid as long as this handle keeps its value
  int rank() const { return shape().rank(); }
  std::int64_t size() const { return shape().num_elements(); }

  /// The only element. Widens and rounds within a kind; integers must fit; a higher kind is a DtypeError.
  template <Element A>
  A item(Location at = Location::here()) const;
  /// All elements in row-major order, converted as `item` does.
  template <Element A>
  std::vector<A> to_vector(Location at = Location::here()) const;
  /// The elements themselves. REQUIRES: A is exactly the dtype's C++ type (else DtypeError). Valid as long as any handle.
  template <Element A>
  const A* data(Location at = Location::here()) const {
    return static_cast<const A*>(raw_data(dtype_of<A>(), at));
  }
  /// True if the only element is not zero. Throws ShapeError for any other number of elements.
  explicit operator bool() const;

  /// x[i] drops axis 0; x(i, all, range(1, 4), ellipsis, newaxis) indexes as NumPy does. The result is a new value.
  Tensor operator[](Index at) const;
  template <std::convertible_to<Index>... I>
  Tensor operator()(Index first, I... rest) const {  // `first` is made by the caller, and knows its line
    const Index list[] = {first, Index(rest, first.where)...};
    return index(list, first.where);
  }
  Tensor operator()() const { return *this; }
  Tensor index(std::span<const Index> at, Location where = Location::here()) const;

  /// Iteration goes over axis 0. Throws ShapeError for a scalar.
  class Iterator;
  Iterator begin() const;
  Iterator end() const;

  std::string str() const;  ///< dtype, shape and values as NumPy would print them, long axes summarised
  bool same_as(const Tensor& other) const { return node_ == other.node_; }  ///< one value, not merely equal ones

  template <class T, class a_Tensor_is_a_value_hold_state_in_a_Variable = void>
  void assign(T&&) const = delete;                      // a Tensor is a value; hold state in a Variable
  void assign(std::initializer_list<Nested>) = delete;  // a Tensor is a value; hold state in a Variable

  Node* node() const { return node_; }  ///< for Weft's own layers
  explicit Tensor(Node* taken) : node_(taken) {}

 private:
  Tensor(Literal value, Location at);
  Tensor(Literal value, DType dtype, Location at);
  Tensor(const void* values, std::size_t count, DType dtype, Shape shape, Location at);
  const void* raw_data(DType dtype, Location at) const;
  void release() noexcept;
  template <class V, class A>
  static void flatten(const std::vector<V>& rows, Shape& shape, int depth, std::vector<A>& flat, Location at);

  Node* node_ = nullptr;
};

/// Visits x[0], x[1], ... Holds its own handle.
class Tensor::Iterator {
 public:
  Iterator(Tensor of, std::int64_t at) : of_(std::move(of)), at_(at) {}
  Tensor operator*() const { return of_[at_]; }
  Iterator& operator++() { return ++at_, *this; }
  bool operator!=(const Iterator& other) const { return at_ != other.at_; }

 private:
  Tensor of_;
  std::int64_t at_;
};

WEFT_API std::ostream& operator<<(std::ostream& out, const Tensor& x);

// --- details ---

namespace detail {
WEFT_API void check_row_length(const Shape& shape, int depth, std::size_t length, Location at);
template <class V>
struct leaf_of { using type = V; };
template <class V>
struct leaf_of<std::vector<V>> : leaf_of<V> {};
}  // namespace detail

template <Element A>
Tensor::Tensor(const std::vector<A>& values, Shape shape, Location at) {
  if constexpr (std::same_as<A, bool>) {  // std::vector<bool> has no array to point at
    std::vector<std::uint8_t> bytes(values.begin(), values.end());
    *this = Tensor(bytes.data(), bytes.size(), bool_, std::move(shape), at);
  } else {
    *this = Tensor(values.data(), values.size(), dtype_of<A>(), std::move(shape), at);
  }
}

template <class V, class A>
void Tensor::flatten(const std::vector<V>& rows, Shape& shape, int depth, std::vector<A>& flat, Location at) {
  if (depth == shape.rank()) shape.append(static_cast<std::int64_t>(rows.size()));
  detail::check_row_length(shape, depth, rows.size(), at);
  if constexpr (std::same_as<V, A>) {
    flat.insert(flat.end(), rows.begin(), rows.end());
  } else {
    for (const V& row : rows) flatten(row, shape, depth + 1, flat, at);
  }
}

template <class V>
Tensor::Tensor(const std::vector<std::vector<V>>& rows, Location at) {
  std::vector<typename detail::leaf_of<V>::type> flat;
  Shape shape;
  flatten(rows, shape, 0, flat, at);
  *this = Tensor(flat, std::move(shape), at);
}

}  // namespace weft::inline v0
