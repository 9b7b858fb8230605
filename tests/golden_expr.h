// The little language of the golden files: TensorFlow expressions in Python's spelling, read into a tree.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::golden {

/// One node of an expression. Which members count depends on `kind`.
struct Expr {
  enum class Kind {
    kNone,      // None; also an open end inside a slice
    kBool,      // integer
    kInt,       // integer
    kReal,      // real
    kText,      // text: the string's contents
    kName,      // text: "x", "tf.float32"
    kList,      // parts: the elements; tuples, too
    kCall,      // text: the function's dotted name; parts: positional arguments; keywords
    kSubscript, // parts[0]: what is indexed, then one entry per axis
    kSlice,     // parts: start, stop, step
    kEllipsis,  // ...
    kBinary,    // text: the operator; parts: both sides
    kNegate,    // parts[0]
  } kind = Kind::kNone;
  std::int64_t integer = 0;
  double real = 0;
  std::string text{};
  std::vector<Expr> parts{};
  std::vector<std::pair<std::string, Expr>> keywords{};
};

/// The text is not an expression of the language; names the position.
struct SyntaxError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

Expr parse(std::string_view text);  ///< Throws SyntaxError.
/// Appends the dotted names of all functions called in the expression, outermost first.
void called_functions(const Expr& expr, std::vector<std::string>& names);

}  // namespace weft::golden
