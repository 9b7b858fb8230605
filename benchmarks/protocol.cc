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
#include <string_view>

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
    for (std::size_t i = 0; i < 8 && !y.empty(); ++i) {
      std::snprintf(text, sizeof text, " %.9g", static_cast<double>(y[(2 * i + 1) * y.size() / 16]));
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
  std::vector<std::int32_t> values;
  for (const float v : floats(seed)) values.push_back(static_cast<std::int32_t>(std::floor(v)));
  return values;
}

Input parse_input(const std::string& word) {
  std::istringstream in(word);
  std::string dtype, shape, low, high, size;
  if (!std::getline(in, dtype, ':') || !std::getline(in, shape, ':') || !std::getline(in, low, ':') || !std::getline(in, high))
    throw std::runtime_error("not an input: " + word);
  Input input{dtype == "f32", {}, std::stod(low), std::stod(high)};
  std::istringstream sizes(shape == "scalar" ? "" : shape);
  while (std::getline(sizes, size, 'x')) input.shape.push_back(std::stoll(size));
  return input;
}

std::vector<Input> parse_inputs(const std::vector<std::string>& words) {
  std::vector<Input> inputs;
  for (const std::string& word : words) inputs.push_back(parse_input(word));
  return inputs;
}

Workload start_this_program() {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length < 0) throw std::runtime_error("/proc/self/exe cannot be read");
  const std::string program(self, static_cast<std::size_t>(length));
  return {[program](long count) {
            for (long i = 0; i < count; ++i) {
              std::string path = program, argument = "nothing";
              char* argv[] = {path.data(), argument.data(), nullptr};
              pid_t child = 0;
              int status = 0;
              if (posix_spawn(&child, argv[0], nullptr, nullptr, argv, environ) != 0 || waitpid(child, &status, 0) < 0 || status != 0)
                throw std::runtime_error("cannot start " + program);
            }
          },
          [] { return std::vector<std::vector<float>>{}; }};
}

int serve(int argc, char** argv, const std::string& version, const Make& make) {
  if (argc > 1 && std::string_view(argv[1]) == "nothing") return 0;
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
