#include "tests/golden_expr.h"

#include <cctype>
#include <charconv>

namespace weft::golden {
namespace {

// Recursive descent: sum > product > unary > postfix > atom.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Expr whole() {
    Expr result = sum();
    skip();
    if (at_ != text_.size()) fail("something after the expression");
    return result;
  }

 private:
  using Kind = Expr::Kind;

  [[noreturn]] void fail(const std::string& what) const {
    throw SyntaxError(what + " at position " + std::to_string(at_) + " of `" + std::string(text_) + "`");
  }
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool sees(std::string_view word) {
    skip();
    return text_.substr(at_).starts_with(word);
  }
  bool take(std::string_view word) {
    if (!sees(word)) return false;
    at_ += word.size();
    return true;
  }
  void expect(std::string_view word) {
    if (!take(word)) fail("expected `" + std::string(word) + "`");
  }

  Expr binary(Expr left, const char* sign, Expr right) {
    return {.kind = Kind::kBinary, .text = sign, .parts = {std::move(left), std::move(right)}};
  }

  Expr sum() {
    Expr left = product();
    for (;;) {
      if (take("+")) left = binary(std::move(left), "+", product());
      else if (take("-")) left = binary(std::move(left), "-", product());
      else return left;
    }
  }

  Expr product() {
    Expr left = unary();
    for (;;) {
      if (take("*")) left = binary(std::move(left), "*", unary());
      else if (take("/")) left = binary(std::move(left), "/", unary());
      else return left;
    }
  }

  Expr unary() {
    if (!take("-")) return postfix();
    Expr operand = unary();
    if (operand.kind == Kind::kInt) return operand.integer = -operand.integer, operand;
    if (operand.kind == Kind::kReal) return operand.real = -operand.real, operand;
    return {.kind = Kind::kNegate, .parts = {std::move(operand)}};
  }

  Expr postfix() {
    Expr result = atom();
    for (;;) {
      if (take("(")) result = call(std::move(result));
      else if (take("[")) result = subscript(std::move(result));
      else return result;
    }
  }

  Expr call(Expr function) {
    if (function.kind != Kind::kName) fail("only a name can be called");
    Expr result{.kind = Kind::kCall, .text = std::move(function.text)};
    while (!take(")")) {
      const std::size_t before = at_;
      std::string keyword = identifier();
      if (!keyword.empty() && sees("=") && !sees("==")) {
        expect("=");
        result.keywords.emplace_back(std::move(keyword), sum());
      } else {
        at_ = before;
        result.parts.push_back(sum());
      }
      if (!sees(")")) expect(",");
    }
    return result;
  }

  Expr subscript(Expr of) {
    Expr result{.kind = Kind::kSubscript, .parts = {std::move(of)}};
    while (!take("]")) {
      result.parts.push_back(one_axis());
      if (!sees("]")) expect(",");
    }
    return result;
  }

  Expr one_axis() {
    if (take("...")) return {.kind = Kind::kEllipsis};
    const auto bound = [&]() -> Expr { return sees(":") || sees(",") || sees("]") ? Expr{} : sum(); };
    Expr start = bound();
    if (!take(":")) return start;
    Expr slice{.kind = Kind::kSlice, .parts = {std::move(start), bound(), {}}};
    if (take(":")) slice.parts[2] = bound();
    return slice;
  }

  Expr atom() {
    skip();
    if (at_ == text_.size()) fail("unexpected end");
    const char c = text_[at_];
    if (take("(")) return group();
    if (take("[")) {
      Expr list{.kind = Kind::kList};
      while (!take("]")) {
        list.parts.push_back(sum());
        if (!sees("]")) expect(",");
      }
      return list;
    }
    if (c == '\'' || c == '"') return quoted(c);
    if (std::isdigit(static_cast<unsigned char>(c)) || c == '.') return number();
    std::string name = identifier();
    if (name.empty()) fail("unexpected character");
    while (take(".")) name += "." + identifier();
    if (name == "None") return {};
    if (name == "True" || name == "False") return {.kind = Kind::kBool, .integer = name == "True"};
    return {.kind = Kind::kName, .text = std::move(name)};
  }

  // (a) is a; (a,) and (a, b) are tuples, which mean the same as lists here.
  Expr group() {
    Expr tuple{.kind = Kind::kList};
    bool comma = false;
    while (!take(")")) {
      tuple.parts.push_back(sum());
      if (sees(")")) continue;
      expect(",");
      comma = true;
    }
    if (tuple.parts.size() == 1 && !comma) return Expr(tuple.parts[0]);
    return tuple;
  }

  Expr quoted(char quote) {
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("unterminated string");
    Expr result{.kind = Kind::kText, .text = std::string(text_.substr(at_ + 1, end - at_ - 1))};
    at_ = end + 1;
    return result;
  }

  Expr number() {
    const char *begin = text_.data() + at_, *end = text_.data() + text_.size();
    Expr result{.kind = Kind::kReal};
    const auto real = std::from_chars(begin, end, result.real);
    if (real.ec != std::errc()) fail("malformed number");
    const std::string_view digits(begin, static_cast<std::size_t>(real.ptr - begin));
    if (digits.find_first_of(".eE") == std::string_view::npos) {
      result.kind = Kind::kInt;
      if (std::from_chars(begin, end, result.integer).ec != std::errc()) fail("integer out of range");
    }
    at_ += digits.size();
    return result;
  }

  std::string identifier() {
    skip();
    std::string name;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_') &&
           !(name.empty() && std::isdigit(static_cast<unsigned char>(text_[at_]))))
      name += text_[at_++];
    return name;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Expr parse(std::string_view text) { return Parser(text).whole(); }

void called_functions(const Expr& expr, std::vector<std::string>& names) {
  if (expr.kind == Expr::Kind::kCall) names.push_back(expr.text);
  for (const Expr& part : expr.parts) called_functions(part, names);
  for (const auto& [name, value] : expr.keywords) called_functions(value, names);
}

}  // namespace weft::golden
