#include "core/apply.h"

#include <gtest/gtest.h>

#include <thread>

#include "core/infer.h"
#include "ops/table.h"
#include <weft/operators.h>
#include <weft/ops.h>

namespace weft {
namespace {

// Notes the calls that pass and hands them down; can be told to fail before or after.
class Spy final : public Interpreter {
 public:
  explicit Spy(std::vector<std::string>& log, std::string name) : log_(log), name_(std::move(name)) { install(); }
  ~Spy() override {
    if (installed()) remove();
  }
  void apply(Call call, Tensors& outputs) override {
    log_.push_back(name_ + ":" + call.op.name);
    if (fail_before) throw ValueError("spy", "before.", call.at);
    delegate(call, outputs);
    if (fail_after) throw ValueError("spy", "after.", call.at);
  }
  bool fail_before = false, fail_after = false;

 private:
  std::vector<std::string>& log_;
  std::string name_;
};

using Log = std::vector<std::string>;

TEST(Interpreter, TheTopDecidesAndDelegatesDown) {
  Log log;
  EXPECT_EQ(Interpreter::top(), nullptr);
  Spy low(log, "low");
  Spy high(log, "high");
  EXPECT_EQ(Interpreter::top(), &high);
  EXPECT_EQ(add(1.f, 2.f).item<float>(), 3.f);
  EXPECT_EQ(log, Log({"high:add", "low:add"}));
}

TEST(Interpreter, IsRemovedInAnyOrder) {
  Log log;
  auto a = std::make_unique<Spy>(log, "a"), b = std::make_unique<Spy>(log, "b"), c = std::make_unique<Spy>(log, "c");
  b->remove();
  add(1.f, 2.f);
  EXPECT_EQ(log, Log({"c:add", "a:add"}));
  a.reset();
  log.clear();
  add(1.f, 2.f);
  EXPECT_EQ(log, Log({"c:add"}));
  b->install();
  c.reset();
  log.clear();
  add(1.f, 2.f);
  EXPECT_EQ(log, Log({"b:add"}));
  b.reset();
  EXPECT_EQ(Interpreter::top(), nullptr);
}

TEST(Interpreter, BelongsToItsThread) {
  Log log;
  const Spy here(log, "here");
  std::thread([&] {
    EXPECT_EQ(Interpreter::top(), nullptr);
    add(1.f, 2.f);
  }).join();
  EXPECT_TRUE(log.empty());
}

TEST(Interpreter, CannotBeRemovedElsewhere) {
  Log log;
  Spy here(log, "here");
  std::thread([&] { EXPECT_THROW(here.remove(), InternalError); }).join();
  EXPECT_TRUE(here.installed());
  EXPECT_EQ(Interpreter::top(), &here);
}

TEST(Interpreter, AnExceptionLeavesTheStackAsItWas) {
  Log log;
  Spy low(log, "low"), high(log, "high");
  low.fail_before = true;
  EXPECT_THROW(add(1.f, 2.f), ValueError);
  EXPECT_EQ(Interpreter::top(), &high);
  low.fail_before = false;
  low.fail_after = true;
  EXPECT_THROW(add(1.f, 2.f), ValueError);
  EXPECT_EQ(Interpreter::top(), &high);
  low.fail_after = false;
  EXPECT_THROW(add(Tensor{1.f, 2.f}, Tensor{1.f, 2.f, 3.f}), ShapeError);
  EXPECT_EQ(Interpreter::top(), &high);
  EXPECT_EQ(add(1.f, 2.f).item<float>(), 3.f);
}

TEST(Apply, RefusesEmptyHandlesAndLists) {
  EXPECT_THROW(add(Tensor(), 1.f), ValueError);
  EXPECT_THROW(concat({}, 0), ValueError);
  EXPECT_THROW(concat({Tensor{1.f}, Tensor()}, 0), ValueError);
  Tensors inputs = {Tensor(1.f)}, outputs;
  EXPECT_THROW(apply({*find_row("add"), inputs, {}, {}}, outputs), ValueError);
}

TEST(Apply, ChecksAttributesBeforeAnythingRuns) {
  EXPECT_THROW(sum(Tensor{1.f}, {.axis = 1}), IndexError);
  EXPECT_THROW(sum(Tensor{1.f}, {.axis = {0, 0}}), ValueError);
  EXPECT_THROW(sum(Tensor(1.f), {.axis = 0}), IndexError);
  EXPECT_THROW(cast(Tensor(1.f), static_cast<DType>(77)), ValueError);
  EXPECT_THROW(concat({Tensor{1.f}}, std::numeric_limits<std::int64_t>::min()), IndexError);
}

TEST(Apply, AFailedCallAppendsNothing) {
  Tensors inputs = {Tensor{1.f, 2.f}, Tensor{1.f, 2.f, 3.f}}, outputs;
  EXPECT_THROW(apply({*find_row("add"), inputs, {}, {}}, outputs), ShapeError);
  EXPECT_TRUE(outputs.empty());
}

// Literals adapt before any interpreter sees the call: every mode sees the same dtypes.
TEST(Apply, AdaptsLiteralsOnceForAllModes) {
  class Dtypes final : public Interpreter {
   public:
    Dtypes() { install(); }
    ~Dtypes() override { remove(); }
    void apply(Call call, Tensors& outputs) override {
      for (const Tensor& x : call.inputs) seen.push_back(x.dtype());
      delegate(call, outputs);
    }
    std::vector<DType> seen;
  } dtypes;
  Tensor({1, 2}, f16) * 2;
  EXPECT_EQ(dtypes.seen, std::vector<DType>({f16, f16}));
}

TEST(Apply, LiteralsAdaptInListsAsWell) {
  const Tensor x(2, f64), two = 2;
  EXPECT_EQ(stack({x, 1}).spec(), (Spec{f64, {2}}));
  EXPECT_EQ(stack({1, x, true}).to_vector<double>(), std::vector<double>({1, 2, 1}));
  EXPECT_EQ(stack({1, 2.5f}).spec(), (Spec{f32, {2}}));
  EXPECT_THROW(stack({x, two}), DtypeError);  // a named tensor has its dtype
  EXPECT_THROW(stack({two, 1.5f}), DtypeError);
  EXPECT_THROW(stack({Tensor(1, u8), 300}), DtypeError);
}

// Whoever stands on the stack may answer for a Variable; the default asks the one below, and nobody changes nothing.
TEST(Apply, ReadsTravelDownTheStack) {
  class Doubles final : public Interpreter {
   public:
    Doubles() { install(); }
    ~Doubles() override { remove(); }
    void apply(Call call, Tensors& outputs) override { delegate(call, outputs); }
    Tensor read(std::uint64_t slot, const Variable& variable, Tensor value, Location at) override {
      return Interpreter::read(slot, variable, std::move(value), at) * static_cast<float>(slot);
    }
  } doubles;
  std::vector<std::string> log;
  Spy spy(log, "spy");
  const auto& variable = reinterpret_cast<const Variable&>(log);  // nobody here looks at it
  EXPECT_EQ(Interpreter::top()->read(2, variable, 3.f, {}).item<float>(), 6.f);
}

// A real attribute reaches the lanes in their own type, whatever that is.
TEST(Apply, RealAttributesOfTilesHaveTheTypeOfTheLanes) {
  const Op scale{.name = "scale",
                 .doc = "x times factor.",
                 .inputs = {"x"},
                 .attrs = {attr::real("factor", 3)},
                 .dtypes = kNumbers,
                 .infer = infer::pointwise,
                 .tile = lanes<2, Numbers>([](auto x, auto factor) { return static_cast<decltype(x)>(x * factor); })};
  for (int t = 0; t < kNumDTypes; ++t) {
    const auto dtype = static_cast<DType>(t);
    if (dtype == bool_) continue;
    std::vector<Tensor> inputs{Tensor({1, 2, 5}, dtype)};
    const std::vector<Attr> attrs{Attr(3.0)};
    EXPECT_EQ(cast(apply_one(scale, inputs, attrs, Location::here()), f64).to_vector<double>(), (std::vector<double>{3, 6, 15})) << name_of(dtype);
  }
}

// --- the memory of temporaries ---

// Sizes that lie in the Node, in a small and in a large Buffer; f16 goes another way than f32.
const Shape kPlaces[] = {{2}, {100}, {3, 50000}};

const void* memory_of(const Tensor& x) { return x.node()->data; }

TEST(Eager, ADyingTemporaryGivesItsMemoryToTheResult) {
  for (const DType dtype : {f32, f16, i32})
    for (const Shape& shape : kPlaces) {
      const Tensor other = fill(shape, Tensor(3, dtype)), row = fill({shape[shape.rank() - 1]}, Tensor(3, dtype));
      Tensor x = fill(shape, Tensor(5, dtype));
      const void* const place = memory_of(x);
      x = std::move(x) + other;
      EXPECT_EQ(memory_of(x), place) << name_of(dtype) << shape.str();
      x = other * std::move(x);
      EXPECT_EQ(memory_of(x), place) << "the second input, " << name_of(dtype) << shape.str();
      x = -(std::move(x) - row);  // a row may be broadcast
      EXPECT_EQ(memory_of(x), place) << "of two calls, " << name_of(dtype) << shape.str();
      EXPECT_EQ(cast(x, f64).to_vector<double>(), std::vector<double>(static_cast<std::size_t>(shape.num_elements()), -21));
    }
}

TEST(Eager, WhatSomebodyElseCanSeeIsNotWrittenUpon) {
  for (const DType dtype : {f32, f16, i32})
    for (const Shape& shape : kPlaces) {
      const Tensor other = fill(shape, Tensor(3, dtype));
      const auto expect_kept = [&](const Tensor& held, const Tensor& result, const char* by) {
        EXPECT_NE(memory_of(result), memory_of(held)) << by << ", " << name_of(dtype) << shape.str();
        EXPECT_EQ(cast(held, f64).to_vector<double>(), std::vector<double>(static_cast<std::size_t>(shape.num_elements()), 5)) << by;
      };
      Tensor x = fill(shape, Tensor(5, dtype));
      const Tensor held = x;
      expect_kept(held, std::move(x) + other, "a second handle");
      Tensor y = fill(shape, Tensor(5, dtype));
      const Tensor view = reshape(y, {shape.num_elements()});  // another Node, the same Buffer
      expect_kept(view, std::move(y) * other, "a view");
      expect_kept(held, held - other, "a handle that lives on");
    }
  Tensor large = fill({50, 40}, 1.f), row = fill({40}, 1.f), f = fill({50, 40}, 1.f);
  const void* const row_place = memory_of(row);
  EXPECT_NE(memory_of(std::move(row) + large), row_place);  // it is too small
  const void* const place = memory_of(f);
  const Tensor truths = greater(std::move(f), large);  // of another dtype
  EXPECT_NE(memory_of(truths), place);
  EXPECT_EQ(truths.dtype(), bool_);
}

TEST(Table, RowsAreWellFormed) {
  std::vector<std::string> names;
  for (const Family& family : families())
    for (const Op& op : family.rows) {
      EXPECT_EQ(find_row(op.name), &op) << op.name << " is there twice";
      EXPECT_FALSE(op.samples.empty()) << op.name << " has no samples";
      EXPECT_TRUE(std::string_view(op.doc).ends_with('.')) << op.name;
      EXPECT_FALSE(op.grad != nullptr && op.is(kNoGradient)) << op.name << " has a gradient and says that it has none";
      for (const Input& input : op.inputs)
        EXPECT_FALSE(input.list && &input != &op.inputs.back()) << op.name << ": a list must be the last input";
      names.push_back(op.name);
    }
  EXPECT_EQ(names.size(), row_count());
}

}  // namespace
}  // namespace weft
