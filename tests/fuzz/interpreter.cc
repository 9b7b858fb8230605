#include "tests/fuzz/interpreter.h"

#include <utility>

namespace weft::fuzz {
namespace {

using EK = Expr::Kind;
using SK = Stmt::Kind;

struct Undo {};  // leaves a block that is to be undone

Location at(int line) { return Location::here("program", line, "program"); }

}  // namespace

Shape shape_of(Type type, int length) {
  switch (type.size) {
    case Size::kVector: return {4};
    case Size::kMatrix: return {2, 3};
    case Size::kLong: return {length};
    default: return {};
  }
}

Interpreter::Interpreter(const Program& program, Mode mode) : program_(program), mode_(mode) {
  for (int i = 0; i < kCounters; ++i) counters_.emplace_back(0, VariableOptions{.name = "counter" + std::to_string(i)});
  for (const Inner& inner : program.functions)
    functions_.emplace_back([this, &inner](Tensor x, Variable first, Variable second) {
      return inner_body(inner, std::move(x), first, second);
    }, FunctionOptions{.warn_of_retraces = false, .run_eagerly = mode == Mode::kUntraced});
}

void Interpreter::begin_call() {
  used_.fill(0);
  written_.reset();
  writes_ = 0;
}

std::vector<Tensor> Interpreter::run(std::vector<Tensor> arguments) {
  arguments_ = std::move(arguments);
  locals_.clear();
  run(program_.body);
  std::vector<Tensor> results;
  for (const Expr& e : program_.results) results.push_back(eval(e));
  return results;
}

Variable& Interpreter::use(int handle, bool writes) {
  const auto slot = static_cast<std::size_t>(slots_[static_cast<std::size_t>(handle)]);
  used_[slot] |= 1 << handle;
  if (writes) written_.set(slot), ++writes_;
  see(writes ? Feature::kAssigns : Feature::kReads);
  if (written_[slot] && (used_[slot] & (used_[slot] - 1)) != 0) see(Feature::kAliases);
  return variable(handle);
}

// --- inner functions ---

Tensor Interpreter::call(const Expr& e, Tensor x) {
  see(Feature::kNestedCalls);
  const int first = e.other / kHandles, second = e.other % kHandles;
  const auto which = static_cast<std::size_t>(e.which);
  slots_[kInner] = slots_[static_cast<std::size_t>(first)], slots_[kInner + 1] = slots_[static_cast<std::size_t>(second)];
  if (mode_ != Mode::kEager) return functions_[which](std::move(x), variable(first), variable(second), at(e.line));
  return atomically([&] { return inner_body(program_.functions[which], x, variable(first), variable(second)); }, {}, at(e.line));
}

Tensor Interpreter::inner_body(const Inner& inner, Tensor x, Variable& first, Variable& second) {
  struct Restore {
    Interpreter& all;
    std::vector<Tensor> locals;
    Variable *first = all.handles_[kInner], *second = all.handles_[kInner + 1];
    ~Restore() { all.locals_ = std::move(locals), all.handles_[kInner] = first, all.handles_[kInner + 1] = second; }
  } restore{*this, std::move(locals_)};
  handles_[kInner] = &first, handles_[kInner + 1] = &second;
  locals_ = {std::move(x)};
  run(inner.body);
  return eval(inner.result);
}

// --- expressions ---

Tensor Interpreter::eval(const Expr& e) {
  const Location line = at(e.line);
  const auto which = static_cast<std::size_t>(e.which);
  switch (e.kind) {
    case EK::kConstant: {
      Tensor number = cast(Tensor(e.number), e.type.dtype, line);
      return e.type.size == Size::kScalar ? number : fill(shape_of(e.type), std::move(number), line);
    }
    case EK::kArgument: return arguments_[which];
    case EK::kLocal: return locals_.at(which);
    case EK::kRead: return use(e.which, false).value(line);
    case EK::kDraw: see(Feature::kDraws); return generator_.uniform(shape_of(e.type), {}, line);
    case EK::kGradient: return gradient(e);
    case EK::kCond: {
      see(Feature::kBranches);
      Tensor condition = eval(e.in[0]);
      return cond(std::move(condition), [&] { return eval(e.in[1]); }, [&] { return eval(e.in[2]); }, line);
    }
    case EK::kFold:
    case EK::kScan: {
      see(Feature::kLoops);
      Tensor first = eval(e.in[0]), elements = eval(e.in[1]);
      const auto next = [&](Tensor sum, Tensor x) { return with({sum, x}, [&] { return eval(e.in[2]); }); };
      return e.kind == EK::kFold ? fold(next, first, elements, {}, line) : scan(next, first, elements, {}, line);
    }
    case EK::kRepeat: {
      see(Feature::kLoops);
      const Tensor turns = clip_by_value(eval(e.in[0]), 0, 3, line);
      const auto more = [&](Tensor turn, Tensor) { return less(turn, turns, line); };
      const auto next = [&](Tensor turn, Tensor sum) {
        return with({sum}, [&] { return std::tuple{add(turn, 1, line), eval(e.in[2])}; });
      };
      return std::get<1>(while_loop(more, next, std::tuple{Tensor(0), eval(e.in[1])}, line));
    }
    case EK::kMap: {
      see(Feature::kLoops);
      Tensor elements = eval(e.in[0]);
      return map([&](Tensor x) { return with({x}, [&] { return eval(e.in[1]); }); }, std::move(elements), line);
    }
    default: break;
  }
  std::vector<Tensor> in;
  for (const Expr& child : e.in) in.push_back(eval(child));
  return apply(e, in);
}

Tensor Interpreter::gradient(const Expr& e) {
  const Location line = at(e.line);
  see(Feature::kGradients);
  GradientTape tape({}, line);
  const bool before = std::exchange(taped_, true);
  const Tensor target = eval(e.in[0]);
  taped_ = before;
  Tensor slope = tape.gradient(target, use(e.which, false), {.unconnected = Unconnected::kZeros}, line);
  if (e.other == Slope::kSigned) return slope;
  // The tape has zeros to add for what a call writes and nobody reads, and for turns and branches that contribute nothing, where eagerly there
  // is nothing: that can change the sign of a zero, and which of two NaNs stays.
  constexpr float kExactBelow = 1 << 20;
  const Tensor kept = e.other == Slope::kUnsigned ? equal(slope, slope, line) : less(abs(slope, line), kExactBelow, line);
  return where(kept, add(slope, 0.f, line), 0.f, line);
}

Tensor Interpreter::apply(const Expr& e, std::vector<Tensor>& in) {
  const Location line = at(e.line);
  switch (e.kind) {
    case EK::kNegative: return negative(in[0], line);
    case EK::kAbs: return abs(in[0], line);
    case EK::kTanh: return tanh(in[0], line);
    case EK::kSquare: return square(std::move(in[0]), line);
    case EK::kSigmoid: return sigmoid(std::move(in[0]), line);
    case EK::kAdd: return add(std::move(in[0]), std::move(in[1]), line);
    case EK::kSubtract: return subtract(std::move(in[0]), std::move(in[1]), line);
    case EK::kMultiply: return multiply(in[0], in[1], line);
    case EK::kDivide: return divide(in[0], in[1], line);
    case EK::kMaximum: return maximum(in[0], in[1], line);
    case EK::kMinimum: return minimum(in[0], in[1], line);
    case EK::kFloorDiv: return floordiv(in[0], in[1], line);
    case EK::kFloorMod: return floormod(in[0], in[1], line);
    case EK::kSum: return sum(in[0], {}, line);
    case EK::kMean: return mean(in[0], {}, line);
    case EK::kMax: return max(in[0], {}, line);
    case EK::kElement: return in[0][Index(e.which, line)];
    case EK::kCumsum: return cumsum(in[0], {}, line);
    case EK::kTurned: return transpose(reshape(in[0], {3, 2}, line), {}, line);
    case EK::kMatmul: return matmul(matmul(in[0], in[1], {.transpose_b = true}, line), in[0], {}, line);
    case EK::kGather: return gather(in[0], in[1], {}, line);
    case EK::kCast: return cast(in[0], e.type.dtype, line);
    case EK::kClip: return clip_by_value(in[0], in[1], in[2], line);
    case EK::kWhere: return where(in[0], in[1], in[2], line);
    case EK::kLess: return less(in[0], in[1], line);
    case EK::kEqual: return equal(in[0], in[1], line);
    case EK::kCall: return call(e, in[0]);
    case EK::kExact: {
      const Tensor x = where(less(abs(in[0], line), 100.f, line), in[0], 1.f, line);
      const Tensor whole = clip_by_value(round(stop_gradient(x, line), line), -2.f, 2.f, line);
      return add(whole, subtract(x, stop_gradient(x, line), line), line);
    }
    default: throw InternalError("the program has an expression that nobody runs");
  }
}

// --- statements ---

void Interpreter::run(const Stmt& s) {
  const Location line = at(s.line);
  std::vector<Tensor> in;
  if (s.kind != SK::kLoop)
    for (const Expr& e : s.in) in.push_back(eval(e));
  switch (s.kind) {
    case SK::kLet: locals_.push_back(std::move(in[0])); return;
    case SK::kCheck: check(in[0], "the program does not hold.", line); return;
    case SK::kBlock:
      see(Feature::kInnerBlocks);
      return atomically(part(s.blocks[0]), {}, line);
    case SK::kUndone:
      see(Feature::kUndoneBlocks);
      try {
        atomically([&] {
          part(s.blocks[0])();
          throw Undo{};
        }, {}, line);
      } catch (const Undo&) {
      }
      return;
    case SK::kIf:
      see(Feature::kBranches);
      return cond(in[0], part(s.blocks[0]), part(s.blocks[1]), line);
    case SK::kSwitch:
      see(Feature::kBranches);
      return switch_case({in[0], line}, part(s.blocks[0]), part(s.blocks[1]), part(s.blocks[2]));
    case SK::kWhile: {
      see(Feature::kLoops);
      Variable& counter = counters_[static_cast<std::size_t>(s.other)];
      const Tensor turns = clip_by_value(in[0], 0, 3, line);
      counter.assign(0, line);
      return while_loop([&] { return less(counter.value(line), turns, line); },
                        [&] {
                          part(s.blocks[0])();
                          counter.assign_add(1, line);
                        }, line);
    }
    case SK::kLoop: return run_loop(s);
    default: return write(s, in);
  }
}

void Interpreter::run_loop(const Stmt& s) {
  see(Feature::kLoops);
  const Location line = at(s.line);
  const Tensor turns = clip_by_value(eval(s.in[0]), 0, 3, line);
  Tensor first = eval(s.in[1]);
  const auto more = [&](Tensor turn, Tensor) { return less(turn, turns, line); };
  const auto next = [&](Tensor turn, Tensor sum) {
    return with({sum}, [&] {
      run(s.blocks[0]);
      Tensor fresh = eval(s.in[2]);
      return std::tuple{add(turn, 1, line), std::move(fresh)};
    });
  };
  locals_.push_back(std::get<1>(while_loop(more, next, std::tuple{Tensor(0), std::move(first)}, line)));
}

void Interpreter::write(const Stmt& s, std::vector<Tensor>& in) {
  const Location line = at(s.line);
  Variable& v = use(s.which, true);
  switch (s.kind) {
    case SK::kAssign: v.assign(std::move(in[0]), line); return;
    case SK::kAssignAdd: v.assign_add(in[0], line); return;
    case SK::kAssignSub: v.assign_sub(in[0], line); return;
    case SK::kSliceAssign: see(Feature::kSlices); v[Index(s.other, line)].assign(in[0], line); return;
    case SK::kSliceAdd: see(Feature::kSlices); v(Index(range(1, 3), line)).assign_add(in[0], line); return;
    case SK::kScatterAdd: see(Feature::kScatters); v.scatter_add(in[0], in[1], line); return;
    case SK::kScatterUpdate: see(Feature::kScatters); v.scatter_update(in[0], in[1], line); return;
    case SK::kSwap: {
      see(Feature::kSwaps);
      Variable& other = use(s.other, true);
      const Tensor old = v.value(line);
      v.assign(other.value(line), line);
      other.assign(old, line);
      return;
    }
    default: throw InternalError("the program has a statement that nobody runs");
  }
}

}  // namespace weft::fuzz
