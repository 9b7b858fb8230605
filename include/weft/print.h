// print and format: small, type-erased, without a third-party header.
//
//   print("loss {:.4f} after {} steps", loss, step);
//
// `{}` takes the next argument; `{:.4f}`, `{:5}`, `{:<8}`, `{:e}` format numbers and one-element tensors as std::format would,
// `{{` and `}}` are braces; a tensor of more elements takes no more than width and alignment. Too few arguments or a bad format is a
// ValueError. Thread-safe; a line is written in one piece, to stdout: in order with std::cout, and on a terminal it is seen at once.
#pragma once

#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include <weft/tensor.h>

namespace weft::inline v0 {

/// One argument of `print`: a number, text, or anything with a `str()` member. Borrows text for the duration of the call.
class WEFT_API FormatArg {
 public:
  template <Scalar A>
  FormatArg(A value) : value_(Literal(value)), single_(std::same_as<A, float>) {}
  FormatArg(const char* text) : value_(std::string_view(text)) {}
  FormatArg(std::string_view text) : value_(text) {}
  FormatArg(const std::string& text) : value_(std::string_view(text)) {}
  FormatArg(const Tensor& tensor) : value_(&tensor) {}
  FormatArg(DType dtype) : value_(name_of(dtype)) {}
  template <class A>
    requires requires(const A& a) { { a.str() } -> std::convertible_to<std::string>; }
  FormatArg(const A& object) : value_(object.str()) {}
  void append(std::string& out, std::string_view spec) const;

 private:
  std::variant<Literal, std::string_view, const Tensor*, std::string> value_;
  bool single_ = false;  // the number was a float, and as few digits identify it
};

WEFT_API std::string format_list(std::string_view text, std::span<const FormatArg> args);
WEFT_API void print_list(std::string_view text, std::span<const FormatArg> args);

namespace detail {
template <class... A>
constexpr void check_printable() {
  static_assert((std::constructible_from<FormatArg, const A&> && ...),
                "print and format take numbers, text, Tensors, Variables, and what has a str(). For a struct of Variables print "
                "summary(x), for a container one element after the other.");
}
}  // namespace detail

template <class... A>
std::string format(std::string_view text, const A&... args) {
  if constexpr (sizeof...(A) == 0) return format_list(text, {});
  else if constexpr (!(std::constructible_from<FormatArg, const A&> && ...)) return detail::check_printable<A...>(), "";
  else {
    const FormatArg list[] = {FormatArg(args)...};
    return format_list(text, list);
  }
}
/// Writes one line to standard output.
template <class... A>
void print(std::string_view text, const A&... args) {
  if constexpr (sizeof...(A) == 0) print_list(text, {});
  else if constexpr (!(std::constructible_from<FormatArg, const A&> && ...)) detail::check_printable<A...>();
  else {
    const FormatArg list[] = {FormatArg(args)...};
    print_list(text, list);
  }
}

}  // namespace weft::inline v0
