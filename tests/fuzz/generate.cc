#include "tests/fuzz/generate.h"

#include <algorithm>
#include <initializer_list>

namespace weft::fuzz {
namespace {

using EK = Expr::Kind;
using SK = Stmt::Kind;

// What a place in the program can use. Gradients go through branches and loops only where all sums are exact (Slope::kWhole).
struct Scope {
  std::vector<Type> locals = {};
  std::vector<int> handles = {};
  bool inner = false;  // an inner function: it has none of the program's arguments, and calls nobody
  bool straight = false;  // in the target of a gradient that is seen bit for bit: no branches, no loops
  int source = -1;        // of a gradient of whole numbers: the handle
  int loops = 0;  // around it: the next counter
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) { program_.seed = seed; }

  Program operator()() {
    program_.form = random_.chance(50) ? Program::Form::kTree : Program::Form::kTensors;
    program_.sizes = static_cast<Program::Sizes>(random_.below(3));
    Scope scope;
    for (int slot = 0; slot < kAlias; ++slot)
      if (random_.chance(slot < kScalarSlots ? 65 : 40)) scope.handles.push_back(slot);
    if (scope.handles.empty()) scope.handles.push_back(0);
    program_.alias = pick(scope.handles);
    straight_functions_ = random_.chance(50);
    if (random_.chance(40)) scope.handles.push_back(kAlias);
    for (int functions = random_.chance(45) ? 1 + random_.below(2) : 0; functions > 0; --functions) add_function(scope);
    if (program_.form == Program::Form::kTree) scope.handles.insert(scope.handles.end(), {kPassed, kPassed + 1});

    program_.body = block(scope, 2 + random_.below(5), 2);
    if (random_.chance(45)) {
      add_write(scope);
      program_.body.push_back(fault(scope));
      if (random_.chance(50)) add_write(scope);
    }
    program_.results.push_back(expr(kNumber, 2, scope));
    if (program_.form == Program::Form::kTree)
      for (int more = random_.below(3); more > 0; --more) program_.results.push_back(expr(any_type(), 2, scope));
    for (int calls = 3; calls > 0; --calls) add_call();
    number_lines(program_);
    return std::move(program_);
  }

 private:
  template <class T>
  T pick(const std::vector<T>& list) { return list[static_cast<std::size_t>(random_.below(static_cast<int>(list.size())))]; }
  EK pick(std::initializer_list<EK> list) { return list.begin()[random_.below(static_cast<int>(list.size()))]; }
  Type any_type() {
    const int at = random_.below(100);
    return at < 40 ? kNumber : at < 65 ? kVector : at < 80 ? kMatrix : at < 95 ? kInteger : kIntegers;
  }
  std::vector<int> handles_of(Type type, const Scope& scope) const {
    std::vector<int> list;
    for (const int handle : scope.handles)
      if (program_.type_of(handle) == type) list.push_back(handle);
    return list;
  }

  // --- calls ---

  void add_call() {
    Call call{.values = random_.bits() >> 40};
    call.index = random_.below(6);  // 4 and 5 are no places of a vector
    call.length = 3 + random_.below(3) * random_.below(100);
    for (int& slot : call.passed) slot = random_.below(kScalarSlots);
    if (!program_.calls.empty() && random_.chance(50)) call.passed = program_.calls.back().passed;
    if (random_.chance(30)) call.written_before = random_.below(kAlias);
    program_.calls.push_back(call);
  }

  void add_function(const Scope& outside) {
    Scope scope{.locals = {kNumber}, .handles = outside.handles, .inner = true, .straight = straight_functions_, .loops = kInnerCounter};
    scope.handles.insert(scope.handles.end(), {kInner, kInner + 1});
    Inner made;
    made.body = block(scope, 1 + random_.below(3), 1);
    made.result = expr(kNumber, 1, scope);
    program_.functions.push_back(std::move(made));
  }

  // --- expressions ---

  static Expr constant(Type type, double number) { return {.kind = EK::kConstant, .type = type, .number = number}; }
  // In braces, so that what is drawn for its parts is drawn in their order.
  struct Made {
    EK kind;
    Type type;
    std::vector<Expr> in;
    operator Expr() { return {.kind = kind, .type = type, .in = std::move(in)}; }
  };

  Expr leaf(Type type, const Scope& scope) {
    std::vector<Expr> list;
    for (const int handle : handles_of(type, scope)) {
      list.push_back({.kind = EK::kRead, .type = type, .which = handle});
      list.push_back(list.back());
    }
    for (std::size_t i = 0; i < scope.locals.size(); ++i)
      if (scope.locals[i] == type) list.push_back({.kind = EK::kLocal, .type = type, .which = static_cast<int>(i)});
    for (std::size_t i = 0; !scope.inner && i < kArguments.size(); ++i)
      if (kArguments[i].type == type) list.push_back({.kind = EK::kArgument, .type = type, .which = static_cast<int>(i)});
    if (list.empty() || (type.size != Size::kLong && random_.chance(15)))
      return constant(type, type.dtype == i32 ? random_.below(7) - 3 : random_.real());
    return pick(list);
  }

  Expr binary(EK kind, Type type, int depth, const Scope& scope) {
    const Type one{type.dtype, Size::kScalar};
    const int spread = random_.below(4);  // a number beside a larger value, on either side
    if (type.size == Size::kLong && spread > 1) return Made{kind, type, {expr(type, depth, scope), expr(one, depth, scope)}};
    Expr a = expr(spread == 2 ? one : type, depth, scope), b = expr(spread == 3 ? one : type, depth, scope);
    return Made{kind, type, {std::move(a), std::move(b)}};
  }

  Expr truth(int depth, const Scope& scope) {
    const Type type = random_.chance(50) ? kNumber : kInteger;
    Expr a = expr(type, depth, scope), b = random_.chance(50) ? constant(type, 1) : expr(type, depth, scope);
    return Made{type == kInteger && random_.chance(30) ? EK::kEqual : EK::kLess, kTruth, {std::move(a), std::move(b)}};
  }

  // A place in a vector, which is seldom out of range.
  Expr place(Type type, int depth, const Scope& scope) {
    if (random_.chance(12)) return leaf(type, scope);
    return Made{EK::kFloorMod, type, {expr(type, depth, scope), constant({i32, Size::kScalar}, 4)}};
  }

  Expr expr(Type type, int depth, const Scope& scope) {
    if (depth <= 0 || random_.chance(20)) return leaf(type, scope);
    --depth;
    const int at = random_.below(100);
    if (type.size == Size::kLong) {
      if (at < 40) return leaf(type, scope);
      if (at < 70) return Made{pick({EK::kNegative, EK::kTanh, EK::kSquare, EK::kSigmoid}), type, {expr(type, depth, scope)}};
      return binary(pick({EK::kAdd, EK::kSubtract, EK::kMultiply, EK::kMaximum}), type, depth, scope);
    }
    const bool whole = type.dtype == i32;
    if (at < 34) {
      const EK kind = pick({EK::kAdd, EK::kSubtract, EK::kMultiply, EK::kMaximum, EK::kMinimum, whole ? EK::kAdd : EK::kDivide});
      return binary(kind, type, depth, scope);
    }
    if (at < 46) {
      const EK kind = pick({EK::kNegative, EK::kAbs, EK::kSquare, whole ? EK::kAbs : EK::kTanh, whole ? EK::kNegative : EK::kSigmoid});
      return Made{kind, type, {expr(type, depth, scope)}};
    }
    if (at < 50) return Made{EK::kWhere, type, {truth(depth, scope), expr(type, depth, scope), expr(type, depth, scope)}};
    if (at < 55 && !scope.straight) return Made{EK::kCond, type, {truth(depth, scope), expr(type, depth, scope), expr(type, depth, scope)}};
    return whole ? integer(type, depth, scope) : real(type, depth, scope);
  }

  Expr integer(Type type, int depth, const Scope& scope) {
    switch (random_.below(type == kInteger ? 6 : 3)) {
      case 0: {
        Expr by = random_.chance(15) ? leaf(type, scope) : constant(kInteger, 1 + random_.below(3));
        return Made{random_.chance(50) ? EK::kFloorDiv : EK::kFloorMod, type, {expr(type, depth, scope), std::move(by)}};
      }
      case 1: return Made{EK::kCast, type, {expr({f32, type.size}, depth, scope)}};
      case 2: return Made{EK::kClip, type, {expr(type, depth, scope), constant(kInteger, -2), constant(kInteger, 3)}};
      case 3: return Made{EK::kGather, type, {expr(kIntegers, depth, scope), place(type, depth, scope)}};
      case 4: return Made{pick({EK::kSum, EK::kMax}), type, {expr(kIntegers, depth, scope)}};
      default: return {.kind = EK::kElement, .type = type, .which = random_.below(4), .in = {expr(kIntegers, depth, scope)}};
    }
  }

  Expr real(Type type, int depth, const Scope& scope) {
    const std::vector<int> sources = handles_of(type, scope);
    const int at = random_.below(100);
    if (at < 22 && !sources.empty()) {
      if (!scope.straight && random_.chance(kWholeGradients)) {
        Scope taped = scope;
        taped.source = pick(sources);
        return {.kind = EK::kGradient, .type = type, .which = taped.source, .other = Slope::kWhole, .in = {parts(depth + 1, taped)}};
      }
      Scope taped = scope;
      taped.straight = true;
      Expr made{.kind = EK::kGradient, .type = type, .which = pick(sources), .in = {expr(type, depth + 1, taped)}};
      made.other = calls(made.in[0]) ? Slope::kUnsigned : Slope::kSigned;
      return made;
    }
    if (at < 32) return {.kind = EK::kDraw, .type = type};
    if (at < 38) return Made{EK::kClip, type, {expr(type, depth, scope), constant(kNumber, -1), constant(kNumber, 1)}};
    if (at < 44 && type != kMatrix) return Made{EK::kCast, type, {expr({i32, type.size}, depth, scope)}};
    if (type == kMatrix) {
      if (at < 75) return Made{EK::kMatmul, type, {expr(type, depth, scope), expr(type, depth, scope)}};
      return Made{EK::kTurned, type, {expr(type, depth, scope)}};
    }
    if (type == kVector) {
      if (at < 60) return Made{EK::kCumsum, type, {expr(type, depth, scope)}};
      if (at < 80 || scope.straight) return Made{EK::kGather, type, {expr(type, depth, scope), place(kIntegers, depth, scope)}};
      return with_locals(at < 90 ? EK::kScan : EK::kMap, type, depth, scope);
    }
    if (at < 62 && !program_.functions.empty() && !scope.inner && (!scope.straight || straight_functions_)) return call(depth, scope);
    if (at < 72) {
      const Type from = scope.inner || random_.chance(50) ? kVector : random_.chance(60) ? kLong : kMatrix;
      return Made{pick({EK::kSum, EK::kMean, EK::kMax}), type, {expr(from, depth, scope)}};
    }
    if (at < 80) return {.kind = EK::kElement, .type = type, .which = random_.below(4), .in = {expr(kVector, depth, scope)}};
    if (at < 90 || scope.straight) return Made{EK::kGather, type, {expr(kVector, depth, scope), place(kInteger, depth, scope)}};
    return with_locals(EK::kFold, type, depth, scope);
  }

  // --- whole numbers ---

  Expr whole_leaf(Type type, const Scope& scope) {
    if (random_.chance(15)) return constant(type, random_.below(5) - 2);
    if (program_.type_of(scope.source) == type && random_.chance(60))
      return Made{EK::kExact, type, {{.kind = EK::kRead, .type = type, .which = scope.source}}};
    return Made{EK::kExact, type, {leaf(type, scope)}};
  }

  Expr whole_truth(int depth, const Scope& scope) {
    Expr a = whole(kNumber, depth, scope), b = random_.chance(50) ? constant(kNumber, 1) : whole(kNumber, depth, scope);
    return Made{EK::kLess, kTruth, {std::move(a), std::move(b)}};
  }

  // A branch or a loop.
  Expr parts(int depth, const Scope& scope) {
    const int at = random_.below(100);
    if (at < 45) {
      const Type type = random_.chance(60) ? kNumber : kVector;
      return Made{EK::kCond, type, {whole_truth(depth - 1, scope), whole(type, depth, scope), whole(type, depth, scope)}};
    }
    Scope inside = scope;
    const EK kind = at < 60 ? EK::kFold : at < 70 ? EK::kScan : at < 80 ? EK::kMap : EK::kRepeat;
    const Type type = kind == EK::kScan || kind == EK::kMap ? kVector : kNumber;
    Expr made{.kind = kind, .type = type, .which = static_cast<int>(scope.locals.size())};
    if (kind == EK::kRepeat) made.in.push_back(expr(kInteger, 1, straight(scope)));
    if (kind != EK::kMap) made.in.push_back(whole(kNumber, depth - 1, scope)), inside.locals.push_back(kNumber);
    if (kind != EK::kRepeat) made.in.push_back(whole(kVector, depth - 1, scope)), inside.locals.push_back(kNumber);
    made.in.push_back(whole(kNumber, depth, inside));
    return made;
  }
  static Scope straight(Scope scope) {
    scope.straight = true;
    return scope;
  }

  Expr whole(Type type, int depth, const Scope& scope) {
    if (depth <= 0 || random_.chance(20)) return whole_leaf(type, scope);
    --depth;
    const int at = random_.below(100);
    if (at < 15 && type != kMatrix)
      if (Expr made = parts(depth, scope); made.type == type) return made;
    if (at < 55) {
      const EK kind = pick({EK::kAdd, EK::kSubtract, EK::kMultiply, EK::kMaximum, EK::kMinimum});
      return Made{kind, type, {whole(type, depth, scope), whole(type, depth, scope)}};
    }
    if (at < 70 || type == kMatrix) return Made{pick({EK::kNegative, EK::kAbs, EK::kSquare}), type, {whole(type, depth, scope)}};
    if (type == kVector) return Made{EK::kCumsum, type, {whole(type, depth, scope)}};
    if (at < 90) return Made{EK::kSum, type, {whole(random_.chance(60) ? kVector : kMatrix, depth, scope)}};
    return {.kind = EK::kElement, .type = type, .which = random_.below(4), .in = {whole(kVector, depth, scope)}};
  }

  static bool calls(const Expr& e) { return e.kind == EK::kCall || std::any_of(e.in.begin(), e.in.end(), calls); }

  // scan, fold: in = {first, elements, next}, where the locals `which` and the one behind it are the sum so far and the element.
  // map: in = {elements, result}, and there is the element only.
  Expr with_locals(EK kind, Type type, int depth, const Scope& scope) {
    Scope inside = scope;
    Expr made{.kind = kind, .type = type, .which = static_cast<int>(scope.locals.size())};
    if (kind != EK::kMap) made.in.push_back(expr(kNumber, depth, scope)), inside.locals.push_back(kNumber);
    made.in.push_back(expr(kVector, depth, scope));
    inside.locals.push_back(kNumber);
    made.in.push_back(expr(kNumber, depth + 1, inside));
    return made;
  }

  Expr call(int depth, const Scope& scope) {
    const std::vector<int> handles = handles_of(kNumber, scope);
    if (handles.empty()) return leaf(kNumber, scope);
    const int first = pick(handles), second = pick(handles);
    const int which = random_.below(static_cast<int>(program_.functions.size()));
    return {.kind = EK::kCall, .type = kNumber, .which = which, .other = first * kHandles + second, .in = {expr(kNumber, depth, scope)}};
  }

  // --- statements ---

  Block block(Scope& scope, int count, int depth) {
    Block made;
    for (; count > 0; --count) made.push_back(stmt(scope, depth));
    return made;
  }
  Block inner_block(Scope scope, int depth) { return block(scope, 1 + random_.below(3), depth - 1); }

  void add_write(Scope& scope) { program_.body.push_back(write(scope, 1)); }

  Stmt write(Scope& scope, int depth) {
    const int handle = pick(scope.handles);
    const Type type = program_.type_of(handle);
    const int at = random_.below(100);
    if (type.size == Size::kVector && at < 35) {
      Expr value = expr({type.dtype, Size::kScalar}, depth, scope);
      return {.kind = at < 20 ? SK::kSliceAssign : SK::kSliceAdd, .which = handle, .other = random_.below(4), .in = {std::move(value)}};
    }
    if (type.size == Size::kVector && at < 60) {
      const SK kind = at < 50 ? SK::kScatterAdd : SK::kScatterUpdate;
      return {.kind = kind, .which = handle, .in = {place(kIntegers, depth, scope), expr(type, depth, scope)}};
    }
    const SK kind = at < 70 ? SK::kAssign : at < 85 ? SK::kAssignAdd : SK::kAssignSub;
    return {.kind = kind, .which = handle, .in = {expr(type, depth + 1, scope)}};
  }

  // Fails for some values of the argument `i`.
  Stmt fault(Scope& scope) {
    const Expr i{.kind = EK::kArgument, .type = kInteger, .which = 3};
    const Expr number = constant(kInteger, random_.below(4));
    if (random_.chance(50)) return let(Made{EK::kGather, kNumber, {leaf(kVector, scope), Made{EK::kAdd, kInteger, {i, number}}}}, scope);
    return let(Made{EK::kFloorDiv, kInteger, {leaf(kInteger, scope), Made{EK::kSubtract, kInteger, {i, number}}}}, scope);
  }

  static Stmt let(Expr value, Scope& scope) {
    scope.locals.push_back(value.type);
    return {.kind = SK::kLet, .which = static_cast<int>(scope.locals.size()) - 1, .in = {std::move(value)}};
  }

  Stmt stmt(Scope& scope, int depth) {
    const int at = random_.below(100);
    const bool parts = depth > 0 && !scope.straight;
    if (at < 20) return let(expr(any_type(), 3, scope), scope);
    if (at < 28)
      if (const std::vector<int> list = handles_of(program_.type_of(pick(scope.handles)), scope); list.size() > 1)
        return {.kind = SK::kSwap, .which = pick(list), .other = pick(list)};
    if (at < 33 && depth > 0) return {.kind = SK::kUndone, .blocks = {inner_block(scope, depth)}};
    if (at < 38 && depth > 0) return {.kind = SK::kBlock, .blocks = {inner_block(scope, depth)}};
    if (at < 46 && parts)
      return {.kind = SK::kIf, .in = {truth(1, scope)}, .blocks = {inner_block(scope, depth), inner_block(scope, depth)}};
    if (at < 49 && parts)
      return {.kind = SK::kSwitch, .in = {Made{EK::kFloorMod, kInteger, {expr(kInteger, 1, scope), constant(kInteger, 3)}}},
              .blocks = {inner_block(scope, depth), inner_block(scope, depth), inner_block(scope, depth)}};
    if (at < 53 && parts)
      return {.kind = SK::kWhile, .other = scope.loops, .in = {expr(kInteger, 1, scope)}, .blocks = {loop_body(scope, depth)}};
    if (at < 58 && parts) return loop(scope, depth);
    if (at >= 58 && at < 61) return {.kind = SK::kCheck, .in = {truth(1, scope)}};
    return write(scope, 2);
  }

  Block loop_body(Scope scope, int depth) {
    ++scope.loops;
    return block(scope, 1 + random_.below(2), depth - 1);
  }

  Stmt loop(Scope& scope, int depth) {
    const Type type = random_.chance(70) ? kNumber : kVector;
    Stmt made{.kind = SK::kLoop, .which = static_cast<int>(scope.locals.size()), .in = {expr(kInteger, 1, scope), expr(type, 1, scope)}};
    scope.locals.push_back(type);
    Scope inside = scope;
    ++inside.loops;
    made.blocks.push_back(block(inside, random_.below(3), depth - 1));
    made.in.push_back(expr(type, 2, inside));
    return made;
  }

  static constexpr int kWholeGradients = 50;  // of all gradients, in percent
  Random random_;
  Program program_;
  bool straight_functions_ = false;
};

}  // namespace

Program generate(std::uint64_t seed) { return Generator(seed)(); }

}  // namespace weft::fuzz
