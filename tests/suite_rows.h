// What the suites share that run once for every row of the table.
#pragma once

#include <gtest/gtest.h>

#include "ops/table.h"
#include "tests/samples.h"

namespace weft::test {

/// A row as a test parameter.
struct Row {
  const Op* op;
  const char* family;
};
void PrintTo(const Row& row, std::ostream* out);
std::vector<Row> all_rows();
std::string row_name(const testing::TestParamInfo<Row>& info);

/// Whether WEFT_TEST_SCALE=small asks for fewer cases, or WEFT_TEST_SCALE=long for as many as a release needs.
bool small_scale();
bool long_scale();

/// A suite with one test for each row. Its outcome is a cell of the matrix that the program leaves in op_matrix.txt beside
/// itself: the number of cases, FAILED, or why the suite cannot apply to the row.
class RowSuite : public testing::TestWithParam<Row> {
 protected:
  const Op& op() const { return *GetParam().op; }
  /// The samples to go through: all, or the first at small scale.
  std::span<const Sample> samples() const;
  void counted(std::size_t cases = 1) { cases_ += cases; }
  void not_applicable(std::string why) { why_ = std::move(why); }
  void TearDown() override;

 private:
  std::size_t cases_ = 0;
  std::string why_;
};

/// "sample 1, f16": what a failure message starts with.
std::string case_name(const Op& op, std::size_t sample, DType dtype);
std::string shapes_text(const Tensors& tensors);

/// Compares elementwise; NaN agrees with NaN. Returns a description of the worst element, or nothing. `allowed(want)` is the
/// error allowed at an element of that value.
template <class Allowed>
std::string difference(const std::vector<double>& got, const std::vector<double>& want, const Allowed& allowed) {
  if (got.size() != want.size()) return std::to_string(got.size()) + " elements instead of " + std::to_string(want.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    if (got[k] == want[k] || (got[k] != got[k] && want[k] != want[k])) continue;
    const double error = got[k] > want[k] ? got[k] - want[k] : want[k] - got[k];
    if (error <= allowed(k, want[k])) continue;
    char text[160];
    std::snprintf(text, sizeof text, "element %zu is %.17g instead of %.17g; the error %.3g is more than %.3g", k, got[k], want[k], error, allowed(k, want[k]));
    return text;
  }
  return "";
}

/// The spacing of the dtype's numbers at v.
double spacing(DType dtype, double v);
double epsilon_of(DType dtype);

}  // namespace weft::test
