#include "tests/bad_input_child.h"

#include <fcntl.h>
#include <malloc.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <regex>

#include "core/apply.h"
#include "tests/bad_input_cases.h"
#include <weft/function.h>

#if defined(__SANITIZE_ADDRESS__)
// The address limit below cannot be used under sanitizers: their shadow is larger. Their allocators have a limit of their own.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1:max_allocation_size_mb=1024"; }
#elif defined(__SANITIZE_THREAD__)
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1:max_allocation_size_mb=1024"; }
#endif

namespace weft::bad_input {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kInstrumented = true;
#else
constexpr bool kInstrumented = false;
#endif
constexpr int kSeconds = kInstrumented ? 10 : 1;  // of processor time that one call may take
constexpr rlim_t kMemory = rlim_t{1} << 30;       // that the calls may have beyond what the program has already

struct Wrong {
  std::string why;
};

std::string class_of(const Error& error) {
  if (dynamic_cast<const ShapeError*>(&error)) return "ShapeError";
  if (dynamic_cast<const DtypeError*>(&error)) return "DtypeError";
  if (dynamic_cast<const IndexError*>(&error)) return "IndexError";
  if (dynamic_cast<const ValueError*>(&error)) return "ValueError";
  if (dynamic_cast<const OutOfMemoryError*>(&error)) return "OutOfMemoryError";
  if (dynamic_cast<const CheckError*>(&error)) return "CheckError";
  if (dynamic_cast<const NumericError*>(&error)) return "NumericError";
  throw Wrong{std::string("an error of a class that ops do not throw: ") + error.what()};
}

// A message has to help: it names the op and an argument (or shows a number), in one sentence.
void check_message(const Op& op, const Error& error) {
  const std::string& text = error.message();
  const auto wrong = [&](const char* rule) { throw Wrong{std::string(rule) + ": \"" + text.substr(0, 300) + "\""}; };
  if (!text.starts_with(std::string(op.name) + ": ")) wrong("the message does not begin with the op");
  const std::string sentence = text.substr(std::strlen(op.name) + 2);
  static const std::regex two_sentences("[.] +[A-Z]|\n");
  if (!sentence.ends_with('.') || std::regex_search(sentence, two_sentences)) wrong("the message is not one sentence with a period");
  const auto names = [&](std::string_view name) { return std::regex_search(sentence, std::regex("\\b" + std::string(name) + "\\b")); };
  bool helps = dynamic_cast<const OutOfMemoryError*>(&error) != nullptr || std::any_of(sentence.begin(), sentence.end(), [](char c) { return c >= '0' && c <= '9'; });
  for (const Input& input : op.inputs) helps = helps || names(input.name);
  for (const AttrDef& def : op.attrs) helps = helps || names(def.name);
  if (!helps) wrong("the message names no argument and no number");
}

std::string bytes_of(std::span<const Tensor> tensors) {
  std::string result;
  for (const Tensor& x : tensors) {
    const std::size_t bytes = static_cast<std::size_t>(x.size()) * size_of(x.dtype());
    if (bytes > 0) result.append(static_cast<const char*>(mutable_data(x)), bytes);
  }
  return result;
}

// The same with one NaN for all: which of two a sum passes on is up to the compiler, and so is its sign.
std::string numbers_of(std::span<const Tensor> tensors) {
  std::string result = bytes_of(tensors);
  char* at = result.data();
  for (const Tensor& x : tensors)
    with_element(x.dtype(), [&](auto* tag) {
      using T = std::remove_pointer_t<decltype(tag)>;
      const auto count = static_cast<std::size_t>(x.size());
      if constexpr (!std::is_integral_v<T>) {
        const T nan = T(std::numeric_limits<float>::quiet_NaN());
        for (std::size_t k = 0; k < count; ++k) {
          T value;
          std::memcpy(&value, at + k * sizeof(T), sizeof value);
          if (std::isnan(static_cast<float>(value))) std::memcpy(at + k * sizeof(T), &nan, sizeof nan);
        }
      }
      at += count * sizeof(T);
    });
  return result;
}

Tensors call(const Op& op, const Case& given) {
  Tensors inputs = given.inputs, outputs;
  apply({op, inputs, given.attrs, Location::here()}, outputs);
  return outputs;
}

// A result must be what `.infer` promised.
void check_result(const Op& op, const Case& given, const Tensors& outputs) {
  Tensors inputs = given.inputs;
  const Specs promised = check({op, inputs, given.attrs, Location::here()});
  if (promised.size() != outputs.size()) throw Wrong{std::to_string(outputs.size()) + " outputs where infer has " + std::to_string(promised.size())};
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined()) throw Wrong{"output " + std::to_string(i) + " is undefined"};
    const Spec &got = outputs[i].spec(), &wanted = promised[i];
    bool fits = got.dtype == wanted.dtype && got.shape.known() && got.shape.rank() == wanted.shape.rank();
    for (int axis = 0; fits && axis < got.shape.rank(); ++axis) fits = wanted.shape.dim(axis) == kUnknown ? op.is(kValueShape) : wanted.shape.dim(axis) == got.shape[axis];
    if (!fits) throw Wrong{"output " + std::to_string(i) + " is " + got.str() + " where infer has " + wanted.str()};
    if (got.shape.num_elements() > 0 && mutable_data(outputs[i]) == nullptr) throw Wrong{"output " + std::to_string(i) + " has no memory"};
  }
  bytes_of(outputs);  // reads every byte, which sanitizers then judge
}

// Fills memory that the next results may get: what malloc hands out, and what pools keep. Blocks without a buffer are freed last,
// so that their nodes are taken first.
void dirty_memory(int byte) {
  mallopt(M_PERTURB, ~byte & 0xff);
  std::vector<Tensor> blocks;
  for (std::int64_t bytes = 65536; bytes >= 16; bytes /= 4)
    for (int i = 0; i < 32; ++i) {
      blocks.push_back(make_tensor({u8, {bytes}}));
      std::memset(mutable_data(blocks.back()), byte, static_cast<std::size_t>(bytes));
    }
}

// What a call has come to: "ok" with all of the result, or the class of the error.
struct Outcome {
  std::string word, result;

  static Outcome of(std::span<const Tensor> outputs) {
    Outcome made{"ok", ""};
    for (const Tensor& x : outputs) made.result += x.spec().str() + " ";
    made.result += numbers_of(outputs);
    return made;
  }
};

// The same call as the body of a Function: what is wrong with it may be seen while it is traced or when it runs, but it is the same class of error. A
// row may need to know a size while it is traced, and says so.
Outcome traced(const Op& op, const Case& given, bool sizes_known) {
  FunctionOptions options;
  for (const Tensor& x : given.inputs)
    if (x.defined() && !sizes_known) options.signature.push_back({x.dtype(), Shape(Ints(static_cast<std::size_t>(x.rank()), kUnknown))});
  const Function f{[&](std::vector<Tensor> inputs) {
    Tensors outputs;
    apply({op, inputs, given.attrs, Location::here()}, outputs);
    return std::vector<Tensor>(outputs.begin(), outputs.end());
  }, options};
  try {
    return Outcome::of(f({given.inputs.begin(), given.inputs.end()}));
  } catch (const Error& error) {
    const bool needs_size = !sizes_known && f.explain().traced == 0 && error.message().find("unknown") != std::string::npos;
    return {needs_size ? "unknown" : class_of(error), error.what()};
  }
}

void check_traced(const Op& op, const Case& given, const Outcome& eager) {
  for (const bool sizes_known : {true, false}) {
    const Outcome made = traced(op, given, sizes_known);
    // A plan has room for results before a row looks at its data: of calls with huge sizes (H, J) it says that first.
    if (op.validate != nullptr && (given.letter == 'H' || given.letter == 'J') && eager.word != "ok" && made.word != "ok") continue;
    const std::string mode = sizes_known ? "traced" : "traced with unknown sizes";
    if (made.word == "unknown") continue;
    if (made.word != eager.word) throw Wrong{mode + " it gives " + made.word + " instead of " + eager.word + (made.word == "ok" ? "" : ": " + made.result)};
    if (made.word == "ok" && made.result != eager.result) throw Wrong{mode + " it gives another result"};
  }
}

Outcome outcome(const Op& op, const Case& given) {
  try {
    if (given.twice) dirty_memory(0x00);
    const Tensors outputs = call(op, given);
    check_result(op, given, outputs);
    if (given.twice) {
      dirty_memory(0xa5);
      if (bytes_of(call(op, given)) != bytes_of(outputs)) throw Wrong{"the second run over other memory gave other bits"};
      mallopt(M_PERTURB, 0);
    }
    return Outcome::of(outputs);
  } catch (const Error& error) {
    check_message(op, error);
    if (given.twice) throw Wrong{std::string("a valid sample fails: ") + error.what()};
    return {class_of(error), ""};
  }
}

void limit_memory() {
  if (kInstrumented) return;
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  statm >> pages;
  const rlim_t limit = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + kMemory;
  const rlimit both{limit, limit};
  setrlimit(RLIMIT_AS, &both);
}

// The default action of both signals ends the process; the parent sees which one it was.
void limit_time(int seconds) {
  const itimerval timer{{0, 0}, {seconds, 0}};
  setitimer(ITIMER_PROF, &timer, nullptr);
  alarm(static_cast<unsigned>(seconds * 60));
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 32) c = ' ';
  return text;
}

std::vector<Case> all_cases(const Op& op, bool small) {
  std::vector<Case> result;
  for (const Class& kind : classes()) {
    std::vector<Case> some = cases(op, kind.letter);
    for (std::size_t i = 0; i < some.size(); ++i)
      if (!small || i % 8 == 0) result.push_back(std::move(some[i]));
  }
  return result;
}

}  // namespace

// Lines: "<position> <letter> start <what>", then "<position> <letter> <outcome> <why>".
int child_main(const Op& op, std::size_t first, bool small, int descriptor) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  limit_memory();
  const std::vector<Case> list = all_cases(op, small);
  const auto say = [&](std::size_t i, const std::string& word, const std::string& more) {
    const std::string line = std::to_string(i) + " " + list[i].letter + " " + word + " " + one_line(more) + "\n";
    return ::write(descriptor, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  };
  for (std::size_t i = first; i < list.size(); ++i) {
    if (!say(i, "start", list[i].what)) return 1;
    limit_time(kSeconds);
    std::string word, why;
    try {
      const Outcome eager = outcome(op, list[i]);
      word = eager.word;
      limit_time(kSeconds);
      check_traced(op, list[i], eager);
    } catch (const Wrong& wrong) {
      word = "BAD", why = wrong.why;
    } catch (const std::exception& error) {
      word = "BAD", why = std::string("an exception of another family: ") + error.what();
    }
    limit_time(0);
    if (!say(i, word, why)) return 1;
  }
  return 0;
}

namespace {

struct Progress {
  std::size_t next = 0;  // the first call not yet answered
  char letter = ' ';
  std::string what;      // of the call that was begun last
  bool begun = false;
};

void read_lines(std::FILE* from, Report& report, Progress& progress) {
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, from) != nullptr) {
    std::size_t position = 0;
    int used = 0;
    char letter = ' ', word[32] = "";
    if (std::sscanf(buffer, "%zu %c %31s %n", &position, &letter, word, &used) < 3) continue;
    std::string rest = buffer + used;
    while (!rest.empty() && rest.back() == '\n') rest.pop_back();
    if (std::string_view(word) == "start") {
      progress = {position, letter, rest, true};
      continue;
    }
    progress.begun = false;
    progress.next = position + 1;
    report.outcomes[letter][word] += 1;
    if (std::string_view(word) == "BAD") report.failures.push_back(std::string(1, letter) + ", " + progress.what + ": " + rest);
  }
}

int start_child(const Op& op, std::size_t first, bool small, int write_end, int read_end) {
  std::vector<std::string> variables = {"WEFT_BAD_INPUT_OP=" + std::string(op.name), "WEFT_BAD_INPUT_FIRST=" + std::to_string(first),
                                        "WEFT_BAD_INPUT_SMALL=" + std::to_string(small), "WEFT_BAD_INPUT_FD=" + std::to_string(write_end)};
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!std::string_view(*entry).starts_with("GTEST_") && !std::string_view(*entry).starts_with("WEFT_BAD_INPUT")) variables.emplace_back(*entry);
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  std::string program = "/proc/self/exe", filter = "--gtest_filter=BadInputChild.*", flag = "--gtest_also_run_disabled_tests", brief = "--gtest_brief=1";
  char* arguments[] = {program.data(), filter.data(), flag.data(), brief.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addclose(&actions, read_end);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  if (posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environment.data()) != 0) child = -1;
  posix_spawn_file_actions_destroy(&actions);
  return child;
}

std::string end_of(int status) {
  if (!WIFSIGNALED(status)) return "the process ended with code " + std::to_string(WEXITSTATUS(status));
  if (WTERMSIG(status) == SIGPROF) return "took more than " + std::to_string(kSeconds) + " s";
  if (WTERMSIG(status) == SIGALRM) return "did not come back";
  return std::string("crashed: ") + strsignal(WTERMSIG(status));
}

}  // namespace

Report run_in_child(const Op& op, bool small) {
  Report report;
  Progress progress;
  for (int runs = 0; runs < 200; ++runs) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    progress.begun = false;
    const pid_t child = start_child(op, progress.next, small, ends[1], ends[0]);
    close(ends[1]);
    if (child < 0) throw std::runtime_error("cannot start the child");
    std::FILE* lines = fdopen(ends[0], "r");
    read_lines(lines, report, progress);
    std::fclose(lines);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return report;
    if (!progress.begun) {
      report.failures.push_back("between calls: " + end_of(status));
      return report;
    }
    report.outcomes[progress.letter]["BAD"] += 1;
    report.failures.push_back(std::string(1, progress.letter) + ", " + progress.what + ": " + end_of(status));
    ++progress.next;
  }
  report.failures.push_back("gave up after 200 crashes");
  return report;
}

}  // namespace weft::bad_input
