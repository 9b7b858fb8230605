// Every op gives a result or a typed error for anything it is called with.
//
// bad_input_cases.h generates the calls from the rows; bad_input_child.h runs them in a process with a limit on memory and
// time. How many calls of each class give a result, and how many which error, is kept in tests/data/bad_input_matrix.txt:
// whoever deletes a check changes the matrix. After a change that is meant,
//   WEFT_UPDATE_MATRIX=1 weft_tests --gtest_filter='*BadInput*'    writes it again (for the ops that ran); review the difference.
//   weft_tests --gtest_filter='*BadInput*/reduce_*'                runs one family.
// WEFT_TEST_SCALE=small tries one call in eight and does not compare the matrix.
#include <gtest/gtest.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "ops/table.h"
#include "tests/bad_input_cases.h"
#include "tests/bad_input_child.h"

namespace weft::bad_input {
namespace {

// WEFT_MATRIX_FILE names another one, for a copy of the tree that this program was not built from.
std::string matrix_file() {
  const char* other = std::getenv("WEFT_MATRIX_FILE");
  return other != nullptr ? other : WEFT_SOURCE_DIR "/tests/data/bad_input_matrix.txt";
}

/// Lines by op: "add C ok=18 ShapeError=4".
using Matrix = std::map<std::string, std::vector<std::string>>;

Matrix read_matrix(const std::string& path) {
  Matrix result;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#') result[line.substr(0, line.find(' '))].push_back(line);
  return result;
}

void write_matrix(const std::string& path, const Matrix& matrix) {
  std::ofstream file(path);
  file << "# Outcomes of bad and odd calls, by op and class; tests/bad_input_test.cc says how to write this file.\n#\n";
  for (const Class& kind : classes()) file << "# " << kind.letter << "  " << kind.what << "\n";
  for (const Family& family : families())
    for (const Op& op : family.rows)
      if (const auto found = matrix.find(op.name); found != matrix.end())
        for (const std::string& line : found->second) file << line << "\n";
}

std::vector<std::string> lines_of(const Op& op, const Report& report) {
  std::vector<std::string> lines;
  for (const auto& [letter, outcomes] : report.outcomes) {
    std::ostringstream line;
    line << op.name << " " << letter;
    for (const auto& [outcome, count] : outcomes) line << " " << outcome << "=" << count;
    lines.push_back(line.str());
  }
  return lines;
}

bool small() {
  const char* scale = std::getenv("WEFT_TEST_SCALE");
  return scale != nullptr && std::string_view(scale) == "small";
}
bool updating() { return std::getenv("WEFT_UPDATE_MATRIX") != nullptr; }

Matrix& seen() {
  static Matrix matrix;
  return matrix;
}

// When all is done: what was seen goes beside the program, and into the source tree if asked.
class WriteMatrix : public testing::Environment {
  void TearDown() override {
    if (seen().empty() || small()) return;
    char program[PATH_MAX] = "";
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    const std::string folder = length > 0 ? std::string(program, static_cast<std::size_t>(length)) : "weft_tests";
    const char* shard = std::getenv("GTEST_SHARD_INDEX");
    write_matrix(folder.substr(0, folder.rfind('/') + 1) + "bad_input_matrix" + (shard ? std::string(".") + shard : "") + ".txt", seen());
    if (!updating()) return;
    Matrix whole = read_matrix(matrix_file());
    for (const auto& [op, lines] : seen()) whole[op] = lines;
    write_matrix(matrix_file(), whole);
  }
};
[[maybe_unused]] const testing::Environment* const kWriteMatrix = testing::AddGlobalTestEnvironment(new WriteMatrix);

struct Row {
  const Family* family;
  const Op* op;
};
std::vector<Row> rows() {
  std::vector<Row> result;
  for (const Family& family : families())
    for (const Op& op : family.rows) result.push_back({&family, &op});
  return result;
}
void PrintTo(const Row& row, std::ostream* out) { *out << row.op->name; }

class BadInput : public testing::TestWithParam<Row> {};

TEST_P(BadInput, GivesAResultOrATypedError) {
  const Op& op = *GetParam().op;
  const Report report = run_in_child(op, small());
  constexpr std::size_t kShown = 12;
  for (std::size_t i = 0; i < std::min(kShown, report.failures.size()); ++i) ADD_FAILURE() << op.name << ": " << report.failures[i];
  if (report.failures.size() > kShown) ADD_FAILURE() << op.name << ": and " << report.failures.size() - kShown << " more";
  if (small()) return;
  const std::vector<std::string> lines = lines_of(op, report);
  seen()[op.name] = lines;
  if (updating()) return;
  static const Matrix expected = read_matrix(matrix_file());
  const auto found = expected.find(op.name);
  const std::vector<std::string> none;
  EXPECT_EQ(lines, found == expected.end() ? none : found->second) << "the outcomes changed: was a check lost, or is this meant? (see the head of this file)";
}

INSTANTIATE_TEST_SUITE_P(Table, BadInput, testing::ValuesIn(rows()),
                         [](const auto& test) { return std::string(test.param.family->name) + "_" + test.param.op->name; });

// The matrix has no blank: wherever the declaration says that a class applies, there are calls.
TEST(BadInputMatrix, HasCasesWhereverAClassApplies) {
  std::size_t applicable = 0, calls = 0;
  for (const Row& row : rows())
    for (const Class& kind : classes()) {
      const std::size_t count = cases(*row.op, kind.letter).size();
      calls += count;
      if (!kind.applies(*row.op)) continue;
      ++applicable;
      EXPECT_GT(count, 0u) << row.op->name << " " << kind.letter << ": " << kind.what;
    }
  std::cout << calls << " calls in " << applicable << " cells of " << row_count() << " ops\n";
}

TEST(BadInputMatrix, HasNoLinesOfOpsThatAreGone) {
  for (const auto& [op, lines] : read_matrix(matrix_file())) EXPECT_NE(find_row(op), nullptr) << op;
}

// Not a test: the process that run_in_child starts.
TEST(BadInputChild, DISABLED_TriesCalls) {
  const char *op = std::getenv("WEFT_BAD_INPUT_OP"), *first = std::getenv("WEFT_BAD_INPUT_FIRST"), *descriptor = std::getenv("WEFT_BAD_INPUT_FD"),
             *only_some = std::getenv("WEFT_BAD_INPUT_SMALL");
  if (op == nullptr || first == nullptr || descriptor == nullptr || only_some == nullptr) GTEST_SKIP() << "runs only in a child of BadInput";
  _exit(child_main(*find_row(op), std::strtoull(first, nullptr, 10), std::string_view(only_some) == "1", std::atoi(descriptor)));
}

}  // namespace
}  // namespace weft::bad_input
