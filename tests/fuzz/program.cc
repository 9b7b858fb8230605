#include "tests/fuzz/program.h"

namespace weft::fuzz {
namespace {

struct Printer {
  const Program& program;
  std::string text{};
  int depth = 1;

  std::string handle(int which) const {
    if (which < kAlias) return kSlots[static_cast<std::size_t>(which)].name;
    if (which == kAlias) return "alias";
    return (which < kInner ? "passed" : "given") + std::to_string(which - (which < kInner ? kPassed : kInner));
  }

  std::string operator()(const Expr& e) const {
    static constexpr const char* kNames[] = {
        "", "", "", "", "negative", "abs", "tanh", "square", "sigmoid", "add", "subtract", "multiply", "divide", "maximum", "minimum",
        "floordiv", "floormod", "sum", "mean", "max", "element", "cumsum", "turned", "matmul", "gather", "cast", "clip", "where", "less",
        "equal", "gradient", "draw", "call", "cond", "fold", "scan", "map", "repeat", "exact"};
    switch (e.kind) {
      case Expr::Kind::kConstant: {
        std::string number = std::to_string(e.number);
        return number.substr(0, e.type.dtype == f32 ? number.size() : number.find('.'));
      }
      case Expr::Kind::kArgument: return kArguments[static_cast<std::size_t>(e.which)].name;
      case Expr::Kind::kLocal: return "t" + std::to_string(e.which);
      case Expr::Kind::kRead: return handle(e.which);
      default: break;
    }
    std::string list;
    switch (e.kind) {
      case Expr::Kind::kCall:
        list = "g" + std::to_string(e.which) + ", " + handle(e.other / kHandles) + ", " + handle(e.other % kHandles);
        break;
      case Expr::Kind::kGradient: list = handle(e.which); break;
      case Expr::Kind::kElement: list = std::to_string(e.which); break;
      case Expr::Kind::kFold:
      case Expr::Kind::kScan: list = "t" + std::to_string(e.which) + " t" + std::to_string(e.which + 1); break;
      case Expr::Kind::kRepeat:
      case Expr::Kind::kMap: list = "t" + std::to_string(e.which); break;
      default: break;
    }
    for (const Expr& in : e.in) list += (list.empty() ? "" : ", ") + (*this)(in);
    return std::string(kNames[static_cast<int>(e.kind)]) + "@" + std::to_string(e.line) + "(" + list + ")";
  }

  void line(const std::string& words) { text += std::string(static_cast<std::size_t>(depth) * 2, ' ') + words + "\n"; }
  void block(const std::string& head, const Block& statements) {
    line(head + " {");
    ++depth;
    for (const Stmt& s : statements) (*this)(s);
    --depth;
    line("}");
  }

  void operator()(const Stmt& s) {
    std::string list;
    for (const Expr& in : s.in) list += (list.empty() ? "" : ", ") + (*this)(in);
    const std::string v = handle(s.which), at = "@" + std::to_string(s.line);
    switch (s.kind) {
      case Stmt::Kind::kLet: return line("t" + std::to_string(s.which) + " = " + list);
      case Stmt::Kind::kAssign: return line(v + ".assign" + at + "(" + list + ")");
      case Stmt::Kind::kAssignAdd: return line(v + ".assign_add" + at + "(" + list + ")");
      case Stmt::Kind::kAssignSub: return line(v + ".assign_sub" + at + "(" + list + ")");
      case Stmt::Kind::kSliceAssign: return line(v + "[" + std::to_string(s.other) + "].assign" + at + "(" + list + ")");
      case Stmt::Kind::kSliceAdd: return line(v + "(range(1, 3)).assign_add" + at + "(" + list + ")");
      case Stmt::Kind::kScatterAdd: return line(v + ".scatter_add" + at + "(" + list + ")");
      case Stmt::Kind::kScatterUpdate: return line(v + ".scatter_update" + at + "(" + list + ")");
      case Stmt::Kind::kSwap: return line("swap" + at + "(" + v + ", " + handle(s.other) + ")");
      case Stmt::Kind::kCheck: return line("check" + at + "(" + list + ")");
      case Stmt::Kind::kIf: block("if" + at + " (" + list + ")", s.blocks[0]); return block("else", s.blocks[1]);
      case Stmt::Kind::kSwitch:
        line("switch" + at + " (" + list + ")");
        for (std::size_t i = 0; i < s.blocks.size(); ++i) block("case " + std::to_string(i), s.blocks[i]);
        return;
      case Stmt::Kind::kWhile: return block("repeat" + at + " clip(" + list + ", 0, 3) times", s.blocks[0]);
      case Stmt::Kind::kLoop:
        line("t" + std::to_string(s.which) + " = " + (*this)(s.in[1]));
        block("repeat" + at + " clip(" + (*this)(s.in[0]) + ", 0, 3) times", s.blocks[0]);
        return line("each time t" + std::to_string(s.which) + " = " + (*this)(s.in[2]));
      case Stmt::Kind::kBlock: return block("atomically" + at, s.blocks[0]);
      case Stmt::Kind::kUndone: return block("undone" + at, s.blocks[0]);
    }
  }
};

struct Numberer {
  int next = 1;
  void operator()(Expr& e) {
    e.line = next++;
    for (Expr& in : e.in) (*this)(in);
  }
  void operator()(Block& block) {
    for (Stmt& s : block) {
      s.line = next++;
      for (Expr& e : s.in) (*this)(e);
      for (Block& inner : s.blocks) (*this)(inner);
    }
  }
};

}  // namespace

Type Program::type_of(int handle) const {
  if (handle >= kPassed) return kNumber;
  return kSlots[static_cast<std::size_t>(handle == kAlias ? alias : handle)].type;
}

std::string Program::str() const {
  Printer print{*this};
  print.text = "program " + std::to_string(seed) + ", alias = " + kSlots[static_cast<std::size_t>(alias)].name;
  print.text += form == Form::kTree ? ", called with Variables" : ", called with Tensors";
  print.text += sizes == Sizes::kKnown ? "\n" : sizes == Sizes::kReduced ? ", reduce_retracing\n" : ", u declared f32[?]\n";
  for (std::size_t i = 0; i < functions.size(); ++i) {
    print.block("g" + std::to_string(i) + "(t0, given0, given1)", functions[i].body);
    print.line("returns " + print(functions[i].result));
  }
  print.block("body", body);
  for (const Expr& e : results) print.line("returns " + print(e));
  for (const Call& call : calls) {
    std::string text = "call: values " + std::to_string(call.values) + ", i = " + std::to_string(call.index);
    text += ", u f32[" + std::to_string(call.length) + "]";
    text += ", passed0 = f" + std::to_string(call.passed[0]) + ", passed1 = f" + std::to_string(call.passed[1]);
    if (call.written_before >= 0) text += std::string(", after assigning ") + kSlots[static_cast<std::size_t>(call.written_before)].name;
    print.line(text);
  }
  return print.text;
}

void number_lines(Program& program) {
  Numberer number;
  for (Inner& inner : program.functions) number(inner.body), number(inner.result);
  number(program.body);
  for (Expr& e : program.results) number(e);
}

const char* name_of(Feature feature) {
  static constexpr const char* kNames[kFeatures] = {
      "assigns", "reads", "branches", "loops", "throws", "throws after a write", "nested calls", "aliases", "slices", "scatters",
      "gradients", "draws", "inner blocks", "undone blocks", "swaps", "retraces",
      "gradients of branches", "gradients of loops"};
  return kNames[static_cast<std::size_t>(feature)];
}

}  // namespace weft::fuzz
