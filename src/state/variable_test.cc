// Variables as tests/data/semantics.txt describes them.
#include <weft/variable.h>

#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "state/slot.h"
#include "tests/support.h"
#include <weft/weft.h>

namespace weft {
namespace {

using test::floats;

using Floats = std::vector<float>;

// SEMANTICS 15
TEST(Variable, TakesDtypeAndShapeFromItsInitialValue) {
  EXPECT_EQ(Variable{3}.spec(), (Spec{i32, {}}));
  EXPECT_EQ(Variable{3.}.spec(), (Spec{f32, {}}));
  EXPECT_EQ(Variable{true}.spec(), (Spec{bool_, {}}));
  EXPECT_EQ((Variable{{1.f, 2.f}}.spec()), (Spec{f32, {2}}));
  EXPECT_EQ((Variable{{1.f}}.spec()), (Spec{f32, {1}}));
  EXPECT_EQ((Variable{{0, 1}}.spec()), (Spec{i32, {2}}));  // a 0 is no pointer here
  EXPECT_EQ((Variable{{0}}.spec()), (Spec{i32, {1}}));
  EXPECT_EQ((Variable{{{0, 0}, {0, 1}}}.spec()), (Spec{i32, {2, 2}}));
  EXPECT_EQ((Variable{{0, 1}, {.name = "list", .dtype = f32}}.spec()), (Spec{f32, {2}}));
  EXPECT_EQ((Variable{{{1, 2}, {3, 4}}}.spec()), (Spec{i32, {2, 2}}));
  EXPECT_EQ((Variable{{{1, 2}}}.spec()), (Spec{i32, {1, 2}}));
  EXPECT_EQ(Variable{std::vector<double>{1}}.spec(), (Spec{f64, {1}}));
  EXPECT_EQ(Variable(zeros({2, 3}, {.dtype = f16})).spec(), (Spec{f16, {2, 3}}));
  EXPECT_EQ((Variable{3, {.dtype = f64}}.spec()), (Spec{f64, {}}));
  EXPECT_EQ((Variable{{1, 2}, {.dtype = bf16}}.spec()), (Spec{bf16, {2}}));
  EXPECT_TEXT(DtypeError, Variable(Tensor({1, 2}), {.dtype = f32}),
              "Variable: the initial value is i32[2] and the dtype asked for f32; a tensor keeps its dtype, cast it.");
  EXPECT_TEXT(DtypeError, (Variable{2.5f, {.dtype = i32}}),
              "Variable: the initial number does not fit the dtype asked for, i32; name another dtype or cast.");
  EXPECT_TEXT(ValueError, Variable(Tensor()), "Variable: the initial value is an empty Tensor handle; assign a value to it first.");
}

// SEMANTICS 16
TEST(Variable, EqualNamesAreSeparate) {
  Variable a{1.f, {.name = "x"}}, b{2.f, {.name = "x"}};
  a.assign(5.f);
  EXPECT_EQ(floats(b), Floats{2});
  EXPECT_NE(a.id(), b.id());
  EXPECT_FALSE(a.same_slot(b));
}

// SEMANTICS 17, 37: TensorFlow copies where Weft shares.
TEST(Variable, CopiesShareAndClonesDoNot) {
  Variable a{1.f, {.name = "a", .trainable = false, .shape = Shape{}}};
  Variable same = a, clone = a.clone();
  a.assign(2.f);
  EXPECT_EQ(floats(same), Floats{2});
  EXPECT_EQ(floats(clone), Floats{1});
  EXPECT_TRUE(same.same_slot(a));
  EXPECT_FALSE(clone.same_slot(a));
  EXPECT_EQ(clone.name(), "a");
  EXPECT_FALSE(clone.trainable());
  EXPECT_EQ(clone.version(), 0u);
  Variable big{zeros({100})};
  Variable copy = big.clone();  // shares memory until one of them changes
  big.assign_add(ones({100}));
  EXPECT_EQ(floats(copy), Floats(100, 0));
  copy.assign_add(fill({100}, 5.f));
  EXPECT_EQ(floats(big), Floats(100, 1));
}

TEST(Variable, HandlesMove) {
  Variable a{1.f}, b{2.f};
  Variable old_b = b;
  b = std::move(a);  // rebinds
  b.assign(7.f);
  EXPECT_EQ(floats(old_b), Floats{2});
  EXPECT_TEXT(StateError, a.value(), "Variable: this handle is empty: another one was made or assigned from it by a move; use that one.");
  std::vector<Variable> many;
  for (int i = 0; i < 10; ++i) many.emplace_back(static_cast<float>(9 - i));
  std::sort(many.begin(), many.end(), [](const Variable& x, const Variable& y) { return static_cast<bool>(x < y); });
  EXPECT_EQ(floats(many[0]), Floats{0});
  many.erase(many.begin());
  std::swap(many[0], many[1]);
  EXPECT_EQ(floats(many[0]), Floats{2});
  std::map<std::string, Variable> named;
  named.emplace("x", Variable{1.f});
  named.at("x").assign(3.f);
  EXPECT_EQ(floats(named.at("x")), Floats{3});
  struct Layer {
    Variable weight{1.f}, bias{0.f};
  };
  Layer layer, other;
  layer = Layer(other);  // moves from a copy that shares
  EXPECT_TRUE(layer.weight.same_slot(other.weight));
  std::optional<Variable> maybe;
  maybe.emplace(1.f);
  maybe = std::move(many[0]);
  EXPECT_EQ(floats(*maybe), Floats{2});
}

// SEMANTICS 18
TEST(Variable, AssignmentsChain) {
  Variable v{1.f};
  EXPECT_EQ(&v.assign(2.f).assign_add(3.f).assign_sub(1.f), &v);
  EXPECT_EQ(floats(v), Floats{4});
}

// SEMANTICS 20
TEST(Variable, CastsLiterals) {
  Variable d{{1., 2.}, {.dtype = f64}}, i{{1, 2}, {.name = "i"}}, h{1.f, {.dtype = f16}}, u{1, {.name = "u", .dtype = u8}};
  d.assign({3, 4});
  EXPECT_EQ(d.value().spec(), (Spec{f64, {2}}));
  h.assign(2);
  h.assign_add(0.5);
  EXPECT_EQ(h.value().item<float>(), 2.5f);
  i.assign({true, false});
  EXPECT_EQ(i.value().to_vector<int>(), (std::vector<int>{1, 0}));
  EXPECT_TEXT(DtypeError, i.assign({1.5f, 2.f}),
              "assign: Variable \"i\" is i32[2] and the list holds a number that this dtype does not; cast it.");
  EXPECT_TEXT(DtypeError, u.assign(2.5),
              "assign: Variable \"u\" is u8[] and the value the number 2.5, which that dtype does not hold; cast it.");
  EXPECT_TEXT(DtypeError, u.assign_add(256),
              "assign_add: Variable \"u\" is u8[] and the value the number 256, which that dtype does not hold; cast it.");
  EXPECT_EQ(u.value().item<int>(), 1);
  Variable rows{zeros({2, 2})};
  rows.scatter_update(Tensor({1}), Tensor({{1.f, 2.f}}));
  rows.scatter_add(Tensor{0}, 3);  // a literal, cast
  EXPECT_EQ(floats(rows), (Floats{3, 3, 1, 2}));
}

// SEMANTICS 21, 22
TEST(Variable, RefusesOtherDtypes) {
  Variable v{{1.f, 2.f}, {.name = "v"}};
  EXPECT_TEXT(DtypeError, v.assign(Tensor({1, 2})),
              "assign: Variable \"v\" is f32[2] and the value i32[2]; a Variable keeps its dtype, cast the value.");
  EXPECT_TEXT(DtypeError, v.assign_add(Tensor({1, 2})),
              "assign_add: Variable \"v\" is f32[2] and the value i32[2]; a Variable keeps its dtype, cast the value.");
  EXPECT_THROW(v.value().data<double>(), DtypeError);
  EXPECT_THROW(v.value().to_vector<int>(), DtypeError);
  const int line = __LINE__ + 1;
  Variable nameless{1};
  EXPECT_TEXT(DtypeError, nameless.assign(Tensor({1.f})[0]),
              "assign: the Variable made at variable_test.cc:" + std::to_string(line) +
                  " is i32[] and the value f32[]; a Variable keeps its dtype, cast the value.");
  EXPECT_TEXT(ValueError, v.assign(Tensor()),
              "assign: the value for Variable \"v\" is an empty Tensor handle; assign a value to it first.");
}

// SEMANTICS 23, 25, 26
TEST(Variable, RefusesOtherShapesAndNeverBroadcasts) {
  Variable v{{1.f, 2.f}, {.name = "v"}};
  const char* const rule = "; the shapes must agree (nothing is broadcast), or the Variable be declared with sizes that may change.";
  EXPECT_TEXT(ShapeError, v.assign({1, 2, 3}), std::string("assign: Variable \"v\" is f32[2] and the value f32[3]") + rule);
  EXPECT_TEXT(ShapeError, v.assign(1.f), std::string("assign: Variable \"v\" is f32[2] and the value f32[]") + rule);
  EXPECT_TEXT(ShapeError, v.assign_add(1.f), std::string("assign_add: Variable \"v\" is f32[2] and the value f32[]") + rule);
  EXPECT_TEXT(ShapeError, v.assign_sub({{1.f, 2.f}}), std::string("assign_sub: Variable \"v\" is f32[2] and the value f32[1,2]") + rule);
  EXPECT_TEXT(ShapeError, v.assign_add({1.f}), std::string("assign_add: Variable \"v\" is f32[2] and the value f32[1]") + rule);
  Variable scalar{1.f};
  EXPECT_THROW(scalar.assign_add({1.f, 2.f}), ShapeError);
  // A shape that only the values tell.
  EXPECT_THROW(v.assign(boolean_mask(Tensor({1.f, 2.f, 3.f}), Tensor({true, false, false}))), ShapeError);
  v.assign(boolean_mask(Tensor({1.f, 2.f, 3.f}), Tensor({true, false, true})));
  EXPECT_EQ(floats(v), (Floats{1, 3}));
  EXPECT_EQ(v.version(), 1u);
}

// SEMANTICS 25: in a trace the shape is known when the call runs
TEST(Variable, AShapeThatValuesDecideIsCheckedInEachCall) {
  Variable v{{1.f, 2.f}, {.name = "v"}}, calls{0};
  Function keep = [&](Tensor x, Tensor which) {
    calls.assign_add(1);
    v.assign(boolean_mask(x, which));
  };
  const Tensor x = {3.f, 4.f, 5.f};
  keep(x, Tensor{true, false, true});
  EXPECT_THROW(keep(x, Tensor{true, true, true}), ShapeError);
  EXPECT_EQ(floats(v), (Floats{3, 5}));
  EXPECT_EQ(calls.value().item<int>(), 1) << "a refused call changes nothing";
  keep(x, Tensor{false, true, true});
  EXPECT_EQ(floats(v), (Floats{4, 5}));
  EXPECT_EQ(keep.explain().traced, 1u);
}

// SEMANTICS 24, 27
TEST(Variable, DeclaredShapesMayChange) {
  Variable v{zeros({2, 3}), {.name = "v", .shape = Shape{kUnknown, 3}}};
  EXPECT_EQ(v.spec().str(), "f32[?,3]");
  v.assign(ones({5, 3}));
  EXPECT_EQ(v.shape(), (Shape{5, 3}));
  EXPECT_EQ(v.clone().spec(), v.spec());
  EXPECT_THROW(v.assign(ones({5, 4})), ShapeError);
  EXPECT_TEXT(ShapeError, v.assign_add(ones({2, 3})),
              "assign_add: Variable \"v\" now holds f32[5,3] and the value is f32[2,3]; the shapes must agree, nothing is broadcast.");
  EXPECT_TEXT(ShapeError, Variable(zeros({2, 3}), {.name = "w", .shape = Shape{kUnknown, 4}}),
              "Variable: Variable \"w\" is f32[?,4] and the value f32[2,3]; the shapes must agree (nothing is broadcast), or the Variable "
              "be declared with sizes that may change.");
  EXPECT_THROW(Variable(1.f, {.shape = Shape{2}}), ShapeError);
}

// SEMANTICS 35
TEST(Variable, AValueReadEarlierStays) {
  Variable v{{1.f, 2.f}};
  const Tensor before = v;
  v.assign_add({1.f, 1.f});
  v.assign({5.f, 5.f});
  EXPECT_EQ(floats(before), (Floats{1, 2}));
  EXPECT_TRUE(v.value().same_as(v.value()));
  const Tensor given = {7.f, 7.f};
  v.assign(given);
  EXPECT_FALSE(v.value().same_as(given));  // a Node of its own
  v.assign_add({1.f, 1.f});
  EXPECT_EQ(floats(given), (Floats{7, 7}));
}

// SEMANTICS 36
TEST(Variable, CountsUpToALimit) {
  Variable v{0, {.name = "epoch"}};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(v.count_up_to(3).item<int>(), i);
  EXPECT_TEXT(StateError, v.count_up_to(3),
              "count_up_to: Variable \"epoch\" has reached the limit of 3; assign a smaller value to count on.");
  EXPECT_EQ(v.value().item<int>(), 3);
  Variable f{0.f, {.name = "f"}};
  EXPECT_TEXT(DtypeError, f.count_up_to(3), "count_up_to: Variable \"f\" is f32[]; only an i32 or i64 scalar counts.");
  Function counts = [&] { return v.count_up_to(9); };
  EXPECT_TEXT(TraceError, counts(),
              "count_up_to: Variable \"epoch\" has no value while tracing, so it cannot be compared with the limit; "
              "write check(v < limit, ...) and assign_add.");
}

// SEMANTICS 38, 39
TEST(Variable, IsTrainableUnlessToldOtherwise) {
  EXPECT_TRUE(Variable{1.f}.trainable());
  EXPECT_FALSE((Variable{1.f, {.trainable = false}}.trainable()));
  EXPECT_FALSE(static_cast<bool>(Variable{1.f}.constraint()));
  static_assert(!std::is_assignable_v<decltype(VariableOptions::constraint)&, Tensor>);
  static_assert(!std::is_assignable_v<decltype(VariableOptions::constraint)&, float (*)(const char*)>);
  const Variable bounded{1.f, {.constraint = [](const Tensor& x) { return maximum(x, 0.f); }}};
  EXPECT_EQ(floats(bounded.constraint()(Tensor(-2.f))), Floats{0});
}

// SEMANTICS 40
TEST(Variable, WorksInEveryOperator) {
  Variable v{{4.f, 9.f}}, i{{5, 6}}, b{{true, false}};
  const Tensor x = {2.f, 3.f};
  EXPECT_EQ(floats(v + x), (Floats{6, 12}));
  EXPECT_EQ(floats(x - v), (Floats{-2, -6}));
  EXPECT_EQ(floats(v * v), (Floats{16, 81}));
  EXPECT_EQ(floats(v / 2), (Floats{2, 4.5}));
  EXPECT_EQ(floats(7 - v), (Floats{3, -2}));
  EXPECT_EQ(floats(-v), (Floats{-4, -9}));
  EXPECT_EQ((i % 4).to_vector<int>(), (std::vector<int>{1, 2}));
  EXPECT_EQ((v > 5).to_vector<bool>(), (std::vector<bool>{false, true}));
  EXPECT_EQ((v == x * x).to_vector<bool>(), (std::vector<bool>{true, true}));
  EXPECT_EQ((i & 4).to_vector<int>(), (std::vector<int>{4, 4}));
  EXPECT_EQ((b | ~b).to_vector<bool>(), (std::vector<bool>{true, true}));
  EXPECT_EQ((!b).to_vector<bool>(), (std::vector<bool>{false, true}));
  EXPECT_EQ(floats(sqrt(v)), (Floats{2, 3}));
  EXPECT_EQ(floats(matmul(reshape(v, {1, 2}), reshape(v, {2, 1}))), Floats{97});
  Tensor sum = x;
  sum += v;
  EXPECT_EQ(floats(sum), (Floats{6, 12}));
  EXPECT_EQ(floats(v), (Floats{4, 9}));
  try {
    v + Tensor({1.f, 2.f, 3.f});
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.location().line, __LINE__ - 3);
  }
}

// SEMANTICS 41
TEST(Variable, PrintsNameSpecAndValue) {
  Variable v{{1.f, 2.f}, {.name = "w"}}, nameless{3};
  EXPECT_EQ(v.str(), "Variable \"w\" f32[2] = [1. 2.]");
  EXPECT_EQ(format("{} {}", v, nameless), "Variable \"w\" f32[2] = [1. 2.] Variable i32[] = 3");
  std::ostringstream out;
  out << v;
  EXPECT_EQ(out.str(), v.str());
}

// SEMANTICS 42
TEST(Variable, StorageDiesWithTheLastHandle) {
  bool freed = false;
  static float memory[4] = {1, 2, 3, 4};
  {
    Variable v(Tensor::from_memory(memory, {f32, {4}}, [&] { freed = true; }));
    {
      Variable same = v;
      v.assign_add({1.f, 1.f, 1.f, 1.f});  // never written in place: it is not Weft's
      EXPECT_TRUE(freed);
    }
    EXPECT_EQ(memory[0], 1);
    EXPECT_EQ(floats(v), (Floats{2, 3, 4, 5}));
  }
  std::weak_ptr<Slot> slot;
  {
    Variable v{1.f};
    slot = v.slot();
    Variable same = v;
    EXPECT_FALSE(slot.expired());
  }
  EXPECT_TRUE(slot.expired());
}

TEST(Variable, RemembersItsLastWrites) {
  const int line = __LINE__ + 1;
  Variable v{0.f, {.name = "v"}};
  v.assign(1.f);
  v.assign_add(1.f);
  auto history = v.history();
  ASSERT_EQ(history.size(), 3u);
  EXPECT_EQ(history[0].str(), "version 0 by Variable at variable_test.cc:" + std::to_string(line));
  EXPECT_EQ(history[1].str(), "version 1 by assign at variable_test.cc:" + std::to_string(line + 1));
  EXPECT_EQ(history[2].str(), "version 2 by assign_add at variable_test.cc:" + std::to_string(line + 2));
  for (int i = 0; i < 20; ++i) v.assign_sub(1.f);
  history = v.history();
  ASSERT_EQ(history.size(), 8u);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(history[i].version, 15 + i);
  EXPECT_EQ(v.version(), 22u);
  EXPECT_EQ(format("{}", history.back()), "version 22 by assign_sub at variable_test.cc:" + std::to_string(line + 8));
}

// SEMANTICS 44
TEST(Variable, AssignmentCutsTheGradient) {
  const Tensor x = 3.f;
  Variable v{1.f};
  GradientTape tape({.persistent = true});
  tape.watch(x);
  v.assign(x * x);
  EXPECT_THROW(tape.gradient(v * 2, x), GradientError);
  v.assign_add(x);
  EXPECT_THROW(tape.gradient(v * 2, x), GradientError);
  EXPECT_EQ(tape.gradient(v * x, x).item<float>(), 12);
  v.assign(x);
  EXPECT_THROW(tape.gradient(v * 2, x), GradientError);
}

}  // namespace
}  // namespace weft
