// For every row whose result is its first input but for a few places: written where that input lies, it has the bits that it has elsewhere, and
// nothing of it can fail. A Variable is changed that way when a call publishes, from where there is no way back.
#include <algorithm>
#include <exception>

#include "core/update.h"
#include "graph/region_parts.h"
#include "tests/failing_memory.h"
#include "tests/suite_rows.h"
#include <weft/ops.h>

namespace weft::test {
namespace {

Tensor copied(const Tensor& x) {
  Tensor copy = make_tensor(x.spec());
  copy_into(mutable_data(copy), x);
  return copy;
}
std::string bytes(const Tensor& x) { return {static_cast<const char*>(x.node()->data), static_cast<std::size_t>(bytes_of(x.spec()))}; }

// What is wrong with a call that is made in the place of its first input; or nothing.
std::string wrong_in_place(const Op& op, const Arguments& arguments) {
  const std::string before = bytes(arguments.inputs[0]);
  const Tensor elsewhere = run(op, arguments)[0];
  if (bytes(arguments.inputs[0]) != before) return "made elsewhere it changes its input";
  const std::string wanted = bytes(elsewhere);

  Tensors inputs = arguments.inputs;
  const Call call{op, inputs, arguments.attrs, {}};
  const Specs specs = check(call);
  inputs[0] = copied(arguments.inputs[0]);
  Tensors outputs{inputs[0]};
  KernelCall kernel{{op, arguments.attrs, {}}, inputs, outputs, specs};
  bool threw = false;
  std::string wrong;
  const auto change = [&] {
    try {
      op.kernel(kernel);
    } catch (...) {
      threw = true;
    }
  };
  if (attempt(0, change, true, wrong).failed) return "it needs memory";
  if (threw) return "it throws";
  if (bytes(inputs[0]) != wanted) return "in place it has other bits";

  Tensor x = copied(arguments.inputs[0]), fresh = copied(arguments.inputs[0]);
  inputs[0] = x;
  PreparedUpdate update(call, specs);
  inputs.clear();
  update.place(0, mutable_data(x), mutable_data(fresh));
  update.run();
  if (bytes(fresh) != wanted || bytes(x) != before) return "prepared, and made elsewhere, it has other bits";
  update.place(0, mutable_data(x), mutable_data(x));
  update.run();
  return bytes(x) != wanted ? "prepared, and made in place, it has other bits" : "";
}

// The same call on rows so long that kernels divide them, if only the length of the rows differs then.
std::optional<Making> widened(const Sample& sample, Making making) {
  const Shape& first = sample.inputs[0].spec.shape;
  for (const SampleInput& input : sample.inputs) {
    Shape shape = input.spec.shape;
    if (is_floating(input.spec.dtype)) {
      if (shape.rank() != first.rank() || shape[shape.rank() - 1] != first[first.rank() - 1]) return std::nullopt;
      Ints sizes(shape.begin(), shape.end());
      sizes.back() *= 40'000;
      shape = Shape(sizes);
    }
    making.shapes.push_back(shape);
  }
  return making;
}

class Changes : public RowSuite {
 protected:
  void expect_right(std::size_t s, const Making& making) {
    const auto arguments = make_arguments(op(), samples()[s], making);
    if (!arguments) return;
    EXPECT_EQ(wrong_in_place(op(), *arguments), "") << case_name(op(), s, making.dtype) << shapes_text(arguments->inputs);
    counted();
  }
};

TEST_P(Changes, AreMadeInPlaceWithoutFail) {
  if (!op().is(kChanges)) return not_applicable("makes its own");
  for (std::size_t s = 0; s < samples().size(); ++s)
    for (const DType dtype : dtypes_of(op())) {
      if (!can_prepare(op(), dtype)) continue;
      for (const DType index : {i32, i64}) expect_right(s, {.dtype = dtype, .index = index});
      if (const auto wide = widened(samples()[s], {.dtype = dtype}); wide && dtype == f32) expect_right(s, *wide);
    }
}

INSTANTIATE_TEST_SUITE_P(Rows, Changes, testing::ValuesIn(all_rows()), row_name);

std::string wrong_with(KernelFn kernel) {
  Op op = *find_row("strided_slice_update");
  op.kernel = kernel;
  return wrong_in_place(op, *make_arguments(op, op.samples[0], {.dtype = f32}));
}

TEST(ChangesFaults, AreFound) {
  EXPECT_EQ(wrong_with(find_row("strided_slice_update")->kernel), "");
  EXPECT_EQ(wrong_with([](KernelCall& call) {
              const Ints room(100, 0);
              std::copy_n(call.in<float>(0), call.inputs[0].size(), call.out<float>());
              call.out<float>()[0] = static_cast<float>(room[0]);
            }), "it needs memory");
  EXPECT_EQ(wrong_with([](KernelCall& call) {
              if (call.in<float>(0) == call.out<float>()) throw std::exception();
            }), "it throws");
  EXPECT_EQ(wrong_with([](KernelCall& call) {
              std::fill_n(call.out<float>(), call.inputs[0].size(), 0.f);
              std::copy_n(call.in<float>(0), 3, call.out<float>());
            }), "in place it has other bits");
  EXPECT_EQ(wrong_with([](KernelCall& call) { const_cast<float*>(call.in<float>(0))[0] = 7; }), "made elsewhere it changes its input");
}

}  // namespace
}  // namespace weft::test
