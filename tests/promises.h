// Lists of promises, and the tests that hold them. Above a test stands, in a line of its own, the mark of what it holds:
//
//   // MARK 45, 46: a remark         with the mark of the list for MARK
//
// Every entry has a test or a word that says why not, every mark an entry and a test.
#pragma once

#include <istream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace weft::test {

struct Range {
  int first, last;
};

/// A list of promises. An entry without a test has one of these words.
struct List {
  std::string mark, file;
  int last;
  std::map<std::string, std::vector<Range>> words;

  bool allowed(const std::string& word, int number) const;
};
extern const List kSemantics, kPains;

struct Held {
  std::string test, file;  ///< Suite.Name, and the source of it from the root of the project
};
struct Entry {
  std::string section, word, meaning;
  std::vector<Held> tests = {};
};

/// What a list says, what the sources say of it, and what is wrong with either.
struct Promises {
  const List& list;
  std::map<int, Entry> entries = {};
  std::vector<std::string> wrong = {};

  /// Lines `number | word | meaning`. A comment behind an empty line is the title of a section.
  void read_table(std::istream& table);
  void read_source(const std::string& name, std::istream& source, const std::set<std::string>& registered);
  void compare();
  /// The list as a table of a page, with links to the sources as seen from docs/.
  std::string page() const;
};

/// Reads a list and all sources of this project.
Promises read_promises(const List& list);

}  // namespace weft::test
