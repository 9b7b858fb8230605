// For every row: results depend on the arguments alone, not on what memory held before nor on where an element lies.
#include <cstring>

#include "tests/suite_rows.h"

namespace weft::test {
namespace {

std::string bytes_of(const Tensor& x) { return {elements<char>(x), static_cast<std::size_t>(x.size()) * size_of(x.dtype())}; }

// Leaves blocks of the sizes that the outputs will ask for, filled with `pattern`, where the next allocation finds them.
void dirty_memory(std::span<const Tensor> outputs, int pattern) {
  std::vector<Tensor> held;
  for (const Tensor& y : outputs)
    for (int copy = 0; copy < 8; ++copy) {
      held.push_back(make_tensor(y.spec()));
      std::memset(mutable_data(held.back()), pattern, static_cast<std::size_t>(y.size()) * size_of(y.dtype()));
      if (y.node()->buffer) continue;
      std::memset(held.back().node()->inline_data, pattern, sizeof held.back().node()->inline_data);
    }
}

class Repeats : public RowSuite {};

TEST_P(Repeats, BitForBitOnDirtyMemory) {
  for (std::size_t s = 0; s < samples().size(); ++s)
    for (const DType dtype : dtypes_of(op())) {
      const auto arguments = make_arguments(op(), samples()[s], {.dtype = dtype});
      if (!arguments) continue;
      std::vector<std::string> before;
      for (const Tensor& x : arguments->inputs) before.push_back(bytes_of(x));
      const Tensors first = run(op(), *arguments);
      for (const int pattern : {0xff, 0x00, 0x5a}) {
        dirty_memory(first, pattern);
        const Tensors again = run(op(), *arguments);
        ASSERT_EQ(first.size(), again.size());
        for (std::size_t o = 0; o < first.size(); ++o)
          EXPECT_TRUE(first[o].spec() == again[o].spec() && bytes_of(first[o]) == bytes_of(again[o]))
              << case_name(op(), s, dtype) << "output " << o << " differs when memory held " << pattern << " before";
      }
      for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(bytes_of(arguments->inputs[i]), before[i]) << case_name(op(), s, dtype) << "input " << i << " was changed";
      counted();
    }
}

// Lengths around the blocks in which pointwise code runs; whole and broken vectors.
constexpr std::int64_t kLengths[] = {1, 2, 3, 5, 8, 15, 17, 33, 511, 513, 1100};

class Positions : public RowSuite {};

TEST_P(Positions, DoNotMatter) {
  if (!op().tile) return not_applicable("no tile");
  const Sample& sample = op().samples[0];
  for (const DType dtype : dtypes_of(op())) {
    const bool common = dtype == f32 || dtype == f64 || dtype == f16 || dtype == i32 || dtype == u8 || dtype == bool_;
    if (!common) continue;
    std::vector<Shape> shapes(sample.inputs.size(), Shape{kLengths[std::size(kLengths) - 1]});
    const auto longest = make_arguments(op(), sample, {.dtype = dtype, .shapes = shapes});
    if (!longest) continue;
    const Tensor whole = run(op(), *longest)[0];
    const std::string expected = bytes_of(whole);
    const std::size_t size = size_of(whole.dtype());
    for (const std::int64_t length : kLengths) {
      const auto offset = static_cast<std::size_t>(kLengths[std::size(kLengths) - 1] - length);  // the end of the longest run, at another alignment
      Arguments part{{}, longest->attrs};
      for (const Tensor& x : longest->inputs) {
        const std::vector<double> all = values(x);
        part.inputs.push_back(with_values({x.dtype(), {length}}, std::span(all).subspan(offset)));
      }
      EXPECT_TRUE(bytes_of(run(op(), part)[0]) == expected.substr(offset * size)) << case_name(op(), 0, dtype) << "the last " << length << " elements alone differ";
      counted();
    }
    if (small_scale()) continue;
    for (std::size_t k = 0; k < 40; ++k) {  // beside a scalar
      Arguments one{{}, longest->attrs};
      for (const Tensor& x : longest->inputs) one.inputs.push_back(with_values({x.dtype(), {}}, std::vector<double>{values(x)[k * 27]}));
      EXPECT_TRUE(bytes_of(run(op(), one)[0]) == expected.substr(k * 27 * size, size)) << case_name(op(), 0, dtype) << "element " << k * 27 << " alone differs";
    }
  }
}

TEST(Values, DoNotMatterToRowsOfSpecs) {
  std::size_t rows = 0;
  for (const Row& row : all_rows()) {
    if (!row.op->is(kOfSpecs)) continue;
    ++rows;
    for (std::size_t s = 0; s < row.op->samples.size(); ++s) {
      const auto arguments = make_arguments(*row.op, row.op->samples[s], {.dtype = f32});
      ASSERT_TRUE(arguments.has_value());
      Arguments others{{}, arguments->attrs};
      for (const Tensor& x : arguments->inputs) {
        others.inputs.push_back(make_tensor(x.spec()));
        std::memset(mutable_data(others.inputs.back()), 0xff, static_cast<std::size_t>(x.size()) * size_of(x.dtype()));
      }
      const Tensors want = run(*row.op, *arguments), got = run(*row.op, others);
      for (std::size_t o = 0; o < want.size(); ++o) EXPECT_EQ(bytes_of(got[o]), bytes_of(want[o])) << case_name(*row.op, s, f32);
    }
  }
  EXPECT_GE(rows, 4u);
}

INSTANTIATE_TEST_SUITE_P(Rows, Repeats, testing::ValuesIn(all_rows()), row_name);
INSTANTIATE_TEST_SUITE_P(Rows, Positions, testing::ValuesIn(all_rows()), row_name);

}  // namespace
}  // namespace weft::test
