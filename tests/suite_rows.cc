#include "tests/suite_rows.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace weft::test {
namespace {

// row -> suite -> cell
using Cells = std::map<std::string, std::map<std::string, std::string>>;
Cells& cells() {
  static Cells instance;
  return instance;
}

int shard(const char* variable, int fallback) {
  const char* text = std::getenv(variable);
  return text == nullptr ? fallback : std::atoi(text);
}

// Each shard of the program leaves its cells in a file of its own and merges the files that exist: whichever ends last has all.
class Matrix : public testing::Environment {
 public:
  void TearDown() override {
    if (cells().empty()) return;
    const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    const int total = shard("GTEST_TOTAL_SHARDS", 1);
    const auto part = [&](int i) { return folder / ("op_matrix." + std::to_string(i) + ".part"); };
    write(part(shard("GTEST_SHARD_INDEX", 0)), [](std::ostream& out) {
      for (const auto& [row, suites] : cells())
        for (const auto& [suite, cell] : suites) out << row << ' ' << suite << ' ' << cell << '\n';
    });
    Cells all;
    std::set<std::string> columns;
    for (int i = 0; i < total; ++i) {
      std::ifstream in(part(i));
      for (std::string row, suite, cell; in >> row >> suite && std::getline(in >> std::ws, cell);) {
        all[row][suite] = cell;
        columns.insert(suite);
      }
    }
    write(folder / "op_matrix.txt", [&](std::ostream& out) { print(out, all, columns); });
  }

 private:
  template <class F>
  static void write(const std::filesystem::path& path, const F& body) {
    const std::filesystem::path fresh = path.string() + "." + std::to_string(shard("GTEST_SHARD_INDEX", 0)) + ".new";
    {
      std::ofstream out(fresh);
      body(out);
    }
    std::filesystem::rename(fresh, path);
  }
  static void print(std::ostream& out, Cells& all, const std::set<std::string>& columns) {
    const auto cell = [&](const std::string& text, std::size_t width) { out << text << std::string(text.size() < width ? width - text.size() : 1, ' '); };
    cell("op", 26);
    for (const std::string& column : columns) cell(column, 16);
    out << '\n';
    for (const Row& row : all_rows()) {
      cell(row.op->name, 26);
      for (const std::string& column : columns) {
        const std::string& text = all[row.op->name][column];
        cell(text.empty() ? "not run" : text, 16);
      }
      out << '\n';
    }
  }
};

const bool matrix_is_written = testing::AddGlobalTestEnvironment(new Matrix) != nullptr;

}  // namespace

void PrintTo(const Row& row, std::ostream* out) { *out << row.op->name; }

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (const Family& family : families())
    for (const Op& op : family.rows) rows.push_back({&op, family.name});
  return rows;
}

std::string row_name(const testing::TestParamInfo<Row>& info) { return info.param.op->name; }

namespace {
bool scale_is(std::string_view word) {
  const char* text = std::getenv("WEFT_TEST_SCALE");
  return text != nullptr && text == word;
}
}  // namespace
bool small_scale() { return scale_is("small"); }
bool long_scale() { return scale_is("long"); }

std::span<const Sample> RowSuite::samples() const {
  const std::span<const Sample> all = op().samples;
  return small_scale() && all.size() > 1 ? all.first(1) : all;
}

void RowSuite::TearDown() {
  EXPECT_TRUE(matrix_is_written);
  if (cases_ == 0 && why_.empty() && !HasFailure()) ADD_FAILURE() << op().name << ": no case was run; the row needs samples";
  std::string suite = testing::UnitTest::GetInstance()->current_test_info()->test_suite_name();
  if (const auto slash = suite.rfind('/'); slash != std::string::npos) suite = suite.substr(slash + 1);
  cells()[op().name][suite] = HasFailure() ? "FAILED" : cases_ > 0 ? std::to_string(cases_) : why_;
}

std::string case_name(const Op& op, std::size_t sample, DType dtype) {
  return std::string(op.name) + ", sample " + std::to_string(sample) + ", " + std::string(name_of(dtype)) + ": ";
}

std::string shapes_text(const Tensors& tensors) {
  std::string text;
  for (const Tensor& x : tensors) text += (text.empty() ? "" : " ") + x.spec().str();
  return text;
}

double epsilon_of(DType dtype) { return dtype == f64 ? 0x1p-52 : dtype == f32 ? 0x1p-23 : dtype == f16 ? 0x1p-10 : 0x1p-7; }

double spacing(DType dtype, double v) {
  if (v == 0 || !std::isfinite(v)) return dtype == f16 ? 0x1p-24 : 0x1p-133;
  const int lowest = dtype == f16 ? -14 : dtype == f64 ? -1022 : -126;
  return std::ldexp(epsilon_of(dtype), std::max(std::ilogb(v), lowest));
}

}  // namespace weft::test
