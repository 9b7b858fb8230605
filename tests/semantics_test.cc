// Every promise of tests/data/semantics.txt, and everything of tests/data/pains.txt, is held by tests (tests/promises.h), and
// docs/semantics.md says by which. WEFT_UPDATE_PAGES=1 writes that page.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/promises.h"

namespace weft::test {
namespace {

const char* const kPage = WEFT_SOURCE_DIR "/docs/semantics.md";

std::string count(const Promises& promises, const std::string& word) {
  const auto has = [&](const auto& entry) { return entry.second.word == word; };
  return std::to_string(std::count_if(promises.entries.begin(), promises.entries.end(), has));
}

std::string page() {
  const Promises semantics = read_promises(kSemantics), pains = read_promises(kPains);
  std::ostringstream out;
  out << "# What is promised, and the tests that hold it\n\nThe meaning of tensors, Variables, tapes, functions, modules and optimizers in "
      << semantics.list.last << " entries, with the numbers that the tests carry. The test suite writes this\npage (`./scripts/generate`) from `"
      << semantics.list.file << "` and from the marks above the tests. It fails if the page is not current, if an entry has no\n"
      << "test, or if a test that is named here is gone. " << count(semantics, "") << " of the entries are held by tests, "
      << count(semantics, "no C++ meaning") << " are about another language (*no C++ meaning*), and what " << count(semantics, "later")
      << "\nare about is not there yet (*later*). [state.md](state.md) and [functions.md](functions.md) explain the most important ones.\n"
      << "\n## The entries\n" << semantics.page() << "\n## What has hurt elsewhere\n\nWhat people who program with Variables, tapes and "
      << "traced functions have run into elsewhere, and what holds here instead.\n" << pains.page();
  return out.str();
}

TEST(Semantics, EveryEntryHasTestsOrAWordThatSaysWhyNot) {
  for (const std::string& sentence : read_promises(kSemantics).wrong) ADD_FAILURE() << sentence;
}
TEST(Semantics, EveryPainHasTestsOrAWordThatSaysWhyNot) {
  for (const std::string& sentence : read_promises(kPains).wrong) ADD_FAILURE() << sentence;
}

TEST(Semantics, ThePageIsCurrent) {
  const std::string now = page();
  if (std::getenv("WEFT_UPDATE_PAGES") != nullptr) std::ofstream(kPage) << now;
  std::ostringstream there;
  there << std::ifstream(kPage).rdbuf();
  std::istringstream has(there.str()), wants(now);
  for (std::string a, b;;) {  // the first line that differs says more than two pages
    const bool more = static_cast<bool>(std::getline(has, a)), wanted = static_cast<bool>(std::getline(wants, b));
    if (!more && !wanted) break;
    ASSERT_TRUE(more && wanted && a == b) << "docs/semantics.md is not current; run ./scripts/generate. It says\n  "
                                          << (more ? a : "nothing") << "\nand should say\n  " << (wanted ? b : "nothing");
  }
}

// --- what the check itself finds ---

// A table of all entries that need no test, except for the lines given.
std::vector<std::string> found(const std::string& lines, const std::string& source) {
  const std::set<std::string> registered = {"Tape.Records"};
  std::string table = lines;
  for (int number = 1; number <= kSemantics.last; ++number)
    if (lines.find("\n" + std::to_string(number) + " |") == std::string::npos && number != 13)
      for (const char* word : {"no C++ meaning", "later", ""})
        if (*word == 0 || kSemantics.allowed(word, number)) {
          table += std::to_string(number) + " | " + word + " | Something.\n";
          break;
        }
  table += "13 | | Something.\n";
  std::string tested = "// " + kSemantics.mark + " 13";
  for (int number = 1; number <= kSemantics.last; ++number)
    if (number != 13 && !kSemantics.allowed("no C++ meaning", number) && !kSemantics.allowed("later", number))
      if (lines.find("\n" + std::to_string(number) + " |") == std::string::npos) tested += ", " + std::to_string(number);
  std::istringstream in(table.substr(table[0] == '\n')), text(tested + "\nTEST(Tape, Records) {\n}\n" + source);
  Promises check{kSemantics};
  check.read_table(in);
  check.read_source("x.cc", text, registered);
  check.compare();
  return check.wrong;
}
using Sentences = std::vector<std::string>;

TEST(Semantics, TheCheckFindsWhatIsWrong) {
  const std::string mark = "// " + kSemantics.mark;
  EXPECT_EQ(found("", ""), Sentences{});
  EXPECT_EQ(found("\n5 | | A promise.\n", ""), Sentences{"entry 5 has no test"});
  EXPECT_EQ(found("\n5 | | A promise.\n", mark + " 5: held\n// by this\nTEST(Tape, Records) {\n"), Sentences{});
  EXPECT_EQ(found("\n5 | | A promise.\n", mark + " 5\nTEST(Tape, Forgets) {\n"), Sentences{"x.cc:5: there is no test Tape.Forgets"});
  EXPECT_EQ(found("\n5 | no C++ meaning | A promise.\n", ""), Sentences{"entry 5 may not be called \"no C++ meaning\""});
  EXPECT_EQ(found("\n45 | later | A promise.\n", ""), Sentences{"entry 45 may not be called \"later\""});
  EXPECT_EQ(found("\n100 | soon | A promise.\n", ""), Sentences{"entry 100 may not be called \"soon\""});
  EXPECT_EQ(found("\n100 | | A promise.\n", ""), Sentences{"entry 100 has no test"});
  EXPECT_EQ(found("", mark + " 8\nTEST(Tape, Records) {\n"), Sentences{"entry 8 has a test, and the word \"no C++ meaning\" as well"});
  EXPECT_EQ(found("", mark + " 201\nTEST(Tape, Records) {\n"), Sentences{"x.cc:5: there is no entry 201"});
  EXPECT_EQ(found("", mark + " 13\nint x;\n"), Sentences{"x.cc:5: below a mark comes a test"});
  EXPECT_EQ(found("", mark + " 13\n"), Sentences{"x.cc: below the last mark comes no test"});
  EXPECT_EQ(found("", "f();  " + mark + " 13\n"), Sentences{"x.cc:4: a mark is a line of its own: " + mark + " 1, 2: remark"});
  EXPECT_EQ(found("\n8 | no C++ meaning | A.\n8 | no C++ meaning | B.\n", ""), Sentences{"entry 8 is there twice"});
  EXPECT_EQ(found("nonsense\n", ""), Sentences{"the table has a line that is not `number | word | meaning`: nonsense"});
  EXPECT_EQ(found("201 | later | A promise.\n", ""),
            (Sentences{"entry 201 is not from 1 to 200", "entry 201 may not be called \"later\""}));
}

}  // namespace
}  // namespace weft::test
