#include "tests/promises.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>

namespace weft::test {

const List kSemantics{
    "SEMANTICS", "tests/data/semantics.txt", 200,
    {{"no C++ meaning", {{8, 8}, {19, 19}, {96, 96}, {99, 99}, {102, 102}, {122, 122}, {142, 142}, {164, 166}, {175, 177}}},
     {"later", {{189, 195}}}}};
const List kPains{"PAIN", "tests/data/pains.txt", 25, {{"no C++ meaning", {{20, 20}}}, {"later", {{22, 23}}}}};

bool List::allowed(const std::string& word, int number) const {
  const auto ranges = words.find(word);
  return ranges != words.end() &&
         std::any_of(ranges->second.begin(), ranges->second.end(), [&](Range r) { return r.first <= number && number <= r.last; });
}

void Promises::read_table(std::istream& table) {
  static const std::regex form(R"((\d+) \| ([^|]*?) ?\| (.+))");
  std::string section;
  bool after_empty = false;
  for (std::string line; std::getline(table, line);) {
    if (line.starts_with("# ") && after_empty) section = line.substr(2);
    after_empty = line.empty();
    if (line.empty() || line[0] == '#') continue;
    std::smatch part;
    if (!std::regex_match(line, part, form)) {
      wrong.push_back("the table has a line that is not `number | word | meaning`: " + line);
      continue;
    }
    const int number = std::stoi(part[1]);
    const bool first = entries.try_emplace(number, Entry{section, part[2], part[3]}).second;
    if (!first) wrong.push_back("entry " + part[1].str() + " is there twice");
    if (number < 1 || number > list.last) wrong.push_back("entry " + part[1].str() + " is not from 1 to " + std::to_string(list.last));
  }
  for (int number = 1; number <= list.last; ++number)
    if (!entries.contains(number)) wrong.push_back("entry " + std::to_string(number) + " is missing in the table");
}

void Promises::read_source(const std::string& name, std::istream& source, const std::set<std::string>& registered) {
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
        if (const auto entry = entries.find(held); entry != entries.end()) entry->second.tests.push_back({title, name});
        else wrong.push_back(at + "there is no entry " + std::to_string(held));
      pending.clear();
    } else if (!pending.empty() && !line.starts_with("//")) {
      wrong.push_back(at + "below a mark comes a test");
      pending.clear();
    }
  }
  if (!pending.empty()) wrong.push_back(name + ": below the last mark comes no test");
}

void Promises::compare() {
  for (const auto& [number, entry] : entries) {
    const std::string what = "entry " + std::to_string(number);
    if (!entry.word.empty() && !list.allowed(entry.word, number)) wrong.push_back(what + " may not be called \"" + entry.word + "\"");
    if (entry.word.empty() && entry.tests.empty()) wrong.push_back(what + " has no test");
    if (!entry.word.empty() && !entry.tests.empty()) wrong.push_back(what + " has a test, and the word \"" + entry.word + "\" as well");
  }
}

std::string Promises::page() const {
  std::ostringstream out;
  std::string section = "none yet";
  for (const auto& [number, entry] : entries) {
    if (entry.section != section) {
      section = entry.section;
      if (!section.empty()) out << "\n### " << section << "\n";
      out << "\n| | What holds | Tests |\n|---|---|---|\n";
    }
    out << "| " << number << " | " << std::regex_replace(entry.meaning, std::regex(R"(\|)"), R"(\|)") << " | ";
    if (!entry.word.empty()) out << "*" << entry.word << "*";
    for (std::size_t i = 0; i < entry.tests.size(); ++i)
      out << (i == 0 ? "" : ", ") << "[" << entry.tests[i].test << "](../" << entry.tests[i].file << ")";
    out << " |\n";
  }
  return out.str();
}

namespace {

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

}  // namespace

Promises read_promises(const List& list) {
  const std::filesystem::path root = WEFT_SOURCE_DIR;
  Promises promises{list};
  std::ifstream table(root / list.file);
  if (!table) promises.wrong.push_back(list.file + " cannot be read");
  promises.read_table(table);
  std::set<std::filesystem::path> sources;
  for (const char* folder : {"src", "tests"})
    for (const auto& file : std::filesystem::recursive_directory_iterator(root / folder))
      if (file.path().extension() == ".cc") sources.insert(file.path());
  const std::set<std::string> registered = registered_tests();
  for (const auto& path : sources) {
    std::ifstream source(path);
    promises.read_source(path.lexically_relative(root).generic_string(), source, registered);
  }
  promises.compare();
  return promises;
}

}  // namespace weft::test
