#include "tests/fuzz/compare.h"

#include "tests/fuzz/machine.h"

namespace weft::fuzz {
namespace {

std::string instead_of(const std::string& got, const std::string& want) {
  return "\n    " + (got.empty() ? "nothing" : got) + "\n  instead of\n    " + (want.empty() ? "nothing" : want) + "\n";
}

// A traced branch that is not taken publishes the old value of what it would have written: versions are the same without branches only.
std::string difference(const Outcome& want, const Outcome& got, bool versions) {
  const auto name = [](std::size_t i) { return std::string(i < kSlots.size() ? kSlots[i].name : "the state of the random numbers"); };
  if (got.error != want.error) return "throws" + instead_of(got.error, want.error);
  for (std::size_t i = 0; i < want.results.size(); ++i)
    if (!(got.results[i] == want.results[i]))
      return "returns, in place " + std::to_string(i) + "," + instead_of(got.results[i].str(), want.results[i].str());
  for (std::size_t i = 0; i < want.variables.size(); ++i)
    if (!(got.variables[i] == want.variables[i]))
      return "leaves in " + name(i) + instead_of(got.variables[i].str(), want.variables[i].str());
  for (std::size_t i = 0; versions && i < want.versions.size(); ++i)
    if (got.versions[i] != want.versions[i])
      return "leaves " + name(i) + " with version" + instead_of(std::to_string(got.versions[i]), std::to_string(want.versions[i]));
  return "";
}

}  // namespace

std::string difference(const Program& program, Features* seen) {
  Machine eager(program, Mode::kEager), traced(program, Mode::kTraced);
  std::optional<Machine> mixed, untraced;
  if (!program.functions.empty()) mixed.emplace(program, Mode::kMixed);
  if (program.seed % 8 == 0) untraced.emplace(program, Mode::kUntraced);  // little can differ
  std::string text;
  for (std::size_t c = 0; c < program.calls.size() && text.empty(); ++c) {
    const Outcome want = eager.run(program.calls[c]);
    const auto has = [&](Feature feature) { return eager.seen()[static_cast<std::size_t>(feature)]; };
    const bool versions = !has(Feature::kBranches) && !has(Feature::kLoops);
    const auto compare = [&](Machine& machine, const char* mode) {
      const std::string found = difference(want, machine.run(program.calls[c]), versions);
      if (!found.empty()) text = "call " + std::to_string(c) + ", " + mode + ", " + found;
    };
    compare(traced, "traced");
    if (mixed && text.empty()) compare(*mixed, "a block that calls Functions");
    if (untraced && text.empty()) compare(*untraced, "run eagerly");
  }
  if (seen != nullptr) *seen = eager.seen() | (traced.seen() & Features(1ull << static_cast<int>(Feature::kRetraces)));
  return text;
}

}  // namespace weft::fuzz
