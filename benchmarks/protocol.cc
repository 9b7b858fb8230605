#include "protocol.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <stdexcept>

namespace bench {
namespace {

// A number in [0, 1) with 24 bits from a position: cheap, the same in every language, and without visible pattern.
float fraction(std::uint32_t at, std::uint32_t seed) {
  std::uint32_t h = (at + 1) * 0x9E3779B1u + seed * 0x85EBCA77u;
  h = (h ^ (h >> 15)) * 0xC2B2AE3Du;
  h ^= h >> 13;
  return static_cast<float>(h >> 8) * 0x1p-24f;
}

std::string check(const std::vector<std::vector<float>>& results) {
  std::string line;
  for (const std::vector<float>& y : results) {
    double sum = 0;
    for (const float v : y) sum += std::fabs(static_cast<double>(v));
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", y.empty() ? 0 : sum / static_cast<double>(y.size()));
    line += text;
    for (std::size_t i = 0; i <= 8 && !y.empty(); ++i) {
      const std::size_t at = i < 8 ? (2 * i + 1) * y.size() / 16 : y.size() - 1;
      std::snprintf(text, sizeof text, " %.9g", static_cast<double>(y[at]));
      line += text;
    }
    line += ';';
  }
  return line;
}

std::string answer(const std::string& line, const Make& make, Workload& workload) {
  std::istringstream in(line);
  std::string verb, word;
  in >> verb;
  if (verb == "forget") {
    workload = {};
    return "ok";
  }
  if (verb == "prepare") {
    std::string op;
    std::vector<std::string> words;
    in >> op;
    while (in >> word) words.push_back(word);
    workload = {};  // frees the memory of the last one before the next takes its own
    workload = make(op, words);
    return "ok";
  }
  if (!workload.run && !workload.nanoseconds) throw std::runtime_error("nothing is prepared");
  if (verb == "check") return check(workload.results());
  long count = 0;
  if (verb != "run" || !(in >> count)) throw std::runtime_error("unknown command " + line);
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", timed(workload, count));
  return text;
}

}  // namespace

double timed(const Workload& workload, long count) {
  if (workload.nanoseconds) return workload.nanoseconds(count);
  const auto start = std::chrono::steady_clock::now();
  workload.run(count);
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

std::int64_t Input::size() const {
  std::int64_t n = 1;
  for (const std::int64_t s : shape) n *= s;
  return n;
}

std::vector<float> Input::floats(unsigned seed) const {
  std::vector<float> values(static_cast<std::size_t>(size()));
  const float from = static_cast<float>(low), span = static_cast<float>(high - low);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = fraction(static_cast<std::uint32_t>(i), seed) * span + from;
  return values;
}

std::vector<std::int32_t> Input::integers(unsigned seed) const {
  std::vector<std::int32_t> values(static_cast<std::size_t>(size()));
  if (kind == Kind::kZipf) {
    // The inverse of the distribution function of the density 1 / x^low from 1 to 1 + high.
    const double power = 1 - low, span = std::pow(1 + high, power) - 1;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double x = std::pow(1 + static_cast<double>(fraction(static_cast<std::uint32_t>(i), seed)) * span, 1 / power);
      values[i] = static_cast<std::int32_t>(x) - 1;
    }
    return values;
  }
  const std::vector<float> all = floats(seed);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int32_t>(std::floor(all[i]));
  return values;
}

Input parse_input(const std::string& word) {
  std::istringstream in(word);
  std::string dtype, shape, low, high, size;
  if (!std::getline(in, dtype, ':') || !std::getline(in, shape, ':') || !std::getline(in, low, ':') || !std::getline(in, high))
    throw std::runtime_error("not an input: " + word);
  const Input::Kind kind = dtype == "f32" ? Input::Kind::kFloats : dtype == "zipf" ? Input::Kind::kZipf : Input::Kind::kIntegers;
  Input input{kind, {}, std::stod(low), std::stod(high)};
  std::istringstream sizes(shape == "scalar" ? "" : shape);
  while (std::getline(sizes, size, 'x')) input.shape.push_back(std::stoll(size));
  return input;
}

std::vector<Input> parse_inputs(const std::vector<std::string>& words) {
  std::vector<Input> inputs;
  for (const std::string& word : words) inputs.push_back(parse_input(word));
  return inputs;
}

Workload start_once(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "once");
  return start_this_program(std::move(arguments));
}

Workload start_this_program(std::vector<std::string> words) {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length < 0) throw std::runtime_error("/proc/self/exe cannot be read");
  words.emplace(words.begin(), self, static_cast<std::size_t>(length));
  return {[words](long count) mutable {
            std::vector<char*> argv;
            for (std::string& word : words) argv.push_back(word.data());
            argv.push_back(nullptr);
            for (long i = 0; i < count; ++i) {
              pid_t child = 0;
              int status = 0;
              const bool started = posix_spawn(&child, argv[0], nullptr, nullptr, argv.data(), environ) == 0;
              if (!started || waitpid(child, &status, 0) < 0 || status != 0)
                throw std::runtime_error("cannot start " + words[0]);
            }
          },
          [] { return std::vector<std::vector<float>>{}; }};
}

namespace {

// What is asked for by arguments instead of by the driver.
int alone(const std::vector<std::string>& arguments, const Make& make) {
  if (arguments[0] == "nothing") return 0;
  try {
    if (arguments.size() < 2) throw std::runtime_error("unknown command " + arguments[0]);
    const Workload workload = make(arguments[1], {arguments.begin() + 2, arguments.end()});
    if (arguments[0] == "once") {
      timed(workload, 1);
    } else if (arguments[0] == "profile" && workload.profile) {
      std::cout << workload.profile() << std::endl;
    } else {
      throw std::runtime_error("there is no " + arguments[0] + " of " + arguments[1]);
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
  return 0;
}

}  // namespace

int serve(int argc, char** argv, const std::string& version, const Make& make) {
  if (argc > 1) return alone({argv + 1, argv + argc}, make);
  Workload workload;
  std::cout << "hello " << version << std::endl;
  for (std::string line; std::getline(std::cin, line) && line != "quit";) {
    std::string reply;
    try {
      reply = answer(line, make, workload);
    } catch (const std::exception& error) {
      reply = std::string("no ") + error.what();
    }
    for (char& c : reply)
      if (c == '\n') c = ' ';
    std::cout << reply << std::endl;
  }
  return 0;
}

}  // namespace bench
