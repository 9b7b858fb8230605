#include <weft/operators.h>

#include <weft/ops.h>

namespace weft::inline v0 {

Tensor Operand::take() const {
  if (tensor_ != nullptr) return *tensor_;
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
  for (const Tensor* side : {&x, &y})
    if (side->defined() && !is_floating(side->dtype()) && !(side == &x ? y : x).defined() == false && !is_floating((side == &x ? y : x).dtype()))
      throw DtypeError("operator/", "the integer " + side->spec().str() + " has no single meaning of division; use floordiv, truncatediv, or divide for a floating result.",
                       b.location());
  return divide(std::move(x), std::move(y), b.location());
}

Tensor operator%(const Operand& a, const Operand& b) { return floormod(a.take(), b.take(), b.location()); }
Tensor operator-(const Tensor& x) { return negative(x); }

Tensor operator==(const Operand& a, const Operand& b) { return equal(a.take(), b.take(), b.location()); }
Tensor operator!=(const Operand& a, const Operand& b) { return not_equal(a.take(), b.take(), b.location()); }
Tensor operator<(const Operand& a, const Operand& b) { return less(a.take(), b.take(), b.location()); }
Tensor operator<=(const Operand& a, const Operand& b) { return less_equal(a.take(), b.take(), b.location()); }
Tensor operator>(const Operand& a, const Operand& b) { return greater(a.take(), b.take(), b.location()); }
Tensor operator>=(const Operand& a, const Operand& b) { return greater_equal(a.take(), b.take(), b.location()); }

namespace {

// Whether the tensor side of the pair is boolean: decides between logic and bits.
bool is_logic(const Tensor& x, const Tensor& y) { return x.dtype() == bool_ && y.dtype() == bool_; }

}  // namespace

Tensor operator&(const Operand& a, const Operand& b) {
  Tensor x = a.take(), y = b.take();
  const bool logic = is_logic(x, y);
  return logic ? logical_and(std::move(x), std::move(y), b.location()) : bitwise_and(std::move(x), std::move(y), b.location());
}
Tensor operator|(const Operand& a, const Operand& b) {
  Tensor x = a.take(), y = b.take();
  const bool logic = is_logic(x, y);
  return logic ? logical_or(std::move(x), std::move(y), b.location()) : bitwise_or(std::move(x), std::move(y), b.location());
}
Tensor operator^(const Operand& a, const Operand& b) {
  Tensor x = a.take(), y = b.take();
  const bool logic = is_logic(x, y);
  return logic ? logical_xor(std::move(x), std::move(y), b.location()) : bitwise_xor(std::move(x), std::move(y), b.location());
}
Tensor operator~(const Tensor& x) { return x.dtype() == bool_ ? logical_not(x) : invert(x); }
Tensor operator!(const Tensor& x) { return logical_not(x); }

}  // namespace weft::inline v0
