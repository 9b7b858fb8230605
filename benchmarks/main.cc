// weft_bench [ids] [--json FILE]: prints a table and, on request, writes JSON rows with id, case, ours_ns, limit_ns, of_limit
// and peers (name -> {ns, ratio}).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string_view>

#include "bench.h"

namespace bench {
namespace {

constexpr int kRounds = 15;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double nanoseconds_each(const Run& run, long count) {
  const auto start = std::chrono::steady_clock::now();
  run(count);
  const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
  return elapsed.count() / static_cast<double>(count);
}

// A contestant's rows have the same keys whether or not peers were measured; without them `peers` is empty.
void write_json(const std::string& path, const std::vector<Result>& results) {
  std::ofstream out(path);
  out << "[\n";
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Result& r = results[i];
    char row[512];
    std::snprintf(row, sizeof row, R"({"id": "%s", "case": "%s", "ours_ns": %.2f, "limit_ns": %.2f, "of_limit": %.4f, "peers": {}})", r.id.c_str(), r.name.c_str(),
                  r.ours_ns, r.limit_ns, r.of_limit);
    out << row << (i + 1 < results.size() ? ",\n" : "\n");
  }
  out << "]\n";
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace

Result measure(const Case& c) {
  c.limit(c.block / 10);
  c.ours(c.block / 10);
  std::vector<double> ours, limit, ratio;
  for (int round = 0; round < kRounds; ++round) {  // neighbours in time share the machine's mood; the order alternates
    double o, l;
    if (round % 2 == 0) {
      l = nanoseconds_each(c.limit, c.block);
      o = nanoseconds_each(c.ours, c.block);
    } else {
      o = nanoseconds_each(c.ours, c.block);
      l = nanoseconds_each(c.limit, c.block);
    }
    ours.push_back(o);
    limit.push_back(l);
    ratio.push_back(l / o);
  }
  return {c.id, c.name, median(ours), median(limit), median(ratio)};
}

}  // namespace bench

int main(int argc, char** argv) try {
  std::vector<std::string> ids;
  std::string json;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--json" && i + 1 < argc) json = argv[++i];
    else if (word.starts_with("T")) ids.emplace_back(word);
    else return std::fprintf(stderr, "usage: bench [T1 ...] [--json FILE]\n"), 2;
  }
  const std::vector<bench::Case> cases = bench::eager_add_cases();
  for (const std::string& id : ids)
    if (std::none_of(cases.begin(), cases.end(), [&](const bench::Case& c) { return c.id == id; }))
      return std::fprintf(stderr, "there is no workload %s; known: T1\n", id.c_str()), 2;

  std::vector<bench::Result> results;
  std::printf("%-4s %-52s %12s %12s %9s\n", "id", "case", "ours ns", "limit ns", "of limit");
  for (const bench::Case& c : cases) {
    if (!ids.empty() && std::find(ids.begin(), ids.end(), c.id) == ids.end()) continue;
    results.push_back(bench::measure(c));
    const bench::Result& r = results.back();
    std::printf("%-4s %-52s %12.1f %12.1f %8.1f%%\n", r.id.c_str(), r.name.c_str(), r.ours_ns, r.limit_ns, 100 * r.of_limit);
  }
  if (!json.empty()) bench::write_json(json, results);
  return 0;
} catch (const std::exception& error) {
  return std::fprintf(stderr, "bench: %s\n", error.what()), 1;
}
