// Which tests hold which entry of tests/data/semantics.txt and of tests/data/pains.txt. Above a test stands, in a line of its own, the mark of
// what it holds:
//
//   // MARK 45, 46: a remark         with the mark of the list for MARK
//
// Every entry has a test or a word that says why not, every mark an entry and a test.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace {

struct Range {
  int first, last;
};
using Ranges = std::vector<Range>;

/// A list of promises. An entry without a test has one of these words.
struct List {
  std::string mark, file;
  int last;
  std::map<std::string, Ranges> words;

  bool allowed(const std::string& word, int number) const {
    const auto ranges = words.find(word);
    return ranges != words.end() &&
           std::any_of(ranges->second.begin(), ranges->second.end(), [&](Range r) { return r.first <= number && number <= r.last; });
  }
};

const List kSemantics{
    "SEMANTICS", "tests/data/semantics.txt", 200,
    {{"no C++ meaning", {{8, 8}, {19, 19}, {96, 96}, {99, 99}, {102, 102}, {122, 122}, {142, 142}, {164, 166}, {175, 177}}},
     {"with Function", {{12, 12}, {43, 43}, {135, 135}}},
     {"later", {{74, 78}, {86, 91}, {188, 200}}}}};
const List kPains{"PAIN", "tests/data/pains.txt", 25, {{"no C++ meaning", {{20, 20}}}, {"later", {{17, 17}, {22, 23}}}}};

struct Entry {
  std::string word, meaning;
  std::vector<std::string> tests = {};
};

struct Check {
  const List& list;
  std::map<int, Entry> entries = {};
  std::vector<std::string> wrong = {};

  void read_table(std::istream& table) {
    static const std::regex form(R"((\d+) \| ([^|]*?) ?\| (.+))");
    for (std::string line; std::getline(table, line);) {
      if (line.empty() || line[0] == '#') continue;
      std::smatch part;
      if (!std::regex_match(line, part, form)) {
        wrong.push_back("the table has a line that is not `number | word | meaning`: " + line);
        continue;
      }
      const int number = std::stoi(part[1]);
      if (!entries.try_emplace(number, Entry{part[2], part[3]}).second) wrong.push_back("entry " + part[1].str() + " is there twice");
      if (number < 1 || number > list.last) wrong.push_back("entry " + part[1].str() + " is not from 1 to " + std::to_string(list.last));
    }
    for (int number = 1; number <= list.last; ++number)
      if (!entries.contains(number)) wrong.push_back("entry " + std::to_string(number) + " is missing in the table");
  }

  void read_source(const std::string& name, std::istream& source, const std::set<std::string>& registered) {
    const std::regex mark("// " + list.mark + R"( (\d+(?:, \d+)*)(?:: .*)?)"), test(R"(TEST(?:_F|_P)?\((\w+), (\w+)\).*)"), digits(R"(\d+)");
    std::set<int> pending;
    int number = 0;
    for (std::string line; std::getline(source, line);) {
      const std::string at = name + ":" + std::to_string(++number) + ": ";
      std::smatch part;
      if (std::regex_match(line, part, mark)) {
        const std::string numbers = part[1];
        for (std::sregex_iterator i(numbers.begin(), numbers.end(), digits), end; i != end; ++i) pending.insert(std::stoi(i->str()));
      } else if (line.find(list.mark + " ") != std::string::npos) {
        wrong.push_back(at + "a mark is a line of its own: // " + list.mark + " 1, 2: remark");
      } else if (std::regex_match(line, part, test)) {
        const std::string title = part[1].str() + "." + part[2].str();
        if (!pending.empty() && !registered.contains(title)) wrong.push_back(at + "there is no test " + title);
        for (const int held : pending)
          if (const auto entry = entries.find(held); entry != entries.end()) entry->second.tests.push_back(title);
          else wrong.push_back(at + "there is no entry " + std::to_string(held));
        pending.clear();
      } else if (!pending.empty() && !line.starts_with("//")) {
        wrong.push_back(at + "below a mark comes a test");
        pending.clear();
      }
    }
    if (!pending.empty()) wrong.push_back(name + ": below the last mark comes no test");
  }

  void compare() {
    for (const auto& [number, entry] : entries) {
      const std::string what = "entry " + std::to_string(number);
      if (!entry.word.empty() && !list.allowed(entry.word, number)) wrong.push_back(what + " may not be called \"" + entry.word + "\"");
      if (entry.word.empty() && entry.tests.empty()) wrong.push_back(what + " has no test");
      if (!entry.word.empty() && !entry.tests.empty()) wrong.push_back(what + " has a test, and the word \"" + entry.word + "\" as well");
    }
  }

  std::string table() const {
    std::ostringstream out;
    for (const auto& [number, entry] : entries) {
      out << number << " -> " << entry.word;
      for (std::size_t i = 0; i < entry.tests.size(); ++i) out << (i == 0 ? "" : ", ") << entry.tests[i];
      out << "\n";
    }
    return out.str();
  }
};

// Of a parameterised test the part before the slash counts: it is what stands in the source.
std::set<std::string> registered_tests() {
  std::set<std::string> names;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    const std::string prefixed = suite.name(), name = prefixed.substr(prefixed.find('/') + 1);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const std::string test = suite.GetTestInfo(t)->name();
      names.insert(name + "." + test.substr(0, test.find('/')));
    }
  }
  return names;
}

void check_list(const List& list) {
  const std::filesystem::path root = WEFT_SOURCE_DIR;
  Check check{list};
  std::ifstream table(root / list.file);
  ASSERT_TRUE(table) << list.file << " cannot be read";
  check.read_table(table);
  std::set<std::filesystem::path> sources;
  for (const char* folder : {"src", "tests"})
    for (const auto& file : std::filesystem::recursive_directory_iterator(root / folder))
      if (file.path().extension() == ".cc") sources.insert(file.path());
  const std::set<std::string> registered = registered_tests();
  for (const auto& path : sources) {
    std::ifstream source(path);
    check.read_source(path.lexically_relative(root).string(), source, registered);
  }
  check.compare();
  std::cout << check.table();
  for (const std::string& sentence : check.wrong) ADD_FAILURE() << sentence;
}

TEST(Semantics, EveryEntryHasTestsOrAWordThatSaysWhyNot) { check_list(kSemantics); }
TEST(Semantics, EveryPainHasTestsOrAWordThatSaysWhyNot) { check_list(kPains); }

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
  Check check{kSemantics};
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
