// Operators on tensors.
//
// A C++ number beside a tensor takes the tensor's dtype unless its kind is higher (bool < integer < floating), which is a
// DtypeError naming `cast`. Two tensors never mix dtypes. All operators are elementwise, broadcast, and make a new value.
#pragma once

#include <weft/tensor.h>

namespace weft::inline v0 {

/// What stands for a Tensor in an expression and is read when its turn comes: a Variable, a slice of one.
template <class V>
concept ReadsAsTensor = V::reads_as_tensor && requires(const V& v, Location at) { { v.value(at) } -> std::same_as<Tensor>; };

/// One side of an operator: borrows a Tensor or what reads as one, or holds a number. Lives only during the expression. A temporary is
/// used up, so that the result may take its memory.
class WEFT_API Operand {
 public:
  template <ReadsAsTensor V>
  Operand(const V& read, Location at = Location::here())
      : read_from_(&read), read_([](const void* from, Location where) { return static_cast<const V*>(from)->value(where); }), at_(at) {}
  Operand(const Tensor& tensor, Location at = Location::here()) : tensor_(&tensor), at_(at) {}
  Operand(Tensor&& dying, Location at = Location::here()) : tensor_(&dying), dying_(&dying), at_(at) {}
  template <Scalar A>
  Operand(A number, Location at = Location::here()) : number_(number), at_(at) {}
  Tensor take() const;
  Location location() const { return at_; }

 private:
  const Tensor* tensor_ = nullptr;
  Tensor* dying_ = nullptr;
  const void* read_from_ = nullptr;
  Tensor (*read_)(const void* from, Location at) = nullptr;
  Literal number_;
  Location at_;
};

WEFT_API Tensor operator+(const Operand& a, const Operand& b);
WEFT_API Tensor operator-(const Operand& a, const Operand& b);
WEFT_API Tensor operator*(const Operand& a, const Operand& b);
/// Floating only: on two integers it is a DtypeError that names floordiv, truncatediv and divide.
WEFT_API Tensor operator/(const Operand& a, const Operand& b);
WEFT_API Tensor operator%(const Operand& a, const Operand& b);  ///< floormod: the result has the sign of b, as in Python
WEFT_API Tensor operator-(const Operand& x);

WEFT_API Tensor operator==(const Operand& a, const Operand& b);
WEFT_API Tensor operator!=(const Operand& a, const Operand& b);
WEFT_API Tensor operator<(const Operand& a, const Operand& b);
WEFT_API Tensor operator<=(const Operand& a, const Operand& b);
WEFT_API Tensor operator>(const Operand& a, const Operand& b);
WEFT_API Tensor operator>=(const Operand& a, const Operand& b);

/// Logical on bool, bitwise on integers.
WEFT_API Tensor operator&(const Operand& a, const Operand& b);
WEFT_API Tensor operator|(const Operand& a, const Operand& b);
WEFT_API Tensor operator^(const Operand& a, const Operand& b);
WEFT_API Tensor operator~(const Operand& x);
/// Bool only. Its errors name no line: an Operand would know it, but a Tensor converts to bool as well, and `!x` would be ambiguous.
WEFT_API Tensor operator!(const Tensor& x);

/// Rebinds the handle `x` to a new value; other handles to the old value keep it.
inline Tensor& operator+=(Tensor& x, const Operand& b) { return x = x + b; }
inline Tensor& operator-=(Tensor& x, const Operand& b) { return x = x - b; }
inline Tensor& operator*=(Tensor& x, const Operand& b) { return x = x * b; }
inline Tensor& operator/=(Tensor& x, const Operand& b) { return x = x / b; }
inline Tensor& operator%=(Tensor& x, const Operand& b) { return x = x % b; }
inline Tensor& operator&=(Tensor& x, const Operand& b) { return x = x & b; }
inline Tensor& operator|=(Tensor& x, const Operand& b) { return x = x | b; }
inline Tensor& operator^=(Tensor& x, const Operand& b) { return x = x ^ b; }

}  // namespace weft::inline v0
