#include <weft/operators.h>

#include <weft/ops.h>

namespace weft::inline v0 {
namespace {

// Whether both sides are there and hold bool: decides between logic and bits.
bool is_logic(const Tensor& x, const Tensor& y) { return x.defined() && y.defined() && x.dtype() == bool_ && y.dtype() == bool_; }

// What is not there, or mixes kinds, is left to the op's own checks.
bool divides_integers(const Tensor& x, const Tensor& y) {
  if (!x.defined() || !y.defined() || is_floating(x.dtype()) || is_floating(y.dtype())) return false;
  return is_integer(x.dtype()) || is_integer(y.dtype());
}

}  // namespace

Tensor Operand::take() const {
  if (dying_ != nullptr) return std::move(*dying_);
  if (tensor_ != nullptr) return *tensor_;
  if (read_ != nullptr) return read_(read_from_, at_);
  switch (number_.kind) {
    case Kind::boolean: return Tensor(number_.integer != 0, at_);
    case Kind::integer: return number_.wide ? Tensor(static_cast<std::uint64_t>(number_.integer), at_) : Tensor(number_.integer, at_);
    case Kind::floating: return Tensor(number_.real, at_);
  }
  throw InternalError("a literal of no kind");
}

// b's location: for an expression over several lines the compilers agree on that one.
Tensor operator+(const Operand& a, const Operand& b) { return add(a.take(), b.take(), b.location()); }
Tensor operator-(const Operand& a, const Operand& b) { return subtract(a.take(), b.take(), b.location()); }
Tensor operator*(const Operand& a, const Operand& b) { return multiply(a.take(), b.take(), b.location()); }

Tensor operator/(const Operand& a, const Operand& b) {
  Tensor x = a.take(), y = b.take();
  if (divides_integers(x, y))
    throw DtypeError("operator/", "a is " + x.spec().str() + " and b is " + y.spec().str() +
                                      ", and dividing integers has no single meaning; use floordiv, truncatediv, or divide for a floating result.",
                     b.location());
  return divide(std::move(x), std::move(y), b.location());
}

Tensor operator%(const Operand& a, const Operand& b) { return floormod(a.take(), b.take(), b.location()); }
Tensor operator-(const Operand& x) { return negative(x.take(), x.location()); }

Tensor operator==(const Operand& a, const Operand& b) { return equal(a.take(), b.take(), b.location()); }
Tensor operator!=(const Operand& a, const Operand& b) { return not_equal(a.take(), b.take(), b.location()); }
Tensor operator<(const Operand& a, const Operand& b) { return less(a.take(), b.take(), b.location()); }
Tensor operator<=(const Operand& a, const Operand& b) { return less_equal(a.take(), b.take(), b.location()); }
Tensor operator>(const Operand& a, const Operand& b) { return greater(a.take(), b.take(), b.location()); }
Tensor operator>=(const Operand& a, const Operand& b) { return greater_equal(a.take(), b.take(), b.location()); }

Tensor operator&(const Operand& a, const Operand& b) {
  Tensor x = a.take(), y = b.take();
  const auto op = is_logic(x, y) ? logical_and : bitwise_and;
  return op(std::move(x), std::move(y), b.location());
}
Tensor operator|(const Operand& a, const Operand& b) {
  Tensor x = a.take(), y = b.take();
  const auto op = is_logic(x, y) ? logical_or : bitwise_or;
  return op(std::move(x), std::move(y), b.location());
}
Tensor operator^(const Operand& a, const Operand& b) {
  Tensor x = a.take(), y = b.take();
  const auto op = is_logic(x, y) ? logical_xor : bitwise_xor;
  return op(std::move(x), std::move(y), b.location());
}
Tensor operator~(const Operand& x) {
  Tensor taken = x.take();
  const auto op = is_logic(taken, taken) ? logical_not : invert;
  return op(std::move(taken), x.location());
}
Tensor operator!(const Tensor& x) { return logical_not(x, Location{}); }  // see the declaration

}  // namespace weft::inline v0
