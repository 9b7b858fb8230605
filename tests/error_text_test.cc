// What errors say, word by word: at least one text of every class and of every check that the core makes for all ops.
//
// A text that changes is a change users see: change it here, too, and look whether it still names the operation, the argument,
// the rule and the remedy.
#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "core/apply.h"
#include "ops/table.h"
#include "tests/support.h"
#include <weft/weft.h>

namespace weft {
namespace {

using std::int64_t;

// A call as a loaded graph would make it: with attributes of any value.
Tensors raw(const char* name, Tensors inputs, std::vector<Attr> attrs) {
  Tensors outputs;
  apply({*find_row(name), inputs, attrs, Location::here()}, outputs);
  return outputs;
}

constexpr int64_t kHuge = int64_t{1} << 62;

TEST(ErrorText, NamesTheSourceLine) {
  const Tensor a = {{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}}, b = {1.f, 2.f, 3.f, 4.f};
  const int line = __LINE__ + 2;
  try {
    add(a, b);
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.what(), "add: cannot broadcast a f32[2,3] with b f32[4]: axis 1 is 3 and 4; sizes must match or be 1. (error_text_test.cc:" + std::to_string(line) + ")");
    EXPECT_EQ(error.op(), "add");
    EXPECT_EQ(error.location().line, line);
  }
}

// Whatever stands first between the parentheses knows the line.
TEST(ErrorText, NamesTheSourceLineOfIndexing) {
  const Tensor x = {{1.f, 2.f}, {3.f, 4.f}};
  const auto line_of = [](const auto& call) {
    try {
      call();
    } catch (const IndexError& error) {
      return error.location().line;
    }
    return -1;
  };
  const int line = __LINE__;
  EXPECT_EQ(line_of([&] { x[5]; }), line + 1);
  EXPECT_EQ(line_of([&] { x(0, 5); }), line + 2);
  EXPECT_EQ(line_of([&] { x(all, 5); }), line + 3);
  EXPECT_EQ(line_of([&] { x(range(0, 1), 5); }), line + 4);
  EXPECT_EQ(line_of([&] { x(ellipsis, 5); }), line + 5);
  EXPECT_EQ(line_of([&] { x(newaxis, 5); }), line + 6);
}

TEST(ErrorText, OfDtypes) {
  const Tensor f = {1.f, 2.f}, i = {1, 2}, flag = {true, false};
  EXPECT_TEXT(DtypeError, f + i, "add: a is f32[2] and b is i32[2]; tensors of two dtypes never mix, cast one of them.");
  EXPECT_TEXT(DtypeError, logical_not(f), "logical_not: x is f32[2]; it must be bool, cast it.");
  EXPECT_TEXT(DtypeError, exp(i), "exp: x is i32[2]; it must be f32, f64, f16 or bf16, cast it.");
  EXPECT_TEXT(DtypeError, where(f, f, f), "where: condition is f32[2]; it must be bool, cast it.");
  EXPECT_TEXT(DtypeError, concat({f, i}, 0), "concat: xs[0] is f32[2] and xs[1] is i32[2]; tensors of two dtypes never mix, cast one of them.");
  EXPECT_TEXT(DtypeError, i / i, "operator/: a is i32[2] and b is i32[2], and dividing integers has no single meaning; use floordiv, truncatediv, or divide for a floating result.");
  EXPECT_TEXT(DtypeError, flag + flag, "add: a is bool[2]; it must be f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32 or u64, cast it.");
}

TEST(ErrorText, OfLiterals) {
  const Tensor i = {1, 2}, byte = cast(i, u8);
  EXPECT_TEXT(DtypeError, i + 0.5, "add: the number 0.5 for b is of a higher kind than a i32[2]; cast the tensor or pass another number.");
  EXPECT_TEXT(DtypeError, byte + 300, "add: the number 300 for b does not fit u8; cast a or pass a smaller number.");
  EXPECT_TEXT(DtypeError, byte - (-1), "subtract: the number -1 for b does not fit u8; cast a or pass a smaller number.");
  EXPECT_TEXT(DtypeError, Tensor(300, u8), "tensor: the number does not fit u8; name another dtype or cast.");
  EXPECT_TEXT(DtypeError, Tensor({1, 300}, u8), "tensor: the list holds a number that does not fit u8; name another dtype.");
}

TEST(ErrorText, OfHandlesAndLists) {
  const Tensor none, x = {1.f, 2.f};
  EXPECT_TEXT(ValueError, add(x, none), "add: b is an empty Tensor handle; assign a value to it first.");
  EXPECT_TEXT(ValueError, concat({x, none}, 0), "concat: xs[1] is an empty Tensor handle; assign a value to it first.");
  EXPECT_TEXT(ValueError, none.shape(), "tensor: this Tensor handle is empty; assign a value to it before using it.");
  EXPECT_TEXT(ValueError, concat({}, 0), "concat: xs is an empty list; give at least one tensor.");
}

TEST(ErrorText, OfMalformedCalls) {
  const Tensor x = {1.f, 2.f};
  EXPECT_TEXT(ValueError, raw("add", {x}, {}), "add: 1 inputs are given; it takes 2.");
  EXPECT_TEXT(ValueError, raw("split_like", {}, {int64_t{0}}), "split_like: 0 inputs are given; it takes 1 and a list.");
  EXPECT_TEXT(ValueError, raw("sum", {x}, {}), "sum: 0 attributes are given; it takes 2.");
  EXPECT_TEXT(ValueError, raw("sum", {x}, {Ints{0}, int64_t{1}}), "sum: keepdims is 1; it must be true or false.");
  EXPECT_TEXT(ValueError, raw("sum", {x}, {0.5, false}), "sum: axis is 0.5; it must be a list of integers.");
  EXPECT_TEXT(ValueError, raw("concat", {x}, {std::monostate()}), "concat: axis is none; it must be an integer.");
  EXPECT_TEXT(ValueError, raw("cast", {x}, {static_cast<DType>(99)}), "cast: dtype is not a dtype.");
}

TEST(ErrorText, OfAttributes) {
  const Tensor labels = {0, 1}, x = {{1.f, 2.f}};
  EXPECT_TEXT(ValueError, one_hot(labels, -1), "one_hot: depth is -1; it must be 0 or more.");
  EXPECT_TEXT(ValueError, raw("pad", {x}, {Ints{0, 0, 0, 0}, int64_t{7}, 0.0}), "pad: mode is 7; it is not one of PadMode's values.");
  EXPECT_TEXT(ValueError, raw("pad", {x}, {Ints{0, 0, 0, 0}, int64_t{0}, std::numeric_limits<double>::quiet_NaN()}),
              "pad: constant_values is nan; it must be a number.");
}

TEST(ErrorText, OfAxesAndRanks) {
  const Tensor x = {{1.f, 2.f}}, scalar = 1.f;
  EXPECT_TEXT(IndexError, sum(x, {.axis = 2}), "sum: axis has 2, but must be from -2 to 1 for x f32[1,2].");
  EXPECT_TEXT(IndexError, concat({x, x}, -3), "concat: axis is -3, but must be from -2 to 1 for xs[0] f32[1,2].");
  EXPECT_TEXT(IndexError, sum(scalar, {.axis = 0}), "sum: axis has 0, but a scalar has no axes for x f32[].");
  EXPECT_TEXT(ValueError, sum(x, {.axis = {0, -2}}), "sum: axis names an axis twice; name each axis once.");
  EXPECT_TEXT(ShapeError, concat({scalar}, 0), "concat: xs[0] f32[] has rank 0; rank 1 or more is needed.");
  EXPECT_TEXT(ShapeError, raw("scatter_rows", {Tensor({{0}}), x, x}, {}), "scatter_rows: indices i32[1,1] has rank 2; rank 1 is needed.");
}

TEST(ErrorText, OfShapes) {
  const Tensor x = {{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}}, row = {1.f, 2.f};
  EXPECT_TEXT(ShapeError, where(Tensor({true, false}), x, row), "where: cannot broadcast condition bool[2] with a f32[2,3]: axis 1 is 2 and 3; sizes must match or be 1.");
  EXPECT_TEXT(ShapeError, reshape(x, {4, -1}), "reshape: x f32[2,3] does not have the number of elements of shape [4,-1].");
  EXPECT_TEXT(ShapeError, reshape(x, {-1, -1}), "reshape: shape has -1 twice; only one size can follow from the rest.");
  EXPECT_TEXT(ShapeError, broadcast_to(x, {2, 2}), "broadcast_to: x f32[2,3] does not broadcast to shape [2,2]; its sizes must match from the last axis or be 1.");
  EXPECT_TEXT(ShapeError, concat({x, row}, 0), "concat: xs[1] f32[2] cannot follow xs[0] f32[2,3] along axis 0; all other sizes must match.");
  EXPECT_TEXT(ShapeError, Shape({2, -5}), "shape: size -5 of axis 1 is negative; sizes are >= 0, or -1 for one that is not known.");
  EXPECT_TEXT(ShapeError, Shape(Ints(33, 1)), "shape: rank 33 is more than 32; use fewer axes.");
  EXPECT_TEXT(ShapeError, Shape({2, kUnknown}).num_elements(), "shape: the number of elements of [2,?] is not known; ask shape_of for the sizes that each call has.");
  EXPECT_TEXT(ShapeError, Shape({kHuge, 4}).num_elements(), "shape: the number of elements of [4611686018427387904,4] does not fit 63 bits.");
  EXPECT_TEXT(ShapeError, zeros({kHuge, 4}), "zeros: the size 4611686018427387904 * 4 does not fit 63 bits; use smaller shapes.");
  EXPECT_TEXT(ShapeError, zeros({kHuge}), "zeros: f32[4611686018427387904] needs more bytes than 63 bits can count.");
  EXPECT_TEXT(ShapeError, raw("zeros", {}, {Ints{-5}, f32}), "zeros: size -5 of axis 0 is negative; sizes are >= 0, or -1 for one that is not known.");
}

TEST(ErrorText, OfMemory) {
  EXPECT_TEXT(OutOfMemoryError, zeros({int64_t{1} << 50}), "zeros: cannot allocate 4503599627370496 bytes; use smaller shapes.");
}

TEST(ErrorText, OfValues) {
  const Tensor x = {1.f, 2.f}, wide = {300, 2}, negative_one = {-1};
  float number = 0;
  EXPECT_TEXT(ShapeError, x.item<float>(), "item: the tensor is f32[2]; item needs exactly one element, index first.");
  EXPECT_TEXT(DtypeError, x.to_vector<int>(), "to_vector: the tensor is f32[2] and would lose its kind as i32; cast it first.");
  EXPECT_TEXT(ValueError, wide.to_vector<std::uint8_t>(), "to_vector: element 0 is 300 and does not fit u8; ask for a wider type.");
  EXPECT_TEXT(ValueError, negative_one.item<unsigned>(), "item: element 0 is -1 and does not fit u32; ask for a wider type.");
  EXPECT_TEXT(DtypeError, x.data<double>(), "data: the tensor is f32[2], not f64; ask for its own type or cast.");
  EXPECT_TEXT(ShapeError, static_cast<bool>(x), "bool: the tensor is f32[2]; only one element can be true or false, reduce it with any_true or all_true.");
  EXPECT_TEXT(ShapeError, Tensor({{1, 2}, {3}}), "tensor: the list is ragged: at depth 1 one row has 2 elements and another 1; nested lists must be rectangular.");
  EXPECT_TEXT(ShapeError, Tensor({{1, 2}, 3}), "tensor: the list mixes numbers and lists at depth 1; nested lists must be rectangular.");
  EXPECT_TEXT(ShapeError, Tensor(std::vector<float>{1, 2, 3}, Shape{2, 2}), "tensor: 3 values do not fill shape [2,2]; give as many as its sizes multiply to.");
  EXPECT_TEXT(ValueError, Tensor::from_memory(nullptr, {f32, {2}}, {}), "from_memory: data is null; pass the first element's address.");
  EXPECT_TEXT(ShapeError, Tensor::from_memory(&number, {f32, {kUnknown}}, {}), "from_memory: spec f32[?] has an unknown size; name every size.");
  EXPECT_TEXT(ValueError, Tensor::from_memory(reinterpret_cast<char*>(&number) + 1, {f32, {}}, {}), "from_memory: data is not aligned for f32; copy it instead.");
  EXPECT_TEXT(ShapeError, Tensor(1.f).begin(), "begin: the tensor is a scalar; iteration goes over axis 0.");
}

TEST(ErrorText, OfSymbolicTensors) {
  const Tensor symbol = make_symbolic({f32, {2, kUnknown}}, Location::here());
  EXPECT_TEXT(TraceError, symbol.to_vector<float>(),
              "to_vector: the tensor f32[2,?] was made while tracing and has no value outside; return it from the traced function.");
  EXPECT_TEXT(TraceError, static_cast<bool>(symbol), "bool: the tensor f32[2,?] was made while tracing and has no value outside; return it from the traced function.");
  Function looks = [](Tensor x) { x.to_vector<float>(); }, branches = [](Tensor x) { if (x) return; };
  EXPECT_TEXT(TraceError, looks(1.f), "to_vector: the tensor is a symbol f32[] of a trace and has no value; while tracing use ops on it, cond or while_loop, and "
                                      "afterwards what the function returned.");
  EXPECT_TEXT(TraceError, branches(1.f), "bool: a symbolic tensor has no value to branch on; use cond or while_loop.");
  EXPECT_TEXT(TraceError, exp(symbol), "exp: an input f32[2,?] was made while tracing and has no value outside; return it from the traced function.");
}

// Whatever runs since: a tape, another trace, a body that runs eagerly.
TEST(ErrorText, OfALeakedSymbolNamesItsLineAlsoWhereOthersAreMade) {
  Tensor leaked;
  const int line = __LINE__ + 1;
  Function leaks = [&](Tensor x) { leaked = x * 2; };
  leaks(1.f);
  const auto text_of = [&](const auto& use) {
    try {
      use();
    } catch (const TraceError& error) {
      EXPECT_EQ(error.location().line, line);
      return error.message();
    }
    return std::string("no error");
  };
  const std::string gone = "the tensor f32[] was made while tracing and has no value outside; return it from the traced function.";
  EXPECT_EQ(text_of([&] { GradientTape tape; leaked.item<float>(); }), "item: " + gone);
  EXPECT_EQ(text_of([&] { GradientTape tape; if (leaked) return; }), "bool: " + gone);
  Function another = [&](Tensor x) { return x * leaked.item<float>(); };
  EXPECT_EQ(text_of([&] { another(1.f); }), "item: " + gone);
  Function eager{[](Tensor x) { return x; }, {.run_eagerly = true}};
  EXPECT_EQ(text_of([&] { eager(leaked); }), "Function: an argument f32[] was made while tracing and has no value outside; return it from the traced function.");
  EXPECT_EQ(text_of([&] { GradientTape tape; eager(leaked); }), "Function: an argument f32[] was made while tracing and has no value outside; return it from the traced function.");
}

TEST(ErrorText, OfGradients) {
  const Tensor x = {1.f, 2.f}, other = {3.f}, i = {1, 2}, none;
  const auto gradient = [&](const Tensor& target, const Tensor& source, GradientOptions options = {}) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(target.same_as(x) ? exp(x) : target, source, options);
  };
  EXPECT_TEXT(GradientError, GradientTape().watch(i), "watch: x is i32[2]; only floating values have gradients, cast it.");
  EXPECT_TEXT(ValueError, GradientTape().watch(none), "watch: x is an empty Tensor handle; assign a value to it first.");
  EXPECT_TEXT(GradientError, gradient(i, x), "gradient: target is i32[2]; only floating values have gradients, cast it.");
  EXPECT_TEXT(GradientError, gradient(x, i), "gradient: source is i32[2]; only floating values have gradients, cast it.");
  EXPECT_TEXT(ValueError, gradient(none, x), "gradient: target is an empty Tensor handle; assign a value to it first.");
  EXPECT_TEXT(ValueError, gradient(x, none), "gradient: source is an empty Tensor handle; assign a value to it first.");
  EXPECT_TEXT(ValueError, GradientTape().gradients({}, {x}), "gradient: targets is an empty list; give at least one tensor.");
  EXPECT_TEXT(GradientError, gradient(x, other), "gradient: the target does not depend on source f32[1], which this tape does not watch; call watch on it before computing.");
  EXPECT_TEXT(GradientError, gradient(other, x),
              "gradient: the target does not depend on source f32[2] through differentiable ops; ask for {.unconnected = Unconnected::kZeros} or kNone if that is meant.");
  EXPECT_TEXT(ValueError, gradient(x, x, {.output_gradients = {x, x}}), "gradient: 2 output_gradients for 1 targets; give one for each.");
  EXPECT_TEXT(ShapeError, gradient(x, x, {.output_gradients = {other}}), "gradient: output_gradients[0] must be f32[2], the target's spec, but is f32[1].");
  EXPECT_TEXT(DtypeError, gradient(x, x, {.output_gradients = {i}}), "gradient: output_gradients[0] must be f32[2], the target's spec, but is i32[2]; cast it.");
  EXPECT_TEXT(ValueError, gradient(x, x, {.output_gradients = {none}}), "gradient: output_gradients[0] must be f32[2], the target's spec, but is an empty Tensor handle.");
}

TEST(ErrorText, OfATapeOfAnotherThread) {
  const Tensor x = 3.f;
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  std::thread([&] {
    EXPECT_TEXT(StateError, tape.gradient(y, x), "gradient: this tape belongs to another thread, which still records on it; use it there.");
  }).join();
}

TEST(ErrorText, OfASpentTape) {
  const Tensor x = 3.f;
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  tape.gradient(y, x);
  EXPECT_TEXT(StateError, tape.gradient(y, x), "gradient: this tape has already answered once; make it persistent to ask again.");
}

TEST(ErrorText, OfDefects) { EXPECT_STREQ(InternalError("a row is wrong", {}).what(), "internal: a row is wrong"); }

}  // namespace
}  // namespace weft
