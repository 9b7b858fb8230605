#include "tests/fuzz/compare.h"

namespace weft::fuzz {
namespace {

bool differs(Program& program) {
  number_lines(program);
  try {
    return !difference(program).empty();
  } catch (...) {
    return false;
  }
}

// One place after the other of a program, where something may be left out. Locals are named by their number, so a statement that makes one
// stays, and gets a simpler value.
class Shrinker {
 public:
  explicit Shrinker(Program program) : program_(std::move(program)) {}

  Program operator()() {
    for (bool smaller = true; smaller;) {
      smaller = fewer(program_.calls, program_.calls.size() > 1);
      smaller |= in(program_.body);
      smaller |= fewer(program_.results, program_.results.size() > 1);
      for (Expr& e : program_.results) smaller |= in(e);
      for (Inner& inner : program_.functions) {
        smaller |= in(inner.body);
        smaller |= in(inner.result);
      }
    }
    return std::move(program_);
  }

 private:
  // Keeps a change if the program still differs.
  template <class T>
  bool becomes(T& part, T other) {
    std::swap(part, other);
    if (differs(program_)) return true;
    std::swap(part, other);
    number_lines(program_);
    return false;
  }

  template <class T>
  bool fewer(std::vector<T>& list, bool may_be) {
    bool smaller = false;
    for (std::size_t i = list.size(); i-- > 0 && may_be;) {
      if constexpr (std::is_same_v<T, Stmt>)
        if (list[i].kind == Stmt::Kind::kLet || list[i].kind == Stmt::Kind::kLoop) continue;
      std::vector<T> rest = list;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
      if (!rest.empty() || std::is_same_v<T, Stmt>) smaller |= becomes(list, std::move(rest));
    }
    return smaller;
  }

  bool in(Block& block) {
    bool smaller = fewer(block, true);
    for (Stmt& s : block) {
      for (Expr& e : s.in) smaller |= in(e);
      for (Block& inner : s.blocks) smaller |= in(inner);
    }
    return smaller;
  }

  // By a constant, or by a part of it of the same type.
  bool in(Expr& e) {
    if (e.in.empty() && (e.kind == Expr::Kind::kConstant || e.type.size == Size::kLong)) return false;
    if (e.type.dtype != bool_ && e.type.size != Size::kLong)
      if (becomes(e, Expr{.kind = Expr::Kind::kConstant, .type = e.type, .number = 1})) return true;
    for (std::size_t i = 0; i < e.in.size() && e.kind != Expr::Kind::kExact; ++i)  // what is whole stays so
      if (Expr part = e.in[i]; part.type == e.type && becomes(e, std::move(part))) return true;
    bool smaller = false;
    for (Expr& part : e.in) smaller |= in(part);
    return smaller;
  }

  Program program_;
};

}  // namespace

Program shrunk(Program program) {
  Program smaller = Shrinker(std::move(program))();
  number_lines(smaller);
  return smaller;
}

}  // namespace weft::fuzz
