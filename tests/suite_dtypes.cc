// For every row: each dtype it claims runs and agrees with f64, integers with i64.
#include <cmath>

#include "tests/suite_rows.h"

namespace weft::test {
namespace {

// How far the outputs move when every floating input moves by a few roundings: what an exact computation could not know.
std::vector<std::vector<double>> response(const Op& op, const Arguments& exact, const Tensors& reference, double relative) {
  std::vector<std::vector<double>> result;
  for (const Tensor& y : reference) result.emplace_back(static_cast<std::size_t>(y.size()), 0.0);
  Numbers64 numbers(17);
  for (int trial = 0; trial < 4; ++trial) {
    Arguments moved = exact;
    for (Tensor& x : moved.inputs) {
      if (!is_floating(x.dtype())) continue;
      std::vector<double> v = values(x);
      for (double& e : v) e *= 1 + relative * (numbers.integer(0, 1) == 0 ? -1.0 : 1.0);
      x = with_values(x.spec(), v);
    }
    try {
      const Tensors outputs = run(op, moved);
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        const std::vector<double> a = values(outputs[o]), b = values(reference[o]);
        for (std::size_t k = 0; a.size() == b.size() && k < a.size(); ++k)
          if (std::isfinite(a[k] - b[k])) result[o][k] = std::max(result[o][k], std::abs(a[k] - b[k]));
      }
    } catch (const Error&) {  // moved out of the op's domain
    }
  }
  return result;
}

class Dtypes : public RowSuite {
 protected:
  // An output that is not floating depends on the arguments alone; a floating one is rounded.
  void expect_floats_agree(std::size_t s, DType dtype) {
    const auto arguments = make_arguments(op(), samples()[s], {.dtype = dtype});
    if (!arguments) return;
    const Arguments exact = converted(op(), *arguments, f64);
    const Tensors outputs = run(op(), *arguments), reference = run(op(), exact);
    ASSERT_EQ(outputs.size(), reference.size());
    const auto moves = response(op(), exact, reference, epsilon_of(dtype));
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const DType out = outputs[o].dtype();
      const std::vector<double> want = values(reference[o]);
      double largest = 0;
      for (const double v : want) largest = std::isfinite(v) ? std::max(largest, std::abs(v)) : largest;
      std::string wrong;
      if (!is_floating(out)) {
        wrong = difference(values(outputs[o]), want, [](std::size_t, double) { return 0.0; });
      } else if (is_half(out) && op().expand == nullptr) {  // f32 inside, rounded once
        wrong = difference(values(outputs[o]), want, [&](std::size_t k, double v) {
          return spacing(out, v) + moves[o][k] * epsilon_of(f32) / epsilon_of(dtype) * 16 + 1e-6 * largest;
        });
      } else if (is_half(out)) {  // every part rounds
        wrong = difference(values(outputs[o]), want, [&](std::size_t k, double v) { return 4 * spacing(out, v) + 4 * moves[o][k] + 4 * epsilon_of(out) * largest; });
      } else {
        wrong = difference(values(outputs[o]), want, [&](std::size_t k, double v) { return 1e-5 * std::max(1.0, std::abs(v)) + 4 * moves[o][k] + 1e-6 * largest; });
      }
      EXPECT_EQ(wrong, "") << case_name(op(), s, dtype) << "output " << o << " of " << shapes_text(arguments->inputs);
    }
    counted();
  }

  // Integers wrap, so the result is the one of i64 modulo 2^width.
  void expect_integers_agree(std::size_t s, DType dtype) {
    const auto arguments = make_arguments(op(), samples()[s], {.dtype = dtype});
    if (!arguments) return;
    const Tensors outputs = run(op(), *arguments);
    counted();
    const bool has_i64 = (op().dtypes & bit(i64)) != 0;
    if (dtype != i64 && dtype != bool_ && has_i64) {
      const Tensors reference = run(op(), converted(op(), *arguments, i64));
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        std::vector<double> want = values(reference[o]);
        if (outputs[o].dtype() != reference[o].dtype() && is_integer(outputs[o].dtype()) && is_integer(reference[o].dtype())) {
          std::vector<double> wrapped;
          with_element(outputs[o].dtype(), [&](auto* tag) {
            using T = std::remove_pointer_t<decltype(tag)>;
            if constexpr (std::integral<T>)
              for (const double v : want) wrapped.push_back(static_cast<double>(static_cast<T>(static_cast<std::int64_t>(v))));
          });
          want = wrapped;
        }
        const double relative = is_floating(outputs[o].dtype()) ? 1e-5 : 0;
        EXPECT_EQ(difference(values(outputs[o]), want, [&](std::size_t, double v) { return relative * std::max(1.0, std::abs(v)); }), "")
            << case_name(op(), s, dtype) << "output " << o << " against i64, of " << shapes_text(arguments->inputs);
      }
    }
    if (dtype == i64 && (op().dtypes & bit(f64)) != 0) {
      const Tensors reference = run(op(), converted(op(), *arguments, f64));
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        // Where the floating result is not a whole number, an integer op rounds it in some direction.
        const bool whole = !is_floating(outputs[o].dtype());
        EXPECT_EQ(difference(values(outputs[o]), values(reference[o]), [&](std::size_t, double v) { return !whole ? 1e-12 * std::max(1.0, std::abs(v)) : v == std::floor(v) ? 0.0 : 0.999999; }), "")
            << case_name(op(), s, dtype) << "output " << o << " against f64, of " << shapes_text(arguments->inputs);
      }
    }
  }
};

TEST_P(Dtypes, AgreeWithTheWidest) {
  const bool draws = std::string_view(GetParam().family) == "random";  // another dtype uses other bits of the stream
  std::size_t run_by_dtype[kNumDTypes] = {};
  for (std::size_t s = 0; s < samples().size(); ++s) {
    for (const DType dtype : dtypes_of(op())) {
      SCOPED_TRACE(case_name(op(), s, dtype));
      if (make_arguments(op(), samples()[s], {.dtype = dtype})) ++run_by_dtype[static_cast<int>(dtype)];
      try {
        if (draws || !has_common_input(op())) {
          if (const auto arguments = make_arguments(op(), samples()[s], {.dtype = dtype})) run(op(), *arguments), counted();
        } else if (is_floating(dtype) && (op().dtypes & bit(f64))) {
          expect_floats_agree(s, dtype);
        } else {
          expect_integers_agree(s, dtype);
        }
      } catch (const std::exception& e) {
        ADD_FAILURE() << "throws: " << e.what();
      }
    }
  }
  if (small_scale()) return;
  for (const DType dtype : dtypes_of(op()))
    EXPECT_GT(run_by_dtype[static_cast<int>(dtype)], 0u) << op().name << " claims " << name_of(dtype) << ", but no sample has values of it";
}

class IndexDtypes : public RowSuite {};

TEST_P(IndexDtypes, DoNotMatter) {
  bool indexed = false;
  for (const Input& input : op().inputs) indexed = indexed || input.type == Input::Type::kIndex;
  if (!indexed) return not_applicable("no index");
  for (std::size_t s = 0; s < samples().size(); ++s) {
    const DType dtype = dtypes_of(op())[0];
    const auto narrow = make_arguments(op(), samples()[s], {.dtype = dtype, .index = i32}), wide = make_arguments(op(), samples()[s], {.dtype = dtype, .index = i64});
    if (!narrow || !wide) continue;
    const Tensors a = run(op(), *narrow), b = run(op(), *wide);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t o = 0; o < a.size(); ++o) EXPECT_EQ(difference(values(a[o]), values(b[o]), [](std::size_t, double) { return 0.0; }), "") << case_name(op(), s, dtype);
    counted();
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, IndexDtypes, testing::ValuesIn(all_rows()), row_name);
INSTANTIATE_TEST_SUITE_P(Rows, Dtypes, testing::ValuesIn(all_rows()), row_name);

}  // namespace
}  // namespace weft::test
