// Element types, and the two 16-bit floating types C++20 does not have.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <weft/error.h>

namespace weft::inline v0 {

/// The type of a tensor's elements. Tensors of two dtypes never mix; `cast` converts.
enum class DType : std::uint8_t { f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, bool_ };
inline constexpr int kNumDTypes = 13;

inline constexpr DType f32 = DType::f32, f64 = DType::f64, f16 = DType::f16, bf16 = DType::bf16;
inline constexpr DType i8 = DType::i8, i16 = DType::i16, i32 = DType::i32, i64 = DType::i64;
inline constexpr DType u8 = DType::u8, u16 = DType::u16, u32 = DType::u32, u64 = DType::u64;
inline constexpr DType bool_ = DType::bool_;

/// Kinds order dtypes for literals: a C++ scalar beside a tensor adapts to it unless its kind is higher.
enum class Kind : std::uint8_t { boolean, integer, floating };

constexpr Kind kind_of(DType t) {
  if (t == bool_) return Kind::boolean;
  return t <= bf16 ? Kind::floating : Kind::integer;
}
constexpr bool is_floating(DType t) { return kind_of(t) == Kind::floating; }
constexpr bool is_integer(DType t) { return kind_of(t) == Kind::integer; }
constexpr bool is_half(DType t) { return t == f16 || t == bf16; }  ///< computed in f32, rounded after every op
constexpr std::size_t size_of(DType t) {
  constexpr std::uint8_t sizes[kNumDTypes] = {4, 8, 2, 2, 1, 2, 4, 8, 1, 2, 4, 8, 1};
  return sizes[static_cast<int>(t)];
}
WEFT_API std::string_view name_of(DType t);  ///< "f32", "bool", ...; "invalid" for a number outside the enumeration

/// IEEE binary16. Converts to and from float, rounding to nearest even; arithmetic is done in float.
struct float16 {
  std::uint16_t bits = 0;
  float16() = default;
  WEFT_API explicit float16(float value);
  WEFT_API operator float() const;
};
/// The upper half of a float. Converts to and from float, rounding to nearest even.
struct bfloat16 {
  std::uint16_t bits = 0;
  bfloat16() = default;
  WEFT_API explicit bfloat16(float value);
  WEFT_API operator float() const;
};

/// What may stand for a number in a call: any arithmetic type that is not a character.
template <class T>
concept Scalar = std::is_arithmetic_v<T> && !std::same_as<T, char> && !std::same_as<T, wchar_t> &&
                 !std::same_as<T, char8_t> && !std::same_as<T, char16_t> && !std::same_as<T, char32_t> &&
                 !std::same_as<T, long double>;
/// What a tensor's elements may be in C++.
template <class T>
concept Element = Scalar<T> || std::same_as<T, float16> || std::same_as<T, bfloat16>;

template <Element T>
constexpr DType dtype_of() {
  if constexpr (std::same_as<T, float>) return f32;
  else if constexpr (std::same_as<T, double>) return f64;
  else if constexpr (std::same_as<T, float16>) return f16;
  else if constexpr (std::same_as<T, bfloat16>) return bf16;
  else if constexpr (std::same_as<T, bool>) return bool_;
  else if constexpr (std::is_signed_v<T>) return sizeof(T) == 1 ? i8 : sizeof(T) == 2 ? i16 : sizeof(T) == 4 ? i32 : i64;
  else return sizeof(T) == 1 ? u8 : sizeof(T) == 2 ? u16 : sizeof(T) == 4 ? u32 : u64;
}

}  // namespace weft::inline v0
